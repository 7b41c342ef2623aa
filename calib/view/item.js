// One item: texts, what the judge said and how sure, what people said, its calls.
let asMarkdown = true;
const part = (title, ...inside) => make("section", {}, make("h3", {}, title), ...inside);
const block = (title, ...inside) => make("section", {}, make("h2", {}, title), ...inside);
const folded = (title, ...inside) => make("details", {}, make("summary", {}, title), ...inside);

// Of each value the share over the draws, in each of which the shares that were read are 1 together.
function shares(draws, places) {
  const of = new Map(), all = new Map();
  for (const at of places) {
    const score = draws.by.score.keys[at], weight = draws.value("weight", at), value = Number.isNaN(weight) ? 1 : weight;
    if (Number.isNaN(score)) continue;
    const draw = [draws.text("draw", at), draws.text("shown first", at)].join();
    if (!of.has(draw)) of.set(draw, []);
    of.get(draw).push([score, value]);
  }
  for (const pairs of of.values()) {
    const sum = pairs.reduce((total, [, weight]) => total + weight, 0);
    for (const [score, weight] of pairs) if (sum > 0) all.set(score, (all.get(score) ?? 0) + weight / sum / of.size);
  }
  return [...all].sort(([a], [b]) => a - b);
}

function bars(pairs, entropy) {
  const most = Math.max(...pairs.map(([, share]) => share), 0.01);
  const lines = pairs.map(([score, share]) => {
    const bar = svg("svg", {viewBox: "0 0 100 10", preserveAspectRatio: "none", class: "bar", "aria-hidden": "true"}, svg("rect", {width: 100 * share / most, height: 10}));
    return make("tr", {}, make("th", {scope: "row", className: "number"}, number(score)), make("td", {className: "number"}, `${(100 * share).toFixed(1)} %`), make("td", {}, bar));
  });
  return [make("p", {}, `Entropy ${number(entropy) || "not known"} nats.`), make("table", {className: "bars"}, make("tbody", {}, ...lines))];
}

function grid(heads, lines) {
  if (!lines.length) return make("p", {className: "soft"}, "None.");
  const cell = text => text instanceof Node ? make("td", {}, text) : make("td", {className: /^-?[\d.]+( %)?$/.test(text) ? "number" : ""}, make("bdi", {}, text));
  return make("div", {className: "scroll", tabIndex: 0, role: "group", ariaLabel: heads.join(", ")}, make("table", {},
    make("thead", {}, make("tr", {}, ...heads.map(head => make("th", {scope: "col"}, head)))), make("tbody", {}, ...lines.map(line => make("tr", {}, ...line.map(cell))))));
}

const isMarkedAs = marked => ({textContent: marked ? "★ marked" : "☆ mark", ariaPressed: String(marked)});
function showItem(box, row, {tables, about, marks, act}) {
  const {rows, draws, labels, calls} = tables, id = rows.text("item", row);
  const button = (text, does, more = {}) => { const one = make("button", {type: "button", ...more}, text); one.addEventListener("click", does); return one; };
  const facts = rows.columns.filter(one => !one.flag && !one.long && one.name !== "item" && !one.missing(row));
  const flags = rows.columns.filter(one => one.flag && one.keys[row] === 1);
  const note = make("textarea", {id: "note", value: marks.notes[id] ?? "", ariaLabel: "Note on this item", placeholder: "Note"});
  note.addEventListener("input", () => act.note(id, note.value));
  box.replaceChildren(
    make("div", {className: "pair tools"}, button("← Previous", () => act.step(-1)), button("Next →", () => act.step(1)),
      button("", () => act.mark(row), {id: "mark", ...isMarkedAs(marks.items.has(id))}),
      button(asMarkdown ? "Plain text" : "Markdown", act.turn), button("Close", act.close)),
    make("h2", {}, make("bdi", {}, shown(id))),
    flags.length ? make("p", {className: "mind"}, flags.map(one => `${one.title}: ${about.rules[one.name]}`).join(" ")) : "",
    make("dl", {className: "facts"}, ...facts.map(one => make("div", {}, make("dt", {}, one.title), make("dd", {}, make("bdi", {}, shown(one.text(row))))))));
  const after = rows.text("output", row), before = rows.text("output before", row);
  if (before) box.append(part(after === before ? "Output, as before" : "Output, before and now", sideBySide(before, after)));
  const written = asMarkdown ? markdown : plain;
  const opens = other => button(`${["criterion", "judge", "prompt"].map(name => rows.text(name, other)).filter(Boolean).map(shown).join(", ")}: ${rows.text("score", other)}${rows.text("label", other) && `, label ${rows.text("label", other)}`}`, () => act.open(other));
  const [talking, ...parts] = conversation(row, {tables, about}, opens) ?? [];
  if (parts.length) box.append(part("Conversation", ...parts));
  else if (rows.by.conversation) box.append(part("Conversation", make("p", {className: "soft"}, "This item has no messages.")));
  for (const column of rows.columns.filter(one => one.kind === "text" && one.long && one.keys && !one.missing(row) && !(before && /^output( before)?$/.test(one.name)))) box.append(part(column.title, written(column.text(row))));
  const places = draws.of(row), read = places.length ? shares(draws, places) : [];
  if (read.length) box.append(part("Judge's distribution", ...bars(read, rows.value("entropy", row))));
  const words = new Map();
  for (const at of places) words.set([draws.text("draw", at), draws.text("shown first", at)].join(), draws.text("reply", at));
  const said = [...words].filter(([, text]) => text);
  if (said.length) box.append(part("Judge's words", ...said.map(([draw, text]) => said.length > 1 ? make("div", {}, make("h4", {}, `Draw ${draw.replace(/,$/, "")}`), written(text)) : written(text))));
  const opinions = labels.of(row);
  if (opinions.length) box.append(part("Labels", grid(["annotator", "label", "comment"], opinions.map(at => [shown(labels.text("annotator", at)), labels.text("label", at) || shown(labels.text("status", at)), labels.text("comment", at)]))));
  box.append(part("Note", note));
  if (places.length) box.append(folded(`Readings (${places.length})`, grid(["draw", "prompt", "score", "weight", "status"], places.map(at => ["draw", "prompt", "score", "weight", "status"].map(name => shown(draws.text(name, at)))))));
  const asked = calls.of(+(rows.first.get(id) ?? row));
  if (asked.length) box.append(folded(`Calls and prompts (${asked.length})`, ...asked.map(at => make("div", {}, grid(["model", "finish", "tokens in", "tokens out", "cost", "arrived"], [["model", "finish", "tokens in", "tokens out", "cost", "arrived"].map(name => shown(calls.text(name, at)))]), make("h4", {}, "Prompt"), plain(calls.text("prompt", at)), make("h4", {}, "Reply"), plain(calls.text("reply", at) || calls.text("raw", at))))));
  const others = (rows.same.get(id) ?? []).filter(one => one !== row);
  if (others.length) box.append(part("The same item", make("div", {className: "pair"}, ...others.map(opens))));
  box.hidden = false;
  if (talking?.judged) parts[1].scrollTop = talking.judged.offsetTop - parts[1].offsetTop;
  return talking;
}
