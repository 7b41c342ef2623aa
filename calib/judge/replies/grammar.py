"""The answer in the text of a reply: how the labels of a scale are written, and what a part of one means.

What a judge reads can say "Score: 5", and the judge can repeat it: only what stands where the prompt asked for
the answer, alone, is one. Better unread than read wrongly.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from calib.judge.replies.reply import END_OF_THOUGHTS, FILLING, UNKNOWN, from_byte_level
from calib.judge.scale import Scale

# part of the store's key: to be raised when a pattern comes to need what compact replies do not hold
PATTERN_VERSION = 1

_MEANINGS_KEPT = 1 << 14  # token texts whose meaning is remembered
_LONGEST_KEPT = 64  # bytes of a text that is remembered
_MOST_PIECES = 3  # characters that a part of one, of up to three bytes, is decoded to

_PLAIN_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_CUT = re.compile(r"[\udc80-\udcff]++\Z")  # the first bytes of a character

# Nothing here may take more than linear time, whatever the text: what can run on is possessive (*+) or ends with the
# line where a match may begin at each line, and no two parts in a row can share a run between them.
_MARKS = r"[\s\"'`*_#(\[{<]*"  # what may stand before a label
_NUMBER = r"[-+]?\d+(?:[.,]\d+)*"  # with a decimal comma it is off every scale, and never the digits before it
_OPENING = "\u201c\u201e\u2018\u201a\u00ab\u2039\u300c\u300e\u300a\u301d\ufe41\ufe43\uff62"
_CLOSING = "\u201d\u2019\u00bb\u203a\u300d\u300f\u300b\u301e\u301f\ufe42\ufe44\uff63"
_QUOTES = f"\"'\uff02\uff07{_OPENING}{_CLOSING}"
_CLOSERS = r"(?:[^\S\n]*+[\"'`*_)\]}>\u201d\u2019\u00bb\u300d\u300f\u3011\uff09])*+"
_COLON = r"[:=\uff1a]"
_OF = (
    r"(?:(?:[^\S\n]*+/[^\S\n]*+|[^\S\n]++(?:out[^\S\n]++)?of[^\S\n]++)(?P<of>\d++(?:\.\d+)?)(?![\w/])"
    r"(?:[^\S\n]++(?:stars?|points?)\b)?)?"
)

# a name before the label of a form: that of a score, or of a criterion in up to three words, no start of a sentence
_NAME_WORD = r"[^\W\d_][\w'\u2019-]*+"
_SCORE_NAME = r"(?i:score|rating|answer|label|grade|result|verdict|evaluation|assessment|judge?ment|response)"
_NO_NAME = (
    r"(?i:i|we|you|he|she|it|they|this|that|these|there|the|a|an|my|your|as|if|in|on|to|no|not|never|don|please|"
    r"ignore|note|and|but|so|because|since|text|source|author|quote|quoted)\b"
)
_NAME = (
    rf"(?P<name>(?:(?i:the|my|your|final|overall|total)[ ]++)*+(?:(?!{_NO_NAME}){_NAME_WORD}[ ]){{0,2}}{_SCORE_NAME}|"
    rf"(?!{_NO_NAME}){_NAME_WORD}(?:[ /&]{{1,3}}+{_NAME_WORD}){{0,2}})"
    rf"(?:[ ]?\((?P<within>[^()\n]{{0,20}})\))?[\"'*_`]*+\s*+{_COLON}"
)
_IS_SCORE = re.compile(rf"{_SCORE_NAME}\Z")

# a line that begins with the score; quotation marks, block quotes and indented code make it somebody else's
_LINE_DECOR = (
    r"(?!(?:[ ]{4}|\t)\s*+[^\s*+\u2022-])"
    rf"(?:[^\w\s>`|{{}}<\\{_QUOTES}]++|[ \t_]++)*+"
)
_SCORE_LEAD = (
    rf"{_LINE_DECOR}(?i:(?:final|overall|total|my|the)[^\S\n]++)*+(?i:score|rating)"
    rf"(?:[^\S\n]*+\((?P<in>[^()\n]{{0,20}})\)|[^\S\n]++(?:for|of)[^\S\n]++(?P<for>[\w ]{{1,30}}?))?[*_`\s]*+{_COLON}"
)
_FENCE = r"[ ]{0,3}(?:```|~~~|\"\"\"|''')"
# tags that hold what somebody else wrote; in others, such as <answer>, the judge itself may speak
_QUOTING_TAG = (
    r"(?i:article|blockquote|cite|code|content|context|document|input|item|message|output|passage|pre|prompt|quote|"
    r"reference|source|summary|system|text|user)"
)
# and the lines in which a prompt frames its texts, if they are repeated
_TAG = re.compile(
    rf"(?m:^)[ ]{{0,3}}<(?P<opens>{_QUOTING_TAG})(?:[ ][^<>\n]{{0,80}}+)?>|</(?P<closes>{_QUOTING_TAG})>|"
    r"(?m:^)(?:BEGIN[ ](?P<begins>[^\n]{1,80}?[ ][0-9a-f]{16})|END[ ](?P<ends>[^\n]{1,80}?[ ][0-9a-f]{16}))\b"
)
_FENCE_OR_LEAD = re.compile(rf"(?m:^)(?:(?P<fence>{_FENCE})|(?P<lead>{_SCORE_LEAD}))")
# a quotation that began above ends right below
_CLOSED_BELOW = re.compile(rf"\s*+(?:[{_CLOSING}]|[{_QUOTES}](?![\w{_QUOTES}]))")
_RANGE = re.compile(r"(?:out of|\d+ ?(?:-|\u2013|to)) ?(\d+)")
# the same in brackets behind a label: 4 (out of 10), 4 (4/10), 4 (on a scale of 1 to 10)
_OF_REMARK = re.compile(
    r"[\s\"'`*_)\]]*+[(\[\uff08][ ]?(?:(?:out )?of|(?P<again>\d[\d.]*+)? ?/|"
    r"(?:on )?(?:an? |the )?(?:scale )?(?:of |from )?\d+ ?(?:-|\u2013|to))"
    r"[ ]?(?P<of>\d++(?:\.\d+)?)(?: stars?| points?)?[ ]?[)\]\uff09]",
    re.IGNORECASE,
)
_ONLY_BLANKS = re.compile(r"\s*+\Z")
_LEAD_ALONE = re.compile(_SCORE_LEAD)

# a label stands alone: not the start of a word, a number, a range, a list, or a sentence ("2 flaws were found")
_NO_PART = r"(?!_*+[^\W_]|[.,:]\d|-\w|[^\S\n]*+(?:[-\u2013\u2014][^\S\n]*+|,[^\S\n]++)\d)"
_FOLLOWS = r"\Z|[\n.,;:!?(\u2026\u3002\uff0c\u3001\uff1b\uff1a\uff01\uff1f\uff08]|<[/|]|-\s|[\u2013\u2014]"
# what may follow on a score line: a sentence of its own, a remark in brackets, what it is for
_REMARK = r"[(\[\uff08][^()\[\]\n]{0,200}+[)\]\uff09]"
_LINE_ENDS = (
    rf"(?:{_REMARK})?[^\S\n]*+(?:(?:for|in)[ ][\w ,]{{1,60}}+)?[*_]*+"
    r"(?:[-\u2013\u2014] (?-i:[A-Z])|[.!;\u3002]++[*_]*+(?:\s|\Z|<[/|])|[^\S\n]*+(?:\n|\Z|<[/|]))"
)
_BETWEEN = rf"{_NO_PART}{_CLOSERS}{_OF}{_CLOSERS}"
# "2. Coherence: 3" is a list, not a 2, and so is "2. 3"
_ITEM = (
    rf"[.)][ ]++(?!{_NO_NAME}){_NAME_WORD}(?:[ ]{_NAME_WORD})?:[ ]*+\d|"
    r"[.):][^\S\n]++[\"'`*_]*+\d[\d.,]*+[\"'`*_]*+(?:/\d++)?[^\S\n]*+(?:\n|\Z)"
)
_FORM_ALONE = rf"(?!{_ITEM}){_BETWEEN}(?=[^\S\n]*+(?:{_FOLLOWS}))"
_ALONE = rf"{_BETWEEN}(?=[^\S\n]*+(?:{_FOLLOWS}))"

_LEADS = {
    "label": rf"(?:{_MARKS}+(?:(?:[-\u2022]|1[.)])\s++)?{_NAME}|\s*+[-\u2022]\s++)?",
    "line": rf"{_SCORE_LEAD}(?:{_MARKS}+{_NAME})?",
    "json": "",
    "token": "",  # the first token or tokens of an answer
    "other": rf"(?:(?m:^)|(?<=[,;|]))[^\S\n]*+[*_#\u2022-]*+[^\S\n]*+{_NAME}",  # a further answer of a form
}
_TAILS = {
    "label": _FORM_ALONE,
    "line": rf"{_BETWEEN}(?=[^\S\n]*+{_LINE_ENDS})",
    "json": _ALONE,
    "token": rf"(?!\w|[.,:\u2013-]\d){_CLOSERS}{_OF}",  # all that a token can tell
    "other": _ALONE,
}

_THOUGHTS_BEGIN = re.compile(
    r"\s*+(?:<(?:think|thinking|thought|reasoning)>|\[THINK\]|\u25c1think\u25b7)", re.IGNORECASE
)
_THOUGHTS_END = re.compile(END_OF_THOUGHTS, re.IGNORECASE)
_NUMBERED_LIST = re.compile(r"\s*+1[.)]\s.*^[^\S\n]*+2[.)]\s", re.DOTALL | re.MULTILINE)
# all up to the next brace or key: other strings are skipped whole
_JSON_PART = re.compile(
    r"(?:[^\"{}\[\]]++|(?!\"score\"\s*+:)\"(?:[^\"\\]++|\\.)*+(?:\"|\\?\Z))*+"
    r"(?:(?P<key>\"score\"\s*+:)|(?P<opens>[{\[])|(?P<closes>[}\]])|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_BEFORE_OBJECT = re.compile(rf"[^\S\n]*+(?:{_FENCE}\w*+[^\S\n]*+|<[^<>\n]{{1,40}}>[^\S\n]*+)*+\Z")
_MOST_BEFORE = 200  # characters of a line before an object that are looked at
_AFTER_OBJECT = re.compile(r"[^\S\n]*+[.;]?[^\S\n]*+(?:\n|\Z|`|~~~|<[/|])")


class Meaning(NamedTuple):
    """A scale value (NaN off the scale) if the text ends here, and those of the longer labels that it begins."""

    value: float
    longer: frozenset[float]


NOTHING = Meaning(math.nan, frozenset())  # off the scale, whatever follows


class Grammar:
    """A scale and a pattern, compiled, with what token texts mean on it remembered."""

    def __init__(self, scale: Scale, answer: str) -> None:
        self.scale, self.answer, self.numbers = scale, answer, frozenset(scale.values if scale.numeric else ())
        # labels that differ by case alone are kept apart
        self.fold = len({label.casefold() for label in scale.labels}) == len(scale.labels)
        self.values = {self._key(label): value for label, value in zip(scale.labels, scale.values, strict=True)}
        self.all, self.top = frozenset(scale.values), max(scale.values)
        self.beyond_ascii = not "".join(scale.labels).isascii()
        self.longest = max(map(len, self.values)) + _MOST_PIECES
        self.meanings: dict[bytes, Meaning] = {}
        self.answers = self._compiled(answer, scale)
        self.tokens = self._compiled("token", scale)

    def _key(self, text: str) -> str:
        return text.casefold() if self.fold else text

    def _compiled(self, answer: str, scale: Scale) -> re.Pattern[str]:
        words = sorted((x for x in scale.labels if not _PLAIN_NUMBER.fullmatch(x)), key=len, reverse=True)
        # a label may itself begin with a mark
        marks = _MARKS if any(word[0] in FILLING for word in words) else f"{_MARKS}+"
        value = rf"(?P<value>{'|'.join([*map(re.escape, words), _NUMBER])})"
        flags = re.IGNORECASE if self.fold else re.NOFLAG
        return re.compile(rf"{_LEADS[answer]}(?P<slot>){marks}{value}{_TAILS[answer]}", flags)

    def find(self, text: str) -> re.Match[str] | None:
        """The answer by the declared pattern: of score lines the last one, of keys the last at the top."""
        start = after_thoughts(text)
        if self.answer == "label":
            match = self.answers.match(text, start)
            if match is None or _NUMBERED_LIST.match(text, start):
                return None  # a numbered list is no rating of 1
            name = match["name"]
            if name and not _IS_SCORE.search(name):  # nor is a label under a criterion's name with more of them below
                others = self._compiled("other", self.scale).finditer(text, match.end())
                if any(other["name"].casefold() != name.casefold() for other in others):
                    return None
            return match
        if self.answer == "line":
            lines = [self.answers.match(text, lead) for lead in score_lines(text, start)]
            if not lines or (last := lines[-1]) is None:
                return None  # where the last one holds no score, what came before may be quoted
            # nor where a quotation ends after the label, or right below, that began before its line
            before, after = text[last.start("slot") : last.start("value")], text[last.end("value") : last.end()]
            ends_quotation = any(mark in after for mark in _QUOTES) and not any(mark in before for mark in _QUOTES)
            if ends_quotation or _CLOSED_BELOW.match(text, last.end()):
                return None
            # nor where it is for one thing and another line for another
            names = [
                (line["for"] or line["in"] or line["name"] or "").strip(" *_").casefold() for line in lines if line
            ]
            return None if names[-1] and any(name and name != names[-1] for name in names) else last
        value = max(score_values(text, start), default=None)
        return None if value is None else self.answers.match(text, value)

    def slot(self, text: str) -> int | None:
        """Where the answer should be in a text that holds none."""
        start = after_thoughts(text)
        if self.answer == "label":
            return start
        if self.answer == "json":
            return max(score_values(text, start), default=None)
        line = max(score_lines(text, start), default=None)
        lead = None if line is None else _LEAD_ALONE.match(text, line)
        return lead.end() if lead else line

    def value(self, match: re.Match[str]) -> float:
        """The scale value of what was found; NaN off the scale, or where it is said to be on another (3/10)."""
        if self.is_of_another(match):
            return math.nan
        label = match["value"]
        if (key := self._key(label)) in self.values:
            return self.values[key]
        if self.numbers and _PLAIN_NUMBER.fullmatch(label) and float(label) in self.numbers:
            return float(label)
        return math.nan

    def is_of_another(self, match: re.Match[str]) -> bool:
        """Whether the reply itself says that the scale ends elsewhere: "4/10", "4 out of 10", "Score (1-10): 4"."""
        named = match.groupdict()
        if named["of"]:
            return float(named["of"]) != self.top
        remark = _OF_REMARK.match(match.string, match.end("value"))
        if remark and remark["again"] in (None, match["value"]):
            return float(remark["of"]) != self.top
        in_name = _RANGE.fullmatch(named.get("in") or named.get("within") or "")
        return in_name is not None and float(in_name[1]) != self.top

    def meaning(self, text: bytes) -> Meaning:
        """What the bytes of tokens at the answer mean."""
        if (meaning := self.meanings.get(text)) is None:
            meaning = self._meaning(text.decode("utf-8", "surrogateescape"))
            if meaning is NOTHING and self.beyond_ascii:  # of a message that is ASCII the alphabet is not seen
                meaning = self._meaning(from_byte_level(text).decode("utf-8", "surrogateescape"))
            if len(self.meanings) > _MEANINGS_KEPT:
                self.meanings.clear()
            if len(text) <= _LONGEST_KEPT:
                self.meanings[text] = meaning
        return meaning

    def _meaning(self, text: str) -> Meaning:
        match = self.tokens.match(text)
        value = self.value(match) if match else math.nan
        marks = len(text) - len(text.lstrip(FILLING))
        if marks == len(text):  # marks and blanks alone: any label may follow
            return Meaning(value, self.all)
        # a label may itself begin with a mark
        begun = (text[k:] for k in range(max(len(text) - self.longest, 0), marks + 1))
        longer = frozenset(value for one in begun for value in self._begun_by(one))
        return NOTHING if math.isnan(value) and not longer else Meaning(value, longer)

    def _begun_by(self, text: str) -> Iterator[float]:
        """Values of the labels that begin with the text and go on; part of a character may end it."""
        head, unknown, _ = text.partition(UNKNOWN.decode())
        cut = _CUT.search(head)
        head, rest = (
            (head[: cut.start()], head[cut.start() :].encode("utf-8", "surrogateescape")) if cut else (head, b"")
        )
        key = self._key(head)
        for label, value in self.values.items():
            if label.startswith(key) and label != key:
                following = label[len(key)]
                if rest or unknown:
                    cases = {following, following.upper(), following.lower()} if self.fold else {following}
                    spelled = [case.encode("utf-8", "surrogatepass") for case in cases]
                    if not any(len(one) > len(rest) and one.startswith(rest) and len(one) > 1 for one in spelled):
                        continue
                yield value


@lru_cache(maxsize=64)
def grammar_of(scale: Scale, answer: str) -> Grammar:
    """The grammar of a scale and a pattern, compiled once."""
    return Grammar(scale, answer)


# --- where the answer stands, and where what looks like one is a quotation or another's -----------------------------


def after_thoughts(text: str) -> int:
    """Where the reply proper begins, after reasoning between marks; its end where that was not closed."""
    if text[:1] == "{":
        return 0
    marked = ">" in text or "]" in text or "\u25b7" in text  # faster than the pattern
    ends = [mark.end() for mark in _THOUGHTS_END.finditer(text)] if marked else []
    return ends[-1] if ends else len(text) if _THOUGHTS_BEGIN.match(text) else 0


def score_lines(text: str, start: int) -> Iterator[int]:
    """Where lines begin that lead to a score; those in a code block only if the block is all there is."""
    text, inside = text[start:], list[int]()
    is_open, whole, fences = True, False, 0
    quotations = _quotations(text)
    for match in _FENCE_OR_LEAD.finditer(text):
        if bisect_right(quotations, match.start()) % 2:
            continue
        if match["lead"] is not None:
            if is_open:
                yield start + match.start()
            elif fences == 1 and whole:
                inside.append(start + match.start())
            continue
        is_open, fences = not is_open, fences + 1
        if fences == 1:
            whole = not text[: match.start()].strip()
        elif fences > 2 or not _ONLY_BLANKS.match(text, match.end()):
            whole = False
    if fences and whole:
        yield from inside


def _quotations(text: str) -> list[int]:
    """Where what stands between quoting tags begins and ends, in turn; what is not closed goes on to the end.

    A place is inside one if an odd number of these is before it.
    """
    bounds, name = list[int](), ""
    if "<" not in text and "BEGIN " not in text:  # faster than the pattern
        return bounds
    for tag in _TAG.finditer(text):
        opens, closes = (tag["opens"] or tag["begins"] or ""), (tag["closes"] or tag["ends"] or "")
        if opens and not name:
            name = opens.casefold()
            bounds.append(tag.start())
        elif closes and name == closes.casefold():
            name = ""
            bounds.append(tag.end())
    return bounds


def score_values(text: str, start: int) -> Iterator[int]:
    """Where the values of top-level keys "score" start in the JSON objects that have lines of their own."""
    brace, quotations = text.find("{", start), _quotations(text)
    while brace >= 0:
        depth, end, values = 0, len(text), list[int]()
        for part in _JSON_PART.finditer(text, brace):
            depth += (part.lastgroup == "opens") - (part.lastgroup == "closes")
            if part.lastgroup == "key" and depth == 1:
                values.append(part.end())
            if not depth:
                end = part.end()
                break
        if values and bisect_right(quotations, brace) % 2 == 0 and _stands_alone(text, start, brace, end):
            yield from values
        brace = text.find("{", end)


def _stands_alone(text: str, start: int, brace: int, end: int) -> bool:
    """Whether a JSON object is the answer, not a quotation within a text: on lines of its own, but for fences and tags.

    In a fence without a language it must be all that the reply holds.
    """
    near = max(brace - _MOST_BEFORE, start)
    lines, newline, before = text[near:brace].rpartition("\n")
    if not (newline or near == start) or not _BEFORE_OBJECT.match(before):
        return False
    if (lines + before).rstrip().endswith(("```", "~~~")) and (
        near > start or (text[start:brace] + text[end:]).strip("`~ \t\r\n")
    ):
        return False
    return end == len(text) or bool(_AFTER_OBJECT.match(text, end))
