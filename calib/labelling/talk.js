// A conversation as people read it: who says what, results folded, a search, steps from message to message.
// A part is [who, blanks, text, folded, judged, number of the message]; a text that was cut is [start, n left out, end].
const WHO = ["role_system", "role_developer", "role_user", "role_assistant", "tool_call", "tool_result", "left_out"];
const MOST_MARKS = 2000;
const sayIn = words => (word, blanks = {}) => words[word].replace(/\{(\w+)\}/g, (whole, name) => blanks[name] ?? whole);

// `rows` hold a part each, or two side by side, of which one may be missing. `say` has the words, `write` makes what
// shows a text without a search, `after` what stands below a part.
function talk(rows, say, {write = text => [text], after = () => null} = {}) {
  const bodies = []; // each text with its box, and whatever shows it
  let hits = [], at = -1; // what a search found, and where one is
  const body = (text, part) => {
    const box = make("div", {dir: "auto", class: "words"});
    bodies.push({box, text, plainly: () => (text ? write(text, part) : [say("nothing")]), shown: false});
    return box;
  };
  const said = (part, side) => {
    const [who, blanks, text, folded, judged, number] = part, more = [side, judged ? "judged" : ""].filter(Boolean).map(word => ` (${say(word)})`);
    const head = [number ? `${number} ` : "", say(WHO[WHO.indexOf(who)], blanks), ...more];
    const one = make(folded ? "details" : "div", {class: judged ? "said judged" : "said", "data-who": who});
    one.append(make(folded ? "summary" : "h4", {dir: "auto"}, head.join("")));
    if (who === "left_out") return one;
    if (Array.isArray(text)) one.append(body(text[0], part), make("p", {class: "left_out"}, say("cut", {n: text[1].toLocaleString()})), body(text[2], part));
    else one.append(body(text, part));
    const below = after(part);
    if (below) one.append(below);
    if (!folded) one.tabIndex = -1;
    return one;
  };
  const all = rows.map(parts => (parts.length === 1 ? said(parts[0]) : make("div", {class: "sides"}, ...parts.map((part, side) => (part ? said(part, side ? "now" : "before") : make("div"))))));
  const field = make("input", {type: "search", "aria-label": say("find"), placeholder: say("find")});
  const count = make("span", {role: "status"});

  function search() {
    const words = field.value.trim().split(/\s+/).filter(Boolean).map(word => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
    const wanted = words.length ? new RegExp(words.join("\\s+"), "giu") : null;
    hits = [];
    at = -1;
    for (const one of bodies) {
      const found = wanted ? [...one.text.matchAll(wanted)].slice(0, MOST_MARKS - hits.length) : [], inside = [];
      let end = 0;
      for (const {0: text, index} of found) {
        hits.push(make("mark", {}, text));
        inside.push(one.text.slice(end, index), hits.at(-1));
        end = index + text.length;
      }
      if (found.length) one.box.replaceChildren(...inside, one.text.slice(end));
      else if (one.shown !== true) one.box.replaceChildren(...one.plainly());
      one.shown = !found.length;
      one.box.classList.toggle("found", found.length > 0);
    }
    count.textContent = wanted ? say("found", {at: 0, count: total()}) : "";
  }
  const total = () => hits.length === MOST_MARKS ? `${MOST_MARKS}+` : hits.length;
  // to the next of what was found, else to the next message
  function step(by) {
    if (hits.length) {
      hits[at]?.classList.remove("now");
      at = (at < 0 ? (by < 0 ? hits.length - 1 : 0) : at + by + hits.length) % hits.length;
      hits[at].classList.add("now");
      for (let fold = hits[at].closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
      hits[at].scrollIntoView({block: "center"});
      count.textContent = say("found", {at: at + 1, count: total()});
      return;
    }
    const here = all.findIndex(one => one.contains(document.activeElement)), judged = all.findIndex(hasJudged);
    const one = all[Math.max(0, Math.min(all.length - 1, (here < 0 ? judged < 0 ? -1 : judged : here) + by))];
    (one.querySelector("summary, .said[tabindex]") ?? one).focus({preventScroll: true});
    one.scrollIntoView({block: one.clientHeight > innerHeight / 2 ? "start" : "nearest"});
  }
  const hasJudged = one => one.matches(".judged") || one.querySelector(".judged") !== null;
  const button = (sign, word, by) => {
    const one = make("button", {type: "button", "aria-label": say(word)}, sign);
    one.addEventListener("click", () => step(by));
    return one;
  };
  field.addEventListener("input", () => { search(); if (hits.length) step(1); });
  field.addEventListener("keydown", event => { if (event.key === "Enter") step(event.shiftKey ? -1 : 1); });
  search();
  return {
    field, step, search, all, judged: all.find(hasJudged),
    bar: make("div", {class: "finding"}, field, button("↑", "back", -1), button("↓", "on", 1), count),
  };
}
