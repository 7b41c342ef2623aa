// Every text is shown as text, every answer is kept in this browser, nothing is sent anywhere.
const $ = id => document.getElementById(id);
const data = JSON.parse($("data").textContent), say = sayIn(data.words);
const CANNOT = "cannot_say", IDLE = 60000, OURS = "calib", SINGLE_KEYS = `${OURS}"single_keys"`, WRITTEN = `${OURS}"written"`;
const criteria = data.criteria.map(told => ({ ...told, ...choices(told) }));
let view = "", annotator = "", items = [], place = 0, active = 0; // what is shown
let failed = false, exported = false; // whether storage fails, whether a file has all that is here
let book = null; // the database beside the storage
let talking = null; // the conversation that is shown
let mark = 0, away = document.hidden, latest = 0; // the clock

function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
function tell(text) {
  $("status").textContent = "";
  setTimeout(() => { $("status").textContent = text; }, 30); // what is the same as before is read again
}
// FNV-1a, its bits mixed at the end
function hash(...parts) {
  let h = 0x811c9dc5;
  for (const char of JSON.stringify([data.page, ...parts])) h = Math.imul(h ^ char.codePointAt(0), 0x01000193);
  h = Math.imul(h ^ h >>> 16, 0x85ebca6b);
  h = Math.imul(h ^ h >>> 13, 0xc2b2ae35);
  return (h ^ h >>> 16) >>> 0;
}

// Scales: a button for each of up to ten levels, else a number to type.
function choices({ scale, levels }) {
  const values = levels.map(([value]) => value);
  const [low, high] = values.length ? [Math.min(...values), Math.max(...values)] : scale.split("..").map(Number);
  if (!levels.length || levels.length > 10) return { low, high, values, buttons: [] };
  const isDigit = value => Number.isInteger(value) && value >= 0 && value <= 9;
  const digits = !data.paired && values.every(isDigit);
  const shown = data.paired ? [[1, say("first_better")], [0.5, say("equal")], [0, say("second_better")]] : levels;
  const buttons = shown.map(([value, word], at) => (
    { value, word, key: digits ? String(value) : String((at + 1) % 10), number: data.paired ? "" : String(value) }
  ));
  return { low, high, values, buttons };
}
function fits(value, { values, low, high }) {
  return typeof value === "number" && (values.length ? values.includes(value) : value >= low && value <= high);
}
function inWords(c, value) {
  if (value === CANNOT) return say("cannot_say");
  const button = criteria[c].buttons.find(one => one.value === value);
  return button ? [button.number, button.word].filter(Boolean).join(" ") : String(value);
}
// The score of a pair that is shown the other way round is kept as if it were not.
const turned = (item, value) => (item.swapped && value !== CANNOT ? 1 - value : value);

// What is kept: a key for the answers to each question and for each comment, so that two tabs do not undo each other.
const keyOf = (...parts) => OURS + JSON.stringify([data.page, ...parts]);
const isMine = key => key.startsWith(keyOf(annotator).slice(0, -1));
function failing() {
  failed = true;
  $("failing").textContent = say("failing");
}
function kept(key) {
  try { return localStorage.getItem(key); } catch { failing(); return null; }
}
function put(key, text) {
  if (text === null) localStorage.removeItem(key);
  else localStorage.setItem(key, text);
}
function keep(key, text) {
  const at = Date.now();
  try { book?.transaction("kept", "readwrite").objectStore("kept").put({ key, text, at }); }
  catch { book = null; }
  try {
    put(key, text);
    localStorage.setItem(WRITTEN, at);
  } catch { failing(); }
}
// Browsers write local storage late, and one that crashes may lose the last minute. Its database does not wait:
// what it has from after the last write that the storage knows of is put back.
function settled(request) {
  return new Promise(resolve => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = request.onblocked = () => resolve(null);
    setTimeout(resolve, 3000, null);
  });
}
async function openBook() {
  try {
    const request = indexedDB.open(OURS, 1), written = Number(localStorage.getItem(WRITTEN));
    request.onupgradeneeded = () => request.result.createObjectStore("kept", { keyPath: "key" });
    book = await settled(request);
    const all = book && await settled(book.transaction("kept").objectStore("kept").getAll());
    for (const { key, text, at } of all ?? []) if (at >= written) put(key, text);
  } catch { book = null; }
}
function isTime(text) {
  return typeof text === "string" && !isNaN(Date.parse(text)) && new Date(text).toISOString() === text;
}
// an answer: value, seconds, time
function isAnswer(one, criterion) {
  if (!Array.isArray(one) || !Number.isFinite(one[1]) || one[1] < 0 || !isTime(one[2])) return false;
  return one[0] === CANNOT || fits(one[0], criterion);
}
function answersIn(key, criterion) {
  try { return JSON.parse(kept(key)).filter(one => isAnswer(one, criterion)); } catch { return []; }
}
function fresh(item, c) {
  if (!failed) item.answers[c] = answersIn(item.keys[c], criteria[c]);
  return item.answers[c];
}
function keepAnswers(item, c) {
  keep(item.keys[c], item.answers[c].length ? JSON.stringify(item.answers[c]) : null);
  markExported(false);
}
function keepComment(item, text) {
  item.comment = text;
  keep(item.commentKey, text || null);
  markExported(false);
}
function markExported(isSo) {
  if (isSo || exported) keep(keyOf(annotator), isSo ? new Date().toISOString() : null);
  exported = isSo;
}
function loadAll() {
  for (const item of items) {
    item.answers = criteria.map((one, c) => answersIn(item.keys[c], one));
    item.comment = kept(item.commentKey) ?? "";
  }
  exported = kept(keyOf(annotator)) !== null;
}
function idOf(key) {
  const bytes = Uint8Array.from(atob(key.replace(/-/g, "+").replace(/_/g, "/")), char => char.charCodeAt(0));
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}
// A name that was typed makes an order of its own, and turns all pairs or none.
function enter(name) {
  annotator = name;
  const other = data.annotator ? 0 : hash(name) % 2;
  items = data.items.map(([key, swapped, texts]) => ({
    texts, id: idOf(key), swapped: data.paired && Boolean(swapped ^ other), order: hash(name, key), spent: 0,
    keys: criteria.map(one => keyOf(name, key, one.name)), commentKey: keyOf(name, key),
  }));
  if (!data.annotator) items.sort((a, b) => a.order - b.order);
  loadAll();
}
function removeAll() {
  if (kept(keyOf()) === annotator) keep(keyOf(), null);
  try { Object.keys(localStorage).filter(isMine).forEach(key => keep(key, null)); } catch { failing(); }
  enter(annotator);
  $("remove").close();
  show("start");
  $("start_head").focus();
  tell(say("removed"));
}

// Active seconds: what is longer than a minute without a key or a move of the pointer is a pause.
function tick() {
  const now = performance.now();
  if (!away && view === "ask") items[place].spent += Math.min(now - mark, IDLE);
  [mark, away] = [now, document.hidden];
}
function secondsOf(item) {
  tick();
  const spent = item.spent;
  item.spent = 0;
  return Math.round(spent / 100) / 10;
}
function stamp() {
  latest = Math.max(Date.now(), latest + 1); // no two at once: the last one can be undone
  return new Date(latest).toISOString();
}
const total = list => Math.round(10 * list.reduce((sum, one) => sum + one[1], 0)) / 10;
function minutesLeft() {
  const spent = items.filter(isDone).map(item => total(item.answers.flat())).sort((a, b) => a - b);
  return spent.length < 3 ? NaN : spent[Math.floor(spent.length / 2)] * (items.length - spent.length) / 60;
}

// Answers.
const isDone = item => item.answers.every(list => list.length);
const missing = item => item.answers.findIndex(list => !list.length); // -1 of one that is done: its first will do
const answered = () => items.flatMap(item => item.answers.flatMap((list, c) => (
  list.length ? [{ item, c, value: list.at(-1)[0], time: list.at(-1)[2] }] : []
)));
function record(c, value) {
  const item = items[place], score = turned(item, value);
  if (fresh(item, c).at(-1)?.[0] === score) return;
  item.answers[c].push([score, secondsOf(item), stamp()]);
  keepAnswers(item, c);
}
function answer(c, value) {
  record(c, value);
  if (c + 1 < criteria.length) choose(c + 1);
  else if (isDone(items[place])) toOpen(place);
  else choose(missing(items[place]));
  tellWhere("answered", c, value);
}
function undo() {
  const [found] = answered().sort((a, b) => (a.time < b.time ? 1 : -1));
  if (!found) return tell(say("nothing_to_undo"));
  const { item, c } = found, [value, spent] = fresh(item, c).pop() ?? [found.value, 0];
  keepAnswers(item, c);
  go(items.indexOf(item), c);
  item.spent += 1000 * spent; // the answer in its place took this time, too
  tellWhere("undone", c, turned(item, value));
}
function tellWhere(what, c, value) {
  const where = view === "ask" ? `${$("place").textContent}.` : $("end_head").textContent;
  tell(`${say(what, { criterion: criteria[c].name, answer: inWords(c, value) })} ${where}`);
}
// The number in a field, once it is one of the scale.
function numberIn(c) {
  const input = $(`number${c}`), { values, low, high } = criteria[c], value = Number(input.value) + 0;
  const empty = input.value === "" && !input.validity.badInput;
  const good = input.value !== "" && fits(value, criteria[c]);
  const rule = values.length && value >= low && value <= high ? "number_level" : "number_wrong";
  $(`wrong${c}`).textContent = good || empty ? "" : say(rule, { low, high });
  input.setAttribute("aria-invalid", !good && !empty);
  return good ? value : null;
}

// Where one is.
function go(to, c) {
  document.activeElement.blur(); // a number that was typed is of the item before
  tick();
  if (to >= items.length) return toEnd();
  place = Math.max(to, 0);
  showTexts(items[place]);
  show("ask");
  choose(c ?? missing(items[place]), false);
  $("place").focus({ preventScroll: true });
  scrollTo(0, 0);
  talking?.judged?.scrollIntoView({ block: "nearest" });
}
// from the item after this one on, and round again
function toOpen(from) {
  const round = items.map((item, at) => (from + 1 + at) % items.length);
  go(round.find(at => !isDone(items[at])) ?? items.length);
}
function toEnd() {
  show("end");
  $("end_head").focus();
}
function choose(c, focused = true) {
  active = Math.min(Math.max(c, 0), criteria.length - 1);
  const sets = [...$("criteria").children];
  sets.forEach((set, at) => set.classList.toggle("active", at === active));
  paint();
  if (focused) sets[active].focus({ preventScroll: true });
  $("answers").scrollTop = sets[active].offsetTop - 12; // where they are more than fit
}
function show(name) {
  tick();
  view = document.body.dataset.view = name;
  for (const section of document.querySelectorAll("main > section")) section.hidden = section.id !== name;
  paint();
}
const nameTyped = () => $("name").value.trim().normalize();
function begin() {
  if (!data.annotator) {
    $("name_wrong").textContent = nameTyped() ? "" : say("name_missing");
    $("name").setAttribute("aria-invalid", !nameTyped());
    if (!nameTyped()) return $("name").focus();
    keep(keyOf(), nameTyped());
  }
  toOpen(-1);
}
function openDialog(name) {
  $("remove_head").textContent = say("remove_sure", { annotator });
  $(name).showModal();
}

// What is seen.
function showTexts(item) {
  const heads = [...data.parts], texts = item.texts.map(at => data.texts[at]);
  talking = null;
  if (data.paired) heads.splice(-2, 2, say("first"), say("second"));
  if (item.swapped) texts.push(...texts.splice(-2, 2).reverse());
  $("texts").replaceChildren(...texts.map((text, at) => {
    const told = { class: "plain", role: "region", tabindex: 0, "aria-labelledby": `part${at}` };
    const above = data.paired && at < texts.length - 2;
    const head = make("h3", { id: `part${at}`, dir: "auto" }, heads[at]), isTalk = Array.isArray(text) && text.length > 0;
    if (isTalk) talking = talk(text.map(part => [part]), say);
    if (!isTalk) told.dir = "auto"; // of thousands of messages, which have their own, it would be found for each anew
    const body = isTalk ? talking.all : [text.length ? text : say("nothing")];
    return make("div", { class: above ? "part above" : "part" }, head, ...(isTalk ? [talking.bar] : []), make("div", told, ...body));
  }));
  criteria.forEach((one, c) => { if (!one.buttons.length) $(`number${c}`).value = $(`wrong${c}`).textContent = ""; });
}
function buttonOf(c, { value, word, key, number }) {
  const hint = make("kbd", key === number ? {} : { "aria-hidden": true }, key === " " ? say("key_space") : key);
  const shortcut = { "aria-keyshortcuts": key === " " ? "Space" : key };
  const button = make("button", { type: "button", value, "aria-pressed": false, ...shortcut }, hint, " ");
  if (number && number !== key) button.append(make("b", {}, number), " ");
  button.append(make("span", { dir: "auto" }, word));
  button.addEventListener("click", () => answer(c, value));
  return button;
}
function numberOf(c, { low, high, values, levels }) {
  const step = values.length && values.every((value, at) => value === low + at) ? 1 : "any";
  const told = { type: "number", id: `number${c}`, min: low, max: high, step, "aria-describedby": `ends${c} wrong${c}` };
  const input = make("input", told), ends = [levels[0], levels.at(-1)].filter(end => end?.[1]);
  input.addEventListener("change", () => {
    const value = numberIn(c);
    if (value !== null) record(c, value);
    paint();
  });
  const hint = make("span", { id: `ends${c}`, dir: "auto" }, ends.map(end => end.join(" ")).join(" … "));
  const wrong = make("span", { id: `wrong${c}`, class: "wrong", role: "alert" });
  return [make("label", { for: `number${c}` }, say("number", { low, high })), input, hint, wrong];
}
function fieldsetOf(criterion, c) {
  const meaning = make("p", { id: `meaning${c}`, class: "meaning", dir: "auto" }, criterion.meaning);
  const how = criterion.buttons.length ? criterion.buttons.map(one => buttonOf(c, one)) : numberOf(c, criterion);
  const cannot = buttonOf(c, { value: CANNOT, word: say("cannot_say"), key: " " });
  const name = make("legend", {}, make("span", { dir: "auto" }, criterion.name));
  const set = make("fieldset", { tabindex: -1 }, name, make("div", { class: "row" }, ...how, cannot));
  if (criterion.meaning) set.append(meaning);
  if (criterion.meaning) set.setAttribute("aria-describedby", meaning.id);
  set.addEventListener("focusin", () => { if (active !== c) choose(c, false); });
  return set;
}
function paint() {
  const count = data.items.length, done = items.filter(isDone).length, begun = answered();
  const minutes = minutesLeft(), soon = done === count || isNaN(minutes) ? "" : "minute_left";
  $("bar").max = count;
  $("bar").value = done;
  $("done_of").textContent = say("done_of", { done, count });
  $("left").textContent = soon && say(minutes < 1 ? soon : "minutes_left", { minutes: Math.round(minutes) });
  $("saved").textContent = begun.length ? say(failed ? "not_saved" : "saved") : "";
  $("begin").textContent = begun.length ? say("continue", { done, count }) : say("start");
  $("to_export").hidden = view === "start" && !data.annotator;
  document.querySelectorAll(".unexported").forEach(one => { one.hidden = exported || !begun.length; });
  document.body.classList.toggle("no_keys", !$("single_keys").checked);
  if (view === "ask") paintItem(items[place]);
  if (view === "end") paintEnd(begun, done);
}
function paintItem(item) {
  $("place").textContent = say("place", { place: place + 1, count: items.length });
  $("previous").disabled = place === 0;
  if (document.activeElement !== $("comment")) $("comment").value = item.comment;
  item.answers.forEach((list, c) => {
    const value = list.length ? String(turned(item, list.at(-1)[0])) : "", set = $("criteria").children[c];
    set.classList.toggle("answered", value !== "");
    set.querySelectorAll("button").forEach(one => one.setAttribute("aria-pressed", one.value === value));
    const input = $(`number${c}`);
    if (input && input !== document.activeElement && !$(`wrong${c}`).textContent) input.value = value === CANNOT ? "" : value;
  });
}
function paintEnd(begun, done) {
  const open = items.length * criteria.length - begun.length;
  const unsure = begun.filter(one => one.value === CANNOT).length;
  const counts = { count_items: done, count_answers: begun.length, count_cannot_say: unsure, count_open: open };
  $("counts").replaceChildren(...Object.entries(counts).map(([word, count]) => (
    make("div", {}, make("dt", {}, say(word)), make("dd", {}, count))
  )));
  $("end_head").textContent = say(open ? "your_labels" : "all_done");
  $("thanks").hidden = open > 0;
  $("to_open").hidden = open === 0;
  $("csv").disabled = $("jsonl").disabled = !begun.length;
}

// Files: a table as calib.table.write makes it for spreadsheets, or a JSON object in each line.
function rows() {
  return items.flatMap((item, at) => item.answers.flatMap((list, c) => list.slice(-1).map(([value, , time]) => ({
    item: item.id, criterion: criteria[c].name, rater: annotator, scale: criteria[c].scale, method: "human",
    score: value === CANNOT ? null : value, status: value === CANNOT ? CANNOT : "ok", seconds: total(list), time,
    comment: item.comment, position: at + 1, swapped: item.swapped, page: data.page,
  }))));
}
function inPython(value) {
  const size = Math.abs(value);
  if (size && (size < 1e-4 || size >= 1e16)) return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  return Number.isInteger(value) ? `${value}.0` : String(value);
}
function cell(row, name) {
  const float = row[name] !== null && (name === "score" || name === "seconds");
  const text = float ? inPython(row[name]) : String(row[name] ?? "");
  return inCell(text);
}
function csv() {
  const lines = rows().map(row => data.columns.map(name => cell(row, name)).join(","));
  return [data.columns.join(","), ...lines, ""].join("\r\n");
}
const jsonl = () => rows().map(row => `${JSON.stringify(row)}\n`).join("");
function fileName(ending) {
  const plain = annotator.normalize("NFKD").replace(/[^\w-]+/g, "-").slice(0, 60);
  return `labels-${plain}${plain === annotator ? "" : `-${hash(annotator).toString(36)}`}.${ending}`;
}
function download(ending, text) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text])), download: fileName(ending) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), IDLE);
  markExported(true);
  paint();
  tell(say("exported", { file: link.download }));
}
function rowsOfCsv(text) {
  const found = [[]];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|\r\n|\n|\r|$)/g)) {
    const read = quoted === undefined ? plain : quoted.replace(/""/g, '"');
    found.at(-1).push(QUOTED.test(read) ? read.slice(1) : read);
    if (end !== ",") found.push([]);
  }
  const [names, ...cells] = found.filter(row => row.length > 1);
  return cells.map(row => Object.fromEntries(names.map((name, at) => [name, row[at]])));
}
function rowsOf(text) {
  try {
    if (!text.trimStart().startsWith("{")) return rowsOfCsv(text);
    return text.split("\n").filter(line => line.trim()).map(line => JSON.parse(line));
  } catch { return []; }
}
function refusal(found) {
  const whole = row => ["item", "criterion", "rater", "score", "status", "seconds", "time", "page"].every(name => name in row);
  if (!found.length || !found.every(whole)) return say("file_broken");
  const { page } = found.find(row => row.page !== data.page) ?? {};
  if (page !== undefined) return say("file_other_page", { page, own: data.page });
  const { rater } = found.find(row => row.rater !== annotator) ?? {};
  return rater === undefined ? "" : say("file_other_annotator", { annotator: rater });
}
function takeRow(row, item, c) {
  const time = isNaN(Date.parse(row.time)) ? "" : new Date(row.time).toISOString();
  const value = row.status === CANNOT ? CANNOT : row.score === "" || row.score === null ? NaN : Number(row.score);
  if (!item || c < 0 || !isAnswer([value, Number(row.seconds), time], criteria[c])) return "others";
  const list = fresh(item, c), known = list.length > 0 && list.at(-1)[2] >= time;
  if (row.comment && (!known || !item.comment)) keepComment(item, String(row.comment));
  if (known) return "known";
  list.push([value, Math.max(0, Number(row.seconds) - total(list)), time]);
  keepAnswers(item, c);
  return "taken";
}
async function takeFile(file) {
  const found = rowsOf((await file.text()).replace(/^\ufeff/, "")), refused = refusal(found);
  const count = { taken: 0, known: 0, others: 0 }, byId = new Map(items.map(item => [item.id, item]));
  for (const row of refused ? [] : found) {
    count[takeRow(row, byId.get(String(row.item)), criteria.findIndex(one => one.name === row.criterion))] += 1;
  }
  $("file_found").textContent = refused || say("file_taken", count);
  tell($("file_found").textContent);
  $("file").value = "";
  paint();
}

// Keys.
function keyPressed(event) {
  const [, kind, name] = /^(Digit|Numpad|Key)(\w)$/.exec(event.code) ?? [];
  if (event.key.length > 1) return event.key;
  // the row of digits has other signs in French, the letters are others in Greek
  if ((kind === "Digit" || kind === "Numpad") && !event.shiftKey) return name;
  return kind === "Key" && event.key > "\x7f" ? name.toLowerCase() : event.key.toLowerCase();
}
function actionOf(key, target) {
  if ((key === " " || key === "Enter") && target.closest("button, input, summary")) return null;
  if (key === "Enter" && view === "start") return begin;
  if (key === "g") return () => openDialog("guideline");
  if (key === "?") return () => openDialog("keys");
  if (key === "e" && !$("to_export").hidden) return toEnd;
  if (key === "u" && view !== "start") return undo;
  return view === "ask" ? actionOnItem(key, target) : null;
}
function actionOnItem(key, target) {
  const [back, on] = document.dir === "rtl" ? ["ArrowRight", "ArrowLeft"] : ["ArrowLeft", "ArrowRight"];
  const box = target.closest(".plain"), scrolls = box && box.scrollHeight > box.clientHeight;
  if (key === back) return () => go(place - 1);
  if (key === on) return () => go(place + 1);
  const step = { ArrowUp: -1, ArrowDown: 1 }[key];
  if (step) return scrolls ? null : () => choose(active + step);
  if (key === " ") return () => answer(active, CANNOT);
  if (key === "c") return () => $("comment").focus();
  if (talking && key === "f") return () => talking.field.focus();
  if (talking && (key === "j" || key === "k")) return () => talking.step(key === "j" ? 1 : -1);
  const button = criteria[active].buttons.find(one => one.key === key);
  return button ? () => answer(active, button.value) : null;
}
function onKeyInField(event, field) {
  const c = [...$("criteria").children].findIndex(set => set.contains(field));
  if (event.key === "Escape") $(view === "ask" ? "place" : `${view}_head`).focus();
  if (event.key !== "Enter" || event.repeat) return;
  if (field.id === "name") begin();
  if (c < 0) return;
  event.preventDefault();
  const value = numberIn(c);
  if (value !== null) answer(c, value);
}
function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
  if (document.querySelector("dialog[open]")) return;
  const field = event.target.closest("textarea, input:not([type=checkbox], [type=file])");
  if (field) return onKeyInField(event, field);
  if (!$("single_keys").checked) return;
  const key = keyPressed(event), number = view === "ask" && $(`number${active}`);
  if (number && /^[\d.,-]$/.test(key) && !event.repeat) return number.select(); // and it takes the key
  const act = actionOf(key, event.target);
  if (act) event.preventDefault();
  if (act && !event.repeat) act();
}

const clicks = {
  begin, undo, previous: () => go(place - 1), next: () => go(place + 1),
  to_export: toEnd, to_open: () => toOpen(-1), to_items: () => go(place),
  csv: () => download("csv", csv()), jsonl: () => download("jsonl", jsonl()), remove_now: removeAll,
  open_guideline: () => openDialog("guideline"), open_keys: () => openDialog("keys"), ask_remove: () => openDialog("remove"),
};
for (const [id, act] of Object.entries(clicks)) $(id).addEventListener("click", act);
document.querySelectorAll(".close").forEach(one => one.addEventListener("click", () => one.closest("dialog").close()));
$("file").addEventListener("change", event => event.target.files.length && takeFile(event.target.files[0]));
$("comment").addEventListener("input", event => { keepComment(items[place], event.target.value); paint(); });
$("single_keys").addEventListener("change", event => { keep(SINGLE_KEYS, event.target.checked ? null : "off"); paint(); });
$("name")?.addEventListener("input", () => { enter(nameTyped()); paint(); });
for (const kind of ["keydown", "pointerdown", "pointermove", "input", "scroll"]) {
  addEventListener(kind, tick, { capture: true, passive: true });
}
addEventListener("visibilitychange", tick);
addEventListener("keydown", onKey);
addEventListener("storage", event => {
  if (failed || (event.key !== null && !isMine(event.key))) return;
  loadAll();
  paint();
});
addEventListener("pageshow", event => { if (event.persisted && !failed) { loadAll(); paint(); } });
addEventListener("beforeunload", event => { if (failed && !exported && answered().length) event.preventDefault(); });

openBook().then(() => {
  keep(OURS, "");
  keep(OURS, null); // whether this browser keeps anything
  $("single_keys").checked = kept(SINGLE_KEYS) !== "off";
  if (!data.annotator) $("name").value = kept(keyOf()) ?? "";
  $("criteria").append(...criteria.map(fieldsetOf));
  enter(data.annotator || nameTyped());
  show("start");
  if (answered().length) $("begin").focus();
  else if (!data.annotator) $("name").focus({ preventScroll: true });
});
