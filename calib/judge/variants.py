"""The wording of prompts: its variants, rewordings by a judge, and the question which of two outputs is better."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from calib.core.check import ArgumentError
from calib.judge.criteria import WORDING
from calib.judge.scale import Scale

STEPS_HEADING = "How to proceed:"


class Parts(NamedTuple):
    """What a template is made from; a prompt keeps it so that it can be worded in another way."""

    task: str
    name: str
    criteria: str
    scale: Scale
    inputs: tuple[str, ...]
    reasoning: str

    @property
    def wording(self) -> tuple[str, ...]:
        """What must differ for two prompts to be worded differently."""
        return tuple(" ".join(text.casefold().split()) for text in (self.task, self.criteria))


class Way(NamedTuple):
    """One of four choices in each facet; 0 is that of the prompt itself."""

    instruction: int = 0
    order: int = 0
    scale: int = 0
    format: int = 0


_AS_GIVEN = Way()
# four each: the field with four elements then spreads any number of variants evenly, see `way_of`
FACETS = {
    "instruction": ("as given", "to an assessor", "as a question", "as an order"),
    "order": ("criterion, steps, material", "criterion, material, steps", "material, criterion, steps",
              "steps, material, criterion"),
    "scale": ("labels alone", "ends in words", "levels in words", "best first"),
    "format": ("plain", "headings", "tags", "terse"),
}  # fmt: skip
MOST_VARIANTS = 4 ** len(FACETS)


_GF4_TIMES = ((0, 0, 0, 0), (0, 1, 2, 3), (0, 2, 3, 1), (0, 3, 1, 2))  # of the field with four elements; its sum is ^


def way_of(k: int) -> Way:
    r"""The choices of the k-th variant: a digital sequence over the field with four elements.

    With :math:`k = d_0 + 4 d_1 + 16 d_2 + 64 d_3`, facet x (0 to 3) takes the choice

    .. math:: d_0 + d_1 x + d_2 x^2 + d_3 x^3

    in GF(4). The matrix is a Vandermonde one: among any first n each choice of a facet
    comes up equally often (or once more), the first 16 hold each pair of choices of two
    facets once, the first 64 each triple of three, and all 256 are different.

    References
    ----------
    Bush (1952), Orthogonal arrays of index unity, Annals of Mathematical Statistics 23, doi:10.1214/aoms/1177729387.

    Examples
    --------
    >>> way_of(0), way_of(5)
    (Way(instruction=0, order=0, scale=0, format=0), Way(instruction=1, order=0, scale=3, format=2))
    """
    digits = [k // 4**place % 4 for place in reversed(range(4))]
    choices = []
    for x in range(4):
        choice = 0
        for digit in digits:  # Horner's scheme
            choice = _GF4_TIMES[choice][x] ^ digit
        choices.append(choice)
    return Way(*choices)


# each in the four ways of `FACETS`; what a task of the user's own says is kept word for word
ANY_TASKS, SUMMARY_TASKS, _OWN_TASKS = (WORDING["tasks"][name] for name in ("any", "summary", "own"))
_DEGREES = {int(n): words for n, words in WORDING["degrees"].items()}


def layout(parts: Parts, way: Way = _AS_GIVEN) -> str:
    """The template that says these parts in one of the ways.

    Whatever the way, it shows each input and the steps once, lists all labels, and asks
    for the same form of answer in the same words.
    """
    words = {"task": parts.task, "shown": ", ".join(parts.inputs), "rated": parts.inputs[-1]}
    wordings = ([text.format(**words) for text in texts] for texts in (SUMMARY_TASKS, ANY_TASKS, _OWN_TASKS))
    task = next(tasks for tasks in wordings if tasks[0] == parts.task)[way.instruction]
    labels = parts.scale.labels
    lines = [f"Labels, from worst to best: {', '.join(labels)}"]
    if way.scale == 3:
        lines = [f"Labels, from best to worst: {', '.join(reversed(labels))}"]
    elif way.scale == 1:
        lines += [f"Here {labels[0]} stands for the worst by this criterion, and {labels[-1]} for the best."]
    elif way.scale == 2 and not parts.scale.numeric:
        # labels that are words have a meaning, which degrees of ours could contradict
        above = [f"worse than {label}" for label in labels[1:]] + [""]
        below = ["", *(f"better than {label}" for label in labels)]
        placed = zip(labels, below, above, strict=False)
        lines += [f"{label}: {', '.join(filter(None, neighbours))}" for label, *neighbours in placed]
    elif way.scale == 2:  # a line on each label, or on evenly spaced ones where there are many
        gaps = len(labels) - 1
        degrees = next(words for n, words in _DEGREES.items() if gaps % (n - 1) == 0)
        spaced = labels[:: gaps // (len(degrees) - 1)]
        lines += [f"{label}: {degree}" for label, degree in zip(spaced, degrees, strict=True)]
    texts = {
        "task": ("Task", task),
        "criterion": (f"Criterion: {parts.name}", parts.criteria),
        "steps": (STEPS_HEADING, "{{steps}}"),
        "material": ("Material", "\n\n".join("{{" + column + "}}" for column in parts.inputs)),
        "labels": ("Labels", "\n".join(lines)),
        "answer": ("Answer", WORDING["answers"].get(parts.reasoning, "")),
    }
    places = ("task", *FACETS["order"][way.order].split(", "), "labels", "answer")
    format_ = FACETS["format"][way.format]
    cue = "Rating:" if format_ == "terse" else f"Your rating of the {parts.inputs[-1]} for {parts.name}:"
    blocks = []
    for place in places:
        title, text = texts[place]
        titled = f"{title}\n{text}" if place in ("criterion", "steps") else text
        titled = f"## {title.removesuffix(':')}\n{text}" if format_ == "headings" else titled
        blocks.append(f"<{place}>\n{titled}\n</{place}>" if format_ == "tags" else titled)
    gap = "\n" if format_ == "terse" else "\n\n"
    last = gap if format_ != "plain" else "\n"
    return f"{gap.join(blocks[:-1])}{last}{blocks[-1]}\n{cue}"


# --- which of two outputs is better -----------------------------------------------------------------------------


def pair_scale(labels: Sequence[str] | None, *, ties: bool) -> Scale:
    """The share of A that each label stands for: of the first output, the second and, with ties, neither.

    Examples
    --------
    >>> pair_scale(None, ties=True), str(pair_scale(("1", "2"), ties=False))
    (Scale.of(B=0, tie=0.5, A=1), '0|1')
    """
    most = 3 if ties else 2
    words = ("A", "B", "tie")[:most] if labels is None else labels
    good = not isinstance(words, str) and len(words) == most
    good = good and all(
        isinstance(word, str) and word and word == word.strip() and not set("\n\r,{}") & set(word) for word in words
    )
    if not good or len({word.casefold() for word in words}) < most:
        outputs = "the first output, the second and a tie" if ties else "the first output and the second"
        raise ArgumentError("labels", f"must be {most} different words, for {outputs}", f"got {labels!r}")
    first, second, *tie = words
    return Scale((second, *tie, first), (0.0, *([0.5] if tie else []), 1.0))


def pair_layout(
    name: str, criteria: str, task: str | None, inputs: Sequence[str], scale: Scale, reasoning: str, *, steps: bool
) -> str:
    """The template: task, criterion, steps if there are any, texts, what each label says, the form of the answer."""
    *_, first, second = inputs
    words = {"shown": ", ".join(inputs), "first": first, "second": second}
    blocks = [task or WORDING["tasks"]["pair"].format(**words), f"Criterion: {name}\n{criteria}"]
    blocks += [f"{STEPS_HEADING}\n{{{{steps}}}}"] if steps else []
    blocks += ["{{" + column + "}}" for column in inputs]
    worst, *tie, best = scale.labels
    meanings = [f"{best} if {first} is better", f"{worst} if {second} is better", *(f"{t} if neither is" for t in tie)]
    answer = f"Labels: {', '.join(meanings)}.\n{WORDING['answers'].get(reasoning, '')}"
    cue = f"Your verdict on {first} and {second} for {name}:"
    return "\n\n".join([*blocks, f"{answer}\n{cue}"])


# --- rewordings by a judge --------------------------------------------------------------------------------------

_LONGEST_REPLY = 20_000  # characters of a reply
_FREE_LENGTH = 400  # characters that a rewording may always have
_FOREIGN_SIGNS = {
    "a slot": re.compile(r"\{\{|\}\}"),
    "a tag": re.compile(r"[<>]"),
    "a mark": re.compile(r"\b(?:BEGIN|END) [A-Z]"),
    "the form of an answer": re.compile(r"\b(?:score|rating|labels?)\b[^.]{0,40}:", re.IGNORECASE),
}
_DIGITS = re.compile(r"\d+")


def reword_request(parts: Parts, number: int) -> list[dict[str, str]]:
    """The chat messages that ask for one rewording; its number makes each of them another question."""
    requests = WORDING["requests"]
    ask = requests["reword"].format(inputs=", ".join(parts.inputs), number=number)
    text = f"Task: {parts.task}\n\nCriterion: {parts.name}\n{parts.criteria}\n\n{ask}"
    return [{"role": "system", "content": requests["reword_system"]}, {"role": "user", "content": text}]


def parse_rewording(reply: str, parts: Parts) -> Parts:
    """The parts in the words of a reply, of which nothing is taken but the wording of task and criterion.

    A reply without a rewording, or with one that says more than the original (slots, tags,
    marks, a form of answer, numbers), is a ValueError.

    Examples
    --------
    >>> parts = Parts("Rate the letter.", "tone", "It is friendly.", Scale(), ("letter",), "form")
    >>> parse_rewording('{"task": "Rate the letter.", "criterion": "It sounds kind."}', parts).criteria
    'It sounds kind.'
    >>> parse_rewording('{"task": "Rate the letter from 1 to 10.", "criterion": "It sounds kind."}', parts)
    Traceback (most recent call last):
    ValueError: it has a number that the original has not, '1'
    """
    text, wording = reply[:_LONGEST_REPLY], None
    decoder, start = json.JSONDecoder(strict=False), text.find("{")
    while start >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            if all(isinstance(value.get(key), str) for key in ("task", "criterion")):
                wording = value  # the last one counts
        start = text.find("{", end)
    if wording is None:
        raise ValueError('it has no JSON object with the texts "task" and "criterion"')
    original = f"{parts.task}\n{parts.criteria}"
    # each becomes one paragraph: a reply cannot begin a line, and so no heading, list of labels or mark either
    task, criteria = paragraphs = [" ".join(wording[key].split()) for key in ("task", "criterion")]
    for paragraph in paragraphs:
        if not paragraph:
            raise ValueError("a text of it is empty")
        if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in paragraph):
            raise ValueError("it has control characters")
        if len(paragraph) > max(2 * len(original), _FREE_LENGTH):
            raise ValueError("it is much longer than the original")
        for what, pattern in _FOREIGN_SIGNS.items():
            if (foreign := pattern.search(paragraph)) and not pattern.search(original):
                raise ValueError(f"it has {what}, {foreign[0]!r}")
        if numbers := [one for one in _DIGITS.findall(paragraph) if one not in _DIGITS.findall(original)]:
            raise ValueError(f"it has a number that the original has not, {numbers[0]!r}")
    return parts._replace(task=task, criteria=criteria)
