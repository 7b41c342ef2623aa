"""calibrate on tables: inputs, scales of all kinds, people one by one, labels that are means."""

import numpy as np
import pandas as pd
import pytest

import calib
from calib.analysis.calibration.display_sentences import map_fact
from calib.core.check import ArgumentError, CalibWarning
from calib.table import TableError, check_scores

pytestmark = pytest.mark.filterwarnings("ignore:few_groups|unseen_levels:calib.core.check.CalibWarning")
CUT = [-1.5, -0.3, 0.8, 2.2]


def judged(n=120, seed=0, criteria=("tone",), raters=("gpt",), per_doc=4):
    """Scores 1 to 5 of judges on criteria, and the label of one person on each."""
    rng = np.random.default_rng(seed)
    truth, tables, people = rng.normal(0, 1.5, n), [], []
    about = {"item": [f"i{k}" for k in range(n)], "group": [f"d{k // per_doc}" for k in range(n)], "scale": "1|2|3|4|5"}
    for criterion in criteria:
        y = 1 + ((truth + rng.logistic(size=n))[:, None] > CUT).sum(axis=1)
        people.append(pd.DataFrame(about | {"criterion": criterion, "rater": "ann", "method": "human", "score": y}))
        for rater in raters:
            x = np.clip(np.round(3 + 0.6 * truth + rng.normal(0, 1, n)), 1, 5)
            who = {"criterion": criterion, "rater": rater, "method": "sample", "prompt": f"{criterion}-p"}
            tables.append(pd.DataFrame(about | who | {"score": x}))
    return tuple(check_scores(pd.concat(part, ignore_index=True)) for part in (tables, people))


@pytest.mark.slow
def test_all_criteria_of_a_judge_as_inputs():
    scores, people = judged(400, criteria=("tone", "style", "logic"))
    found = calib.calibrate(scores, people, inputs="criteria")
    assert [len(one.slopes) for one in found] == [3, 3, 3]
    inputs = found["tone"].record["summary"]["map"]["inputs"]
    assert [one["criterion"] for one in inputs] == ["tone", "logic", "style"]  # its own first
    assert not found["tone"].own_only  # each is a reading of the same
    out = found.apply(scores)
    assert len(out) == len(scores) and out["score"].notna().all()
    with pytest.raises(TableError, match="lack those of 'style' by 'gpt'"):
        found["tone"].apply(scores[scores["criterion"] != "style"])


@pytest.mark.filterwarnings("ignore:no_skill")
def test_an_item_that_lacks_an_input_has_no_score_and_is_counted():
    scores, people = judged(120, criteria=("tone", "style"))
    gap = (scores["criterion"] == "style") & (scores["item"] == "i7")
    found = calib.calibrate(scores, people, inputs="criteria", ridge=2.0)
    with pytest.warns(CalibWarning, match="inputs_missing: tone.*1 of 120 items"):
        out = found.apply(scores[~gap])
    mine = out[out["criterion"] == "tone"].set_index("item")["score"]
    assert mine.isna().sum() == 1 and np.isnan(mine["i7"])


@pytest.mark.slow
def test_all_judges_as_inputs_have_their_mean_first():
    scores, people = judged(400, raters=("gpt", "claude", "mistral"))
    found = calib.calibrate(scores, people, inputs="raters")
    assert [label["rater"] for label in found.labels] == ["mean of 3 raters"]
    assert len(found.slopes) == 4
    out = found.apply(scores)
    assert len(out) == 400 and set(out["rater"]) == {"mean of 3 raters (calibrated)"}
    alone = calib.calibrate(scores, people)
    claude = alone["claude"].apply(scores[scores["rater"] == "claude"])
    agree = [calib.agreement(one, people, level="item")[0].estimate for one in (out, claude)]
    assert agree[0] > agree[1]
    with pytest.raises(TableError, match="lack those of 'tone' by 'mistral'"):
        found.apply(scores[scores["rater"] != "mistral"])


@pytest.mark.parametrize("low, high", [(0, 1), (0, 10), (-3, 3), (1, 100)])
@pytest.mark.filterwarnings("ignore:no_skill")
def test_the_judge_may_be_on_any_scale(low, high):
    scores, people = judged()
    other = scores.assign(score=low + (scores["score"] - 1) / 4 * (high - low), scale=f"{low}..{high}")
    one, two = calib.calibrate(scores, people).apply(scores), calib.calibrate(other, people).apply(other)
    np.testing.assert_allclose(one["score"], two["score"], rtol=1e-6)
    assert set(two["scale"]) == {"1|2|3|4|5"}


def test_letters_words_and_yes_and_no():
    rng = np.random.default_rng(1)
    good = rng.random(60)
    words = np.array(["poor", "fair", "good"])[np.digitize(good + rng.normal(0, 0.2, 60), [0.3, 0.7])]
    judge = np.array(["poor", "fair", "good"])[np.digitize(good, [0.3, 0.7])]
    found = calib.calibrate({"judge": judge, "label": words}, scale="poor|fair|good")
    out = found.apply({"judge": judge}, scale="poor|fair|good", judge="judge")
    assert {"p_0", "p_1", "p_2"} <= set(out)
    verdict = {"judge": (good > 0.5).astype(int), "label": (good + rng.normal(0, 0.3, 60) > 0.5).astype(int)}
    two = calib.calibrate(verdict)
    assert two.levels.tolist() == [0, 1]
    assert two.predict([0])[0, 1] < 0.5 < two.predict([1])[0, 1]


def test_a_mean_between_two_values_keeps_its_mean():
    """Two of three said 4 and one 3: 3.67 counts a third for 3 and two thirds for 4."""
    scores, people = judged()
    means = people.assign(score=np.clip(people["score"] + np.where(people.index % 3, -1 / 3, 0), 1, 5))
    found = calib.calibrate(scores, means)
    assert found.counts.sum() == pytest.approx(120) and found.n == 120 and found.n_labels == 120
    assert (found.counts @ found.levels).sum() == pytest.approx(means["score"].sum())


def test_several_annotators_of_an_item_count_as_one():
    scores, people = judged()
    twice = check_scores(pd.concat([people, people.assign(rater="bea")], ignore_index=True))
    one, two = calib.calibrate(scores, people), calib.calibrate(scores, twice)
    np.testing.assert_allclose(one.slopes, two.slopes, rtol=1e-6)
    assert (two.n, two.n_labels, two.labels[0]["against"]) == (120, 240, "2 annotators")
    assert calib.interval(scores, twice).labels[0]["against"] == "mean of 2 annotators"
    mixed = check_scores(pd.concat([scores, people], ignore_index=True))  # people are no judges of themselves
    assert [label["rater"] for label in calib.calibrate(mixed, people).labels] == ["gpt"]


def test_what_is_wrong_is_named():
    scores, people = judged()
    with pytest.raises(TableError, match="must lie on the scale"):
        calib.calibrate(scores, people.assign(score=people["score"].where(people.index != 3, 9)))
    with pytest.raises(TableError, match="2 to 25 values"):
        calib.calibrate(scores.assign(scale=""), people.assign(scale="", score=np.linspace(0, 1, 120) ** 2))
    with pytest.raises(ArgumentError, match="`inputs` must be one of 'score', 'criteria', 'raters'"):
        calib.calibrate(scores, people, inputs="judges")
    with pytest.raises(ArgumentError, match="`ridge`"):
        calib.calibrate(scores, people, ridge=-1.0)
    with pytest.raises(TableError, match="the scores have no rows"):
        calib.calibrate(scores, people).apply(scores[scores["rater"] == "another"])


def test_persons_one_by_one():
    scores, people = judged(240)
    strict = people.assign(rater="bea", score=np.maximum(people["score"] - 1, 1))
    both = check_scores(pd.concat([people, strict], ignore_index=True))
    found = calib.calibrate(scores, both, annotators=True)
    mild, hard = (found.apply(scores, annotator=name)["score"].mean() for name in ("ann", "bea"))
    new = found.apply(scores)["score"].mean()
    assert hard < new < mild
    assert "annotators" in str(found)
    with pytest.raises(ArgumentError, match="'ann', 'bea', or None for a new person"):
        found.apply(scores, annotator="carl")
    with pytest.raises(ArgumentError, match="several annotators"):
        calib.calibrate(scores, people, annotators=True)


@pytest.mark.filterwarnings("ignore:no_skill")
def test_groups_may_be_another_column_or_none():
    scores, people = judged()
    items = calib.calibrate(scores, people, groups=None)
    assert items.n_groups == 120 and calib.calibrate(scores, people).n_groups == 30
    author = scores.assign(author=(scores.index % 12).astype(str))
    found = calib.calibrate(author, people, groups="author")
    assert found.n_groups == 12
    out = found.apply(author)
    assert len(out[["author", "fold"]].drop_duplicates()) == 12
    with pytest.raises(TableError, match="must be a column of the scores"):
        calib.calibrate(scores, people, groups="nonsense")


def test_the_title_of_several_maps_says_which_is_which():
    judge, people = judged(criteria=("tone", "style"))
    first, second = map_fact(calib.calibrate(judge, people)).split("; ")
    assert first.startswith("tone: judge ")
    assert second.startswith("style: judge ")


def test_a_calibration_is_shown_as_a_table_and_drawn():
    found = calib.calibrate(*judged(400))
    assert {"judge", "estimate", "conf_low", "conf_high", "p_1", "p_5", "criterion"} <= set(found.to_frame())
    assert repr(found).startswith("<1 result>") and "<table" in found._repr_html_()
    assert found.plot().get_ylabel() == "people's label"
