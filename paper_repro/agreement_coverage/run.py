"""Coverage of the 95 % intervals of an agreement: both systems and documents a sample, documents alone, or pairs.

Each row of results.csv is one design, one level, one coefficient and one interval: how many of
the simulated data sets have an interval that holds the truth, and how wide it is. Rows that are
there already are kept, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import missing  # noqa: F401 - first: it says which of the others is not there
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from populations import FIXED, PAIRS
from scipy import stats

from calib.core.result import Interval
from calib.stats import agreement

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

FOLDER = Path(__file__).parent
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """How the scores of two raters come about: system + document + noise, each with its own correlation.

    Standard deviations are in units of the noise. The correlation of the noise differs between
    documents on Fisher's z scale. `tails` are degrees of freedom of Student's t for the systems;
    `judge_cuts` and `human_cuts` round the standardised scores to levels.
    """

    systems: int
    documents: int
    system_sd: float = 0.35
    system_correlation: float = 0.6
    document_sd: float = 0.5
    document_correlation: float = 0.5
    correlation: float = 0.4
    correlation_sd: float = 0.0
    tails: float = np.inf
    judge_cuts: tuple[float, ...] = ()
    human_cuts: tuple[float, ...] = ()
    missing: float = 0.0

    def scores(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """One data set: the judge's and the human's scores, each (systems, documents)."""
        shape = self.systems, self.documents
        varying = np.tanh(np.arctanh(self.correlation) + self.correlation_sd * rng.standard_normal((1, shape[1])))
        system = _pair(rng, (shape[0], 1), self.system_correlation)
        if np.isfinite(self.tails):
            system /= np.sqrt(rng.chisquare(self.tails, (shape[0], 1)) / (self.tails - 2))
        document = _pair(rng, (1, shape[1]), self.document_correlation)
        judge, human = self.system_sd * system + self.document_sd * document + _pair(rng, shape, varying)
        scale = np.sqrt(1 + self.system_sd**2 + self.document_sd**2)
        judge, human = _rounded(judge / scale, self.judge_cuts), _rounded(human / scale, self.human_cuts)
        human[rng.random(shape) < self.missing] = np.nan
        return judge, human


def _pair(rng: np.random.Generator, shape: tuple[int, ...], correlation: float | Floats) -> Floats:
    """Two standard normal effects, shape (2, ...)."""
    first, second = rng.standard_normal((2, *shape))
    return np.stack(np.broadcast_arrays(first, correlation * first + np.sqrt(1 - np.square(correlation)) * second))


def _rounded(values: Floats, cuts: tuple[float, ...]) -> Floats:
    return np.searchsorted(cuts, values).astype(float) if cuts else values


_VARYING = {"correlation_sd": 0.45}
_STRONG = {"system_sd": 1.0}
_VERY_STRONG = {"system_sd": 2.0, "system_correlation": 0.9}
_TIES = {"judge_cuts": (-0.6, 0.6), "human_cuts": (-2.0, -1.3, -0.7, -0.1)}
_FIVE = {"human_cuts": (-1.5, -0.5, 0.3, 1.0)}

DESIGNS = {
    "homogeneous 16 x 100": Design(systems=16, documents=100),
    "five levels 16 x 100": Design(systems=16, documents=100, **_FIVE),
    "varying 16 x 100": Design(systems=16, documents=100, **_VARYING),
    "strong systems 8 x 300": Design(systems=8, documents=300, **_STRONG),
    "varying 40 x 12": Design(systems=40, documents=12, **_VARYING),
    "six systems 6 x 60": Design(systems=6, documents=60, system_sd=0.7),
    "homogeneous 4 x 40": Design(systems=4, documents=40),
    "homogeneous 6 x 40": Design(systems=6, documents=40),
    "homogeneous 8 x 40": Design(systems=8, documents=40),
    "homogeneous 12 x 40": Design(systems=12, documents=40),
    "homogeneous 24 x 20": Design(systems=24, documents=20),
    "homogeneous 40 x 20": Design(systems=40, documents=20),
    "few documents 12 x 8": Design(systems=12, documents=8),
    "very strong systems 8 x 40": Design(systems=8, documents=40, **_VERY_STRONG),
    "very strong systems 16 x 40": Design(systems=16, documents=40, **_VERY_STRONG),
    "heavy-tailed systems 16 x 40": Design(systems=16, documents=40, tails=3.0, **_STRONG),
    "no system effect, varying 40 x 12": Design(systems=40, documents=12, system_sd=0.0, **_VARYING),
    "strong documents 12 x 40": Design(systems=12, documents=40, document_sd=2.0, document_correlation=0.7),
    "no correlation 16 x 40": Design(
        systems=16, documents=40, system_sd=0.7, system_correlation=0.0, document_correlation=0.0, correlation=0.0
    ),
    "10 % missing 16 x 40": Design(systems=16, documents=40, missing=0.1),
    "30 % missing 16 x 40": Design(systems=16, documents=40, missing=0.3),
    "30 % missing, strong 12 x 40": Design(systems=12, documents=40, missing=0.3, **_STRONG),
    "ties 16 x 100": Design(systems=16, documents=100, **_TIES),
    "ties 6 x 40": Design(systems=6, documents=40, **_TIES),
    "ties, 30 % missing 8 x 40": Design(systems=8, documents=40, missing=0.3, **_TIES),
}
POPULATIONS = DESIGNS | PAIRS | FIXED
LEVELS = ("group", "item", "system")
COEFFICIENTS = ("kendall", "spearman", "pearson")
BOOTSTRAPPED = {"group": "kendall", "item": "pearson", "system": "spearman"}  # one coefficient each: they are dear
BOOTSTRAPS = ("boot-groups", "boot-systems", "boot-both")
RESAMPLES = 999
KEY = ["design", "level", "coefficient", "interval"]


# --- one cell ---------------------------------------------------------------------------------------------------


def data_sets(name: str, n: int) -> Iterator[tuple[Floats, Floats]]:
    """The first n data sets of a design. Seeds come from its name and the number of the set alone."""
    for i in range(n):
        yield POPULATIONS[name].scores(np.random.default_rng([*name.encode(), i]))


def measured(
    pair: tuple[Floats, Floats], level: str, coefficient: str, interval: str, seed: int
) -> tuple[float, float, float]:
    """Estimate and ends of one of the intervals; "naive" forgets that systems and documents repeat."""
    judge, human = pair
    options = {"level": level, "method": coefficient}
    if interval == "fisher":
        return fisher(judge[0], human[0])
    if interval == "naive":
        found = agreement(judge.ravel(), human.ravel(), **options)
        return found.estimate, *found.interval
    system, document = np.indices(judge.shape)
    are = "fixed" if interval == "fixed" else "auto" if interval in BOOTSTRAPS else "random"
    options |= {"systems": system.ravel(), "groups": document.ravel(), "systems_are": are}
    options |= {"interval": interval, "n_resamples": RESAMPLES, "rng": seed} if interval in BOOTSTRAPS else {}
    found = agreement(judge.ravel(), human.ravel(), **options)
    return found.estimate, *found.interval


def fisher(judge: Floats, human: Floats) -> tuple[float, float, float]:
    """Pearson's r with Fisher's interval, which takes scores as normal: scipy's."""
    if not np.ptp(judge) > 0 or not np.ptp(human) > 0:
        return np.nan, np.nan, np.nan
    found = stats.pearsonr(judge, human)
    ends = found.confidence_interval() if abs(found.statistic) < 1 else Interval(np.nan, np.nan)
    return float(found.statistic), float(ends.low), float(ends.high)


def is_large(name: str, level: str) -> bool:
    """Whether a data set costs much: many pairs at once. One such design is done in full, for comparison."""
    pairs = DESIGNS[name].systems * DESIGNS[name].documents
    return level == "item" and pairs > 700 and name != "homogeneous 16 x 100"


def intervals_of(name: str, level: str, coefficient: str) -> tuple[str, ...]:
    """The ones that are tried in a cell; the first is the default there."""
    if name in PAIRS:
        return ("naive", "fisher") if coefficient == "pearson" else ("naive",)
    if name in FIXED:
        return ("fixed",)
    naive = ("naive",) if (level, coefficient) == ("item", "pearson") else ()
    bootstraps = BOOTSTRAPS if BOOTSTRAPPED[level] == coefficient and not is_large(name, level) else ()
    return ("jackknife", *naive, *bootstraps)


def simulated(key: tuple[str, str, str, str], n: int) -> pd.DataFrame:
    """Estimate and ends of the interval of each of n data sets."""
    name, *options = key
    results = (measured(pair, *options, seed=i) for i, pair in enumerate(data_sets(name, n)))
    return pd.DataFrame(results, columns=["estimate", "low", "high"])


def summary(found: pd.DataFrame, truth: float) -> dict[str, float]:
    """Coverage in % and mean width among the intervals that are defined, with Monte Carlo standard errors."""
    defined = found.dropna()
    n, width = len(defined), defined["high"] - defined["low"]
    covered = float(((defined["low"] <= truth) & (truth <= defined["high"])).mean())
    return {
        "sets": len(found),
        "defined": n,
        "coverage": 100 * covered,
        "coverage_se": 100 * float(np.sqrt(covered * (1 - covered) / n)),
        "width": float(width.mean()),
        "width_se": float(width.std() / np.sqrt(n)),
    }


def cell(name: str, level: str, coefficient: str, sets: int, boot_sets: int) -> Iterator[dict[str, object]]:
    """All intervals of a design at a level. Where both factors are drawn, the truth is the mean estimate."""
    truth, spread = np.nan, np.nan
    for place, interval in enumerate(intervals_of(name, level, coefficient)):
        key = name, level, coefficient, interval
        found = simulated(key, boot_sets if interval in BOOTSTRAPS else sets)
        if not place:
            mean, spread = float(found["estimate"].mean()), float(found["estimate"].std())
            truth = mean if name in DESIGNS else POPULATIONS[name].truth(level, coefficient)
        row = dict(zip(KEY, key, strict=True)) | {"truth": truth, "spread": 4 * spread}
        yield row | summary(found, truth)


# --- the whole study --------------------------------------------------------------------------------------------


def cells() -> Iterator[tuple[str, str, str]]:
    """Design, level, coefficient: all, but for the ranks of many pairs at once."""
    for name in DESIGNS:
        for level in LEVELS:
            for coefficient in COEFFICIENTS:
                if coefficient == "pearson" or not is_large(name, level):
                    yield name, level, coefficient
    yield from ((name, "item", coefficient) for name in PAIRS for coefficient in COEFFICIENTS)
    for name, population in FIXED.items():
        if population.systems < 6:
            yield from ((name, level, coefficient) for level in ("group", "item") for coefficient in COEFFICIENTS)
        else:  # fewer have no interval over systems, nor has their order
            yield name, "system", "pearson"


def study(path: Path, sets: int, boot_sets: int) -> pd.DataFrame:
    """Simulate the cells that are not yet in the file, saving after each."""
    rows = pd.read_csv(path).to_dict("records") if path.exists() else []
    have = {tuple(row[k] for k in KEY[:3]) for row in rows}
    todo = [c for c in cells() if c not in have]
    for i, key in enumerate(todo):
        start = time.process_time()
        rows += cell(*key, sets, boot_sets)
        save(rows, path)
        took = time.process_time() - start
        print(f"{i + 1}/{len(todo)}  {', '.join(key)}: {took:.1f} s of CPU", flush=True)
    return pd.read_csv(path)


def save(rows: list[dict[str, object]], path: Path) -> None:
    """Write the rows in the order of the study."""
    pd.DataFrame(rows).to_csv(path, index=False, float_format="%.6g", lineterminator="\n")


# --- what is shown ----------------------------------------------------------------------------------------------

_LOOKS = {
    "jackknife": ("#0072B2", "o", "two-way jackknife (default)"),
    "boot-both": ("#009E73", "D", "bootstrap of both"),
    "boot-systems": ("#E69F00", "s", "bootstrap of systems"),
    "boot-groups": ("#D55E00", "^", "bootstrap of documents"),
    "naive": ("#4D4D4D", "X", "pairs taken as independent"),
}
_TITLES = {"group": "within documents", "item": "over items", "system": "over systems"}
_FILLS = {"kendall": "full", "spearman": "left", "pearson": "none"}
_HEIGHTS = {"kendall": -0.32, "spearman": -0.16, "pearson": 0.0}
_TICKS = (0.1, 0.3, 0.6, 0.8, 0.9, 0.95, 0.98, 0.995)
_ENDS = 0.06, 0.999  # of the axis; what lies beyond is drawn there


def draw(results: pd.DataFrame, path: Path) -> None:
    """Coverage of each cell with its Monte Carlo interval, one panel per level."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    results = results[results["design"].isin(DESIGNS)]
    names = list(dict.fromkeys(results["design"]))
    figure, axes = plt.subplots(1, len(LEVELS), figsize=(13, 0.38 * len(names) + 1.6), sharey=True)
    for ax, level in zip(axes, LEVELS, strict=True):
        for row in results[results["level"] == level].itertuples():
            _dot(ax, names.index(row.design), row)
        ax.set_title(f"{_TITLES[level]} (bootstraps: {BOOTSTRAPPED[level].capitalize()})", fontsize="medium")
        _axis(ax)
    axes[0].set_yticks(range(len(names)), names)
    axes[0].set_ylim(len(names) - 0.4, -0.6)
    figure.legend(handles=_legend(), loc="lower center", ncols=8, frameon=False, fontsize="small")
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _axis(ax: Axes) -> None:
    """Coverage on the logit scale, which shows 20 % and 97 % at once."""
    ax.set_xscale("logit")
    ax.set_xlim(0.9 * _ENDS[0], 1 - 0.8 * (1 - _ENDS[1]))
    ax.set_xticks(_TICKS, [f"{100 * t:g}" for t in _TICKS])
    ax.set_xticks([], minor=True)
    ax.axvspan(0.93, 0.97, color="0.88", zorder=0)
    ax.axvline(0.95, color="black", linewidth=0.8, zorder=1)
    ax.set_xlabel("coverage of the 95 % interval, %")


def _dot(ax: Axes, y: float, row: Any) -> None:
    """A dot with its Monte Carlo interval (Wilson)."""
    colour, marker, _ = _LOOKS[row.interval]
    default = row.interval == "jackknife"
    y += _HEIGHTS[row.coefficient] if default else 0.25
    held = stats.binomtest(round(row.coverage * row.defined / 100), row.defined)
    ax.plot(np.clip(held.proportion_ci(method="wilson"), *_ENDS), [y, y], color=colour, linewidth=0.8)
    fill = _FILLS[row.coefficient] if default else "full"
    x = np.clip(row.coverage / 100, *_ENDS)
    ax.plot(x, y, marker=marker, color=colour, markersize=4.5, fillstyle=fill, linestyle="none")


def _legend() -> list[Line2D]:
    from matplotlib.lines import Line2D

    dots = [(colour, marker, label, "full") for colour, marker, label in _LOOKS.values()]
    dots += [("#0072B2", "o", name.capitalize(), fill) for name, fill in _FILLS.items()]
    return [Line2D([], [], color=c, marker=m, linestyle="none", fillstyle=f, label=t) for c, m, t, f in dots]


def outside(results: pd.DataFrame) -> pd.DataFrame:
    """Rows of the default interval outside 93 to 97 % by more than two Monte Carlo standard errors."""
    default = results["interval"].isin(("jackknife", "fixed")) | results["design"].isin(PAIRS)
    rows = results[default & (results["interval"] != "fisher")]
    margin = 2 * rows["coverage_se"]
    return rows[(rows["coverage"] + margin < 93) | (rows["coverage"] - margin > 97)]


# --- the check --------------------------------------------------------------------------------------------------

CHECKED = (
    ("six systems 6 x 60", "group", "kendall", "jackknife"),
    ("varying 40 x 12", "group", "kendall", "jackknife"),
    ("homogeneous 6 x 40", "item", "pearson", "jackknife"),
    ("homogeneous 6 x 40", "item", "pearson", "naive"),
    ("homogeneous 12 x 40", "system", "spearman", "jackknife"),
    ("homogeneous 6 x 40", "group", "kendall", "boot-groups"),
    ("gross failures: 150", "item", "pearson", "naive"),
    ("gross failures: 150", "item", "pearson", "fisher"),
    ("ceiling: 150", "item", "kendall", "naive"),
    ("these systems, ties 2 x 100", "group", "kendall", "fixed"),
    ("these strong systems 3 x 100", "item", "spearman", "fixed"),
)


def check(path: Path, sets: int) -> int:
    """Simulate a few cells again with few data sets; 1 if one differs from the file by more than chance."""
    stored = pd.read_csv(path).set_index(KEY)
    misses = 0
    for key in CHECKED:
        row = stored.loc[key]
        found = summary(simulated(key, sets), row["truth"])
        p = row["coverage"] / 100
        error = 100 * np.sqrt(p * (1 - p) / found["defined"])
        ok = abs(found["coverage"] - row["coverage"]) <= 4 * error and (
            abs(found["width"] - row["width"]) <= 4 * found["width_se"]
        )
        misses += not ok
        again = f"{found['coverage']:.1f} % of {found['defined']}, width {found['width']:.3f}"
        before = f"{row['coverage']:.1f} % of {row['defined']:.0f}, width {row['width']:.3f}"
        print(f"{'ok  ' if ok else 'MISS'} {', '.join(key)}: {again}; in results.csv {before}")
    print(f"agreement_coverage: {len(CHECKED) - misses} of {len(CHECKED)} cells agree with results.csv.")
    return int(misses > 0)


def main() -> int:
    """Run the study or the check; the exit code."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sets", type=int, default=2000, help="data sets of intervals that need no resampling")
    arguments.add_argument("--boot-sets", type=int, default=300, help="data sets of bootstraps")
    arguments.add_argument("--fresh", action="store_true", help="forget the rows that are there")
    arguments.add_argument("--check", action="store_true", help="compare a few cells with results.csv; 1 on a miss")
    given = arguments.parse_args()
    warnings.filterwarnings("ignore", message=".*resamples had no coefficient")  # few systems and ties: now and then
    path = FOLDER / "results.csv"
    if given.check:
        return check(path, 300)
    if given.fresh:
        path.unlink(missing_ok=True)
    results = study(path, given.sets, given.boot_sets)
    draw(results, FOLDER / "coverage.png")
    print("default interval outside 93 to 97 %:", outside(results)[[*KEY[:3], "coverage", "coverage_se"]], sep="\n")
    print(f"{time.process_time():.0f} s of CPU.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
