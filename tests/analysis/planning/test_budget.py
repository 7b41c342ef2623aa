"""What to buy next: the numbers of the theory, every small design tried out, and half-widths that were simulated."""

import importlib.util
import itertools
import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from refusal import message
from scipy import stats

from calib.analysis.means.ridge import SlopePrior
from calib.analysis.planning import budget_plan as planning
from calib.analysis.planning.half_width import HalfWidth, half_width_on
from calib.analysis.planning.judge_correlation import judge_correlation
from calib.analysis.planning.labels import error_with_judge
from calib.stats import CalibWarning, budget_plan, mean_interval, ppi_mean

INF = math.inf
PILOT = {"rho": 0.6, "sd": 1.0, "item": 0.5, "item_prompt": 0.2, "draw": 0.3}
PILOT |= {"n_labels": 40, "n_items": 400, "prompts": 1, "draws": 1, "prices": {"label": 2, "judge": 0.01}}


def plan(**changes):
    goal = {} if {"half_width", "budget"} & changes.keys() else {"budget": 100}
    return budget_plan(**(PILOT | goal | changes))


# --- the correlation of an average ------------------------------------------------------------------------------


# derived: 1 / (1 - rho_N^2) with rho_N^2 = rho_inf^2 / (1 + r / N), one prompt
@pytest.mark.parametrize(
    ("rho_inf", "r", "wanted"),
    [(0.55, 1.5, (1.138, 1.209, 1.303, 1.392, 1.434)), (0.65, 0.04, (1.684, 1.707, 1.722, 1.729, 1.732))],
)
def test_multipliers_of_one_prompt(rho_inf, r, wanted):
    rho = judge_correlation(rho_inf, 1, 0, r, prompts=1, draws=[1, 2, 5, 20, INF])
    assert_allclose(1 / (1 - rho**2), wanted, atol=5e-4)
    # the same from endless prompts: item and item x prompt together are the variance under one prompt
    split = judge_correlation(rho_inf / math.sqrt(0.7), 0.7, 0.3, r, prompts=1, draws=[1, 2, 5, 20, INF])
    assert_allclose(split, rho, rtol=1e-12)


def test_correlation_of_simulated_averages():
    rng = np.random.default_rng(11)
    size, prompts, draws = 40_000, 3, 2
    item = rng.normal(size=size) * math.sqrt(0.5)
    y = 0.7 * item / math.sqrt(0.5) + math.sqrt(1 - 0.49) * rng.normal(size=size)
    x = item[:, None, None] + math.sqrt(0.4) * rng.normal(size=(size, prompts, 1)) + rng.normal(size=(1, prompts, 1))
    x = x + math.sqrt(0.9) * rng.normal(size=(size, prompts, draws))
    wanted = judge_correlation(0.7, 0.5, 0.4, 0.9, prompts=prompts, draws=draws)
    assert abs(math.atanh(np.corrcoef(y, x.mean(axis=(1, 2)))[0, 1]) - math.atanh(wanted)) < 4 / math.sqrt(size)


def test_many_designs_at_once():
    found = judge_correlation(0.6, 0.5, 0.2, 0.4, prompts=[[1], [4]], draws=[1, 4, INF])
    assert found.shape == (2, 3)
    assert_allclose(found[1, 1], 0.6 * math.sqrt(0.5 / (0.5 + 0.2 / 4 + 0.4 / 16)), rtol=1e-12)
    assert isinstance(judge_correlation(0.6, 0.5, 0.2, 0.4, prompts=1, draws=1), float)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"item": 0.0}, "`item` must be above 0, but got 0.0."),
        ({"draw": -0.1}, "`draw` must be 0 or more, but got -0.1."),
        ({"prompts": 0}, "`prompts` must be 1 or more, but got 0."),
        ({"rho_inf": 1.1}, "`rho_inf` must be between -1 and 1, but got 1.1."),
    ],
)
def test_what_it_refuses(options, said):
    usual = {"rho_inf": 0.5, "item": 1, "item_prompt": 0, "draw": 1, "prompts": 1, "draws": 1}
    assert message(judge_correlation, **(usual | options)) == said


# --- the half-width ---------------------------------------------------------------------------------------------

DESIGNS = [
    # labels, items, prompts, draws; rho_inf, item x prompt, draw (item: 1), mean on a scale from 1 to 5
    ((12, 200, 2, 4), (0.7, 0.5, 2.0, 3.0)),
    ((12, 1000, 8, 8), (0.95, 0.1, 0.05, 3.5)),
    ((50, 400, 1, 8), (0.8, 0.0, 5.0, 2.8)),
    ((100, 2000, 8, 1), (0.5, 1.0, 0.5, 3.2)),
]


def said(design, model, size):
    """Half-width of the present design; a size is the labels' standard deviation on a scale from 1 to 5."""
    (n, items, prompts, draws), (rho, both, draw, mean) = design, model
    here, sd = judge_correlation(rho, 1, both, draw, prompts=prompts, draws=draws), size or 1.0
    facts = {"rho": here, "sd": sd, "item": sd**2, "item_prompt": both * sd**2, "draw": draw * sd**2}
    facts |= {"n_labels": n, "n_items": items, "prompts": prompts, "draws": draws}
    with warnings.catch_warnings(action="ignore", category=CalibWarning):  # that 12 labels are few
        found = plan(**facts, **({"bounds": (1, 5), "mean": mean} if size else {}))
    assert found.rho_inf == pytest.approx(rho)
    return found.present.half_width


def got(design, model, size, ratio_with_judge):
    """Half-widths of the interval with the judge, with prompts drawn anew each time."""
    (n, items, prompts, draws), (rho, both, draw, mean) = design, model
    rng, half = np.random.default_rng([n, items]), []
    for _ in range(30_000 // n):
        item = rng.normal(size=items)
        y = rho * item + math.sqrt(1 - rho**2) * rng.normal(size=items)
        x = item + math.sqrt(both / prompts + draw / prompts / draws) * rng.normal(size=items)
        if size:
            y, x = np.clip(mean + size * y, 1, 5), np.clip(mean + size * x, 1, 5)
        else:
            x = x + rng.normal()  # what the prompts do to all items cancels
        result = ppi_mean(y[:n], x[:n], x[n:], bounds=(1, 5) if size else None)
        half.append(np.diff(result.interval)[0] / 2 * ratio_with_judge(result) / result.width_ratio)
    return np.array(half)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("size", [None, 0.5, 0.2])
@pytest.mark.parametrize(("design", "model"), DESIGNS)
def test_half_width_is_what_is_got(ratio_with_judge, design, model, size):
    half = got(design, model, size, ratio_with_judge)
    wide, error = half.mean(), half.std() / math.sqrt(len(half))
    assert 3 * error < 0.03 * wide
    # steps of .2 on a scale with ends: the evenness of a dozen labels scatters more than ideal scores say
    assert abs(wide / said(design, model, size) - 1) < (0.05 if size == 0.2 else 0.02) + 3 * error / wide


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    ("bounds", "mean", "sd", "step"),
    [((1, 5), 3, 1, 1), ((1, 5), 4.2, 1, 1), ((0, 100), 50, 20, None), ((0, 100), 85, 20, 1), ((1, 5), 4.6, 0.8, None)],
)
@pytest.mark.parametrize(("n", "rest", "rho"), [(20, 980, 0.0), (20, 300, 0.95), (50, 600, 0.6), (200, 2000, 0.9)])
def test_half_width_of_scores_that_are_cut_or_whole(bounds, mean, sd, step, n, rest, rho):
    rng, half, alone = np.random.default_rng([n, rest]), [], []

    def drawn(size):
        x = rng.normal(size=size)
        y = rho * x + math.sqrt(1 - rho**2) * rng.normal(size=size)
        both = (mean + sd * side for side in (y, x))
        return [np.clip(np.round(side) if step else side, *bounds) for side in both]

    y, f = drawn(400_000)
    width = half_width_on(bounds, step, y.mean(), y.std(), 0.95)
    planned = width.judged(n, n + rest, np.corrcoef(y, f)[0, 1], f.std(), single=step is not None)
    for _ in range(15_000 // n if n > 50 else 300):
        y, f = drawn(n + rest)
        half.append(np.diff(ppi_mean(y[:n], f[:n], f[n:], bounds=bounds, step=step).interval)[0] / 2)
        alone.append(np.diff(mean_interval(y[:n], bounds=bounds, step=step).interval)[0] / 2)
    for got_, said_ in ((half, planned), (alone, width.alone(n))):
        assert abs(np.mean(got_) / said_ - 1) < 0.05 + 3 * np.std(got_) / math.sqrt(len(got_)) / said_


def test_this_test_can_fail(ratio_with_judge):
    design, (rho, both, draw, mean) = DESIGNS[2]
    as_if_replies_did_not_scatter = said(design, (rho, 0.0, 0.0, mean), None)
    assert got(design, (rho, both, draw, mean), None, ratio_with_judge).mean() / as_if_replies_did_not_scatter > 1.1


@pytest.mark.slow
def test_half_width_of_yes_or_no():
    rng, half, alone = np.random.default_rng(5), [], []
    y = rng.random(200_000) < 0.8
    x = np.where(rng.random(200_000) < 0.85, y, rng.random(200_000) < 0.8)
    for _ in range(300):
        take = rng.integers(0, len(y), 1000)
        options = {"bounds": (0, 1), "step": 1}
        low, high = ppi_mean(y[take[:50]], x[take[:50]], x[take[50:]], **options).interval
        half.append((high - low) / 2)
        low, high = mean_interval(y[take[:50]], **options).interval
        alone.append((high - low) / 2)
    facts = {"rho": 0.85, "sd": 0.4, "item": 0.16, "item_prompt": 0, "draw": 0, "n_labels": 50, "n_items": 1000}
    found = plan(**facts, bounds=(0, 1), step=1, mean=0.8)
    assert abs(np.mean(half) / found.present.half_width - 1) < 0.08
    bare = plan(**facts | {"n_items": 50}, bounds=(0, 1), step=1, mean=0.8)  # a label for each item
    assert abs(np.mean(alone) / bare.present.half_width - 1) < 0.03


@pytest.mark.slow
def test_labels_alone_have_the_classical_width():
    rng = np.random.default_rng(3)
    ends = np.array([mean_interval(rng.normal(size=40)).interval for _ in range(2000)])
    assert_allclose(plan(n_items=40).present.half_width, np.diff(ends).mean() / 2, rtol=0.01)


def test_a_judge_that_says_nothing_leaves_the_textbook_number_of_labels():
    with pytest.warns(CalibWarning, match="^no_correlation: "):
        found = plan(rho=0.0, n_labels=0, n_items=0, prices={"label": 1, "judge": 1}, half_width=0.2)
    n = next(n for n in range(10, 200) if stats.t.ppf(0.975, n - 1) / math.sqrt(n) * (1 - 1 / (4 * (n - 1))) <= 0.2)
    assert (found.plan.n_labels, found.plan.prompts, found.reached) == (n, 0, True)


# --- the best design --------------------------------------------------------------------------------------------


def price_of(design, now, prices):
    """By counting what there is and what there is not."""
    n, items, prompts, draws = design
    n0, items0, prompts0, draws0 = now
    asked = set(itertools.product(range(items), range(prompts), range(draws)))
    there = set(itertools.product(range(items0), range(prompts0), range(draws0)))
    cost = prices["label"] * (n - n0) + prices["judge"] * len(asked - there)
    return cost + prices["item"] * max(items - items0, 0) + prices["prompt"] * max(prompts - prompts0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("both", [0.0, 0.6])
@pytest.mark.parametrize("draw", [0.1, 2.0])
@pytest.mark.parametrize("goal", [{"budget": 25.0}, {"half_width": 0.45}])
def test_no_other_design_is_better(monkeypatch, both, draw, goal):
    monkeypatch.setattr(planning, "_MOST_PROMPTS", 3)
    monkeypatch.setattr(planning, "_MOST_DRAWS", 4)
    now, prices = (10, 24, 2, 1), {"label": 2, "judge": 0.1, "item": 0.05, "prompt": 1}
    facts = {"rho": 0.5, "sd": 1.0, "item": 1.0, "item_prompt": both, "draw": draw, "prices": prices, "max_items": 60}
    facts |= dict(zip(("n_labels", "n_items", "prompts", "draws"), now, strict=True))
    with pytest.warns(CalibWarning, match="^pilot: "):
        found = budget_plan(**facts, **goal)
    rho_inf = 0.5 / judge_correlation(1, 1, both, draw, prompts=2, draws=1)
    width = HalfWidth(1.0, 0.95, SlopePrior(1, 0), math.nan)
    options = []
    for n, prompts, draws in itertools.product(range(10, 25), range(1, 4), range(1, 5)):
        rho = judge_correlation(rho_inf, 1, both, draw, prompts=prompts, draws=draws)
        for items in range(n, 61):
            half = width.alone(n) if items == n else width.judged(n, items, rho, 1.0)
            options.append((price_of((n, items, prompts, draws), now, prices), float(half)))
    cost, half = found.plan.cost, found.plan.half_width
    if "budget" in goal:
        assert cost <= 25
        assert half <= min(h for c, h in options if c <= 25) * 1.005
    else:
        assert half <= 0.45
        assert cost <= min(c for c, h in options if h <= 0.45) * 1.02
    assert cost == pytest.approx(price_of(found.plan[:4], now, prices))


def test_the_two_goals_are_each_others_answer():
    first = plan(budget=150)
    second = plan(half_width=first.plan.half_width)
    assert (first.target, second.target) == ("budget", "half_width")
    assert 148 < second.plan.cost <= 150
    assert plan(budget=300).plan.half_width < first.plan.half_width


def test_what_is_there_is_not_bought_again():
    reached = plan(half_width=0.4)
    assert reached.plan == reached.present
    assert reached.plan.cost == 0
    assert reached.plan[:4] == (40, 400, 1, 1)


def test_a_judge_that_does_not_pay_is_left_out():
    found = plan(rho=0.1, prices={"label": 1, "judge": 5}, max_items=400)
    assert found.plan[:5] == (140, 140, 0, 0, 0)
    assert str(found).startswith("140 labels and no judge for 100: +/- ")
    assert found.next == "labels"


def test_exact_token_probabilities_are_replies_without_scatter():
    exact, single = plan(draws=INF), plan(draw=0)
    assert exact.present.half_width == single.present.half_width
    assert exact.plan[:3] == single.plan[:3]
    assert (exact.plan.draws, exact.plan.cost) == (INF, single.plan.cost)
    assert {step.what for step in exact.steps} == {"labels", "items", "prompts"}
    assert "prompts x exact probabilities (300 items new) for" in str(exact)


@pytest.mark.parametrize(
    "changes",
    [
        {"confidence_level": 0.9},
        {"max_items": 500},
        {"bounds": (0, 4), "mean": 3.0},
        {"bounds": (0, 4), "mean": 3.0, "same_scale": False},
        {"bounds": (0, 4), "mean": 3.8},
        {"bounds": (0, 4), "mean": 3.0, "step": 4},
        {"prices": {"label": 2, "judge": 0.01, "item": 1}},
        {"prices": {"label": 2, "judge": 0.01, "prompt": 30}},
        {"prompts": 2},
        {"draws": 2},
    ],
)
def test_each_fact_counts(changes):
    usual = {"bounds": (0, 4), "mean": 3.0} if changes.keys() & {"same_scale", "step"} else {}
    assert plan(**usual | changes).plan.half_width != plan(**usual).plan.half_width


@pytest.mark.parametrize("target", [{"budget": 1000, "bounds": (1, 5), "mean": 3.0}, {"half_width": 0.1}])
def test_a_plan_takes_few_steps(target, count_calls):
    assert count_calls(lambda: plan(**target)).total() < 50_000  # .05 s


# --- the next euro ----------------------------------------------------------------------------------------------


def test_steps_are_differences_of_designs():
    found = plan()
    by = {step.what: step for step in found.steps}
    then = {"labels": {"n_labels": 44}, "items": {"n_items": 440}, "prompts": {"prompts": 2}, "draws": {"draws": 2}}
    for what, change in then.items():
        design = {"n_labels": 40, "n_items": 400, "prompts": 1, "draws": 1} | change
        rho = judge_correlation(found.rho_inf, 0.5, 0.2, 0.3, prompts=design["prompts"], draws=design["draws"])
        half = plan(**design, rho=rho).present.half_width
        assert by[what].narrowing == pytest.approx(1 - half / found.present.half_width)
        assert by[what].per_money == by[what].narrowing / by[what].cost
        assert by[what].limit > by[what].narrowing
    assert [by[what].cost for what in then] == [8, pytest.approx(0.4), 4, 4]
    assert [step.per_money for step in found.steps] == sorted((s.per_money for s in found.steps), reverse=True)


@pytest.mark.parametrize(
    ("changes", "first", "wasted"),
    [
        ({"item_prompt": 0.0, "draw": 0.02}, "labels", {"prompts", "draws"}),
        ({"rho": 0.4, "item_prompt": 0.0, "draw": 2.0, "prices": {"label": 5, "judge": 0.01}}, "draws", {"items"}),
        ({"rho": 0.4, "item_prompt": 0.8, "draw": 0.1}, "prompts", {"draws", "items"}),
        ({"rho": 0.9, "n_items": 100, "item_prompt": 0, "draw": 0}, "items", {"prompts", "draws"}),
    ],
)
def test_what_comes_next_and_what_is_a_waste(changes, first, wasted):
    found = plan(**changes)
    assert found.next == first
    assert {step.what for step in found.steps if step.waste} == wasted
    assert f"next {first}: " in found.advice
    waste = found.advice.partition("; not worth buying: ")[2]
    assert all(f"{what} (" in waste for what in wasted)


def test_nothing_helps_where_every_item_has_a_label():
    found = plan(n_items=40, max_items=40)
    assert (found.next, {step.what for step in found.steps}) == ("nothing", {"prompts", "draws"})
    assert found.advice.startswith("next nothing; not worth buying: ")


# --- before there is a pilot ------------------------------------------------------------------------------------

ROOT = Path(__file__).parents[3]
RECORDS = json.loads((ROOT / "tests" / "golden" / "ppi.json").read_text())["records"]
PAIRS = [(record["options"], record["expected"]) for record in RECORDS if record["function"] == "cost_optimal"]
# printed in ppi_py's examples/power_analysis.ipynb (cost_Y = 1, cost_Yhat = 0.1) for the ballots
PAIRS += [
    (
        {"rho": 0.9750932104104646, "cost_label": 1, "cost_judge": 0.1, "budget": 1000},
        {"n_labels": 418, "n_unlabeled": 5398, "cost": 999.6, "effective_n": 3557},
    ),
    (
        {"rho": 0.9750932104104646, "cost_label": 1, "cost_judge": 0.1, "effective_n": 35_000},
        {"n_labels": 4115, "n_unlabeled": 53_100, "cost": 9836.5, "effective_n": 34_998},
    ),
]


@pytest.fixture(scope="module")
def best_pair():
    spec = importlib.util.spec_from_file_location("best_pair", ROOT / "paper_repro" / "ppi" / "best_pair.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded.best_pair


@pytest.mark.parametrize(("options", "published"), PAIRS)
def test_the_closed_form_is_the_published_one(best_pair, options, published):
    # ppi_py 0.2.3: ppi_power
    assert best_pair(**options)._asdict() == pytest.approx(published, rel=1e-12)


def bought(rho, cost_label, cost_judge, cost_item=0.0, n_max=None, **goal):
    prices = {"label": cost_label, "judge": cost_judge, "item": cost_item}
    return budget_plan(rho=abs(rho), prices=prices, max_items=n_max, **goal).plan


def worth(size):
    """The labels alone of the same standard error."""
    return 1 / error_with_judge(size.n_labels, size.n_items, size.rho, 1.0) ** 2 if size.prompts else size.n_labels


@pytest.mark.parametrize(("options", "published"), [pair for pair in PAIRS if "budget" in pair[0]])
def test_from_nothing_the_plan_is_the_closed_form_for_many_labels(options, published):
    found, n = bought(**options), published["n_labels"]
    few = 3 / n  # of the labels is what it costs to learn the slope from them
    if published["cost"] == 5973:  # the published pair is not the cheapest: 5950 labels alone cost 5950
        assert found[:3] == (5950, 5950, 0)
        return
    assert found.n_labels == pytest.approx(n, rel=0.005 + 2 * few)
    assert found.cost == pytest.approx(published["cost"], rel=0.001 + 2 * few)
    assert worth(found) == pytest.approx(published["effective_n"], rel=0.001 + 2 * few)


@pytest.mark.parametrize("rho", [0.3, 0.6, 0.95])
@pytest.mark.parametrize("judge", [0.001, 0.02, 0.2])
def test_no_other_pair_is_worth_more(best_pair, rho, judge):
    costs = {"cost_label": 1, "cost_judge": judge, "budget": 3000}
    found, pair = bought(rho, **costs), best_pair(rho, **costs)
    n = np.arange(10, 3001 / (1 + judge))
    total = np.maximum((3000 - n) / judge, n)
    best = max(float(np.max(1 / ((1 - rho**2) / n + rho**2 / total))), 3000)
    assert abs(pair.effective_n - best) <= 0.001 * best
    assert abs(worth(found) - best) <= 0.01 * best
    # the judge is bought exactly where sqrt(1 - rho^2) + |rho| sqrt(c_judge / c_label) < 1
    assert (found.prompts > 0) == (pair.n_unlabeled > 0) == (math.sqrt(1 - rho**2) + rho * math.sqrt(judge) < 1)


def test_a_judge_that_does_not_pay_is_not_bought():
    found = bought(0.2, 1, 0.1, 0.25, budget=1000)
    assert (found.n_labels, found.prompts, found.cost) == (800, 0, 1000)
    assert str(found) == "800 labels and no judge"
    # money for a label on everything there is: the closed form bought 300 labels and no judge. The plan goes by the
    # half-width that `ppi_mean` gives, and beside 299 labels and a judge of all 300 that is .3 % shorter (.1130 against
    # .1133 in 1,500 simulated sets): little, but no rounding
    assert bought(0.9, 1, 0.1, budget=1000, n_max=300)[:3] == (299, 300, 1)


def test_a_free_judge_scores_all():
    found = bought(0.8, 1, 0, budget=100, n_max=5000)
    assert found[:2] == (100, 5000)
    assert (found.cost, worth(found)) == (100, pytest.approx(1 / (0.36 / 100 + 0.64 / 5000), rel=0.02))


def test_what_was_not_there_is_not_told():
    found = budget_plan(rho=0.8, prices={"label": 1, "judge": 0.1}, budget=200)
    assert (found.steps, found.next, found.advice) == ((), "nothing", "")
    assert (found.present[:4], found.present.half_width, found.warnings) == ((0, 0, 0, 0), INF, ())
    assert str(found) == f"{found.plan.n_labels} labels, {found.plan.n_items} items for 200: +/- 0.1191"
    # judge scores that are there already are paid for
    more = budget_plan(rho=0.8, prices={"label": 1, "judge": 0.1}, n_items=500, budget=200)
    assert more.plan.half_width < found.plan.half_width
    pytest.importorskip("pandas")
    assert found.to_frame()[["what", "now", "plan"]].to_numpy().tolist()[:2] == [
        ["labels", 0, found.plan.n_labels],
        ["items", 0, found.plan.n_items],
    ]


@pytest.mark.parametrize(
    ("options", "said"), [({"budget": 9}, "`budget` must pay for 10 labels at least (10), but got 9.")]
)
def test_what_is_refused_without_a_pilot(options, said):
    assert message(budget_plan, rho=0.5, prices={"label": 1, "judge": 0.1}, **options) == said


# --- warnings, refusals, display --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "name"), [({"rho": 0.8}, "capped"), ({"rho": -0.1}, "no_correlation"), ({"n_labels": 29}, "pilot")]
)
def test_warnings(changes, name):
    with pytest.warns(CalibWarning, match=f"^{name}: ") as caught:
        found = plan(**changes)
    assert found.warnings == tuple(str(each.message) for each in caught)
    assert 0 <= found.rho_inf <= 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"half_width": 0.1, "budget": 3}, "`half_width` or `budget` must be given, and only one of them."),
        ({"budget": -1}, "`budget` must be above 0, but got -1."),
        ({"rho": 1.0}, "`rho` must be between -1 and 1, but got 1.0."),
        ({"half_width": 0}, "`half_width` must be above 0, but got 0.0."),
        ({"prices": {}}, "`prices` must have one of a 'label', but has none."),
        ({"prices": {"label": 1, "judge": math.nan}}, "`prices` must be 0 or more, but got nan for 'judge'."),
        ({"prices": {"label": 1}}, "`prices` must have one of a 'judge', but has 'label'."),
        (
            {"prices": {"label": 1, "judge": 1, "tea": 2}},
            "`prices` must be one of 'label', 'judge', 'item', 'prompt', but got 'tea'.",
        ),
        ({"prices": {"label": 1, "judge": -1}}, "`prices` must be 0 or more, but got -1 for 'judge'."),
        (
            {"prices": {"label": 1, "judge": 0}},
            "`max_items` must be given where an item and its replies cost nothing, but came without.",
        ),
        ({"n_labels": 3}, "`n_labels` must be a whole number of 4 or more, but got 3."),
        ({"n_items": 39}, "`n_items` must be a whole number of 40 or more, but got 39."),
        ({"draws": 1.5}, "`draws` must be a whole number of 1 or more, but got 1.5."),
        ({"bounds": (1, 5)}, "`mean` must be given with `bounds` and lie within them, but got None."),
    ],
)
def test_what_is_refused(changes, said):
    assert message(plan, **changes) == said


def test_what_cannot_be_reached_is_said_with_what_can():
    found = plan(half_width=0.05, max_items=500)
    assert (found.reached, found.plan.n_labels, found.plan.prompts) == (False, 500, 0)
    assert found.plan.half_width == pytest.approx(0.08782, abs=1e-5)
    assert found.plan.cost == 2 * 460
    assert found.advice.startswith(
        "+/- 0.05 cannot be reached with 500 items: labels for all 500 items give +/- 0.08782; next prompts: "
    )
    assert plan(half_width=0.09, max_items=500).reached


def test_display():
    found = plan(budget=200)
    assert str(found).startswith(
        "118 labels, 800 items, 6 prompts x 1 draw (400 items new) for 200: +/- 0.1258 instead of 0.2686; "
    )
    assert found.signature.startswith("budget-plan|for:budget|rho-inf:0.8485|cl:0.95|labels:40|n:400|v:")
    pytest.importorskip("pandas")
    frame = found.to_frame()
    assert list(frame["what"]) == ["prompts", "draws", "labels", "items"]
    assert list(frame["plan"]) == [6, 1, 118, 800]
    assert "prompts" in found._repr_html_()
