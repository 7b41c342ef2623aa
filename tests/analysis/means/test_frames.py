"""The verbs on tables: summaries with known numbers, alignment by key, counts, and the same results as on arrays."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings, strategies as st
from pandas.testing import assert_frame_equal

import calib
from calib import stats
from calib.analysis.means.frames import Results
from calib.core.check import CalibWarning
from calib.table import TableError

NAN = math.nan
FIVE = "1|2|3|4|5"


def logprob_rows(*rows: tuple) -> pd.DataFrame:
    """Ratings of a judge from token probabilities: item, score, weight and what else there is."""
    names = ["item", "score", "weight", "status", "low", "high"]
    frame = pd.DataFrame([(*row, *["ok", NAN, NAN][len(row) - 3 :]) for row in rows], columns=names)
    return frame.assign(criterion="coherence", rater="judge", method="logprob", scale=FIVE)


def drawn(*rows: tuple, rater: str = "judge", **columns: object) -> pd.DataFrame:
    """Ratings of a sampled judge: item, draw, score."""
    frame = pd.DataFrame(rows, columns=["item", "draw", "score"])
    return frame.assign(criterion="coherence", rater=rater, method="sample", scale=FIVE, **columns)


def one_row(ratings: pd.DataFrame, **options: object) -> pd.Series:
    scores = calib.summarize(ratings, **options)
    assert len(scores) == 1
    return scores.iloc[0]


def cells(scores: pd.DataFrame, *names: str) -> list[tuple]:
    return list(scores[list(names)].astype(object).itertuples(index=False, name=None))


# --- summarize --------------------------------------------------------------------------------------------------


def test_the_textbook_examples():
    first, second, even = (
        logprob_rows(*[("a", score, p) for score, p in shares])
        for shares in ([(3, 0.42), (4, 0.40), (5, 0.10)], [(3, 0.10), (4, 0.55), (5, 0.25)], [(3, 0.5), (4, 0.5)])
    )
    assert one_row(first)["score"] == pytest.approx(3.36 / 0.92)
    assert round(one_row(first)["score"], 3) == 3.652
    assert round(one_row(second)["score"], 3) == 4.167
    assert one_row(even)["score"] == 3.5


def test_everything_that_a_summary_says():
    row = one_row(logprob_rows(("a", 3, 0.5), ("a", 4, 0.25), ("a", NAN, 0.05, "off_scale")))
    assert row["score"] == pytest.approx(10 / 3)
    assert row["sd"] == pytest.approx(math.sqrt(2 / 9))
    assert row["entropy"] == pytest.approx(-(2 / 3) * math.log(2 / 3) - (1 / 3) * math.log(1 / 3))
    assert row["mode"] == 3
    assert row["mass"] == pytest.approx(0.75)
    assert (row["n"], row["n_unread"]) == (1, 0)
    assert row["low"] == row["high"] == pytest.approx(10 / 3)
    assert (row["scale"], row["method"], row["rater"]) == (FIVE, "logprob", "judge")


def test_a_label_is_its_own_summary():
    people = pd.DataFrame({"item": ["a", "b"], "criterion": "fluency", "rater": "ann", "score": [4, 2]})
    scores = calib.summarize(people)
    assert cells(scores, "item", "score", "sd", "entropy", "mode", "n", "mass") == [
        ("a", 4.0, 0.0, 0.0, 4.0, 1, 1.0),
        ("b", 2.0, 0.0, 0.0, 2.0, 1, 1.0),
    ]


def test_draws_are_averaged_and_their_spread_is_that_of_one_draw():
    row = one_row(drawn(("a", 0, 3), ("a", 1, 3), ("a", 2, 5), ("a", 3, 5)))
    assert (row["score"], row["sd"], row["n"]) == (4.0, 1.0, 4)
    assert row["entropy"] == pytest.approx(math.log(2))


def test_chains_are_averaged_each_with_the_same_weight():
    rows = logprob_rows(("a", 1, 0.3), ("a", 2, 0.3), ("a", 5, 0.9)).assign(method="chain", draw=[0, 0, 1])
    row = one_row(rows)
    assert row["score"] == pytest.approx((1.5 + 5) / 2)
    assert row["mass"] == pytest.approx((0.6 + 0.9) / 2)
    assert row["n"] == 2


def test_two_runs_are_more_draws():
    runs = [drawn(("a", 0, 3), run="one"), drawn(("a", 0, 5), run="two")]
    row = one_row(pd.concat(runs))
    assert (row["score"], row["n"]) == (4.0, 2)


def test_what_could_not_be_read_is_counted_and_not_averaged():
    row = one_row(drawn(("a", 0, 4), ("a", 1, None), ("a", 2, 2), ("a", 3, None)))
    assert (row["score"], row["n"], row["n_unread"], row["mass"]) == (3.0, 2, 2, 0.5)
    row = one_row(drawn(("a", 0, None), ("a", 1, None), status=["refused", "truncated"]))
    assert (row["n"], row["n_unread"], row["mass"]) == (0, 2, 0.0)
    assert row[["score", "entropy", "sd", "mode", "low", "high"]].isna().all()


def test_unseen_mass_widens_the_bounds():
    row = one_row(logprob_rows(("a", 3, 0.6), ("a", 4, 0.3), ("a", NAN, 0.1, "unseen", 1, 5)))
    assert row["score"] == pytest.approx(3 / 0.9)
    assert row["low"] == pytest.approx(3.0 + 0.1)
    assert row["high"] == pytest.approx(3.0 + 0.5)


def test_ambiguous_mass_widens_the_bounds():
    row = one_row(logprob_rows(("a", 3, 0.6), ("a", NAN, 0.4, "ambiguous", 1, 5)))
    assert row["score"] == 3.0
    assert row["low"] == pytest.approx(0.6 * 3 + 0.4 * 1)
    assert row["high"] == pytest.approx(0.6 * 3 + 0.4 * 5)


@pytest.mark.slow
@given(
    st.lists(st.floats(0, 1), min_size=7, max_size=7).filter(lambda p: sum(p[:5]) > 0.01),
    st.lists(st.integers(1, 5), min_size=4, max_size=4),
)
@example([0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0], [1, 1, 1, 1])
@settings(deadline=None)
def test_the_expectation_lies_between_its_bounds(raw, ends):
    shares = [p / sum(raw) for p in raw]
    low, high = sorted(ends[:2]), sorted(ends[2:])
    rows = [("a", k + 1, p) for k, p in enumerate(shares[:5])]
    rows += [("a", NAN, shares[5], "ambiguous", *low), ("a", NAN, shares[6], "unseen", *high)]
    row = one_row(logprob_rows(*rows))
    assert row["low"] - 1e-9 <= row["score"] <= row["high"] + 1e-9


def test_items_bring_group_and_system():
    items = pd.DataFrame({"item": [1, 2, 3], "group": [10, 10, 11], "system": ["x", "y", "x"], "note": "n"})
    scores = calib.summarize(drawn((2, 0, 3), (1, 0, 4)), items)
    assert cells(scores, "item", "group", "system") == [("2", "10", "y"), ("1", "10", "x")]


def test_a_rated_item_that_is_not_among_the_items_is_an_error():
    with pytest.raises(TableError, match=r"^items: column `item`: must hold every rated item, but 'z' is missing\.$"):
        calib.summarize(drawn(("a", 0, 3), ("z", 0, 3)), pd.DataFrame({"item": ["a", "b"]}))


def test_raters_prompts_methods_and_temperatures_stay_apart():
    parts = [drawn(("a", 0, 3), temperature=t, prompt=p) for t in (0.5, 1.0) for p in ("p", "q")]
    parts += [drawn(("a", 0, 4), rater="other"), logprob_rows(("a", 5, 0.9))]
    assert len(calib.summarize(pd.concat(parts))) == 6


def test_the_order_of_the_rows_does_not_matter():
    rows = pd.concat([drawn(("a", 0, 3), ("b", 0, 1), ("a", 1, 5)), logprob_rows(("b", 2, 0.4), ("b", 3, 0.5))])
    shuffled = calib.summarize(rows.sample(frac=1, random_state=1))
    first = calib.summarize(rows)
    keys = ["item", "method"]
    plain = [t.astype(dict.fromkeys(keys, str)).sort_values(keys, ignore_index=True) for t in (first, shuffled)]
    assert_frame_equal(*plain, check_categorical=False)


def test_no_ratings_no_scores():
    assert len(calib.summarize(drawn(("a", 0, 3)).iloc[:0])) == 0


# --- pooling ----------------------------------------------------------------------------------------------------


def people(*rows: tuple) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["item", "rater", "score"]).assign(criterion="fluency", scale=FIVE)


def test_pooled_raters_have_equal_weight():
    table = people(("a", "ann", 1), ("a", "bob", 2), ("a", "cyd", 5), ("b", "ann", 4), ("b", "bob", None))
    scores = calib.summarize(table, pool="rater")
    assert cells(scores, "item", "rater", "score", "n", "n_unread") == [
        ("a", "mean of 3 raters", pytest.approx(8 / 3), 3, 0),
        ("b", "mean of 3 raters", 4.0, 1, 1),
    ]


def test_one_rater_pooled_keeps_the_name():
    assert calib.summarize(people(("a", "ann", 3)), pool="rater")["rater"].tolist() == ["ann"]


def test_pooled_raters_have_equal_weight_whatever_they_drew():
    one = drawn(("a", 0, 1), rater="ann")
    many = drawn(*[("a", draw, 5) for draw in range(20)], rater="bob")
    row = one_row(pd.concat([one, many]), pool="rater")
    assert row["score"] == 3.0
    assert row["n"] == 2


def test_pooling_by_anything_else_is_refused():
    with pytest.raises(ValueError, match=r"^`pool` must be one of 'rater', 'prompt', but got 'item'\.$"):
        calib.summarize(people(("a", "ann", 3)), pool="item")


# --- scores_from ------------------------------------------------------------------------------------------------

MINE = pd.DataFrame({"id": [1, 2, 3], "mark": ["4", "", "2"], "who": ["ann", "ann", "bob"], "doc": [7, 7, 8]})


def test_your_own_columns_make_scores():
    scores = calib.scores_from(MINE, item="id", score="mark", criterion="tone", rater="who", scale=FIVE, group="doc")
    read = scores[scores["n_unread"] == 0]
    assert cells(read, "item", "score", "criterion", "rater", "scale", "group") == [
        ("1", 4.0, "tone", "ann", FIVE, "7"),
        ("3", 2.0, "tone", "bob", FIVE, "8"),
    ]
    (unread,) = scores[scores["score"].isna()].itertuples()
    assert (unread.item, unread.rater, unread.n, unread.n_unread) == ("2", "ann", 0, 1)


@pytest.mark.parametrize("empty", ["", None, NAN, pd.NA])
def test_an_empty_label_is_left_out(empty):
    frame = pd.DataFrame({"item": ["a", "b"], "score": pd.Series([3, empty], dtype=object)})
    assert calib.scores_from(frame)["item"].tolist() == ["a"]


def test_defaults_of_scores_from():
    scores = calib.scores_from(pd.DataFrame({"item": ["a"], "score": [3]}))
    assert cells(scores, "criterion", "rater", "method", "scale") == [("quality", "human", "human", "")]
    assert not {"group", "system"} & set(scores)


THERE = "there are 'id', 'mark', 'who', 'doc'; calib.look says what its columns may be."
OF_FRAME = "must be a column of the frame, but got"


@pytest.mark.parametrize(
    ("options", "message"),
    [({}, f"`item` {OF_FRAME} 'item'; {THERE}"),
     ({"item": "id", "score": "rating"}, f"`score` {OF_FRAME} 'rating'; {THERE}"),
     ({"item": "id", "score": "mark", "group": "document"}, f"`group` {OF_FRAME} 'document'; {THERE}"),
     ({"item": "id", "score": "who"},
      "the frame: `scale` must name the words of column `who`, worst first, such as 'ann|bob' in the right order, but "
      "says nothing of 'ann' (2 times), 'bob' (once)."),
     ({"item": "id", "score": "mark", "scale": "1|2|3"},
      "the frame: column `mark`, row 0: must lie on the scale 1|2|3, but got '4'."),
     ({"item": "doc", "score": "id"},
      "the frame: column `doc`, row 1: must be there once for each rater and criterion, but '7' is in row 0, too "
      "(`rater` and `criterion` name the columns of these; of several systems each output is an item).")],
)  # fmt: skip
def test_what_scores_from_refuses(options, message):
    with pytest.raises(TableError, match=f"^{re.escape(message)}$"):
        calib.scores_from(MINE, **options)


@pytest.mark.parametrize(("name", "label"), [("human", "rater"), ("quality", "criterion")])
def test_a_default_is_not_looked_up_among_the_columns(name, label):
    frame = pd.DataFrame({"id": ["a", "b"], name: [4, 2]})
    assert calib.scores_from(frame, item="id", score=name)[label].tolist() == [name] * 2


def test_scores_from_leaves_the_frame_alone():
    before = MINE.copy()
    calib.scores_from(MINE, item="id", score="mark")
    assert_frame_equal(MINE, before)


# --- a judge, people, and a design of groups and systems --------------------------------------------------------

RNG = np.random.default_rng(20)
GROUPS, SYSTEMS = 12, 4
DESIGN = pd.DataFrame(
    [(f"{g}/{s}", f"g{g}", f"s{s}") for g in range(GROUPS) for s in range(SYSTEMS)], columns=["item", "group", "system"]
)
TRUTH = RNG.normal(3, 0.6, GROUPS).repeat(SYSTEMS) + np.tile(RNG.normal(0, 0.4, SYSTEMS), GROUPS)
X = TRUTH + RNG.normal(0, 0.4, len(TRUTH))
Y = TRUTH + RNG.normal(0, 0.3, len(TRUTH))


def scored(values: np.ndarray, rater: str, *, design: bool = True, **options: object) -> pd.DataFrame:
    frame = DESIGN if design else DESIGN[["item"]]
    return calib.scores_from(frame.assign(score=values), rater=rater, **options)


JUDGE, HUMAN = scored(X, "judge"), scored(Y, "ann")
GOLD = HUMAN.sample(20, random_state=3)


def frame_of(result: stats.Result) -> pd.DataFrame:
    return result.to_frame()


# --- agreement --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("option", "value"), [("interval", "none"), ("confidence_level", 0.8), ("constant", "zero")])
def test_options_of_agreement_are_handed_on(option, value):
    flat = scored(np.where(DESIGN["group"] == "g0", 3.0, X), "judge")
    result = calib.agreement(flat, HUMAN, level="group", **{option: value}).one()
    expected = stats.agreement(
        flat["score"], Y, groups=DESIGN["group"], systems=DESIGN["system"], level="group", **{option: value}
    )
    assert_frame_equal(frame_of(result), frame_of(expected))
    default = calib.agreement(flat, HUMAN, level="group").one()
    assert not frame_of(default).equals(frame_of(result))


def test_a_rater_is_compared_with_every_other_and_not_with_itself():
    raters = pd.concat([HUMAN, scored(X, "bob"), scored(TRUTH, "cyd")])
    labels = calib.agreement(raters, raters).labels
    pairs = [(label["rater"], label["against"]) for label in labels]
    assert sorted(pairs) == [(a, b) for a in ("ann", "bob", "cyd") for b in ("ann", "bob", "cyd") if a != b]
    both = calib.agreement(raters, raters)
    there, back = both.select(rater="ann", against="bob").one(), both.select(rater="bob", against="ann").one()
    assert there.estimate == pytest.approx(back.estimate)


def test_only_the_same_criterion_is_compared():
    two = pd.concat([JUDGE, scored(Y, "judge", criterion="tone")])
    labels = calib.agreement(two, pd.concat([HUMAN, scored(X, "ann", criterion="tone")])).labels
    assert [(label["criterion"], label["rater"], label["against"]) for label in labels] == [
        ("quality", "judge", "ann"),
        ("tone", "judge", "ann"),
    ]


def test_missing_scores_are_counted_apart():
    gaps = scored(X, "judge")
    gaps.loc[:4, "score"] = NAN
    results = calib.agreement(gaps, HUMAN)
    assert results.labels[0]["n_unmatched"] == 0
    assert (results.one().n, results.one().n_missing) == (len(DESIGN) - 5, 5)


def test_ratings_are_summarised_on_the_way():
    ratings = logprob_rows(("a", 3, 0.5), ("a", 4, 0.5), ("b", 1, 0.9), ("c", 5, 0.9), ("d", 2, 0.9))
    human = pd.DataFrame({"item": list("abcd"), "score": [3, 1, 4, 2]})
    human = calib.scores_from(human, criterion="coherence")
    through = calib.agreement(ratings.assign(draw=0), human).one()
    assert through.estimate == calib.agreement(calib.summarize(ratings), human).one().estimate


@pytest.mark.parametrize("level", ["group", "system"])
def test_a_level_without_its_column_is_an_error(level):
    hint = f"name it ({level}=, in a shell --{level}), or give the items to `summarize` (--items)."
    message = f"level {level!r} needs a column `{level}`: {hint}"
    with pytest.raises(TableError, match=f"^{re.escape(message)}$"):
        calib.agreement(scored(X, "judge", design=False), scored(Y, "ann", design=False), level=level)


SHARE = "scores and labels must share a criterion and differ in the rater (rater=, in a shell --column rater=), but "


@pytest.mark.parametrize(
    ("judge", "human", "message"),
    [(scored(X, "judge", criterion="tone"), HUMAN, f"{SHARE}scores have tone by judge and labels quality by ann."),
     (HUMAN, HUMAN, f"{SHARE}scores have quality by ann and labels quality by ann."),
     (JUDGE.assign(item=[f"x{i}" for i in range(len(JUDGE))]), HUMAN,
      "quality, judge, ann: `labels` must be of items with scores, but no item has both."),
     (JUDGE.drop(columns="score"), HUMAN, "`judge` must name the judge's scores"),
     (JUDGE, None, "`labels` must be given beside a table of calib's, which holds a judge's scores or people's labels "
      "and not both.")],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(judge, human, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        calib.agreement(judge, human)


def test_one_item_is_no_crash():
    assert math.isnan(calib.agreement(JUDGE.head(1), HUMAN).one().estimate)


def test_labels_tell_the_results_apart():
    prompts = pd.concat([JUDGE.assign(prompt="p"), JUDGE.assign(prompt="q")])
    labels = calib.agreement(HUMAN, prompts).labels
    assert len({str(label) for label in labels}) == 2


# --- results ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def results() -> Results:
    raters = pd.concat([JUDGE, scored(TRUTH, "other <b>judge</b>")])
    return calib.agreement(raters, HUMAN, level="group")


def test_results_are_a_sequence(results):
    assert len(results) == 2
    assert [r.level for r in results] == ["group", "group"]
    assert results[0] is results.results[0]
    assert results[-1:].one() is results[1]
    assert (results + results).results == results.results * 2
    assert isinstance(results[:1], Results)


def test_select_by_label(results):
    assert results.select(rater="judge").one() is results[0]
    assert results.select(rater="judge", against="ann", criterion="quality").one() is results[0]
    with pytest.raises(KeyError, match="no rater is 'nobody'; there are 'judge', 'other <b>judge</b>'"):
        results.select(rater="nobody")
    with pytest.raises(KeyError, match="no label is called 'judge'; there are criterion, rater, prompt, method"):
        results.select(judge="x")


def test_one_fails_naming_what_there_is(results):
    message = "one result was asked for, but there are 2 (take ['judge']): judge; other <b>judge</b>"
    with pytest.raises(ValueError, match=re.escape(message)):
        results.one()
    with pytest.raises(ValueError, match=r"^one result was asked for, but there are 0: none$"):
        results[:0].one()


def test_the_frame_has_labels_and_unrounded_numbers(results):
    frame = results.to_frame()
    assert list(frame["rater"]) == ["judge", "other <b>judge</b>"]
    assert frame["estimate"].tolist() == [r.estimate for r in results]
    assert (frame["conf_low"][0], frame["conf_high"][0]) == tuple(results[0].interval)
    assert list(results[:0].to_frame().columns) == []


def test_no_column_of_a_result_is_lost_to_a_label():
    for found in (
        calib.agreement(JUDGE, HUMAN),
        calib.interval(JUDGE, GOLD),
        calib.difference(JUDGE, GOLD, "s0", "s1", min_labels=2),
    ):
        own = found.one().to_frame().iloc[0]
        shown = found.to_frame().iloc[0]
        for name, value in own.items():
            assert shown[name] == value or (pd.isna(shown[name]) and pd.isna(value)), name


def test_results_show_themselves(results):
    lines = str(results).splitlines()
    assert lines[0] == f"quality, judge, ann: {results[0]}"
    assert repr(results) == f"<2 results>\n{results}"
    html = results._repr_html_()
    assert "<table" in html
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert "temperature" not in html  # a column without any value


# --- interval ---------------------------------------------------------------------------------------------------


def gold_and_rest(gold: pd.DataFrame, system: str | None = None) -> tuple:
    """What `interval` should hand to the arrays: labels with gaps, judge scores, groups."""
    rows = DESIGN.assign(x=X, y=pd.Series(Y).where(DESIGN["item"].isin(gold["item"])))
    rows = rows if system is None else rows[rows["system"] == system]
    return rows["y"], rows["x"], rows["group"]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "ppi", "ppi++", "classical", "judge_only"])
def test_interval_by_system_is_that_of_the_slice(method):
    results = calib.interval(JUDGE.sample(frac=1, random_state=5), GOLD, by="system", estimator=method, min_labels=2)
    assert sorted(label["system"] for label in results.labels) == ["s0", "s1", "s2", "s3"]
    for label, result in zip(results.labels, results, strict=True):
        y, f, _ = gold_and_rest(GOLD, label["system"])
        assert_frame_equal(frame_of(result), frame_of(stats.ppi_mean(y, f, estimator=method, min_labels=2)), rtol=1e-12)


def test_repeated_groups_are_not_independent():
    y, f, groups = gold_and_rest(GOLD)
    result = calib.interval(JUDGE, GOLD).one()
    assert_frame_equal(frame_of(result), frame_of(stats.ppi_mean(y, f, groups=groups)))
    alone = stats.ppi_mean(y, f)
    assert result.std_error != alone.std_error
    assert result.n_groups == GOLD["group"].nunique() < alone.n_groups


def test_groups_that_only_the_gold_has_are_not_dropped_in_silence():
    plain = scored(X, "judge", design=False)
    try:
        result = calib.interval(plain, GOLD).one()
    except ValueError:
        return
    assert result.n_groups == GOLD["group"].nunique()


def test_confidence_level_is_handed_on():
    wide, narrow = (calib.interval(JUDGE, GOLD, confidence_level=level).one().interval for level in (0.99, 0.8))
    assert wide.low < narrow.low < narrow.high < wide.high


def test_gold_without_a_judge_score_and_unread_items_are_counted():
    gaps = scored(X, "judge")
    gaps.loc[GOLD.index[:1].union(gaps.index.difference(GOLD.index)[:2]), "score"] = NAN
    results = calib.interval(gaps.drop(GOLD.index[1]), GOLD)
    assert (results.labels[0]["n_unmatched"], results.labels[0]["n_unread"]) == (1, 3)
    assert (results.one().n_labels, results.one().n) == (18, len(DESIGN) - 4)
    missing = GOLD.assign(score=GOLD["score"].where(np.arange(len(GOLD)) > 4))
    assert calib.interval(JUDGE, missing).one().n_labels == 15


@pytest.mark.parametrize("nothing", [None, np.nan, "", "  "])
def test_items_without_a_value_are_in_no_part(nothing):
    labelled = JUDGE["item"].isin(GOLD["item"])
    language = np.where(np.arange(len(JUDGE)) % 2, "de", "en").astype(object)
    language[np.flatnonzero(~labelled)[:3]] = nothing
    judge = JUDGE.assign(language=language)
    with pytest.warns(stats.CalibWarning, match=r"^without_value: 3 of 48 items have no 'language' and are in no part"):
        found = calib.interval(judge, GOLD, by="language", min_labels=2)
    assert {label["language"]: result.n for label, result in zip(found.labels, found, strict=True)} == (
        judge[judge["language"].isin(["de", "en"])].groupby("language").size().to_dict()
    )


def test_a_stray_column_is_no_part_of_the_result():
    assert_frame_equal(
        frame_of(calib.interval(JUDGE.assign(note="n", weight_of=3), GOLD).one()),
        frame_of(calib.interval(JUDGE, GOLD).one()),
    )


@pytest.mark.parametrize(
    ("judge", "labels", "options", "message"),
    [(JUDGE, pd.concat([GOLD, GOLD.assign(rater="bob")]), {},
      "`labels` must have one rater per criterion, but 'quality' has 'ann', 'bob'; pool them first (people's have the "
      "method 'human', and are pooled)."),
     (JUDGE, GOLD, {"by": "register"},
      "`by` must be a column of the scores, but got 'register'; there are 'group', 'system'; a column of the labels "
      "alone has to stand beside the scores, too (in a shell --items)."),
     (JUDGE.assign(mine=" "), GOLD, {"by": "mine"},
      "`by` must be a column with values, but 'mine' has none in 48 rows."),
     (JUDGE, GOLD.head(1), {}, "quality, judge, ann: `labels` must have labels in"),
     (JUDGE, HUMAN, {"estimator": "ppi"},
      "quality, judge, ann: `estimator` must be 'auto' or 'classical' where every item has a label"),
     (JUDGE, GOLD, {"estimator": "magic"}, "`estimator` must be one of 'auto', ")],
)  # fmt: skip
def test_what_interval_refuses(judge, labels, options, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        calib.interval(judge, labels, **options)


# --- difference -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "ppi", "classical", "judge_only"])
def test_difference_is_the_paired_one(method):
    sides = [DESIGN.assign(x=X, y=pd.Series(Y).where(DESIGN["item"].isin(GOLD["item"]))) for _ in range(2)]
    a, b = (side[side["system"] == name].set_index("group") for side, name in zip(sides, ("s0", "s2"), strict=True))
    expected = stats.ppi_difference(a["y"], b["y"], a["x"], b["x"], estimator=method, min_labels=2)
    results = calib.difference(JUDGE.sample(frac=1, random_state=2), GOLD, "s0", "s2", estimator=method, min_labels=2)
    found, wanted = frame_of(results.one()), frame_of(expected)
    numbers = wanted.select_dtypes("number").columns
    assert found[numbers].iloc[0].tolist() == pytest.approx(wanted[numbers].iloc[0].tolist(), nan_ok=True)
    assert results.labels[0]["system"] == "s0 - s2"
    assert results.labels[0]["n_unmatched"] == 0


def test_difference_turns_round():
    there, back = (calib.difference(JUDGE, GOLD, *pair, min_labels=2).one() for pair in (("s0", "s2"), ("s2", "s0")))
    assert there.estimate == pytest.approx(-back.estimate)
    assert there.p_value == pytest.approx(back.p_value)


def test_groups_that_one_system_did_not_answer_are_counted():
    fewer = JUDGE[~JUDGE["item"].isin(["0/0", "1/0"])]
    results = calib.difference(fewer, GOLD, "s0", "s2", min_labels=2)
    assert results.labels[0]["n_unmatched"] == 2
    assert results.one().n == GROUPS  # labels of one system alone count


@pytest.mark.parametrize(
    ("change", "names", "message"),
    [({}, ("s0", "s9"), "no scores of system 's9'; there are 's0', 's1', 's2', 's3'."),
     ({"group": "g0"}, ("s0", "s1"), "system 's0' must have one item per group, but has several in some."),
     (None, ("s0", "s1"), "a difference of systems needs a column of who answered: name it (system=, in a shell")],
)  # fmt: skip
def test_what_difference_refuses(change, names, message):
    tables = [table.drop(columns="system") if change is None else table.assign(**change) for table in (JUDGE, GOLD)]
    with pytest.raises(TableError, match=f"^{re.escape(message)}"):
        calib.difference(*tables, *names)


SINGLE = HUMAN[HUMAN["item"].isin([f"{g}/{s}" for s, groups in ((0, range(10)), (1, range(1, 12))) for g in groups])]


def test_labels_of_one_system_alone_count():
    result = calib.difference(JUDGE, SINGLE, "s0", "s1", min_labels=10).one()
    assert (result.n_paired, result.n_a_only, result.n_b_only, result.n_labels, result.n) == (9, 1, 2, 12, 12)
    assert "21 human labels of 12 inputs (9 pairs, 1 of the first and 2 of the second system alone)" in str(result)
    assert "judge scores of 12 inputs" in result.conclusion
    page = calib.report(calib.difference(JUDGE, SINGLE, "s0", "s1", min_labels=10)).text
    assert "inputs labelled 12" in page, "the table counts inputs, the sentence labels"
    assert "human labels 12" not in page
    paired = calib.difference(JUDGE, HUMAN, "s0", "s1").one()
    assert paired.is_paired
    assert f"from {paired.n_labels} pairs of human labels" in str(paired)
    assert f"from {paired.n_labels} pairs of human labels" in paired.conclusion
    frame = frame_of(result)
    assert frame[["n_paired", "n_a_only", "n_b_only"]].iloc[0].tolist() == [9, 1, 2]


def test_without_groups_nothing_is_paired():
    judge, gold = JUDGE.drop(columns="group"), SINGLE.drop(columns="group")
    result = calib.difference(judge, gold, "s0", "s1").one()
    assert (result.n_paired, result.n_a_only, result.n_b_only, result.n) == (0, 10, 11, 24)
    assert result.warnings[0] == (
        "nothing_paired: no column `group` says what both answered, so labels of s0 and s1 stand alone"
    )
    # two means that have nothing in common
    two = judge[judge["system"].isin(["s0", "s1"])]
    a, b = (calib.interval(two, gold, by="system").select(system=name).one() for name in ("s0", "s1"))
    assert result.estimate == pytest.approx(a.estimate - b.estimate)
    low = result.estimate - math.hypot(a.estimate - a.interval.low, b.interval.high - b.estimate)
    assert result.interval.low == pytest.approx(low)


def test_too_few_labels_of_a_system_are_counted():
    message = "`labels` must have 12 labels at least of each system (`min_labels` lowers that), but has 10 of 's0' and"
    with pytest.raises(ValueError, match=re.escape(message)):
        calib.difference(JUDGE, SINGLE, "s0", "s1", min_labels=12)


# --- convergence ------------------------------------------------------------------------------------------------

N, K = 30, 8
DRAWS = np.clip(np.rint(RNG.normal(RNG.uniform(1.5, 4.5, N)[:, None], 1.0, (N, K))), 1, 5)
EXACT = DRAWS.mean(axis=1) + RNG.normal(0, 0.1, N)


def sampled(draws: np.ndarray = DRAWS, **columns: object) -> pd.DataFrame:
    return drawn(*[(f"i{i}", d, draws[i, d]) for i in range(len(draws)) for d in range(draws.shape[1])], **columns)


def exact_scores(values: np.ndarray = EXACT, rater: str = "judge") -> pd.DataFrame:
    frame = pd.DataFrame({"item": [f"i{i}" for i in range(len(values))], "score": values})
    return calib.scores_from(frame, criterion="coherence", rater=rater)


def test_convergence_is_that_of_the_arrays_whatever_the_order():
    people = RNG.normal(3, 1, N)
    expected = stats.convergence(DRAWS, exact=EXACT, labels=people, rng=4, n_subsets=20)
    result = calib.convergence(
        sampled(), exact_scores().iloc[::-1], labels=exact_scores(people, "ann").sample(frac=1, random_state=1),
        rng=4, n_subsets=20,
    )  # fmt: skip
    assert_frame_equal(frame_of(result.one()), frame_of(expected))
    assert result.labels[0]["n_unmatched"] == 0


def test_convergence_without_an_exact_score_is_against_all_draws():
    result = calib.convergence(sampled(), rng=1).one()
    assert result.reference == "all draws"
    assert result.rmse[-1] == pytest.approx(0)


def test_items_without_an_exact_score_are_left_out_and_counted():
    results = calib.convergence(sampled(), exact_scores().head(25), rng=1)
    assert results.labels[0]["n_unmatched"] == 5
    assert results.one().n == 25


def test_unread_draws_stay_draws():
    gaps = DRAWS.copy()
    gaps[0] = gaps[1, 3] = NAN
    result = calib.convergence(sampled(gaps), exact_scores(), rng=1).one()
    assert (result.n, result.n_draws, result.n_unread) == (N, K, K + 1)


def test_two_runs_are_twice_the_draws():
    runs = pd.concat([sampled(run="one"), sampled(6 - DRAWS, run="two")])
    result = calib.convergence(runs, rng=1).one()
    assert result.n_draws == 2 * K
    assert result.rmse[0] > 0.5


def test_one_seed_one_result():
    one, again, other = (calib.convergence(sampled(), exact_scores(), rng=seed).one() for seed in (1, 1, 2))
    assert_frame_equal(frame_of(one), frame_of(again))
    assert not frame_of(one).equals(frame_of(other))


TWO = pd.concat([exact_scores(rater="ann"), exact_scores(rater="bob")])


@pytest.mark.parametrize(
    ("arguments", "labels", "message"),
    [((logprob_rows(("a", 3, 0.9)),), None, "`sampled` must hold ratings of method 'sample', but has none."),
     ((sampled(), exact_scores(rater="other")), None,
      "`exact` must have scores of criterion 'coherence', rater 'judge', prompt '', but has coherence by other."),
     ((sampled(), pd.concat([exact_scores(), exact_scores().assign(method="logprob")])), None,
      "`exact` must have one score per item of 'coherence'; pool or select the raters."),
     ((sampled(),), TWO, "`labels` must have one score per item of 'coherence'; pool or select the raters.")],
)  # fmt: skip
def test_what_convergence_refuses(arguments, labels, message):
    with pytest.raises(TableError, match=f"^{re.escape(message)}$"):
        calib.convergence(*arguments, labels=labels)


# --- from ratings to results ------------------------------------------------------------------------------------


def test_the_main_job_end_to_end():
    items, annotators = calib.load_planted()
    human = calib.summarize(annotators, items, pool="rater")
    ratings = calib.rate(items, calib.geval_prompt("coherence"), calib.Judge("offline"), progress=False)
    scores = calib.summarize(ratings, items)
    assert len(scores) == len(items)
    assert calib.agreement(scores, human, level="group").select(criterion="coherence").one().estimate > 0.3
    gold = human[human["criterion"] == "coherence"].sample(80, random_state=1)
    truth = human.loc[human["criterion"] == "coherence", "score"].mean()
    found = calib.interval(scores, gold).one()
    assert found.interval.low < truth < found.interval.high


# --- what a user is told about the gold -------------------------------------------------------------------------


def judged(n: int = 6, scale: str = "1|2|3|4|5") -> pd.DataFrame:
    rows = [{"item": f"i{k}", "score": 1 + k % 5, "system": "ab"[k % 2]} for k in range(n)]
    return calib.scores_from(pd.DataFrame(rows), rater="judge", scale=scale, system="system")


def labelled(items: list[str], scale: str = "1|2|3|4|5") -> pd.DataFrame:
    return calib.scores_from(pd.DataFrame({"item": items, "score": 2 + np.arange(len(items)) % 2}), scale=scale)


def test_a_judge_on_a_scale_of_its_own_is_read_on_that_of_people():
    """Ends and steps are people's, and the judge's slope is learned: as where its scale is not known."""
    gold, far = labelled([f"i{k}" for k in range(12)]), judged(30).assign(score=lambda t: t["score"] / 5, scale="0..1")
    with_scale = calib.interval(far, gold).one()
    assert with_scale.interval == calib.interval(far.assign(scale=""), gold).one().interval
    assert with_scale.interval != calib.interval(far.assign(scale=""), gold.assign(scale="")).one().interval
    with pytest.raises(TableError, match="must be on one scale, but are on 0 to 1 and 1 to 5"):
        calib.interval(far, gold, estimator="judge_only")


def test_gold_of_no_item_of_the_judge_is_refused():
    with pytest.raises(TableError, match="must share items, but no item that the judge scored has a label"):
        calib.interval(judged(), labelled(["x", "y"]))


@pytest.mark.parametrize(
    ("estimator", "message"),
    [("ppi", r"must have 2 labels at least of each system, but has fewer of 'a' \(1\), 'b' \(1\)\.$"),
     ("auto", r"`labels` must have 10 labels at least of each .* \(`min_labels` lowers that\), but has fewer of 'a'")],
)  # fmt: skip
def test_all_systems_that_lack_labels_are_named_at_once(estimator, message):
    with pytest.raises(ValueError, match=message):
        calib.interval(judged(), labelled(["i0", "i1"]), by="system", estimator=estimator)


def test_what_was_left_out_is_printed():
    results = calib.interval(judged(), labelled(["i0", "i1", "i2", "x", "y"]), min_labels=3)
    assert str(results).endswith("[left out: 2 unmatched]")


def test_equal_means_of_raters_are_ties_to_the_last_bit():
    # with shares of 1/3 summed up, 1/3 + 2/3 + 3/3 and 2/3 + 2/3 + 2/3 differ in the last bit
    labels = {"a": (1, 2, 3), "b": (2, 2, 2), "c": (3, 1, 2), "d": (1, 1, 4), "e": (4, 1, 2), "f": (2, 2, 3)}
    rows = [(item, f"r{k}", score) for item, scores in labels.items() for k, score in enumerate(scores)]
    frame = pd.DataFrame(rows, columns=["item", "rater", "score"]).assign(criterion="quality", scale="1|2|3|4|5")
    pooled = calib.summarize(frame, pool="rater").set_index("item")["score"]
    assert len(set(pooled[list("abcd")])) == 1
    assert pooled["e"] == pooled["f"]


# --- unlike targets -------------------------------------------------------------------------------------------------


def read_by(method: str, temperature: float, n: int = 1) -> pd.DataFrame:
    return exact_scores().assign(method=method, temperature=temperature, n=n)


@pytest.mark.parametrize(
    ("drawn_at", "exact", "trouble"),
    [
        (0.7, read_by("logprob", 1.0), "drawn at temperature 0.7, token probabilities are those of temperature 1"),
        (1.0, read_by("chain", 0.5, n=5), "drawn at temperature 1, the reference at 0.5"),
        (1.0, read_by("chain", 1.0, n=1), "after one chain of reasoning"),
        (1.0, read_by("sample", 0.0, n=9), "drawn at temperature 1, the reference at 0"),
    ],
)
def test_unlike_targets_are_refused_unless_one_says_so(drawn_at, exact, trouble):
    drawn_so = sampled(temperature=drawn_at)
    with pytest.raises(TableError, match=re.escape(trouble)):
        calib.convergence(drawn_so, exact, rng=1)
    results = calib.convergence(drawn_so, exact, unlike=True, rng=1)
    method, temperature = exact["method"].iloc[0], exact["temperature"].iloc[0]
    assert results.labels[0]["reference"] == f"{method} of  at temperature {temperature:g}"
    assert results.one().reference == "exact"


@pytest.mark.parametrize(
    ("drawn_at", "exact"),
    [
        (1.0, read_by("logprob", 1.0)),
        (1.0, read_by("logprob", 0.0)),  # token probabilities are the model's own at any temperature
        (1.0, read_by("chain", 1.0, n=5)),
        (0.7, read_by("sample", 0.7, n=50)),
        (NAN, read_by("logprob", 1.0)),  # recorded elsewhere, nobody knows how
    ],
)
def test_like_targets_are_compared(drawn_at, exact):
    results = calib.convergence(sampled(temperature=drawn_at), exact, rng=1)
    assert "reference" not in results.labels[0]


def test_another_prompt_is_another_target():
    exact = exact_scores().assign(prompt="think")
    with pytest.raises(TableError, match="`exact` must have scores of"):
        calib.convergence(sampled(prompt="form"), exact, rng=1)
    assert len(calib.convergence(sampled(prompt="form"), exact, unlike=True, rng=1)) == 1


# --- chains ---------------------------------------------------------------------------------------------------------


def test_the_variance_of_chains_is_kept_apart_within_and_between():
    # two chains: 2 or 4 with equal weight (mean 3, variance 1), and 5 for certain; a third could not be read
    rows = [(0, 2.0, 0.4, "ok"), (0, 4.0, 0.4, "ok"), (0, NAN, 0.2, "off_scale"), (1, 5.0, 1.0, "ok")]
    rows += [(2, NAN, 1.0, "unread")]
    ratings = pd.DataFrame(rows, columns=["draw", "score", "weight", "status"])
    ratings = ratings.assign(item="a", criterion="c", rater="j", method="chain", temperature=1.0, scale="1|2|3|4|5")
    scores = calib.summarize(ratings).iloc[0]
    assert (scores["score"], scores["n"], scores["n_unread"]) == (4.0, 2, 1)
    assert (scores["var_within"], scores["var_between"]) == pytest.approx((0.5, 2.0))
    # the law of total variance, with the variance of the chains' means as it stands
    assert scores["sd"] ** 2 == pytest.approx(scores["var_within"] + scores["var_between"] / 2)


def test_one_chain_tells_nothing_between_and_samples_have_neither():
    one = drawn(("a", 0, 3)).assign(method="chain")
    scores = calib.summarize(one).iloc[0]
    assert scores["var_within"] == 0
    assert math.isnan(scores["var_between"])
    scores = calib.summarize(drawn(("a", 0, 3), ("a", 1, 4))).iloc[0]
    assert math.isnan(scores["var_within"])
    assert math.isnan(scores["var_between"])


@pytest.mark.parametrize(
    ("method", "temperature", "shown"),
    [("sample", 0.7, True), ("chain", 0.0, True), ("sample", 1.0, False), ("logprob", 0.0, False),
     ("human", NAN, False)],
)  # fmt: skip
def test_another_temperature_is_shown_as_another_estimand(method, temperature, shown):
    scores = exact_scores().assign(method=method, temperature=temperature)
    results = calib.agreement(scores, exact_scores(EXACT[::-1], "ann"))
    assert (f"temperature {temperature:g}" in str(results)) == shown


def test_each_piece_of_unclear_mass_may_be_on_the_scale_or_not():
    rows = [(3.0, 0.8, "ok", NAN, NAN), (NAN, 0.1, "ambiguous", 1, 1), (NAN, 0.1, "ambiguous", 5, 5)]
    ratings = pd.DataFrame(rows, columns=["score", "weight", "status", "low", "high"])
    ratings = ratings.assign(item="a", criterion="c", rater="j", method="logprob", scale="1|2|3|4|5")
    scores = calib.summarize(ratings).iloc[0]
    assert scores["low"] == pytest.approx((0.8 * 3 + 0.1 * 1) / 0.9)
    assert scores["high"] == pytest.approx((0.8 * 3 + 0.1 * 5) / 0.9)


# --- one's own file ---------------------------------------------------------------------------------------------


def test_words_of_a_scale_are_read_as_their_values():
    frame = pd.DataFrame({"id": list("abc"), "ok": ["yes", "no", None]})
    scores = calib.scores_from(frame, item="id", score="ok", scale="no=0|yes=1")
    assert cells(scores, "item", "score", "scale") == [("a", 1.0, "0|1"), ("b", 0.0, "0|1")]
    with pytest.raises(TableError, match="maybe"):
        calib.scores_from(frame.assign(ok="maybe"), item="id", score="ok", scale="no=0|yes=1")


def test_other_columns_ride_along_and_divide_results():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": range(80), "grade": rng.integers(1, 6, 80), "topic": ["law", "code"] * 40})
    frame = frame.assign(weight=7, draw=1, label=rng.integers(1, 6, 80))
    with pytest.warns(CalibWarning, match="`weight` rides along as `my_weight`, `draw` rides along as `my_draw`"):
        judge = calib.scores_from(frame, item="id", score="grade", rater="judge", scale="1|2|3|4|5")
    assert {"topic", "my_weight", "my_draw"} <= set(judge)
    assert not {"weight", "draw"} & set(judge)  # these would be read as something else
    labels = frame.head(50)[["id", "label"]]
    people = calib.scores_from(labels, item="id", score="label", scale="1|2|3|4|5")
    results = calib.interval(judge, people, by="topic")
    assert [label["topic"] for label in results.labels] == ["law", "code"]
    assert all(result.n == 40 for result in results)
    heavy = judge.assign(heavy=np.where(judge["topic"] == "law", 2.0, 1.0))
    weighed = calib.interval(heavy, people, weights="heavy").one()
    assert weighed.design == "weighted"
    assert weighed.estimate != calib.interval(judge, people).one().estimate


def test_labels_of_one_system_alone_are_no_sample_of_all():
    only = HUMAN[HUMAN["system"] == "s1"]
    names = [text.partition(":")[0] for text in calib.interval(JUDGE, only, min_labels=2).one().warnings]
    assert "labels_of_some_systems" in names
    within = calib.interval(JUDGE, GOLD, min_labels=2).one()
    assert not any(text.startswith("labels_of_some_systems") for text in within.warnings)


def test_a_judge_alone_has_no_interval_of_one_group():
    frame = pd.DataFrame({"item": [f"i{k}" for k in range(6)], "score": [1.0, 2, 3, 4, 5, 3], "group": list("aabbcc")})
    judge, people = (calib.scores_from(frame, rater=name, group="group") for name in ("judge", "people"))
    results = calib.interval(judge, people, by="group", estimator="judge_only")
    assert [result.estimate for result in results] == [1.5, 3.5, 4.0]
    assert all(np.isnan(result.interval.low) for result in results)
