"""Columns of one kind beside each other: all are people's labels or a judge's scores, or the option is asked for.

Each sheet is a line: its columns, `name:blanks` with what they hold behind it where that is not 1 to 5 (`:01`, `:yes`,
`:good`, `:year`), an arrow, and the right reading: the judge's columns, a bar and people's; or a question mark and the
columns that a refusal has to list, since nobody but the user can say whose they are. No number of blank cells says it.
"""

import numpy as np
import pandas as pd
import pytest

from calib import cli
from calib.inputs.tables import infer_tables
from calib.table import TableError

N = 60
SHEETS = """
gpt-4o Anna:5 Ben:11 Chen:8 -> gpt-4o | Anna Ben Chen
Anna:5 Ben:11 Chen:8 gpt-4o -> gpt-4o | Anna Ben Chen
Anna Ben Chen gpt-4o -> gpt-4o | Anna Ben Chen
Anna Ben:20 Chen gpt-4o -> gpt-4o | Anna Ben Chen
Anna:30 Ben:30 Chen:30 gpt-4o:2 -> gpt-4o | Anna Ben Chen
judge Anna:5 Ben Chen:11 -> judge | Anna Ben Chen
llm_score Anna:5 Ben Chen:11 -> llm_score | Anna Ben Chen
gpt-4o A:5 B:11 C -> gpt-4o | A B C
gpt-4o AK:5 MS BT:9 -> gpt-4o | AK MS BT
gpt-4o N:5 A:9 -> gpt-4o | N A
claude-3 Max:5 Mark:9 Anna -> claude-3 | Max Mark Anna
gpt-4o rater1:5 rater2 rater3:9 -> gpt-4o | rater1 rater2 rater3
gpt-4o annotator_1 annotator_2:11 -> gpt-4o | annotator_1 annotator_2
gpt-4o 1:5 2 3:9 -> gpt-4o | 1 2 3
gpt-4o Anna_coherence:5 Ben_coherence:11 -> gpt-4o | Anna_coherence Ben_coherence
gpt-4o claude Anna:5 Ben:20 -> gpt-4o claude | Anna Ben
gpt-4o:0:01 Anna:5:01 Ben:20:01 -> gpt-4o | Anna Ben
gpt-4o:0:yes Anna:5:yes Ben:20:yes Chen:0:yes -> gpt-4o | Anna Ben Chen
gpt-4o:0:good Anna:5:good Ben:20:good -> gpt-4o | Anna Ben
gpt-4o Anna:5 Ben:20 length:0:length price:0:price year:0:year -> gpt-4o | Anna Ben
gpt-4o Anna:5 Ben:20 serial:0:serial published:0:year -> gpt-4o | Anna Ben
gpt-4o Anna:5 Ben:20 mean:0:mean -> gpt-4o | Anna Ben
gpt-4o Anna:5 Ben:20 Average:0:mean std:0:share -> gpt-4o | Anna Ben
gpt-4o mean:30:mean -> gpt-4o | mean
gpt-4o Anna:40 -> gpt-4o | Anna
gpt-4o Anna -> gpt-4o | Anna
score Anna:40 -> score | Anna
score Anna:20 Ben:30 -> score | Anna Ben
score:0:share Anna:20 Ben:30 -> score | Anna Ben
judge_coherence judge_fluency coherence:10 fluency -> judge_coherence judge_fluency | coherence fluency
human_coherence:10 human_fluency:30 coherence:9 fluency -> coherence fluency | human_coherence human_fluency
coherence fluency:20 -> coherence fluency |
coherence:20 fluency:1 relevance -> coherence fluency relevance |
score label:30 -> score | label
Anna:5 Ben:11 Chen:8 -> ? Anna Ben Chen
Anna Ben Chen -> ? Anna Ben Chen
Anna Ben:11 Chen -> ? Anna Ben Chen
Anna:0:yes Ben:11:yes Chen:0:yes -> ? Anna Ben Chen
A:5 B C:20 -> ? A B C
AK:5 MS:9 BT:20 -> ? AK MS BT
Anna:5:01 Ben:11:01 year:0:year -> ? Anna Ben
r1 r2:20 r3 -> ? r1 r2 r3
1 2:20 3 -> ? 1 2 3
score rating:20 -> ? score rating
score Anna:5 Ben:11 -> ? Anna Ben
score Anna Ben Chen -> ? Anna Ben Chen
gpt-4o score:5 Anna:9 Ben -> ? score Anna Ben
human:20 Anna Ben:11 -> ? Anna Ben
gpt-4o human:20 Anna Ben:11 -> ? Anna Ben
gpt-4o annotator_1:20 Ben -> ? Ben
gpt-4o human:20 Anna -> ? Anna
judge human:20 hops sections -> ? hops sections
gpt-4o Anna:5 Ben:9 consensus -> ? Anna Ben consensus
gpt-4o Anna:5 Ben:9 final:20 -> ? Anna Ben final
model_x:0:01 model_y:20:01 -> ? model_x model_y
Anna_coherence:5 Ben_coherence:11 Anna_fluency Ben_fluency -> ? Anna_coherence Ben_coherence Anna_fluency Ben_fluency
"""
CASES = [line for line in SHEETS.splitlines() if line]


def sheet(columns):
    """A frame of these columns, whose scores agree with each other about as people's do."""
    rng = np.random.default_rng(3)
    truth = rng.normal(3.3, 1.1, N)
    made = {"id": [f"q{k}" for k in range(N)]}
    for text in columns.split():
        name, blanks, kind = [*text.split(":"), "0", ""][:3] if text.count(":") != 1 else [*text.split(":"), ""]
        grades = np.clip(np.rint(truth + rng.normal(0, 0.6, N)), 1, 5)
        cells = {
            "01": (grades > 3) * 1.0,
            "yes": np.where(grades > 3, "yes", "no"),
            "good": np.array(["poor", "fair", "good"])[np.clip(grades.astype(int) - 2, 0, 2)],
            "share": rng.random(N).round(3),
            "mean": (grades + rng.integers(-1, 2, N) / 3).round(2).clip(1, 5),
            "length": rng.integers(40, 900, N),
            "price": rng.random(N).round(2),
            "year": rng.integers(2015, 2025, N),
            "serial": np.arange(1, N + 1),
        }.get(kind, grades)
        made[name] = pd.Series(cells).mask(np.isin(np.arange(N), rng.choice(N, int(blanks), replace=False)))
    return pd.DataFrame(made)


@pytest.mark.parametrize("case", CASES)
def test_columns_of_one_kind_are_all_read_or_asked_for(case):
    columns, right = case.split(" -> ")
    frame = sheet(columns)
    if right[0] == "?":
        with pytest.raises(TableError) as refused:
            infer_tables(frame)
        assert refused.value.argument in ("judge", "label")
        listed = refused.value.sentence("--{}".format)
        for name in right[2:].split():
            assert f"`{name}`" in listed
        assert "--judge" in listed
        assert "--label" in listed
        return
    roles = {side: [] for side in ("judge", "label")}
    for one in infer_tables(frame).columns:
        if one.role in roles:
            roles[one.role].append(one.column)
    judges, _, people = right.partition("|")
    assert {side: set(names) for side, names in roles.items()} == {
        "judge": set(judges.split()),
        "label": set(people.split()),
    }


def test_there_are_fifty_sheets():
    assert len(CASES) >= 50


def test_names_between_commas_are_several_columns(tmp_path, capsys):
    frame = sheet("Anna:5 Ben:11 Chen:8 gpt-4o")
    frame.to_csv(tmp_path / "all.csv", index=False)
    tables = infer_tables(frame, label="Anna, Ben,Chen")
    assert sorted(set(tables.annotations["rater"])) == ["Anna", "Ben", "Chen"]
    with pytest.raises(SystemExit) as ended:
        cli.main(["interval", str(tmp_path / "all.csv"), "--label", "Anna,Ben,Chen"])
    assert ended.value.code == 0
    assert "`Anna`, `Ben` and `Chen` as labels of several annotators" in capsys.readouterr().err
    assert infer_tables(frame, label="Ben").scores["rater"].unique().tolist() == ["gpt-4o"]  # the others are left out
    twice = frame.rename(columns={"Anna": "Anna,Ben"})
    assert set(infer_tables(twice, label="Anna,Ben").annotations["rater"]) == {"Anna,Ben"}


def test_a_sheet_called_labels_holds_labels(tmp_path):
    frame = sheet("Anna:5 Ben:11 Chen:8")
    frame.to_csv(tmp_path / "labels.csv", index=False)
    tables = infer_tables(tmp_path / "labels.csv")
    assert tables.scores is None
    assert set(tables.annotations["rater"]) == {"Anna", "Ben", "Chen"}


def test_the_mean_of_annotators_in_their_own_file_is_asked_for():
    judge, people = sheet("gpt-4o"), sheet("Anna:5 Ben:11 score")
    with pytest.raises(TableError, match="`label` must name all columns of people's labels"):
        infer_tables(judge, people)
    assert set(infer_tables(judge, people, label=["Anna", "Ben"]).annotations["rater"]) == {"Anna", "Ben"}
    assert set(infer_tables(judge, people.rename(columns={"score": "Mean"})).annotations["rater"]) == {"Anna", "Ben"}


def test_a_refusal_shows_names_as_they_are():
    frame = sheet("Anna Ben:9").rename(columns={"Ben": "Ben{0}\x1b[31m"})
    with pytest.raises(TableError, match=r"`Anna`, `Ben\{0\}\\x1b\[31m` may be these or a judge's scores"):
        infer_tables(frame)
    many = sheet(" ".join(f"r{k}" for k in range(40)))
    with pytest.raises(TableError, match=r"--label r0,r1,r2,r3,r4,r5,r6,r7,\.\.\. or"):
        infer_tables(many)
