"""Coverage of the 95 % intervals for a mean human score on real scores, drawn with replacement from the files.

Each row of results.csv is one cell (a data set, a criterion, a judge, items without a label, labels)
and one interval: how often it holds the truth, the mean of the file, and how wide it is. Cells
that are there already are kept, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import missing
import numpy as np
import oracles
import pandas as pd
from data_sets import load_ballots, load_cje_arena, load_forest_badmodel
from numpy.typing import NDArray
from oracles import Labelled, labelled, normal_ends
from ppi_coverage.run import TAIL, by_calib, classical, narrower, of_counts, one_by_one, rule_of
from scipy import special

import calib
from calib.analysis.means.methods import law_on_scale
from calib.analysis.means.moments import Moments
from calib.analysis.means.ridge import GroupedItems, clustered
from calib.core.gaffke import Gaffke
from calib.datasets import DatasetError
from calib.stats import CalibWarning, mean_interval, ppi_mean

FOLDER = Path(__file__).parent
Floats = NDArray[np.float64]
Ends = tuple[Floats, Floats]
Scale = tuple[tuple[float, float], float]
ONE_TO_FIVE, DIFFERENCE, SHARE, YES_OR_NO = ((1.0, 5.0), 1.0), ((-4.0, 4.0), 1.0), ((0.0, 1.0), 0.0), ((0.0, 1.0), 1.0)


class Cell(NamedTuple):
    """What is drawn: `gold` items (or whole documents) with a label and `rest` without."""

    family: str
    criterion: str
    judge: str
    rest: int
    gold: int


KEY = list(Cell._fields)


class Population(NamedTuple):
    """Human and judge scores of a file, shape (items,), or (documents, systems) where documents are drawn."""

    name: str
    y: Floats
    f: Floats
    bounds: tuple[float, float]
    step: float
    ends: tuple[float, float] | None = None  # of a difference, where one of both scores is at an end


# --- the files --------------------------------------------------------------------------------------------------

Grid = tuple[str, str, pd.DataFrame, pd.DataFrame]  # criterion, judge, human and judge scores by document and system


def _grids(people: pd.DataFrame, judges: pd.DataFrame) -> Iterator[Grid]:
    shape = {"index": "group", "columns": "system", "values": "score"}
    for (criterion, judge), rows in judges.groupby(["criterion", "rater"], observed=True):
        human = people[people["criterion"] == criterion].pivot(**shape)  # noqa: PD010 - refuses what is there twice
        yield criterion, judge, human, rows.pivot(**shape).loc[human.index, human.columns]  # noqa: PD010


@lru_cache(maxsize=1)
def summeval() -> list[Grid]:
    """100 documents, 16 systems, 4 criteria, 6 judges; people are the mean of three experts."""
    items, ratings = calib.load_summeval_judges()
    human = ratings["method"] == "human"
    return list(_grids(calib.summarize(ratings[human], items, pool="rater"), calib.summarize(ratings[~human], items)))


@lru_cache(maxsize=1)
def triviaqa() -> list[Grid]:
    """400 questions, 8 systems, right or wrong, 9 judges."""
    items, ratings = calib.load_triviaqa_judges()
    scores = calib.summarize(ratings, items)
    human = scores["rater"] == "human"
    return list(_grids(scores[human], scores[~human]))


def _both(load: Callable[[], tuple[pd.DataFrame, pd.DataFrame]], people: str, judge: str) -> pd.DataFrame:
    """Human and judge scores, one row per item that has both."""
    items, ratings = load()
    scores = calib.summarize(ratings, items)
    human, said = (scores[scores["rater"] == rater].set_index("item") for rater in (people, judge))
    return human.join(said["score"].rename("said"), how="inner")


def _by_system(grids: list[Grid], scale: Scale) -> Iterator[tuple[str, str, list[Population]]]:
    for criterion, judge, human, said in grids:
        yield criterion, judge, [Population(s, human[s].to_numpy(), said[s].to_numpy(), *scale) for s in human]


def _by_document(grids: list[Grid], scale: Scale) -> Iterator[tuple[str, str, list[Population]]]:
    for criterion, judge, human, said in grids:
        yield criterion, judge, [Population("all", human.to_numpy(), said.to_numpy(), *scale)]


def _ends(human: pd.DataFrame, a: str, b: str) -> tuple[float, float]:
    """As `ppi_difference` has them from the labels' means; here from those of all."""
    mean_a, mean_b = float(human[a].mean()), float(human[b].mean())
    return min(1 - mean_b, mean_a - 5), max(5 - mean_b, mean_a - 1)


def _differences(grids: list[Grid]) -> Iterator[tuple[str, str, list[Population]]]:
    for criterion, judge, human, said in grids:
        pairs = [
            Population(
                f"{a} - {b}", *((t[a] - t[b]).to_numpy() for t in (human, said)), *DIFFERENCE, _ends(human, a, b)
            )
            for a, b in combinations(human, 2)
        ]
        yield criterion, judge, pairs


def _pairs(frame: pd.DataFrame, criterion: str, judge: str, scale: Scale) -> tuple[str, str, list[Population]]:
    y, f = (frame[name].to_numpy(float) for name in ("score", "said"))
    return criterion, judge, [Population("all", y, f, *scale)]


def _cje() -> Iterator[tuple[str, str, list[Population]]]:
    frame = _both(load_cje_arena, "oracle", "judge")
    base = frame["system"] == "base"
    yield _pairs(frame[base], "base policy", "judge", SHARE)
    yield _pairs(frame[~base], "three other policies", "judge", SHARE)


def _machines() -> Iterator[tuple[str, str, list[Population]]]:
    yield _pairs(_both(load_ballots, "human", "machine"), "vote", "machine", YES_OR_NO)
    yield _pairs(_both(load_forest_badmodel, "human", "machine"), "cleared", "machine", YES_OR_NO)


class Family(NamedTuple):
    """A data set and a question: its title, how many items are without a label, how many have one, data sets."""

    title: str
    rest: int
    gold: tuple[int, ...]
    sets: int


FAMILIES = {
    "summeval systems": Family("SummEval: mean of a system", 400, (20, 50, 100), 4_000),
    "summeval all": Family("SummEval: mean of all, whole documents", 400, (20, 50, 100), 4_000),
    "summeval differences": Family("SummEval: difference of two systems", 400, (20, 40, 100), 1_000),
    "cje": Family("CJE Arena", 5_000, (20, 50, 100), 20_000),
    "triviaqa systems": Family("TriviaQA: share right, a system", 5_000, (20, 50, 100), 10_000),
    "triviaqa all": Family("TriviaQA: all, whole questions", 400, (20, 50, 100), 4_000),
    "machines": Family("ballots and forest", 5_000, (20, 50, 100), 20_000),
}


@lru_cache(maxsize=1)
def populations(family: str) -> dict[tuple[str, str], list[Population]]:
    """Of each criterion and judge: what is drawn from."""
    found = {
        "summeval systems": lambda: _by_system(summeval(), ONE_TO_FIVE),
        "summeval all": lambda: _by_document(summeval(), ONE_TO_FIVE),
        "summeval differences": lambda: _differences(summeval()),
        "cje": _cje,
        "triviaqa systems": lambda: _by_system(triviaqa(), YES_OR_NO),
        "triviaqa all": lambda: _by_document(triviaqa(), YES_OR_NO),
        "machines": _machines,
    }[family]()
    return {(criterion, judge): members for criterion, judge, members in found}


# --- intervals --------------------------------------------------------------------------------------------------


def _set_of(n: Floats, mean: Floats, squares: Floats) -> Moments:
    return Moments(n, mean, squares, np.full_like(mean, np.nan), np.full_like(mean, np.nan))


def drawn_moments(f: Floats, n: int, rng: np.random.Generator, sets: int) -> Moments:
    """Exactly those of n judge scores drawn with replacement: how often each different value comes."""
    values, counts = np.unique(f, return_counts=True)
    often = rng.multinomial(n, counts / counts.sum(), sets)
    mean, seen = often @ values / n, often > 0
    ends = values[seen.argmax(axis=1)], values[::-1][seen[:, ::-1].argmax(axis=1)]
    return Moments(np.full(sets, float(n)), mean, np.sum(often * (values - mean[:, None]) ** 2, axis=1), *ends)


def judge_alone(gold: Labelled, rest: Moments) -> Ends:
    """A t interval of the judge's own mean over all items, as if it were a person."""
    every = rest.merge(_set_of(np.full_like(rest.mean, float(gold.n)), gold.mean_f, gold.ff))
    half = special.stdtrit(every.n - 1, 1 - TAIL) * np.sqrt(every.variance / every.n)
    return every.mean - half, every.mean + half


def _others(gold: Labelled, rest: Moments) -> dict[str, Ends]:
    return {
        "ppi_py": normal_ends("ppi_py", gold, rest, TAIL),
        "labels, t": classical(gold),
        "judge": judge_alone(gold, rest),
    }


def drawn_items(
    population: Population, cell: Cell, rng: np.random.Generator, sets: int
) -> tuple[Floats, Floats, Moments]:
    """Human and judge scores of the items with a label, shape (sets, n), and what the judge says of the others."""
    chosen = rng.integers(len(population.y), size=(sets, cell.gold))
    return population.y[chosen], population.f[chosen], drawn_moments(population.f, cell.rest, rng, sets)


def of_items(population: Population, cell: Cell, rng: np.random.Generator, sets: int) -> dict[str, Ends]:
    """Independent items."""
    y, f, rest = drawn_items(population, cell, rng, sets)
    return _named(by_calib(y, f, rest, population)) | _others(labelled(y, f), rest)


def _named(found: dict[str, Ends]) -> dict[str, Ends]:
    return {"calib": found["calib"], "labels, calib": found["labels"]}


def of_answers(population: Population, cell: Cell, rng: np.random.Generator, sets: int) -> dict[str, Ends]:
    """People and judge say yes or no: the counts of the four outcomes."""
    y, f = population.y, population.f >= 0.5
    shares = np.array([np.mean(y * f), np.mean(y * ~f), np.mean((1 - y) * f), np.mean((1 - y) * ~f)])
    gold, rest = (rng.multinomial(n, shares, sets).T.astype(float) for n in (cell.gold, cell.rest))
    k1, k0, wrong, right = gold
    said, n, yes, judged = rest[0] + rest[2], float(cell.gold), k1 + k0, k1 + wrong
    found = of_counts((k1, judged, k0, k0 + right, said, cell.rest - said))
    moments = Labelled(n, yes / n, judged / n, yes - yes**2 / n, judged - judged**2 / n, k1 - judged * yes / n)
    loose = _set_of(np.full(sets, float(cell.rest)), said / cell.rest, said - said**2 / cell.rest)
    return _named(found) | _others(moments, loose)


def of_documents(population: Population, cell: Cell, rng: np.random.Generator, sets: int) -> dict[str, Ends]:
    """Whole documents: each draw is a group of its own. For ppi_py items are independent."""
    drawn = [drawn_documents(population, cell, rng) for _ in range(sets)]
    judged, alone = zip(*(_laws_of_documents(population, *one) for one in drawn), strict=True)
    y, f = (np.stack(part) for part in zip(*drawn, strict=True))
    # documents are equally large: sums over groups are the means of documents
    labels, judge = (labelled(v.mean(axis=2), v.mean(axis=2)) for v in (y, f))
    y, f = (v.reshape(sets, -1) for v in (y, f))
    n = y.shape[1]
    loose = f[:, n:]
    rest = _set_of(np.full(sets, float(loose.shape[1])), loose.mean(axis=1), loose.var(axis=1) * loose.shape[1])
    found = _named(narrower(one_by_one(judged), one_by_one(alone)))
    found["ppi_py"] = normal_ends("ppi_py", labelled(y, f[:, :n]), rest, TAIL)
    return found | {"labels, t": classical(labels), "judge": classical(judge)}


def drawn_documents(population: Population, cell: Cell, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Human scores of the documents with labels, judge scores of all, these first."""
    chosen = rng.integers(len(population.y), size=cell.gold + cell.rest)
    return population.y[chosen[: cell.gold]], population.f[chosen]


def _laws_of_documents(population: Population, y: Floats, f: Floats) -> list[Gaffke]:
    """With the judge, and of the labels alone."""
    group = np.repeat(np.arange(len(f)), f.shape[1])
    n, scores = y.size, f.ravel()
    both = GroupedItems(
        y.ravel(), scores[:n], Moments.one_by_one(scores[n:]), group[:n], group[n:], np.ones(n), np.ones(len(scores))
    )
    alone = GroupedItems(y.ravel(), np.zeros(n), Moments.one_by_one([]), group[:n], group[:0], np.ones(n), np.ones(n))
    rule, bounds = rule_of(population.bounds), population.bounds
    return [law_on_scale(clustered(sample, rule), bounds)[1] for sample in (both, alone)]


# --- one cell ---------------------------------------------------------------------------------------------------


def cells() -> Iterator[Cell]:
    """All of the study."""
    for name, family in FAMILIES.items():
        yield from (Cell(name, *key, family.rest, n) for key in populations(name) for n in family.gold)


def simulated(cell: Cell, population: Population, sets: int) -> dict[str, Ends]:
    """Ends of the intervals of that many data sets. Seeds come from the names alone."""
    rng = np.random.default_rng([*" ".join(map(str, (*cell, population.name))).encode()])
    if population.y.ndim == 2:
        return of_documents(population, cell, rng, sets)
    return (of_answers if _is_binary(population) else of_items)(population, cell, rng, sets)


def _is_binary(population: Population) -> bool:
    return (population.bounds, population.step) == YES_OR_NO


def rows_of(cell: Cell, sets: int) -> list[dict[str, object]]:
    """Of each interval coverage in % and width, the mean over the systems (or pairs of systems) of the cell."""
    rows = []
    for population in populations(cell.family)[cell.criterion, cell.judge]:
        truth, ends = float(population.y.mean()), simulated(cell, population, sets)
        basis = float(np.mean(ends["labels, t"][1] - ends["labels, t"][0]))
        for name, (low, high) in ends.items():
            held, width, sign = (low <= truth) & (truth <= high), high - low, np.sign(truth)
            rows.append({
                "interval": name,
                "of": population.name,
                "coverage": held.mean(),
                "variance": max(held.mean() * (1 - held.mean()), 0.005) / sets,
                "too_low": np.mean(high < truth),
                "width": width.mean(),
                "width_variance": width.var() / sets,
                "ratio": width.mean() / basis if basis else np.nan,
                "rho": np.corrcoef(population.y.ravel(), population.f.ravel())[0, 1] if np.ptp(population.f) else 0.0,
                "decided": np.mean((low > 0) | (high < 0)),
                "wrong_sign": np.mean(np.where(sign > 0, high < 0, low > 0)) if sign else 0.0,
            })  # fmt: skip
    return [_over(cell, name, part, sets) for name, part in pd.DataFrame(rows).groupby("interval", sort=False)]


def _over(cell: Cell, interval: str, part: pd.DataFrame, sets: int) -> dict[str, object]:
    """One row: means over systems, and the lowest of them."""
    many, least = len(part), part.loc[part["coverage"].idxmin()]
    row: dict[str, object] = cell._asdict() | {"interval": interval, "populations": many, "sets": sets}
    row |= {
        "coverage": 100 * part["coverage"].mean(),
        "coverage_se": 100 * np.sqrt(part["variance"].sum()) / many,
        "lowest": 100 * least["coverage"],
        "lowest_at": least["of"],
        "highest": 100 * part["coverage"].max(),
        "too_low": 100 * part["too_low"].mean(),
        "width": part["width"].mean(),
        "width_se": np.sqrt(part["width_variance"].sum()) / many,
        "ratio": part["ratio"].mean(),
        "rho": part["rho"].mean(),
    }
    if cell.family == "summeval differences":
        row |= {"decided": 100 * part["decided"].mean(), "wrong_sign": 100 * part["wrong_sign"].mean()}
    return row


# --- the judge alone on the file as it is -----------------------------------------------------------------------


def naive() -> pd.DataFrame:
    """Paired t intervals of the judge's differences on the 100 documents: 120 pairs of systems."""
    rows = []
    for (criterion, judge), pairs in populations("summeval differences").items():
        truth, f = np.array([p.y.mean() for p in pairs]), np.array([p.f for p in pairs])
        found = labelled(f, f)
        low, high = classical(found)
        decided = (low > 0) | (high < 0)
        rows.append({
            "criterion": criterion,
            "judge": judge,
            "pairs": len(pairs),
            "holds": int(np.sum((low <= truth) & (truth <= high))),
            "decided": int(decided.sum()),
            "wrong_sign": int(np.sum(decided & (found.mean_y * truth < 0))),
        })  # fmt: skip
    return pd.DataFrame(rows)


# --- the whole study --------------------------------------------------------------------------------------------


def study(path: Path, share: float, asked: str) -> pd.DataFrame:
    """Simulate the cells that are not yet in the file, saving as it goes."""
    rows = pd.read_csv(path).to_dict("records") if path.exists() else []
    have = {tuple(str(row[k]) for k in KEY) for row in rows}
    todo = [cell for cell in cells() if asked in " / ".join(map(str, cell)) and tuple(map(str, cell)) not in have]
    for i, cell in enumerate(todo, start=1):
        rows += rows_of(cell, max(100, round(share * FAMILIES[cell.family].sets)))
        if i % 12 == 0 or i == len(todo):
            save(rows, path)
            print(f"{i}/{len(todo)}  {', '.join(map(str, cell))}: {time.process_time():.0f} s of CPU", flush=True)
    return pd.read_csv(path)


def save(rows: list[dict[str, object]], path: Path) -> None:
    """Write the rows by family."""
    order = list(FAMILIES)
    rows.sort(key=lambda row: order.index(str(row["family"])))
    pd.DataFrame(rows).to_csv(path, index=False, float_format="%.4g", lineterminator="\n")


NAMES = ("calib", "labels, calib", "labels, t", "ppi_py", "judge")


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """By family and number of labels: lowest population and mean coverage of each interval, and widths."""
    rows = []
    for (family, gold), part in results.groupby(["family", "gold"], sort=False):
        row: dict[str, object] = {"family": family, "gold": gold}
        for name, of in part.groupby("interval", sort=False):
            row[str(name)] = f"{of['lowest'].min():.1f} ({of['coverage'].mean():.1f})"
        for name in ("calib", "ppi_py"):
            row[f"width {name}"] = round(float(part.loc[part["interval"] == name, "ratio"].mean()), 2)
        rows.append(row)
    return pd.DataFrame(rows)


def short(results: pd.DataFrame) -> pd.DataFrame:
    """Cells whose lowest population is below 95 % by more than three Monte Carlo standard errors."""
    mine = results[results["interval"] == "calib"]
    error = np.sqrt(95 * 5 / mine["sets"])
    return mine.loc[mine["lowest"] < 95 - 3 * error, [*KEY, "sets", "coverage", "lowest", "lowest_at", "too_low"]]


# --- the picture ------------------------------------------------------------------------------------------------

_LOOKS = {
    "judge": ("#CC79A7", "v", "judge alone"),
    "labels, t": ("#4D4D4D", "s", "labels alone, t"),
    "labels, calib": ("#E69F00", "D", "labels alone, calib"),
    "ppi_py": ("#D55E00", "X", "ppi_py"),
    "calib": ("#0072B2", "o", "calib"),
}
_EDGE, _WIDE = ("consistency", "fluency"), ("coherence", "relevance")
_PANELS = (
    ("SummEval, a system:\n" + ", ".join(_WIDE), "summeval systems", _WIDE),
    ("SummEval, a system:\n" + ", ".join(_EDGE), "summeval systems", _EDGE),
    ("SummEval, two systems:\n" + ", ".join(_WIDE), "summeval differences", _WIDE),
    ("SummEval, two systems:\n" + ", ".join(_EDGE), "summeval differences", _EDGE),
    ("SummEval, all:\nwhole documents", "summeval all", _WIDE + _EDGE),
    ("CJE Arena", "cje", ("base policy", "three other policies")),
    ("TriviaQA, a system", "triviaqa systems", ("correct",)),
    ("TriviaQA, all:\nwhole questions", "triviaqa all", ("correct",)),
    ("ballots", "machines", ("vote",)),
)
_TICKS = (0.01, 0.1, 0.5, 0.8, 0.9, 0.95, 0.98, 0.995)
_RATIOS = (0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3)
_LIMITS = 0.005, 0.9985  # of the axis; what lies beyond is drawn there


def draw(results: pd.DataFrame, path: Path) -> None:
    """Mean coverage and range over the populations of a panel, and mean width, against the number of labels."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    size, heights = (20, 7), (2, 1)
    figure, axes = plt.subplots(2, len(_PANELS), figsize=size, sharex="col", sharey="row", height_ratios=heights)
    for column, (title, family, criteria) in zip(axes.T, _PANELS, strict=True):
        part = results[(results["family"] == family) & results["criterion"].isin(criteria)]
        for i, interval in enumerate(_LOOKS):
            _lines(column, part[part["interval"] == interval].groupby("gold"), interval, i - 2)
        column[0].set_title(title, fontsize="medium")
        column[0].axhline(0.95, color="black", linewidth=0.9, zorder=1)
        column[1].set_xlabel("labelled groups" if family.endswith(" all") else "labels")
        column[1].set_xscale("log")
        column[1].set_xticks(FAMILIES[family].gold, [str(n) for n in FAMILIES[family].gold])
        column[1].set_xticks([], minor=True)
    _axes(axes[:, 0])
    handles = axes[0, 0].get_legend_handles_labels()[0]
    figure.legend(handles=handles[::-1], loc="lower center", ncols=len(handles), frameon=False)
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    figure.savefig(path, dpi=80)
    plt.close(figure)


def _axes(first: NDArray[np.object_]) -> None:
    """Coverage on the logit scale, which shows 1 % and 97 % at once; widths as ratios."""
    first[0].set_yscale("logit")
    first[0].set_ylim(0.7 * _LIMITS[0], 1 - 0.7 * (1 - _LIMITS[1]))
    first[0].set_yticks(_TICKS, [f"{100 * t:g}" for t in _TICKS])
    first[0].set_ylabel("coverage of the 95 % interval, %")
    first[1].set_yscale("log")
    first[1].set_yticks(_RATIOS, [f"{r:g}" for r in _RATIOS])
    first[1].set_ylabel("mean width over that of\nlabels alone, t")
    for ax in first:
        ax.set_yticks([], minor=True)


def _lines(column: NDArray[np.object_], groups: pd.core.groupby.DataFrameGroupBy, name: str, place: int) -> None:
    """Dots are means, bars reach from the lowest to the highest population."""
    colour, marker, label = _LOOKS[name]
    front = 3 if name == "calib" else 2
    look = {"color": colour, "marker": marker, "linewidth": 1, "zorder": front, "markersize": 6 if front == 3 else 4.5}
    ends = groups["lowest"].min(), groups["coverage"].mean(), groups["highest"].max()
    low, mean, high = (np.clip(v.to_numpy() / 100, *_LIMITS) for v in ends)
    x = ends[0].index.to_numpy() * 1.045**place
    column[0].vlines(x, low, high, color=colour, linewidth=2.2 if front == 3 else 1, alpha=0.75, zorder=front)
    column[0].plot(x, mean, label=label, **look)
    if name != "judge":
        column[1].plot(x, groups["ratio"].mean().to_numpy(), **look)


# --- the check --------------------------------------------------------------------------------------------------

CHECKED = {  # data sets
    Cell("summeval systems", "coherence", "gpt-4o", 400, 20): 400,
    Cell("summeval systems", "consistency", "gpt-4o-mini", 400, 50): 400,
    Cell("summeval all", "relevance", "gemini_pro", 400, 20): 200,
    Cell("summeval differences", "coherence", "gpt-4o", 400, 40): 100,
    Cell("cje", "base policy", "judge", 5_000, 20): 4_000,
    Cell("triviaqa systems", "correct", "Llama3-70B", 5_000, 50): 2_000,
    Cell("triviaqa all", "correct", "GPT-4", 400, 20): 200,
    Cell("machines", "vote", "machine", 5_000, 50): 4_000,
}


def check(path: Path) -> int:
    """Draw a few cells again, fewer times; 1 if one differs from the file by more than chance."""
    stored, misses = pd.read_csv(path).set_index([*KEY, "interval"]), 0
    for cell, sets in CHECKED.items():
        rows = [(row, stored.loc[(*cell, row["interval"])]) for row in rows_of(cell, sets)]
        ok = all(_agree(row, before) for row, before in rows)
        misses += not ok
        row, before = rows[0]
        now, then = (f"{r['coverage']:.1f} %, width {r['width']:.3f}" for r in (row, before))
        print(f"{'ok  ' if ok else 'MISS'} {', '.join(map(str, cell))}: {now}; in results.csv {then}")
    parts = {
        "naive.csv: signs of the judge alone on the 100 documents": naive().equals(
            pd.read_csv(path.parent / "naive.csv")
        ),
        "the intervals are those of `ppi_mean` and `mean_interval`": all(_as_package(cell) for cell in CHECKED),
    }
    for text, ok in parts.items():
        misses += not ok
        print(f"{'ok  ' if ok else 'MISS'} {text}")
    total = len(CHECKED) + len(parts)
    print(f"ppi_real: {total - misses} of {total} parts agree.")
    return int(misses > 0)


def _as_package(cell: Cell) -> bool:
    """Whether one data set has the same intervals here and in the package; yes or no is tested with ppi_coverage."""
    population = populations(cell.family)[cell.criterion, cell.judge][0]
    scale = {"bounds": population.bounds} | ({"step": population.step} if population.step else {})
    of, groups, alone = of_items, {}, {}
    if population.y.ndim == 2:
        of = of_documents
        y, f = drawn_documents(population, cell, np.random.default_rng(1))
        group = np.repeat(np.arange(len(f)), f.shape[1])
        groups, alone = {"groups": group[: y.size], "groups_unlabeled": group[y.size :]}, {"groups": group[: y.size]}
        data = y.ravel(), f.ravel()[: y.size], f.ravel()[y.size :]
    elif _is_binary(population) or population.ends is not None:
        return True  # tested with ppi_coverage, and with `ppi_difference`
    else:
        y, f, rest = drawn_items(population, cell, np.random.default_rng(1), 1)
        data = y[0], f[0], Moments(*(getattr(rest, name)[0] for name in Moments.__slots__))
    found = {k: (low[0], high[0]) for k, (low, high) in of(population, cell, np.random.default_rng(1), 1).items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibWarning)
        wanted = {
            "calib": ppi_mean(*data, **scale, **groups),
            "labels, calib": mean_interval(data[0], **scale, **alone),
            "labels, t": mean_interval(data[0], estimator="classical", **alone),
            "ppi_py": oracles.mean(*data, program="ppi_py"),
            "judge": ppi_mean(*data, estimator="judge_only", **groups),
        }
    return all(np.allclose(found[name], wanted[name].interval, rtol=0, atol=1e-9) for name in NAMES)


def _agree(row: dict[str, object], before: pd.Series) -> bool:
    """Coverage and width within four Monte Carlo standard errors of both."""
    pairs = (("coverage", "coverage_se", 0.05), ("width", "width_se", 1e-3 * before["width"]))
    return all(
        abs(float(str(row[name])) - before[name]) <= 4 * np.hypot(float(str(row[error])), before[error]) + rounding
        for name, error, rounding in pairs
    )


def main() -> int:
    """Run the study or the check; the exit code."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--share", type=float, default=1.0, help="of the data sets a cell that the study has")
    arguments.add_argument("--cells", default="", help="only cells whose name has this text, such as 'cje / base'")
    arguments.add_argument("--fresh", action="store_true", help="forget the rows that are there")
    arguments.add_argument("--check", action="store_true", help="compare a few cells with the files; 1 on a miss")
    given, path = arguments.parse_args(), FOLDER / "results.csv"
    if given.check:
        return check(path)
    if given.fresh:
        path.unlink(missing_ok=True)
    results = study(path, given.share, given.cells)
    table = naive()
    table.to_csv(FOLDER / "naive.csv", index=False, lineterminator="\n")
    if not given.cells:
        draw(results, FOLDER / "coverage.png")
    for frame in (summary(results), short(results), table):
        print(frame.to_string(index=False))
    print(f"{time.process_time():.0f} s of CPU.")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except DatasetError as error:
        missing.skip(FOLDER.name, error)
