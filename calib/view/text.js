// Texts of others: plain, or a little Markdown made into elements by hand; nothing of them becomes HTML or a link.
function inline(text) {
  const parts = [];
  for (const piece of text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*|\*[^*\s][^*\n]*\*)/)) {
    if (piece.length > 2 && piece.startsWith("`") && piece.endsWith("`")) parts.push(make("code", {}, piece.slice(1, -1)));
    else if (piece.length > 4 && piece.startsWith("**") && piece.endsWith("**")) parts.push(make("b", {}, piece.slice(2, -2)));
    else if (piece.length > 2 && piece.startsWith("*") && piece.endsWith("*")) parts.push(make("i", {}, piece.slice(1, -1)));
    else if (piece) parts.push(piece);
  }
  return parts;
}

function markdown(text) {
  const box = make("div", {className: "text prose", dir: "auto"});
  const lines = text.split("\n");
  let list = null;
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at];
    const head = /^(#{1,6})\s+(.*)/.exec(line), item = /^\s*(?:[-*+]|(\d{1,9})[.)])\s+(.*)/.exec(line);
    if (!item) list = null;
    if (/^\s*```/.test(line)) {
      const code = [];
      while (++at < lines.length && !/^\s*```/.test(lines[at])) code.push(lines[at]);
      box.append(make("pre", {}, code.join("\n")));
    } else if (head) box.append(make("p", {className: "head"}, ...inline(head[2])));
    else if (item) {
      const kind = item[1] ? "ol" : "ul";
      if (list?.localName !== kind) { list = make(kind, item[1] ? {start: +item[1]} : {}); box.append(list); }
      list.append(make("li", {}, ...inline(item[2])));
    } else if (line.trim()) {
      const paragraph = [line];
      while (at + 1 < lines.length && lines[at + 1].trim() && !/^\s*(```|#{1,6}\s|[-*+]\s|\d{1,9}[.)]\s)/.test(lines[at + 1])) paragraph.push(lines[++at]);
      box.append(make("p", {}, ...inline(paragraph.join("\n"))));
    }
  }
  return box;
}

const plain = text => make("div", {className: "text plain", dir: "auto"}, text);

const MOST_STEPS = 4e6;
// What is in one list and not in the other: -1 in the first alone, 1 in the second alone, 0 in both; by the longest
// common subsequence between a common start and end, null where that takes too many steps.
function steps(a, b, most) {
  let start = 0, end = 0;
  while (start < Math.min(a.length, b.length) && a[start] === b[start]) start++;
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const x = a.slice(start, a.length - end), y = b.slice(start, b.length - end), width = y.length + 1;
  if (x.length * y.length > most) return null;
  const length = new Uint16Array((x.length + 1) * width);
  for (let i = x.length - 1; i >= 0; i--)
    for (let j = y.length - 1; j >= 0; j--)
      length[i * width + j] = x[i] === y[j] ? length[(i + 1) * width + j + 1] + 1 : Math.max(length[(i + 1) * width + j], length[i * width + j + 1]);
  const way = new Array(start).fill(0);
  let i = 0, j = 0;
  while (i < x.length || j < y.length) {
    if (i < x.length && j < y.length && x[i] === y[j]) { way.push(0); i++; j++; }
    else if (j >= y.length || (i < x.length && length[(i + 1) * width + j] >= length[i * width + j + 1])) { way.push(-1); i++; }
    else { way.push(1); j++; }
  }
  return way.concat(new Array(end).fill(0));
}

// Two texts by words, each as what shows it.
function diff(before, after, most = MOST_STEPS) {
  const texts = [before, after].map(text => text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? []);
  const way = steps(...texts, most), at = [0, 0];
  if (!way) return [[before], [after]];
  const sides = [[], []];
  for (const one of way) for (const side of one < 0 ? [0] : one > 0 ? [1] : [0, 1]) {
    const word = texts[side][at[side]++], last = sides[side].at(-1);
    if (last?.[0] === one) last[1] += word; else sides[side].push([one, word]);
  }
  return sides.map(parts => parts.map(([one, text]) => one ? make(one > 0 ? "ins" : "del", {}, text) : text));
}

function sideBySide(before, after) {
  const sides = diff(before, after).map(parts => make("div", {className: "text plain", dir: "auto"}, ...parts));
  return make("div", {className: "sides"}, ...["before", "now"].map((name, side) => make("div", {}, make("h4", {}, name), sides[side])));
}
