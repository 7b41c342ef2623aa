"""Coverage of 95 % intervals for a mean human score when the judge was calibrated with the very labels they rest on.

Each row of interval.csv is one cell (a judge, labels, items, documents) and one kind of scores: the judge's own, those
calibrated in sample, in folds with the judge's weight fitted once more ("tuned"), and in folds with slope 1 ("folds",
which is what `calib.interval` does). Cells that are there already are kept, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import missing
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from ppi_coverage.run import narrower
from scipy import special, stats

import calib
from calib.analysis.calibration.calibration_map import calibration_map
from calib.analysis.means.methods import law_on_scale
from calib.analysis.means.moments import Moments
from calib.analysis.means.rates import jeffreys_clopper_pearson
from calib.analysis.means.ridge import CorrectedMeans, GroupedItems, LabelSpread, SlopePrior, clustered, ridge
from calib.datasets import DatasetError

HERE = Path(__file__).parent
Floats = NDArray[np.float64]
TAIL = 0.025
LEVELS, SHARES = np.arange(1.0, 6.0), np.array([0.05, 0.10, 0.20, 0.40, 0.25])
ALIKE = 0.3  # share of the variance of what people think that is the document's
SCORES = ("labels", "judge", "in sample", "tuned", "folds")


class Cell(NamedTuple):
    """What is drawn: `n` labels among `size` items of so many `documents` (0: items are independent)."""

    family: str
    judge: str
    n: int
    size: int
    documents: int


KEY = list(Cell._fields)


CHECKED = (
    Cell("items", "good", 25, 500, 0),
    Cell("items", "constant", 20, 500, 0),
    Cell("documents", "lenient", 50, 500, 10),
)


class Judge(NamedTuple):
    """Correlation with what people think, shares of its values from the lowest on, the values; how many of it."""

    r: float
    shares: Floats
    says: Floats
    inputs: int = 1


JUDGES = {
    "good": Judge(0.8, SHARES, LEVELS),
    "lenient": Judge(0.6, np.array([0.01, 0.02, 0.07, 0.25, 0.65]), LEVELS),
    "compressed": Judge(0.6, np.array([0.02, 0.48, 0.48, 0.02]), LEVELS[1:]),
    "reversed": Judge(-0.6, SHARES[::-1], LEVELS),
    "constant": Judge(0.0, np.array([1.0]), LEVELS[3:4]),
    "noisy": Judge(0.1, SHARES, LEVELS),
    "two levels": Judge(0.6, np.array([0.4, 0.6]), LEVELS[[1, 4]]),
    "0 to 100": Judge(0.6, np.full(101, 1 / 101), np.arange(101.0)),
    "six inputs": Judge(0.5, SHARES, LEVELS, 6),
    "yes or no": Judge(0.6, np.array([0.4, 0.6]), np.array([0.0, 1.0])),
}


class Drawn(NamedTuple):
    """One data set: inputs (N, p), labels of all items, which of them are known, documents, people one by one."""

    x: Floats
    y: Floats
    known: NDArray[np.bool_]
    document: NDArray[np.intp] | None
    people: Floats  # (N, people)
    part: NDArray[np.intp] | None = None  # the system of each item


class Part(NamedTuple):
    """Labels of all items, of which some are known, what a judge says, documents."""

    y: Floats
    f: Floats
    known: NDArray[np.bool_]
    document: NDArray[np.intp] | None


# --- made-up judges -----------------------------------------------------------------------------------------------


def levels_of(cell: Cell) -> tuple[Floats, Floats]:
    """Values of people's scale, and how many items have each."""
    return (np.array([0.0, 1.0]), np.array([0.35, 0.65])) if cell.judge == "yes or no" else (LEVELS, SHARES)


def made_up(cell: Cell, rng: np.random.Generator) -> Drawn:
    judge, (levels, shares) = JUDGES[cell.judge], levels_of(cell)
    document = np.arange(cell.size) % cell.documents if cell.documents else None
    latent = rng.normal(size=cell.size)
    if document is not None:
        latent = np.sqrt(ALIKE) * rng.normal(size=cell.documents)[document] + np.sqrt(1 - ALIKE) * latent
    y = levels[_cut(latent, shares)]
    noise = rng.normal(size=(cell.size, judge.inputs))
    x = judge.says[_cut(judge.r * latent[:, None] + np.sqrt(1 - judge.r**2) * noise, judge.shares)]
    known = np.zeros(cell.size, dtype=bool)
    known[rng.choice(cell.size, cell.n, replace=False)] = True
    return Drawn(x, y, known, document, y[:, None])


def _cut(latent: Floats, shares: Floats) -> NDArray[np.intp]:
    return np.searchsorted(stats.norm.ppf(np.cumsum(shares)[:-1]), latent)


# --- SummEval: documents drawn with replacement --------------------------------------------------------------------


@lru_cache(maxsize=1)
def summeval() -> dict[str, Floats]:
    """Of each criterion: (documents, systems, experts), and GPT-4o last."""
    items, ratings = calib.load_summeval_judges()
    raters = ["e0", "e1", "e2", "gpt-4o"]
    named = ratings.assign(rater=ratings["rater"].astype(str)).merge(items[["item", "group", "system"]], on="item")
    found = {}
    for criterion, rows in named.groupby("criterion", observed=True):
        grid = [rows[rows["rater"] == r].pivot(index="group", columns="system", values="score") for r in raters]  # noqa: PD010
        found[str(criterion)] = np.stack([part.to_numpy(float) for part in grid], axis=-1)
    return found


def of_summeval(cell: Cell, rng: np.random.Generator) -> Drawn:
    """100 documents: n labels of their 1,600 summaries, or n whole documents with one mean for each system."""
    grid = summeval()[cell.judge]
    drawn = grid[rng.integers(len(grid), size=cell.documents)]
    document, system = (part.ravel() for part in np.indices(drawn.shape[:2]))
    flat = drawn.reshape(-1, drawn.shape[2])
    if cell.family == "summeval systems":
        known = document < cell.n
    else:
        known = np.zeros(len(flat), dtype=bool)
        known[rng.choice(len(flat), cell.n, replace=False)] = True
    people = flat[:, :3]
    part = system if cell.family == "summeval systems" else None
    return Drawn(flat[:, 3:], people.mean(axis=1), known, document, people, part)


def truth_of(cell: Cell) -> Floats:
    """The mean, or that of each system."""
    if cell.family == "summeval systems":
        return np.asarray(summeval()[cell.judge][..., :3].mean(axis=(0, 2)))
    if cell.family == "summeval all":
        return np.array([summeval()[cell.judge][..., :3].mean()])
    levels, shares = levels_of(cell)
    return np.array([shares @ levels])


# --- scores and intervals ------------------------------------------------------------------------------------------


def scores_of(drawn: Drawn, levels: Floats) -> dict[str, Floats]:
    """What is said of each item: nothing, the judge's own score, calibrated in sample, in folds."""
    n_people = drawn.people.shape[1]
    rows, number = np.repeat(np.arange(len(drawn.y)), n_people), len(drawn.y)
    label = np.where(drawn.known[rows], drawn.people.ravel(), np.nan)
    unit = np.arange(number) if drawn.document is None else drawn.document
    weights = np.full(len(rows), 1 / n_people) if n_people > 1 else None
    groups = None if drawn.document is None and n_people == 1 else unit[rows]
    found = calibration_map(drawn.x[rows], label, levels=levels, groups=groups, weights=weights, n_resamples=2)
    above = special.expit((drawn.x @ found.slopes)[:, None] - found.thresholds)
    inside = -np.diff(above, axis=1, prepend=1.0, append=0.0) @ levels
    folds = found.predict(drawn.x, fold=found.fold[::n_people]) @ levels
    own = drawn.x.mean(axis=1)
    return {"labels": np.zeros(number), "judge": own, "in sample": inside, "tuned": folds, "folds": folds}


def parts_of(sets: list[Part], rule: SlopePrior) -> CorrectedMeans:
    """Corrected means of many data sets."""
    if sets[0].document is not None:
        return _stacked([_of_documents(one, one.document, rule) for one in sets if one.document is not None])
    code = np.repeat(np.arange(len(sets)), [int(one.known.sum()) for one in sets])
    y, f = (np.concatenate([values[one.known] for one, values in pairs]) for pairs in _columns(sets))
    silent = not any(one.f.any() for one in sets)
    rest = [(one.f[~one.known], np.full(int((~one.known).sum()), i)) for i, one in enumerate(sets)]
    return ridge(y, f, code, Moments.from_chunks([] if silent else rest, n_systems=len(sets)), rule)


def _columns(sets: list[Part]) -> tuple[list[tuple[Part, Floats]], list[tuple[Part, Floats]]]:
    return [(one, one.y) for one in sets], [(one, one.f) for one in sets]


def _of_documents(one: Part, document: NDArray[np.intp], rule: SlopePrior) -> CorrectedMeans:
    rest = one.f[~one.known] if one.f.any() else np.empty(0)
    other, n = document[~one.known][: len(rest)], int(one.known.sum())
    sample = (one.y[one.known], one.f[one.known], Moments.one_by_one(rest), document[one.known], other)
    return clustered(GroupedItems(*sample, np.ones(n), np.ones(n + len(rest))), rule)


def _stacked(parts: list[CorrectedMeans]) -> CorrectedMeans:
    """Parts of single sets as those of many."""
    number = {
        cell.name: np.concatenate([getattr(part, cell.name) for part in parts])
        for cell in fields(CorrectedMeans)
        if cell.name not in {"seen", "whole_df"}
    }
    seen = {
        cell.name: np.concatenate([getattr(part.seen, cell.name) for part in parts]) for cell in fields(LabelSpread)
    }
    seen["code"] = np.repeat(np.arange(len(parts)), [len(part.seen.code) for part in parts])
    return CorrectedMeans(**number, seen=LabelSpread(**seen), whole_df=True)


def rule_of(name: str, cell: Cell, levels: Floats) -> SlopePrior:
    """As `ppi_mean` has it."""
    low, high = levels[[0, -1]]
    values = JUDGES[cell.judge].says if cell.judge in JUDGES else levels
    same = name != "judge" or bool(low <= values.min() and values.max() <= high)
    return SlopePrior.on((low, high), same_scale=same, calibrated=name == "folds")


def rows_of(cell: Cell, sets: int) -> list[dict[str, object]]:
    """Of each kind of scores: coverage in % and mean width, over the systems where there are several."""
    rng = np.random.default_rng(zlib.crc32(" ".join(map(str, cell)).encode()))
    levels = levels_of(cell)[0]
    draw = of_summeval if cell.family.startswith("summeval") else made_up
    drawn = [draw(cell, rng) for _ in range(sets)]
    said = [scores_of(one, levels) for one in drawn]
    truth, ends = truth_of(cell), {}
    for name in SCORES:
        rule = rule_of(name, cell, levels)
        pairs = [(one, scores[name]) for one, scores in zip(drawn, said, strict=True)]
        each = [_interval([_part(*pair, k) for pair in pairs], rule, levels) for k in range(len(truth))]
        ends[name] = np.array(each).reshape(len(truth), 2, 2, sets)  # on the scale and by t, low and high
        if name != "labels":  # as `ppi_mean`
            both = ((each[:, :, 0], each[:, :, 1]) for each in (ends[name], ends["labels"]))
            ends[name] = np.stack(narrower(*both)["calib"], axis=2)
    return [_row(cell, name, ends, truth, sets) for name in SCORES]


def _part(drawn: Drawn, f: Floats, k: int) -> Part:
    """All items, or those of a system, which has one of each document."""
    if drawn.part is None:
        return Part(drawn.y, f, drawn.known, drawn.document)
    rows = drawn.part == k
    return Part(drawn.y[rows], f[rows], drawn.known[rows], None)


def _interval(sets: list[Part], rule: SlopePrior, levels: Floats) -> Floats:
    """Ends of 95 % intervals on the scale, and of those by Student's t, which have nothing to spare, (4, sets)."""
    two, parts = len(levels) == 2 and sets[0].document is None, parts_of(sets, rule)
    _, law = law_on_scale(parts, (float(levels[0]), float(levels[-1])), two=two)
    _, plain = law_on_scale(parts, None)
    ends = law.low(TAIL), law.high(TAIL)
    if two and not any(one.f.any() for one in sets):  # labels alone, as `mean_interval` has them
        yes = [float(one.y[one.known].sum()) for one in sets]
        ends = jeffreys_clopper_pearson(yes, [float(one.known.sum()) for one in sets], 1 - 2 * TAIL)
    return np.array([*ends, plain.low(TAIL), plain.high(TAIL)])


def _row(cell: Cell, name: str, ends: dict[str, Floats], truth: Floats, sets: int) -> dict[str, object]:
    (low, high), (low_t, high_t) = ends[name].transpose(1, 2, 0, 3)
    alone, raw = (np.mean(ends[k][:, 0, 1] - ends[k][:, 0, 0]) for k in SCORES[:2])
    at, both = truth[:, None], ((low, high), (low_t, high_t))
    held, held_t = (((lows <= at) & (at <= highs)).mean(axis=1) for lows, highs in both)
    width, width_t = (high - low).mean(), (high_t - low_t).mean()
    row: dict[str, object] = cell._asdict() | {"scores": name, "sets": sets, "coverage": 100 * held.mean()}
    row |= {"lowest": 100 * held.min(), "width": width, "over_labels": width / alone, "over_judge": width / raw}
    row |= {"coverage_t": 100 * held_t.mean(), "lowest_t": 100 * held_t.min()}
    row |= {"over_labels_t": width_t / (ends["labels"][:, 1, 1] - ends["labels"][:, 1, 0]).mean()}
    return row


# --- the whole study -----------------------------------------------------------------------------------------------


def cells() -> Iterator[tuple[Cell, int]]:
    """And how many data sets."""
    for judge in JUDGES:
        for n in (20, 25, 50, 100, 200):
            yield Cell("items", judge, n, 500, 0), 2000
    for judge in JUDGES:
        for documents, n in ((10, 50), (25, 25), (25, 100), (50, 20), (50, 50), (50, 200)):
            yield Cell("documents", judge, n, 500, documents), 2000
    for judge in ("good", "noisy", "0 to 100"):
        for n in (20, 100):
            yield Cell("items", judge, n, 2000, 0), 2000
    for criterion in ("coherence", "consistency", "fluency", "relevance"):
        for n in (25, 50, 100, 200):
            yield Cell("summeval all", criterion, n, 1600, 100), 500
        for n in (20, 50):
            yield Cell("summeval systems", criterion, n, 1600, 100), 200


def study(path: Path, share: float, asked: str) -> pd.DataFrame:
    """Simulate the cells that are not yet in the file, saving as it goes."""
    rows = pd.read_csv(path).to_dict("records") if path.exists() else []
    have = {tuple(str(row[k]) for k in KEY) for row in rows}
    todo = [(c, n) for c, n in cells() if asked in " / ".join(map(str, c)) and tuple(map(str, c)) not in have]
    for i, (cell, sets) in enumerate(todo, start=1):
        rows += rows_of(cell, max(50, round(share * sets)))
        pd.DataFrame(rows).to_csv(path, index=False, float_format="%.4g", lineterminator="\n")
        print(f"{i}/{len(todo)}  {', '.join(map(str, cell))}: {time.process_time():.0f} s of CPU", flush=True)
    return pd.read_csv(path)


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """By family and labels: lowest cell and mean coverage of each kind of scores, and mean widths over labels alone."""
    rows = []
    for (family, n), part in results.groupby(["family", "n"], sort=False):
        row: dict[str, object] = {"family": family, "n": n}
        for name, of in part.groupby("scores", sort=False):
            row[str(name)] = f"{of['coverage'].min():.1f} ({of['coverage'].mean():.1f}) {of['over_labels'].mean():.2f}"
        rows.append(row)
    return pd.DataFrame(rows)


def checked(path: Path) -> int:
    """Draw some cells again, fewer times: a coverage that is four standard errors off is a failure."""
    results, failed = pd.read_csv(path), 0
    for cell in CHECKED:
        was = results[(results[KEY].astype(str) == [str(v) for v in cell]).all(axis=1)].set_index("scores")
        for row in rows_of(cell, 200):
            held = was.loc[row["scores"], "coverage"] / 100
            error = 100 * np.sqrt(max(held * (1 - held), 0.005) * (1 / 200 + 1 / was.loc[row["scores"], "sets"]))
            off = abs(float(row["coverage"]) - 100 * held) > 4 * error
            failed += off
            told = f"{row['coverage']:.1f} {'is not' if off else 'as'} {100 * held:.1f}"
            print(f"{', '.join(map(str, cell))}, {row['scores']}: {told}")
    return int(failed > 0)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--check", action="store_true", help="draw some cells again and exit with 1 if they differ")
    arguments.add_argument("--cells", default="", help="only cells with this in their name")
    arguments.add_argument("--share", type=float, default=1.0, help="share of the data sets")
    arguments.add_argument("--to", type=Path, default=HERE / "interval.csv")
    asked = arguments.parse_args()
    warnings.simplefilter("ignore", calib.stats.CalibWarning)
    if asked.check:
        return checked(asked.to)
    try:
        results = study(asked.to, asked.share, asked.cells)
    except DatasetError as error:
        missing.skip("calibration", error)
        return 0
    print(summary(results).to_string(index=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
