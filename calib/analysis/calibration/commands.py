"""Commands of calibration: calibrate, forecast-quality, score-sets, escalate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import calib
from calib.console.command import options_from
from calib.console.files import TABLES, Files, LabelsFile, Out, Scores, TableFile, to_write
from calib.console.show import paragraphs, print_table, show_lines, show_results, show_rows, shown_text, write

if TYPE_CHECKING:
    import pandas as pd

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


@options_from("calibrate", without=("prompt", "judge"))
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
    from calib.analysis.calibration.display import map_blocks
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
        write(_without_empty(calibrated), out)
    else:
        calibration = calib.calibrate(*files.resolved(file, labels), **options)
        if at:
            print_table(calibration.at(*at))
        else:
            show_results(calibration, conclude=True)
            for block in map_blocks(calibration):
                paragraphs("", f"{block.heading}:", *block.says)
                print_table(block.frame)
        if out is not None:
            write(_without_empty(calibration.apply(calibration.scores)), out)
        if save is not None:
            typer.echo(f"wrote {shown_text(calibration.save(save))}")


def _without_empty(scores: pd.DataFrame) -> pd.DataFrame:
    """Without the columns that every table of scores may have and this one has nothing in: reading fills them in."""
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
    write(_item_tables(results, "items"), out)


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
    write(_item_tables(results, "accepted"), accepted)
    write(_item_tables(results, "people"), out)


def _item_tables(results: calib.Results[Any], name: str) -> pd.DataFrame:
    """That frame of each result, one below the other."""
    import pandas as pd

    return pd.concat([getattr(one, name) for one in results], ignore_index=True)
