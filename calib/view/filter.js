// Filters: values of columns, ranges, flags, words. What is set stands in the hash of the address.
// names of columns are those of others: no object here has any of its own
const none = () => Object.create(null);
const state = {sort: "", values: none(), ranges: none(), flags: [], query: "", item: "", tab: "items"};
const isFiltered = () => Object.keys(state.values).length + Object.keys(state.ranges).length + state.flags.length > 0 || state.query.trim() !== "";

function toHash() {
  const says = new URLSearchParams();
  for (const [name, values] of Object.entries(state.values)) says.set(`is.${name}`, JSON.stringify(values));
  for (const [name, [low, high]] of Object.entries(state.ranges)) says.set(`in.${name}`, `${low}..${high}`);
  for (const flag of state.flags) says.append("flag", flag);
  for (const name of ["sort", "query", "item"]) if (state[name]) says.set(name, state[name]);
  if (state.tab !== "items") says.set("tab", state.tab);
  return says.toString();
}

// What an address says; what is no column, flag or number in it counts for nothing.
function fromHash(text, rows, rules) {
  Object.assign(state, {sort: "", values: none(), ranges: none(), flags: [], query: "", item: "", tab: "items"});
  for (const [key, value] of new URLSearchParams(text)) {
    const column = Object.hasOwn(rows.by, key.slice(3)) ? rows.by[key.slice(3)] : undefined;
    if (key.startsWith("is.") && column?.isText) {
      try { const values = JSON.parse(value); if (Array.isArray(values)) state.values[column.name] = values.map(String); } catch { /* no list */ }
    } else if (key.startsWith("in.") && column && !column.isText) {
      const [low, high] = value.split("..").map(Number);
      if (!Number.isNaN(low) && !Number.isNaN(high)) state.ranges[column.name] = [low, high];
    } else if (key === "flag" && Object.hasOwn(rules, value) && rows.by[value]) state.flags.push(value);
    else if (key === "sort" && Object.hasOwn(rows.by, value.replace(/^-/, ""))) state.sort = value;
    else if (key === "query" || key === "item") state[key] = value;
    else if (key === "tab" && ["items", "slices", "calls", "marks"].includes(value)) state.tab = value;
  }
}

// Rows with every word somewhere: in a column of texts, a judge's words, or a comment.
function withWords(keep, rows, beside) {
  for (const word of state.query.toLowerCase().split(/\s+/).filter(Boolean)) {
    const there = new Uint8Array(rows.n);
    for (const column of rows.columns.filter(one => one.isText && one.keys)) {
      const hits = column.hits(word), keys = column.keys;
      for (let row = 0; row < rows.n; row++) if (keys[row] >= 0 && hits[keys[row]]) there[row] = 1;
    }
    for (const table of beside) for (const name of ["reply", "comment"]) {
      const column = table.by[name];
      if (!column?.keys || !table.by.row) continue;
      const hits = column.hits(word);
      column.keys.forEach((code, at) => { if (code >= 0 && hits[code]) there[table.by.row.keys[at]] = 1; });
    }
    for (let row = 0; row < rows.n; row++) keep[row] &= there[row];
  }
}

function matching(rows, beside = []) {
  const keep = new Uint8Array(rows.n).fill(1);
  for (const [name, values] of Object.entries(state.values)) {
    const {keys, levels} = rows.by[name], wanted = Uint8Array.from(levels, level => values.includes(level));
    for (let row = 0; row < rows.n; row++) if (keys[row] < 0 ? !values.includes("") : !wanted[keys[row]]) keep[row] = 0;
  }
  for (const [name, [low, high]] of Object.entries(state.ranges)) {
    const keys = rows.by[name].keys;
    for (let row = 0; row < rows.n; row++) if (!(keys[row] >= low && keys[row] <= high)) keep[row] = 0;
  }
  for (const flag of state.flags) {
    const keys = rows.by[flag].keys;
    for (let row = 0; row < rows.n; row++) if (keys[row] !== 1) keep[row] = 0;
  }
  if (state.query.trim()) withWords(keep, rows, beside);
  return inOrder(Uint32Array.from({length: keep.reduce((sum, one) => sum + one, 0)}), keep, rows);
}

// In the order of a column; what has no value stays below, equal ones in the order of the file.
function inOrder(kept, keep, rows) {
  const column = rows.by[state.sort.replace(/^-/, "")], sign = state.sort.startsWith("-") ? -1 : 1;
  let front = 0, back = kept.length;
  for (let row = 0; row < rows.n; row++) if (keep[row] && !column?.missing(row)) kept[front++] = row;
  for (let row = rows.n - 1; row >= 0; row--) if (keep[row] && column?.missing(row)) kept[--back] = row;
  if (column) {
    const rank = column.rank ??= ranks(column);
    const keys = rank ?? column.keys;
    kept.subarray(0, front).sort((a, b) => sign * (keys[a] - keys[b]) || a - b);
  }
  return kept;
}

// Short texts come in order; of long ones it is made when it is first wanted.
function ranks(column) {
  if (!column.long) return column.keys;
  const order = column.levels.map((_, at) => at).sort((a, b) => column.levels[a] < column.levels[b] ? -1 : 1);
  const place = new Int32Array(order.length);
  order.forEach((level, at) => { place[level] = at; });
  return column.keys.map(code => code < 0 ? code : place[code]);
}

// --- how they are set ------------------------------------------------------------------------------------------------

const BINS = 24, WIDTH = 240, HEIGHT = 56, MOST_VALUES = 30;
const svg = (name, attributes, ...inside) => {
  const one = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
  one.append(...inside);
  return one;
};

function ends(keys) {
  let low = Infinity, high = -Infinity;
  for (const key of keys) if (Number.isFinite(key)) { low = Math.min(low, key); high = Math.max(high, key); }
  return [low, high];
}

// A histogram whose bars are brushed with a pointer; two fields say the same for a keyboard.
function histogram(column, changed) {
  const [low, high] = ends(column.keys), counts = new Array(BINS).fill(0), step = (high - low) / BINS || 1;
  for (const key of column.keys) if (Number.isFinite(key)) counts[Math.min(BINS - 1, Math.floor((key - low) / step))]++;
  const most = Math.max(...counts, 1), chosen = state.ranges[column.name] ?? [low, high], bar = WIDTH / BINS;
  const box = svg("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "histogram", preserveAspectRatio: "none", "aria-hidden": "true"});
  counts.forEach((count, at) => {
    const from = low + at * step, inside = from + step > chosen[0] && from <= chosen[1] ? "in" : "out";
    const height = count ? Math.max(2, HEIGHT * count / most) : 0;
    box.append(svg("rect", {x: at * bar, y: HEIGHT - height, width: bar - 1, height, class: inside}));
  });
  const at = event => {
    const {left, width} = box.getBoundingClientRect();
    return low + Math.max(0, Math.min(1, (event.clientX - left) / width)) * (high - low);
  };
  let from = null;
  box.addEventListener("pointerdown", event => { from = at(event); box.setPointerCapture(event.pointerId); });
  box.addEventListener("pointerup", event => {
    if (from === null) return;
    const to = at(event), pair = [Math.min(from, to), Math.max(from, to)];
    if (pair[1] - pair[0] < (high - low) / 100) delete state.ranges[column.name];
    else state.ranges[column.name] = pair.map(value => +value.toPrecision(6));
    renew();
  });
  const renew = label => {
    const fresh = histogram(column, changed);
    box.parentElement.replaceWith(fresh);
    if (label) [...fresh.querySelectorAll("input")].find(one => one.ariaLabel === label).focus();
    changed();
  };
  const field = side => {
    const input = make("input", {type: "number", step: "any", value: state.ranges[column.name] ? String(chosen[side]) : "", placeholder: number([low, high][side]), "aria-label": `${column.title} ${side ? "to" : "from"}`});
    input.addEventListener("change", () => {
      const pair = [...(state.ranges[column.name] ?? [low, high])];
      pair[side] = input.value === "" ? [low, high][side] : Number(input.value);
      if (pair[0] === low && pair[1] === high) delete state.ranges[column.name]; else state.ranges[column.name] = pair;
      renew(input.ariaLabel);
    });
    return input;
  };
  return make("fieldset", {}, make("legend", {}, column.title), box, make("div", {className: "pair"}, field(0), " to ", field(1)));
}

function choices(column, changed) {
  const counts = new Map();
  for (const code of column.keys) counts.set(code, (counts.get(code) ?? 0) + 1);
  const lines = [...counts.keys()].sort((a, b) => a - b).map(code => {
    const level = code < 0 ? "" : column.levels[code];
    const tick = make("input", {type: "checkbox", checked: Boolean(state.values[column.name]?.includes(level))});
    tick.addEventListener("change", () => {
      const values = new Set(state.values[column.name] ?? []);
      tick.checked ? values.add(level) : values.delete(level);
      if (values.size) state.values[column.name] = [...values]; else delete state.values[column.name];
      changed();
    });
    return make("label", {}, tick, make("bdi", {}, shown(level) || "(none)"), make("span", {className: "soft"}, ` ${counts.get(code)}`));
  });
  return make("fieldset", {}, make("legend", {}, column.title), ...lines);
}

function showFilters(box, rows, rules, changed) {
  const flags = rows.columns.filter(one => one.flag).map(column => {
    const tick = make("input", {type: "checkbox", checked: state.flags.includes(column.name)});
    tick.addEventListener("change", () => {
      state.flags = tick.checked ? [...state.flags, column.name] : state.flags.filter(one => one !== column.name);
      changed();
    });
    const count = column.keys.reduce((sum, one) => sum + (one === 1), 0);
    return make("label", {title: rules[column.name]}, tick, column.name, make("span", {className: "soft"}, ` ${count}`));
  });
  const search = make("input", {type: "search", id: "query", value: state.query, "aria-label": "Search in all texts"});
  let waiting = 0;
  search.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(() => { state.query = search.value; changed(); }, 120); });
  const all = make("button", {type: "button"}, "Clear");
  all.addEventListener("click", () => { Object.assign(state, {values: none(), ranges: none(), flags: [], query: ""}); showFilters(box, rows, rules, changed); changed(); });
  const some = rows.columns.filter(one => one.keys && !one.flag && !one.long);
  const listed = some.filter(one => one.isText && one.name !== "item" && one.levels.length > 1 && one.levels.length <= MOST_VALUES);
  const ranged = some.filter(one => !one.isText && ends(one.keys)[0] < ends(one.keys)[1]);
  const more = make("details", {open: innerWidth > 900}, make("summary", {}, "Filters"), make("div", {className: "filters"},
    flags.length ? make("fieldset", {}, make("legend", {}, "flags"), ...flags) : null,
    ...listed.map(one => choices(one, changed)), ...ranged.map(one => histogram(one, changed))));
  if (box.querySelector("details")) more.open = box.querySelector("details").open;
  box.replaceChildren(make("div", {className: "pair"}, make("label", {htmlFor: "query"}, "Search "), search, all), more);
}
