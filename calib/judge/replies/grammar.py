"""The answer in the text of a reply: how the labels of a scale are written, and what a part of one means.

What a judge reads can say "Score: 5", and the judge can repeat it: only what stands where the prompt asked for
the answer, alone, is one. Better unread than read wrongly.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from calib.judge.replies.doubts import NEAR, TAKES_BACK, is_a_note, mention, preference, refuses, supposes
from calib.judge.replies.places import REFUSAL, after_thoughts, introduced, is_inside, quoted, score_values
from calib.judge.replies.reply import FILLING, SCORE_ABROAD, UNKNOWN, from_byte_level
from calib.judge.scale import Scale

# part of the store's key: raise it when a pattern needs what compact replies do not hold
PATTERN_VERSION = 2

_MEANINGS_KEPT = 1 << 14  # token texts whose meaning is remembered
_LONGEST_KEPT = 64  # bytes of a text that is remembered
_MOST_PIECES = 3  # characters that a part of one, of up to three bytes, is decoded to

_PLAIN_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_CUT = re.compile(r"[\udc80-\udcff]++\Z")  # the first bytes of a character

# Nothing here may take more than linear time, whatever the text: see places.py.
_FILLINGS = r"[\s\"'`*_#(\[{<]*"  # what may stand before a label
_NUMBER = r"[-+]?\d+(?:[.,]\d+)*"  # with a decimal comma it is off every scale, and never the digits before it
_CLOSING = "\u201d\u2019\u00bb\u203a\u300d\u300f\u300b\u301e\u301f\ufe42\ufe44\uff63"
_QUOTES = f"\"'\uff02\uff07\u201c\u201e\u2018\u201a\u00ab\u2039\u300c\u300e\u300a\u301d\ufe41\ufe43\uff62{_CLOSING}"
_CLOSERS = r"(?:[^\S\n]*+[\"'`*_)\]}>\u201d\u2019\u00bb\u300d\u300f\u3011\uff09])*+"
_COLON = r"[:=\uff1a]"
_POINTS = r"[\u5206\u70b9](?![^\W_])"  # of Chinese and Japanese: 4分
_OF_WORD = r"(?:(?:out[^\S\n]++)?of|von|sur|de|su|van|uit|\u0438\u0437)"
_OF = (
    rf"(?:(?:[^\S\n]*+/[^\S\n]*+|[^\S\n]++{_OF_WORD}[^\S\n]++)(?P<of>\d++(?:\.\d+)?)(?!(?!{_POINTS})[\w/])"
    rf"(?:[^\S\n]++(?:stars?|points?)\b)?)?(?:[^\S\n]*+{_POINTS})?"
)

# a name before a label: that of a score, in up to three words, or of the criterion; no start of a sentence
_WORD = r"[^\W\d_][\w'\u2019-]*+"
_SCORE = rf"(?:score|rating|answer|label|grade|result|verdict|evaluation|assessment|judge?ment|response|{SCORE_ABROAD})"
_NO_NAME = (
    r"(?:i|we|you|he|she|it|they|this|that|these|there|the|a|an|my|your|as|if|in|on|to|no|not|never|don|please|"
    r"ignore|and|but|so|because|since|text|source|author|quote|quoted)\b"
)
_PLAIN_NAME = rf"{_WORD}(?:[ /&]{{1,3}}+{_WORD}){{0,2}}"
_SCORE_NAME = rf"(?:(?:the|my|your|final|overall|total)[ ]++)*+(?:(?!{_NO_NAME}){_WORD}[ ]){{0,2}}{_SCORE}"
_NAME_ENDS = rf"(?:[ ]?\((?P<within>[^()\n]{{0,20}})\))?[\"'*_`]*+\s*+{_COLON}"

# a line that begins with the score; quotation marks, block quotes and indented code make it somebody else's
_LINE_DECOR = rf"(?!(?:[ ]{{4}}|\t)\s*+(?![*+\u2022-]\s))(?P<decor>(?:[^\w\s>`|{{}}<\\{_QUOTES}]++|[ \t_]++)*+)"
# in other words than the prompt's only with a number alone behind it
_SCORE_LEAD = (
    rf"{_LINE_DECOR}(?:(?:(?P<final>final|overall|total|revised|corrected|updated)[^\S\n]++|(?:my|the)[^\S\n]++)*+(?:score|rating)"
    r"(?:[^\S\n]*+\((?P<in>[^()\n]{0,20})\)|[^\S\n]++(?:for|of)[^\S\n]++(?P<for>[\w ]{1,30}?))?"
    rf"[*_`\s]*+{_COLON}|(?:{SCORE_ABROAD})[*_]*+[^\S\n]*+{_COLON}"
    r"(?=[^\S\n*_]*+[*_]*+[^\S\n]*+\d[^\w\n]*+\d*+[^\w\n]*+(?:\n|\Z)))"
)
_LEAD = re.compile(rf"^{_SCORE_LEAD}", re.MULTILINE | re.IGNORECASE)
# what speaks of a scale, in the name of a score, in brackets behind it or in the rest of its line
_N = r"\d[\d.]*+"
_OF_A_SCALE = re.compile(
    r"\b(?:scale|max(?:imum)?|skala|\u00e9chelle|escala|scala|schaal)\b|\u6ee1\u5206|\u6e80\u70b9|"
    rf"^[\s(\[\uff08]*+(?:{_N} ?(?:=|is|being)|(?:{_N})? ?(?:/|(?:out )?of|to|-|\u2013) ?{_N}(?: stars?| points?)?"
    r"[\s)\]\uff09]*+$)",
    re.IGNORECASE,
)
_BRACKETS = re.compile(r"[^\S\n]*+\n?[^\S\n]*+[(\[\uff08][^()\[\]\n\uff08\uff09]{0,200}+[)\]\uff09]")
_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_CLOSED = re.compile(_CLOSERS)
_SAME_LINE = re.compile(r"[ \t.*]*+[^\s.*]")
_LETTER = re.compile(r"[a-zA-Z]|[ -~]*\d[ -~]*")  # or a word with a digit: Output 1
_LEADS_IN = re.compile(r"[:\uff1a]\s*+(?:```\w*+\s*+)?\Z")
_HEADING = re.compile(r"[^\S\n]*+[:\uff1a]")
_MOST_REST = 200  # characters behind a label in which it may speak of its scale

# a label stands alone: not the start of a word, a number, a range, a list, or a sentence ("2 flaws were found")
_NO_PART = rf"(?!_*+(?!{_POINTS})[^\W_]|[.,:]\d|-\w|[^\S\n]*+(?:[-\u2013\u2014][^\S\n]*+|,[^\S\n]++)\d)"
_FOLLOWS = r"\Z|[\n.,;:!(\u2026\u3002\uff0c\u3001\uff1b\uff1a\uff01\uff08]|<[/|]|-\s|[\u2013\u2014]"
_ALONE = rf"{_NO_PART}{_CLOSERS}{_OF}{_CLOSERS}"
# what may follow on a score line: a sentence of its own, a remark in brackets, what it is for; but the next line does
# not go on with the sentence
_GOES_ON = r"[^\S\n]*+(?-i:[a-z\u00df-\u00f6\u00f8-\u00ff\u0430-\u044f])(?![^\n:]{0,30}:)"
_LINE_ENDS = (
    r"(?:[(\[\uff08][^()\[\]\n]{0,200}+[)\]\uff09])?[^\S\n]*+(?:(?:for|in)[ ](?P<about>[\w ,]{1,60}+))?[*_]*+"
    r"(?:[-\u2013\u2014] (?-i:[A-Z])|[.!;\u3002]++[*_]*+(?:\s|\Z|<[/|])|[^\S\n]*+(?:\n(?!"
    rf"{_GOES_ON})|\Z|<[/|]))"
)
# "2. Coherence: 3" is a list, not a 2, and so is "2. 3"
_ITEM = (
    rf"[.)][ ]++(?!{_NO_NAME}){_WORD}(?:[ ]{_WORD})?:[ ]*+\d|"
    r"[.):][^\S\n]++[\"'`*_]*+\d[\d.,]*+[\"'`*_]*+(?:/\d++)?[^\S\n]*+(?:\n|\Z)"
)
_NUMBERED_LIST = re.compile(r"\s*+1[.)]\s.*^[^\S\n]*+2[.)]\s", re.DOTALL | re.MULTILINE)

# what stands before a label and after it, by where the answer is; {name} is a name that a label may have
_AROUND = {
    "label": (
        rf"(?:{_FILLINGS}+(?:(?:[-\u2022]|1[.)])\s++)?{{name}}|\s*+[-\u2022]\s++)?",
        rf"(?!{_ITEM}){_ALONE}(?=[^\S\n]*+(?:{_FOLLOWS}))",
    ),
    "line": (rf"{_SCORE_LEAD}(?:{_FILLINGS}+{{name}})?", rf"{_ALONE}(?=[^\S\n]*+{_LINE_ENDS})"),
    "begun": (rf"{_SCORE_LEAD}(?:{_FILLINGS}+{{name}})?", _ALONE),  # a score line, however it goes on
    "json": ("", rf"{_ALONE}(?=[^\S\n]*+(?:{_FOLLOWS}))"),
    "token": ("", rf"(?!\w|[.,:\u2013-]\d){_CLOSERS}{_OF}"),  # all that a token can tell
    # what speaks against the answer of a form: one on a line of its own, under any name, or at the end
    "alone": (
        rf"(?:(?P<line>(?m:^))[^\S\n]*+[*_#\u2022-]*+[^\S\n]*+(?:{_PLAIN_NAME}{_NAME_ENDS})?|(?<![\w.,/-])(?!{_FILLINGS[:-1]}))",
        rf"{_ALONE}[^\S\n]*+(?:(?:for|in)[ ][\w ,]{{1,60}}+)?[.!\u3002]?(?:\s*+\Z|(?(line)[^\S\n]*+\n|(?!)))",
    ),
}
_BULLET = re.compile(r"[-+\u2022]|\*\s")


class Meaning(NamedTuple):
    """A scale value (NaN off the scale) if the text ends here, and those of the longer labels that it begins."""

    value: float
    longer: frozenset[float]


NOTHING = Meaning(math.nan, frozenset())  # off the scale, whatever follows


class Grammar:
    """A scale and a pattern, compiled, with what token texts mean on it remembered."""

    def __init__(self, scale: Scale, answer: str, criterion: str = "") -> None:
        self.scale, self.answer, self.numbers = scale, answer, frozenset(scale.values if scale.numeric else ())
        # labels that differ by case alone are kept apart
        self.fold = len({label.casefold() for label in scale.labels}) == len(scale.labels)
        self.values = {self._key(label): value for label, value in zip(scale.labels, scale.values, strict=True)}
        self.all, self.top = frozenset(scale.values), max(scale.values)
        self.beyond_ascii = not "".join(scale.labels).isascii()
        self.longest = max(map(len, self.values)) + _MOST_PIECES
        self.meanings: dict[bytes, Meaning] = {}
        own = r"[ _/&-]{1,3}+".join(map(re.escape, re.findall(r"[^\W_]+", criterion)))
        self.name = rf"(?P<name>{_SCORE_NAME}{f'|(?:(?:the|my|overall)[ ])*+{own}' if own else ''}){_NAME_ENDS}"
        self.words = sorted((x for x in scale.labels if not _PLAIN_NUMBER.fullmatch(x)), key=len, reverse=True)
        self.answers, self.tokens = self._compiled(answer), self._compiled("token")
        self.begun, self.alone = self._compiled("begun"), self._compiled("alone")
        self.mentions = self._mentions()
        letters, others = "|".join(map(re.escape, self._letters())), "|".join([*map(re.escape, self.words), _NUMBER])
        flags = re.IGNORECASE if self.fold and not letters else re.NOFLAG
        self.others = re.compile(mention(letters or others), flags)
        self.preferred = re.compile(preference(letters), re.IGNORECASE) if letters else None

    def _key(self, text: str) -> str:
        return text.casefold() if self.fold else text

    def _compiled(self, kind: str) -> re.Pattern[str]:
        # a label may itself begin with a mark
        marks = _FILLINGS if any(word[0] in FILLING for word in self.words) else f"{_FILLINGS}+"
        value = "|".join([*map(re.escape, self.words), _NUMBER])
        before, after = _AROUND[kind]
        marks = marks.replace(r"\s", r"\t ") if kind == "alone" else marks
        value = rf"(?P<slot>){marks}(?P<value>{value if self.fold else f'(?-i:{value})'})"
        return re.compile(before.replace("{name}", f"(?:{self.name})") + value + after, re.IGNORECASE)

    def _letters(self) -> list[str]:
        return [label for label in self.words if _LETTER.fullmatch(label)]

    def _mentions(self) -> re.Pattern[str]:
        """Labels as a reply weighs them: letters wherever they stand (A, B), words and numbers alone (yes, no; 4)."""
        letters = list(map(re.escape, self._letters()))
        others = [re.escape(x) for x in self.words if not _LETTER.fullmatch(x)] if self.words else [_NUMBER]
        ways = [rf"(?:{'|'.join(others)})(?=[^\S\n]*+(?:[.,:;!?)](?!\d)|-\s)|\s*+\Z)"] if others else []
        ways += [rf"(?-i:{'|'.join(letters)})(?![a-zA-Z\d_])|(?:{'|'.join(letters)})(?=[.):])"] if letters else []
        return re.compile(rf"(?<![a-zA-Z\d_])(?<!\d[.,/-])(?P<value>{'|'.join(ways)})", re.IGNORECASE)

    def find(self, text: str) -> re.Match[str] | None:
        """The answer by the declared pattern; None where there is none, or two that differ."""
        find = {"label": self._form, "line": self._line, "json": self._object}[self.answer]
        return None if is_a_note(text) else find(text, after_thoughts(text))

    def _form(self, text: str, start: int) -> re.Match[str] | None:
        match = self.answers.match(text, start)
        if match is None or _NUMBERED_LIST.match(text, start):
            return None  # a numbered list is no rating of 1
        end = self._end(match)
        if _HEADING.match(text, end) and (_LETTER.fullmatch(match["value"]) or not self.words):
            return None  # nor is a label that begins what is said of it: "A: vague"
        against = [*self.alone.finditer(text, end), *self._weighed(match), *self._taken_back(match, end)]
        return match if self._agree(match, against) else None

    def _end(self, match: re.Match[str]) -> int:
        """The end of an answer and of what it says of its scale."""
        remark = _BRACKETS.match(match.string, match.end())
        return remark.end() if remark and _OF_A_SCALE.search(remark[0]) else match.end()

    def _weighed(self, match: re.Match[str]) -> Iterator[re.Match[str]]:
        """Labels that a reply weighs which goes on in the line of its answer; of numbers in that line alone."""
        text, end = match.string, self._end(match)
        line = text.find("\n", end)
        if _SAME_LINE.match(text, end):
            yield from self.mentions.finditer(text, end, len(text) if self.words or line < 0 else line)

    def _taken_back(self, match: re.Match[str], end: int) -> Iterator[re.Match[str]]:
        """What a reply that goes on behind its answer says instead, or says to be better."""
        text, last = match.string, end
        for other in self.others.finditer(text, end):
            if TAKES_BACK.search(text, max(last, other.start() - NEAR), other.start()):
                yield other
            last = other.end()
        for one in self.preferred.finditer(text, end) if self.preferred else ():
            if better := self.others.search(text, one.start(one.lastgroup or 0)):
                yield better

    def _agree(self, match: re.Match[str], others: Iterable[re.Match[str]]) -> bool:
        value = self._label(match["value"])
        return all(self._label(other["value"]) in (value, None) for other in others)

    def _line(self, text: str, start: int) -> re.Match[str] | None:
        leads, doubtful = score_lines(text, start)
        last = self.answers.match(text, leads[-1]) if leads else None
        if last is None:
            return None  # where the last one holds no score, what came before may be quoted
        before = text[start : leads[-1]]
        if (_BULLET.search(last["decor"]) and REFUSAL.search(text, start)) or refuses(before) or supposes(before):
            return None
        if not self._agree(last, [*self._weighed(last), *self._taken_back(last, last.end())]):
            return None
        # nor where others say something else, unless it alone is marked as final
        places = [*leads[:-1], *(place for place in doubtful if place > leads[-1])]
        answers = (self.answers.match(text, place) or self.begun.match(text, place) for place in places)
        others = [one for one in answers if one and (one["final"] or not last["final"])]
        subject, value = _subject(last), self.value(last)
        if any(self.value(one) != value or (subject and _subject(one) not in ("", subject)) for one in others):
            return None
        return last

    def _object(self, text: str, start: int) -> re.Match[str] | None:
        objects, before = [*score_values(text, start)], text[start:].partition("{")[0]
        if (_LEADS_IN.search(before) and REFUSAL.search(before)) or refuses(before) or supposes(before):
            return None
        answers = [self.answers.match(text, values[0]) for values in objects]
        labels = {self.value(one) for one in answers if one}
        if len(labels) != 1 or not all(len(values) == 1 for values in objects):
            return None
        last = answers[-1]
        return last if last and self._agree(last, self._taken_back(last, text.rfind("}") + 1)) else None

    def slot(self, text: str) -> int | None:
        """Where the answer should be in a text that holds none."""
        start = after_thoughts(text)
        if self.answer == "label":
            return start
        if self.answer == "json":
            return max((values[-1] for values in score_values(text, start)), default=None)
        line = max((place for places in score_lines(text, start) for place in places), default=None)
        lead = None if line is None else _LEAD.match(text, line)
        return lead.end() if lead else line

    def value(self, match: re.Match[str]) -> float:
        """The scale value of what was found; NaN off the scale, or where it is said to be on another (3/10)."""
        value = self._label(match["value"])
        return math.nan if value is None or self.is_of_another(match) else value

    def _label(self, text: str) -> float | None:
        if (key := self._key(text)) in self.values:
            return self.values[key]
        return float(text) if self.numbers and _PLAIN_NUMBER.fullmatch(text) and float(text) in self.numbers else None

    def is_of_another(self, match: re.Match[str]) -> bool:
        """Whether the reply itself says that the scale ends elsewhere: "4/10", "4 out of 10", "Score (1-10): 4"."""
        groups, text, end = match.groupdict(), match.string, match.end("value")
        if groups["of"]:
            return float(groups["of"]) != self.top
        closed = _CLOSED.match(text, end)
        remark = _BRACKETS.match(text, closed.end() if closed else end)
        line = text[end : end + _MOST_REST].partition("\n")[0]
        spoken = (groups.get("in"), groups.get("within"), remark and remark[0], line)
        about = [_DIGITS.findall(one) for one in spoken if one and _OF_A_SCALE.search(one)]
        return any(max(map(float, numbers), default=math.nan) != self.top for numbers in about)

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
        end = cut.start() if cut else len(head)
        head, rest = head[:end], head[end:].encode("utf-8", "surrogateescape")
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
def grammar_of(scale: Scale, answer: str, criterion: str = "") -> Grammar:
    """The grammar of a scale and a pattern, compiled once; a label may stand under the name of the criterion."""
    return Grammar(scale, answer, criterion)


def score_lines(text: str, start: int) -> tuple[list[int], list[int]]:
    """Where lines begin that lead to a score and that nobody else wrote; and those that another may have written."""
    body, lines = text[start:], (list[int](), list[int]())
    if leads := [lead.start() for lead in _LEAD.finditer(body)]:
        others, doubtful = quoted(body), introduced(body)
        for lead in leads:
            if not is_inside(lead, others):
                lines[is_inside(lead, doubtful)].append(start + lead)
    return lines


def _subject(line: re.Match[str]) -> str:
    """What a score line says that its score is for."""
    return (line["for"] or line["in"] or line["name"] or line.groupdict().get("about") or "").strip(" *_").casefold()
