"""A file is understood in full, or a refusal names the columns and the option: no part of it is taken in silence."""

import json

import numpy as np
import pandas as pd
import pytest

import calib
from calib.adapters.log_look import look_at_log
from calib.inputs.resolve import in_words
from calib.inputs.tables import infer_tables
from calib.table import TableError

N, LABELLED = 90, 45
RNG = np.random.default_rng(11)
GRADES = RNG.integers(1, 6, N)
IDS = [f"t{k:03d}" for k in range(N)]


def some(cells, blank=None):
    """The cells of the first half of the rows."""
    return [cell if row < LABELLED else blank for row, cell in enumerate(cells)]


def sheet(**columns):
    return pd.DataFrame({"id": IDS, "judge_score": np.clip(GRADES + RNG.integers(-1, 2, N), 1, 5)} | columns)


def words_of(grades, bad="no", good="yes"):
    return [good if grade > 3 else bad for grade in grades]


def sentence_of(*files, **options):
    with pytest.raises((TableError, calib.ArgumentError)) as refused:
        infer_tables(*files, **options)
    return refused.value.sentence("--{}".format)


REFUSED = {
    "criteria of people beside one judge": (
        {"human_helpful": some(GRADES), "human_accurate": some(6 - GRADES)},
        ("--criterion", "`human_helpful`", "`human_accurate`", "'accurate'"),
        {"criterion": "accurate"},
    ),
    "what annotators settled on": (
        {name: some(GRADES) for name in ("annotator_1", "annotator_2", "final_label")},
        ("--label final_label", "--label annotator_1,annotator_2"),
        {"label": "final_label"},
    ),
    "an annotator on another scale": (
        {"anna": some(GRADES), "ben": some((GRADES > 3) * 1)},
        ("`ben`", "--label anna or --label ben"),
        {"label": "anna"},
    ),
    "labels of two people on two scales": (
        {"human_1": some(GRADES), "human_2": some((GRADES > 3) * 1)},
        ("--label human_1 or --label human_2",),
        {"label": "human_2"},
    ),
    "a score and a verdict of one judge": (
        {"judge_verdict": words_of(GRADES, "fail", "pass"), "human": some(GRADES)},
        ("--judge judge_score or --judge judge_verdict",),
        {"judge": "judge_verdict"},
    ),
    "labels of -1": (
        {"judge_score": RNG.random(N), "human": some((GRADES > 3) * 1, -1)},
        ("'0|1' takes it for no score", "'-1|0|1' for the lowest"),
        {"scale": "0|1"},
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_refusal_says_can_be_typed(case):
    columns, named, option = REFUSED[case]
    sentence = sentence_of(sheet(**columns))
    assert all(text in sentence for text in named)
    labels = infer_tables(sheet(**columns), **option).labels
    assert len(labels) == LABELLED
    assert labels["criterion"].nunique() == labels["rater"].nunique() == 1


def scores(*criteria):
    rows = [pd.DataFrame({"item": IDS, "criterion": name, "rater": "m", "score": GRADES / 5}) for name in criteria]
    return pd.concat(rows).assign(method="given", scale="0..1")


@pytest.mark.parametrize(
    "names",
    [("Faithfulness", "Answer Relevancy"), ("human_faithfulness", "human_answer_relevancy"),
     ("human_faithful", "human_relevant")],
)  # fmt: skip
def test_labels_are_of_the_criteria_that_their_columns_are_called_as(names):
    people = pd.DataFrame({"name": IDS, **dict.fromkeys(names, words_of(GRADES))})[:LABELLED]
    tables = infer_tables(scores("Answer Relevancy", "Faithfulness", "Toxicity"), people)
    assert set(tables.labels["criterion"]) == {"Faithfulness", "Answer Relevancy"}
    assert any("no label is of 'Toxicity'" in note for note in tables.notes)
    looked = calib.look(scores("Answer Relevancy", "Faithfulness", "Toxicity"), people)
    assert "labels of 1 annotator;" in " ".join(str(looked).split())


def test_one_criterion_on_each_side_is_one_where_an_option_says_it():
    people = pd.DataFrame({"name": IDS, "human_grounded": words_of(GRADES)})[:LABELLED]
    assert "--criterion" in sentence_of(scores("Faithfulness"), people)
    tables = infer_tables(scores("Faithfulness"), people, criterion="Faithfulness")
    assert set(tables.labels["criterion"]) == {"Faithfulness"}
    assert "'grounded' of `labels` is taken as 'Faithfulness'" in " ".join(tables.notes)


def test_a_judge_that_goes_against_the_labels_is_named_by_every_verb():
    verdicts = {"hallucination": words_of(6 - GRADES), "human_verdict": some(words_of(GRADES, "FAIL", "PASS"))}
    frame = sheet(**verdicts).drop(columns="judge_score")
    with pytest.warns(UserWarning) as caught:
        calib.interval(frame)
    said = " ".join(str(one.message) for one in caught)
    assert "column `human_verdict`: words are read as FAIL = 0, PASS = 1" in said
    assert "goes against the labels" in said
    turned = said.partition("scale='")[2].partition("'")[0]
    assert not [note for note in infer_tables(frame, scale=turned).notes if "against" in note]


def test_labelled_items_without_a_score_are_counted_with_an_example():
    people = pd.DataFrame({"id": [*IDS[:40], "x-1"], "human": [*GRADES[:40], 3]})
    notes = " ".join(infer_tables(sheet(), people).notes)
    assert "1 of 41 labelled items have no score of the judge and are left out, such as 'x-1'" in notes
    assert "otherwise" not in notes


def test_ids_that_two_may_be_meant_by_are_not_taken_as_one():
    people = pd.DataFrame({"id": ["T-7", "T7", *IDS[10:40]], "human": [1, 2, *GRADES[10:40]]})
    assert "2 of 32 labelled items have no score" in " ".join(infer_tables(sheet(), people).notes)
    people = people.assign(id=["T-7", "C++", *IDS[10:40]])
    notes = " ".join(infer_tables(sheet().assign(id=["C", *IDS[1:]]), people).notes)
    assert "1 of 32 labelled items are spelled otherwise than the judge's, such as 'T-7' for 't007'" in notes
    assert "such as 'C++'" in notes


def test_objects_in_rows_say_who_labelled_and_what_is_no_score():
    grades = GRADES.tolist()
    rows = [
        {"id": one, "meta": {"system": "AB"[k % 2], "cached": k % 3 == 0}, "evals": {"judge": {"score": grades[k]}},
         "review": {"human": {"score": grades[k], "by": ["anna", "ben"][k % 2]}} if k < LABELLED else None}
        for k, one in enumerate(IDS)
    ]  # fmt: skip
    tables = infer_tables(rows)
    assert {one.column: one.role for one in tables.columns if one.role != "other"} == {
        "id": "item", "meta.system": "system", "evals.judge.score": "judge", "review.human.score": "label",
        "review.human.by": "annotator",
    }  # fmt: skip
    assert "system (2 of them; --by system" in " ".join(in_words(tables))


def test_german_columns_and_blanks():
    notes = [str(grade) if k < LABELLED - 3 else ["k.A.", "-", ""][k % 3] for k, grade in enumerate(GRADES)]
    tables = infer_tables(pd.DataFrame({"Nr": range(N), "Judge_Note": GRADES, "Mensch_Note": notes}))
    assert (len(tables.labels), set(tables.scores["rater"]), set(tables.labels["rater"])) == (42, {"judge"}, {"human"})
    unknown = pd.DataFrame({"Nr": range(N), "judge": GRADES, "Lehrkraft": some(words_of(GRADES, "schwach", "stark"))})
    assert "--label Lehrkraft" in " ".join(calib.look(unknown).notes)
    with pytest.raises(calib.ArgumentError, match="--label Lehrkraft"):
        calib.interval(unknown)


@pytest.mark.parametrize(("column", "rater"), [("is_correct", "judge"), ("judge_1_to_10", "judge")])
def test_no_judge_is_called_is_or_as_a_scale(column, rater):
    judged = pd.DataFrame({"id": IDS, column: GRADES, "answer": [f"Text {k}." for k in range(N)]})
    people = pd.DataFrame({"id": IDS[:LABELLED], "human": GRADES[:LABELLED]})
    assert set(infer_tables(judged, people).scores["rater"]) == {rater}


TITLES = [["Support bot", None, None, None], ["by maria", None, None, "labels: TRUE = good"], [None] * 4]


def test_names_below_titles_in_the_sheet_that_has_scores_and_labels(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    names = ["Case", "Answer", "Judge score", "Human OK?"]
    cells = [[IDS[k], f"Text {k}.", float(GRADES[k]), float(GRADES[k]) if k < LABELLED else None] for k in range(N)]
    book = openpyxl.Workbook()
    book.active.title = "Notes"
    for row in (["Owner", "Date"], ["Maria", "today"]):
        book.active.append(row)
    for row in [*TITLES, names, *cells, *cells[:12]]:
        (book["Results"] if "Results" in book.sheetnames else book.create_sheet("Results")).append(row)
    book.save(tmp_path / "mine.xlsx")
    tables = infer_tables(tmp_path / "mine.xlsx")
    assert (len(tables.scores), len(tables.labels)) == (N, LABELLED)
    assert len([note for note in tables.notes if "rows repeat" in note]) == 1
    assert f"labels ({LABELLED} of {N})" in in_words(tables)[0]
    pd.DataFrame([*TITLES[:2], names, *cells]).to_csv(tmp_path / "mine.csv", index=False, header=False)
    assert len(infer_tables(tmp_path / "mine.csv").labels) == LABELLED


def test_a_log_beside_labels_says_the_lines_with_the_field_of_ids(tmp_path):
    records = [{"name": f"case {k}", "input": f"Why {k}?", "actualOutput": "So.", "success": True,
                "metricsData": [{"name": "Faithfulness", "score": 0.5, "evaluationModel": "m"}]}
               for k in range(20)]  # fmt: skip
    log, people = tmp_path / "run.json", tmp_path / "review.csv"
    log.write_text(json.dumps({"testCases": records, "testPassed": 1, "metricsScores": [{"a": 1}]}))
    assert "people.csv" in look_at_log(log)
    pd.DataFrame({"case": [f"case {k}" for k in range(12)], "human": range(12)}).to_csv(people, index=False)
    for verb in (calib.look, calib.interval):
        with pytest.raises(
            TableError, match=r"--item name --out scores.csv`, then `calib interval scores.csv .*review"
        ):
            verb(str(log), str(people))
    text = look_at_log(log)
    assert "--item name" in text
    assert "review.csv" in text
    assert "people.csv" not in text
