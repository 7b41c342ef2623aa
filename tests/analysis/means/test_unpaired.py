"""Differences of labels that are not all pairs: closed forms, what both means share by simulation, coverage."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from calib.stats import mean_interval, ppi_difference, ppi_mean

NAN = float("nan")
FIVE = {"bounds": (1, 5), "step": 1}


def apart(y_a, y_b, *, pairs=0):
    """Labels on inputs of their own but for some that they share, one after the other."""
    inputs = len(y_a) + len(y_b) - pairs
    first, second = np.full(inputs, NAN), np.full(inputs, NAN)
    first[: len(y_a)], second[inputs - len(y_b) :] = y_a, y_b
    return first, second


def inputs(rng, size, shared=0.4, noise=0.6):
    """Latent scores of two systems on the same inputs, 1 to 5, and a judge's of each."""
    common = rng.normal(size=size)
    latent = np.sqrt(shared) * common + np.sqrt(1 - shared) * rng.normal(size=(2, size))
    y = np.clip(np.rint(3.2 + latent), 1, 5)
    f = np.clip(3.4 + latent + noise * rng.normal(size=(2, size)), 1, 5)
    return y, f


def hidden(rng, y, n, pairs):
    """Labels of `pairs` common inputs, the rest of n each on inputs of their own."""
    order, shown = rng.permutation(y.shape[1]), np.full(y.shape, NAN)
    for system, start in ((0, pairs), (1, n)):
        at = np.r_[order[:pairs], order[start : start + n - pairs]]
        shown[system, at] = y[system, at]
    return shown


# --- closed forms ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_without_pairs_the_distances_of_two_t_intervals_add_as_squares(alternative):
    rng = np.random.default_rng(1)
    one, two = rng.normal(4, 1, 14), rng.normal(3, 2, 11)
    options = {"estimator": "classical", "alternative": alternative, "confidence_level": 0.9}
    found = ppi_difference(*apart(one, two), *np.zeros((2, 25)), **options)
    tail = 0.05 if alternative == "two-sided" else 0.1
    half = np.hypot(*(stats.t.ppf(1 - tail, len(y) - 1) * stats.sem(y) for y in (one, two)))
    low, high = (one.mean() - two.mean() + sign * half for sign in (-1, 1))
    assert_allclose(found.estimate, one.mean() - two.mean())
    assert_allclose(found.std_error, np.hypot(stats.sem(one), stats.sem(two)))
    ends = {"two-sided": (low, high), "greater": (low, np.inf), "less": (-np.inf, high)}[alternative]
    assert_allclose(found.interval, ends)
    assert (found.n_paired, found.n_a_only, found.n_b_only, found.n_labels, found.n) == (0, 14, 11, 25, 25)


def test_yes_or_no_is_the_recovery_from_the_intervals_of_labels_alone():
    # put together by hand (Zou and Donner 2008, equation 3)
    one, two = np.repeat([1.0, 0.0], [12, 3]), np.repeat([1.0, 0.0], [5, 8])
    y = np.array(apart(one, two))
    found = ppi_difference(*y, *np.where(np.isnan(y), NAN, 0.0), bounds=(0, 1), step=1)
    (low, high), (down, up) = (mean_interval(y, bounds=(0, 1), step=1).interval for y in (one, two))
    p, q = one.mean(), two.mean()
    assert found.interval.low == pytest.approx(p - q - np.hypot(p - low, up - q), abs=1e-12)
    assert found.interval.high == pytest.approx(p - q + np.hypot(high - p, q - down), abs=1e-12)


def test_the_standard_error_has_the_pairs_covariance():
    rng = np.random.default_rng(3)
    one, two = rng.multivariate_normal([4, 3], [[1, 0.7], [0.7, 1]], 30).T
    y_a, y_b = one.copy(), two.copy()
    y_a[25:], y_b[:5] = NAN, NAN  # twenty pairs, five alone on each side
    found = ppi_difference(y_a, y_b, *np.zeros((2, 30)), estimator="classical", min_labels=21)
    a, b = one[:25], two[5:]
    common = np.sum((one[5:25] - a.mean()) * (two[5:25] - b.mean())) / 25**2 * 20 / 24
    squares = [np.sum((y - y.mean()) ** 2) / 25**2 for y in (a, b)]
    r = common / np.sqrt(np.prod(squares))
    wanted = stats.sem(a) ** 2 + stats.sem(b) ** 2 - 2 * r * stats.sem(a) * stats.sem(b)
    assert_allclose(found.std_error**2, wanted)


def test_turned_round_it_is_the_opposite():
    rng = np.random.default_rng(4)
    y, f = inputs(rng, 120)
    y = hidden(rng, y, 15, 4)
    there, back = (ppi_difference(*y[order], *f[order], **FIVE) for order in ([0, 1], [1, 0]))
    assert_allclose([there.estimate, *there.interval], [-back.estimate, -back.interval.high, -back.interval.low])
    assert_allclose(
        [there.p_value, there.std_error, there.width_ratio], [back.p_value, back.std_error, back.width_ratio]
    )
    assert (there.n_a_only, there.n_b_only) == (back.n_b_only, back.n_a_only) == (11, 11)


@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
def test_an_end_of_the_interval_has_the_p_value_alpha(side):
    rng = np.random.default_rng(5)
    y, f = inputs(rng, 120)
    y = hidden(rng, y, 15, 4)
    found = ppi_difference(*y, *f, alternative=side, **FIVE)
    end = found.interval.high if side == "less" else found.interval.low
    assert_allclose(ppi_difference(*y, *f, alternative=side, null=end, **FIVE).p_value, 0.05, rtol=1e-6)


def test_the_judge_narrows_it_and_says_by_how_much():
    rng = np.random.default_rng(6)
    y, f = inputs(rng, 400, noise=0.3)
    y = hidden(rng, y, 20, 0)
    found, alone = ppi_difference(*y, *f, **FIVE), ppi_difference(*y, *f * 0 + 3, **FIVE)
    width = found.interval.high - found.interval.low
    assert_allclose(found.width_ratio, width / (alone.interval.high - alone.interval.low), rtol=1e-6)
    assert found.width_ratio < 0.8
    means = [ppi_mean(y[k], f[k], **FIVE) for k in (0, 1)]
    assert_allclose(found.estimate, means[0].estimate - means[1].estimate)
    assert_allclose(found.lam, np.mean([mean.lam for mean in means]))


# --- what both means share ------------------------------------------------------------------------------------------


def correlations(rng, sets, target, draw):
    """Of the estimates of both means over many data sets; and the mean of what the results take it for."""
    points, taken = [], []
    for _ in range(sets):
        y, f = draw()
        a, b = (ppi_mean(y[k], f[k], target=target, **FIVE) for k in (0, 1))
        d = ppi_difference(*y, *f, target=target, min_labels=10, **FIVE)
        if d.is_paired:
            continue
        points.append((a.estimate, b.estimate))
        taken.append((a.std_error**2 + b.std_error**2 - d.std_error**2) / (2 * a.std_error * b.std_error))
    return np.corrcoef(np.transpose(points))[0, 1], np.mean(taken), len(points)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(("size", "pairs"), [(45, 0), (60, 8)])
def test_the_correlation_of_both_means_is_what_data_sets_show(size, pairs):
    rng = np.random.default_rng(7)

    def draw():
        y, f = inputs(rng, size, shared=0.7)
        return hidden(rng, y, 15, pairs), f

    shown, taken, sets = correlations(rng, 400, "population", draw)
    trusted = pairs / (pairs + 4) if pairs else 1
    # taken from few labels it is a little nearer to 0 than it is; of the pairs' part m / (m + 4) is meant to be taken
    low, high = np.tanh(np.arctanh(shown) + np.array([-3, 3]) / np.sqrt(sets - 3))
    assert trusted * low - 0.07 < taken < high
    assert taken > 0.05


@pytest.mark.long
@pytest.mark.slow
def test_of_exactly_these_items_labels_on_different_ones_go_against_each_other():
    # both systems answered 40 inputs of which 30 are labelled, 15 for each and none for both
    rng = np.random.default_rng(8)
    y, f = inputs(rng, 40, shared=0.9, noise=3.0)
    truth = float(np.mean(y[0] - y[1]))
    held = 0
    for _ in range(400):
        low, high = ppi_difference(*hidden(rng, y, 15, 2), *f, target="benchmark", **FIVE).interval
        held += low <= truth <= high
    assert stats.binomtest(held, 400, 0.93, alternative="less").pvalue > 0.01


# --- which labels speak ---------------------------------------------------------------------------------------------


def test_two_versions_of_one_system_are_compared_on_their_pairs():
    rng = np.random.default_rng(9)
    y, f = inputs(rng, 200, shared=0.97)
    y = hidden(rng, y, 20, 16)
    found = ppi_difference(*y, *f)
    assert (found.n_paired, found.n_a_only, found.n_b_only) == (16, 0, 0)
    assert found.warnings[-1] == "pairs_alone: 8 labels of one system alone were left out"
    both = ~np.isnan(y).any(axis=0)
    assert found.interval == ppi_difference(*np.where(both, y, NAN), *f).interval
    # where the systems have nothing in common all labels speak
    y, f = inputs(rng, 200, shared=0.0)
    found = ppi_difference(*hidden(rng, y, 20, 10), *f)
    assert (found.n_paired, found.n_a_only, found.n_b_only) == (10, 10, 10)


def test_inputs_that_one_system_did_not_answer_count_for_the_other():
    rng = np.random.default_rng(10)
    y, f = inputs(rng, 150)
    y = hidden(rng, y, 15, 0)
    gone = np.isnan(y).all(axis=0) & (np.arange(150) % 3 == 0)
    f[1, gone] = NAN
    found = ppi_difference(*y, *f, **FIVE)
    second = ppi_mean(y[1, ~gone], f[1, ~gone], **FIVE)
    assert_allclose(found.estimate, ppi_mean(y[0], f[0], **FIVE).estimate - second.estimate)
    assert found.n == 150


def test_groups_leave_the_pairs_alone():
    rng = np.random.default_rng(11)
    y, f = inputs(rng, 100)
    y = hidden(rng, y, 20, 14)
    groups = np.arange(100) // 2
    found = ppi_difference(*y, *f, groups=groups, **FIVE)
    assert found.n_labels == found.n_paired == 14
    assert found.warnings[-1] == "pairs_alone: 12 labels of one system alone were left out"


def test_a_half_on_one_side_makes_neither_yes_or_no():
    rng = np.random.default_rng(12)
    y = rng.choice([0.0, 0.5, 1.0], (2, 60))
    y[0] = np.round(y[0])
    f = np.clip(y + 0.2 * rng.normal(size=y.shape), 0, 1)
    found = ppi_difference(*hidden(rng, y, 12, 0), *f, bounds=(0, 1))
    assert found.estimator == "gaffke-ppi"


# --- what it says and refuses ---------------------------------------------------------------------------------------


def test_what_is_asked_of_pairs_is_asked_of_labels_that_are_none():
    y, f = inputs(np.random.default_rng(31), 200)
    shown = hidden(np.random.default_rng(32), y, 20, 0)
    plain, wide, other = (
        ppi_difference(*shown, *f, **FIVE, **more) for more in ({}, {"conservative": True}, {"same_scale": False})
    )
    assert wide.estimator == "gaffke-conservative"
    assert np.diff(wide.interval) > np.diff(plain.interval)
    one, two = (ppi_mean(*each, **FIVE, same_scale=False).estimate for each in zip(shown, f, strict=True))
    assert other.estimate == one - two != plain.estimate
    with pytest.raises(TypeError, match="'estimater' is no argument of this function"):
        ppi_difference(*shown, *f, **FIVE, estimater="ppi")


def test_it_says_what_was_paired():
    rng = np.random.default_rng(13)
    y, f = inputs(rng, 250)
    found = ppi_difference(*hidden(rng, y, 15, 1), *f, **FIVE)
    low, high = found.interval
    assert str(found).startswith(
        f"human mean difference = {found.estimate:.4g}, 95 % CI [{low:.4g}, {high:.4g}], from 30 human labels "
        "of 29 inputs (1 pair, 14 of the first and 14 of the second system alone) and judge scores of 250 inputs "
        "(people and judge)"
    )
    assert "|design:systems|" in found.signature
    assert "|pairs:1|" in found.signature
    assert found.assumptions[0].startswith("Of each system the labelled items are a random sample")
    pairs = ppi_difference(*y, *f, **FIVE)
    assert "pairs" not in pairs.signature
    assert (pairs.n_paired, pairs.n_a_only, pairs.n_b_only) == (250, 0, 0)


def test_messages():
    rng = np.random.default_rng(14)
    y, f = inputs(rng, 60)
    y = hidden(rng, y, 12, 0)
    with pytest.raises(
        ValueError, match=r"^`y_a` must have 13 labels at least \(`min_labels` lowers that\), but got 12"
    ):
        ppi_difference(*y, *f, min_labels=13, **FIVE)
    f[1, np.flatnonzero(~np.isnan(y[1]))[0]] = NAN
    with pytest.raises(ValueError, match=r"^`f_b` must have a score wherever `y_b` has a label, but got NaN at \d+\.$"):
        ppi_difference(*y, *f, **FIVE)


def test_cautions_say_of_which_system_they_are():
    rng = np.random.default_rng(15)
    y, f = inputs(rng, 60)
    y[1] = 5.0
    found = ppi_difference(*hidden(rng, y, 12, 0), *f, **FIVE)
    told = [text for text in found.warnings if text.startswith("constant_labels")]
    assert told == [
        "constant_labels: of the second system, all 12 labels are 5, so the interval rests on the length of the scale"
    ]


# --- coverage -------------------------------------------------------------------------------------------------------

MILD, LEVEL, CEILING = (0.05, 0.10, 0.20, 0.40, 0.25), (0.1, 0.2, 0.4, 0.2, 0.1), (0.01, 0.02, 0.05, 0.17, 0.75)


def population(rng, kind, size=250, r=0.6):
    """Both systems' labels, the judge's scores, and the difference of the true means."""
    shares = {"ceiling": (CEILING, MILD), "yes or no": ((0.3, 0.7), (0.4, 0.6))}.get(kind, (MILD, LEVEL))
    latent = np.sqrt(0.3) * rng.normal(size=size) + np.sqrt(0.7) * rng.normal(size=(2, size))
    seen = r * latent + np.sqrt(1 - r * r) * rng.normal(size=(2, size))
    places = [(stats.norm.ppf(np.cumsum(share)[:-1]), share) for share in shares]
    y = np.array([np.searchsorted(cuts, z) for (cuts, _), z in zip(places, latent, strict=True)], dtype=float)
    truth = [float(np.dot(share, np.arange(len(share)))) for share in shares]
    if kind == "yes or no":
        f = np.array([np.searchsorted(cuts, z) for (cuts, _), z in zip(places, seen, strict=True)], dtype=float)
        return y, f, truth[0] - truth[1], (0, 1)
    y, f = y + 1, np.clip(np.array(truth)[:, None] + 1.4 + seen, 1, 5)
    if kind == "lenient":  # half of the bad answers pass as good
        f = np.clip(y + 0.5 * seen, 1, 5)
        f[(y <= 2) & (rng.random(y.shape) < 0.5)] = 5
    return y, f, truth[0] - truth[1], (1, 5)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ceiling", "yes or no", "lenient"])
def test_sixty_labels_over_four_systems_hold(kind):
    rng, sets, held = np.random.default_rng(16), 300, 0
    for _ in range(sets):
        y, f, truth, bounds = population(rng, kind)
        drawn = rng.permutation(4 * 250)[:60]  # whatever the system and the input
        labelled = np.isin(np.arange(1000), drawn).reshape(4, 250)[:2]
        low, high = ppi_difference(*np.where(labelled, y, NAN), *f, bounds=bounds, step=1, min_labels=5).interval
        held += low <= truth <= high
    assert stats.binomtest(held, sets, 0.95, alternative="less").pvalue > 1e-3


def test_only_where_both_are_yes_or_no_are_they_means_of_yes_and_no():
    rng = np.random.default_rng(8)
    yes, parts = (rng.random(12) < 0.5) * 1.0, rng.integers(0, 5, 12) / 4
    (y_a, y_b), (f_a, f_b) = np.full((2, 80), NAN), np.full((2, 80), NAN)
    y_a[:12], y_b[40:52], f_a[:40], f_b[40:] = yes, parts, rng.integers(0, 2, 40), rng.integers(0, 2, 40)
    found = ppi_difference(y_a, y_b, f_a, f_b, bounds=(0, 1))
    own = ((y_a[:40], f_a[:40]), (y_b[40:], f_b[40:]))
    a, b = (ppi_mean(*side, bounds=(0, 1), binary=False) for side in own)
    below = np.hypot(a.estimate - a.interval.low, b.interval.high - b.estimate)
    above = np.hypot(a.interval.high - a.estimate, b.estimate - b.interval.low)
    assert_allclose(found.estimate, a.estimate - b.estimate)
    assert_allclose(found.interval, [found.estimate - below, found.estimate + above])


@pytest.mark.parametrize("target", ["population", "benchmark"])
def test_the_order_of_the_systems_changes_the_sign_alone(target):
    """With more labels of one system than of the other, some of them on common inputs."""
    rng = np.random.default_rng(4)
    y, f = inputs(rng, 120)
    shown = hidden(rng, y, 24, 8)
    shown[1, np.flatnonzero(np.isfinite(shown[1]) & np.isnan(shown[0]))[:9]] = NAN
    there = ppi_difference(*shown, *f, target=target, **FIVE)
    back = ppi_difference(*shown[::-1], *f[::-1], target=target, **FIVE)
    assert_allclose([back.estimate, back.interval.high, back.interval.low],
                    [-there.estimate, -there.interval.low, -there.interval.high], rtol=1e-6)  # fmt: skip
