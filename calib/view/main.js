// The page: what it says of itself, and what keys and buttons do.
const marks = {items: new Set(), notes: none()};

async function begin() {
  const about = JSON.parse(new TextDecoder().decode(await unpacked(JSON.parse($("#start").textContent))));
  const tables = Object.fromEntries(Object.entries(about.tables).map(([name, head]) => [name, new Table(head)]));
  const {rows, draws, labels, calls} = tables, beside = [draws, labels], place = `calib view ${about.page}`;
  let kept = new Uint32Array(), talking = null;
  await rows.load(rows.columns.filter(one => !one.long));
  rows.first = new Map();
  rows.same = new Map();
  for (let row = 0; row < rows.n; row++) {
    const id = rows.text("item", row);
    if (!rows.first.has(id)) rows.first.set(id, row);
    (rows.same.get(id) ?? rows.same.set(id, []).get(id)).push(row);
  }
  try {
    const before = JSON.parse(localStorage.getItem(place) ?? "{}");
    marks.items = new Set(before.items); Object.assign(marks.notes, before.notes);
  } catch { /* a page in a frame, or without a place to keep anything: marks last as long as it is open */ }
  const keep = () => {
    $("#n_marks").textContent = marks.items.size;
    try { localStorage.setItem(place, JSON.stringify({items: [...marks.items], notes: marks.notes})); } catch { /* as above */ }
  };

  const act = {
    isMarked: row => marks.items.has(rows.text("item", row)),
    sort(name) { state.sort = name; renew(); },
    open(row) {
      state.item = rows.text("item", row);
      view.current = row;
      show(row);
      document.body.dataset.item = "open";
      view.reveal(row);
      $("#item").focus({preventScroll: true});
      $("#item").scrollTop = 0;
      written();
    },
    step(by) {
      const at = kept.indexOf(view.current);
      const next = kept[at < 0 ? 0 : Math.max(0, Math.min(kept.length - 1, at + by))];
      if (next !== undefined) act.open(next);
    },
    close() {
      $("#item").hidden = true;
      delete document.body.dataset.item;
      state.item = "";
      written();
      view.draw();
      (document.querySelector(`button[data-row="${view.current}"]`) ?? view.scroll).focus();
    },
    mark(row) {
      const id = rows.text("item", row);
      marks.items.delete(id) || marks.items.add(id);
      keep();
      view.draw();
      if (!$("#item").hidden) Object.assign($("#mark"), isMarkedAs(marks.items.has(id)));
      if (state.tab === "marks") showTab();
    },
    note(id, text) {
      if (text.trim()) marks.notes[id] = text; else delete marks.notes[id];
      keep();
      if (state.tab === "marks") showTab();
    },
    turn() { asMarkdown = !asMarkdown; if (!$("#item").hidden) show(view.current); },
    save(name, lines) {
      const link = make("a", {href: URL.createObjectURL(new Blob([lines.join("\n"), "\n"], {type: "text/csv"})), download: name});
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    },
  };
  const view = new Grid($("#items"), rows, act), all = {tables, about, marks, act};
  const show = row => { talking = showItem($("#item"), row, all); };

  function written() {
    const says = toHash();
    try { history.replaceState(null, "", says ? `#${says}` : location.href.split("#")[0]); } catch { /* in a frame */ }
  }
  function renew() {
    kept = matching(rows, beside);
    view.show(kept);
    const one = APART.every(name => !rows.by[name] || new Set([...kept].map(row => rows.by[name].keys[row])).size < 2);
    const [score] = mean(rows.by.score, kept), [label, n] = mean(rows.by.label, kept);
    const means = [Number.isNaN(score) ? "" : `judge mean ${number(score)}`, n ? `label mean ${number(label)} (${n} labelled)` : ""].filter(Boolean);
    $("#says").textContent = `${kept.length} of ${rows.n} rows${one && means.length ? `: ${means.join(", ")}` : ""}`;
    showTab();
    written();
  }
  function showMarks() {
    const list = make("button", {type: "button", disabled: !marks.items.size}, "Export marks (marks.csv)");
    list.addEventListener("click", () => act.save("marks.csv", ["item", ...[...marks.items].map(inCell)]));
    const notes = make("button", {type: "button", disabled: !Object.keys(marks.notes).length}, "Export notes (notes.csv)");
    notes.addEventListener("click", () => act.save("notes.csv", ["item,note", ...Object.entries(marks.notes).map(pair => pair.map(inCell).join())]));
    const named = [...new Set([...marks.items, ...Object.keys(marks.notes)])].filter(id => rows.first.has(id));
    $("#marks").replaceChildren(make("div", {className: "pair"}, list, notes), make("p", {}, "A page to label the marked items with: ", make("code", {}, about.commands.label)),
      make("p", {className: "soft"}, "Items that were marked for how they look are no random sample: labels of them say why the judge fails, not how often."),
      grid(["item", "marked", "note"], named.map(id => {
        const open = make("button", {type: "button"}, make("bdi", {}, shown(id)));
        open.addEventListener("click", () => act.open(rows.first.get(id)));
        return [open, marks.items.has(id) ? "★" : "", marks.notes[id] ?? ""];
      })));
  }
  function showTab() {
    for (const button of document.querySelectorAll("[data-tab]")) button.setAttribute("aria-pressed", String(button.dataset.tab === state.tab));
    for (const name of ["items", "slices", "calls", "marks"]) $(`#${name}`).hidden = name !== state.tab;
    if (state.tab === "slices") showSlices($("#slices"), kept, all);
    if (state.tab === "calls") showCalls($("#calls"), all);
    if (state.tab === "marks") showMarks();
  }
  // on a narrow screen an item stands in the place of everything else
  function toParts() { if (!$("#item").hidden && matchMedia("(max-width: 56rem)").matches) act.close(); }
  function fromAddress() {
    fromHash(location.hash.slice(1), rows, about.rules);
    showFilters($("#filters"), rows, about.rules, renew);
    const item = state.item;
    renew();
    if (rows.first.has(item)) act.open(kept.find(row => rows.text("item", row) === item) ?? rows.first.get(item));
    else if (item) $("#says").textContent += `. There is no item ${shown(item)}.`;
  }

  if (about.comparison) $("#front").append(...about.comparison.says.map(text => make("p", {}, make("bdi", {}, shown(text[0].toUpperCase() + text.slice(1))))), ...about.comparison.notes.map(text => make("p", {className: "note"}, shown(text))));
  $("#front").append(...about.notes.map(text => make("p", {className: "note"}, shown(text))));
  for (const button of document.querySelectorAll("[data-tab]")) button.addEventListener("click", () => { toParts(); state.tab = button.dataset.tab; showTab(); written(); });
  $("#help").addEventListener("click", () => $("#keys").showModal());
  $("#close_keys").addEventListener("click", () => $("#keys").close());
  addEventListener("hashchange", fromAddress);
  addEventListener("keydown", event => {
    const typing = event.target.closest?.("input:not([type=checkbox]), textarea");
    if (event.key === "Escape" && !$("#keys").open) { if (typing) event.target.blur(); else if (!$("#item").hidden) act.close(); return; }
    if (typing || event.ctrlKey || event.metaKey || event.altKey || $("#keys").open) return;
    const does = {
      j: () => act.step(1), k: () => act.step(-1), m: () => view.current >= 0 && act.mark(view.current), t: act.turn,
      J: () => talking?.step(1), K: () => talking?.step(-1), f: () => talking?.field.focus(), n: () => $("#note")?.focus(), "/": () => { toParts(); $("#query").focus(); }, "?": () => $("#keys").showModal(),
    }[event.key];
    if (does) { event.preventDefault(); does(); }
  });
  keep();
  fromAddress();
  document.body.dataset.state = "shown";
  await Promise.all([rows.load(rows.columns.filter(one => one.long)), draws.load(), labels.load(), calls.load()]);
  if (state.query) renew(); else view.draw();
  if (state.tab !== "items") showTab();
  if (!$("#item").hidden) show(view.current);
  document.body.dataset.state = "ready";
  return {rows, about, matching: () => matching(rows, beside), renew};
}
const opened = begin();
opened.catch(error => { $("#says").textContent = `The data could not be read: ${error.message}`; });
