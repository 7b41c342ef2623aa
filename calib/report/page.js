"use strict";
// Tables: a click on a head sorts, what is typed above one searches. It moves and hides rows; it makes no text into HTML.
const number = text => parseFloat(text.replace(/^[[\s]+/, ""));
const before = (a, b) => {
  const [x, y] = [number(a), number(b)];
  if (isNaN(x) !== isNaN(y)) return isNaN(x) ? 1 : -1;
  return isNaN(x) ? a.localeCompare(b) : x - y;
};
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      // numbers from the largest down first, texts from a to z
      const first = head.classList.contains("number") ? "descending" : "ascending";
      const second = first === "ascending" ? "descending" : "ascending";
      const way = head.getAttribute("aria-sort") === first ? second : first;
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", way);
      const said = row => row.cells[place].dataset.key ?? row.cells[place].textContent;
      const rows = [...body.rows].map(row => [said(row), row]);
      const sign = way === "ascending" ? 1 : -1;
      const empty = text => text.trim() === "";
      // what is empty stays below
      rows.sort(([a], [b]) => empty(a) - empty(b) || sign * before(a, b));
      body.append(...rows.map(([, row]) => row));
    });
  });
  const search = document.createElement("label"), input = document.createElement("input");
  search.className = "search";
  input.type = "search";
  const count = document.createElement("span");
  count.setAttribute("role", "status");
  search.append("Search ", input, " ", count);
  table.parentElement.before(search);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/);
    const found = [...body.rows].filter(row => {
      const text = row.textContent.toLowerCase();
      return !(row.hidden = !words.every(word => text.includes(word)));
    });
    count.textContent = input.value.trim() && `${found.length} of ${body.rows.length} rows`;
  });
}
// On paper everything is open.
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  closed.forEach(one => { one.open = true; });
});
addEventListener("afterprint", () => closed.forEach(one => { one.open = false; }));
// A link into a closed section opens it.
const reveal = () => {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let one = target; one; one = one.parentElement) if (one.localName === "details") one.open = true;
  if (target) target.scrollIntoView();
};
addEventListener("hashchange", reveal);
reveal();
