"""Files as people really have them: what calib takes them for, against numbers made by hand."""

import json
import unicodedata
import warnings

import numpy as np
import pandas as pd
import pytest

import calib
from calib.core.check import CalibWarning
from calib.inputs.cells import valued
from calib.inputs.tables import infer_tables
from calib.table import TableArgumentError, TableError

N = 40
JUDGE = np.tile([1, 2, 3, 4, 5, 4, 3, 2], 5)
PEOPLE = np.tile([2, 2, 3, 5, 5, 4, 4, 1], 5)
LABELLED = np.arange(N) % 3 == 0
IDS = [f"q{k}" for k in range(N)]
SPARSE = pd.Series(PEOPLE).where(LABELLED)
MEAN, COUNT, JUDGED = PEOPLE[LABELLED].mean(), int(LABELLED.sum()), JUDGE.mean()


def frame(**columns):
    return pd.DataFrame({"id": IDS, "judge": JUDGE, "human": SPARSE} | columns)


def texts(blank):
    return [str(y) if known else blank for y, known in zip(PEOPLE, LABELLED, strict=True)]


def is_as_it_was_made(found, mean=MEAN, count=COUNT, judge=JUDGED):
    """The judge's mean, and the mean and number of labels, are those of numpy."""
    assert found.scores["score"].mean() == pytest.approx(judge)
    assert (found.labels["score"].mean(), len(found.labels)) == (pytest.approx(mean), count)
    assert len(set(found.scores["rater"])) == 1
    return " ".join(found.notes)


@pytest.mark.parametrize("code", [-1, -9, -99, 99, 999])
def test_a_code_for_no_label(code):
    found = infer_tables(frame(human=np.where(LABELLED, PEOPLE, code)))
    assert f"`human`: cells that say {code} ({N - COUNT}) are taken for no score" in is_as_it_was_made(found)
    assert found.scale == "1|2|3|4|5"


def test_a_code_of_a_judge_that_failed_is_an_unread_score():
    failed = np.arange(N) % 9 == 1
    found = infer_tables(frame(judge=np.where(failed, -1, JUDGE)))
    assert found.scores["score"].mean() == JUDGE[~failed].mean()
    assert found.scores["n_unread"].sum() == failed.sum()


@pytest.mark.parametrize(
    "labels", [[-1, 0, 1, 1], [60, 99, 100, 70], [-2, -1, 1, 2], [-1, 0, 1, 2], [0.5, -1, 2.5, 4], [-1.2, -1, 3.3, 0]]
)
def test_what_may_be_a_score_is_no_code(labels):
    found = infer_tables({"id": list("abcd"), "judge": labels, "human": labels})
    assert found.labels["score"].tolist() == labels


@pytest.mark.parametrize(("low", "scale", "within"), [(0, "1|2|3|4|5", "0|1|2|3|4|5"), (-1, "0|1", "-1|0|1")])
def test_a_lowest_value_that_may_be_no_label_is_asked_for(low, scale, within):
    people, judge = (PEOPLE, JUDGE) if low == 0 else (PEOPLE > 3, JUDGE > 3)
    mine = frame(judge=judge.astype(int), human=np.where(LABELLED, people.astype(int), low))
    with pytest.raises(TableArgumentError, match="whether") as caught:
        infer_tables(mine)
    assert f"{scale!r} takes it for no score, {within!r} for the lowest" in str(caught.value)
    is_as_it_was_made(infer_tables(mine, scale=scale), people[LABELLED].mean(), COUNT, judge.mean())
    whole = np.where(LABELLED, people, low)
    is_as_it_was_made(infer_tables(mine, scale=within), whole.mean(), N, judge.mean())


def test_a_few_zeros_are_scores_and_said():
    found = infer_tables(frame(human=np.where(np.arange(N) == 7, 0, PEOPLE)))
    assert found.scale == "0|1|2|3|4|5"
    assert "1 of 40 labels of quality are 0, and none of the others" in " ".join(found.notes)


def test_zeros_of_a_judge_on_another_scale_are_nothing_odd():
    assert not infer_tables(frame(judge=JUDGE * 20 - 20)).notes[1:]
    assert not infer_tables(
        frame(judge=np.linspace(0.01, 0.99, N), human=(SPARSE > 3).astype(int).where(LABELLED))
    ).notes


@pytest.mark.parametrize("word", ["skip", "not labelled", "?", "--", "N.A.", "unrated", "TBD"])
def test_words_for_no_label(word):
    notes = is_as_it_was_made(infer_tables(frame(human=texts(word))))
    assert f"cells that say {word.casefold()} ({N - COUNT}) are taken for no score" in notes


def test_a_word_among_numbers_is_refused_with_its_line(tmp_path):
    path = tmp_path / "mine.csv"
    frame(human=texts("cannot say")).to_csv(path, index=False)
    with pytest.raises(TableError, match=r"`human`, line 3: must be a number, or blank where there is no score"):
        infer_tables(path)


@pytest.mark.parametrize("word", ["ERROR", "timed_out", "#VALUE!"])
def test_a_call_of_the_judge_that_broke_off_is_no_score(word):
    inferred = infer_tables(frame(judge=[word, *map(str, JUDGE[1:])]))
    assert inferred.scores["score"].isna().tolist() == [True] + [False] * (N - 1)
    assert any(
        note.endswith(f"cells that say {word.casefold()} (1) are taken for no score.") for note in inferred.notes
    )


def test_an_error_is_no_score_beside_pass_and_fail_and_a_word_to_be_asked_about_beside_one_of_them():
    verdicts = np.where(JUDGE > 3, "pass", "fail").astype(object)
    verdicts[3] = "error"
    inferred = infer_tables(frame(judge=verdicts))
    assert inferred.scores["score"].isna().sum() == 1
    for words in (["correct", "error"], ["ok", "error"], ["warning", "error", "fine"]):
        with pytest.raises(TableArgumentError, match=r"scale|must name the words"):
            infer_tables(frame(judge=np.resize(words, N)))
    stated = valued(pd.Series(verdicts), "fail=0|error=0|pass=1", column="judge")
    assert stated.numbers.notna().all()


@pytest.mark.parametrize("last", [["Average"], ["mean", "std"], ["TOTAL:"]])
def test_means_below_the_rows_are_no_items(last):
    below = pd.DataFrame({"id": last, "judge": 2.96, "human": 3.3})
    assert "are taken for summaries" in is_as_it_was_made(infer_tables(pd.concat([frame(), below])))


@pytest.mark.parametrize("name", ["judge_confidence", "judge_std", "difficulty", "retries", "human_confidence"])
def test_columns_beside_the_scores_that_are_none(name):
    others = np.tile([5, 1, 2, 3], N // 4)
    is_as_it_was_made(infer_tables(frame(**{name: others})))
    is_as_it_was_made(infer_tables(frame(**{name: pd.Series(others).where(LABELLED)})))


def test_beside_a_column_of_labels_a_sparse_one_of_no_name_is_no_second_annotator():
    is_as_it_was_made(infer_tables(frame(zap=pd.Series(JUDGE).where(LABELLED))))


@pytest.mark.slow
@pytest.mark.parametrize("names", [("robert", "albert"), ("expert5", "expert6"), ("Robert", "Bertha")])
def test_people_who_are_called_as_models_are(names):
    found = infer_tables(pd.DataFrame({"id": IDS, "judge": JUDGE, **dict.fromkeys(names, SPARSE)}))
    is_as_it_was_made(found)
    rows = [pd.DataFrame({"id": IDS, "rater": "gpt-4", "score": JUDGE})]
    rows += [pd.DataFrame({"id": IDS, "rater": name, "score": PEOPLE})[LABELLED] for name in names]
    is_as_it_was_made(infer_tables(pd.concat(rows)))


def test_ids_in_other_forms_of_unicode():
    ids = [f"é{k}" for k in range(N)]
    mine = frame(id=[unicodedata.normalize("NFC", text) for text in ids])[["id", "judge"]]
    people = frame(id=[unicodedata.normalize("NFD", text) for text in ids])[["id", "human"]]
    is_as_it_was_made(infer_tables(mine, people))


@pytest.mark.parametrize(("form", "many"), [("Q{}", "5 of 14"), ("Q-00{}", "5 of 14"), ("q{}", "")])
def test_some_ids_in_another_spelling_are_said_and_taken(form, many):
    people = frame(id=[form.format(k) if k % 9 == 0 else f"q{k}" for k in range(N)]).dropna()[["id", "human"]]
    notes = " ".join(infer_tables(frame()[["id", "judge"]], people).notes)
    assert (f"ids of {many} labelled items are spelled otherwise" in notes) == bool(many)
    assert "left out" not in notes


# --- files ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("top", ["Evaluation in March\n\n", "# made by hand\n# twice\n", "Evaluation;;\n"])
@pytest.mark.parametrize("separator", [",", ";"])
def test_a_title_above_the_names(tmp_path, top, separator):
    path = tmp_path / "mine.csv"
    path.write_text(top.replace(";", separator) + frame().to_csv(index=False, sep=separator))
    is_as_it_was_made(infer_tables(path))
    assert "stands above the names" in " ".join(calib.look(path).notes)


def test_a_question_merged_over_its_answers_stands_beside_each(tmp_path):
    book = pytest.importorskip("openpyxl").Workbook()
    book.active.append(["Results", None, None, None])
    book.active.merge_cells("A1:D1")
    book.active.append(["id", "question", "scores", None])
    book.active.append([None, None, "judge", "human"])
    for cells in ("A2:A3", "B2:B3", "C2:D2"):
        book.active.merge_cells(cells)
    for k in range(N):
        question = f"Why is it {k // 4}?" if k % 4 == 0 else None
        book.active.append([IDS[k], question, int(JUDGE[k]), float(PEOPLE[k]) if LABELLED[k] else None])
        if question:
            book.active.merge_cells(f"B{k + 4}:B{k + 7}")
    book.active.merge_cells("F1:F900")  # beyond all rows
    book.save(tmp_path / "mine.xlsx")
    found = infer_tables(tmp_path / "mine.xlsx", group="question")
    is_as_it_was_made(found)
    assert "12 merged texts stand for each of their rows." in found.sources[0].notes
    assert found.scores.groupby("group").size().tolist() == [4] * (N // 4)


def test_a_title_on_a_sheet(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    rows = frame().astype(object).where(frame().notna(), None).to_numpy().tolist()
    for row in [["Evaluation"], [], ["id", "judge", "human"], *rows]:
        book.active.append(row)
    book.active.merge_cells("A1:C1")
    book.save(tmp_path / "mine.xlsx")
    is_as_it_was_made(infer_tables(tmp_path / "mine.xlsx"))


def records():
    people = [int(y) if known else None for y, known in zip(PEOPLE, LABELLED, strict=True)]
    return [{"id": i, "judge": int(j), "human": y} for i, j, y in zip(IDS, JUDGE, people, strict=True)]


@pytest.mark.parametrize(
    "made",
    [
        lambda rows: {"meta": {"model": "x"}, "results": rows},
        lambda rows: {"run": {"date": "today", "rows": rows}},
        lambda rows: {row["id"]: {"judge": row["judge"], "human": row["human"]} for row in rows},
        lambda rows: [
            {"id": r["id"], "judge": {"score": r["judge"], "reason": f"by {r}"}, "human": r["human"]} for r in rows
        ],
        lambda rows: [{"id": r["id"], "judge": {"tone": r["judge"]}, "human": {"tone": r["human"]}} for r in rows],
        lambda rows: pd.DataFrame(rows).to_dict("list"),
        lambda rows: json.loads(pd.DataFrame(rows).to_json()),
        lambda rows: json.loads(pd.DataFrame(rows).to_json(orient="split")),
    ],
)
def test_forms_of_json(tmp_path, made):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(made(records())))
    is_as_it_was_made(infer_tables(path))


def test_objects_for_each_model():
    rows = [{"id": r["id"], "gpt-4o": {"score": r["judge"]}, "human": {"gpt-4o": r["human"]}} for r in records()]
    is_as_it_was_made(infer_tables(rows))


def test_criteria_are_no_models():
    rows = [{"id": r["id"], "scores": {"coherence": r["judge"], "tone": 6 - r["judge"]}} for r in records()]
    found = infer_tables(rows, frame()[["id", "human"]].rename(columns={"human": "human.coherence"}).dropna())
    of = found.scores[found.scores["criterion"] == "coherence"]
    assert of["score"].tolist() == JUDGE.tolist()
    assert set(found.labels["criterion"]) == {"coherence"}


# --- pairs ------------------------------------------------------------------------------------------------------

WON = np.tile(["A", "B", "tie", "A"], N // 4)
SHARE = np.select([WON == "A", WON == "B"], [1, 0], 0.5)


@pytest.mark.parametrize("spelled", [{"A": "A>B", "B": "B>A", "tie": "A=B"},
    {"A": "[[A>>B]]", "B": "[[B>A]]", "tie": "[[A=B]]"}, {"A": 1, "B": 2, "tie": 0}])  # fmt: skip
def test_winners_as_they_are_written(spelled):
    cells = pd.Series(WON).map(spelled)
    found = infer_tables({"id": IDS, "judge_winner": cells, "human_winner": cells.where(LABELLED)})
    assert found.pairwise
    is_as_it_was_made(found, SHARE[LABELLED].mean(), COUNT, SHARE.mean())


def duels():
    first, second = np.array(["x", "x", "y"])[np.arange(N) % 3], np.array(["y", "z", "z"])[np.arange(N) % 3]
    asked = [f"q{k // 3}" for k in range(N)]
    return pd.DataFrame({"question_id": asked, "model_a": first, "model_b": second, "judge": WON, "human": WON})


def test_a_question_that_several_pairs_answer():
    mine = duels()
    found = infer_tables(mine)
    for name in "xyz":
        wins = [*SHARE[mine["model_a"] == name], *(1 - SHARE[mine["model_b"] == name])]
        assert found.scores.loc[found.scores["system"] == name, "score"].mean() == pytest.approx(np.mean(wins))
        assert (found.labels["system"] == name).sum() == len(wins)


def test_two_files_that_name_the_two_in_another_order():
    turned = pd.Series(WON).map({"A": "B", "B": "A", "tie": "tie"})
    judge = pd.DataFrame({"id": IDS, "model_a": "u", "model_b": "v", "winner": WON})
    people = pd.DataFrame({"id": IDS, "model_a": "v", "model_b": "u", "winner": turned})[LABELLED]
    found = infer_tables(judge, people)
    assert set(found.labels["system"]) == {"u"}
    is_as_it_was_made(found, SHARE[LABELLED].mean(), COUNT, SHARE.mean())


def test_lists_under_the_names_of_the_compared_are_no_names():
    lists = frame(model_a=[["x"]] * N, model_b=[["y"]] * N)
    assert [one.role for one in infer_tables(lists).columns] == ["item", "judge", "label", "other", "other"]


@pytest.mark.slow
def test_lines_that_are_printed_for_pairs_run():
    mine = duels().assign(human=pd.Series(WON).where(LABELLED))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lines = calib.look(mine).lines
        assert lines
        for line in lines[1:]:
            eval(line, {"calib": calib, "frame": mine})


def test_what_tells_repeated_ids_apart_is_named():
    with pytest.raises(TableError, match="Here `language` does"):
        infer_tables(pd.concat([frame(language="en"), frame(language="de", judge=6 - JUDGE)]))


def test_scores_by_id_are_refused_with_what_to_write():
    with pytest.raises(TableError, match=r"scores by id are \{'id': \['q0', ...\], 'score': \[...\]\}"):
        infer_tables(dict(zip(IDS, map(int, JUDGE), strict=True)))


@pytest.mark.slow
def test_the_scale_of_labels_in_words_is_theirs_whatever_a_judge_gives():
    words = ["poor", "fair", "good", "excellent"]
    frame = pd.DataFrame({
        "id": range(40), "judge": np.arange(40) % 5 + 1, "label": [words[i % 4] if i < 20 else None for i in range(40)],
    })  # fmt: skip
    assert calib.look(frame).intake.scale == "0|1|2|3"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        said, guessed = calib.interval(frame, scale="|".join(words)), calib.interval(frame)
    assert said.one().interval == guessed.one().interval
    assert any("another scale" in str(warning.message) for warning in told)


def test_a_missing_line_of_names_is_said_by_the_verbs(tmp_path):
    path = tmp_path / "mine.csv"
    frame(human=PEOPLE)[3:].to_csv(path, index=False, header=False)
    with pytest.warns(CalibWarning, match="is a line of names missing"):
        calib.interval(path, item="q3", judge="4", label="5")


def test_a_slip_that_would_stretch_the_scale_is_said():
    labels = [k % 5 + 1 for k in range(70)]
    slipped = pd.DataFrame(
        {"id": range(200), "judge": [k % 5 + 1 for k in range(200)], "human": [*labels, *[None] * 130]}
    )
    assert not any("far above" in note for note in infer_tables(slipped).notes)
    slipped.loc[5, "human"] = 11
    assert any("1 of 70 labels" in note and "1|2|3|4|5" in note for note in infer_tables(slipped).notes)
