"""Which number to read: the agreement of each reading, draws and their shares, ties."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from refusal import message

from calib.stats import CalibWarning, agreement, mode, point_scores


def drawn(p, n_draws, rng):
    """Draws of each row of p, as levels 1, 2, ..."""
    upper = np.cumsum(p, axis=1)[:, None, :-1]
    return 1.0 + (rng.random((len(p), n_draws, 1)) > upper).sum(axis=2)


def rated(seed, n=120, n_draws=9):
    rng = np.random.default_rng(seed)
    truth = rng.normal(3, 1, n)
    draws = np.clip(np.round(truth[:, None] + rng.normal(0, 1, (n, n_draws))), 1, 5)
    return draws, np.clip(np.round(truth), 1, 5)


METHODS = ("pearson", "spearman", "kendall_a", "kendall", "kendall_c", "gamma", "pairs", "kappa")


@pytest.mark.filterwarnings("ignore:unequal_ties")
def test_readings_equal_agreement_of_each():
    draws, human = rated(1)
    result = point_scores(draws, human, methods=METHODS)
    modes = [
        np.mean([v for v in np.unique(row) if (row == v).sum() == max((row == u).sum() for u in row)]) for row in draws
    ]
    read = {"mean": draws.mean(axis=1), "median": np.median(draws, axis=1), "mode": np.array(modes)}
    for name, x in read.items():
        for method in METHODS:
            wanted = agreement(x, human, method=method, interval="none")
            assert result.value(name, method) == pytest.approx(wanted.estimate, abs=1e-12)
        assert result.readings[["mean", "median", "mode"].index(name)].ties == pytest.approx(wanted.ties_x)
    assert result.ties_human == pytest.approx(wanted.ties_y)
    for method in METHODS:
        singles = [agreement(x, human, method=method, interval="none").estimate for x in draws.T]
        assert result.value("draw", method) == pytest.approx(np.mean(singles))
    assert (result.n, result.n_draws, result.n_missing) == (120, 9, 0)


@pytest.mark.filterwarnings("ignore:unequal_ties")
def test_probabilities_read_as_the_draws_that_they_are_the_shares_of():
    draws, human = rated(2)
    p = (draws[:, :, None] == np.arange(1, 6)).mean(axis=1)
    by_draws, by_shares = point_scores(draws, human), point_scores(p, human, levels=range(1, 6), rng=3)
    assert by_shares.n_draws == 200
    for one, two in zip(by_draws.readings[:3], by_shares.readings[:3], strict=True):
        assert one.ties == pytest.approx(two.ties)
        assert one.estimates == pytest.approx(two.estimates)
    # the 200 readings of one new draw scatter by some .07 each
    for method in by_draws.methods:
        assert by_shares.value("draw", method) == pytest.approx(by_draws.value("draw", method), abs=0.03)
    assert by_shares == point_scores(p, human, levels=range(1, 6), rng=3)


def test_several_modes_are_averaged():
    human = [1, 2, 3, 4]
    draws = [[1, 1, 2, 2], [2, 2, 2, 1], [2, 4, 4, 2], [4, 4, 4, 5]]
    result = point_scores(draws, human, methods=["pearson"])
    assert result.value("mode", "pearson") == pytest.approx(np.corrcoef([1.5, 2, 3, 4], human)[0, 1])
    counts = [[2, 2], [1, 3]]
    assert_allclose(mode(counts, [1, 2]), [1, 2])  # which takes the lowest


@pytest.mark.filterwarnings("ignore:unequal_ties")
def test_unread_draws_and_items_without_a_score():
    draws, human = rated(3, n=40, n_draws=4)
    holes, blank = draws.copy(), human.copy()
    holes[:5, 0], holes[5], blank[6] = np.nan, np.nan, np.nan
    result = point_scores(holes, blank)
    assert (result.n, result.n_missing) == (38, 2)
    keep = np.delete(np.arange(40), [5, 6])
    means = np.nanmean(holes[keep], axis=1)
    wanted = agreement(means, human[keep], method="spearman", interval="none").estimate
    assert result.value("mean", "spearman") == pytest.approx(wanted)
    firsts = [agreement(column, blank, method="spearman", interval="none").estimate for column in holes.T]
    assert result.value("draw", "spearman") == pytest.approx(np.mean(firsts))


def test_unlike_ties_warn_where_tau_b_or_gamma_is_asked_for():
    draws, human = rated(4)
    with pytest.warns(CalibWarning, match=r"unequal_ties: the m\w+ ties .* tau-b and gamma favor") as caught:
        result = point_scores(draws, human)
    assert result.warnings == (str(caught[0].message),)
    with pytest.warns(CalibWarning, match="; tau-b favor"):
        point_scores(draws, human, methods=["kendall"])
    assert point_scores(draws, human, methods=["spearman", "pairs"]).warnings == ()
    assert point_scores(draws[:, :1], human).warnings == ()  # one draw: every reading is the same
    # of three draws on two levels the mode ties 1.6 times as many pairs as the mean does
    result = point_scores(drawn([[0.5, 0.5]] * 200, 3, np.random.default_rng(9)), np.arange(200))
    assert 1.4 < result.readings[2].ties / result.readings[0].ties < 1.8
    assert result.warnings == ()


@pytest.mark.filterwarnings("ignore:unequal_ties")
def test_words_of_point_scores():
    draws, human = rated(5)
    result = point_scores(draws, human)
    assert str(result).startswith(f"pearson with people, 120 items: mean {result.value('mean', 'pearson'):.4g} (")
    frame = pytest.importorskip("pandas") and result.to_frame()
    assert list(frame.columns) == ["reading", "ties", "ties_human", *result.methods]
    assert list(frame["reading"]) == ["mean", "median", "mode", "draw"]


def test_messages_of_point_scores():
    draws, human = rated(6, n=5)
    assert message(point_scores, draws, human[:4]) == "`human` must have the length of `scores` (5), but got 4."
    assert message(point_scores, draws, human, methods=[]) == "`methods` must name one coefficient at least."
    assert message(point_scores, draws, human, methods=["rho"]).startswith("`methods` must be one of 'spearman', ")
    assert message(point_scores, draws, [1, *[np.nan] * 4]) == (
        "`scores` and `human` must both be there for two items at least, but are for 1."
    )
    assert message(point_scores, draws, human, levels=[1, 2]) == (
        "`levels` must have one value for each column of `scores` (9), but got 2."
    )
    assert message(point_scores, -draws, human, levels=range(9)) == (
        f"`scores` must not be negative with `levels`, but got {-draws.max()}."
    )
    result = point_scores(draws[:, :1], human, methods=["pearson"])
    assert message(result.value, "best", "pearson").startswith("`reading` must be one of 'mean', 'median', ")
    assert message(result.value, "mean", "gamma") == "`method` must be one of 'pearson', but got 'gamma'."
