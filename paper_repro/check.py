"""What the reproductions share: compare values with expected.csv, write results.csv, print, judge."""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import missing
import pandas as pd

from calib.datasets import DatasetError

ABSENT = "not available here"


def parser(description: str | None) -> argparse.ArgumentParser:
    """The arguments of every run.py."""
    arguments = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--check", action="store_true", help="exit with 1 if a value is outside its tolerance")
    return arguments


def compare(expected: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """Expected and found values side by side, the expected ones first.

    `ok` is True or False where there is a tolerance, else empty; a value that `found`
    calls absent keeps its note there, and one that `found` does not have is a miss.
    """
    key = [name for name in expected if name not in ("value", "tolerance", "source")]
    wanted = expected.rename(columns={"value": "expected"}).set_index(key)
    got = found.set_index(key)
    both = wanted.reindex(wanted.index.union(got.index, sort=False)).join(got)
    both["difference"] = (both["value"] - both["expected"]).round(9)
    within = (both["difference"].abs() <= both["tolerance"]).astype(object)
    note = both.pop("note") if "note" in both else pd.Series("", index=both.index)
    both["ok"] = within.where(both["tolerance"].notna(), "").where(note != ABSENT, ABSENT)
    last = [name for name in got if name not in ("value", "note")]
    return both.reset_index()[[*key, "expected", "tolerance", "source", "value", "difference", "ok", *last]]


def report(folder: Path, compute: Callable[[], pd.DataFrame], *, strict: bool) -> int:
    """Compute, compare, write results.csv beside expected.csv, print; the exit code."""
    try:
        found = compute()
    except DatasetError as error:
        missing.skip(folder.name, error)
        return 0
    results = compare(pd.read_csv(folder / "expected.csv"), found)
    results.to_csv(folder / "results.csv", index=False, float_format="%.9g", lineterminator="\n")
    known = results[results["expected"].notna()].drop(columns="source")
    print(known.to_string(index=False, na_rep="", float_format=lambda x: f"{x:.6g}"))
    hits, misses = (int((results["ok"] == answer).sum()) for answer in (True, False))
    print(f"{folder.name}: {hits} of {hits + misses} values within tolerance, {len(results) - len(known)} more without")
    print(f"an expectation; all are in results.csv. {time.process_time():.1f} s of CPU.")
    return int(strict and misses > 0)
