"""Forecasts on tables: ratings, scores, calibrations, files of one's own."""

import numpy as np
import pandas as pd
import pytest

import calib
from calib.stats import corp, forecast_quality

LEVELS = [1, 2, 3, 4, 5]


@pytest.fixture(scope="module")
def planted():
    items, people = calib.load_planted()
    judge = calib.Judge("offline", method="logprob")
    ratings = calib.rate(items, calib.geval_prompt("coherence"), judge, progress=False)
    return items, ratings, calib.summarize(people, items)


def test_ratings_are_judged_by_their_chances_and_scores_as_numbers(planted):
    items, ratings, people = planted
    told = calib.forecast_quality(ratings, people).one()
    plain = calib.forecast_quality(calib.summarize(ratings, items), people).one()
    assert (told.kind, plain.kind) == ("distribution", "number")
    rows = people[people["criterion"] == "coherence"]
    wide = ratings.pivot_table(index="item", columns="score", values="weight", aggfunc="sum", fill_value=0.0)
    p = wide.reindex(index=rows["item"], columns=[1.0, 2, 3, 4, 5], fill_value=0.0).to_numpy()
    by_hand = forecast_quality(p, rows["score"], LEVELS, groups=rows["group"], weights=np.full(len(rows), 1 / 3))
    assert told.rps == pytest.approx(by_hand.rps)
    assert told.interval == pytest.approx(by_hand.interval)
    assert told.n == len(rows)
    x = calib.summarize(ratings, items).set_index("item")["score"].reindex(rows["item"])
    assert plain.rps == pytest.approx(np.abs(x.to_numpy() - rows["score"].to_numpy()).mean() / 4)


def test_a_calibration_is_judged_by_its_cross_fitted_forecasts(planted):
    items, ratings, people = planted
    scores = calib.summarize(ratings, items)
    few = people[people["group"].isin(sorted(set(people["group"]))[:12])]
    calibration = calib.calibrate(scores, few)
    named = calib.forecast_quality(calibration, few).one()
    applied = calib.forecast_quality(calibration.apply(scores), few).one()
    assert named.rps == pytest.approx(applied.rps, abs=1e-12)
    assert named.interval == pytest.approx(applied.interval)
    own = calib.forecast_quality(calibration).one()
    assert any(text.startswith("mean_labels") for text in own.warnings)
    assert own.n == few[few["criterion"] == "coherence"]["item"].nunique()
    one = few[few["rater"] == "simulated-1"]
    single = calib.calibrate(scores, one)
    with_labels, without = (calib.forecast_quality(single, gold).one() for gold in (one, None))
    assert with_labels.rps == pytest.approx(without.rps)
    with pytest.raises(calib.table.TableError, match="none is; of other items judge"):
        calib.forecast_quality(calibration, people[~people["item"].isin(few["item"])])


def test_another_scale_is_refused_with_what_to_do(planted):
    items, ratings, people = planted
    scores = calib.summarize(ratings, items)
    for scale in ("0..50", ""):
        ten = scores.assign(score=10 * scores["score"], scale=scale, low=np.nan, high=np.nan)
        with pytest.raises(calib.table.TableError, match=r"people's scale, 1 to 5.*calibrate it first, and judge"):
            calib.forecast_quality(ten, people)


def test_each_system_on_its_own_and_groups_change_the_interval(planted):
    items, ratings, people = planted
    parts = calib.forecast_quality(ratings, people, by="system")
    assert len(parts) == items["system"].nunique()
    assert sum(part.n for part in parts) == (people["criterion"] == "coherence").sum()
    grouped, alone = (calib.forecast_quality(ratings, people, groups=g).one() for g in ("group", None))
    assert grouped.n_groups == 24 < alone.n_groups
    assert grouped.interval != alone.interval


def test_a_file_of_ones_own_and_two_levels():
    frame = pd.DataFrame({"judge": [0.9, 0.2, 0.6, 0.1] * 6, "people": [1, 0, 1, 0, 1, 1] * 4})
    found = calib.forecast_quality(frame, scale="0|1").one()
    by_hand = corp(frame["judge"], frame["people"])
    assert found.rps == pytest.approx(by_hand.score)
    assert found.corp.mcb == pytest.approx(by_hand.mcb)


def test_hostile_names_come_through(planted, tmp_path):
    items, ratings, people = planted
    bad = "<script>\x1b[31m=1+1\u202e"
    scores = calib.summarize(ratings, items).assign(rater=bad)
    results = calib.forecast_quality(scores, people)
    page = results.report(tmp_path / "page.html")
    assert "<script>\x1b" not in (tmp_path / "page.html").read_text()
    assert page is not None
    calib.plot.corp(results)
