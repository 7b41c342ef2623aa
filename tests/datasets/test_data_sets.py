"""The sets that reproductions and tests read beside those of calib: what they are known to hold."""

import os

import numpy as np
import pandas as pd
import pytest

from calib.datasets import DatasetError

data_sets = pytest.importorskip("data_sets", reason="paper_repro comes with the repository, not with the package")
needs_data = pytest.mark.skipif(not os.environ.get("CALIB_DATA"), reason="needs the real data: set CALIB_DATA")


def raters(ratings: pd.DataFrame) -> dict[str, int]:
    return {str(rater): int(count) for rater, count in ratings["rater"].value_counts().items()}


def side_by_side(ratings: pd.DataFrame) -> pd.DataFrame:
    """A row an item, a column a rater."""
    return ratings.pivot_table("score", "item", "rater", observed=True)


def test_another_file_is_refused(monkeypatch, tmp_path):
    path = tmp_path / "ballots" / "ballots" / "ballot-data.npz"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    monkeypatch.setenv("CALIB_DATA", str(tmp_path))
    with pytest.raises(DatasetError, match=r"is not ballots/ballot-data\.npz of .*: its sha256 differs\.$"):
        data_sets.load_ballots()


@needs_data
def test_lesion():
    items, ratings = data_sets.load_lesion()
    students = {"student_1": 500, "student_2": 500, "student_3": 488, "student_4": 499, "student_5": 500}
    judges = dict.fromkeys(("gemini_flash", "gemini_pro", "gpt-4o", "gpt-4o-mini"), 500)
    assert raters(ratings) == students | {"student_6": 493} | judges
    assert set(ratings["item"]) == set(items["item"])
    assert items["item"].str.fullmatch(r"ISIC_\d{7}").all()
    assert set(ratings["criterion"]) == {"Asymmetry", "Border", "Color", "Dermo", "Blue"}
    assert set(ratings["status"]) == {"ok"}
    assert set(ratings.loc[ratings["method"] == "human", "rater"]) == {*students, "student_6"}


@needs_data
def test_wax_codes_are_places_in_the_code_book():
    items, ratings = data_sets.load_wax()
    people = {"3": 186, "4": 149, "5": 233, "6": 89, "7": 121, "8": 110, "9": 246, "10": 246}
    judges = ("gemini_flash", "gemini_pro", "gpt-4o", "gpt-4o-mini", "llama-31", "mistral-v03")
    assert raters(ratings) == people | dict.fromkeys(judges, 246)
    relations = sorted(set(ratings["label"]))
    assert len(relations) == 17
    assert [relations[int(score)] for score in ratings["score"]] == list(ratings["label"])
    assert set(ratings["scale"]) == {""}
    assert set(ratings["item"]) == set(items["item"])
    assert (items["cue"] + "__" + items["association"] + "__" + items["output"] == items["item"]).all()
    by_people = ratings[ratings["method"] == "human"]
    assert set(by_people.groupby("item", observed=True).size()) == {5, 6}
    assert "None-of-the-above" not in set(by_people["label"])


@pytest.mark.slow
@needs_data
def test_cje_arena_base():
    items, ratings = data_sets.load_cje_arena()
    assert raters(ratings) == {"judge": 4000, "oracle": 630}
    assert dict(items["system"].value_counts()) == dict.fromkeys(data_sets.CJE_POLICIES, 1000)
    assert items.groupby("group", observed=True)["system"].nunique().eq(4).all()
    base = side_by_side(ratings).loc[items.loc[items["system"] == "base", "item"]]
    assert dict(base.count()) == {"judge": 1000, "oracle": 480}
    both = base.dropna()
    # mean of the oracle, mean of the judge and their correlation, worked out by numpy from the file
    assert np.round(both["oracle"].mean(), 4) == 0.7541
    assert np.round(both["judge"].mean(), 4) == 0.8397
    assert np.round(both.corr().loc["judge", "oracle"], 3) == 0.390


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize(
    # mean of oracle less judge on the 50 items of each probe, and its t against 0
    ("policy", "mean", "t"),
    [("clone", -0.0868, -3.06), ("unhelpful", -0.1334, -5.25), ("parallel_universe_prompt", -0.0636, -2.95)],
)
def test_cje_arena_probes(policy, mean, t):
    items, ratings = data_sets.load_cje_arena()
    probe = side_by_side(ratings).loc[items.loc[items["system"] == policy, "item"]].dropna()
    residual = probe["oracle"] - probe["judge"]
    assert len(residual) == 50
    assert np.round(residual.mean(), 4) == mean
    assert np.round(residual.mean() / residual.sem(), 2) == t


@pytest.mark.slow
@needs_data
def test_cje_arena_probes_are_answers_of_their_policy():
    answers = data_sets.load_cje_arena()[0].set_index("item")["output"]
    for policy in data_sets.CJE_POLICIES[1:]:
        probe = data_sets.cje_records(f"probe_slice/{policy}_probe.jsonl")
        assert all(answers[f"{record['prompt_id']}__{policy}"] == record["response"] for record in probe)


@pytest.mark.slow
@needs_data
def test_ballots():
    items, ratings = data_sets.load_ballots()
    assert raters(ratings) == {"machine": 79177, "human": 1027}
    votes = side_by_side(ratings)
    both = votes.dropna()
    assert list(both.index) == list(items["item"].head(1027))
    assert np.round((both["machine"] == both["human"]).mean(), 3) == 0.991
    # the point estimate of ppi_py 0.2.3 at lambda 1: mean of the machine on the rest, and what it misses
    rest = votes.loc[votes["human"].isna(), "machine"].mean()
    assert np.isclose(rest + (both["human"] - both["machine"]).mean(), 0.6211498248)


@needs_data
def test_forest_badmodel():
    _, ratings = data_sets.load_forest_badmodel()
    assert raters(ratings) == {"human": 1596, "machine": 1596}
    seen = side_by_side(ratings)
    assert np.round(seen.corr().loc["human", "machine"], 2) == -0.05
    assert seen.sum().to_dict() == {"human": 249, "machine": 33}
