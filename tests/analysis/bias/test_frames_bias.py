"""`calib.bias` on tables, files and the command line."""

import re

import numpy as np
import pandas as pd
import pytest

import calib
from calib.analysis.bias.frames import FLAGS, flag
from calib.core.check import ArgumentError
from calib.stats import CalibWarning


@pytest.fixture(scope="module")
def study():
    """Three systems on forty documents, two people; the judge likes long texts and system C."""
    rng = np.random.default_rng(0)
    rows = [(f"d{d}", s) for d in range(40) for s in "ABC"]
    n = len(rows)
    quality, words = rng.normal(size=n), rng.integers(5, 60, n)
    columns = {"item": [f"{d}-{s}" for d, s in rows], "group": [d for d, _ in rows], "system": [s for _, s in rows]}
    columns |= {"output": [" ".join(["word"] * k) for k in words], "tone": np.where(words % 3, "warm", "cool")}
    items = pd.DataFrame(columns | {"temperature_c": rng.normal(size=n)})
    favoured = 0.4 * (items["system"] == "C") + 0.5 * (np.log(words) - 3)
    judge = table(items, "gpt", 3 + 0.6 * quality + favoured + 0.3 * rng.normal(size=n))
    people = pd.concat([table(items, f"p{k}", 3 + quality + 0.5 * rng.normal(size=n)) for k in range(2)])
    return items, judge, people


def table(items, rater, score):
    method = "human" if rater.startswith("p") else "sample"
    frame = items[["item", "group", "system"]].assign(criterion="good", rater=rater, method=method, score=score)
    return calib.table.check_scores(frame)


def test_what_was_put_in_is_found(study):
    items, judge, people = study
    found = calib.bias(judge, people, items=items)
    assert [(label["feature"], label["level"]) for label in found.labels] == [
        ("length", ""), ("system", "A"), ("system", "B"), ("system", "C")
    ]  # fmt: skip
    assert found[0].p_adjusted < 1e-6
    low, high = found.select(level="C").interval
    assert low < 0.4 < high
    assert {one.n_claims for one in found} == {4}
    assert found[0].unit == "doubling of words"
    assert (
        f"per doubling of length the judge adds {found[0].estimate:.2g} points beyond what the labels"
        in found.conclusion
    )
    assert found[0].interval.low < 0.5 * np.log(2) < found[0].interval.high
    assert re.search(r"outputs of system C get 0\.\d+ points more than their labels explain", found.conclusion)
    assert "4 claims" in found.conclusion


def test_p_values_are_adjusted_over_the_call(study):
    items, judge, people = study
    holm, by, none = (calib.bias(judge, people, items=items, correction=name) for name in ("holm", "by", "none"))
    assert [one.p_adjusted for one in none] == [one.p_value for one in none]
    assert all(a.p_adjusted >= a.p_value for a in holm)
    p = sorted(one.p_value for one in none)
    assert min(one.p_adjusted for one in by) == pytest.approx(
        min(p[k] * 4 / (k + 1) for k in range(4)) * (1 + 1 / 2 + 1 / 3 + 1 / 4)
    )


def test_columns_of_numbers_and_names_are_features(study):
    items, judge, people = study
    found = calib.bias(judge, people, ["tone", "temperature_c"], items=items)
    assert [one.unit.partition(" (")[0] for one in found][1:] == ["1 sd"]
    assert (found.labels[0]["level"], found[0].unit) in (("warm", "against cool"), ("cool", "against warm"))


def test_family_is_that_of_the_judge(study):
    items, judge, people = study
    family = {"A": "x", "B": "x", "C": "openai", "gpt": "openai"}
    found = calib.bias(judge, people, ["family"], items=items, family=family).one()
    system = calib.bias(judge, people, ["system"], items=items).select(level="C").one()
    assert found.estimate == pytest.approx(system.estimate)
    with pytest.raises(ArgumentError, match="`family` must say of which family each system is, but lacks C"):
        calib.bias(judge, people, ["family"], family={"A": "x", "B": "x", "gpt": "openai"})
    with pytest.raises(ArgumentError, match="of which family the judge 'gpt' is"):
        calib.bias(judge, people, ["family"], family={"A": "x", "B": "x", "C": "y"})


def test_what_a_feature_lacks_is_said(study):
    _, judge, people = study
    with pytest.raises(ArgumentError, match="give the items, with a column `output`"):
        calib.bias(judge, people, ["length"])
    with pytest.raises(ArgumentError, match="'mood' is no column of scores or items"):
        calib.bias(judge, people, ["mood"])
    with pytest.raises(ArgumentError, match="`features` must be texts"):
        calib.bias(judge, people, "length")
    with pytest.warns(CalibWarning, match="left_out: 'length' is of the texts"):
        found = calib.bias(judge, people)
    assert {label["feature"] for label in found.labels} == {"system"}


def test_groups_of_another_column_change_the_interval(study):
    items, judge, people = study
    at = {name: k // 10 for k, name in enumerate(dict.fromkeys(items["group"]))}
    judge = judge.assign(batch=judge["group"].astype(object).map(at).astype(str))
    found = [calib.bias(judge, people, ["system"], groups=name)[0] for name in ("group", None)]
    assert [one.n_groups for one in found] == [40, 120]
    with pytest.warns(CalibWarning, match="few_groups: 4 groups"):
        assert calib.bias(judge, people, ["system"], groups="batch")[0].n_groups == 4


def test_people_and_judges_of_other_items_are_refused(study):
    _, judge, people = study
    with pytest.raises(calib.table.TableError, match="`labels` and `scores` must share items"):
        calib.bias(judge, people.assign(item=people["item"].astype(str) + "x"), ["system"])


def test_columns_that_hold_neither_numbers_nor_names_are_refused(study):
    items, judge, people = study
    for cells, words in (([["a"]] * len(items), "holds a list"), (np.inf, "numbers without end")):
        with pytest.raises(ArgumentError, match=words):
            calib.bias(judge, people, ["odd"], items=items.assign(odd=cells))


def test_neither_leniency_nor_spread_of_people_moves_the_conclusion(study):
    items, judge, people = study
    first = people["rater"] == "p0"
    odd = people.assign(score=people["score"].where(first, 0.5 * people["score"] - 1))
    found, even = (calib.bias(judge, labels, items=items) for labels in (odd, people))
    assert [one.estimate for one in found] == pytest.approx([one.estimate for one in even])
    favour = [one.conclusion.partition("On the leaderboard")[0] for one in (found, even)]
    assert favour[0] == favour[1]


def test_an_annotator_who_labelled_too_little_is_named(study):
    items, judge, people = study
    third = people[people["rater"] == "p0"].head(8).assign(rater="zoe")
    with pytest.warns(CalibWarning, match=r"weak_annotator: zoe left out of the mean over annotators: 8 labels in all"):
        calib.bias(judge, pd.concat([people, third]), ["length"], items=items)


@pytest.mark.parametrize(
    ("feature", "words"),
    [
        ("length", "per doubling of length the judge adds"), ("system", "outputs of system C get"),
        ("family", "outputs of the judge's own family get"), ("lists", "outputs with lists get"),
        ("long", "outputs with long 1 get"), ("size", "per standard deviation of size (16) the judge adds"),
    ],
)  # fmt: skip
def test_what_is_favoured_is_said_in_words(study, feature, words):
    items, judge, people = study
    size = items["output"].str.split().str.len()
    listed = items.assign(size=size, long=size > 20, output=np.where(size > 20, "- x\n" + items["output"], "x"))
    family = {"A": "x", "B": "x", "C": "openai", "gpt": "openai"}
    given = items if feature == "length" else listed
    assert words in calib.bias(judge, people, [feature], items=given, family=family).conclusion


def test_replies_that_could_not_be_read_are_no_favour(study):
    items, judge, people = study
    odd = judge.assign(score=judge["score"].where((judge["system"] != "C") | (np.arange(len(judge)) % 2 == 0)))
    found = calib.bias(odd, people, ["system"], items=items)
    assert "unread" in found.select(level="C").one().to_frame()["warnings"].iloc[0]
    assert found.labels[0]["n_unread"] == 20


def test_a_judge_without_spread_is_left_out_and_the_others_stay(study):
    items, judge, people = study
    both = pd.concat([judge, judge.assign(rater="flat", score=3.0)])
    with pytest.warns(CalibWarning, match="left_out: .*must vary"):
        found = calib.bias(both, people, ["length"], items=items)
    assert [label["rater"] for label in found.labels] == ["gpt"]
    with pytest.raises(ArgumentError, match="`scores` must vary"):
        calib.bias(judge.assign(score=3.0), people, ["length"], items=items)


def test_one_annotator_gives_a_bracket(study):
    items, judge, people = study
    with pytest.warns(CalibWarning, match="one_annotator"):
        found = calib.bias(judge, people[people["rater"] == "p0"], ["length"], items=items)
    assert "between 0.5 and 1" in found.conclusion
    assert {"bracket_low", "bracket_high"} <= set(found.to_frame())


def test_a_person_may_be_looked_at_as_a_judge(study):
    items, _, people = study
    with pytest.warns(CalibWarning, match="one_annotator"):
        found = calib.bias(people, people, ["length"], items=items, reliability=(0.6, 0.9))
    assert [label["against"] for label in found.labels] == ["p1", "p0"]


def test_hostile_names_are_names(study):
    _, judge, people = study
    name = "<script>alert(1)</script>\x1b[31m"
    frames = [frame.assign(system=frame["system"].astype(object).replace("C", name)) for frame in (judge, people)]
    found = calib.bias(*frames, ["system"])
    assert "\x1b" not in found.conclusion
    assert name in [label["level"] for label in found.labels]
    assert "<script>" not in found._repr_html_()


def test_a_file_of_ones_own(tmp_path, study):
    items, judge, people = study
    said = [judge["score"], people["score"][:120], people["score"][120:]]
    gpt, first, second = (score.to_numpy().clip(1, 5).round() for score in said)
    items.assign(gpt=gpt, first=first, second=second).to_csv(tmp_path / "mine.csv", index=False)
    columns = {"item": "item", "judge": "gpt", "label": ["first", "second"], "scale": "1|2|3|4|5"}
    found = calib.bias(tmp_path / "mine.csv", features=["length", "system", "tone"], **columns)
    assert [label["feature"] for label in found.labels] == ["length", "system", "system", "system", "tone"]
    assert found[0].n_raters == 2


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("- one\n- two", {"lists"}), ("1. one", {"lists"}), ("* x", {"lists"}), ("-5 degrees", set()),
        ("3.5 is", set()), ("# Title\ntext", {"headings"}), ("**Bold line**\ntext", {"headings"}),
        ("a **bold** word", set()), ("#hash", set()), ("```py\nx\n```", {"code"}), ("use `x` here", {"code"}),
        ("it's 5` long", set()), ("Perhaps it is.", {"hedges"}), ("In May, maybenot", set()), ("It may", {"hedges"}),
        ("", set()),
    ],
)  # fmt: skip
def test_layout_is_seen(text, flags):
    assert {name for name in FLAGS if flag(pd.Series([text]), name)[0]} == flags


def test_truth_values_are_a_feature_and_the_score_is_none(study):
    items, judge, people = study
    flagged = items.assign(long=items["output"].str.len() > 150)
    assert calib.bias(judge, people, ["long"], items=flagged).one().unit == "1 against 0"
    with pytest.raises(ArgumentError, match="the judge's own score"):
        calib.bias(judge, people, ["score"])


def test_tables_of_several_criteria_are_one_result():
    items, people = calib.load_planted()
    scores = calib.summarize(people, items)
    found = calib.rater_effects(scores, scores)
    assert len(found) == 3
    assert {one.n_raters for one in found} == {2}
    assert "Outside the range of 2 people" in found.conclusion
    with pytest.raises(calib.table.TableError, match="must be on one scale"):
        odd = scores[scores["rater"] == "simulated-1"].assign(rater="judge", scale="0..100")
        calib.rater_effects(odd, scores)


def test_groups_with_gaps_are_refused_and_none_is_independence(study):
    _, judge, people = study
    part = people[people["item"].isin(judge["item"].iloc[:60])]  # only they know of groups
    for verb in (calib.rater_effects, lambda *given, **more: calib.bias(*given, ["system"], **more)):
        with pytest.raises(calib.table.TableError, match="some scores have a `group` and some have none"):
            verb(judge.drop(columns="group"), part)
        assert verb(judge, people, groups=None)[0].n_groups == 120
        assert verb(judge, people)[0].n_groups == 40
        with pytest.raises(calib.table.TableError, match="`groups` must be a column of the scores, but got 'nonsense'"):
            verb(judge, people, groups="nonsense")
