"""What speaks against an answer that stands where it should: the reply refuses one, only supposes it, or takes it back.

Nothing here may take more than linear time, whatever the text: see places.py.
"""

from __future__ import annotations

import re

from calib.judge.replies.places import is_inside, quoted

NEAR = 90  # characters before another answer, in which the word stands that takes back the first

_SENTENCE = r"(?:^|(?<=[.!?]\s))[^\S\n]*+"
# who refuses to rate says so in a sentence of its own; what is rated may say anything
_RATE = (
    r"(?:rate|score|evaluate|judge|grade|assess|assist|help|comply|(?:provide|give) an? (?:score|rating))\b"
    r"(?![^.!?\n]{0,40}\b(?:higher|above|more|better|over|below|lower|without|alone)\b)"
)
_REFUSES = re.compile(
    rf"{_SENTENCE}(?:[^.!?:;,\n\"]{{0,30}},[ ])?+(?:but[ ])?I(?:['\u2019]m|[ ]am)?[ ](?:must[ ]|have[ ]to[ ])?"
    rf"(?:can(?:no|['\u2019])t|won['\u2019]t|will[ ]not|(?:refuse|decline|(?:un|not[ ])able)[ ]to)[ ]{_RATE}|"
    rf"{_SENTENCE}(?:[^.!?:;\n\"]{{0,30}}\bkann\b[^.!?:;\n\"]{{0,40}}\bnicht (?:bewerten|beurteilen|benoten)|"
    r"[^.!?:;\n\"]{0,30}\bkan\b[^.!?:;\n\"]{0,40}\bniet (?:beoordelen|scoren)|"
    r"[^.!?:;\n\"]{0,30}\bne peux pas (?:\u00e9valuer|noter|juger)|"
    r"[^.!?:;\n\"]{0,30}\bno puedo (?:evaluar|calificar|puntuar|juzgar)|"
    r"[^.!?:;\n\"]{0,30}\bn\u00e3o posso (?:avaliar|julgar)|[^.!?:;\n\"]{0,30}\bnon posso (?:valutare|giudicare)|"
    r"[^.!?:;\n\"]{0,30}\u043d\u0435 \u043c\u043e\u0433\u0443 \u043e\u0446\u0435\u043d)|"
    r"\u65e0\u6cd5(?:\u8bc4|\u6253\u5206)|(?:\u8a55\u4fa1|\u63a1\u70b9)(?:\u306f|\u3059\u308b\u3053\u3068\u304c)?\u3067\u304d",
    re.IGNORECASE | re.MULTILINE,
)
# the sentence that leads to the answer says what would be
_WOULD = (
    r"(?:would|w\u00e4re|w\u00fcrde|g\u00e4be|serait|donnerais|ser\u00eda|dar\u00eda|seria|daria|sarebbe|darei|zou)\b"
)
_SUPPOSES = re.compile(
    rf"{_SENTENCE}(?:(?:if|had|were|wenn|h\u00e4tte|si|se|als)\b[^.!?\n]{{0,200}}\b{_WOULD}|"
    rf"(?:with|without|mit|ohne|avec|sans)\b[^.!?\n]{{0,100}}\b(?:it|this|es|ce) {_WOULD})[^.!?\n]{{0,80}}\s*+\Z",
    re.IGNORECASE | re.MULTILINE,
)
TAKES_BACK = re.compile(
    r"\b(?:wait|actually|sorry|scratch that|correction|corrected|erratum|edit|on (?:second thoughts?|reflection)|"
    r"make (?:it|that)|i mean(?:t)?|revised|updated|should be|or rather|hmm|no(?=[,:.])|"
    r"nein|eher|korrektur|eigentlich|doch|en fait|plut\u00f4t|non(?=[,:.])|en realidad|mejor dicho|perd\u00f3n|"
    r"na verdade|ali\u00e1s|anzi|in realt\u00e0|eigenlijk|nee(?=[,:.]))\b|"
    r"\u043d\u0430 \u0441\u0430\u043c\u043e\u043c \u0434\u0435\u043b\u0435|\u0432\u0435\u0440\u043d\u0435\u0435|"
    r"\u4e0d\u5bf9|\u5e94\u8be5\u662f|\u66f4\u6b63|\u5176\u5b9e|\u3044\u3084|\u8a02\u6b63",
    re.IGNORECASE,
)
# in English a note, in German and French a mark: nothing beside it tells which
_NOTE = re.compile(r"\W*+note[*_]*+:\W*+\d[\d.,/]*+\W*+", re.IGNORECASE)
_PREFERRED = r"(?:better|best|stronger|superior|preferable|preferred|the winner)\b"


def refuses(before: str) -> bool:
    """Whether what stands before an answer says that none is given, in words of its own."""
    if not (refusals := [one.start() for one in _REFUSES.finditer(before)]):
        return False
    others = quoted(before)
    return any(not is_inside(place, others) for place in refusals)


def supposes(before: str) -> bool:
    """Whether the sentence before an answer says under which condition it would be one."""
    return bool(_SUPPOSES.search(before[-400:]))


def is_a_note(text: str) -> bool:
    """Whether a reply is no more than a note with a number."""
    return bool(_NOTE.fullmatch(text))


def mention(labels: str) -> str:
    """A pattern of labels wherever they stand by themselves."""
    return rf"(?<![a-zA-Z\d_])(?<!\d[.,/-])(?P<value>{labels})(?![a-zA-Z\d_%/]|[.,]\d)"


def preference(letters: str) -> str:
    """A pattern of sentences that say which of two is better."""
    one = rf"(?P<{{}}>(?-i:{letters}))(?![a-zA-Z\d_])"
    is_better = rf" (?:is|was|seems|looks|would be) (?!not\b|no\b)(?:\w+ ){{0,2}}?{_PREFERRED}"
    return (
        rf"(?<![a-zA-Z\d_]){one.format('first')}{is_better}|"
        rf"\b(?:winner|better|better one|best|preference|verdict) (?:is|was|goes to) {one.format('second')}|"
        rf"\b(?:I|I'd|I would) (?:prefer|choose|pick|go with) {one.format('third')}"
    )
