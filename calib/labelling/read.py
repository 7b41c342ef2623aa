"""Labels as they come back from people: read, joined, checked, and looked at."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from calib.analysis.agreement.frames import reliability
from calib.core import check
from calib.core.check import ArgumentError, as_typed
from calib.core.text import printable
from calib.inputs.names import Data
from calib.inputs.resolve import given
from calib.labelling.answers import ENDINGS, answers_in
from calib.labelling.people import (
    all_alike,
    annotators_of,
    disagreements_of,
    in_common,
    joined_answers,
    price_of,
    strictness_of,
)
from calib.labelling.progress import against_drawn, progress_of
from calib.table import check_ratings
from calib.table.gold import mean_of_people
from calib.table.labels import Labels
from calib.table.results import Results
from calib.table.validate import Checked, scores_in

_ENOUGH = 3  # items in common


def read_labels(
    files: str | Path | Sequence[str | Path],
    *,
    drawn: Data = None,
    page: str | Path | None = None,
    half_width: float | None = None,
) -> Labels:
    r"""Labels of people, from the files that a label page exported or that another tool wrote.

    The files are joined: what an annotator answered again counts as it was answered last, by its time. Every verb
    takes the result for people's labels, and `interval` the path of a single file, too.

    Parameters
    ----------
    files : path or sequence of paths
        Exports (CSV, JSONL) of one page, by one annotator or several; what came back of an .xlsx sheet or from Label
        Studio; or a folder of such files.
    drawn : table, path or frame, optional
        What `choose_items` returned: the items are checked against it, and `progress` says how far the labels are.
    page : path or str, optional
        The page that was labelled, or its hash: files of another page are refused.
    half_width : float, optional
        Half of the interval that is wanted, in points of the scale; with `drawn`.

    Examples
    --------
    >>> import tempfile
    >>> head = "item,criterion,rater,scale,method,score,status,seconds,time,comment,position,swapped,page"
    >>> rows = [f"{item},tone,{who},1|2|3|4|5,human,{score},ok,9,2026-03-01T09:0{place}:00Z,,{place},false,3e90d600b322"
    ...         for who, scores in (("ann", "5342"), ("bob", "5312"))
    ...         for place, (item, score) in enumerate(zip("abcd", scores), start=1)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "labels.csv")
    ...     _ = path.write_text("\n".join([head, *rows]))
    ...     labels = read_labels(path)
    >>> labels
    <8 labels of 4 items by 2 annotators, 4 items in common, page 3e90d600b322>
    >>> labels.disagreements[["item", "spread", "ann", "bob"]].to_dict("records")
    [{'item': 'c', 'spread': 3.0, 'ann': 4.0, 'bob': 1.0}]
    """
    as_typed(read_labels, locals())
    if half_width is not None and not half_width > 0:
        raise ArgumentError("half_width", "must be above 0", f"got {half_width!r}")
    if half_width is not None and drawn is None:
        raise ArgumentError("half_width", "needs {0}, the items that were drawn", mentions=("drawn",))
    read = [answers_in(path) for path in _paths(files)]
    names = [file.name for file in read]  # two files of one name are told apart by their places
    read = [
        file._replace(name=f"{file.name} (file {place})") if names.count(file.name) > 1 else file
        for place, file in enumerate(read, start=1)
    ]
    answers, known, notes = joined_answers(read, page)
    for note in notes:
        check.warn(note)
    pool = None if drawn is None else _drawn(drawn)
    notes += [] if pool is None else against_drawn(answers, pool)
    ratings = check_ratings(answers.drop(columns="when"))
    gold = mean_of_people(scores_in(ratings, "files"))
    annotators, (price, said) = annotators_of(answers), price_of(answers)
    agreed, why = _reliability(ratings, pool)
    notes += [*all_alike(answers), *strictness_of(answers), *said, *why]
    return Labels(
        ratings=ratings,
        gold=gold.frame,
        page=known,
        annotators=annotators,
        disagreements=disagreements_of(answers),
        overlap=in_common(answers),
        reliability=agreed,
        seconds_per_label=price,
        progress=None if pool is None else progress_of(answers, gold, pool, half_width),
        notes=tuple(notes),
    )


def _drawn(drawn: Data) -> Checked:
    """The judge's scores, of which some items were drawn."""
    scores = given(drawn, None, {}, names=("scores",), needs=()).scores
    if scores is None:
        raise ArgumentError("drawn", "must be what `choose_items` returned", "got a table without a judge's scores")
    return scores_in(scores, "drawn")


def _paths(files: str | Path | Sequence[str | Path]) -> list[Path]:
    """The files, those of a folder in the order of their names."""
    given = list(files) if isinstance(files, Sequence) and not isinstance(files, str) else [files]
    if odd := [one for one in given if not isinstance(one, str | os.PathLike)]:
        raise ArgumentError("files", "must be paths of files of labels", f"got {type(odd[0]).__name__}")
    found: list[Path] = []
    for name in given:
        path = Path(name).expanduser()
        if path.is_dir():
            # what begins so is of the system or of an open spreadsheet
            seen = (one for one in path.iterdir() if not one.name.startswith((".", "~$")))
            inside = sorted(one for one in seen if one.suffix.lower() in ENDINGS)
            if not inside:
                raise ArgumentError("files", f"must be files ({', '.join(ENDINGS)})", f"{str(path)!r} holds none")
            found += inside
        elif path.is_file():
            found.append(path)
        else:
            raise FileNotFoundError(printable(f"there is no file {str(path)!r}."))
    if not found:
        raise ArgumentError("files", "must name a file at least", "got none")
    return list(dict.fromkeys(path.resolve() for path in found))


def _reliability(ratings: pd.DataFrame, drawn: Checked | None) -> tuple[Results[Any] | None, list[str]]:
    """How far annotators agree on each criterion that two of them labelled; why not, of the others."""
    scores = scores_in(ratings, "files").frame
    if drawn is not None and "group" in drawn.frame:
        known = drawn.frame.drop_duplicates("item").set_index(drawn.frame["item"].astype(object).drop_duplicates())[
            "group"
        ]
        groups = scores["item"].astype(object).map(known.astype(object))
        scores = scores.assign(group=groups) if groups.notna().all() else scores
    found: Results[Any] = Results((), ())
    why = []
    for criterion, rows in scores[scores["score"].notna()].groupby("criterion", observed=True, sort=False):
        if rows["rater"].nunique() < 2:
            continue
        common = int(rows.groupby("item", observed=True)["rater"].nunique().gt(1).sum())
        if common < _ENOUGH:
            why.append(
                f"{criterion}: reliability needs {_ENOUGH} items that two annotators labelled, but there are {common}."
            )
            continue
        try:
            found += reliability(rows)
        except ValueError as error:
            why.append(f"{criterion}: no reliability: {error}")
    return found if len(found) else None, why
