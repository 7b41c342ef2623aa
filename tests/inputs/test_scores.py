"""A table of scores from columns of one's own: what is taken, what is kept, what is said."""

import pandas as pd
import polars as pl
import pytest

import calib
from calib.core.check import CalibWarning
from calib.table import TableError

MINE = pd.DataFrame({"item": ["a", "b", "c"], "score": [4.0, None, 2.0]})


def written(folder, text: str):
    path = folder / "mine.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_path_and_a_frame_of_polars(tmp_path):
    for thing in (written(tmp_path, "item,score\na,4\nb,\nc,2\n"), str(tmp_path / "mine.csv"), pl.from_pandas(MINE)):
        pd.testing.assert_frame_equal(calib.scores_from(thing), calib.scores_from(MINE))


def test_words_as_labels(tmp_path):
    path = written(tmp_path, "id,label\na,Good \nb,poor\nc,\nd,good\n")
    with pytest.warns(CalibWarning, match="mine.csv: column `label`: blanks, case or form of 1 cells were passed over"):
        found = calib.scores_from(path, item="id", score="label", scale="poor|fair|good")
    assert found[["item", "score", "scale"]].to_numpy().tolist() == [
        ["a", 2.0, "0|1|2"], ["b", 0.0, "0|1|2"], ["d", 2.0, "0|1|2"],
    ]  # fmt: skip


def test_known_words_are_said():
    with pytest.warns(CalibWarning, match="the frame: column `score`: words are read as fail = 0, pass = 1"):
        found = calib.scores_from(MINE.assign(score=["pass", "fail", None]))
    assert found["score"].tolist() == [1, 0]


def test_a_persons_blank_is_no_label_and_a_judges_is_counted():
    assert calib.scores_from(MINE)["item"].tolist() == ["a", "c"]
    assert calib.scores_from(MINE, rater="human")["method"].unique().tolist() == ["human"]
    judge = calib.scores_from(MINE, rater="gpt-4o")
    assert judge["item"].tolist() == ["a", "b", "c"]
    assert judge[["n", "n_unread"]].to_numpy().tolist() == [[1, 0], [0, 1], [1, 0]]
    assert judge["method"].unique().tolist() == ["given"]
    labels = calib.scores_from(pd.DataFrame({"item": list("abc"), "score": [4, 4, 2]}), scale="1|2|3|4|5")
    (found,) = calib.interval(judge, labels, estimator="judge_only").to_frame().to_dict("records")
    assert (found["n"], found["n_unread"]) == (2, 1)


def test_how_a_judge_was_read_is_not_said_where_nobody_knows():
    judge = calib.scores_from(MINE.assign(score=[4.0, 3.0, 2.0]), rater="gpt-4o")
    people = calib.scores_from(MINE.assign(score=[5.0, 3.0, 1.0]))
    assert str(calib.agreement(judge, people)).startswith("quality, gpt-4o, human: ")


def test_columns_called_as_calibs_are_used_kept_or_spoken_of():
    frame = MINE.assign(group=["x", "x", "y"], system="s", criterion="tone", rater=["ann", "bob", "ann"], topic="law")
    found = calib.scores_from(frame)
    assert found[["group", "system", "criterion", "rater", "topic"]].astype(str).to_numpy().tolist() == [
        ["x", "s", "tone", "ann", "law"], ["x", "s", "tone", "bob", "law"], ["y", "s", "tone", "ann", "law"],
    ]  # fmt: skip
    own = MINE.assign(prompt=["p", "q", "r"], mode="fast", weight=2.0, other=1)
    with pytest.warns(
        CalibWarning, match="`prompt` rides along as `my_prompt`, `mode` rides along as `my_mode`, `weight` r"
    ):
        found = calib.scores_from(own, rater="j")
    assert found[["my_prompt", "my_mode", "my_weight", "other"]].to_numpy().tolist()[0] == ["p", "fast", 2.0, 1]
    assert found["prompt"].tolist() == [""] * 3


def test_a_column_with_gaps_that_nobody_named_is_not_taken_for_the_design():
    with pytest.warns(CalibWarning, match="`system` rides along as `my_system`"):
        found = calib.scores_from(MINE.assign(system=["s", None, "t"]))
    assert "system" not in found


def test_a_column_under_another_name_leaves_its_namesake():
    frame = MINE.assign(mark=[1, 2, 3], group=["x", "y", "z"], doc=["d", "d", "e"])
    with pytest.warns(CalibWarning, match="`score` rides along as `my_score`, `group` rides along as `my_group`"):
        found = calib.scores_from(frame, score="mark", group="doc", rater="j")
    assert found["score"].tolist() == [1, 2, 3]
    assert found["group"].astype(str).tolist() == ["d", "d", "e"]
    assert found["my_group"].tolist() == ["x", "y", "z"]


def test_a_table_of_calibs_own_stays_what_it_is():
    judge = calib.table.check_scores(MINE.assign(criterion="tone", rater="j", method="logprob", mass=0.9))
    pd.testing.assert_frame_equal(calib.scores_from(judge), judge)
    ratings = MINE.assign(criterion="tone", rater="j", draw=0)
    with pytest.raises(TableError, match=r"the frame has ratings, one row per reply: calib\.summarize them"):
        calib.scores_from(ratings)


@pytest.mark.parametrize(("text", "options", "message"), [("id,mark\na,4\n\nb,x\n", {},
    "`item` must be a column of the frame, but got 'item'; there are 'id', 'mark'; calib.look says"),
    ("ids,mark\na,4\n", {"item": "id"}, "there are 'ids', 'mark'; did you mean 'ids'?"),
    ('id,mark\n"a\nb",4\nc,5\nd,4\ne,x\n', {"item": "id", "score": "mark"},
    "mine.csv: column `mark`, line 6: must be"), ("id,mark\na,4\nb,6\n",
    {"item": "id", "score": "mark", "scale": "1|2|3|4|5"}, "column `mark`, line 3: must lie"),
    ("id,mark\na,4\n\na,5\n", {"item": "id", "score": "mark"}, "mine.csv: column `id`, line 4: must be there once"),
    ("id,mark\na,4\n,5\n", {"item": "id", "score": "mark"}, "mine.csv: column `id`, line 3: must hold an id"),
    ("id,mark\na,gold\n", {"item": "id", "score": "mark"},
    "mine.csv: `scale` must name the words of column `mark`")])  # fmt: skip
def test_what_is_refused_names_column_and_line(text, options, message, tmp_path):
    with pytest.raises(TableError) as caught:
        calib.scores_from(written(tmp_path, text), **options)
    assert message in str(caught.value)
