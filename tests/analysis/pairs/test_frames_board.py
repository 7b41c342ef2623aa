"""`calib.leaderboard` on tables and files."""

import math

import numpy as np
import pandas as pd
import pytest

import calib
from calib.core.check import ArgumentError
from calib.table import TableError


@pytest.fixture
def arena():
    """600 battles of four systems on 100 prompts; people decide those of 40 prompts."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, 600)
    b = (a + rng.integers(1, 4, 600)) % 4
    theta = np.array([1.0, 0.3, -0.3, -1.0])
    won = rng.random(600) < 1 / (1 + np.exp(theta[b] - theta[a]))
    agreed = np.where(rng.random(600) < 0.8, won, rng.random(600) < 0.5)
    prompt = np.arange(600) % 100
    return pd.DataFrame({
        "battle": [f"b{k}" for k in range(600)], "prompt_id": [f"q{k}" for k in prompt],
        "model_a": [f"m{k}" for k in a], "model_b": [f"m{k}" for k in b],
        "judge_winner": np.where(agreed, "model_a", "model_b"),
        "human_winner": np.where(prompt < 40, np.where(won, "model_a", "model_b"), ""),
    })  # fmt: skip


COLUMNS = {"item": "battle", "group": "prompt_id"}


def test_battles_in_a_file_make_a_board(arena):
    judge = arena.drop(columns="human_winner")
    found = calib.leaderboard(judge, **COLUMNS).one()
    score = (arena["judge_winner"] == "model_a").astype(float)
    names = (arena["model_a"], arena["model_b"])
    array = calib.stats.bradley_terry(*names, score, groups=arena["prompt_id"])
    assert found.system == array.system
    assert found.low == pytest.approx(array.low)
    assert found.n_groups == 100


def test_people_on_some_battles_make_it_theirs(arena):
    found = calib.leaderboard(arena, **COLUMNS).one()
    assert (found.estimator, found.n, found.n_labels) == ("ppi", 600, 240)
    assert found.width_ratio < 1
    assert found.system == ("m0", "m1", "m2", "m3")
    assert "people's strengths" in found.conclusion
    two = calib.leaderboard(arena.drop(columns="human_winner"), arena.drop(columns="judge_winner"), **COLUMNS).one()
    assert two.strength == pytest.approx(found.strength)


def test_the_order_of_the_two_does_not_matter(arena):
    turned = arena.copy()
    half = np.arange(600) % 2 == 0
    turned.loc[half, ["model_a", "model_b"]] = arena.loc[half, ["model_b", "model_a"]].to_numpy()
    for name in ("judge_winner", "human_winner"):
        other = arena[name].map({"model_a": "model_b", "model_b": "model_a", "": ""})
        turned[name] = arena[name].where(~half, other)
    one, other = (calib.leaderboard(frame, **COLUMNS).one() for frame in (arena, turned))
    assert one.strength == pytest.approx(other.strength)


def test_scores_of_systems_on_prompts_are_battles():
    items, people = calib.load_planted()
    scores = calib.summarize(people, items)
    scores = scores[scores["criterion"] == "fluency"]
    boards = calib.leaderboard(scores)
    assert [label["rater"] for label in boards.labels] == ["simulated-1", "simulated-2", "simulated-3"]
    each = scores[scores["rater"] == "simulated-1"].groupby("group", observed=True).size()
    assert boards["simulated-1"].one().n == sum(math.comb(int(n), 2) for n in each)


def test_gold_of_some_outputs_makes_scores_people_s():
    items, people = calib.load_planted()
    scores = calib.summarize(people, items)
    scores = scores[scores["criterion"] == "fluency"]
    judge, human = scores[scores["rater"] == "simulated-1"], scores[scores["rater"] == "simulated-2"]
    groups = sorted(set(human["group"]))[:12]
    found = calib.leaderboard(judge, human[human["group"].isin(groups)]).one()
    assert found.estimator == "ppi"
    assert 0 < found.n_labels < found.n


def test_what_is_no_board_is_refused(arena):
    items, people = calib.load_planted()
    scores = calib.summarize(people, items)
    with pytest.raises(TableError, match="lacks 'system'"):
        calib.leaderboard(scores.drop(columns="system"))


def test_hostile_names_of_systems_are_names(arena):
    name = "<img src=x onerror=alert(1)>\x1b[31m"
    found = calib.leaderboard(arena.replace("m0", name), **COLUMNS)
    assert name in found.one().system or name.replace("\x1b", "") in found.one().system
    assert "\x1b" not in found.conclusion
    assert "<img" not in found._repr_html_()
    assert "\x1b" not in "".join(tick.get_text() for tick in calib.plot.leaderboard(found).get_yticklabels())


def test_a_file_of_scores_is_battles_too():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"id": range(90), "prompt": np.repeat(range(30), 3), "system": list("ABC") * 30})
    frame["gpt"] = np.clip(np.round(3 + (frame["system"] == "A") + rng.normal(size=90)), 1, 5)
    found = calib.leaderboard(frame, judge="gpt", item="id", group="prompt", scale="1|2|3|4|5").one()
    assert found.system[0] == "A"
    assert found.n == 90


def test_systems_that_never_met_are_named(arena):
    apart = pd.DataFrame({"id": range(4), "model_a": list("PPRR"), "model_b": list("QQSS"), "winner": ["A", "B"] * 2})
    with pytest.raises(ArgumentError, match="'P' and 'R' never did"):
        calib.leaderboard(apart)
    always = arena.assign(judge_winner=np.where(arena["model_a"] == "m0", "model_a", arena["judge_winner"]))
    always.loc[always["model_b"] == "m0", "judge_winner"] = "model_b"
    with pytest.warns(calib.stats.CalibWarning, match="one_sided_record"):
        found = calib.leaderboard(always.drop(columns="human_winner"), **COLUMNS).one()
    assert found.high[0] - found.low[0] > 2 * (found.high[1] - found.low[1])


@pytest.mark.parametrize("people", [True, False])
def test_a_way_with_ties_that_there_is_not_is_refused_with_labels_and_without(arena, people):
    battles = arena if people else arena.drop(columns="human_winner")
    with pytest.raises(ArgumentError, match="`ties` must be one of"):
        calib.leaderboard(battles, ties="coin", **COLUMNS)
