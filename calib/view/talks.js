// Conversations: as a text to search in, one by itself or beside that of another run, with the scores of its turns.
const flat = talk => typeof talk === "string" ? talk : [...talk].sort((a, b) => a[3] - b[3]).map(([, {tool = ""}, text]) => `${tool} ${Array.isArray(text) ? `${text[0]} ${text[2]}` : text}`).join("\n");
const isTool = part => part[0].startsWith("tool");

// What two have in common stands once, what differs side by side where the same one speaks.
function abreast(before, now) {
  const [a, b] = [before, now].map(parts => parts.map(part => JSON.stringify([part[0], part[1].tool, part[2]])));
  const rows = [];
  let gone = [], come = [], i = 0, j = 0;
  const flush = () => {
    for (const part of come) {
      const at = gone.findIndex(one => one[0] === part[0]);
      rows.push(...gone.splice(0, Math.max(at, 0)).map(one => [one, null]), [at < 0 ? null : gone.shift(), part]);
    }
    rows.push(...gone.map(one => [one, null]));
    gone = [];
    come = [];
  };
  for (const one of steps(a, b, Infinity)) {
    if (one < 0) gone.push(before[i++]);
    else if (one > 0) come.push(now[j++]);
    else { flush(); rows.push([now[j++]]); i++; }
  }
  flush();
  return rows;
}

// The conversation of a row, if it has one; `opens` makes a button to another row, for those of its other turns.
function conversation(row, {tables: {rows}, about}, opens) {
  const columns = ["conversation", "conversation before"].map(name => rows.by[name]), turn = rows.value("turn", row), turns = new Map();
  const [now, before] = columns.map(column => (column?.talks && !column.missing(row) ? column.talks[column.keys[row]] : null));
  if (!now && !before) return null;
  if ([now, before].some(one => typeof one === "string")) return [null, ...[now, before].filter(Boolean).map(one => plain(flat(one)))];
  const parts = (now ?? []).map(part => [...part.slice(0, 4), part[5] === turn, part[5]]), mine = new Set(parts);
  const lines = before ? abreast(before, parts) : parts.map(part => [part]);
  const pairs = lines.filter(([one, two]) => one && typeof one[2] === "string" && typeof two?.[2] === "string"), changed = new Map();
  for (const [one, two] of pairs) diff(one[2], two[2], MOST_STEPS / pairs.length).forEach((nodes, side) => changed.set([one, two][side], nodes));
  columns[0]?.keys.forEach((code, other) => {
    const number = rows.value("turn", other);
    if (code === columns[0].keys[row] && code >= 0 && other !== row && number) (turns.get(number) ?? turns.set(number, []).get(number)).push(other);
  });
  const after = part => {
    const scored = mine.has(part) ? turns.get(part[5]) ?? [] : [];
    turns.delete(mine.has(part) && part[5]);
    return scored.length ? make("div", {className: "pair"}, ...scored.map(opens)) : null;
  };
  const write = (text, part) => [changed.has(part) || isTool(part) || !asMarkdown ? make("div", {className: "plain"}, ...changed.get(part) ?? [text]) : markdown(text)];
  const shown = talk(lines, sayIn(about.words), {write, after});
  if (state.query.trim()) { shown.field.value = state.query; shown.search(); }
  return [shown, shown.bar, make("div", {className: "messages", tabIndex: 0, role: "region", ariaLabel: "Conversation"}, ...shown.all)];
}
