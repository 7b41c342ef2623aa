// Data: tables of columns, gzip in base64. Numbers are floats; a text is a code into the levels of its column, or -1.
const $ = selector => document.querySelector(selector);
const make = (name, options = {}, ...inside) => {
  const one = document.createElement(name);
  for (const [key, value] of Object.entries(options)) key in one ? one[key] = value : one.setAttribute(key, value);
  one.append(...inside.filter(part => part !== null && part !== undefined && part !== false));
  return one;
};
// ids and names on one line: what cannot be seen, or would turn the reading order, is written as its number
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const shown = text => String(text).replace(UNSEEN, sign => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
const number = value => Number.isNaN(value) ? "" : Number.isInteger(value) ? String(value) : String(+value.toPrecision(4));

async function unpacked(id) {
  const text = document.getElementById(`b${id}`).textContent;
  const raw = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), sign => sign.charCodeAt(0));
  return new Response(new Blob([raw]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

class Column {
  constructor(head) { Object.assign(this, head); this.isText = this.kind !== "number"; }
  async load() {
    const cells = await unpacked(this.cells);
    if (!this.isText) { this.keys = this.type === "f4" ? new Float32Array(cells) : new Float64Array(cells); return; }
    this.levels = JSON.parse(new TextDecoder().decode(await unpacked(this.levels)));
    if (this.kind === "talk") [this.talks, this.levels] = [this.levels, this.levels.map(flat)];
    this.keys = new Int32Array(cells);
  }
  // a long text is loaded after the table is there
  missing(row) { return !this.keys || (this.isText ? this.keys[row] < 0 : Number.isNaN(this.keys[row])); }
  text(row) { return this.isText ? (this.missing(row) ? "" : this.levels[this.keys[row]]) : number(this.keys[row]); }
  // of each level whether all of a word is in it
  hits(word) {
    this.lower ??= this.levels.map(level => level.toLowerCase());
    return Uint8Array.from(this.lower, level => level.includes(word));
  }
}

class Table {
  constructor(head) {
    this.n = head.n;
    this.columns = head.columns.map(one => new Column(one));
    this.by = Object.create(null);
    for (const one of this.columns) this.by[one.name] = one;
  }
  load(columns = this.columns) { return Promise.all(columns.map(one => one.load())); }
  // where the rows of another table that belong to one row of the main table begin and end: they are sorted by it
  of(row) {
    if (!this.by.row?.keys) return []; // not loaded yet, or empty
    if (!this.places) {
      this.places = new Map();
      this.by.row.keys.forEach((main, at) => Number.isNaN(main) || (this.places.get(main) ?? this.places.set(main, []).get(main)).push(at));
    }
    return this.places.get(row) ?? [];
  }
  text(name, row) { return this.by[name] ? this.by[name].text(row) : ""; }
  value(name, row) { return this.by[name] && !this.by[name].isText ? this.by[name].keys[row] : NaN; }
}
