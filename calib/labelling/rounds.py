"""Labels that are there already: what a page of a later round leaves out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from calib.core.check import ArgumentError
from calib.labelling.read import read_labels
from calib.labelling.task import Criterion
from calib.table import TableArgumentError
from calib.tables.labels import Labels


def still_to_label(
    chosen: dict[str, tuple[str, tuple[str, ...]]],
    labelled: Any,
    page: str,
    asked: Sequence[Criterion],
    known: set[str],
) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Those of which a label is missing."""
    if labelled is None:
        return chosen
    there = _rows_so_far(labelled, page)
    done = there.drop_duplicates().groupby("item")["criterion"].agg(set)
    wanted = {one.name for one in asked}
    if not (known | {spelled for spelled, _ in chosen.values()}) & set(done.index):
        rule = "must be labels of these items (a spreadsheet may have changed their ids)"
        raise ArgumentError("labelled", rule, f"has none of them, but {min(done.index, default='')!r}")
    left = {one: told for one, told in chosen.items() if not wanted <= done.get(told[0], set())}
    if not left:
        raise ArgumentError("labelled", "must leave something to label", f"has all {len(chosen)} chosen items")
    return left


def _rows_so_far(labelled: Any, page: str) -> pd.DataFrame:
    """Item and criterion of what was answered on this page."""
    given = labelled.ratings if isinstance(labelled, Labels) else labelled
    frame = given if isinstance(given, pd.DataFrame) else read_labels(_label_files(given)).ratings
    if missing := {"item", "criterion"} - set(frame):
        raise TableArgumentError("labelled", "must be labels of such a page", f"there is no column {min(missing)!r}")
    pages = set(frame["page"].astype(str)) - {page} if "page" in frame else set()
    if pages:
        rule = "must be labels of a page with the same items and texts, criteria, meanings of these, and scales"
        raise ArgumentError("labelled", rule, f"these are of page {min(pages)}, and this is {page}")
    return frame[["item", "criterion"]].astype(str)


def _label_files(given: Any) -> list[Path]:
    paths = [given] if isinstance(given, str | Path) or not isinstance(given, Iterable) else list(given)
    if not paths or not all(isinstance(path, str | Path) for path in paths):
        rule = "must be what `read_labels` gave, a table of ratings, or files of labels"
        raise ArgumentError("labelled", rule, f"got {given!r}")
    for path in map(Path, paths):
        if not path.expanduser().exists():
            raise ArgumentError("labelled", "must be files of labels", f"there is no file {str(path)!r}")
    return [Path(path) for path in paths]
