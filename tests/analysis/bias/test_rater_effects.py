"""Leniency, centrality, ends and halo: reference values, what was put in, edges."""

import math

import numpy as np
import pytest

import calib
from calib.core.check import ArgumentError
from calib.stats import rater_effects


@pytest.fixture(scope="module")
def summeval():
    """GPT-4o and three experts on four criteria."""
    pytest.importorskip("pandas")
    try:
        items, ratings = calib.load_summeval_judges()
    except calib.datasets.DatasetError as error:
        pytest.skip(str(error))
    plain = ratings.astype({"item": str, "criterion": str, "rater": str})
    by = {name: rows.pivot(index="item", columns="rater", values="score") for name, rows in plain.groupby("criterion")}
    labels = np.stack([table[["e0", "e1", "e2"]] for table in by.values()], axis=2)
    groups = items.astype({"item": str}).set_index("item")["group"].loc[by["coherence"].index].to_numpy()
    options = {"criteria": list(by), "levels": (1, 5), "groups": groups}
    return {
        rater: rater_effects(np.stack([table[rater] for table in by.values()], axis=1), labels, **options)
        for rater in ("gpt-4o", "gpt-4o-mini", "mistral-v03")
    }


@pytest.mark.slow
def test_leniency_on_summeval_is_the_reference(summeval):
    """calibration.md, G13."""
    found = summeval["gpt-4o"].one("leniency", "coherence")
    assert found.labels == pytest.approx((0.393, -0.026, -0.367), abs=5.1e-4)
    assert found.estimate == pytest.approx(-0.246, abs=5.1e-4)
    assert found.inside
    mistral = summeval["mistral-v03"].one("leniency", "coherence")
    assert mistral.estimate == pytest.approx(1.005, abs=5.1e-4)
    assert not mistral.inside


def test_spread_and_ends_on_summeval_are_the_reference(summeval):
    spread, ends = (summeval["gpt-4o"].one(name, "coherence") for name in ("centrality", "ends"))
    assert spread.estimate == pytest.approx(0.655, abs=5.1e-4)
    assert (spread.labels_low, spread.labels_high) == pytest.approx((0.80, 1.21), abs=5.1e-3)
    assert ends.estimate == pytest.approx(0.014, abs=5.1e-4)
    assert (ends.labels_low, ends.labels_high) == pytest.approx((0.13, 0.47), abs=5.1e-3)


def test_halo_on_summeval_is_the_reference(summeval):
    halo, residual = (summeval["gpt-4o"].one(name) for name in ("halo", "residual_halo"))
    assert halo.labels == pytest.approx((0.3947, 0.3930, 0.3049), abs=5.1e-5)
    assert halo.estimate == pytest.approx(0.6901, abs=5.1e-5)
    assert summeval["gpt-4o-mini"].one("halo").estimate == pytest.approx(0.6696, abs=5.1e-5)
    assert residual.estimate == pytest.approx(0.5691, abs=5.1e-5)
    assert residual.labels[0] == pytest.approx(0.1357, abs=5.1e-5)
    assert summeval["gpt-4o"].n_independent == pytest.approx(1.3, abs=0.05)


def panel(rng, n=400, shift=0.0, gain=1.0, halo=0.0):
    quality = rng.normal(size=(n, 2))
    labels = quality[:, None] + 0.5 * rng.normal(size=(n, 3, 2))
    return shift + gain * quality + halo * rng.normal(size=(n, 1)) + 0.3 * rng.normal(size=(n, 2)), labels


def test_what_was_put_in_is_found():
    rng = np.random.default_rng(0)
    judge, labels = panel(rng, n=4000, shift=0.5, gain=0.5, halo=0.6)
    found = rater_effects(judge, labels)
    assert found.one("leniency", "0").estimate == pytest.approx(0.5, abs=0.05)
    assert not found.one("leniency", "0").inside
    assert found.one("centrality", "1").estimate == pytest.approx(math.sqrt((0.25 + 0.36 + 0.09) / 1.25), abs=0.03)
    assert found.one("halo").estimate == pytest.approx(0.36 / 0.7, abs=0.04)
    assert found.one("residual_halo").estimate > 0.7  # of what is left when quality is taken out


@pytest.mark.long
@pytest.mark.slow
def test_intervals_of_the_judge_hold():
    rng, runs, held = np.random.default_rng(1), 300, dict.fromkeys(("leniency", "centrality", "halo"), 0)
    true = {"leniency": 0.3, "centrality": math.sqrt((0.64 + 0.25 + 0.09) / 1.25), "halo": 0.25 / 0.98}
    for _ in range(runs):
        found = rater_effects(*panel(rng, n=100, shift=0.3, gain=0.8, halo=0.5))
        for name in held:
            low, high = found.one(name).interval
            held[name] += low <= true[name] <= high
    assert all(abs(count / runs - 0.95) < 0.04 for count in held.values()), held


def test_one_criterion_has_no_halo():
    judge, labels = panel(np.random.default_rng(2))
    found = rater_effects(judge[:, 0], labels[:, :, 0])
    assert [one.effect for one in found.effects] == ["leniency", "centrality", "ends", "top"]
    assert math.isnan(found.n_independent)
    with pytest.raises(KeyError, match="no effect 'halo'"):
        found.one("halo")


def test_one_person_has_no_range_but_her_own_value():
    judge, labels = panel(np.random.default_rng(3), shift=1)
    found = rater_effects(judge, labels[:, :1])
    assert found.one("leniency", "0").labels == (0.0,)
    assert math.isnan(found.one("residual_halo").labels[0])


def test_people_who_rated_some_items_count_on_these():
    judge, labels = panel(np.random.default_rng(4))
    labels[200:, 2] = np.nan
    labels[:20] = np.nan
    found = rater_effects(judge, labels)
    assert found.n == 380
    assert all(not math.isnan(value) for one in found.effects for value in one.labels)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"labels": np.ones((400, 3))}, "must have shape"), ({"criteria": ["one"]}, "`criteria` must name 2"),
        ({"judge": np.full((400, 2), np.nan)}, "8 items with a label"),
        ({"groups": [1]}, "`groups` must have the length"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(change, words):
    judge, labels = panel(np.random.default_rng(5))
    with pytest.raises(ArgumentError, match=words):
        rater_effects(**{"judge": judge, "labels": labels} | change)
