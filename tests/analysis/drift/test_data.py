"""Readings of RewardBench 2: how far a judge at rest differs from itself, and what is found of a change."""

import warnings

import numpy as np
import pytest

pytest.importorskip("pandas")

import calib
from calib.stats import CalibWarning, reading_change

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runs():
    """Eight scores of each response by a judge, and by what it may become."""
    wanted = {
        "base": ("gpt-5.4", "base", None),
        "prompt": ("gpt-5.4", "criteria", None),
        "cool": ("gpt-5.4", "base", 0.3),
    }
    tables = {}
    for name, (judge, prompt, temperature) in wanted.items():
        try:
            _, ratings = calib.load_composo(judge, prompt, temperature=temperature)
        except calib.datasets.DatasetError as error:
            pytest.skip(str(error))
        tables[name] = (
            ratings.astype({"item": object}).pivot_table(index="item", columns="draw", values="score").dropna()
        )
    items = tables["base"].index
    for table in tables.values():
        items = items.intersection(table.index)
    return {name: table.reindex(items).to_numpy() for name, table in tables.items()}


def quiet(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibWarning)
        return reading_change(*args, **options)


def test_two_readings_of_the_same_judge_differ_for_three_in_ten(runs):
    # .2968 and .3346, pass mark 5 flips for 5.5 %: computed independently on 6,766 of the responses, first two draws
    first = runs["base"][:, :2]
    found = quiet(first, runs["base"][:, 2:3], n_permutations=99)
    assert found.floor == pytest.approx(0.2968, abs=0.0012)
    assert found.floor_gap == pytest.approx(0.3346, abs=0.0012)
    marks = quiet((first >= 5).astype(float), (runs["base"][:, 2:3] >= 5).astype(float), n_permutations=99)
    assert marks.floor == pytest.approx(0.055, abs=0.0012)
    cool = quiet(runs["cool"][:, :2], runs["cool"][:, 2:3], n_permutations=99)
    assert cool.floor == pytest.approx(0.2536, abs=0.0012)


def test_another_prompt_is_found_with_a_hundred_anchors_read_four_times(runs):
    # power 1.00 at 100 anchors, 4 readings then and 4 now; levels of the same by chance alone
    rng = np.random.default_rng(0)
    found = []
    for _ in range(20):
        items, order = rng.choice(len(runs["base"]), 100, replace=False), rng.permutation(8)
        then, again = runs["base"][items][:, order[:4]], runs["base"][items][:, order[4:]]
        change = quiet(then, runs["prompt"][items][:, :4], n_permutations=499, rng=rng)
        found.append((change.p_value <= 0.05, quiet(then, again, n_permutations=499, rng=rng).p_value <= 0.05))
    changed, rest = np.sum(found, axis=0)
    assert changed >= 18
    assert rest <= 5  # of 20 at .05: more with a chance of .0003


def test_a_cooler_judge_is_found_though_its_mean_stays(runs):
    change = quiet(runs["base"][:400, :4], runs["cool"][:400, :4], n_permutations=999)
    assert change.p_value == 0.001
    assert change.p_shift > 0.05
