// Slices: of each value of a column n and means, in sight now; intervals are those of the file, of all rows.
const mean = (column, rows) => {
  let sum = 0, n = 0;
  if (column) for (const row of rows) if (!Number.isNaN(column.keys[row])) { sum += column.keys[row]; n++; }
  return [n ? sum / n : NaN, n];
};

// of which scores have no mean together
const APART = ["criterion", "judge", "prompt"];

function sliced(kept, column, rows) {
  const groups = new Map(), apart = APART.map(name => rows.by[name]);
  for (const row of kept) {
    const key = JSON.stringify([column ? column.text(row) : "", ...apart.map(one => one ? one.text(row) : "")]);
    (groups.get(key) ?? groups.set(key, []).get(key)).push(row);
  }
  return [...groups].map(([key, of]) => [...JSON.parse(key), of]);
}

function showSlices(box, kept, {tables: {rows}, about, act}) {
  const filtered = isFiltered(), some = [];
  const copy = make("button", {type: "button"}, "Export the items in view (slice.csv)");
  copy.addEventListener("click", () => act.save("slice.csv", ["item,in_view", ...new Set([...kept].map(row => `${inCell(rows.text("item", row))},yes`))]));
  if (filtered) some.push(make("p", {className: "note"}, `Of the ${kept.length} rows in view: n and means. A filter that was chosen after a look at the data has no interval here; export its items and let calib compute it: `, make("code", {}, about.commands.interval), " ", copy));
  for (const reason of about.reasons) some.push(make("p", {className: "soft"}, `No interval for ${reason}`));
  for (const name of ["", ...about.slices]) {
    const column = rows.by[name], several = APART.filter(part => rows.by[part]?.levels?.length > 1);
    const lines = sliced(kept, column, rows).map(([value, ...apart]) => {
      const of = apart.pop(), interval = filtered ? null : about.intervals.find(one => one.column === name && one.value === value && APART.every((part, at) => one[part] === apart[at]));
      const [score] = mean(rows.by.score, of), [label, n] = mean(rows.by.label, of);
      const human = interval ? `${number(interval.estimate)} [${number(interval.low)}, ${number(interval.high)}]` : "";
      return [shown(value) || (name ? "(none)" : "all"), ...several.map(part => shown(apart[APART.indexOf(part)])), String(of.length), number(score), String(n), number(label), ...(filtered ? [] : [human])];
    });
    const heads = [name ? column.title : "items", ...several, "n", "judge mean", "labelled", "label mean", ...(filtered ? [] : ["human mean, 95 % CI"])];
    some.push(block(name ? column.title : "All", grid(heads, lines)));
  }
  box.replaceChildren(...some);
}

const MOST_LINES = 200;
// The draws of which nothing was read.
function unreadDraws(rows, draws) {
  const lost = [];
  for (let row = 0; row < rows.n; row++) {
    if (rows.by["not read"].keys[row] !== 1) continue;
    const of = new Map();
    for (const at of draws.of(row)) {
      const draw = [draws.text("draw", at), draws.text("shown first", at)].join();
      of.set(draw, [...(of.get(draw) ?? []), at]);
    }
    for (const places of of.values()) if (places.every(at => Number.isNaN(draws.by.score.keys[at]))) lost.push(places[0]);
  }
  return lost;
}

function showCalls(box, {tables: {rows, draws, calls}, about, act}) {
  const parts = [];
  if (about.models.length) parts.push(block("Calls", grid(["model", "calls", "retries", "broken", "tokens in", "tokens out", "cost"], about.models.map(one => [shown(one.model), ...["calls", "retries", "broken", "tokens in", "tokens out"].map(name => String(one[name])), one.cost === null ? "price not known" : `$${one.cost.toFixed(4)}`]))));
  const lost = rows.by["not read"] ? unreadDraws(rows, draws) : [];
  if (draws.n) parts.push(block(`Readings without a score (${lost.length})`, grid(["item", "status", "prompt", "reply"], lost.slice(0, MOST_LINES).map(at => {
    const row = draws.by.row.keys[at], open = make("button", {type: "button"}, make("bdi", {}, shown(rows.text("item", row))));
    open.addEventListener("click", () => act.open(row));
    return [open, shown(draws.text("status", at)), shown(draws.text("prompt", at)), draws.text("reply", at) || "not kept (rate with replies=True)"];
  })), lost.length > MOST_LINES ? make("p", {className: "soft"}, `The first ${MOST_LINES}; the flag "not read" filters all.`) : null));
  box.replaceChildren(...(parts.length ? parts : [make("p", {}, "The run has no readings and no store of replies beside it (store=, --store).")]));
}
