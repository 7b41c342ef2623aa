"""Scores that are compared for the same value: what cannot be one scale is refused, what people have goes through."""

import itertools
import os

import numpy as np
import pytest

from calib.analysis.agreement.scales import refuse_other_scale, scale_caution
from calib.stats import (
    CalibWarning,
    agreement,
    alternative_annotator_test,
    compare,
    convergence,
    icc,
    krippendorff_alpha,
    label_ceiling,
    rank_judges,
    reliability,
)

needs_data = pytest.mark.skipif(not os.environ.get("CALIB_DATA"), reason="needs the real data: set CALIB_DATA")
VALUED = ("kappa", "exact", "adjacent")
PEOPLE = np.random.default_rng(1).integers(1, 6, 60).astype(float)
RNG = np.random.default_rng(2)
NOISE = RNG.normal(size=60)
TWO_SCALES = {
    "0..100": np.clip(25 * (PEOPLE - 1) + 8 * NOISE, 0, 100).round(),
    "0..100, never low": np.clip(60 + 8 * PEOPLE + 3 * NOISE, 0, 100).round(),
    "0..100, harsh": np.clip(10 + 12 * (PEOPLE - 1) + 5 * NOISE, 0, 100).round(),
    "0..1": np.clip((PEOPLE - 1) / 4 + 0.1 * NOISE, 0, 1),
    "yes or no": (PEOPLE > 3).astype(float),
    "0..1000": 200.0 * PEOPLE,
    "log probabilities": -20 - 5 * PEOPLE + NOISE,
}
ONE_SCALE = {
    "never 1": np.clip(PEOPLE + 1, 2, 5),
    "4 and 5 alone": np.where(PEOPLE > 3, 5.0, 4.0),
    "a constant": np.full(60, 1.0),
    "halves": np.clip(np.round(2 * PEOPLE + NOISE) / 2, 1, 5),
    "means of three": np.clip(np.round(3 * PEOPLE + NOISE) / 3, 1, 5),
    "expectations": 3 + 0.3 * (PEOPLE - 3) + 0.05 * NOISE,
    "narrow expectations": 1 + 0.03 * PEOPLE,
    "reversed": 6 - PEOPLE,
    "unread as 0": np.where(NOISE > 1, 0.0, PEOPLE),
}


@pytest.mark.parametrize("name", sorted(TWO_SCALES))
@pytest.mark.parametrize("coefficient", VALUED)
def test_two_scales_are_refused_and_named(name, coefficient):
    judge = TWO_SCALES[name]
    ends = f"goes from {judge.min():g} to {judge.max():g}, `y` from 1 to 5"
    with pytest.raises(ValueError) as caught:
        agreement(judge, PEOPLE, method=coefficient)
    assert str(caught.value) == f"`x` must be on the scale of `y` for {coefficient!r}, but {ends}."
    with pytest.raises(ValueError, match="`x` must be on the scale of `y`"):
        agreement(PEOPLE, judge, method=coefficient)
    assert np.isfinite(agreement(judge, PEOPLE).estimate)  # an order needs no scale


@pytest.mark.parametrize("name", sorted(TWO_SCALES))
def test_every_function_refuses_two_scales(name):
    judge, table = TWO_SCALES[name], np.column_stack([PEOPLE, 6 - PEOPLE, PEOPLE])
    for function, arguments, options, argument in (
        (compare, (PEOPLE, judge, PEOPLE), {"method": "kappa"}, "x2"),
        (rank_judges, ({"a": judge, "b": PEOPLE}, PEOPLE), {"method": "exact"}, "x"),
        (label_ceiling, (table, judge), {"method": "exact"}, "judge"),
        (alternative_annotator_test, (judge, table), {}, "judge"),
        (alternative_annotator_test, (judge, table), {"score": "accuracy"}, "judge"),
        (krippendorff_alpha, (np.column_stack([table, judge]),), {}, "ratings"),
        (icc, (np.column_stack([judge, table]),), {}, "ratings"),
        (reliability, (np.column_stack([judge, table]),), {}, "ratings"),
        (convergence, (np.column_stack([judge, judge]),), {"labels": PEOPLE, "coefficient": "kappa"}, "samples"),
    ):
        with pytest.raises(ValueError, match=f"`{argument}` must be on (one scale|the scale of)"):
            function(*arguments, **options)


def test_the_annotator_test_no_longer_gives_0_for_a_judge_in_percent():
    table = np.column_stack([PEOPLE, PEOPLE, np.clip(PEOPLE + 1, 1, 5)])
    assert alternative_annotator_test(PEOPLE, table).winning_rate == 1
    with pytest.raises(ValueError, match=r"goes from 0 to 100, `ratings` from 1 to 5"):
        alternative_annotator_test(25 * (PEOPLE - 1), table)


@pytest.mark.filterwarnings("ignore:unlike_ranges")
@pytest.mark.parametrize("name", sorted(ONE_SCALE))
@pytest.mark.parametrize("coefficient", VALUED)
def test_what_people_have_goes_through(name, coefficient):
    judge = ONE_SCALE[name]
    for x, y in itertools.product((judge, np.clip(judge, 2, 4)), (PEOPLE, np.clip(PEOPLE, 2, 4))):
        assert agreement(x, y, method=coefficient).n == agreement(y, x, method=coefficient).n == 60
    table = np.column_stack([PEOPLE, judge, np.clip(PEOPLE, 2, 4)])
    assert krippendorff_alpha(table).n == alternative_annotator_test(judge, table).n == 60


@pytest.mark.parametrize("n", [2, 3, 5, 10, 100])
def test_standardised_scores_and_scores_in_percent_go_through(n):
    rng = np.random.default_rng(n)
    for _ in range(300):
        z, other = rng.normal(size=(2, n))
        percent = np.clip(60 + 25 * z, 0, 100), np.clip(65 + 15 * other, 0, 100)
        for pair in ((z, other), (z, 0.2 * other), percent, tuple(v / 100 for v in percent)):
            refuse_other_scale("x", pair[0], "y", pair[1], "")


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (2 * PEOPLE, PEOPLE),  # 1..10 with 1..5
        ((PEOPLE - 3) / 1.4, PEOPLE),  # standardised with raw
        (2.5 * (PEOPLE - 1), PEOPLE),  # 0..10 with 1..5
        (np.clip((PEOPLE - 1) / 4, 0.05, 0.95), np.where(PEOPLE > 3, 3.0, np.clip(PEOPLE, 1, 2))),  # 0..1 with 1..3
    ],
)
def test_what_the_values_leave_open_is_said(x, y):
    with pytest.warns(CalibWarning, match="unlike_ranges"):
        result = agreement(x, y, method="kappa")
    assert result.warnings[-1].startswith("unlike_ranges: the scores go from ")
    assert f"{y.min():g} to {y.max():g}, and 'kappa' asks for one scale" in result.warnings[-1]
    assert "unlike_ranges" not in str(agreement(x, y).warnings)
    table = np.column_stack([y, np.roll(y, 1), y])
    for function, options in ((alternative_annotator_test, {}), (compare, {"method": "exact"})):
        arguments = (x, table) if function is alternative_annotator_test else (y, x, y)
        with pytest.warns(CalibWarning, match="unlike_ranges: the scores go from "):
            assert function(*arguments, **options).warnings[0].startswith("unlike_ranges")
    with pytest.warns(CalibWarning, match="'exact' asks for one scale"):
        label_ceiling(table, x, method="exact")


@pytest.mark.parametrize("name", ["never 1", "halves", "means of three", "reversed", "4 and 5 alone", "a constant"])
def test_nothing_is_said_of_usual_scores(name):
    assert scale_caution("kappa", ONE_SCALE[name], PEOPLE) == scale_caution("exact", PEOPLE, ONE_SCALE[name]) == ()


# --- tables -----------------------------------------------------------------------------------------------------


def scored(values, scale="", rater="human"):
    calib, pd = pytest.importorskip("calib"), pytest.importorskip("pandas")
    frame = pd.DataFrame({"item": [f"i{k}" for k in range(len(values))], "score": values})
    return calib.scores_from(frame, criterion="fluency", rater=rater, scale=scale)


LIKERT = "1|2|3|4|5"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("judge", "scale", "given"),
    [
        (TWO_SCALES["0..100"], "0..100", "scores are on '0..100' and labels on '1|2|3|4|5'"),
        (2 * PEOPLE, "1..10", "scores are on '1..10' and labels on '1|2|3|4|5'"),
        (PEOPLE - 1, "0|1|2|3|4", "scores are on '0|1|2|3|4' and labels on '1|2|3|4|5'"),
        (2 * PEOPLE, "", "'1|2|3|4|5', but scores have "),
        (PEOPLE - 1, "", "'1|2|3|4|5', but scores have 0"),
    ],
)
@pytest.mark.parametrize("method", ["kappa", "exact", "adjacent", "kappa_nominal"])
def test_tables_know_their_scales(judge, scale, given, method):
    calib = pytest.importorskip("calib")
    mine, people = scored(judge, scale, "judge"), scored(PEOPLE, LIKERT)
    with pytest.raises(ValueError, match="fluency, judge, human: scores and labels must be on one scale") as caught:
        calib.agreement(mine, people, method=method)
    assert given in str(caught.value) and f"for {method!r}" in str(caught.value)
    other = scored(PEOPLE, LIKERT, "other")
    for verb, tables in (
        (calib.compare, (other, mine, people)),
        (calib.rank_judges, (calib.table.check_scores(__import__("pandas").concat([other, mine])), people)),
    ):
        with pytest.raises(ValueError, match="must be on one scale"):
            verb(*tables, method=method)
    assert np.isfinite(calib.agreement(mine, people).one().estimate)


def test_tables_on_one_scale_are_not_guessed_at():
    calib = pytest.importorskip("calib")
    # the values alone would look like two scales
    percent, low = scored(TWO_SCALES["0..100"], "0..100", "judge"), scored(PEOPLE, "0..100")
    result = calib.agreement(percent, low, method="exact").one()
    assert result.warnings == () and result.estimate < 0.1
    assert calib.compare(percent, scored(PEOPLE, "0..100", "b"), low, method="kappa").one().n == 60
    with pytest.raises(ValueError, match="`scores` must be on the scale of `labels` for 'exact'"):
        calib.agreement(scored(TWO_SCALES["0..100"], "", "judge"), scored(PEOPLE), method="exact")
    ends = scored(PEOPLE, "1..5", "judge"), scored(PEOPLE, LIKERT)
    assert calib.agreement(*ends, method="exact").one().estimate == 1


def test_panels_are_on_one_scale():
    calib, pd = pytest.importorskip("calib"), pytest.importorskip("pandas")
    people = pd.concat([scored(np.roll(PEOPLE, k), LIKERT, f"p{k}") for k in range(3)])
    judge = scored(TWO_SCALES["0..100"], "0..100", "judge")
    with pytest.raises(ValueError, match=r"annotator test, but scores are on '0\.\.100' and labels on '1\|2"):
        calib.alternative_annotator_test(judge, people)
    with pytest.raises(ValueError, match="fluency: labels must be on one scale for people beside each other"):
        calib.reliability(pd.concat([people, judge]))
    assert np.isfinite(calib.reliability(people, judge).one().ceiling.judge)
    with pytest.raises(ValueError, match="for 'exact', but scores are on"):
        calib.reliability(people, judge, method="exact")


# --- real data --------------------------------------------------------------------------------------------------

SETS = (
    "ballots", "cje_arena", "composo", "forest_badmodel", "hanna", "lesion", "llm_rubric", "llm_summeval",
    "summeval_judges", "topical_chat", "triviaqa_judges", "wax",
)  # fmt: skip


def columns_of(ratings):
    """The scores of each rater and prompt, per criterion, and the scale that they are said to be on."""
    ratings = ratings.dropna(subset=["score"]).assign(prompt=ratings.get("prompt", ""))
    for _, rows in ratings.groupby("criterion", observed=True):
        each = rows.groupby(["rater", "prompt"], observed=True)
        yield [(r.groupby("item", observed=True)["score"].mean(), str(r["scale"].iloc[0])) for _, r in each][:25]


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("size", [5, 15, None])
def test_no_two_raters_of_public_data_are_refused(name, size):
    datasets = pytest.importorskip("calib.datasets")
    load = getattr(datasets, f"load_{name}", None) or getattr(pytest.importorskip("data_sets"), f"load_{name}")
    ratings = next(t for t in load() if "rater" in t)
    rng, tried = np.random.default_rng(4), 0
    for columns in columns_of(ratings.assign(scale=ratings.get("scale", ""))):
        for (x, _), (y, _) in itertools.combinations(columns, 2):
            items = x.index.intersection(y.index)
            if len(items) > 1:
                some = items if size is None else items[rng.permutation(len(items))[:size]]
                refuse_other_scale("x", x[some].to_numpy(), "y", y[some].to_numpy(), "")
                tried += 1
    assert tried
