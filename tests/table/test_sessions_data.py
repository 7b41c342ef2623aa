"""Sessions: how often their interval holds on made-up ones, and what recorded data say of turns against wholes."""

import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calib
from calib.table import check_scores

DATA = Path(os.environ.get("CALIB_DATA", "nowhere"))
recorded = pytest.mark.skipif(not DATA.is_dir(), reason="recorded data: CALIB_DATA names no folder")


# --- made up ----------------------------------------------------------------------------------------------------------


def turns_of(rng, n_sessions, correlation):
    """Scores of 1 to 8 turns of each session: people's and a judge's, who is .3 too mild and errs by .8."""
    n = rng.integers(1, 9, n_sessions)
    session = np.repeat(np.arange(n_sessions), n)
    shared, own = rng.normal(size=n_sessions)[session], rng.normal(size=len(session))
    quality = 3.4 + np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
    judge = quality + 0.3 + 0.8 * rng.normal(size=len(session))
    return session, *(np.clip(np.rint(values), 1, 5) for values in (quality, judge))


def samples(rng, correlation, n_labelled, repeats):
    """As many samples of 100 sessions, each under a criterion of its own, with labels of the first few sessions."""
    parts = []
    for k in range(repeats):
        session, people, judge = turns_of(rng, 100, correlation)
        names = {"item": [f"{k}-{at}" for at in range(len(session))], "group": [f"{k}-s{one}" for one in session]}
        parts.append(pd.DataFrame({**names, "criterion": f"c{k}", "people": people, "judge": judge, "at": session}))
    every = pd.concat(parts, ignore_index=True).assign(scale="1|2|3|4|5")
    scores = every.rename(columns={"judge": "score"}).assign(rater="judge", method="sample")
    labels = every[every["at"] < n_labelled].rename(columns={"people": "score"}).assign(rater="ann", method="human")
    columns = ["item", "criterion", "rater", "method", "score", "scale"]
    return check_scores(scores[[*columns, "group"]]), check_scores(labels[columns])


def held(results, truth):
    return np.mean([one.interval.low <= truth <= one.interval.high for one in results])


@pytest.mark.slow
def test_the_interval_of_sessions_holds_with_few_labels_whatever_turns_share():
    rng, coverage, alone = np.random.default_rng(38), [], []
    for correlation in (0.0, 0.3, 0.6):
        session, people, _ = turns_of(np.random.default_rng(1), 200_000, correlation)
        truth = np.mean(np.bincount(session, people) / np.bincount(session))
        for n_labelled in (10, 50):
            scores, labels = samples(rng, correlation, n_labelled, 60)
            coverage.append(held(calib.interval(scores, labels, level="session"), truth))
        plain = calib.interval(scores, labels, groups=None, estimator="classical")
        alone.append(held(plain, np.mean(people)))
    # 360 intervals: .94 less three standard errors; above .995 they would be too long
    assert 0.94 - 3 * np.sqrt(0.94 * 0.06 / 360) <= np.mean(coverage) <= 0.995
    assert min(coverage) >= 0.85
    assert alone[-1] < 0.85  # turns taken as independent, where they share most


VALUES = {"mean": np.mean, "worst": np.min, "last": lambda turns: turns[-1]}


@pytest.mark.slow
@pytest.mark.long
def test_the_coverage_that_the_page_states():
    """Mean, worst and last turn, three correlations, 10, 25 and 50 labelled sessions: 300 samples of each."""
    rng, coverage = np.random.default_rng(7), []
    for correlation in (0.0, 0.3, 0.6):
        session, people, _ = turns_of(np.random.default_rng(1), 100_000, correlation)
        by_session = np.split(people, np.flatnonzero(np.diff(session)) + 1)
        truth = {turns: np.mean([value(one) for one in by_session]) for turns, value in VALUES.items()}
        for n_labelled in (10, 25, 50):
            scores, labels = samples(rng, correlation, n_labelled, 300)
            coverage += [held(calib.interval(scores, labels, level="session", turns=one), truth[one]) for one in truth]
    assert 0.965 <= np.mean(coverage) <= 0.985
    assert min(coverage) >= 0.94 - 2 * np.sqrt(0.94 * 0.06 / 300)


# --- recorded ---------------------------------------------------------------------------------------------------------


def summarized(tables):
    items, ratings = tables
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        human = ratings["method"] == "human"
        return calib.summarize(ratings[~human], items), calib.summarize(ratings[human], items, pool="rater")


@recorded
def test_llm_rubric_one_question_about_a_dialogue_against_eight_about_its_sides():
    """223 dialogues with labels of the whole (Q0): one call of GPT-3.5 against the mean of its eight other answers."""
    judge, people = summarized(calib.load_llm_rubric("synth"))
    whole, labels = (table[table["criterion"] == "Q0"] for table in (judge, people))
    sides = judge[judge["criterion"] != "Q0"].astype(dict.fromkeys(("item", "criterion"), str))
    sides = sides.assign(group=sides["item"], item=sides["item"] + "-" + sides["criterion"])
    parts = calib.to_sessions(sides.assign(criterion="Q0", rater="in parts"))
    assert (len(whole), len(sides), len(parts)) == (225, 1800, 225)
    result = calib.compare(whole, parts, labels).one()
    assert (result.first, result.second) == pytest.approx((0.3465, 0.0475), abs=5e-4)
    assert (result.interval.low, result.interval.high) == pytest.approx((0.147, 0.449), abs=2e-3)


@recorded
def test_topical_chat_replies_against_the_six_of_a_dialogue():
    """Six systems' replies to each of 60 dialogues: a group is no better agreed on, as systems differ within it."""
    judge, people = (table.drop(columns="system") for table in summarized(calib.load_topical_chat()))
    judge, people = (table[table["criterion"] == "engagingness"] for table in (judge, people))
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
