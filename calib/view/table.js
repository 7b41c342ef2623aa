// The table of items: of all rows only those in sight are there.
const HIGH = 34, SPARE = 8, SNIPPET = 90;

class Grid {
  constructor(box, rows, act) {
    Object.assign(this, {rows, act, kept: new Uint32Array(), current: -1});
    // what is the same everywhere, and flags, stand in the item alone
    const constant = column => column.keys && column.name !== "item" && column.name !== "score" && column.keys.every(key => Object.is(key, column.keys[0]));
    this.columns = rows.columns.filter(one => !one.flag && !(rows.n > 1 && constant(one)));
    this.heads = this.columns.map(column => {
      const button = make("button", {type: "button"}, column.title);
      button.addEventListener("click", () => {
        const first = column.isText ? column.name : `-${column.name}`, second = column.isText ? `-${column.name}` : column.name;
        act.sort(state.sort === first ? second : state.sort === second ? "" : first);
      });
      return make("th", {scope: "col", className: column.isText ? "" : "number"}, button);
    });
    this.body = make("tbody");
    this.table = make("table", {}, make("thead", {}, make("tr", {}, make("th", {scope: "col"}, make("span", {className: "unseen"}, "marked")), ...this.heads)), this.body);
    this.scroll = make("div", {className: "scroll grid", tabIndex: 0, role: "region", ariaLabel: "Table of items"}, this.table);
    box.replaceChildren(this.scroll);
    this.scroll.addEventListener("scroll", () => { if (!this.waiting) this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.draw(); }); });
    new ResizeObserver(() => this.draw()).observe(this.scroll);
  }
  show(kept) {
    this.kept = kept;
    this.heads.forEach((head, at) => {
      const name = this.columns[at].name, way = state.sort === name ? "ascending" : state.sort === `-${name}` ? "descending" : "";
      way ? head.setAttribute("aria-sort", way) : head.removeAttribute("aria-sort");
    });
    this.table.setAttribute("aria-rowcount", kept.length + 1);
    this.draw();
  }
  draw() {
    const top = Math.max(0, Math.floor(this.scroll.scrollTop / HIGH) - SPARE);
    const end = Math.min(this.kept.length, top + Math.ceil(this.scroll.clientHeight / HIGH) + 2 * SPARE);
    const space = high => { const row = make("tr", {className: "space", ariaHidden: "true"}, make("td")); row.firstChild.style.height = `${high}px`; return row; };
    const focused = document.activeElement?.dataset?.row;
    const lines = [];
    for (let at = top; at < end; at++) lines.push(this.line(this.kept[at], at));
    this.body.replaceChildren(space(top * HIGH), ...lines, space((this.kept.length - end) * HIGH));
    if (focused !== undefined) this.body.querySelector(`button[data-row="${focused}"]`)?.focus({preventScroll: true});
  }
  line(row, at) {
    const cells = this.columns.map(column => {
      if (column.name === "item") {
        const open = make("button", {type: "button"}, make("bdi", {}, shown(column.text(row)).slice(0, SNIPPET)));
        open.dataset.row = row;
        return make("td", {}, open);
      }
      const text = column.keys ? column.text(row) : "";
      return make("td", {className: column.isText ? "" : "number"}, column.isText ? make("bdi", {}, shown(text.slice(0, SNIPPET).replace(/\s+/g, " "))) : text);
    });
    const line = make("tr", {"aria-rowindex": at + 2}, make("td", {}, this.act.isMarked(row) ? make("b", {ariaLabel: "marked", role: "img"}, "★") : ""), ...cells);
    if (row === this.current) line.setAttribute("aria-current", "true");
    line.addEventListener("click", () => this.act.open(row));
    return line;
  }
  reveal(row) {
    this.current = row;
    const at = this.kept.indexOf(row), top = at * HIGH, high = this.scroll.clientHeight - 2 * HIGH;
    if (at >= 0 && (top < this.scroll.scrollTop || top > this.scroll.scrollTop + high)) this.scroll.scrollTop = Math.max(0, top - high / 2);
    this.draw();
  }
}
