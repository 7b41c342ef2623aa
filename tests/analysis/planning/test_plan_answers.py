"""`calib.plan` answers in numbers whatever the pilot is like, and says what cannot be reached."""

import math

import numpy as np
import pandas as pd
import pytest

import calib
from calib import cli
from calib.core.check import ArgumentError
from calib.stats import CalibWarning, budget_plan

PRICES = {"label": 2, "judge": 0.01}
FIVE = {"scale": "1|2|3|4|5"}


def pilot(judge, people, n=60):
    """A file with judge scores of all items and labels of the first."""
    return pd.DataFrame({"id": range(n), "judge": judge, "people": [*people, *[None] * (n - len(people))]})


@pytest.mark.filterwarnings("ignore:no_correlation")
def test_a_yes_or_no_that_labels_reach_is_reached():
    poor = pilot([0] * 59 + [1], [0, 1] * 20)
    plan = calib.plan(poor, prices=PRICES, half_width=0.1).one()
    assert plan.reached
    assert plan.plan.half_width <= 0.1 * (1 + 1e-9)
    assert plan.plan.prompts == 0 or plan.plan.n_items > plan.plan.n_labels


@pytest.mark.parametrize("seed", range(5))
def test_a_judge_that_is_always_right_is_planned_with(seed):
    labels = np.random.default_rng(seed).integers(1, 6, 60)
    plan = calib.plan(pilot(labels, labels[:40]), prices=PRICES, half_width=0.2, **FIVE).one()
    assert plan.reached
    assert plan.plan.prompts == 1


@pytest.mark.parametrize("prompts", [1, 2])
@pytest.mark.filterwarnings("ignore::calib.stats.CalibWarning")
def test_ratings_of_a_judge_that_says_the_same_of_all_are_planned_with_labels_alone(prompts):
    rows = [
        {"item": f"i{i}", "criterion": "quality", "rater": "judge", "prompt": f"p{p}", "scale": "1|2|3|4|5"}
        | {"method": "sample", "draw": d, "score": 3.0}
        for i in range(60)
        for p in range(prompts)
        for d in range(2)
    ]
    labels = calib.scores_from(
        pd.DataFrame({"id": [f"i{i}" for i in range(40)], "label": np.arange(40) % 5 + 1}),
        item="id", score="label", criterion="quality", rater="me", scale="1|2|3|4|5",
    )  # fmt: skip
    plan = calib.plan(pd.DataFrame(rows), labels, prices=PRICES, half_width=0.3).one()
    assert plan.reached
    assert plan.plan.prompts == 0


def test_one_judge_without_scores_takes_no_other_answer_with_it():
    rng = np.random.default_rng(3)
    two = pilot(rng.integers(1, 6, 60), rng.integers(1, 6, 40)).rename(columns={"judge": "judge_a"})
    two["judge_b"] = math.nan
    with pytest.warns(CalibWarning, match=r"left_out: .*b"):
        plan = calib.plan(two, judge=["judge_a", "judge_b"], wide="rater", prices=PRICES, half_width=0.3, **FIVE)
    assert [label["rater"] for label in plan.labels] == ["a"]


@pytest.mark.parametrize("most", [10**13, 10**20, 10**400])
def test_more_items_than_can_be_counted_are_refused(most):
    with pytest.raises(ArgumentError, match="`max_items` must be at most 1000000000000, but got"):
        budget_plan(rho=0.5, prices=PRICES, half_width=1e-10, max_items=most)


def test_nothing_is_planned_for_less_than_nothing():
    plan = budget_plan(rho=0.5, n_labels=10**9, n_items=10**9, prices=PRICES, half_width=0.1)
    assert plan.plan.cost >= 0


def test_a_plan_does_not_depend_on_the_currency():
    facts = {"rho": 0.6, "sd": 1.0, "mean": 3.0, "bounds": (1, 5), "n_labels": 40, "n_items": 60, "half_width": 0.1}
    plans = [budget_plan(prices={"label": 2 * unit, "judge": 0.01 * unit}, **facts) for unit in (1, 1e-12, 1e12)]
    assert len({plan.plan[:4] for plan in plans}) == 1


def test_the_shell_answers_what_the_verb_answers(tmp_path, capsys):
    rng = np.random.default_rng(5)
    labels = rng.integers(1, 6, 60)
    path = tmp_path / "d.csv"
    pilot(np.clip(labels + rng.integers(-1, 2, 60), 1, 5), labels[:40]).to_csv(path, index=False)
    prices = ["--price-label", "2", "--price-judge", ".01"]
    with pytest.raises(SystemExit) as ended, pytest.warns(CalibWarning, match="scale"):
        cli.main(["plan", str(path), "--half-width", ".1", *prices])
    assert ended.value.code == 0
    assert "+/- 0.1 instead of" in " ".join(capsys.readouterr().out.split())


def test_python_answers_without_prices_and_without_labels_as_the_shell_does():
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"id": range(60), "judge": rng.integers(1, 6, 60)})
    labelled = data.assign(human=data["judge"].where(data.index < 40))
    assert list(calib.plan()["labels"]) == [25, 50, 100, 200, 400]
    assert list(calib.plan(data)["labels"]) == [25, 50]
    assert isinstance(calib.plan(labelled).one(), calib.stats.JudgeHelp)
    assert isinstance(calib.plan(labelled, half_width=0.5).one(), calib.stats.LabelsNeeded)
    assert isinstance(calib.plan(labelled, half_width=0.5, prices=PRICES).one(), calib.stats.BudgetPlan)
    items, _ = calib.load_planted()
    ratings = calib.rate(items.head(30), calib.geval_prompt("coherence"), calib.Judge("offline"), progress=False)
    assert list(calib.plan(ratings)["labels"]) == [25]


def test_a_target_without_labels_or_prices_is_refused():
    data = pd.DataFrame({"id": range(60), "judge": [1, 2, 3, 4, 5] * 12})
    for wrong, what in ({"half_width": 0.1}, "needs a pilot"), ({"budget": 5.0}, "`prices` must be given"):
        with pytest.raises(calib.ArgumentError, match=what):
            calib.plan(data, **wrong)
    with pytest.raises(calib.ArgumentError, match="label"):
        calib.plan(data, prices={"label": 1.0}, budget=100.0)
