"""The command line's calibration: calibrate, forecast-quality, sets, escalate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import calib
from calib.console.command import options_from
from calib.console.files import Files, Human, Scores, TableFile, to_write
from calib.console.show import show_results, show_rows, shown_text, write

if TYPE_CHECKING:
    pass

_JSON = (".json",)
_CALLED = {"scores": "FILE", "gold": "LABELS"}


@options_from("calibrate", without=("judge", "prompt"), called=_CALLED)
def calibrate(
    file: Scores,
    files: Files,
    labels: Human = None,
    apply: Annotated[
        Path | None, typer.Option(help="A saved calibration: FILE is scored by it, without labels.")
    ] = None,
    allow_stale: Annotated[
        bool, typer.Option(help="With --apply: although judge or prompt differ from its own.")
    ] = False,
    save: Annotated[
        Path | None, to_write(*_JSON, told="Keep the calibration there, to apply it to other scores")
    ] = None,
    out: Annotated[Path | None, TableFile] = None,
    **options: Any,
) -> None:
    """What people would say of each item: the chance of each label, learned from a few labels."""
    if apply is None:
        judged, people = files.taken(file, labels)
        calibration = calib.calibrate(judged, people, **options)
        show_results(calibration, conclude=True)
    else:
        _refuse_labels(labels, save)
        calibration, (judged, _) = calib.Calibration.read(apply), files.taken(file, names=("scores",))
    if apply is not None or out is not None:
        calibrated = calibration.apply(judged, allow_stale=allow_stale)
        show_rows(calibrated)
        write(calibrated, out)
    if save is not None:
        typer.echo(f"wrote {shown_text(calibration.save(save))}")
