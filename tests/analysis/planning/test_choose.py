"""Choosing items: frequencies against the stated probabilities, brute force, scipy, and real probes."""

import itertools
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from refusal import message
from scipy import stats

from calib.analysis.planning.choose import _neyman, choose
from calib.analysis.planning.judge_correlation import shift_weights, transport_test
from calib.stats import CalibWarning, mean_interval, ppi_mean

NAN = math.nan


def bench(seed=0, n=60):
    """Judge scores, entropies and documents of n items, three to a document."""
    rng = np.random.default_rng(seed)
    return rng.uniform(1, 5, n), rng.gamma(0.5, size=n), np.repeat(np.arange(n // 3), 3)


def draws(design, n=12, repeats=4000, seed=1, **options):
    f, entropy, groups = bench()
    rng = np.random.default_rng(seed)
    options |= {"entropy": entropy} if design == "active" else {}
    options |= {"groups": groups} if design == "groups" else {}
    return [choose(f, n, design=design, rng=rng, **options) for _ in range(repeats)]


# --- drawing ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("design", ["simple", "groups", "strata", "active"])
def test_items_are_chosen_as_often_as_their_probability_says(design):
    found = draws(design)
    rate, chance = np.mean([c.chosen for c in found], axis=0), found[0].inclusion
    z = (rate - chance) / np.sqrt(chance * (1 - chance) / len(found))
    # 60 items (20 groups): the largest of 60 normals stays below 4.2 with probability .998
    assert np.abs(z[chance < 1]).max() < 4.2
    assert (rate[chance == 1] == 1).all()
    assert_allclose(chance.sum(), 12, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("design", ["simple", "strata", "active"])
def test_pairs_are_drawn_as_the_design_says(design):
    # n (n - 1) / (M (M - 1)) without replacement, also within a stratum; independent coins for "active"
    found = draws(design)
    chosen, first = np.array([c.chosen for c in found], dtype=float), found[0]
    unit = np.zeros(60, int) if first.stratum is None else first.stratum
    for i, j in ((0, 1), (5, 40), (17, 59), (2, 3)):
        p, size = first.inclusion, np.sum(unit == unit[i])
        together = p[i] * p[j]
        if design != "active" and unit[i] == unit[j]:
            together = p[i] * (p[i] * size - 1) / (size - 1)
        count = int((chosen[:, i] * chosen[:, j]).sum())
        assert stats.binomtest(count, len(found), together).pvalue > 0.001


def test_simple_and_strata_draw_exactly_n():
    f, entropy, _ = bench()
    for n in (8, 13, 60):
        assert choose(f, n, rng=1).chosen.sum() == n
        for u in (None, entropy):
            choice = choose(f, n, design="strata", entropy=u, rng=1)
            assert (choice.chosen.sum(), choice.n_chosen, choice.n) == (n, n, 60)
            assert np.bincount(choice.stratum[choice.chosen]).min() >= 2


def test_groups_are_drawn_whole():
    f, _, groups = bench()
    choice = choose(f, 13, design="groups", groups=groups, rng=2)
    assert {choice.chosen[groups == g].mean() for g in range(20)} == {0.0, 1.0}
    assert choice.n_chosen == 15
    assert_allclose(choice.inclusion, 5 / 20)
    # as many groups as hold n items on average, so that the probability is known: 10 items in 4 groups
    uneven = choose(f[:10], 4, design="groups", groups=list("aabbbbcccd"), rng=0)
    assert_allclose(uneven.inclusion, 2 / 4)


def test_strata_are_quantiles_of_the_score_or_of_the_entropy():
    f, entropy, _ = bench()
    by_score = choose(f, 12, design="strata", n_strata=3, rng=0)
    for k in range(3):
        assert np.sum(by_score.stratum == k) == 20
    assert f[by_score.stratum == 0].max() < f[by_score.stratum == 1].min()
    # nothing is known of the judge's errors: the same share of each
    assert_allclose(by_score.inclusion, 0.2)
    by_entropy = choose(f, 12, design="strata", entropy=entropy, n_strata=3, rng=0)
    assert entropy[by_entropy.stratum == 0].max() < entropy[by_entropy.stratum == 1].min()
    assert by_entropy.inclusion[by_entropy.stratum == 0].max() < by_entropy.inclusion[by_entropy.stratum == 2].min()


def test_equal_scores_stay_together():
    f = np.array([5.0] * 30 + [4.0] * 9 + [1.0])
    choice = choose(f, 10, design="strata", rng=0)
    assert choice.stratum.max() == 1
    assert len(set(choice.stratum[f == 5])) == 1
    assert choose(np.full(9, 3.0), 4, design="strata", rng=0).stratum.max() == 0


@pytest.mark.parametrize("spread", [(1, 1, 1), (0.2, 1, 3), (1, 0.01, 1)])
def test_allocation_is_the_best_of_all(spread):
    sizes, spread = np.array([6, 9, 14]), np.array(spread, dtype=float)

    def variance(taken):
        return np.sum((sizes * spread) ** 2 / np.array(taken))

    for n in (6, 7, 12, 20, 29):
        best = min(
            variance(taken) for taken in itertools.product(*(range(2, size + 1) for size in sizes)) if sum(taken) == n
        )
        found = _neyman(sizes, spread, n, np.full(3, 2))
        assert found.sum() == n
        assert_allclose(variance(found), best, rtol=1e-12)


def test_entropy_pays_where_it_knows_the_error():
    # the stratified mean of y under proportional and under Neyman allocation: theory over simulation
    rng = np.random.default_rng(3)
    sd = np.repeat([0.2, 0.5, 1.0, 3.0], 500)
    f = np.repeat([1.0, 2.0, 3.0, 4.0], 500) + rng.uniform(0, 0.5, 2000)
    y = f + sd * rng.normal(size=2000)
    errors = {}
    for name, u in (("proportional", None), ("neyman", sd**2)):
        means = []
        for _ in range(2000):
            choice = choose(f, 80, design="strata", entropy=u, rng=rng)
            means.append(np.sum((y / choice.inclusion)[choice.chosen]) / 2000)
        errors[name] = np.std(means)
    # of stratum k: variance over the share of labels, two thirds of which are even
    parts, within = np.array([0.2, 0.5, 1.0, 3.0]), np.array([y[k : k + 500].var() for k in range(0, 2000, 500)])
    wanted = np.sqrt(np.mean(within / (2 / 3 + parts / parts.mean() / 3)) / np.mean(within))
    # a standard deviation of 2 000 values is known to 1 / sqrt(4 000)
    assert errors["neyman"] / errors["proportional"] == pytest.approx(wanted, rel=3.5 * np.sqrt(2 / 4000))
    assert wanted < 0.86


def test_active_probabilities_are_even_by_two_thirds_and_follow_the_uncertainty_by_one():
    f, entropy, _ = bench()
    root = np.sqrt(entropy)
    for n in (6, 20, 45):
        p = choose(f, n, design="active", entropy=entropy, rng=0).inclusion
        assert_allclose(p.sum(), n, rtol=1e-12)
        assert p.max() <= 1
        ratio = (p / (2 / 3 + root / root.mean() / 3))[p < 1]
        assert np.ptp(ratio) < 1e-12
        assert (n / 60 / p).max() <= 1.5  # against its weight in a simple sample
    p = choose(f, 6, design="active", entropy=entropy, rng=0).inclusion
    assert_allclose(p, 6 / 60 * (2 / 3 + root / root.mean() / 3))
    assert choose(f, 60, design="active", entropy=entropy, rng=0).chosen.all()
    assert_allclose(choose(f, 15, design="active", entropy=np.zeros(60), rng=0).inclusion, 0.25)


def test_a_seed_repeats_the_choice():
    f, _, _ = bench()
    one, two = (choose(f, 9, rng=5) for _ in range(2))
    assert (one.chosen == two.chosen).all()
    assert (choose(f, 9, rng=6).chosen != one.chosen).any()
    assert one.seed == 5
    assert one.signature.startswith("choice:simple|labels:9|n:60|seed:5|v:")
    assert str(one) == "9 of 60 items to label (simple, probability 0.15)"


def test_the_frame_has_a_row_per_item():
    pytest.importorskip("pandas")
    f, _, _ = bench()
    choice = choose(f, 12, design="strata", rng=0)
    frame = choice.to_frame()
    assert list(frame) == ["chosen", "inclusion", "stratum"]
    assert (frame.chosen.to_numpy() == choice.chosen).all()
    assert (frame.inclusion.to_numpy() == choice.inclusion).all()
    assert list(choose(f, 12, rng=0).to_frame()) == ["chosen", "inclusion"]


def test_messages_about_choosing():
    f, entropy, groups = bench()
    assert message(choose, f, 61) == "`n` must be at most the number of items (60), but got 61."
    assert message(choose, f, 1) == "`n` must be a whole number of 2 or more, but got 1."
    assert message(choose, [1, NAN, 3], 2) == "`f` must have a value for each item, but got NaN at 1."
    assert message(choose, f, 9, design="active") == "`entropy` must be given for design 'active', but came without."
    assert message(choose, f, 9, design="groups") == "`groups` must be given for design 'groups', but came without."
    for design, more in (("simple", {}), ("strata", {}), ("active", {"entropy": entropy})):
        wanted = f"`groups` must come with design 'groups', but came with {design!r}."
        assert message(choose, f, 9, design=design, groups=groups, **more) == wanted
    assert (
        message(choose, f, 9, entropy=entropy)
        == "`entropy` must come with design 'strata' or 'active', but came with 'simple'."
    )
    assert message(choose, f, 9, design="active", entropy=-entropy).startswith("`entropy` must be 0 or more, but")
    assert message(choose, f, 7, design="strata") == "`n` must be 8 or more for 4 strata, but got 7."
    assert message(choose, f, 9, design="best").startswith("`design` must be one of 'simple', 'groups', ")


# --- in rounds --------------------------------------------------------------------------------------------------


def two_rounds(design, first=8, more=4, seed=1, **options):
    """A choice and its continuation with the same seed, as the command line draws them."""
    f, entropy, groups = bench()
    options |= {"entropy": entropy} if design in ("active", "neyman") else {}
    options |= {"groups": groups} if design == "groups" else {}
    how = {"design": "strata" if design == "neyman" else design, **options}
    before = choose(f, first, rng=seed, **how)
    after = choose(f, more, rng=seed, after=before, **{k: v for k, v in how.items() if k != "n_strata"})
    return before, after, choose(f, first + more, rng=seed, **how)


DESIGNS = ["simple", "groups", "strata", "neyman", "active"]


@pytest.mark.parametrize("design", DESIGNS)
def test_a_further_round_keeps_the_first_and_has_the_probabilities_of_one_drawing(design):
    before, both, once = two_rounds(design, first=12, more=9)
    assert (both.chosen >= before.chosen).all()
    assert both.n_chosen > before.n_chosen
    assert_allclose(both.inclusion, once.inclusion, rtol=1e-12)
    assert (both.design, both.n) == (before.design, 60)
    if before.stratum is not None:
        assert (both.stratum == before.stratum).all()
        counts = np.bincount(both.stratum[both.chosen])
        assert (counts == np.bincount(once.stratum[once.chosen])).all()
    if design != "active":
        assert both.n_chosen == 21


def test_rounds_go_on_until_nothing_is_left():
    f, _, _ = bench()
    choice = choose(f, 20, rng=3)
    for _ in range(2):
        choice = choose(f, 20, rng=3, after=choice)
    assert choice.chosen.all()
    assert_allclose(choice.inclusion, 1)
    text = message(choose, f, 1, rng=3, after=choice)
    assert text == (
        "`n` must be at most the number of items that are not chosen yet (0 of 60), but got 1: nothing is left to "
        "choose."
    )


def test_messages_about_rounds():
    f, _, groups = bench()
    before = choose(f, 50, rng=1)
    assert "not chosen yet (10 of 60), but got 11." in message(choose, f, 11, after=before)
    assert message(choose, f, 0, after=before) == "`n` must be a whole number of 1 or more, but got 0."
    assert message(choose, f, 5, after=before, design="strata") == (
        "`design` must be that of `after`, but got 'strata' after 'simple'."
    )
    assert message(choose, f[:59], 5, after=before) == "`after` must be of as many items as `f`, but is of 60."
    apart = choose(f, 12, design="groups", groups=groups, rng=1)
    assert message(choose, f, 3, after=apart, groups=groups[::-1] // 2) == (
        "`after` must be a choice of whole groups, but has some items of a group and not others."
    )


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
def test_in_two_rounds_items_and_pairs_are_drawn_as_in_one(design):
    found = [two_rounds(design, seed=seed)[1] for seed in range(4000)]
    chosen, chance = np.array([c.chosen for c in found], dtype=float), found[0].inclusion
    z = (chosen.mean(axis=0) - chance) / np.sqrt(chance * (1 - chance) / len(found))
    assert np.abs(z[chance < 1]).max() < 4.2  # as above
    stratum = np.zeros(60, int) if found[0].stratum is None else found[0].stratum
    document = np.repeat(np.arange(20), 3)
    for i, j in ((0, 1), (5, 40), (17, 59), (2, 3)):
        together, unit = chance[i] * chance[j], stratum
        size = np.sum(unit == unit[i])
        if design == "groups":  # documents are drawn, 20 of them
            size = 20
        if design == "groups" and document[i] == document[j]:
            together = chance[i]
        elif design != "active" and unit[i] == unit[j]:
            together = chance[i] * (chance[i] * size - 1) / (size - 1)
        count = int((chosen[:, i] * chosen[:, j]).sum())
        assert stats.binomtest(count, len(found), together).pvalue > 0.001


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
def test_intervals_after_two_rounds_hold_as_often_as_after_one(design):
    rng, sets, m, truth = np.random.default_rng(7), 1500, 300, 3 - 0.4 * 1.5 / 4
    groups = np.repeat(np.arange(m // 3), 3)

    def held(rounds, seed):
        f = rng.uniform(1, 5, m)
        entropy = np.where(f > 3.5, 1.0, 0.1)
        y = f - 0.4 * (f > 3.5) + rng.normal(0, 1, m) * entropy + np.repeat(rng.normal(0, 0.3, m // 3), 3)
        options = {"entropy": entropy} if design in ("active", "neyman") else {}
        options |= {"groups": groups} if design == "groups" else {}
        options |= {"design": "strata" if design == "neyman" else design}
        choice = None
        for n in rounds:
            choice = choose(f, n, rng=seed, after=choice, **options)
        told = {"inclusion": choice.inclusion} if design == "active" else {}
        told |= {"strata": choice.stratum} if choice.stratum is not None else {}
        told |= {"groups": groups} if design == "groups" else {}
        found = ppi_mean(np.where(choice.chosen, y, NAN), f, **told).interval
        return found.low <= truth <= found.high

    once, twice = (sum(held(rounds, seed) for seed in range(sets)) for rounds in ((60,), (36, 24)))
    # two-sided: both too seldom and too often would show
    assert stats.fisher_exact([[once, sets - once], [twice, sets - twice]]).pvalue > 0.001, (once, twice)


@pytest.mark.slow
@pytest.mark.parametrize("design", ["strata", "active"])
def test_intervals_hold_where_the_judge_is_sure_and_wrong(design):
    # of the items that it is sure about one in twelve is as bad as can be and got a 5: 5 % of all
    rng, sets, m, held = np.random.default_rng(8), 600, 1000, 0

    def world(m):
        sure = rng.random(m) < 0.6
        wrong = sure & (rng.random(m) < 1 / 12)
        y = np.where(wrong, 1, np.clip(np.rint(rng.normal(3.7, 1, m)), 1, 5))
        sd = np.where(sure, 0.1, 0.9)
        return y, np.where(wrong, rng.uniform(4.6, 5, m), np.clip(y + rng.normal(0, sd), 1, 5)), sd**2

    truth = world(2_000_000)[0].mean()
    for _ in range(sets):
        y, f, entropy = world(m)
        choice = choose(f, 80, design=design, entropy=entropy, rng=rng)
        told = {"inclusion": choice.inclusion} if design == "active" else {"strata": choice.stratum}
        found = ppi_mean(np.where(choice.chosen, y, NAN), f, bounds=(1, 5), **told)
        assert "uneven_chances" not in " ".join(found.warnings)
        held += found.interval.low <= truth <= found.interval.high
    # when a sure item counted four times as much as in a simple sample, these were 81 and 70 %
    assert stats.binomtest(held, sets, 0.93, alternative="less").pvalue > 1e-4, held
    assert stats.binomtest(held, sets, 0.985, alternative="greater").pvalue > 1e-4, held


# --- elsewhere --------------------------------------------------------------------------------------------------


def residuals(seed=0, n=30, shift=0.0):
    rng = np.random.default_rng(seed)
    f = rng.uniform(1, 5, n)
    return f + shift + rng.normal(size=n), f


def test_one_probe_is_a_t_test():
    y, f = residuals(shift=-0.4)
    found, wanted = transport_test(y, f, confidence_level=0.9), stats.ttest_1samp(y - f, 0)
    assert_allclose([found.statistic, found.df, found.p_value], [wanted.statistic, 29, wanted.pvalue])
    assert_allclose(found.interval, wanted.confidence_interval(0.9))
    assert (found.estimate, found.residual_base, found.n_groups) == (found.residual, None, 30)


def test_probe_and_base_are_a_welch_test():
    (y, f), (y_base, f_base) = residuals(shift=-0.4), residuals(1, 50)
    found = transport_test(y, f, y_base=y_base, f_base=f_base)
    wanted = stats.ttest_ind(y - f, y_base - f_base, equal_var=False)
    assert_allclose([found.statistic, found.df, found.p_value], [wanted.statistic, wanted.df, wanted.pvalue])
    assert_allclose(found.interval, wanted.confidence_interval())
    assert_allclose([found.residual, found.residual_base], [np.mean(y - f), np.mean(y_base - f_base)])
    assert (found.n, found.n_base) == (30, 50)


def test_groups_are_those_of_the_mean():
    y, f = residuals()
    groups = np.repeat(list("abcdef"), 5)
    found, wanted = transport_test(y, f, groups=groups), mean_interval(y - f, groups=groups)
    assert_allclose([found.std_error, found.df, *found.interval], [wanted.std_error, 5, *wanted.interval])
    # one item a group changes nothing; a base has groups of its own
    single = transport_test(y, f, groups=np.arange(30))
    assert_allclose(single.interval, transport_test(y, f).interval)
    both = transport_test(y, f, y_base=y, f_base=f, groups=groups, groups_base=groups)
    assert_allclose([both.estimate, both.std_error], [0, math.sqrt(2) * wanted.std_error], atol=1e-15)


def test_missing_labels_of_the_probe_are_left_out():
    y, f = residuals()
    y[::3] = NAN
    given = ~np.isnan(y)
    assert_allclose(transport_test(y, f).interval, transport_test(y[given], f[given]).interval)
    assert transport_test(y, f).n == 20


@pytest.mark.slow
def test_the_test_has_its_level():
    rng = np.random.default_rng(7)
    rejected = 0
    for _ in range(1000):
        f, base = rng.normal(size=20), rng.normal(size=40)
        found = transport_test(f + rng.normal(size=20), f, y_base=base + 2 * rng.normal(size=40), f_base=base)
        rejected += not found.transports
    assert stats.binomtest(rejected, 1000, 0.05).pvalue > 0.01


def test_not_rejecting_is_no_proof():
    y, f = residuals()
    found = transport_test(y, f)
    assert found.transports
    assert "not shown to differ, which is no proof: an error of 0." in str(found)
    assert "does not transport (p = " in str(transport_test(y - 3, f))


def test_an_error_that_does_not_vary_has_no_interval():
    with pytest.warns(CalibWarning, match="^constant_error: "):
        found = transport_test([1, 2, 3], [1, 2, 3])
    assert math.isnan(found.interval.low)
    assert found.transports
    with pytest.warns(CalibWarning, match="^constant_error: "):
        assert not transport_test([1, 2, 3], [2, 3, 4]).transports


# CJE's arena sample, raw judge score against oracle label on 50 probes each; t from scipy on the same files
@pytest.mark.parametrize(
    ("name", "residual", "t"),
    [("clone", -0.0868, -3.06), ("unhelpful", -0.1334, -5.25), ("parallel_universe_prompt", -0.0636, -2.95)],
)
def test_the_judge_does_not_transport_to_the_arena_probes(name, residual, t):
    folder = Path(os.environ.get("CALIB_DATA", "nowhere")) / "cje_arena/examples/arena_sample"
    if not folder.is_dir():
        pytest.skip("needs the arena sample of CJE: set CALIB_DATA")
    lines = (folder / f"probe_slice/{name}_probe.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    y, f = [row["oracle_label"] for row in rows], [row["judge_score"] for row in rows]
    found = transport_test(y, f)
    assert (round(found.residual, 4), round(found.statistic, 2), found.n) == (residual, t, 50)
    assert not found.transports


def test_messages_about_transport():
    y, f = residuals()
    assert message(transport_test, [1, NAN], [1, 2]) == (
        "`y` must have labels in two groups (or two items) at least, but got 1."
    )
    assert message(transport_test, y, f, y_base=y) == (
        "`y_base` and `f_base` must be given together, but one of them came alone."
    )
    assert message(transport_test, y, f, y_base=y, f_base=f, groups=y) == (
        "`groups_base` must be given exactly when `groups` is, but only one of them came."
    )
    assert message(transport_test, y, f, y_base=y, f_base=f[1:]) == (
        "`f_base` must have the length of `y_base` (30), but got 29."
    )
    assert message(transport_test, [1, 2, NAN], [1, NAN, NAN]) == (
        "`f` must have a judge score for each label, but got NaN at 1."
    )


# --- another mix ------------------------------------------------------------------------------------------------


def test_weights_give_the_mix_of_the_target():
    categories = np.array(["a"] * 5 + ["b"] * 3 + ["c"] * 2)
    weights = shift_weights(categories, {"c": 0.7, "a": 0.3, "b": 0})
    assert_allclose(weights.mean(), 1)
    for name, share in (("a", 0.3), ("b", 0), ("c", 0.7)):
        assert_allclose(weights[categories == name].sum() / 10, share, atol=1e-15)
    assert_allclose(shift_weights([1, 1, 2], {1: 2 / 3, 2: 1 / 3}), 1)


def test_messages_about_shares():
    assert message(shift_weights, ["a", "b"], {"a": 1}) == (
        "`shares` must have a share for each category, but 'b' has none."
    )
    assert message(shift_weights, ["a"], {"a": 0.5, "b": 0.5}) == (
        "`categories` must hold each category of the target, but none is 'b'."
    )
    assert message(shift_weights, ["a"], {"a": 0.9}) == "`shares` must sum to 1, but got 0.9."
    assert message(shift_weights, ["a", "b"], {"a": 2, "b": -1}) == (
        "`shares` must be between 0 and 1, but got 2 for 'a'."
    )
    assert message(shift_weights, [], {}) == "`categories` must have one item at least, but got none."


def test_coins_thrown_again_give_about_as_many_labels_as_one_throw_of_all():
    rng = np.random.default_rng(4)
    f, unsure = rng.normal(size=4000), rng.uniform(0.1, 2, 4000)
    first = choose(f, 400, design="active", entropy=unsure, rng=1)
    both = choose(f, 400, after=first, entropy=unsure, rng=2)
    assert (both.chosen >= first.chosen).all()
    spread = np.sqrt(np.sum(both.inclusion * (1 - both.inclusion)))
    assert abs(both.n_chosen - both.inclusion.sum()) < 4 * spread
    new = both.chosen & ~first.chosen
    chance = (both.inclusion - first.inclusion)[~first.chosen] / (1 - first.inclusion[~first.chosen])
    assert abs(new.sum() - chance.sum()) < 4 * np.sqrt(np.sum(chance * (1 - chance)))
