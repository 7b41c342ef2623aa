"""Commands of verbs on a judge and labels, where the shell knows more than the verb."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

import calib
from calib.console.command import options_from
from calib.console.files import TABLES, Files, LabelsFile, Out, Scores, TableFile, to_write
from calib.console.show import (
    add_table,
    echo,
    paragraphs,
    print_paper,
    print_table,
    say_next,
    show_lines,
    show_results,
    show_rows,
    shown_text,
    write_table,
    wrote,
)
from calib.inputs.names import Columns

if TYPE_CHECKING:
    import pandas as pd


@options_from("agreement")
def agreement(
    file: Scores,
    files: Files,
    labels: LabelsFile = None,
    table: Annotated[bool, typer.Option("--table", help="Print the table of a paper: raters by criteria.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="The same as LaTeX.")] = False,
    out: Out = None,
    **options: Any,
) -> None:
    """Agreement of a judge with people, per criterion, and what may be concluded from it."""
    results = calib.agreement(*files.resolved(file, labels), **options)
    if not (table or latex):
        show_results(results, out, conclude=True)
        return
    paper = results.table()
    if latex:
        echo(paper.to_latex(), whole=True)
    else:
        print_paper(paper)
    add_table("Agreement", results.to_frame())
    write_table(results.to_frame(), out)


@options_from("compare")
def compare(
    first: Annotated[Path, typer.Argument(help="A judge's scores or ratings; or a file that holds two judges.")],
    files: Files,
    second: Annotated[Path | None, typer.Argument(help="Another judge's scores or ratings of the same items.")] = None,
    labels: LabelsFile = None,
    out: Out = None,
    **options: Any,
) -> None:
    """Which of two judges agrees more with people."""
    if labels is None:  # one file of two judges, with people's labels or beside them
        judged = (*files.resolved(first, second, names=("scores_a", "labels")), None)
    else:
        sides = [files.resolved(path, labels, names=("scores_a", "labels")) for path in (first, second)]
        judged = (sides[0][0], sides[1][0], next((table for _, table in sides if table is not None), None))
    show_results(calib.compare(*judged, **options), out, conclude=True)


@options_from("reliability")
def reliability(
    file: Annotated[Path, typer.Argument(help="People's scores or ratings one by one, or your own file.")],
    files: Files,
    judges: Annotated[Path | None, typer.Argument(help="Judges' scores or ratings, set beside the people.")] = None,
    annotator_test: Annotated[
        bool, typer.Option("--annotator-test", help="Test whether a judge may stand in for one of the people.")
    ] = False,
    epsilon: Annotated[float | None, typer.Option(help="Of --annotator-test: the handicap of people.")] = None,
    out: Out = None,
    **options: Any,
) -> None:
    """How far people agree among themselves, and what ceiling that sets a judge."""
    labels, judged = files.resolved(file, judges)
    if annotator_test and judged is None and getattr(labels, "scores", None) is None:
        raise typer.BadParameter("--annotator-test needs JUDGES, the scores of a judge.")
    if epsilon is not None and not annotator_test:
        raise typer.BadParameter("--epsilon is an option of --annotator-test alone.")
    results = calib.reliability(labels, judged, **options)
    show_results(results)
    if annotator_test:
        handicap: dict[str, Any] = {} if epsilon is None else {"epsilon": epsilon}
        both = (labels, None) if judged is None else (judged, labels)
        tests = calib.alternative_annotator_test(*both, **handicap)
        echo()
        show_results(tests, conclude=True)
        results += tests
    write_table(results.to_frame(), out)


_FILES = (
    "One file or two, then a system, then others to hold it against (without them all others). A file is what is there "
    "or ends in .csv, .xlsx, .parquet and the like."
)


@options_from("difference", called={"scores": "FILE", "labels": "LABELS", "a": "SYSTEM", "b": "SYSTEM"})
def difference(
    arguments: Annotated[list[str], typer.Argument(metavar="FILE [LABELS] SYSTEM", help=_FILES)],
    files: Files,
    out: Out = None,
    **options: Any,
) -> None:
    """Mean human score of one system less that of others, paired by group; p-values by Holm where several."""
    from calib.inputs.resolve import is_file

    n = 1 + (len(arguments) > 1 and is_file(arguments[1]))
    judged = files.resolved(*map(Path, arguments[:n]))
    first, others = next(iter(arguments[n:]), None), arguments[n + 1 :]
    show_results(calib.difference(*judged, first, others or None, **options), out, conclude=True)


_PRODUCTION = typer.Option(help="The same judge's scores of the items whose pass rate is asked, if FILE is a test set.")


@options_from("pass_fail", without=("production",))
def pass_fail(
    file: Scores,
    files: Files,
    labels: LabelsFile = None,
    production: Annotated[Path | None, _PRODUCTION] = None,
    out: Out = None,
    **options: Any,
) -> None:
    """A judge that says pass or fail (or passes a threshold): its errors, kappa, AC1, and the pass rate to report."""
    sides = files.resolved(file, labels)
    elsewhere = None if production is None else files.resolved(production)[0]
    show_results(calib.pass_fail(*sides, production=elsewhere, **options), out, conclude=True)


_SECOND = typer.Argument(help="The other order, where it has a file of its own; FILE then is that with A shown first.")
_ITEMS = typer.Argument(help="A table of items with output_a and output_b, or length_a and length_b, if FILE has none.")


@options_from("position_bias")
def position_bias(
    file: Scores, files: Files, second: Annotated[Path | None, _SECOND] = None, out: Out = None, **options: Any
) -> None:
    """Whether a judge of pairs favours what is shown first or second, from pairs judged in both orders."""
    first, other = (None if path is None else files.resolved(path)[0] for path in (file, second))
    show_results(calib.position_bias(first, other, **options), out, conclude=True)


@options_from("length_controlled", called={"items": "TEXTS"})
def length_controlled(
    file: Scores, files: Files, texts: Annotated[Path | None, _ITEMS] = None, out: Out = None, **options: Any
) -> None:
    """Win rate at equal length, and how preferences go with length: an association, no bias without people."""
    show_results(calib.length_controlled(files.resolved(file)[0], texts, **options), out, conclude=True)


_FEATURES = typer.Option(
    help="What may move the judge (repeatable): length, lists, headings, code, hedges, family, or a column such as "
    "system. Default: length, system and family, as far as they are known."
)
_FAMILY = typer.Option(help="NAME=FAMILY of a system or a judge (repeatable), for the feature family.")


@options_from("bias", without=("items", "family"))
def bias(
    file: Scores,
    files: Files,
    labels: LabelsFile = None,
    features: Annotated[list[str] | None, _FEATURES] = None,
    family: Annotated[list[str] | None, _FAMILY] = None,
    out: Out = None,
    **options: Any,
) -> None:
    """What moves the judge beyond what people see: length, who wrote it, its own family, layout, any column."""
    families = {}
    for text in family or ():
        name, _, of = text.rpartition("=")
        if not name or not of:
            raise typer.BadParameter(f"--family must be NAME=FAMILY, but got {text!r}.")
        families[name] = of
    scores, people = files.resolved(file, labels)
    if features:
        options["features"] = features
    results = calib.bias(scores, people, items=files.items, family=families or None, **options)
    show_results(results, out, conclude=True)


@options_from("choose")
def choose(
    file: Scores,
    n: Annotated[int, typer.Argument(help="Labels to buy; with --by for each of its values.")],
    files: Files,
    out: Annotated[Path, TableFile],
    rng: Annotated[int | None, typer.Option(help="Seed of the drawing.")] = 1,
    **options: Any,
) -> None:
    """Which items people shall label, with a known probability each; `calib interval` reads how they were drawn."""
    from calib.inputs.resolve import is_table_file

    # in a table of calib's the criterion is one of several that are there
    is_own = not is_table_file(file)
    chosen = None if is_own else files.columns.get("criterion")
    columns = {name: value for name, value in files.columns.items() if name != "criterion" or chosen is None}
    judged, _ = replace(files, columns=cast(Columns, columns)).resolved(file)
    if chosen is not None:
        there = sorted(set(judged["criterion"].astype(str)))
        if chosen not in there:
            raise typer.BadParameter(f"--criterion must be one of {', '.join(map(repr, there))}, but got {chosen!r}.")
        judged = judged[judged["criterion"].astype(str) == chosen]
    drawn = calib.choose(judged, n, rng=rng, **options)
    once = drawn.drop_duplicates("item")  # of several criteria
    rows = once[once["chosen"]]
    echo(f"{len(rows)} of {len(once)} items to label ({drawn['design'].iloc[0]})")
    show_rows(rows[[name for name in ("item", "group", "system", "score", "inclusion", "stratum") if name in rows]])
    write_table(drawn, out)
    texts = shlex.quote(str(file)) if is_own else "ITEMS.csv"
    # people see the words of a scale; one that nobody stated has to be said
    stated = bool((drawn["scale"].astype(str) != "").any())
    scale = files.columns.get("scale", "" if stated else "SCALE")
    texts += f" --scale {shlex.quote(scale)}" if scale else ""
    say_next(f"calib label {shlex.quote(str(out))} {texts} --out label.html")


@options_from("plan", called={"scores": "FILE", "prices": "the prices (--price-label, --price-judge, ...)"})
def plan(
    files: Files,
    file: Annotated[Path | None, typer.Argument(help="A judge's scores or ratings, or your own file.")] = None,
    labels: LabelsFile = None,
    price_label: Annotated[float | None, typer.Option(help="Price of a label.")] = None,
    price_judge: Annotated[float | None, typer.Option(help="Price of a judge's reply.")] = None,
    price_item: Annotated[float | None, typer.Option(help="Price of an item itself.")] = None,
    price_prompt: Annotated[float | None, typer.Option(help="Ratings only: price of writing a prompt.")] = None,
    **options: Any,
) -> None:
    """From a pilot: whether the judge helps, how many labels a target needs, and what is cheapest at given prices.

    Without prices --half-width is answered as by `calib labels-needed`; before there is any label, or a file, a table
    says what half-width to expect.
    """
    import pandas as pd

    from calib.inputs.names import InferredTables

    judged, people = (None, None) if file is None else files.resolved(file, labels)
    scores = judged.scores if isinstance(judged, InferredTables) and judged.labels is None else judged
    named = {"label": price_label, "judge": price_judge, "item": price_item, "prompt": price_prompt}
    prices = {name: price for name, price in named.items() if price is not None}
    if people is None and (scores is None or isinstance(scores, pd.DataFrame)):
        of_pilot = {name: options[name] for name in ("half_width", "budget", "max_items")}
        of_pilot |= {f"price_{name}": price for name, price in prices.items()}
        _expected_widths(scores, of_pilot, options["confidence_level"])
        return
    assert file is not None
    pilot = replace(files, items=None).resolved(file, labels)[0] if prices and options["by"] is None else None
    # ratings under several prompts or draws, or of token probabilities, say what more of these would do
    if isinstance(pilot, pd.DataFrame) and calib.table.has_replies(pilot):
        ratings = calib.table.check_ratings(pilot)
        ratings = ratings[ratings["method"] != "human"]
        numbers = ratings.groupby(["criterion", "rater"], observed=True)[["prompt", "draw"]].nunique()
        if (numbers > 1).any(axis=None) or (ratings["method"] == "logprob").any():
            show_lines(calib.plan(pilot, people, prices=prices, **options))
            return
    if options["max_items"] is not None and not prices:
        raise typer.BadParameter("--max-items needs prices.")
    shared = {name: options[name] for name in ("by", "confidence_level")}
    answers: list[calib.Results[Any]] = []  # all of it before the first line is printed
    width = options["half_width"]
    if prices or options["budget"] is not None:
        answers.append(calib.plan(judged, people, prices=prices, **options))
    if width is not None:
        try:
            answers.append(calib.labels_needed(judged, people, half_width=width, **shared))
        except calib.ArgumentError:  # with prices the plan says what the items that there are can reach
            if not answers:
                raise
    for answer in (calib.will_it_help(judged, people, **shared), *answers):
        show_lines(answer)


def _expected_widths(scores: pd.DataFrame | None, of_pilot: dict[str, Any], confidence_level: float) -> None:
    """What half-width to expect of some numbers of labels, where there is none; a target needs a pilot."""
    from calib.analysis.planning.frames import widths_to_expect

    for name in (name for name, value in of_pilot.items() if value is not None):
        rule = f"--{name.replace('_', '-')} needs a pilot: a judge's scores of which some have a label"
        raise typer.BadParameter(f"{rule}, but there is no label.")
    if scores is not None and calib.table.has_replies(scores):
        scores = calib.summarize(calib.table.check_ratings(scores))
    print_table(widths_to_expect(scores, confidence_level))
    of = "of 1,000 items whose labels have a standard deviation of 1"
    of = of if scores is None else "if labels are spread as the judge's scores are"
    paragraphs(
        f"Half-widths of people's mean, {of}: from the labels alone, and with a judge whose correlation with people "
        "is r. Label about 30 items (calib choose draws them), then calib plan says how far this judge follows people."
    )


_APPLY = typer.Option(help="A file that --save wrote: FILE is scored by it, and needs no labels.")
_STALE = typer.Option(help="With --apply: although the judge, its prompt or its scale are not those of the file.")
_AT = typer.Option(
    help="A score of the judge: what people would say of an item that has it (may be repeated). FILE may then be what "
    "--save wrote."
)
_SAVE = to_write(".json", help_text="Keep the calibration there, for other scores of the same judge")
_SETS = to_write(*TABLES, help_text="Write the set of each item there")
_PEOPLE = to_write(*TABLES, help_text="Write the items for people there, the least sure first")
_ACCEPTED = to_write(*TABLES, help_text="Write the items there that the judge may decide")


@options_from("calibrate", without=("prompt",))
def calibrate(
    file: Scores,
    files: Files,
    labels: LabelsFile = None,
    apply: Annotated[Path | None, _APPLY] = None,
    at: Annotated[list[float] | None, _AT] = None,
    allow_stale: Annotated[bool, _STALE] = False,
    save: Annotated[Path | None, _SAVE] = None,
    out: Annotated[Path | None, TableFile] = None,
    **options: Any,
) -> None:
    """What people would say of each item: the chance of each label, from a few labels and the judge."""
    from calib.analysis.calibration.display_sentences import map_blocks
    from calib.analysis.calibration.frames import chance_columns
    from calib.analysis.calibration.frames_file import is_calibration

    if apply is None and allow_stale:
        raise typer.BadParameter("--allow-stale is for --apply.")
    if is_calibration(file):
        if not at or any(other is not None for other in (labels, apply, save, out)):
            raise typer.BadParameter(
                "FILE is a calibration: --at alone says what a score means by it; to score other items type "
                "calib calibrate SCORES --apply FILE."
            )
        print_table(calib.Calibration.read(file).at(*at))
    elif apply is not None:
        if labels is not None or save is not None:
            text = "--apply takes no labels and makes no new calibration: leave out LABELS and --save."
            raise typer.BadParameter(text)
        if at:
            raise typer.BadParameter(f"--at scores no FILE: type calib calibrate {shown_text(apply)} --at {at[0]:g}.")
        calibrated = calib.Calibration.read(apply).apply(files.resolved(file)[0], allow_stale=allow_stale)
        show_rows(calibrated.drop(columns=[*chance_columns(calibrated), "entropy", "calibration"]))
        write_table(_without_empty(calibrated), out)
    else:
        calibration = calib.calibrate(*files.resolved(file, labels), **options)
        if at:
            print_table(calibration.at(*at))
        else:
            paragraphs(*calib.conclusions(calibration))
            show_results(calibration)
            for block in map_blocks(calibration):
                paragraphs("", f"{block.heading}:", *block.says)
                print_table(block.frame)
        if out is not None:
            write_table(_without_empty(calibration.apply(calibration.scores)), out)
        if save is not None:
            wrote(calibration.save(save))


def _without_empty(scores: pd.DataFrame) -> pd.DataFrame:
    """The scores without empty optional columns, which reading fills in."""
    from calib.table import SCHEMAS

    optional = [name for name, column in SCHEMAS["scores"].items() if name in scores and not column.required]
    empty = [name for name in optional if (scores[name].isna() | (scores[name].astype(str) == "")).all()]
    return scores.drop(columns=empty)


@options_from("forecast_quality")
def forecast_quality(file: Scores, files: Files, labels: LabelsFile = None, out: Out = None, **options: Any) -> None:
    """How well scores foretell what people say of each item, beside the labels' shares without any judge.

    Scores must be on people's scale. Of a judge on another scale FILE is what `calib calibrate --save` wrote: its
    forecasts of the labels that it was made from, each by a map that has not seen it.
    """
    from calib.analysis.calibration.frames_file import is_calibration

    if is_calibration(file):
        results = calib.forecast_quality(calib.Calibration.read(file), labels, **options, **files.columns)
    else:
        results = calib.forecast_quality(*files.resolved(file, labels), **options)
    show_results(results, out, conclude=True)


@options_from("score_sets")
def score_sets(
    file: Scores, files: Files, labels: LabelsFile = None, out: Annotated[Path | None, _SETS] = None, **options: Any
) -> None:
    """For each item the labels that people may well give: as often as --level says the set holds theirs."""
    results = calib.score_sets(*files.resolved(file, labels), **options)
    show_results(results, conclude=True)
    write_table(_item_tables(results, "items"), out)


@options_from("escalate", called={"prices": "the prices (--price-label, --price-judge)"})
def escalate(
    file: Scores,
    files: Files,
    labels: LabelsFile = None,
    price_label: Annotated[float | None, typer.Option(help="Price of a human label.")] = None,
    price_judge: Annotated[float | None, typer.Option(help="Price of a judge's score.")] = None,
    accepted: Annotated[Path | None, _ACCEPTED] = None,
    out: Annotated[Path | None, _PEOPLE] = None,
    **options: Any,
) -> None:
    """Which items the judge may decide alone, with a guarantee on its errors, and which are for people."""
    from calib.report.sections import from_topics

    prices = {name: price for name, price in (("label", price_label), ("judge", price_judge)) if price is not None}
    results = calib.escalate(*files.resolved(file, labels), prices=prices or None, **options)
    show_lines(results)
    paragraphs(*from_topics(results, "notes"))
    write_table(_item_tables(results, "accepted"), accepted)
    write_table(_item_tables(results, "escalated"), out)


def _item_tables(results: calib.Results[Any], name: str) -> pd.DataFrame:
    """The frames of this name of all results, one below the other."""
    import pandas as pd

    return pd.concat([getattr(one, name) for one in results], ignore_index=True)
