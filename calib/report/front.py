"""Sections -> what a reader needs first: a sentence for each question, where its interval lies, the main picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from calib.core.topic import shown, words_of
from calib.report.sections import Picture, Section, caution_names
from calib.table.results import Results, conclusions

_MOST = 5  # sentences of one section, of more the gist
_MOST_ROWS = 36  # of the picture in front
_LONG = 6  # sections, from which on there are contents
SHAPES = {"above": "▲", "below": "▼", "open": "○"}


class Answer(NamedTuple):
    """A conclusion, what it is about, and, only where an interval answers a question, where that lies."""

    text: str
    about: str = ""
    anchor: str = ""
    light: str = ""  # "above", "below" or "open"
    says: str = ""
    mind: str = ""

    @property
    def shape(self) -> str:
        """So that nobody has to see colours."""
        return SHAPES.get(self.light, "")


class Front(NamedTuple):
    answers: Sequence[Answer] = ()
    picture: Picture | None = None
    contents: bool = False
    left_out: str = ""


class _Told(NamedTuple):
    """What a section says in front, and the sentences that it keeps where only their gist stands there."""

    answers: Sequence[Answer] = ()
    sentences: Sequence[str] = ()


def fronted(sections: Sequence[Section]) -> tuple[Front, list[Section]]:
    """The front, and the sections without what went there and without those that say nothing."""
    empty = [section for section in sections if is_empty(section)]
    kept = [section for section in sections if not is_empty(section)]
    told = [_told(section) for section in kept]
    main = _main_of_sections([section for section in kept if section.pictures])
    foldable = sum(section.folds for section in kept)
    left = [
        section._replace(
            paragraphs=one.sentences or section.paragraphs,
            pictures=section.pictures[1:] if section is main else section.pictures,
            open=foldable <= 2 or section is main,
        )
        for section, one in zip(kept, told, strict=True)
    ]
    answers = [answer for one in told for answer in one.answers]
    picture = main.pictures[0] if main is not None else None
    return Front(answers, picture, foldable >= _LONG, " ".join(map(_why_empty, empty))), left


def _main_of_sections(drawn: Sequence[Section]) -> Section | None:
    """Whose picture stands in front: means, those of the most things that one picture can tell apart."""
    means = [section for section in drawn if section.results is not None and _of_means(section.results)]
    few = [section for section in means if len(section.results or ()) <= _MOST_ROWS]
    return max(few, key=lambda section: len(section.results or ()), default=next(iter([*means, *drawn]), None))


def is_empty(section: Section) -> bool:
    """Whether it is of results of which none could be computed."""
    return section.results is not None and section.table is None


def _why_empty(section: Section) -> str:
    assert section.results is not None
    reasons = dict.fromkeys(getattr(result, "reason", "") for result in section.results)
    why = "; ".join(filter(None, reasons)) or (
        "nothing could be computed" if len(section.results) else "there are no results"
    )
    return f"Left out: {section.heading} ({why})."


def _of_means(results: Results[Any]) -> bool:
    return all(shown(type(result)).joined for result in results)


def _told(section: Section) -> _Told:
    if section.results is None:
        return _Told()
    results = main_of(section.results)
    lines = conclusions(results)
    answers = _answers(section, results, lines)
    gist = len(answers) == 1 < len(lines) and not section.paragraphs
    return _Told(answers, lines[:_MOST_ROWS] if gist else ())


def _answers(section: Section, results: Results[Any], lines: Sequence[str]) -> list[Answer]:
    """A sentence for each main result, the first few of many."""

    @cache
    def alone(place: int) -> list[str]:
        return conclusions(results[place : place + 1])

    found = [_answer(line, *_owner(line, results, alone), section) for line in lines[:_MOST]]
    answers = [found[0]._replace(about=section.heading), *found[1:]]
    if len(lines) <= _at_once(found):
        return answers
    if fact := _fact(results):
        named = ", ".join(dict.fromkeys(caution.name for caution in section.cautions))
        return [Answer(fact, section.heading, section.anchor, mind=f"in some rows: {named}" if named else "")]
    return [*answers[: _MOST - 1], Answer(f"... and {len(lines) - _MOST + 1} more, in the section.")]


def _at_once(answers: Sequence[Answer]) -> int:
    """How many sentences of one question stand in front: all that decide something, else its gist is enough."""
    return _MOST if any(answer.light for answer in answers) else 2


def _fact(results: Results[Any]) -> str:
    """What is seen in many results of one type."""
    say = words_of(type(results[0]), "fact") if len({type(result) for result in results}) == 1 else None
    fact = say(results) if say else ""
    return f"{fact[:1].upper()}{fact[1:]}." if fact else ""


def main_of(results: Results[Any]) -> Results[Any]:
    """Those that answer the question, where the same was estimated in several ways."""
    choose = words_of(type(results[0]), "main")
    return choose(results) if choose and len({type(result) for result in results}) == 1 else results


def _owner(line: str, results: Results[Any], alone: Callable[[int], list[str]]) -> tuple[Mapping[str, Any], Any]:
    """The result that says a sentence, alone or behind names, with its label; None where it is about several."""
    for place, result in enumerate(results):
        if line.endswith(result.conclusion) or line in alone(place):
            return results.labels[place] | {"n_beside": len(results)}, result
    return {}, None


def _answer(line: str, label: Mapping[str, Any], result: Any, section: Section) -> Answer:
    light = words_of(type(result), "light") if result is not None else None
    where, says = (light(label, result) if light else None) or ("", "")
    mind = caution_names(result, section.cautions) if result is not None else ""
    return Answer(line, "", section.anchor, where, says, mind)
