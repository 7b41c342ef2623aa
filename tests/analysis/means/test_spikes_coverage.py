"""Do intervals on a scale hold where labels crowd at one value and where a judge errs to one side? By simulation.

Each population is drawn many times, all sets at once through the formulas of `ppi_mean` (that these are its formulas is
shown in `test_moments.py`: each of many systems is its mean).
"""

import numpy as np
import pytest

from calib.analysis.means.moments import Moments
from calib.analysis.means.ridge import GroupedItems, SlopePrior, bounded, clustered, ridge

pytestmark = pytest.mark.slow
SETS, REST = 3000, 500


def choice(rng, shape, values, shares):
    return rng.choice(np.asarray(values, dtype=float), size=shape, p=shares)


def noisy(rng, y, low, high, sd):
    return np.clip(y + rng.normal(0, sd, y.shape), low, high)


def spike(low, high, at, shares, sd=0.7):
    """Labels at the values `at`, nearly all at one of them."""

    def draw(rng, shape):
        y = choice(rng, shape, at, shares)
        return y, noisy(rng, y, low, high, sd)

    return draw, (low, high), float(np.dot(at, shares))


def copying(share, low=1, high=5, ordinary=(0.1, 0.2, 0.3, 0.4), failed=1):
    """The judge copies people, but gives the best score to a share of items that failed."""

    def draw(rng, shape):
        y = choice(rng, shape, np.linspace(low + 1, high, len(ordinary)), ordinary)
        bad = rng.random(shape) < share
        return np.where(bad, failed, y), np.where(bad, high, y)

    mean = float(np.dot(np.linspace(low + 1, high, len(ordinary)), ordinary))
    return draw, (low, high), (1 - share) * mean + share * failed


def lenient(shares, passed):
    """The best score for a part of the labels 1 and 2, else the label."""

    def draw(rng, shape):
        y = choice(rng, shape, [1, 2, 3, 4, 5], shares)
        return y, np.where((y <= 2) & (rng.random(shape) < passed), 5, y)

    return draw, (1, 5), float(np.dot([1, 2, 3, 4, 5], shares))


def inflated(zero, shape_of=2.0):
    """Zeros, and else 0 to 100."""

    def draw(rng, shape):
        y = np.where(rng.random(shape) < zero, 0.0, 100 * rng.beta(shape_of, 2, shape))
        return y, noisy(rng, y, 0, 100, 15)

    return draw, (0, 100), (1 - zero) * 100 * shape_of / (shape_of + 2)


def half_steps(shares):
    """Means of two raters at a ceiling, in half steps."""
    at = np.array([3, 3.5, 4, 4.5, 5])

    def draw(rng, shape):
        y = choice(rng, shape, at, shares)
        return y, np.round(2 * noisy(rng, y, 1, 5, 0.4)) / 2

    return draw, (1, 5), float(at @ shares)


def probability(rate, sharp):
    """Yes or no, and a judge that gives probabilities."""

    def draw(rng, shape):
        p = rng.beta(sharp * rate, sharp * (1 - rate), shape)
        return (rng.random(shape) < p) * 1.0, p

    return draw, (0, 1), rate


POPULATIONS = {
    "1-7, 90 % at 6": spike(1, 7, [1, 6, 7], [0.05, 0.9, 0.05]),
    "1-7, 85 % at 6": spike(1, 7, [1, 6, 7], [0.1, 0.85, 0.05]),
    "1-7, 90 % at 2": spike(1, 7, [1, 2, 7], [0.05, 0.9, 0.05]),
    "1-5, 88 % in the middle": spike(1, 5, [1, 3, 5], [0.06, 0.88, 0.06]),
    "copying, 3 %": copying(0.03),
    "copying, 5 %": copying(0.05),
    "copying, 10 %": copying(0.1),
    "lenient": lenient([0.1, 0.15, 0.25, 0.3, 0.2], 0.5),
    "lenient, mostly passed": lenient([0.15, 0.15, 0.2, 0.3, 0.2], 0.7),
    "zero-inflated, 60 %": inflated(0.6),
    "zero-inflated, 75 %": inflated(0.75),
    "half steps": half_steps([0.03, 0.04, 0.08, 0.15, 0.7]),
    "half steps, less": half_steps([0.05, 0.1, 0.15, 0.2, 0.5]),
    "probability of 50 %": probability(0.5, 2.0),
    "probability of 30 %": probability(0.3, 1.5),
}
CELLS = [(name, n) for name in POPULATIONS for n in (20, 50)]


def many(name, n, *, seed):
    """Which of the intervals that `ppi_mean` returns lie above the mean, and which below it."""
    draw, bounds, truth = POPULATIONS[name]
    rng = np.random.default_rng(seed)
    y, f = draw(rng, (SETS, n))
    loose = draw(rng, (SETS, REST))[1]
    mean = loose.mean(axis=1)
    squares = ((loose - mean[:, None]) ** 2).sum(axis=1)
    rest = Moments(np.full(SETS, REST), mean, squares, loose.min(axis=1), loose.max(axis=1))
    ends = []
    for said, others in ((f, rest), (np.zeros_like(f), Moments(rest.n, *np.zeros((4, SETS))))):  # and labels alone
        code, rule = np.repeat(np.arange(SETS), n), SlopePrior.on(bounds, same_scale=True)
        parts = ridge(y.ravel(), said.ravel(), code, others, rule)
        law = bounded(parts.point, parts.judge, parts.seen, bounds)[1]
        ends.append((law.low(0.025), law.high(0.025)))
    (low, high), alone = ends
    labels = high - low >= alone[1] - alone[0]
    low, high = (np.where(labels, *pair) for pair in zip(alone, (low, high), strict=True))
    return truth < low, truth > high


def error(share, sets=SETS):
    return np.sqrt(share * (1 - share) / sets)


@pytest.mark.long
@pytest.mark.parametrize(("name", "n"), CELLS)
def test_the_interval_holds_where_labels_crowd_or_the_judge_errs_to_one_side(name, n):
    above, below = many(name, n, seed=11)
    covered = 1 - np.mean(above | below)
    assert covered > 0.93 - 3 * error(0.93), covered


@pytest.mark.long
@pytest.mark.parametrize(("n", "name"), [(n, name) for n in (20, 50) for name in ("ordinary", "middle")])
def test_ordinary_labels_are_not_paid_for(n, name, monkeypatch):
    shares = {"ordinary": [0.05, 0.1, 0.2, 0.4, 0.25], "middle": [0.1, 0.2, 0.4, 0.2, 0.1]}[name]
    monkeypatch.setitem(POPULATIONS, name, spike(1, 5, [1, 2, 3, 4, 5], shares, 1.0))
    above, below = many(name, n, seed=12)
    covered = 1 - np.mean(above | below)
    assert 0.945 - 3 * error(0.945) < covered < 0.985 + 3 * error(0.985), covered


@pytest.mark.long
@pytest.mark.parametrize("sizes", ["even", "unequal"])
@pytest.mark.parametrize("shares", [(0.05, 0.1, 0.85), (0.1, 0.2, 0.7)])
def test_groups_at_a_ceiling(sizes, shares, sets=1000, groups=15, others=60):
    """15 groups of labels, most of them at 5; a group's items share a part of their errors."""
    rng, hits = np.random.default_rng(13), 0
    at = np.array([3.0, 4.0, 5.0])
    for _ in range(sets):
        held = rng.integers(1, 8, groups + others) if sizes == "unequal" else np.full(groups + others, 4)
        group = np.repeat(np.arange(len(held)), held)
        alike = rng.choice(at, len(held), p=shares)[group]
        y = np.where(rng.random(len(group)) < 0.5, alike, rng.choice(at, len(group), p=shares))
        f = noisy(rng, y, 1, 5, 0.6)
        gold = group < groups
        rest, weight = Moments.one_by_one(f[~gold]), np.ones(len(group))
        sample = GroupedItems(y[gold], f[gold], rest, group[gold], group[~gold], weight[: gold.sum()], weight)
        parts = clustered(sample, SlopePrior.on((1, 5), same_scale=True))
        _, law = bounded(parts.point, parts.judge, parts.seen, (1, 5))
        hits += bool(law.low(0.025)[0] <= at @ shares <= law.high(0.025)[0])
    assert hits / sets > 0.93 - 3 * error(0.93, sets), hits / sets


@pytest.mark.long
def test_this_simulation_can_fail(monkeypatch):
    # without an unseen label it is the Bayesian bootstrap
    monkeypatch.setattr("calib.analysis.means.ridge.unseen_label", lambda n, *_, **how: (np.full_like(n, 1e-6),) * 2)
    for name in ("1-7, 90 % at 6", "copying, 3 %"):
        above, below = many(name, 20, seed=11)
        assert 1 - np.mean(above | below) < 0.85
