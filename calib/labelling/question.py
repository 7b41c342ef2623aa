"""What is asked of each item: criteria with their meaning, and scales with a word for each value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pandas as pd

from calib.core import check
from calib.core.check import ArgumentError
from calib.inputs.rows import PREFERENCE
from calib.inputs.scales import guessed_scale
from calib.judge.criteria import CRITERIA, meaning_of
from calib.judge.prompt import REASONING, geval_prompt
from calib.judge.scale import Scale, number_text
from calib.labelling.pool import Drawing, listed_names
from calib.labelling.record import Criterion, Level
from calib.table import TableError, parse_scale, scale_words

WINS = "0|0.5|1"
_MOST_VALUES = 7  # of a judge's scale that people are asked for without a word about it
_WON = (Level(0.0, "second is better"), Level(0.5, "equal"), Level(1.0, "first is better"))
_FORMS = "'1|2|3|4|5', 'poor|fair|good', 'no=0|yes=1' or '0..100'"


def criteria_of(criteria: Any, scale: Any, drawn: Drawing, *, paired: bool) -> tuple[Criterion, ...]:
    """The criteria that were named, else those of what was drawn."""
    meanings = _meanings(criteria, drawn)
    if not isinstance(scale, Mapping) or not set(scale) & set(meanings):
        scales = {} if scale is None else dict.fromkeys(meanings, scale)
    elif unmatched := [name for name in scale if name not in meanings]:
        rule = f"must be of the criteria {listed_names(meanings)}"
        raise ArgumentError("scale", rule, f"got one of {unmatched[0]!r}")
    else:
        scales = dict(scale)
    # words take the values that the judge used, where nobody stated its scale
    usual = {name: drawn.scales.get(name) or guessed_scale(scores) for name, scores in drawn.scores.items()}
    scales_used = {text for name in meanings if (text := usual.get(name))}
    of_page = scales_used.pop() if len(scales_used) == 1 else ""  # words take these values for all criteria
    questions = list[Criterion]()
    for name, meaning in meanings.items():
        own, judged = scales.get(name), drawn.scales.get(name, "")
        if own is None and not paired and (not judged or _is_long(judged)):
            rule, came = _which_scale(name, judged, drawn)
            raise ArgumentError("scale", rule, came, mentions=("scale",))
        if own is None and not paired and (name, judged) == (PREFERENCE, WINS):
            raise ArgumentError("pair", "must name the two columns of outputs", "the judge's scores are preferences")
        chosen = (WINS if paired else judged) if own is None else own
        if isinstance(chosen, str) and ".." in chosen:  # between two ends, without levels
            try:
                ends = parse_scale(chosen)
            except TableError:
                raise ArgumentError("scale", f"must read {_FORMS}", f"got {chosen!r}") from None
            assert ends is not None
            text, levels = f"{number_text(ends.low)}..{number_text(ends.high)}", tuple[Level, ...]()
        else:
            parsed = chosen if isinstance(chosen, Scale) else _parsed(chosen, usual.get(name) or of_page)
            words = zip(parsed.labels, parsed.values, strict=True)
            text = str(parsed)
            levels = tuple(Level(value, "" if _is_number_of(word, value) else word) for word, value in words)
        if paired and text != WINS:
            raise ArgumentError("scale", f"must be left out for pairs, which are asked on {WINS}", f"got {own!r}")
        mine, theirs = parse_scale(text), parse_scale(judged)
        if mine and theirs and (mine.low, mine.high) != (theirs.low, theirs.high):
            both = f"people are asked for {name} on {text}, and the judge's scores are on {judged}"
            check.warn(f"other_scale: {both}: where values are compared (kappa, the judge alone) both must be on one")
        _refuse_other_values(questions, name, levels)
        questions.append(Criterion(name, meaning, text, _WON if paired else levels))
    if drawn.criteria and not set(meanings) & set(drawn.criteria):
        both = f"the judge scored {listed_names(drawn.criteria)}, and people are asked for {listed_names(meanings)}"
        check.warn(f"other_criterion: {both}: `interval` puts labels beside scores of the same criterion")
    return tuple(questions)


def _which_scale(name: str, judged: str, drawn: Drawing) -> tuple[str, str]:
    """What an error says where nobody stated a scale: the rule, and what the judge's values are."""
    scores = drawn.scores.get(name, pd.Series(dtype=float))
    values = sorted({*scores.astype(float)})
    usual = guessed_scale(scores)
    likely = usual if values and usual and not _is_long(usual) else ""
    forms = f"{{0}} {likely or '1|2|3|4|5'!r} (or 'poor|fair|good', 'no=0|yes=1', '0..100')"
    rule = f"must say on which scale people label {name!r}, such as {forms}"
    if judged:
        why = f"; people tell fewer values apart than the judge's scores are on, {judged}"
    elif not values:
        why = f", and the judge scored {listed_names(drawn.criteria)}" if drawn.criteria else ""
    else:
        used = f"used {', '.join(f'{one:g}' for one in values)}"
        used = used if len(values) <= _MOST_VALUES else f"gave {values[0]:g} to {values[-1]:g}"
        why = f"; the judge {used}, and no scale is stated"
    return rule, f"came without{why}"


def _is_long(scale: str) -> bool:
    """Whether a judge's scale has more values than people should choose from unless somebody says so."""
    parsed = parse_scale(scale)
    return parsed is not None and not 0 < len(parsed.values) <= _MOST_VALUES


def _refuse_other_values(questions: Sequence[Criterion], name: str, levels: Sequence[Level]) -> None:
    """Refuse words that have other values in another criterion of the page."""
    words = {level.word: level.value for level in levels if level.word}
    for other in questions:
        theirs = {level.word: level.value for level in other.levels if level.word}
        if words and words.keys() == theirs.keys() and words != theirs:
            sides = [(theirs, other.name), (words, name)]
            both = [f"{'|'.join(f'{word}={x:g}' for word, x in of.items())} for {one}" for of, one in sides]
            raise ArgumentError("scale", "must give the same words the same values", f"makes {' and '.join(both)}")


def _meanings(criteria: Any, drawn: Drawing) -> dict[str, str]:
    """What each criterion means, empty where nothing says it."""
    if criteria is None and not drawn.criteria:
        rule = "must say what is asked of each item, such as 'coherence', with a meaning where it needs one"
        raise ArgumentError("criteria", rule, "came without, and no criterion was drawn for")
    if isinstance(criteria, Mapping):
        pairs: list[tuple[Any, Any]] = list(criteria.items())
    else:
        names = drawn.criteria if criteria is None else [criteria] if isinstance(criteria, str) else criteria
        pairs = [(name, None) for name in (names if _is_list(names) else [None])]
    if not pairs or not all(isinstance(name, str) and isinstance(meaning, str | None) for name, meaning in pairs):
        rule = "must be a name, several, or names with what they mean"
        raise ArgumentError("criteria", rule, f"got {criteria!r}")
    meanings = {}
    for text, meaning in pairs:
        name = text if criteria is None else text.strip()
        meanings[name] = "" if meaning is None else meaning.strip()
        if meaning is None and name in CRITERIA and drawn.prompts:
            # what the judge was asked, where that was one of calib's own questions about a summary
            scales = {text for text in (drawn.scales.get(name, ""), "1|2|3|4|5") if "|" in text}
            ids = {geval_prompt(name, reasoning=how, scale=one).id for how, one in product(REASONING, scales)}
            meanings[name] = meaning_of(name) if ids & set(drawn.prompts) else ""
    names_are_good = len(meanings) == len(pairs) and all(name and name.isprintable() for name in meanings)
    if criteria is not None and not names_are_good:
        rule = "must be different names, none of them empty"
        raise ArgumentError("criteria", rule, f"got {listed_names(dict(pairs))}")
    return meanings


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) or (hasattr(value, "__iter__") and not hasattr(value, "columns"))


def _parsed(scale: Any, judged: str) -> Scale:
    """A scale of levels; words alone take the judge's values, if there are as many."""
    if isinstance(scale, Mapping):
        levels = []
        for one, other in scale.items():  # a value and its word, in either order
            value, word = (other, one) if isinstance(one, str) and not isinstance(other, str) else (one, other)
            try:
                number = number_text(float(value))
            except (TypeError, ValueError):
                rule = "must be values with their words, such as {1: 'poor', 2: 'good'}"
                raise ArgumentError("scale", rule, f"got {one!r}: {other!r}") from None
            levels.append(f"{str(word).replace('|', '/').strip() or number}={number}")
        text = "|".join(levels)
    elif isinstance(scale, str) or _is_list(scale):
        text = scale if isinstance(scale, str) else "|".join(str(one) for one in scale)
    else:
        raise ArgumentError("scale", f"must read {_FORMS}", f"got {scale!r}")
    try:
        pairs = scale_words(text)
        values = parse_scale(judged)
        are_words = "=" not in text and not any(_is_number_of(*pair) for pair in pairs)
        if are_words and values is not None and len(values.values) == len(pairs):
            numbers = map(number_text, values.values)
            text = "|".join(f"{word}={number}" for (word, _), number in zip(pairs, numbers, strict=True))
        parsed = Scale.parse(text)
    except ArgumentError as error:
        raise ArgumentError("scale", f"must read {_FORMS}, each word and value once", f"got {scale!r}") from error
    if are_words and any(word[0].isdecimal() for word in parsed.labels):
        rule = "must say the value of each word where one begins with a figure, such as 'poor=1|good=2'"
        raise ArgumentError("scale", rule, f"got {scale!r}")
    return parsed


def _is_number_of(word: str, value: float) -> bool:
    """Whether a word says no more than its value."""
    try:
        return float(word) == value
    except ValueError:
        return False
