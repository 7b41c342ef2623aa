"""`calib.pass_fail` on tables and files."""

import math

import numpy as np
import pandas as pd
import pytest

import calib
from calib.stats import CalibWarning
from calib.table import TableError


def table(rater, score, scale="0|1", **more):
    method = "human" if rater.startswith("p") else "sample"
    frame = pd.DataFrame({"item": [f"i{k}" for k in range(len(score))], "score": score, **more}).dropna(subset="score")
    return calib.table.check_scores(frame.assign(criterion="ok", rater=rater, method=method, scale=scale))


@pytest.fixture
def verdicts():
    """400 items of two systems, a judge, and a person who saw 100."""
    rng = np.random.default_rng(0)
    yes = rng.random(400) < 0.7
    judge = np.where(rng.random(400) < 0.9, yes, ~yes).astype(float)
    systems = np.where(np.arange(400) % 2, "A", "B")
    people = np.where(np.arange(400) < 100, yes, math.nan)
    return table("judge", judge, system=systems), table("p1", people), judge, people


def test_it_is_the_statistic_on_arrays(verdicts):
    scores, people, judge, labels = verdicts
    found = calib.pass_fail(scores, people).one()
    assert found == calib.stats.pass_fail(judge, labels)
    assert found.n == 400


def test_by_system_each_has_its_own(verdicts):
    scores, people, judge, labels = verdicts
    found = calib.pass_fail(scores, people, by="system")
    assert [label["system"] for label in found.labels] == ["B", "A"]
    odd = np.arange(400) % 2 == 1
    assert found["A"].one() == calib.stats.pass_fail(judge[odd], labels[odd])


def test_several_people_decide_by_majority(verdicts):
    scores, people, _, labels = verdicts
    against = table("p2", 1 - labels)
    three = pd.concat([people, people.assign(rater="p3"), against])
    assert calib.pass_fail(scores, three).tp == calib.pass_fail(scores, people).tp
    even = calib.pass_fail(scores, pd.concat([people, against.iloc[:10]]))
    assert "even_split: on 10 items" in " ".join(even.warnings)


def test_scores_are_cut_and_labels_pass_from_a_mark_on():
    rng = np.random.default_rng(1)
    label = rng.integers(1, 6, 200).astype(float)
    scores = table(
        "judge", np.clip(label + rng.normal(size=200), 1, 5), "1..5", group=[f"g{k % 40}" for k in range(200)]
    )
    people = table("p1", label, "1|2|3|4|5")
    found = calib.pass_fail(scores, people, label_threshold=4).one()
    assert found.chosen
    assert 3 < found.judge_threshold < 4.5
    assert found.n_groups == 40
    fixed = calib.pass_fail(scores, people, label_threshold=4, judge_threshold=4).one()
    assert (fixed.judge_threshold, fixed.chosen) == (4, False)
    with pytest.raises(TableError, match="`label_threshold` must be above 1 and up to 5, as labels are, but got 6"):
        calib.pass_fail(scores, people, label_threshold=6)
    with pytest.raises(TableError, match="`label_threshold` must say what passes where labels are not pass and fail"):
        calib.pass_fail(scores, people)


def test_production_is_another_table(verdicts):
    scores, people, _, _ = verdicts
    test = scores[scores["item"].isin(people["item"])]
    there = scores[~scores["item"].isin(people["item"])]
    found = calib.pass_fail(test, people, production=there).one()
    assert (found.n_production, found.n_labelled) == (300, 100)
    assert math.isnan(found.ppi.estimate)
    assert "production items" in found.conclusion
    with pytest.raises(TableError, match="`production` must have scores of 'ok' by 'judge'"):
        calib.pass_fail(test, people, production=there.assign(rater="another"))
    with pytest.raises(TableError, match="must hold other items"):
        calib.pass_fail(test, people, production=test)


def test_labels_drawn_with_unlike_chances_are_said(verdicts):
    scores, people, _, _ = verdicts
    drawn = scores.assign(inclusion=np.where(np.arange(400) % 2, 0.1, 0.5))
    found = calib.pass_fail(drawn, people).one()
    assert math.isnan(found.ppi.estimate)
    assert any(text.startswith("unequal_chances") for text in found.warnings)


def test_words_in_a_file_are_verdicts(tmp_path, verdicts):
    _, _, judge, labels = verdicts
    words = {1.0: "Pass", 0.0: "Fail"}
    frame = pd.DataFrame(
        {"id": range(400), "llm": [words[v] for v in judge], "human": [words.get(v, "") for v in labels]}
    )
    frame.to_csv(tmp_path / "mine.csv", index=False)
    with pytest.warns(calib.stats.CalibWarning, match="words are read as Fail = 0, Pass = 1"):
        found = calib.pass_fail(tmp_path / "mine.csv").one()
    assert found.tp == calib.stats.pass_fail(judge, labels).tp


def test_unread_replies_are_counted(verdicts):
    scores, people, _, _ = verdicts
    odd = scores.assign(score=scores["score"].where(np.arange(400) % 10 > 0))
    found = calib.pass_fail(odd, people)
    assert found.labels[0]["n_unread"] == 40
    assert found.n_labelled == 90


def test_a_system_without_labels_is_left_out_and_said(verdicts):
    scores, people, _, _ = verdicts
    some = people[people["item"].isin(scores.loc[scores["system"] == "A", "item"])]
    with pytest.warns(CalibWarning, match="left_out: .*B: `labels` must be of items that `scores` scored, but none is"):
        found = calib.pass_fail(scores, some, by="system")
    assert [label["system"] for label in found.labels] == ["A"]


def test_parts_of_any_column_and_one_where_all_labels_agree(verdicts):
    scores, people, _, labels = verdicts
    rare = np.where(np.arange(400) % 20 == 3, "cy", np.where(np.arange(400) % 2, "de", "en")).astype(object)
    rare[:2] = None
    alike = people[(people["score"] == 1) | (rare[: len(people)] != "cy")]
    with pytest.warns(CalibWarning) as told:
        found = calib.pass_fail(scores.assign(language=rare), alike, by="language")
    texts = [str(one.message) for one in told]
    assert "without_value: 2 of 400 items have no 'language' and are in no part of it." in texts
    few = found.select(language="cy").one()
    assert (few.tnr.interval, few.n_labelled) == ((0, 1), int((labels[rare == "cy"] == 1).sum()))
    assert any(text.startswith("one_outcome: ") for text in few.warnings)
    notes = str(calib.report(found))
    assert "what it does with items that people fail is open" in notes
    assert len(calib.plot.confusion(found).get_yticklabels()) > 5


def test_production_is_split_like_the_test_set():
    rng, n = np.random.default_rng(1), 400
    lang = np.where(np.arange(n) % 2 == 0, "en", "de")
    truth = (rng.random(n) < np.where(lang == "en", 0.9, 0.3)).astype(int)
    judged = np.where(rng.random(n) < 0.05, 1 - truth, truth)
    everything = pd.DataFrame({"item": [f"p{k}" for k in range(n)], "judge": judged, "lang": lang})
    labelled = pd.DataFrame({"item": [f"t{k}" for k in range(n)], "judge": judged, "people": truth, "lang": lang})
    found = calib.pass_fail(labelled, production=everything, by="lang")
    for label, one in zip(found.labels, found, strict=True):
        assert one.n_production == 200
        assert one.judge_rate.estimate == pytest.approx(judged[lang == label["lang"]].mean())
    with pytest.warns(calib.stats.CalibWarning, match="unlabelled: 200 rows of `production` are of lang 'de'"):
        calib.pass_fail(labelled[labelled["lang"] == "en"], production=everything, by="lang")
    with pytest.raises(calib.table.TableError, match="`production` must have the column of `by`"):
        calib.pass_fail(labelled, production=everything.drop(columns="lang"), by="lang")


@pytest.mark.filterwarnings("ignore:few_labels")
def test_a_part_whose_labels_choose_no_threshold_stays():
    rng, n = np.random.default_rng(0), 200
    lang = np.where(np.arange(n) % 2, "en", "de")
    people = np.where(lang == "en", 1, np.arange(n) // 2 % 2)
    frame = pd.DataFrame({"item": range(n), "judge": people + rng.normal(size=n), "people": people, "lang": lang})
    with pytest.warns(CalibWarning, match="no_threshold"):
        found = calib.pass_fail(frame, by="lang")
    part = found.select(lang="en").one()
    assert (part.label_rate.estimate, part.has_verdicts, len(found)) == (1, False, 2)
    assert "en: People pass 1 " in found.conclusion
    assert any("no threshold" in text.get_text() for text in calib.plot.confusion(found).get_legend().get_texts())


@pytest.mark.filterwarnings("ignore:one_outcome")
def test_of_one_outcome_no_note_speaks_of_rates_that_are_not_there():
    found = calib.pass_fail(pd.DataFrame({"item": range(30), "judge": [1] * 28 + [0] * 2, "people": [1] * 30}))
    text = str(calib.report(found))
    assert "TNR are not" not in text
    assert "more are there" not in text


@pytest.mark.filterwarnings("ignore:one_outcome", "ignore:column .* words are read as")
@pytest.mark.parametrize("word", ["pass", "Fail", "yes", "no"])
def test_one_word_throughout_is_read_beside_its_opposite(word):
    one = calib.pass_fail(pd.DataFrame({"id": range(30), "judge": [word] * 30, "human": [word] * 30})).one()
    passes = word in ("pass", "yes")
    assert (one.tpr if passes else one.tnr).estimate == 1
    assert math.isnan((one.tnr if passes else one.tpr).estimate)
