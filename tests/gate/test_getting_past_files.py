"""Files of a user's own by which a bad build got past the gate: labels on a guess, by a model, of another build."""

import numpy as np
import pandas as pd
import pytest

import calib
from calib.cli import main

SCALE, N = "1|2|3|4|5", 60
IDS = [f"q{k}" for k in range(N)]
RNG = np.random.default_rng(3)
BAD = np.clip(np.rint(RNG.normal(2.1, 0.8, N)), 1, 5)  # what people would say of the build
GOOD = np.clip(np.rint(RNG.normal(4.4, 0.6, N)), 1, 5)  # of another one
JUDGED = np.clip(BAD + RNG.integers(-1, 2, N), 1, 5)
SCORES = {"id": IDS, "judge_score": JUDGED}


def exit_code(*words):
    with pytest.raises(SystemExit) as left:
        main(words)
    return left.value.code


@pytest.fixture
def left(tmp_path, monkeypatch, capsys):
    """Exit code and both streams of `calib gate` on frames as files."""
    monkeypatch.chdir(tmp_path)

    def run(scores, labels=None, *words, threshold=3.2, name="p.csv", scale=SCALE):
        pd.DataFrame(scores).to_csv("s.csv", index=False)
        files = ["s.csv"]
        if labels is not None:
            pd.DataFrame(labels).to_csv(name, index=False)
            files.append(name)
        code = exit_code("gate", *files, "--threshold", str(threshold), *(["--scale", scale] if scale else []), *words)
        streams = capsys.readouterr()
        return code, streams.out, " ".join(streams.err.split())

    return run


@pytest.mark.parametrize("system", [416, "416.0", "b416"])
@pytest.mark.parametrize("column", ["system", "build"])
def test_labels_of_a_build_that_is_called_by_a_number(left, system, column):
    code, out, _ = left(SCORES, {"id": IDS, column: system, "label": GOOD}, "--system", "417")
    assert code == 3 and "60 labels of" in out


@pytest.mark.parametrize("column", ["previous", "helpdesk", "grade_before", "stars", "strict_score"])
def test_a_column_that_is_taken_for_labels_on_a_guess(left, column):
    code, _, err = left(SCORES | {column: GOOD})
    assert code == 2 and f"`{column}`" in err and "--label" in err


@pytest.mark.parametrize(("mine", "other"), [("label", "score"), ("gold", "rating")])
def test_two_columns_that_may_be_labels(left, mine, other):
    scores = {"id": IDS, "judge": JUDGED, mine: GOOD, other: BAD}
    code, _, err = left(scores)
    assert code == 2 and f"`{other}`" in err
    code, out, _ = left(scores, None, "--label", other)
    assert code == 1 and out.startswith("fail")


@pytest.mark.parametrize("names", [("human_v1", "human_v2"), ("label", "label_417")])
def test_rounds_are_no_annotators(left, names):
    scores = SCORES | dict(zip(names, (GOOD, BAD), strict=True))
    code, _, err = left(scores, threshold=3)
    assert code == 2 and ("rounds of labels" in err or "may be what was made of" in err)
    assert left(scores, None, "--label", names[1], threshold=3)[0] == 1
    assert left(SCORES | {"human_1": BAD, "human_2": BAD}, threshold=3)[0] == 1


@pytest.mark.parametrize(
    "labels",
    [{"gpt-4o_label": GOOD}, {"claude_rating": GOOD}, {"annotator": "gpt-4o", "label": GOOD}],
    ids=["its column", "a rating", "its annotator"],
)
def test_a_model_is_no_person(left, labels):
    code, _, err = left(SCORES, {"id": IDS} | labels)
    assert code == 2 and ("model" in err)


@pytest.mark.parametrize("names", [("gpt-4o", "claude-3"), ("judge-a", "judge-b")])
def test_a_second_judge_is_no_person(left, names):
    both = [pd.DataFrame({"id": IDS, "judge": name, "score": GOOD}) for name in names]
    assert left(pd.concat([both[0], both[1].head(50)]))[0] == 2


def test_tables_of_two_judges(left):
    rows = pd.DataFrame({"item": IDS, "criterion": "q", "scale": SCALE, "method": "given"})
    one, two = rows.assign(rater="claude", score=GOOD), rows.assign(rater="gpt-4o", score=GOOD)
    with pytest.raises(calib.table.TableError, match="by 'gpt-4o', a model"):
        calib.gate(one, two, threshold=3)


def test_scores_of_two_builds_are_no_labels(left):
    code, _, err = left({"id": IDS, "score": JUDGED}, {"id": IDS, "score": GOOD}, name="scores-417.csv")
    assert code == 2 and "--label" in err
    assert left({"id": IDS, "score": JUDGED}, {"id": IDS, "score": BAD}, name="human.csv")[0] == 1


def test_a_workbook_with_a_sheet_for_each_round(left, tmp_path):
    with pd.ExcelWriter("people.xlsx") as book:
        for sheet, labels in (("416", GOOD), ("417", BAD)):
            pd.DataFrame({"id": IDS, "rating": labels}).to_excel(book, sheet_name=sheet, index=False)
    pd.DataFrame(SCORES).to_csv("s.csv", index=False)
    words = ["--threshold", "3.2", "--scale", SCALE]
    assert exit_code("gate", "s.csv", "people.xlsx", *words) == 2
    assert exit_code("gate", "s.csv", "people.xlsx#417", *words) == 1


@pytest.mark.filterwarnings("ignore:column `rating`")
@pytest.mark.parametrize("word", ["-1", "0"])
def test_cells_that_hold_no_label(left, word):
    labels = pd.Series(GOOD.astype(int).astype(str)).where(np.arange(N) % 3 > 0, word)
    code, _, err = left(SCORES, {"id": IDS, "rating": labels})
    assert code == 2 and "20 of 60 cells" in err


@pytest.mark.filterwarnings("ignore:column `rating`")
def test_what_was_read_stands_in_the_verdict(left, tmp_path):
    labels = pd.Series(BAD.astype(int).astype(str)).where(np.arange(N) % 30 > 0, "skip")
    assert left(SCORES, {"id": IDS, "rating": labels}, "--summary", "x.md", "--json", "x.json")[0] == 1
    assert all("skip" in (tmp_path / name).read_text() for name in ("x.md", "x.json"))


@pytest.mark.parametrize("word", ["N/A", "-", "NA"])
def test_cells_that_say_that_there_is_no_label(left, word):
    labels = pd.Series(GOOD.astype(int).astype(str)).where(np.arange(N) % 3 > 0, word)
    assert "20 cells of `rating` say NA or the like" in left(SCORES, {"id": IDS, "rating": labels})[2]
    empty = labels.where(labels != word, "")
    assert "say NA" not in left(SCORES, {"id": IDS, "rating": empty})[2]


def test_a_guessed_scale_of_two(left):
    ten = np.minimum(2 * BAD, 10)
    code, _, err = left({"id": IDS, "judge_score": BAD, "human_score": ten}, scale=None)
    assert code == 2 and "--scale must be given" in err and "labels reach" in err


@pytest.mark.filterwarnings("default:judge goes against")
def test_reversed_labels_and_copies(left):
    code, out, _ = left(SCORES, {"id": IDS, "rating": 6 - BAD}, threshold=3.5)
    assert code == 3 and "reversed" in out
    code, out, err = left({"id": IDS, "judge_score": GOOD}, {"id": IDS, "rating": GOOD})
    assert code == 3 and "are the judge's scores" in out and "assumed: The labels name no system" in err


def test_a_criterion_of_which_more_is_worse(left):
    code, _, err = left({"id": IDS, "judge_toxicity": np.roll(GOOD, 1), "human_toxicity": GOOD})
    assert code == 0 and "more_is_worse: toxicity" in err


# --- texts that are the same ------------------------------------------------------------------------------------------


def builds(labels, groups=IDS):
    """Two builds on the same inputs, good and bad, all labelled."""
    at = [{"item": [f"{name}/{k}" for k in IDS], "group": groups, "system": name, "criterion": "q", "scale": SCALE}
          for name in ("v1", "v2")]  # fmt: skip
    tables = [pd.DataFrame(one | {"score": two}) for one, two in zip(at, labels, strict=True)]
    people = pd.concat(tables, ignore_index=True).assign(rater="ann", method="human")
    noise = np.random.default_rng(1).integers(-1, 2, len(people))
    return people.assign(rater="judge", method="given", score=(people["score"] + noise).clip(1, 5)), people


def test_texts_of_another_build_change_nothing():
    scores, people = builds((GOOD, BAD))
    items = scores[["item", "group", "system"]].assign(output="see outputs/" + scores["group"])
    asked = {"system": "v2", "baseline": "v1", "margin": 0.2, "items": items}
    check = calib.gate(scores, people, **asked).checks.one()
    assert check.outcome == "inconclusive" and "have the same text in both builds" in check.reason
    own = people[(people["system"] == "v1") | (people["item"].isin([f"v2/q{k}" for k in range(12)]))]
    check = calib.gate(scores, own, system="v2", threshold=3, items=items).checks.one()
    assert check.outcome == "inconclusive"


def test_equal_texts_with_equal_scores_still_count():
    scores, people = builds((GOOD, GOOD))
    scores["score"] = [*scores["score"][:N], *scores["score"][:N]]
    items = scores[["item", "group", "system"]].assign(output="answer to " + scores["group"])
    people = people[people["system"] == "v1"]
    verdict = calib.gate(scores, people, system="v2", baseline="v1", margin=0.2, items=items)
    assert verdict.outcome == "pass"


def test_several_outputs_of_an_input_are_no_pair():
    scores, people = builds((GOOD, BAD), [f"c{k // 4}" for k in range(N)])
    items = scores[["item", "group", "system"]].assign(output="hello")
    for sequential in (False, True):
        with pytest.raises(calib.table.TableError, match="one item per group"):
            calib.gate(scores, people, system="v2", baseline="v1", margin=0.2, items=items, sequential=sequential)


def test_a_canned_answer_carries_no_label():
    canned = np.where(np.arange(N) % 10 == 0, 5.0, 1.0)
    scores, people = builds((GOOD, canned))
    people = people[(people["system"] == "v1") | people["item"].isin([f"v2/q{k}" for k in range(1, 60, 5)])]
    people = people.assign(score=people["score"].where(people["system"] == "v2", 5.0))
    items = scores[["item", "system"]].assign(output="Sorry.", source="support mails")
    verdict = calib.gate(scores, people, system="v2", threshold=3, items=items)
    assert verdict.outcome != "pass" and verdict.checks.one().n_labels == 12


def test_labels_unlike_the_rest_decide_nothing():
    scores, people = builds((GOOD, np.r_[GOOD[:20], BAD[20:]]))
    people = people[people["item"].isin([f"v2/q{k}" for k in range(20)])]
    check = calib.gate(scores[scores["system"] == "v2"], people, threshold=3.2).checks.one()
    assert check.outcome == "inconclusive" and "random sample" in check.reason


def test_as_many_other_labels_are_a_second_look(tmp_path):
    scores, people = builds((GOOD, GOOD))
    scores, book = scores[scores["system"] == "v2"], tmp_path / "gates.jsonl"
    for part, looked in ((range(20), False), (range(20), False), (range(20, 40), True)):
        labels = people[people["item"].isin([f"v2/q{k}" for k in part])]
        verdict = calib.gate(scores, labels, threshold=2, ledger=book)
        assert any(note.startswith("looked_before") for note in verdict.notes) == looked


# --- a policy for want of labels ------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:p.csv labels 60")
def test_what_is_allowed_is_a_want_of_labels_and_no_crash(left):
    allowed = "--allow-inconclusive"
    few = {"id": IDS[:5], "rating": BAD[:5]}
    assert left(SCORES, few)[0] == 3 and left(SCORES, few, allowed)[0] == 0
    crashed = {"id": IDS, "judge_score": np.where(np.arange(N) % 2, JUDGED, np.nan)}
    assert left(crashed, few, allowed)[0] == 3
    assert left(crashed, {"id": IDS, "rating": GOOD}, allowed)[0] == 3


# --- the same labels, other texts -------------------------------------------------------------------------------------


def texts(which, change=lambda k: True):
    return [f"answer {k} of the {which if change(k) else 'old'} build" for k in range(N)]


@pytest.mark.parametrize("column", ["output", "response", "answer"])
def test_labels_beside_another_text_are_not_of_this_build(left, column):
    scores, labels = SCORES | {column: texts("new")}, {"id": IDS, "rating": GOOD, column: texts("old")}
    code, _, err = left(scores, labels)
    assert code == 2 and "60 of 60 outputs have different texts in labels and scores" in err
    pd.DataFrame({"item": IDS, "output": texts("new")}).to_csv("items.csv", index=False)
    assert left(SCORES, labels, "--items", "items.csv")[0] == 2
    same = [f" {text}\u200b" for text in texts("new")]  # read as a person reads it
    assert left(scores, labels | {column: same})[0] == 0
    code, _, err = left(scores, labels | {column: texts("new", lambda k: k > 1)})
    assert code == 0 and "other_texts: 2 of 60" in err


@pytest.mark.parametrize("column", ["version", "commit"])
def test_two_files_that_name_two_builds(left, column):
    code, _, err = left(SCORES | {column: "417"}, {"id": IDS, "rating": GOOD, column: "v2"}, "--system", "417")
    assert code == 2 and f"`{column}` is 'v2' in p.csv and '417' in s.csv" in err


def test_labels_merged_onto_a_build_by_the_input(left):
    kind = np.clip(BAD + 2, 1, 5)
    rows = {"id": IDS * 2, "system": ["old"] * N + ["new"] * N, "human": np.tile(np.clip(kind, 1, 5), 2)}
    rows |= {"judge_score": np.append(kind, BAD)}
    assert left(rows, None, "--system", "new", threshold=3)[0] == 3
    assert "not copied between the builds" in left(rows, None, "--system", "new", threshold=3)[1]


def test_labels_that_are_nearly_the_scores(left):
    judged = np.where(np.arange(N) < 2, 1.0, GOOD)
    code, _, err = left({"id": IDS, "judge_score": judged}, {"id": IDS, "rating": GOOD})
    assert code == 0 and "labels_like_scores: 58 of 60" in err
    code, out, _ = left({"id": IDS, "judge_score": GOOD - 0.3}, {"id": IDS, "rating": GOOD})
    assert code == 3 and "are the judge's scores" in out


def test_labels_of_two_values_that_are_the_scores(left):
    two = np.where(np.arange(N) % 10 > 0, 5, 1)
    code, _, err = left({"id": IDS, "judge_score": two}, {"id": IDS, "rating": two})
    assert code == 0 and "labels_like_scores: 60 of 60 labels are the judge's scores" in err
    nearly = np.where(np.arange(N) == 3, 1, two)  # as of a good judge
    assert "labels_like_scores" not in left({"id": IDS, "judge_score": nearly}, {"id": IDS, "rating": two})[2]


def test_an_annotator_who_gives_one_label(left):
    labels = pd.concat(
        [pd.DataFrame({"id": IDS, "annotator": who, "rating": y}) for who, y in (("ann", BAD), ("bo", 5))]
    )
    assert "constant_annotator: quality: bo gave 5 to all 60 items" in left(SCORES, labels, threshold=2.5)[2]
