"""Sessions: the study of their interval is that of the verb, and what recorded data say of turns against wholes."""

import importlib.util
import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calib
from calib.stats import ppi_mean
from calib.table import check_scores

DATA = Path(os.environ.get("CALIB_DATA", "nowhere"))
STUDY = Path(__file__).parents[2] / "paper_repro" / "conversations" / "interval.py"


@pytest.fixture
def study(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    spec = importlib.util.spec_from_file_location("interval", STUDY)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def tables(session, people, judge, n_labelled):
    frame = pd.DataFrame({"item": [f"t{at}" for at in range(len(session))], "criterion": "tone", "scale": "1|2|3|4|5"})
    names = [f"s{one}" for one in session]
    scores = check_scores(frame.assign(score=judge, rater="judge", method="sample", group=names))
    return scores, check_scores(frame.assign(score=people, rater="ann", method="human")[session < n_labelled])


def test_the_intervals_of_the_study_are_those_of_the_verb(study):
    session, people, judge = study.turns_of(np.random.default_rng(3), 100, 0.3)
    scores, labels = tables(session, people, judge, 25)
    by_hand = pd.DataFrame({"session": session, "people": people, "judge": judge}).groupby("session")
    for turns, name in {"mean": "mean", "worst": "min", "last": "last"}.items():
        y, f = (study.of_sessions(values, session, turns) for values in (people, judge))
        assert np.allclose(f, by_hand["judge"].agg(name), rtol=0, atol=1e-12)
        y[25:] = np.nan
        ends = ppi_mean(y, f, bounds=(1, 5), step=1).interval
        got = calib.interval(scores, labels, level="session", turns=turns).one()
        assert got.interval == pytest.approx(ends, abs=1e-9)
    y = np.where(session < 25, people, np.nan)
    clustered = ppi_mean(y, judge, bounds=(1, 5), step=1, groups=session).interval
    assert calib.interval(scores, labels).one().interval == pytest.approx(clustered, abs=1e-9)


def test_the_rates_of_the_study_hold():
    rates = pd.read_csv(STUDY.with_name("interval.csv"))
    sessions = rates[rates["part"] == "sessions"]
    assert len(sessions) == 27 and sessions["runs"].min() >= 2000
    assert sessions["rate"].min() >= 0.94
    alone = rates[(rates["design"] == "independent") & (rates["correlation"] == 0.6)]
    assert alone["rate"].max() < 0.85


@pytest.mark.skipif(not DATA.is_dir(), reason="recorded data: CALIB_DATA names no folder")
def test_topical_chat_replies_against_the_six_of_a_dialogue():
    """Six systems' replies to each of 60 dialogues: a group is no better agreed on, as systems differ within it."""
    items, ratings = calib.load_topical_chat()
    human = ratings["method"] == "human"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both = calib.summarize(ratings[~human], items), calib.summarize(ratings[human], items, pool="rater")
    judge, people = (table[table["criterion"] == "engagingness"].drop(columns="system") for table in both)
    single = calib.agreement(judge, people, method="pearson", rng=1).one()
    means, worst = (
        calib.agreement(judge, people, level="session", turns=turns, method="pearson", rng=1).one()
        for turns in ("mean", "worst")
    )
    assert (single.estimate, means.estimate, worst.estimate) == pytest.approx((0.551, 0.407, 0.383), abs=1e-3)
    assert (single.n_groups, means.n) == (60, 56)  # a reply that could not be read leaves its dialogue out
    few = people[people["group"].isin(sorted(set(people["group"]))[:30])]
    of_sessions = calib.interval(judge, few, level="session").one()
    assert of_sessions.interval.low < people["score"].mean() < of_sessions.interval.high
