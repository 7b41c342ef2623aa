"""Mantel-Haenszel and Mantel: reference values, another package, edges."""

import math

import numpy as np
import pytest

import calib
from calib.core.check import ArgumentError
from calib.stats import mantel, mantel_haenszel

# calibration.md, G10: the judge's own family of systems on TriviaQA; odds ratio and interval
FAMILIES = {
    "Llama-7B": (("llama2-7b",), 0.9317, (0.7338, 1.1831)),
    "Llama-13B": (("llama2-13b",), 0.9286, (0.7161, 1.2040)),
    "Mistral-7B": (("mistral-7b",), 1.0729, (0.7866, 1.4633)),
    "GPT-4": (("gpt-4t",), 1.3508, (0.7958, 2.2927)),
}
LLAMA = [[[206, 169], [451, 335]], [[420, 5], [1588, 26]]]
# G9: Mantel's z on SummEval, GPT-4o's coherence within the median label
SYSTEMS = {"M11": -8.03, "M9": -1.33, "M23": 2.07, "M20": -13.66, "M17": 5.35, "M1": 2.70}


def loaded(name):
    pytest.importorskip("pandas")
    try:
        return getattr(calib.datasets, name)()
    except calib.datasets.DatasetError as error:
        pytest.skip(str(error))


def tables_of(judge):
    items, ratings = loaded("load_triviaqa_judges")
    said = ratings.astype({"rater": str, "item": str}).pivot(index="item", columns="rater", values="score")
    systems = items.astype({"item": str, "system": str}).set_index("item")["system"].loc[said.index]
    own = systems.str.startswith(FAMILIES[judge][0]).to_numpy()
    at = [((said[judge] == yes) & (own == mine) & (said["human"] == label)).sum()
          for label in (0, 1) for mine in (True, False) for yes in (1, 0)]  # fmt: skip
    return np.reshape(at, (2, 2, 2)).tolist()


@pytest.mark.parametrize("judge", FAMILIES)
def test_self_preference_on_triviaqa_is_the_reference(judge):
    _, ratio, interval = FAMILIES[judge]
    tables = tables_of(judge)
    found = mantel_haenszel(tables)
    assert found.odds_ratio == pytest.approx(ratio, abs=5.1e-5)
    assert tuple(found.interval) == pytest.approx(interval, abs=5.1e-5)
    assert found.ets_class == "A"
    if judge == "Llama-7B":
        assert tables == LLAMA
        assert (found.chi2, found.breslow_day) == pytest.approx((0.267, 0.69), abs=5.1e-3)
    if judge == "Mistral-7B":
        assert (found.breslow_day, found.p_breslow_day) == pytest.approx((3.19, 0.074), abs=5.1e-3)
    if judge == "GPT-4":
        assert found.delta == pytest.approx(-0.707, abs=5.1e-4)
        assert (found.log_std_error, found.smallest) == pytest.approx((0.27, 2.1), abs=0.05)


@pytest.mark.parametrize("system", SYSTEMS)
def test_mantels_z_on_summeval_is_the_reference(system):
    items, ratings = loaded("load_summeval_judges")
    rows = ratings[ratings["criterion"] == "coherence"].astype({"rater": str, "item": str})
    table = rows.pivot(index="item", columns="rater", values="score")
    systems = items.astype({"item": str, "system": str}).set_index("item")["system"].loc[table.index]
    label = table[["e0", "e1", "e2"]].median(axis=1)
    assert mantel(table["gpt-4o"], systems == system, label).z == pytest.approx(SYSTEMS[system], abs=5.1e-3)


def test_it_is_the_stratified_table_of_statsmodels():
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    rng = np.random.default_rng(0)
    for _ in range(20):
        t = rng.integers(1, 60, (rng.integers(1, 6), 2, 2))
        theirs, mine = tables.StratifiedTable(list(t.transpose(1, 2, 0).transpose(2, 0, 1))), mantel_haenszel(t)
        low, high = theirs.oddsratio_pooled_confint()
        assert (mine.odds_ratio, *mine.interval) == pytest.approx((theirs.oddsratio_pooled, low, high), rel=1e-9)
        corrected, plain = (theirs.test_null_odds(correction=c) for c in (True, False))
        if abs(t[:, 0, 0].sum() - (t.sum(axis=2)[:, 0] * t.sum(axis=1)[:, 0] / t.sum(axis=(1, 2))).sum()) > 0.5:
            # below a half the correction is all of it, which is statsmodels' not
            assert (mine.chi2, mine.p_value) == pytest.approx((corrected.statistic, corrected.pvalue), rel=1e-9)
        assert (mine.chi2_plain, mine.p_plain) == pytest.approx((plain.statistic, plain.pvalue), rel=1e-9)
        if len(t) > 1:
            day = theirs.test_equal_odds()
            assert (mine.breslow_day, mine.p_breslow_day) == pytest.approx((day.statistic, day.pvalue), rel=1e-6)


def test_of_two_values_mantel_is_mantel_haenszel():
    score = np.r_[
        np.ones(206), np.zeros(169), np.ones(451), np.zeros(335), np.ones(420), np.zeros(5), np.ones(1588), np.zeros(26)
    ]
    focal = np.r_[np.ones(375), np.zeros(786), np.ones(425), np.zeros(1614)]
    found = mantel(score, focal, np.r_[np.zeros(1161), np.ones(2039)])
    assert found.z**2 == pytest.approx(mantel_haenszel(LLAMA).chi2_plain)


def test_classes_of_testing_services():
    small, middle, large = ([[[200, 200], [int(200 * r), 200]]] for r in (1.2, 1.7, 3.0))
    assert [mantel_haenszel(t).ets_class for t in (small, middle, large)] == ["A", "B", "C"]


def test_an_odds_ratio_without_an_end_has_no_interval():
    found = mantel_haenszel([[[10, 0], [5, 5]]])
    assert found.odds_ratio == math.inf
    assert math.isnan(found.interval.low)
    assert found.ets_class == ""
    assert found.p_value < 0.05


def test_strata_with_one_kind_of_items_tell_nothing():
    assert mantel_haenszel([*LLAMA, [[0, 0], [10, 10]]]) == mantel_haenszel(LLAMA)


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ([[1, 2], [3, 4]], "must have 3 dimensions"), ([[[1, 2, 3], [3, 4, 5]]], "must have shape"),
        ([[[1, -2], [3, 4]]], "must be counts"), ([[[0, 0], [3, 4]]], "a stratum with both kinds"),
    ],
)  # fmt: skip
def test_other_tables_are_refused(tables, words):
    with pytest.raises(ArgumentError, match=words):
        mantel_haenszel(tables)


def test_mantel_refuses_what_has_no_answer():
    with pytest.raises(ArgumentError, match="`focal` must be 1 for the items"):
        mantel([1, 2], [1, 2], [0, 0])
    with pytest.raises(ArgumentError, match="both kinds of items"):
        mantel([1, 2], [1, 0], [0, 1])
    assert mantel([1, math.nan, 2, 3], [1, 1, 0, 0], [0, 0, 0, 0]).n == 3
