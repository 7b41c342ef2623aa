"""Where a reply speaks for itself: what stands in quotation marks, code, tags or an introduced list is another's.

Nothing here may take more than linear time, whatever the text: what can run on is possessive (*+) or ends with the
line where a match may begin at each line, and no two parts in a row can share a run between them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from calib.judge.replies.reply import END_OF_THOUGHTS

_THOUGHTS_BEGIN = re.compile(
    r"\s*+(?:<(?:think|thinking|thought|reasoning)>|\[THINK\]|\u25c1think\u25b7)", re.IGNORECASE
)
_THOUGHTS_END = re.compile(END_OF_THOUGHTS, re.IGNORECASE)

# a tag holds what somebody else wrote, but for those in which the judge itself speaks and those of HTML; so do the
# lines in which a prompt frames its texts, if they are repeated
_TAG = re.compile(
    r"(?m)(?P<line>^[ ]{0,3})?(?:<(?P<close>/?)(?P<name>[^\W\d_][\w-]{0,40}+)(?:[ ][^<>\n]{0,80}+)?>(?P<ends>[ ]*+$)?|"
    r"\[(?P<shut>/?)(?P<word>[^\W\d_][\w-]{0,20}+)\])|^(?P<frame>BEGIN|END)[ ](?P<mark>[^\n]{1,80}?[ ][0-9a-f]{16})\b"
)
_OWN_TAG = re.compile(
    r"(?:final_|final-|my_)?(?:answer|score|rating|result|grade|verdict|evaluation|assessment|judge?ment|feedback|"
    r"analysis|reasons?|reasoning|rationale|explanation|[biu]|em|strong|p|br|hr|div|span|h\d|[uo]l|li|html|body)",
    re.IGNORECASE,
)
_CODE = re.compile(r"(?s)(?P<fence>```|~~~|\"\"\"|''').*?(?:(?P=fence)|\Z)")
_INDENTED = re.compile(r"(?m)^[^\S\n]*+\n(?:(?:[ ]{4}|\t)[^\n]*+(?:\n|\Z))++")
# an opening mark stands after a blank, a bracket or a sign of Chinese or Japanese; what is not closed has no end
_BEFORE_MARK = r"(?:(?<=[\s(\[*_>:\u2013\u2014\u3000-\u9fff\uff00-\uffef])|\A)"
_MARKS = {
    "\u201c": "\u201d", "\u201e": "\u201c\u201d", "\u201a": "\u2018\u2019", "\u00ab": "\u00bb", "\u2039": "\u203a",
    "\u00bb(?=\\w)": "\u00ab", "\u300c": "\u300d", "\u300e": "\u300f", "\u300a": "\u300b", "\u301d": "\u301e\u301f",
    "\uff62": "\uff63", "\uff02": "\uff02",
}  # fmt: skip
_MARKED = re.compile(
    _BEFORE_MARK + "(?:" + "|".join(rf"{one}[^{end}]*+(?:[{end}]|\Z)" for one, end in _MARKS.items()) + ")"
)
_STRAIGHT = re.compile(rf"{_BEFORE_MARK}(?:\"[^\"]*+(?:\"|\Z)|'(?![\d'])(?:[^']|'(?=[\w']))*+(?:'|\Z))")
# what a line that ends in a colon leads in, unless it says only that a score comes: what stands between two rules, a
# list, or one line
_OWN_LEAD = (
    r"(?:[^\w\n]|_)*+(?:(?:here|here's|is|are|this|my|the|final|overall|total|own)\b[^\w\n]*+)*+"
    r"(?:score|rating|answer|grade|verdict|evaluation|assessment|judge?ment|conclusion)?+(?:[^\w\n]|_)*+\n"
)
_RULE = r"^[^\S\n]*+(?:-{3,}+|\*{3,}+|_{3,}+|={3,}+)[^\S\n]*+$"
_LIST = r"(?:(?:[^\S\n]*+(?:[-*+\u2022]|\d{1,2}+[.)])[^\S\n]|[ ]{2}|\t)[^\n]*+(?:\n|\Z)(?:[^\S\n]*+\n)*+)++"
_INTRODUCED = re.compile(
    rf"(?mi)^(?!{_OWN_LEAD})[^\n]*[:\uff1a][*_]*+[^\S\n]*+\n(?:[^\S\n]*+\n)*+"
    rf"(?:{_RULE}(?s:.*?)(?:{_RULE}|\Z)|{_LIST}|[^\n]*+)"
)
# a refusal, in which a list may hold what is refused
REFUSAL = re.compile(
    r"\b(?:can(?:no|')t|won't|will not|refuse|decline|unable|sorry|kann .{0,30}nicht|kan .{0,30}niet|"
    r"ne peux|puedo|posso)\b|\u043d\u0435 \u043c\u043e\u0433\u0443|\u65e0\u6cd5|\u3067\u304d\u307e\u305b\u3093",
    re.IGNORECASE,
)

# all up to the next brace or key: other strings are skipped whole
_JSON_PART = re.compile(
    r"(?:[^\"{}\[\]]++|(?!\"score\"\s*+:)\"(?:[^\"\\]++|\\.)*+(?:\"|\\?\Z))*+"
    r"(?:(?P<key>\"score\"\s*+:)|(?P<opens>[{\[])|(?P<closes>[}\]])|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_BEFORE_OBJECT = re.compile(r"[^\S\n]*+(?:[ ]{0,3}(?:```|~~~|\"\"\"|''')\w*+[^\S\n]*+|<[^<>\n]{1,40}>[^\S\n]*+)*+\Z")
_MOST_BEFORE = 200  # characters of a line before an object that are looked at
_AFTER_OBJECT = re.compile(r"[^\S\n]*+[.;]?[^\S\n]*+(?:\n|\Z|`|~~~|<[/|])")


def after_thoughts(text: str) -> int:
    """Where the reply proper begins, after reasoning between marks; its end where that was not closed."""
    if text[:1] == "{":
        return 0
    marked = ">" in text or "]" in text or "\u25b7" in text  # faster than the pattern
    ends = [mark.end() for mark in _THOUGHTS_END.finditer(text)] if marked else []
    return ends[-1] if ends else len(text) if _THOUGHTS_BEGIN.match(text) else 0


def quoted(text: str) -> list[int]:
    """Where what stands between marks of its own begins and ends, in turn: tags, quotation marks, code."""
    marked = (mark.span() for kind in (_MARKED, _STRAIGHT, _INDENTED) for mark in kind.finditer(text))
    whole = len(text.strip())  # of code a block that is all there is is the judge's own
    code = (block.span() for block in _CODE.finditer(text) if len(block[0].strip()) < whole)
    return _bounds([*_tagged(text), *code, *marked])


def introduced(text: str) -> list[int]:
    """The same of what follows a line that ends in a colon: a quotation, or not."""
    return _bounds(one.span() for one in _INTRODUCED.finditer(text))


def is_inside(place: int, bounds: list[int]) -> bool:
    """Whether a place stands between a beginning and its end."""
    return bisect_right(bounds, place) % 2 == 1


def _bounds(spans: Iterable[tuple[int, int]]) -> list[int]:
    bounds = list[int]()
    for begin, end in sorted(spans):
        if bounds and begin <= bounds[-1]:
            bounds[-1] = max(end, bounds[-1])
        else:
            bounds += begin, end
    return bounds


def _tagged(text: str) -> Iterator[tuple[int, int]]:
    """What stands between tags; of those that are not closed, what begins or ends a line goes on to the end."""
    tags, closed = list[tuple[str, bool, bool, re.Match[str]]](), dict[str, int]()
    for tag in _TAG.finditer(text):
        name = (tag["name"] or tag["word"] or tag["mark"]).casefold()
        closes = bool(tag["close"] or tag["shut"] or tag["frame"] == "END")
        at_end_of_line = tag["name"] and (tag["line"] is not None or tag["ends"] is not None)
        tags.append((name, closes, bool(tag["mark"] or at_end_of_line), tag))
        if closes:
            closed[name] = tag.start()
    opened, begin = "", 0
    for name, closes, leads, tag in tags:
        if opened == name and closes:
            yield begin, tag.end()
            opened = ""
        elif not (opened or closes or _OWN_TAG.fullmatch(name)) and (leads or closed.get(name, -1) > tag.start()):
            opened, begin = name, tag.start()
    if opened:
        yield begin, len(text)


def score_values(text: str, start: int) -> Iterator[list[int]]:
    """Where the values of top-level keys "score" start, for each JSON object that has lines of its own."""
    body = text[start:]
    brace, others = text.find("{", start), _bounds([*_tagged(body), *(mark.span() for mark in _MARKED.finditer(body))])
    while brace >= 0:
        depth, end, values = 0, len(text), list[int]()
        for part in _JSON_PART.finditer(text, brace):
            depth += (part.lastgroup == "opens") - (part.lastgroup == "closes")
            if part.lastgroup == "key" and depth == 1:
                values.append(part.end())
            if not depth:
                end = part.end()
                break
        if values and not is_inside(brace - start, others) and _stands_alone(text, start, brace, end):
            yield values
        brace = text.find("{", end)


def _stands_alone(text: str, start: int, brace: int, end: int) -> bool:
    """Whether a JSON object is the answer, not a quotation within a text: on lines of its own, but for fences and tags.

    In a fence without a language it must be all that the reply holds.
    """
    near = max(brace - _MOST_BEFORE, start)
    lines, newline, before = text[near:brace].rpartition("\n")
    if not (newline or near == start) or not _BEFORE_OBJECT.match(before):
        return False
    fenced = (lines + before).rstrip().endswith(("```", "~~~"))
    if fenced and (near > start or (text[start:brace] + text[end:]).strip("`~ \t\r\n")):
        return False
    return end == len(text) or bool(_AFTER_OBJECT.match(text, end))
