"""What files answer before there are labels, several criteria side by side, and what notes say of cells."""

import numpy as np
import pandas as pd
import pytest

import calib
from calib import cli
from calib.inputs.tables import infer_tables

RNG = np.random.default_rng(35)
IDS = [f"q{k}" for k in range(60)]
JUDGE = pd.DataFrame({"id": IDS, "gpt-4o": RNG.integers(1, 6, 60)})
CRITERIA = pd.DataFrame({"id": IDS, "coherence": RNG.integers(1, 6, 60), "fluency": RNG.integers(1, 6, 60)})


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        cli.main(list(map(str, arguments)))
    said = capsys.readouterr()
    return ended.value.code, " ".join(said.out.split()), " ".join(said.err.split())


@pytest.fixture
def written(tmp_path):
    def path_of(frame, name="judge.csv"):
        frame.to_csv(tmp_path / name, index=False)
        return tmp_path / name

    return path_of


def test_a_plan_needs_no_labels_and_no_numbers(written, capsys):
    code, said, _ = run(capsys, "plan")
    assert code == 0
    assert "25 0.4128 0.3676" in said
    assert "1,000 items" in said
    code, said, _ = run(capsys, "plan", written(JUDGE))
    assert code == 0
    sd = JUDGE["gpt-4o"].std()
    assert f"50 {2.009575 * sd / np.sqrt(50):.4g}"[:8] in said
    for option in ("--half-width", "--price-label"):
        code, _, err = run(capsys, "plan", written(JUDGE), option, 1)
        assert code == 2
        assert f"{option} needs a pilot" in err


def test_unlabelled_rows_are_no_unmatched_labels():
    frame = JUDGE.assign(human=JUDGE["gpt-4o"].where(JUDGE.index < 20))
    label = calib.agreement(frame).labels[0]
    assert (label["n_unlabelled"], label["n_unmatched"]) == (40, 0)


def test_a_note_names_what_was_forgiven():
    words = np.where(JUDGE["gpt-4o"] > 3, "pass", "fail")
    frame = pd.DataFrame({"id": IDS, "judge": words, "human": np.char.upper(words)})
    frame.loc[:49, "human"] = words[:50]
    (note,) = [note for note in infer_tables(frame).notes if "in spite of" in note]
    assert "`human`: 10 cells were read in spite of upper and lower case or" in note


def test_the_judges_own_mean_needs_no_labels(written, capsys):
    scores = calib.scores_from(JUDGE, item="id", score="gpt-4o", rater="the judge")
    own = calib.interval(JUDGE, estimator="judge_only")
    assert own.estimate == pytest.approx(JUDGE["gpt-4o"].mean())
    assert calib.interval(scores, estimator="judge_only").estimate == own.estimate
    labelled = JUDGE.assign(human=JUDGE["gpt-4o"].where(JUDGE.index < 20))
    assert calib.interval(labelled, estimator="judge_only").conf_low == own.conf_low
    code, said, _ = run(capsys, "interval", written(JUDGE), "--estimator", "judge_only")
    assert code == 0
    assert "not for the human mean" in said
    with pytest.raises(calib.ArgumentError, match="`label` must name people's labels"):
        calib.interval(JUDGE)


def test_the_judges_own_difference_needs_no_labels(written, capsys):
    both = JUDGE.assign(question=np.repeat(range(30), 2), model=["new", "old"] * 30)
    means = both.groupby("model")["gpt-4o"].mean()
    own = calib.difference(both, "new", "old", estimator="judge_only")
    assert own.estimate == pytest.approx(means["new"] - means["old"])
    code, said, _ = run(capsys, "difference", written(both), "new", "old", "--estimator", "judge_only")
    assert code == 0
    assert "judge alone" in said


def test_a_look_at_scores_alone_says_what_they_answer(written, capsys):
    seen = calib.look(JUDGE)
    possible = [(one.verb, dict(one.options)) for one in seen.can if one.possible]
    assert possible == [("interval", {"estimator": "judge_only"}), ("choose", {"n": 50})]
    assert 'calib.interval(frame, estimator="judge_only")' in seen.lines
    both = JUDGE.assign(question=np.repeat(range(30), 2), model=["new", "old"] * 30)
    path = written(both)
    seen = calib.look(path)
    assert f"calib interval {path} --estimator judge_only --by system" in seen.commands
    assert f"calib difference {path} new old --estimator judge_only" in seen.commands
    assert f"calib plan {path}" in seen.commands
    for command in seen.commands:
        assert run(capsys, *command.split()[1:], *["--out", path.with_name("o.csv")] * ("choose" in command))[0] == 0
    assert "judge's own mean" not in str(calib.look(JUDGE.assign(human=JUDGE["gpt-4o"])))


def test_of_several_criteria_the_same_items_are_drawn(written, capsys, tmp_path):
    drawn = calib.choose(CRITERIA, 20, rng=1)
    per = drawn.groupby("criterion", observed=True)["chosen"].sum()
    assert per.to_dict() == {"coherence": 20, "fluency": 20}
    assert drawn[drawn["chosen"]]["item"].nunique() == 20
    assert (drawn["inclusion"] == 20 / 60).all()
    with pytest.raises(calib.table.TableError, match="of the same items and drawn simply or by groups"):
        calib.choose(CRITERIA, 20, design="strata")
    path, out = written(CRITERIA), tmp_path / "out.csv"
    assert "20 of 60 items to label" in run(capsys, "choose", path, 20, "--out", out)[1]
    for one in (["--judge", "fluency"], ["--column", "criterion=fluency"]):
        assert run(capsys, "choose", path, 20, "--design", "strata", *one, "--out", out)[0] == 0
        assert set(pd.read_csv(out)["criterion"]) == {"fluency"}
    assert calib.choose(CRITERIA[["id", "fluency"]], 20, criterion="fluency")["criterion"].eq("fluency").all()


def test_keys_of_objects_have_the_roles_of_their_own_names():
    reasons = ["good", "off the point", "no source"]
    rows = [
        {"id": item, "output": {"text": f"It is {k}.", "model": ["gpt-4o", "claude"][k % 2]},
         "judge": {"score": int(score), "reason": reasons[k % 3]},
         "human": {"label": 3 if k < 20 else None, "annotator": "Anna"}}
        for k, (item, score) in enumerate(zip(IDS, JUDGE["gpt-4o"], strict=True))
    ]  # fmt: skip
    roles = {one.column: one.role for one in infer_tables(rows).columns}
    assert roles == {
        "id": "item", "output.text": "output", "output.model": "system", "judge.score": "judge",
        "judge.reason": "other", "human.label": "label", "human.annotator": "annotator",
    }  # fmt: skip


def labels_only(n=12):
    return pd.DataFrame({"id": range(n), "human": [1, 2, 3, 4, 5, 4, 4, 3, 2, 5, 4, 3][:n]})


def test_labels_without_a_judge_have_their_own_interval_which_says_so():
    data = labels_only()
    mean = calib.interval(data, scale="1|2|3|4|5").one()
    alone = calib.stats.mean_interval(data["human"], bounds=(1, 5), step=1)
    assert (mean.estimate, *mean.interval) == pytest.approx((alone.estimate, *alone.interval))
    assert mean.warnings[0] == "no_judge: there are no scores of a judge, so the interval is from the labels alone"
    assert "from 12 human labels" in str(mean) and "judge scores" not in str(mean)


def test_columns_that_are_not_used_are_named_where_there_is_no_judge():
    mean = calib.interval(labels_only().assign(words=range(100, 112)), scale="1|2|3|4|5").one()
    assert "(not used: `words`; judge= or --judge names one)" in mean.warnings[0]


def test_labels_without_a_judge_are_refused_where_a_judge_is_needed_or_they_are_few():
    with pytest.raises(calib.ArgumentError, match="must name the judge's scores"):
        calib.interval(labels_only(), estimator="ppi")
    with pytest.raises(calib.ArgumentError, match="must have 10 labels at least"):
        calib.interval(labels_only(5))
    with pytest.raises(calib.ArgumentError, match="pool"):
        calib.interval(labels_only(), pool="rater")


def test_look_offers_the_mean_of_labels_alone():
    look = calib.look(labels_only())
    assert [one.what for one in look.can if one.possible] == ["human mean, from labels alone"]
    assert "calib.interval(" in str(look) and "calib.report(" not in str(look)
    assert not any(one.possible for one in calib.look(labels_only(5)).can)


@pytest.mark.parametrize("label", [[4, 3] * 5, ["4 out of 5", "3 out of 5"] * 5])
def test_words_under_judge_are_its_scores_where_no_other_column_holds_them(label):
    frame = pd.DataFrame({"id": IDS, "judge": ["4 out of 5", "5 out of 5", "3 out of 5"] * 20})
    frame["human"] = pd.Series(label, dtype=object)
    with pytest.raises(calib.table.TableError, match="must name the words of column"):  # not: from the labels alone
        calib.interval(frame)
    mean = calib.interval(frame, scale="3 out of 5=3|4 out of 5=4|5 out of 5=5").one()
    assert (mean.n, mean.n_labels) == (60, 10)
    # beside scores, or where they are models, they say which judge it was
    for column in ({"judge": ["strict", "lenient", "lenient"] * 20, "score": 4}, {"judge": ["gpt-4o", "claude"] * 30}):
        found = infer_tables(frame.assign(**column).assign(human=pd.Series([4, 3] * 5)))
        assert {one.column: one.role for one in found.columns}["judge"] == "rater"


def test_rows_that_were_exported_twice_do_not_cost_the_groups():
    frame = pd.DataFrame(
        {"id": IDS, "prompt": np.repeat([f"Why {k}?" for k in range(30)], 2), "model": ["a", "b"] * 30}
    )
    frame = frame.assign(judge=JUDGE["gpt-4o"], human=JUDGE["gpt-4o"].where(JUDGE.index < 20))
    once, twice = (infer_tables(one).scores for one in (frame, pd.concat([frame, frame.head(10)])))
    pd.testing.assert_frame_equal(once, twice)
    assert once["group"].nunique() == 30


@pytest.mark.parametrize(
    ("name", "cells"), [("labelled_on", "2026-02-03"), ("human_rated_at", "2026-02-03 11:00"), ("human_comment", "ok")]
)
def test_when_a_person_labelled_and_what_she_remarked_are_no_labels(name, cells):
    labels = JUDGE["gpt-4o"].where(JUDGE.index < 20)
    frame = JUDGE.assign(human=labels, **{name: labels.map(lambda _: cells, na_action="ignore")})
    found = infer_tables(frame)
    assert [one.role for one in found.columns] == ["item", "judge", "label", "other"]


def test_german_questions_and_answers_are_no_ids():
    frame = pd.DataFrame({"Nr": range(1, 61), "Frage": "Wo?", "Antwort": [f"Bei {k}." for k in range(60)]})
    found = infer_tables(frame.assign(**{"Note KI": JUDGE["gpt-4o"], "Note Experte": JUDGE["gpt-4o"]}))
    assert [one.role for one in found.columns] == ["item", "source", "output", "judge", "label"]
    unnamed = JUDGE.rename(columns={"id": "Kennung"}).assign(human=JUDGE["gpt-4o"])
    assert infer_tables(unnamed).columns[0].why == "unique in each row"
