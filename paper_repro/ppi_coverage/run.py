"""Coverage of the 95 % intervals for a mean human score from a few labels and many judge scores.

Each row of results.csv is one cell (a population, a judge, items without a label, labels) and one
interval: how often it holds the truth in simulated data sets, and how wide it is. Cells that are
there already are kept, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import missing  # noqa: F401 - first: it says which of the others is not there
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import optimize, special

from calib.analysis.means.design import MeanData
from calib.analysis.means.methods import law_on_scale, stratified, with_silent_judge
from calib.analysis.means.moments import Moments, moments_of
from calib.analysis.means.rates import jeffreys, post_stratified
from calib.analysis.means.ridge import CorrectedMeans, GroupedItems, SlopePrior, clustered, ridge
from calib.core.gaffke import Gaffke, gaffke_ends

sys.path.insert(0, str(Path(__file__).resolve().parent))
from former import former
from oracles import Labelled, labelled, normal_ends

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOLDER = Path(__file__).parent
LEVEL, TAIL = 0.95, 0.025
SIZE = 1 << 18  # members of a population
BLOCK = 1 << 18  # labels that are drawn at once
Floats = NDArray[np.float64]
Ends = tuple[Floats, Floats]
Bounds = tuple[float, float]


class Cell(NamedTuple):
    """What is simulated: `rest` items (or groups) without a label and `gold` with one."""

    family: str
    design: str
    judge: str
    rest: int
    gold: int


KEY = list(Cell._fields)


# --- populations ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Population:
    """Human and judge scores of all its members; both sides are drawn from it, so the truth is known."""

    y: Floats
    f: Floats
    bounds: Bounds | None = None
    step: float = 0.0
    ends: Bounds | None = None  # of a difference, where one of both scores is at an end

    @property
    def truth(self) -> float:
        """The mean human score."""
        return float(self.y.mean())

    def draw(self, rng: np.random.Generator, *shape: int) -> tuple[Floats, Floats]:
        """Human and judge scores of members chosen at random, with replacement."""
        chosen = rng.integers(SIZE, size=shape, dtype=np.int32)
        return self.y[chosen], self.f[chosen]

    def judged(self, rng: np.random.Generator, n: int, sets: int) -> Moments:
        """Moments of n judge scores: their mean and variance as jointly normal, with the right covariance."""
        away = self.f - self.f.mean()
        second, third, fourth = (float(np.mean(away**k)) for k in (2, 3, 4))
        spread = np.array([[second, third], [third, fourth - second**2]]) / n
        mean, variance = rng.multivariate_normal([self.f.mean(), second * (1 - 1 / n)], spread, sets, method="eigh").T
        low, high = self.extremes(rng, n, sets)
        return Moments(np.full(sets, float(n)), mean, n * np.maximum(variance, 0), low, high)

    def extremes(self, rng: np.random.Generator, n: int, sets: int) -> tuple[Floats, Floats]:
        """The lowest and the highest of n judge scores."""
        ordered = np.sort(self.f)
        low, high = (SIZE * (1 - rng.random(sets) ** (1 / n)), SIZE * rng.random(sets) ** (1 / n))
        return ordered[low.astype(int)], ordered[np.minimum(high, SIZE - 1).astype(int)]


def _moments(n: Floats, mean: Floats, squares: Floats) -> Moments:
    return Moments(n, mean, squares, np.full_like(mean, np.nan), np.full_like(mean, np.nan))


SHAPES = {
    "mean 3.7": (0.05, 0.10, 0.20, 0.40, 0.25),
    "symmetric": (0.10, 0.20, 0.40, 0.20, 0.10),
    "U-shaped": (0.35, 0.12, 0.06, 0.12, 0.35),
    "ceiling": (0.01, 0.02, 0.05, 0.17, 0.75),
    "mild floor": (0.70, 0.15, 0.10, 0.04, 0.01),
    "floor": (0.85, 0.08, 0.04, 0.02, 0.01),
    "rare 5": (0.95, 0.00, 0.00, 0.00, 0.05),
    "rare 1": (0.05, 0.00, 0.00, 0.00, 0.95),
    "floor 95 %": (0.95, 0.02, 0.01, 0.01, 0.01),
    "92 % at 2": (0.00, 0.92, 0.05, 0.02, 0.01),
}
_MANNERS = {"rounded judge", "heteroscedastic judge", "non-linear judge", "unbiased judge"}


@lru_cache(maxsize=1)
def latent() -> Floats:
    """Four independent standard normals, each with exactly normal quantiles; the first is in order."""
    grid = special.ndtri((np.arange(SIZE) + 0.5) / SIZE)
    rng = np.random.default_rng(20)
    return np.stack([grid, *(rng.permutation(grid) for _ in range(3))])


def _cut(z: Floats, shape: str) -> Floats:
    """Scores 1 to 5 with these shares."""
    cuts = special.ndtri(np.clip(np.cumsum(SHAPES[shape])[:-1], 0, 1))
    return 1.0 + np.searchsorted(cuts, z)


@lru_cache(maxsize=4)
def scored(design: str, rho: float) -> Population:
    """Human scores of a shape, and a judge whose Pearson correlation with them is rho (or as near as can be)."""
    shape, _, manner = design.partition(", ")
    z, noise = latent()[:2]
    if shape == "0 to 100":
        y, bounds, step = 100 * special.betaincinv(2.5, 1.3, special.ndtr(z)), (0.0, 100.0), 25.0
    else:
        y, bounds, step = _cut(z, shape), (1.0, 5.0), 1.0
    if manner == "heteroscedastic judge":
        noise = noise * (0.3 + np.abs(z))
    judge = judge_of(manner, float(y.mean()), float(y.std()), step if shape != "0 to 100" else 10.0, bounds)
    return Population(y, judge(weighted(y, z, noise, judge, rho)), bounds, step)


def judge_of(manner: str, mean: float, sd: float, point: float, bounds: Bounds) -> Callable[[Floats], Floats]:
    """From what the judge thinks, on a standard scale, to what it says: .4 points too much, cut at the bounds."""

    def said(seen: Floats) -> Floats:
        bent = np.exp(0.8 * seen) - np.exp(0.32) if manner == "non-linear judge" else seen
        score = mean + (0 if manner == "unbiased judge" else 0.4 * point) + sd * bent
        return np.clip(np.round(score) if manner == "rounded judge" else score, *bounds)

    return said


def weighted(y: Floats, z: Floats, noise: Floats, judge: Callable[[Floats], Floats], rho: float) -> Floats:
    """The judge's latent score: as much of the human's as gives the correlation rho."""

    def mixed(angle: float) -> Floats:
        return np.sin(angle) * z + np.cos(angle) * noise

    def short(angle: float) -> float:
        f = judge(mixed(angle))
        return float(np.corrcoef(y, f)[0, 1] - rho) if np.ptp(f) else -rho

    end = np.copysign(np.pi / 2, rho)
    if rho == 0:
        return noise
    return mixed(end if short(end) * rho < 0 else optimize.brentq(short, 0, end, xtol=1e-5))


@lru_cache(maxsize=4)
def copied(design: str, share: float) -> Population:
    """A rounded judge that says what people say on this share of the items, and one point less elsewhere."""
    z, noise = latent()[:2]
    y = _cut(z, design)
    return Population(y, np.where(special.ndtr(noise) < share, y, np.maximum(y - 1, 1)), (1.0, 5.0), 1.0)


@lru_cache(maxsize=4)
def unbounded(design: str, rho: float) -> Population:
    """Scores without a scale: normal, or skewed as an exponential."""
    z, noise = latent()[:2]
    y = z if design == "normal" else -np.log(special.ndtr(-z))
    judge: Callable[[Floats], Floats] = lambda seen: 0.4 + seen  # noqa: E731
    return Population(y, judge(weighted(y, z, noise, judge, rho)))


@lru_cache(maxsize=4)
def compared(design: str, rho: float) -> Population:
    """Differences of two systems' scores on the same documents, which share half of what they are."""
    z, noise, other_z, other_noise = latent()
    shapes = design.split(" against ")
    first = scored(shapes[0], rho)
    if shapes[1] == "its next version":  # most answers are the same
        second = Population(*(np.roll(values, SIZE // 3) for values in (first.y, first.f)))
        same = special.ndtr(other_z) < 0.7
        y, f = (np.where(same, 0.0, a - b) for a, b in ((first.y, second.y), (first.f, second.f)))
        return Population(y, f, (-4.0, 4.0), 1.0, _ends_of(first.y, second.y))
    z, noise = (np.sqrt(0.5) * (a + b) for a, b in ((z, other_z), (noise, other_noise)))
    y = _cut(z, shapes[1])
    judge = judge_of("", float(y.mean()), float(y.std()), 1.0, (1.0, 5.0))
    f = judge(weighted(y, z, noise, judge, rho))
    return Population(first.y - y, first.f - f, (-4.0, 4.0), 1.0, _ends_of(first.y, y))


def _ends_of(a: Floats, b: Floats) -> Bounds:
    """As `ppi_difference` has them from the labels' means; here from the populations'."""
    return float(min(1 - b.mean(), a.mean() - 5)), float(max(5 - b.mean(), a.mean() - 1))


JUDGES = {"poor": (0.7, 0.2), "good": (0.9, 0.05), "excellent": (0.98, 0.01)}  # sensitivity, false positive rate


@lru_cache(maxsize=4)
def probable(p: float, rho: float) -> Population:
    """Human yes or no, and a judge that gives the probability of a yes, .4 too much of it on the probit scale."""
    z, noise = latent()[:2]
    cut = special.ndtri(1 - p)
    seen = rho * z + np.sqrt(1 - rho**2) * noise
    judge = special.ndtr((rho * seen - cut) / np.sqrt(1 - rho**2) + 0.4)
    return Population((z > cut).astype(float), judge, (0.0, 1.0), 1.0)


# --- intervals --------------------------------------------------------------------------------------------------


def classical(gold: Labelled, tail: float = TAIL) -> Ends:
    """Labels alone, t."""
    return _ends(gold.mean_y, gold.yy / (gold.n - 1) / gold.n, special.stdtrit(gold.n - 1, 1 - tail))


def _ends(point: Floats, variance: Floats, quantile: float) -> Ends:
    half = quantile * np.sqrt(variance)
    return point - half, point + half


def peers(gold: Labelled, rest: Moments) -> dict[str, Ends]:
    """The intervals of other programs, by their formulas."""
    return {
        **{name: normal_ends(name.lower(), gold, rest, TAIL) for name in ("ppi_py", "ARES", "glide")},
        "classical": classical(gold),
    }


def ours(parts: CorrectedMeans, bounds: Bounds | None, *, exact: bool = True, **how: Any) -> Ends:
    """As `ppi_mean` goes from the parts to an interval, for many sets at once; by the saddlepoint unless `exact`."""
    law = law_on_scale(parts, bounds, **how)[1]
    if bounds is None or exact:
        return law.low(TAIL), law.high(TAIL)
    low, high = law.near(TAIL)
    return low, high


def narrower(judged: Ends, alone: Ends) -> dict[str, Ends]:
    """What `ppi_mean` returns: the interval with the judge or, where that is no wider, the one of the labels alone."""
    wide, short = (high - low for low, high in (judged, alone))
    labels = (short > 0) & (wide >= short)
    low, high = (np.where(labels, a, j) for a, j in zip(alone, judged, strict=True))
    return {"calib": (low, high), "labels": alone}


def one_by_one(laws: list[Any]) -> Ends:
    """Ends of laws of one set each."""
    together = all(isinstance(law, Gaffke) for law in laws)
    pairs = gaffke_ends(laws, TAIL) if together else [(law.low(TAIL), law.high(TAIL)) for law in laws]
    low, high = np.array(pairs).reshape(-1, 2).T
    return low, high


def rule_of(bounds: Bounds | None) -> SlopePrior:
    """The one that `ppi_mean` takes for a judge on people's scale, or without a scale."""
    return SlopePrior.on(bounds, same_scale=True)


def parts_of(y: Floats, f: Floats, rest: Moments, population: Population, *, finite: bool = False) -> CorrectedMeans:
    """Corrected means of labels and judge scores of shape (sets, n)."""
    sets, n = y.shape
    code = np.repeat(np.arange(sets), n)
    return ridge(y.ravel(), f.ravel(), code, rest, rule_of(population.bounds), finite=finite)


def silent(rest: Moments) -> Moments:
    """A judge that says 0 of as many items: with it there are only the labels."""
    return Moments(rest.n, *np.zeros((4, len(rest.n))))


def by_calib(y: Floats, f: Floats, rest: Moments, population: Population, *, finite: bool = False) -> dict[str, Ends]:
    """`ppi_mean` for labels and judge scores of shape (sets, n), and the labels alone."""
    judged, alone = (
        ours(parts_of(y, said, others, population, finite=finite), population.bounds, ends=population.ends)
        for said, others in ((f, rest), (np.zeros_like(f), silent(rest)))
    )
    return narrower(judged, alone)


def cross_counts(y: Floats, said: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats, Floats]:
    """Yes of people and labels, where the judge says yes and where it says no."""
    yes = y > 0.5
    return tuple(np.sum(v, axis=1) for v in (yes & said, said, yes & ~said, ~said))  # type: ignore[return-value]


def of_counts(counts: tuple[Floats, ...], *, finite: bool = False) -> dict[str, Ends]:
    """`ppi_mean` for yes and no, the labels alone, and these by Jeffreys' interval; each different table once."""
    tables, place = np.unique(np.stack(counts, axis=1), axis=0, return_inverse=True)
    k1, n1, k0, n0, *rest = tables.T
    alone = np.zeros_like(k1), np.zeros_like(k1), k1 + k0, n1 + n0, np.zeros_like(k1), rest[0] + rest[1]
    both = (post_stratified(*table, LEVEL, finite=finite)[1:3] for table in (tables.T, alone))
    found = narrower(*both) | {"Jeffreys": jeffreys(k1 + k0, n1 + n0, LEVEL)}
    return {name: (low[place], high[place]) for name, (low, high) in found.items()}


# --- one block of data sets of a cell: the truth, and the ends of each interval -----------------------------------

Found = tuple[float | Floats, dict[str, Ends]]
POPULATIONS = {
    "ordinary": scored,
    "edge": scored,
    "extreme": scored,
    "copied": copied,
    "unbounded": unbounded,
    "difference": compared,
}


def _rho(cell: Cell) -> float:
    return float(cell.judge.split()[1])


def of_scores(cell: Cell, rng: np.random.Generator, sets: int) -> Found:
    """Independent items, a population as target."""
    population = POPULATIONS[cell.family](cell.design, _rho(cell))
    y, f = population.draw(rng, sets, cell.gold)
    rest = population.judged(rng, cell.rest, sets)
    found = by_calib(y, f, rest, population) | peers(labelled(y, f), rest)
    if population.bounds is not None:
        found["calib 0.1"] = former(y, f, rest, population.bounds, population.step, TAIL)
    return population.truth, found


def of_benchmark(cell: Cell, rng: np.random.Generator, sets: int) -> Found:
    """The target is the mean of just the items that were drawn."""
    population = POPULATIONS["ordinary"](cell.design, _rho(cell))
    y, f = population.draw(rng, sets, cell.gold)
    other_y, other_f = population.draw(rng, sets, cell.rest)
    mean = other_f.mean(axis=1)
    ends = other_f.min(axis=1), other_f.max(axis=1)
    rest = Moments(np.full(sets, float(cell.rest)), mean, np.sum((other_f - mean[:, None]) ** 2, axis=1), *ends)
    truth = (y.sum(axis=1) + other_y.sum(axis=1)) / (cell.gold + cell.rest)
    return truth, by_calib(y, f, rest, population, finite=True) | peers(labelled(y, f), rest)


def of_binary(cell: Cell, rng: np.random.Generator, sets: int) -> Found:
    """People and judge say yes or no: the counts of the four outcomes."""
    p, (sens, fpr) = float(cell.design.removeprefix("p ")), JUDGES[cell.judge]
    shares = np.array([p * sens, p * (1 - sens), (1 - p) * fpr, (1 - p) * (1 - fpr)])
    finite = cell.family == "binary benchmark"
    gold, rest = (rng.multinomial(n, shares, sets).T.astype(float) for n in (cell.gold, cell.rest))
    k1, k0, wrong, right = gold
    said = rest[0] + rest[2]
    found = of_counts((k1, k1 + wrong, k0, k0 + right, said, cell.rest - said), finite=finite)
    n, y, f = float(cell.gold), k1 + k0, k1 + wrong
    moments = Labelled(n, y / n, f / n, y - y**2 / n, f - f**2 / n, k1 - f * y / n)
    loose = _moments(np.full(sets, float(cell.rest)), said / cell.rest, said - said**2 / cell.rest)
    truth = (y + rest[0] + rest[1]) / (n + cell.rest) if finite else p
    return truth, found | peers(moments, loose)


def of_probabilities(cell: Cell, rng: np.random.Generator, sets: int) -> Found:
    """People say yes or no, the judge gives a probability."""
    population = probable(float(cell.design.removeprefix("p ")), _rho(cell))
    y, f = population.draw(rng, sets, cell.gold)
    said = rng.binomial(cell.rest, np.mean(population.f >= 0.5), sets)
    rest = population.judged(rng, cell.rest, sets)
    cut = of_counts((*cross_counts(y, f >= 0.5), said, cell.rest - said))  # whom it says yes to is drawn apart
    judged = ours(parts_of(y, f, rest, population), population.bounds, two=True)
    found = narrower(judged, cut["labels"]) | {"Jeffreys": cut["Jeffreys"]}
    return population.truth, found | peers(labelled(y, f), rest)


ITEMS, ICC = 5, 0.4  # in a group; how much of the variance the group is
_SCALES = {"normal": None, "1 to 5": (1.0, 5.0), "ceiling": (1.0, 5.0), "yes or no": (0.0, 1.0)}


def grouped_scores(design: str, rng: np.random.Generator, *shape: int) -> tuple[Floats, Floats, float]:
    """Human and judge scores of groups of items, of correlation about .6, and the mean human score."""
    share = np.sqrt(ICC) * rng.standard_normal((2, *shape, 1)) + np.sqrt(1 - ICC) * rng.standard_normal(
        (2, *shape, ITEMS)
    )
    z, noise = share
    if design == "normal":
        return z, 0.6 * z + 0.8 * noise + 0.4, 0.0
    if design == "yes or no":
        return (z > -0.5).astype(float), (0.8 * z + 0.6 * noise > -0.7).astype(float), float(special.ndtr(0.5))
    name = "mean 3.7" if design == "1 to 5" else design
    mean = float(np.arange(1, 6) @ SHAPES[name])
    sd = float(np.sqrt(np.arange(1, 6) ** 2 @ SHAPES[name] - mean**2))
    return _cut(z, name), np.clip(mean + 0.4 + sd * (0.64547 * z + 0.76377 * noise), 1, 5), mean


def of_groups(cell: Cell, rng: np.random.Generator, sets: int) -> Found:
    """Groups of five items. The judge column says which items have a label."""
    groups = cell.gold + cell.rest
    y, f, truth = grouped_scores(cell.design, rng, sets, groups)
    mask = np.zeros(y.shape, dtype=bool)
    if cell.judge == "scattered labels":  # as many as `gold` groups would have, anywhere
        order = rng.random(y.shape).reshape(sets, -1).argsort(axis=1)
        np.put_along_axis(mask.reshape(sets, -1), order[:, : ITEMS * cell.gold], values=True, axis=1)
    else:
        mask[:, : cell.gold, : 2 if cell.judge == "two labels a group" else ITEMS] = True
    finite = cell.family == "grouped benchmark"
    bounds = _SCALES[cell.design]
    judged, alone = (
        one_by_one([
            law_on_scale(clustered(_sample(*one), rule_of(bounds), finite=finite), bounds)[1]
            for one in zip(y, said, mask, strict=True)
        ])
        for said in (f, np.zeros_like(f))
    )  # fmt: skip
    aim = y.mean(axis=(1, 2)) if finite else truth
    return aim, narrower(judged, alone) | _grouped_peers(y, f, mask, whole=cell.judge == "whole groups")


def _sample(y: Floats, f: Floats, mask: NDArray[np.bool_]) -> GroupedItems:
    group = np.broadcast_to(np.arange(len(y))[:, None], y.shape)
    gold, rest = int(mask.sum()), int(mask.size - mask.sum())
    return GroupedItems(
        y[mask], f[mask], Moments.one_by_one(f[~mask]), group[mask], group[~mask], np.ones(gold), np.ones(gold + rest)
    )


def _grouped_peers(y: Floats, f: Floats, mask: NDArray[np.bool_], *, whole: bool) -> dict[str, Ends]:
    """The peers with items as independent; classical with the errors summed over groups; glide on groups' means."""
    sets = len(y)

    def picked(values: Floats, where: NDArray[np.bool_]) -> Floats:
        return values[where].reshape(sets, -1)

    gold, loose = labelled(picked(y, mask), picked(f, mask)), picked(f, ~mask)
    found = peers(gold, _loose(loose))
    error = np.sum(mask * (y - gold.mean_y[:, None, None]), axis=2) / gold.n
    count = mask.any(axis=2).sum(axis=1)
    t = special.stdtrit(count - 1, 1 - TAIL)
    found["classical"] = _ends(gold.mean_y, count / (count - 1) * np.sum(error**2, axis=1), t)
    del found["glide"]
    if whole:
        k = int(mask[0].any(axis=1).sum())
        means = y.mean(axis=2), f.mean(axis=2)
        found["glide"] = normal_ends("glide", labelled(*(m[:, :k] for m in means)), _loose(means[1][:, k:]), TAIL)
    return found


def _loose(values: Floats) -> Moments:
    mean = values.mean(axis=1)
    return _moments(np.full(len(mean), float(values.shape[1])), mean, np.sum((values - mean[:, None]) ** 2, axis=1))


# a stratum's shape, the judge's bias there and what share of its score is the human's
_STRATA = (("mean 3.7", 0.8, 0.9), ("ceiling", 0.2, 0.6), ("symmetric", -0.4, 0.3), ("U-shaped", 0.0, 0.7))


def stratum_scores(design: str, k: int, rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Human and judge scores of n items of stratum k."""
    shape, bias, weight = _STRATA[k]
    z, noise = rng.standard_normal((2, n))
    seen = weight * z + np.sqrt(1 - weight**2) * noise
    if design == "normal":
        return k + z, k + bias + (0.5 + 0.3 * k) * seen
    if design == "yes or no":
        cut = special.ndtri((0.1, 0.3, 0.6, 0.9)[k])
        return (z < cut).astype(float), (seen < cut + 0.5 * bias).astype(float)
    y = _cut(z, shape)
    mean = float(np.arange(1, 6) @ SHAPES[shape])
    return y, np.clip(mean + bias + seen, 1, 5)


def strata_truth(design: str) -> float:
    """The mean of the strata's means: they are equally large."""
    if design == "normal":
        return 1.5
    if design == "yes or no":
        return 0.475
    return float(np.mean([np.arange(1, 6) @ SHAPES[shape] for shape, *_ in _STRATA]))


def of_strata(cell: Cell, rng: np.random.Generator, sets: int) -> Found:
    """Four strata; labels drawn in equal numbers, sizes by chance."""
    bounds = _SCALES[cell.design]
    rule = rule_of(bounds)
    each, truth = cell.gold // 4, strata_truth(cell.design)
    finite = cell.judge == "benchmark"
    judged, alone, golds, rests, aims = [], [], [], [], []
    for sizes in rng.multinomial(cell.rest + cell.gold, [0.25] * 4, sets):
        scores = [stratum_scores(cell.design, k, rng, n) for k, n in enumerate(sizes)]
        y, f = (np.concatenate([s[i][:each] for s in scores]) for i in (0, 1))
        rest = np.concatenate([s[1][each:] for s in scores])
        codes = np.repeat(np.arange(4), each), np.repeat(np.arange(4), sizes - each)
        data = MeanData(y, f, moments_of(rest, "f"), rest, stratum=codes[0], stratum_rest=codes[1])
        for laws, given in ((judged, data), (alone, with_silent_judge(data))):
            laws.append(law_on_scale(stratified(given, rule, finite=finite), bounds)[1])
        golds.append((y, f))
        rests.append((rest.mean(), data.rest.squares))
        aims.append(np.mean(np.concatenate([s[0] for s in scores])))
    y, f = np.swapaxes(np.array(golds), 0, 1)
    mean, squares = np.array(rests).T
    found = narrower(one_by_one(judged), one_by_one(alone)) | peers(
        labelled(y, f), _moments(np.full(sets, float(cell.rest)), mean, squares)
    )
    return np.array(aims) if finite else truth, found


# --- the cells --------------------------------------------------------------------------------------------------

GOLD = 10, 20, 30, 50, 100, 300
REST = 200, 1_000, 10_000
_RHO = tuple(f"rho {r}" for r in (-0.3, 0, 0.3, 0.6, 0.9))
_ORDINARY = ("mean 3.7", "symmetric", "U-shaped", "0 to 100", *(f"mean 3.7, {m}" for m in sorted(_MANNERS)))
_COMPARED = "mean 3.7 against symmetric", "ceiling against mean 3.7", "mean 3.7 against its next version"
_SIMULATE: dict[str, Callable[[Cell, np.random.Generator, int], Found]] = {
    **dict.fromkeys(POPULATIONS, of_scores),
    "binary": of_binary,
    "binary benchmark": of_binary,
    "probability": of_probabilities,
    "benchmark": of_benchmark,
    "groups": of_groups,
    "grouped benchmark": of_groups,
    "strata": of_strata,
}
LOOPED = ("groups", "grouped benchmark", "strata")  # one data set at a time
QUICK = ("unbounded", "binary", "binary benchmark")  # more data sets


def cells() -> Iterator[Cell]:
    """All of the study."""
    for family, designs, judges in (
        ("ordinary", _ORDINARY, _RHO),
        ("edge", ("ceiling", "mild floor", "floor"), _RHO),
        ("extreme", ("rare 5", "rare 1", "floor 95 %", "92 % at 2"), _RHO[1:4]),
        ("copied", ("mean 3.7", "ceiling", "floor"), ("same 0.9", "same 0.98")),
        ("unbounded", ("normal", "exponential"), _RHO[1:]),
        ("difference", _COMPARED, _RHO[1:]),
        ("binary", [f"p {p}" for p in (0.02, 0.1, 0.5, 0.9)], JUDGES),
        ("probability", [f"p {p}" for p in (0.02, 0.1, 0.5, 0.9)], _RHO[3:]),
    ):  # fmt: skip
        rests = REST if family in ("ordinary", "edge", "binary") else REST[1:]
        yield from (Cell(family, d, j, rest, n) for d in designs for j in judges for rest in rests for n in GOLD)
    items = (10, 90), (20, 80), (50, 50), (300, 700)
    for design in ("mean 3.7", "ceiling"):
        yield from (Cell("benchmark", design, j, rest, n) for j in _RHO[1:] for n, rest in items)
    for p in (0.1, 0.5, 0.9):
        yield from (Cell("binary benchmark", f"p {p}", j, rest, n) for j in JUDGES for n, rest in items)
    for design in _SCALES:
        for g in (6, 10, 20, 40):
            yield Cell("groups", design, "whole groups", 150, g)
            yield Cell("groups", design, "whole groups", 2 * g, g)
            yield Cell("groups", design, "two labels a group", 150, g)
            yield Cell("groups", design, "scattered labels", g, g)
            yield Cell("grouped benchmark", design, "whole groups", g, g)
    for design in ("normal", "1 to 5", "yes or no"):
        yield from (Cell("strata", design, j, 1000, n) for j in ("population", "benchmark") for n in (20, 40, 100, 200))


def simulated(cell: Cell, sets: int) -> tuple[Floats, dict[str, Ends]]:
    """Truth and ends of the intervals of that many data sets. Seeds come from the cell alone."""
    rng = np.random.default_rng([*" ".join(map(str, cell)).encode()])
    size = max(1, BLOCK // (cell.gold + (cell.rest if "benchmark" in cell.family else 0)))
    if cell.family in LOOPED:
        size = 500
    blocks = [min(size, sets - i) for i in range(0, sets, size)]
    found = [_SIMULATE[cell.family](cell, rng, block) for block in blocks]
    truth = np.concatenate(
        [np.broadcast_to(np.float64(aim), block) for (aim, _), block in zip(found, blocks, strict=True)]
    )
    names = found[0][1]
    return truth, {name: _joined([ends[name] for _, ends in found]) for name in names}


def _joined(parts: list[Ends]) -> Ends:
    low, high = (np.concatenate(sides) for sides in zip(*parts, strict=True))
    return low, high


def rows_of(cell: Cell, sets: int) -> Iterator[dict[str, object]]:
    """Coverage in % and widths of each interval, and the width over that of the labels alone.

    That is of mean widths, against Student's t; for yes or no of median widths, against Jeffreys'.
    """
    truth, ends = simulated(cell, sets)
    alone = "Jeffreys" if "Jeffreys" in ends else "classical"
    size = np.median if alone == "Jeffreys" else np.mean
    basis = float(size(ends[alone][1] - ends[alone][0]))
    for name, (low, high) in ends.items():
        held, width = (low <= truth) & (truth <= high), high - low
        yield cell._asdict() | {
            "interval": name,
            "sets": sets,
            "coverage": 100 * float(held.mean()),
            "too_low": 100 * float((high < truth).mean()),
            "width": float(width.mean()),
            "width_se": float(width.std() / np.sqrt(sets)),
            "median_width": float(np.median(width)),
            "ratio": float(size(width)) / basis if basis else np.nan,
        }


# --- the whole study --------------------------------------------------------------------------------------------


def study(path: Path, sets: int, quick_sets: int, asked: str) -> pd.DataFrame:
    """Simulate the cells that are not yet in the file, saving as it goes."""
    rows = pd.read_csv(path).to_dict("records") if path.exists() else []
    have = {(*(str(row[k]) for k in KEY), row["interval"]) for row in rows}
    todo = [c for c in cells() if asked in " / ".join(map(str, c)) and (*map(str, c), "calib") not in have]
    for i, cell in enumerate(todo, start=1):
        half = cell.gold > 50 or cell.family in LOOPED
        found = rows_of(cell, quick_sets if cell.family in QUICK else sets // (1 + half))
        rows += [row for row in found if (*(str(row[k]) for k in KEY), row["interval"]) not in have]
        if i % 50 == 0 or i == len(todo):
            save(rows, path)
            print(f"{i}/{len(todo)}  {', '.join(map(str, cell))}: {time.process_time():.0f} s of CPU", flush=True)
    return pd.read_csv(path)


def save(rows: list[dict[str, object]], path: Path) -> None:
    """Write the rows in the order of the study."""
    order = {tuple(map(str, cell)): i for i, cell in enumerate(cells())}
    rows.sort(key=lambda row: order[tuple(str(row[k]) for k in KEY)])
    pd.DataFrame(rows).to_csv(path, index=False, float_format="%.4g", lineterminator="\n")


# --- what is reached --------------------------------------------------------------------------------------------

FEW = "gold <= 50"
MANY = "gold >= 100"
USUAL = "judge in ('rho 0.3', 'rho 0.6', 'rho 0.9') and rest >= 1000"
TARGETS = (  # family, which cells, least coverage, where widths are compared, largest ratio
    ("ordinary", FEW, 94.5, USUAL, np.nan),
    ("edge", FEW, 92.5, USUAL, np.nan),
    ("binary", FEW, 93.0, "rest >= 1000", 0.87),
    ("groups", "gold == 10", 94.0, "gold == 10", np.nan),
    ("ordinary", MANY, 94.0, USUAL, np.nan),
    ("edge", MANY, 94.0, USUAL, np.nan),
    ("binary", MANY, 93.5, "rest >= 1000", np.nan),
)
OTHERS = (
    ("extreme", FEW),
    ("extreme", MANY),
    ("copied", FEW),
    ("copied", MANY),
    ("unbounded", FEW),
    ("unbounded", MANY),
    ("difference", FEW),
    ("difference", MANY),
    ("probability", FEW),
    ("probability", MANY),
    ("groups", "gold == 6"),
    ("groups", "gold >= 20"),
    ("grouped benchmark", "gold > 0"),
    ("strata", "gold > 0"),
    ("benchmark", "gold > 0"),
    ("binary benchmark", "gold > 0"),
)


def reached(results: pd.DataFrame) -> pd.DataFrame:
    """Coverage and width of calib's interval by family, against what was to be reached."""
    mine = results[results["interval"] == "calib"]
    rows = []
    for family, which, least, where, most in (*TARGETS, *((*other, np.nan, "gold > 0", np.nan) for other in OTHERS)):
        part = mine[mine["family"] == family].query(which)
        ratio = relative_width(results[results["family"] == family].query(which).query(where))
        rows.append({
            "family": family,
            "labels": which.removeprefix("gold "),
            "cells": len(part),
            "min": part["coverage"].min(),
            "at least": least,
            "mean": part["coverage"].mean(),
            "width": ratio,
            "at most": most,
            "ok": not (part["coverage"].min() < least or ratio > most),
        })  # fmt: skip
    return pd.DataFrame(rows)


def relative_width(rows: pd.DataFrame) -> float:
    """Mean over cells of width over that of the t interval; yes or no: mean of median widths over Jeffreys' one."""
    mine = rows[rows["interval"] == "calib"]
    if "Jeffreys" not in set(rows["interval"]):
        return float(mine["ratio"].mean())
    return float(mine["median_width"].mean() / rows.loc[rows["interval"] == "Jeffreys", "median_width"].mean())


def lowest(results: pd.DataFrame, many: int = 3) -> pd.DataFrame:
    """The cells of each family where calib's interval holds the truth least often."""
    mine = results[results["interval"] == "calib"].sort_values("coverage")
    return mine.groupby("family", sort=False).head(many)[[*KEY, "coverage", "too_low", "ratio"]]


# --- the picture ------------------------------------------------------------------------------------------------

_LOOKS = {
    "classical": ("#4D4D4D", "s", "labels alone, t"),
    "Jeffreys": ("#E69F00", "D", "labels alone, Jeffreys"),
    "glide": ("#56B4E9", "v", "glide's formula"),
    "ARES": ("#009E73", "^", "ARES"),
    "ppi_py": ("#D55E00", "X", "ppi_py"),
    "calib 0.1": ("#CC79A7", "P", "calib 0.1"),
    "calib": ("#0072B2", "o", "calib"),
}
_PANELS = {
    "ordinary": "bounded: ordinary shapes",
    "edge": "bounded: ceiling and floors",
    "extreme": "bounded: 92 to 95 % at one value",
    "copied": "bounded: judge nearly copies people",
    "unbounded": "no bounds",
    "difference": "differences of two systems",
    "binary": "yes or no, judge yes or no",
    "probability": "yes or no, judge a probability",
    "groups": "groups of five items (n: groups)",
    "strata": "four strata",
    "benchmark": "benchmark target",
    "binary benchmark": "benchmark target, yes or no",
}
_TICKS = (0.1, 0.5, 0.8, 0.9, 0.95, 0.98, 0.995)
_LIMITS = 0.05, 0.998  # of the axis; what lies beyond is drawn there


def draw(results: pd.DataFrame, path: Path) -> None:
    """Mean coverage over the cells of a family against the number of labels, with the range of the cells."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(3, 4, figsize=(14, 9.5), sharey=True)
    for ax, (family, title) in zip(axes.flat, _PANELS.items(), strict=True):
        part = results[results["family"] == family]
        names = [name for name in _LOOKS if name in set(part["interval"])]
        for i, name in enumerate(names):
            _line(ax, part[part["interval"] == name].groupby("gold")["coverage"], name, i - len(names) + 1)
        _axis(ax, sorted(set(part["gold"])))
        ax.set_title(title, fontsize="medium")
    for ax in axes[:, 0]:
        ax.set_ylabel("coverage of the 95 % interval, %")
    for ax in axes[-1]:
        ax.set_xlabel("labels, n")
    handles = {h.get_label(): h for ax in axes.flat for h in ax.get_legend_handles_labels()[0]}
    shown = [handles[label] for *_, label in reversed(_LOOKS.values()) if label in handles]
    figure.legend(handles=shown, loc="lower center", ncols=len(shown), frameon=False)
    figure.tight_layout(rect=(0, 0.035, 1, 1))
    figure.savefig(path, dpi=90)
    plt.close(figure)


def _line(ax: Axes, groups: pd.core.groupby.SeriesGroupBy, name: str, place: int) -> None:
    """Dots are means over cells, bars reach from the lowest to the highest cell."""
    colour, marker, label = _LOOKS[name]
    low, mean, high = (np.clip(v.to_numpy() / 100, *_LIMITS) for v in (groups.min(), groups.mean(), groups.max()))
    x = groups.mean().index.to_numpy() * 1.035**place
    front = 3 if name == "calib" else 2
    ax.vlines(x, low, high, color=colour, linewidth=2.2 if name == "calib" else 1, alpha=0.75, zorder=front)
    size = 6 if name == "calib" else 4
    ax.plot(x, mean, color=colour, marker=marker, markersize=size, linewidth=1, label=label, zorder=front)


def _axis(ax: Axes, gold: list[int]) -> None:
    """Coverage on the logit scale, which shows 20 % and 97 % at once."""
    ax.set_xscale("log")
    ax.set_xticks(gold, [str(n) for n in gold])
    ax.set_xticks([], minor=True)
    ax.set_yscale("logit")
    ax.set_ylim(0.8 * _LIMITS[0], 1 - 0.7 * (1 - _LIMITS[1]))
    ax.set_yticks(_TICKS, [f"{100 * t:g}" for t in _TICKS])
    ax.set_yticks([], minor=True)
    ax.axhline(LEVEL, color="black", linewidth=0.9, zorder=1)


# --- the check --------------------------------------------------------------------------------------------------

CHECKED = (
    Cell("ordinary", "mean 3.7", "rho 0.6", 10_000, 10),
    Cell("ordinary", "0 to 100", "rho -0.3", 200, 30),
    Cell("ordinary", "mean 3.7, non-linear judge", "rho 0.9", 1_000, 50),
    Cell("edge", "ceiling", "rho 0.6", 10_000, 20),
    Cell("extreme", "rare 5", "rho 0.3", 1_000, 20),
    Cell("unbounded", "exponential", "rho 0.6", 1_000, 30),
    Cell("difference", "ceiling against mean 3.7", "rho 0.6", 1_000, 30),
    Cell("binary", "p 0.9", "excellent", 10_000, 50),
    Cell("probability", "p 0.1", "rho 0.6", 1_000, 50),
    Cell("groups", "1 to 5", "whole groups", 150, 10),
    Cell("strata", "1 to 5", "population", 1_000, 40),
    Cell("benchmark", "mean 3.7", "rho 0.6", 50, 50),
)


def check(path: Path, sets: int) -> int:
    """Simulate a few cells again with fewer data sets; 1 if one differs from the file by more than chance."""
    results = pd.read_csv(path)
    stored, misses = results.set_index([*KEY, "interval"]), 0
    for cell in CHECKED:
        rows = [(row, stored.loc[(*cell, row["interval"])]) for row in rows_of(cell, sets)]
        ok = all(_agree(row, before, sets) for row, before in rows)
        misses += not ok
        row, before = rows[0]
        now, then = (f"{r['coverage']:.1f} %, width {r['width']:.3f}" for r in (row, before))
        print(f"{'ok  ' if ok else 'MISS'} {', '.join(map(str, cell))}: {now}; in results.csv {then}")
    print(reached(results).round(3).to_string(index=False))
    print(f"ppi_coverage: {len(CHECKED) - misses} of {len(CHECKED)} cells agree with results.csv.")
    return int(misses > 0)


def _agree(row: dict[str, object], before: pd.Series, sets: int) -> bool:
    """Coverage and mean width within four Monte Carlo standard errors of both; coverage not below that of 99.5 %."""
    p = min(max(float(before["coverage"]) / 100, 0.005), 0.995)
    error = 100 * np.sqrt(p * (1 - p) * (1 / sets + 1 / float(before["sets"])))
    wide = 4 * np.hypot(float(str(row["width_se"])), float(before["width_se"])) + 1e-3 * float(before["width"])
    return bool(
        abs(float(str(row["coverage"])) - before["coverage"]) <= 4 * error
        and abs(float(str(row["width"])) - before["width"]) <= wide
    )


def main() -> int:
    """Run the study or the check; the exit code."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument(
        "--reps", type=int, default=2_000, help="data sets a cell; half of them for 100 labels, groups and strata"
    )
    arguments.add_argument("--quick-reps", type=int, default=10_000, help="of yes or no, and without bounds")
    arguments.add_argument("--cells", default="", help="only cells whose name has this text, such as 'binary / p 0.9'")
    arguments.add_argument("--fresh", action="store_true", help="forget the rows that are there")
    arguments.add_argument("--check", action="store_true", help="compare a few cells with results.csv; 1 on a miss")
    given = arguments.parse_args()
    path = FOLDER / "results.csv"
    if given.check:
        return check(path, 1_500)
    if given.fresh:
        path.unlink(missing_ok=True)
    results = study(path, given.reps, given.quick_reps, given.cells)
    if not given.cells:
        draw(results, FOLDER / "coverage.png")
    print(reached(results).round(3).to_string(index=False))
    print(lowest(results).round(3).to_string(index=False))
    print(f"{time.process_time():.0f} s of CPU.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
