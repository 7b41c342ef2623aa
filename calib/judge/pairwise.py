"""How a judge is asked which of two outputs is better: the wording, and what its labels stand for. Text alone."""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose

from calib.core.check import ArgumentError
from calib.judge.scale import Scale
from calib.judge.variants import ANSWER_FORMS, STEPS_HEADING

WITH_TIES, WITHOUT_TIES = ("A", "B", "tie"), ("A", "B")


def pair_scale(labels: Sequence[str] | None, *, ties: bool) -> Scale:
    """The share of A that each label stands for: of the first output, the second and, with ties, neither.

    Examples
    --------
    >>> pair_scale(None, ties=True), str(pair_scale(("1", "2"), ties=False))
    (Scale.of(B=0, tie=0.5, A=1), '0|1')
    """
    words = (WITH_TIES if ties else WITHOUT_TIES) if labels is None else labels
    most = 3 if ties else 2
    good = not isinstance(words, str) and len(words) == most and all(_is_word(word) for word in words)
    if not good or len({word.casefold() for word in words}) < most:
        named = "the first output, the second and a tie" if ties else "the first output and the second"
        raise ArgumentError("labels", f"must be {most} different words, for {named}", f"got {labels!r}")
    first, second, *tie = words
    return Scale((second, *tie, first), (0.0, *([0.5] if tie else []), 1.0))


def _is_word(word: object) -> bool:
    return isinstance(word, str) and bool(word) and word == word.strip() and not set("\n\r,{}") & set(word)


def turned(scale: Scale) -> Scale:
    """What the labels stand for once the two outputs have changed places.

    Examples
    --------
    >>> turned(Scale.of(B=0, tie=0.5, A=1)).values
    (1.0, 0.5, 0.0)
    """
    opposite = dict(zip(sorted(scale.values), sorted(scale.values, reverse=True), strict=True))
    return Scale(scale.labels, tuple(opposite[value] for value in scale.values))


def check_pair(pair: tuple[str, str], inputs: Sequence[str], scale: Scale) -> None:
    """Refuse two outputs that are not shown, and a scale that is none of shares of A."""
    if not isinstance(pair, tuple) or len(set(pair)) != 2 or len(pair) != 2 or not set(pair) <= set(inputs):
        rule = f"must be a tuple of two columns that the template shows, of {', '.join(map(repr, inputs))}"
        raise ArgumentError("pair", rule, f"got {pair!r}")
    values = sorted(scale.values)
    if (values[0], values[-1]) != (0, 1) or not all(
        isclose(a + b, 1) for a, b in zip(values, values[::-1], strict=True)
    ):
        rule = "of a pair must be shares of A, from 0 (the second is better) to 1, as far below 0.5 as above"
        raise ArgumentError("scale", rule, f"got {scale!r}")


def pair_task(inputs: Sequence[str]) -> str:
    """What the judge sees and has to do, where the user does not say it."""
    *shown, first, second = inputs
    given = ", ".join((*shown, first, second))
    return (
        f"You are given: {given}. Compare {first} with {second} by one criterion: which of the two is better? "
        "The order in which they stand means nothing."
    )


def pair_layout(
    name: str, criteria: str, task: str, inputs: Sequence[str], scale: Scale, reasoning: str, *, steps: bool
) -> str:
    """The template: task, criterion, steps if there are any, texts, what each label says, the form of the answer."""
    *_, first, second = inputs
    blocks = [task, f"Criterion: {name}\n{criteria}"]
    blocks += [f"{STEPS_HEADING}\n{{{{steps}}}}"] if steps else []
    blocks += ["{{" + column + "}}" for column in inputs]
    answer = f"{label_line(scale, first, second)}\n{ANSWER_FORMS.get(reasoning, '')}"
    cue = f"Your verdict on {first} and {second} for {name}:"
    return "\n\n".join([*blocks, f"{answer}\n{cue}"])


def label_line(scale: Scale, first: str, second: str) -> str:
    """What each label says, in words.

    Examples
    --------
    >>> label_line(pair_scale(None, ties=True), "output_a", "output_b")
    'Labels: A if output_a is better, B if output_b is better, tie if neither is.'
    """
    worst, *tie, best = scale.labels
    told = [
        f"{best} if {first} is better",
        f"{worst} if {second} is better",
        *(f"{word} if neither is" for word in tie),
    ]
    return f"Labels: {', '.join(told)}."
