"""Rates that were simulated twice: which of them cannot be one rate."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import check
import missing
import numpy as np
import pandas as pd
from scipy import stats

from calib.core.check import CalibWarning
from calib.datasets import DatasetError

UNLIKELY = 1e-5  # of one row, of which a study has some hundred


def differing(stored: pd.DataFrame, found: pd.DataFrame, key: Sequence[str], rate: str) -> pd.DataFrame:
    """Rows whose rate cannot be the stored one (Fisher's exact test on `runs`), and rows that are not stored."""
    both = stored.merge(found, on=list(key), suffixes=("", "_again"), how="right", indicator="there")
    rows = both.to_dict("records")
    return both[[row["there"] != "both" or _p_value(row, rate) < UNLIKELY for row in rows]]


def _p_value(row: dict[str, Any], rate: str) -> float:
    pairs = [(row[f"{rate}{end}"], row[f"runs{end}"]) for end in ("", "_again")]
    counts = [(round(share * runs), round((1 - share) * runs)) for share, runs in pairs]
    return float(stats.fisher_exact(counts).pvalue)


Part = Callable[[int, np.random.Generator], Iterable[dict[str, Any]]]


def simulated(parts: Mapping[str, Part], name: str, runs: int) -> pd.DataFrame:
    """The rows of one part of a study. Its seed comes from its name alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibWarning)
        return pd.DataFrame(parts[name](runs, np.random.default_rng([*name.encode()]))).assign(part=name)


def study(
    folder: Path,
    about: str | None,
    parts: Mapping[str, Part],
    key: Sequence[str],
    *,
    runs: Mapping[str, int],
    few: int,
    rate: str = "rate",
    compared: Callable[[pd.DataFrame], pd.DataFrame] = lambda found: found,
    file: str = "results.csv",
) -> int:
    """Run a study, or check its `file` of results with `few` runs a row; the exit code.

    `compared` leaves out of the check what is no rate. A part whose data are not here is left out.
    """
    arguments = check.parser(about)
    arguments.add_argument("--part", choices=parts, action="append", help="this part alone")
    given = arguments.parse_args()
    path, names = folder / file, given.part or list(parts)
    stored = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=["part", *key])
    start, tables = time.process_time(), []
    for name in names:
        try:
            tables.append(simulated(parts, name, few if given.check else runs[name]))
        except DatasetError as error:
            missing.skip(f"{folder.name}, {name}", error)
    if not tables:
        return 0
    found = pd.concat(tables, ignore_index=True)
    off = found[:0]
    if given.check:
        found = compared(found)
        off = differing(stored, found, key, rate)
        sys.stdout.write(off.to_string() if len(off) else "")
        sys.stdout.write(f"{folder.name}: {len(found) - len(off)} of {len(found)} rows agree with {file}. ")
    else:
        kept = stored[~stored["part"].isin(names)]
        found = pd.concat([kept, found], ignore_index=True) if len(kept) else found
        found = found.sort_values("part", key=lambda part: part.map(list(parts).index), kind="stable")
        found[["part", *found.columns.drop("part")]].to_csv(path, index=False, float_format="%.6g", lineterminator="\n")
        sys.stdout.write(f"{found.to_string(index=False)}\n")
    sys.stdout.write(f"{time.process_time() - start:.0f} s of CPU.\n")
    return int(len(off) > 0)
