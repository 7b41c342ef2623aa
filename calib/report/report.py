"""Reports: the front and the sections, as Markdown or as an HTML page; all text is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from calib.analysis.calibration.frames_escalation import said_of_items
from calib.analysis.means.display import main_means, verdict_sentences, where_it_lies
from calib.analysis.means.mean import MeanEstimate
from calib.core.check import ArgumentError, check_types
from calib.core.progress import progress
from calib.core.result import Result, three_digits
from calib.core.text import asset, source_hash
from calib.core.topic import display_function
from calib.gate.verdict import Verdict
from calib.inputs.look import Look
from calib.report.columns import Table
from calib.report.parts import BEFORE, expanded
from calib.report.sections import Picture, Section, Thing, caution_names, item_by_item, paragraphs_of, section_of
from calib.table.results import Results, conclusions
from calib.table.text import Report, markdown_text, rendered_page

_THINGS = (Results, Result, pd.DataFrame, str)
_LONG = 200  # characters of a cell of Markdown
_MOST = 5  # sentences of one section in front, of more the gist
_MOST_LINES = 12  # sentences of a card that has a table of the same
_MOST_ROWS = 36  # of the picture in front
SHAPES = {"above": "▲", "below": "▼", "open": "○"}


class Answer(NamedTuple):
    """A conclusion and, only where an interval answers a question, where that lies."""

    text: str
    side: str = ""  # "above", "below" or "open"
    says: str = ""
    mind: str = ""

    @property
    def shape(self) -> str:
        """The sign of its side, for readers who see no colours."""
        return SHAPES.get(self.side, "")


class Front(NamedTuple):
    """What a reader needs first: a verdict for each criterion, and the main picture."""

    answers: Sequence[Answer] = ()
    picture: Picture | None = None
    left_out: str = ""


def fronted(sections: Sequence[Section]) -> tuple[Front, list[Section]]:
    """The front, and the sections without its picture and without those that say nothing."""
    kept, left_out = [], []
    for section in sections:
        if section.results is None or section.table is not None:
            kept.append(section)
            continue
        reasons = dict.fromkeys(getattr(result, "reason", "") for result in section.results)
        nothing = "nothing could be computed" if len(section.results) else "there are no results"
        left_out.append(f"Left out: {section.heading} ({'; '.join(filter(None, reasons)) or nothing}).")
    # the picture in front is of means: those of the most things that one picture can tell apart
    drawn = [section for section in kept if section.pictures]
    means = [section for section in drawn if _all_means(section.results)]
    few = [section for section in means if len(section.results or ()) <= _MOST_ROWS]
    main = max(few, key=lambda section: len(section.results or ()), default=next(iter([*means, *drawn]), None))
    computed = [section for section in kept if section.results is not None]
    lead = next((section for section in computed if _all_means(section.results)), next(iter(computed), None))
    few_sections = sum(section.folds for section in kept) <= 2
    front: Sequence[Answer] = ()
    for place, section in enumerate(kept):
        answers, paragraphs = _answers(section)
        if section is lead:
            front = _verdicts(section, answers)
            rest = [] if section.paragraphs else [one for one in answers if one not in front]
            answers = [Answer(one.text, mind=one.mind) for one in rest]
        # nothing stands twice in a card
        answers = [one for one in answers if one.side or not any(one.text in text for text in paragraphs)]
        paragraphs = [text for text in paragraphs if text not in {one.text for one in [*answers, *front]}]
        pictures = section.pictures[1:] if section is main else section.pictures
        is_open = few_sections or section.heading == BEFORE
        kept[place] = section._replace(answers=answers, paragraphs=paragraphs, pictures=pictures, open=is_open)
    return Front(front, main.pictures[0] if main is not None else None, " ".join(left_out)), kept


def _verdicts(section: Section, answers: Sequence[Answer]) -> Sequence[Answer]:
    """What the page begins with: a verdict on each of a few means, or the answers of anything else."""
    results = section.results
    if results is None or not _all_means(results) or len(main := main_means(results)) > _MOST:
        return answers
    verdicts = []
    for label, result, text in zip(main.labels, main, verdict_sentences(results), strict=True):
        side, says = where_it_lies(label, result) or ("", "")
        verdicts.append(Answer(text, side, says, caution_names(result, section.cautions)))
    return verdicts


def _all_means(thing: Any) -> bool:
    return isinstance(thing, Results) and len(thing) > 0 and all(isinstance(one, MeanEstimate) for one in thing)


def _answers(section: Section) -> tuple[list[Answer], Sequence[str]]:
    """A sentence for each main result, or the gist of many; and the paragraphs that stay below."""
    if section.results is None:
        return [], section.paragraphs
    results = section.results
    one_kind = len({type(result) for result in results}) == 1
    if one_kind and _all_means(results):  # the same may have been estimated in several ways
        results = main_means(results)
    lines = conclusions(results)

    @cache
    def alone(place: int) -> list[str]:
        return conclusions(results[place : place + 1])

    answers = []
    for line in lines[:_MOST]:
        # the result that says a sentence, alone or behind names; none where it is about several
        owners = (k for k, result in enumerate(results) if line.endswith(result.conclusion) or line in alone(k))
        if (place := next(owners, None)) is None:
            answers.append(Answer(line))
            continue
        result, label = results[place], results.labels[place] | {"n_beside": len(results)}
        side_of = display_function(type(result), "side")
        side, says = (side_of(label, result) if side_of else None) or ("", "")
        answers.append(Answer(line, side, says, caution_names(result, section.cautions)))
    # all that decide something stand alone, else the gist of many is enough
    if len(lines) <= (_MOST if any(answer.side for answer in answers) else 2):
        return answers, section.paragraphs
    headline_of = display_function(type(results[0]), "headline") if one_kind else None
    if headline_of and (headline := headline_of(results)):
        named = ", ".join(dict.fromkeys(caution.name for caution in section.cautions))
        mind = f"in some rows: {named}" if named else ""
        gist = Answer(f"{headline[:1].upper()}{headline[1:]}.", mind=mind)
        return [gist], [] if len(lines) > _MOST_LINES else section.paragraphs or lines
    more = Answer(f"... and {len(lines) - _MOST + 1} more in the table.")
    return [*answers[: _MOST - 1], more][: len(lines)], section.paragraphs or lines[:_MOST_LINES]


# --- the sections as Markdown -----------------------------------------------------------------------------------------


def markdown(title: str, notes: Sequence[str], front: Front, sections: Sequence[Section]) -> str:
    """The text: the same parts in the same order as on the page."""
    parts = [f"# {markdown_text(title)}", *map(_paragraph, notes), *_markdown_answers(front.answers)]
    for section in sections:
        parts += [f"## {markdown_text(section.heading)}"] * bool(section.heading)
        parts += [*_markdown_answers(section.answers), *map(_paragraph, section.paragraphs)]
        parts += [f"> {markdown_text(note)}" for note in section.notes]
        if section.table is not None:
            parts.append(_markdown_table(section.table))
        if section.cautions:
            texts = (map(markdown_text, (one.name, one.of, one.text)) for one in section.cautions)
            parts.append("\n".join(f"- ⚠ **{name}**{f' ({of})' * bool(of)}: {text}" for name, of, text in texts))
        for part in section.parts:
            parts += [f"### {markdown_text(part.heading)}", *map(_paragraph, part.says), _markdown_table(part.table)]
        parts += [markdown_text(section.rest)] * bool(section.rest)
        if section.signatures:
            parts.append("\n".join(f"- {f'row {rows}: ' * bool(rows)}`{code}`" for rows, code in section.signatures))
    parts += [_paragraph(front.left_out)] * bool(front.left_out)
    return "\n\n".join(parts) + "\n"


def _markdown_answers(answers: Sequence[Answer]) -> list[str]:
    bullets = []
    for answer in answers:
        light = f"**{answer.shape} {markdown_text(answer.says)}** " if answer.side else ""
        mind = f" (⚠ {markdown_text(answer.mind)})" if answer.mind else ""
        bullets.append(f"- {light}{markdown_text(answer.text)}{mind}")
    return ["\n".join(bullets)] * bool(bullets)


def _markdown_table(table: Table) -> str:
    rule = ["---:" if number else "---" for number in table.numeric]
    short = ([cell if len(cell) <= _LONG else f"{cell[:_LONG]}…" for cell in row] for row in (table.heads, *table.rows))
    head, *rows = ([markdown_text(cell) for cell in row] for row in short)  # in plain text nothing is folded
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def _paragraph(text: str) -> str:
    """At the start of a line a number or a dash would begin a list."""
    return re.sub(r"^(\d*)([#+\-.)])", r"\1\\\2", markdown_text(text))


# --- results -> one Markdown or HTML file -----------------------------------------------------------------------------


def report(
    results: Thing | Verdict | Path | Look | Sequence[Thing | Verdict | tuple[str, Thing | Verdict]],
    path: str | Path | None = None,
    *,
    title: str = "calib report",
    notes: str = "",
    by: str | None = None,
    view: str | Path | None = None,
    coefficient: str | Sequence[str] | None = None,
    method: str | None = None,
    confidence_level: float | None = None,
) -> Report:
    r"""Write results down, as Markdown or as one self-contained HTML file with pictures.

    Parameters
    ----------
    results : sequence, path or look
        Of `Results`, single results, DataFrames and texts (a paragraph each), in the order
        of the report; each may be a pair (heading, thing). Means of one thing by several
        methods, one after the other, are one section with one picture. Or the path of your own file, or a
        `calib.look` at files or frames: all that can be computed from them.
    path : str or Path, optional
        Ends in .md or .html; folders are made. Default: Markdown, written nowhere.
    title : str
    notes : str
        A paragraph or several, parted by empty lines, under the title.
    by : str, optional
        Of a file or a look: a column of the scores, such as "system": intervals for each of its values, too.
    view : str or Path, optional
        Where a page of `calib.view` lies, as seen from the report: an item in a table is a link to it there.
    coefficient, method, confidence_level
        As for `calib.stats.agreement`, where the report is of a file or a look.

    Returns
    -------
    Report
        Its `text` and its `path`. A notebook shows the page; `print` says where it is, or the text if nowhere.

    Examples
    --------
    >>> from calib.stats import mean_interval
    >>> print(report([("Quality", mean_interval([3, 4, 4, 5, 4]))], title="Five labels"))  # doctest: +ELLIPSIS
    # Five labels
    <BLANKLINE>
    - People would give this 4 ± 0.88 (95 % CI); from 5 labels.
    <BLANKLINE>
    ## Quality
    <BLANKLINE>
    human mean = 4, 95 % CI \[3.12, 4.88\], from 5 human labels (people alone).
    <BLANKLINE>
    | estimate | std. error | 95 % CI |
    | ---: | ---: | ---: |
    | 4.00 | 0.32 | \[3.12, 4.88\] |
    <BLANKLINE>
    Also: method people alone, estimand human mean, judge's weight 0, labels 5, n 5, ...
    <BLANKLINE>
    - `t|of:human-mean|alt:two-sided|cl:0.95|labels:5|n:5|lam:0|guarantee:asymptotic|v:0.3.0`
    <BLANKLINE>
    """
    check_types(report, locals())
    ending = ".md" if path is None else Path(path).suffix
    if ending not in (".md", ".html"):
        raise ArgumentError("path", "must end in .md or .html", f"got {str(path)!r}")
    options = {"by": by, "coefficient": coefficient, "method": method, "confidence_level": confidence_level}
    pairs = list(_headed_things(expanded(results, options)))
    if not pairs:
        raise ArgumentError("results", "must hold something to report", "is empty")
    with three_digits():
        of_items = [said_of_items(thing) for _, thing in pairs]
        # a table that is all about items stands in their section alone
        both = zip(pairs, of_items, strict=True)
        rest = [pair for pair, frame in both if frame is None or isinstance(pair[1], Results)]
        numbered = enumerate(progress(rest, "sections"), start=1)
        sections = [section_of(*pair, anchor=f"s{place}", pictures=ending == ".html") for place, pair in numbered]
        if frames := [frame for frame in of_items if frame is not None]:
            sections.append(item_by_item(frames, f"s{len(rest) + 1}"))
        opening = list(takewhile(lambda section: not section.heading and section.table is None, sections))
        above = [*paragraphs_of(notes), *(paragraph for section in opening for paragraph in section.paragraphs)]
        front, sections = fronted(sections[len(opening) :])
        if ending == ".html":
            style, script = asset("report", "page.css"), asset("report", "page.js")
            text = rendered_page(
                "report", "report.html.j2", title=title, notes=above, front=front, sections=sections, style=style,
                script=script, script_hash=source_hash(script), view="" if view is None else Path(view).as_posix(),
            )  # fmt: skip
        else:
            text = markdown(title, above, front, sections)
    if path is None:
        return Report(text)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")
    return Report(text, Path(path))


def _headed_things(results: Any) -> Iterator[tuple[str, Thing]]:
    """Headings and things; means of one thing by several methods, one after the other, are one section."""
    several = isinstance(results, Iterable) and not isinstance(results, _THINGS)
    joined: list[Any] = []
    for one in results if several else [results]:
        before: Any = joined[-1] if joined else None
        if _all_means(before) and _all_means(one) and one.labels == before.labels[: len(one)]:
            joined[-1] += one
        else:
            joined.append(one)
    for one in joined:
        heading, thing = one if isinstance(one, tuple) and len(one) == 2 else ("", one)
        if isinstance(thing, Verdict):
            heading, thing = heading or f"Gate of {thing.system}: {thing.outcome}", thing.checks
        if not isinstance(thing, _THINGS) or not isinstance(heading, str):
            wanted = "results, DataFrames and texts, or pairs (heading, thing)"
            raise TypeError(f"`results` must hold {wanted}, but got {one!r:.60}.")
        yield heading, thing
