"""Hostile and damaged inputs of runs compared."""

import numpy as np
import pandas as pd
import pytest

import calib
from calib import stats
from calib.cli import main


def runs(tasks=12, n=3, seed=0):
    rng = np.random.default_rng(seed)
    rows = [(run, f"t{task}", trial, int(rng.random() < 0.5 + 0.1 * at))
            for at, run in enumerate(("v1", "v2")) for task in range(tasks) for trial in range(n)]  # fmt: skip
    return pd.DataFrame(rows, columns=["run", "task", "trial", "passed"])


BOTH = runs()
A, B = (BOTH[BOTH["run"] == run].drop(columns="run").reset_index(drop=True) for run in ("v1", "v2"))
N = len(A)


def compared(a, b=None, **options):
    return calib.compare_runs(a, b, **({"judge": "passed"} | options))


def warned(results):
    return [text for one in results for text in getattr(one, "warnings", ())]


WANTED = compared(A, B).one()


def number(frame):
    return frame["task"].str[1:].astype(int)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (A.assign(task=number(A).astype(float)), B.assign(task=number(B))),
        (
            A.assign(passed=np.where(A["passed"], "True", "FALSE")),
            B.assign(passed=np.where(B["passed"], "true", "false")),
        ),
        (A.assign(passed=np.where(A["passed"] == 1, "pass", "fail")), B),
        (A.assign(passed=np.where(A["passed"] == 1, "yes", "no")), B.assign(passed=B["passed"].astype(bool))),
        (A, B.assign(trial=B["trial"] * 10**15)),
        (A, B.assign(trial=-B["trial"])),
        (A.assign(trial="k" + A["trial"].astype(str)), B),
        (A.assign(group=A["task"]), B.assign(group=B["task"])),
        (A.assign(task=A["task"] + "\u200b"), B),
        (A.assign(task=" " + A["task"] + " "), B),
        (A.assign(task=A["task"] + "x" * 100_000), B.assign(task=B["task"] + "x" * 100_000)),
        (A.sample(frac=1, random_state=1), B.sample(frac=1, random_state=2)),
        (pd.concat([A, A]), B),
        (A.astype({"passed": "Int64"}), B.astype({"task": "category"})),
    ],
    ids=["float ids", "cases of booleans", "words of one run", "words and booleans", "huge trials", "negative trials",
         "trials in words", "a group a task", "unseen characters", "blanks", "huge ids", "shuffled", "rows twice",
         "other types"],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:column `score`. words", "ignore:.*ids were read without the blanks")
def test_what_is_written_otherwise_is_the_same_answer(a, b):
    got = compared(a, b).one()
    assert got.estimate == pytest.approx(WANTED.estimate) and got.n == 12
    assert tuple(got.interval) == pytest.approx(tuple(WANTED.interval))


@pytest.mark.parametrize(
    ("a", "b", "options", "words"),
    [
        (A.assign(task=number(A).astype(float).replace(3, np.nan)), B, {}, "`item` must name each row"),
        (A.assign(trial=A["trial"].replace(1, np.nan)), B, {}, "`trial` must name the trial of each row, but"),
        (BOTH.assign(run=BOTH["run"].where(BOTH.index != 4)), None, {}, "`run` must name the run of each row"),
        (A.assign(passed=A["passed"].astype(float).replace(1, np.inf)), B, {}, "must be a number"),
        (A.assign(criterion="x"), B.assign(criterion="y"), {}, "must have a criterion of .*, but a has 'x'; b has 'y'"),
        (A, A, {}, "`b` must be another run than 'a', but it is the same one"),
        ({"x": A, "y": B, "z": A}, None, {}, "`z` must be another run than 'x'"),
        ({}, None, {}, "`a` must hold runs, but it is empty"),
        ({"x": A, "b": B}, A, {}, "the dict has 'x', 'b'"),
        (None, None, {}, "`a` must be a path"),
        (np.ones((3, 2)), np.ones((3, 2)), {}, "`a` must be a path"),
        (A.head(0), B, {}, "no row"),
        (A, B, {"pass_mark": np.nan}, "`pass_mark` must be a number"),
        (A, B, {"trial": "absent"}, "`trial` must be a column of the frame, but got 'absent'"),
        (A, B, {"groups": "absent"}, "`groups` must be a column of the frame, but got 'absent'"),
        (BOTH, None, {"run": "absent"}, "`run` must be a column of the frame, but got 'absent'"),
        (A.assign(group=np.where(A["task"] == "t1", None, "g")), B, {}, "must name the group of each row"),
        (A, B.assign(task="q" + B["task"]), {}, "`b` must have tasks of `a`, by id or by input"),
        (A, B, {"adjust": "none"}, "`adjust` must be"),
        (A, B, {"confidence_level": 95}, "`confidence_level` must be"),
    ],
)  # fmt: skip
def test_what_decides_nothing_is_refused_by_its_name(a, b, options, words):
    with pytest.raises(ValueError, match=words):
        compared(a, b, **options)


@pytest.mark.parametrize(
    ("a", "b", "options", "words"),
    [
        (A, A.copy(), {}, "same_scores: every score is the same in both runs: are they one run under two names?"),
        (A.assign(passed=A["passed"] * 5), B, {}, "other_range: scores of a from 0 to 5 and b from 0 to 1: are"),
        (A.assign(passed=1 + A["passed"] * 4), B.assign(passed=1 + B["passed"] * 9), {},
         "other_range: scores of a from 1 to 5 and b from 1 to 10: are both on one scale?"),
        (A.assign(group=(number(A) // 2).astype(str)), B.assign(group=(number(B) // 3).astype(str)), {},
         "groups_differ: 9 tasks have another group in b; those of a count"),
        (A.assign(task="\u200b" + A["task"]), B, {}, "look_alike"),
        (A.assign(passed=1), B.assign(passed=1), {}, "few_differences: only 0 of 12 tasks"),
        (A.assign(passed=3), B.assign(passed=3), {}, "the interval is missing, as all scores are the same"),
        (A[A["task"] != "t0"], B[B["task"] != "t1"], {}, "tasks 1 in a alone ('t1') and 1 in b alone ('t0')"),
        (A.assign(id=A["task"] + "/a" + A["trial"].astype(str), group=A["task"]).drop(columns="task"),
         B.assign(id=B["task"] + "/b" + B["trial"].astype(str), group=B["task"]).drop(columns="task"), {},
         "tasks_by_group"),
    ],
)  # fmt: skip
def test_what_looks_wrong_is_said(a, b, options, words):
    assert any(words in text for text in warned(compared(a, b, **options)))


@pytest.mark.parametrize(
    "names",
    [
        BOTH["run"].where(BOTH.index % 5 != 2, " " + BOTH["run"] + " "),
        BOTH["run"].astype("category"),
        BOTH["run"].map({"v1": 1.0, "v2": 2.0}),
        BOTH["run"].map({"v1": 1, "v2": "2"}),
    ],
    ids=["blanks", "categories", "whole numbers with a point", "numbers and texts"],
)
def test_a_run_is_one_however_its_name_is_written(names):
    got = compared(BOTH.assign(run=names))
    assert got.one().interval == WANTED.interval and got.labels[0]["run"] in ("v2 - v1", "2 - 1")


def test_an_empty_name_in_a_file_is_no_run(tmp_path):
    BOTH.assign(run=BOTH["run"].where(BOTH.index % 5 != 2, "")).to_csv(tmp_path / "runs.csv", index=False)
    with pytest.raises(ValueError, match=r"`run` must name the run of each row, but 'run' has 14 gaps"):
        compared(tmp_path / "runs.csv")


@pytest.mark.parametrize(
    ("n", "adjust", "one", "all_of_them"), [(4, "holm", 0, 0), (6, "holm", 1, 20), (4, "bh", 0, 20)]
)
def test_trials_too_few_for_any_task_to_change_are_named(n, adjust, one, all_of_them):
    """Of 20 tasks one or all go from failures to passes alone: Fisher's p is .029 of 4 trials each, .0022 of 6."""
    cells = pd.MultiIndex.from_product([["v1", "v2"], range(20), range(n)], names=["run", "task", "trial"])
    table = cells.to_frame(index=False)
    for tasks, n_real in ((1, one), (20, all_of_them)):
        score = (table["run"] == "v2").where(table["task"] < tasks, table["trial"] % 2).astype(float)
        got = calib.compare_runs(table.assign(score=score), item="task", judge="score", adjust=adjust)
        assert got.one().n_real == n_real
        told = "With so few trials no change of a single task could be beyond chance" in calib.conclusions(got)[0]
        assert told == (all_of_them == 0)


def test_one_trial_beside_eight_has_no_test_of_a_single_task():
    eight = runs(n=8)
    got = compared(A[A["trial"] == 0], eight[eight["run"] == "v2"].drop(columns="run"))
    assert (got.one().n_trials_a, got.one().n_trials_b) == (12, 96) and np.isnan(got.one().changes.p_value).all()
    assert "No single task changed" not in calib.conclusions(got)[0]
    assert np.isnan(got.one().these_interval.low) and got.one().attempts.k.max() == 1


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (pd.DataFrame({"item": ["z1", "z2"], "system": "v1", "human": [0, 1]}), "no id is in both"),
        (pd.DataFrame({"item": [f"t{k}" for k in range(12)], "human": [0, 1] * 6}), "does not say whose output"),
        (pd.DataFrame({"item": [f"t{k}" for k in range(12)], "system": "v1", "human": [0, 1] * 6}),
         "`labels` must be of 10 tasks at least in each run, but has 0 of 'v2' and 12 of 'v1'"),
    ],
)  # fmt: skip
def test_labels_that_decide_nothing_are_refused(labels, words):
    with pytest.raises(ValueError, match=words):
        compared({"v1": A, "v2": B}, labels=labels, label="human")


def test_numbers_that_are_none_are_refused_on_arrays():
    for name in ("null", "pass_mark"):
        with pytest.raises(stats.ArgumentError, match=f"`{name}` must be a number"):
            stats.compare_runs([1, 0, 1], [1, 1, 1], **{name: np.nan})
    with pytest.raises(stats.ArgumentError, match="`groups` must hold tasks of two groups at least"):
        stats.compare_runs([1, 0, 1], [1, 1, 1], groups=["x"] * 3)


def test_names_reach_no_terminal_and_no_page_as_they_are(tmp_path, capsys):
    paths = [tmp_path / "a\x1b[31m.csv", tmp_path / "b<script>alert(1)<.csv"]
    for path, frame in zip(paths, (A, B), strict=True):
        frame.assign(task="\x1b[2J<i>" + frame["task"]).to_csv(path, index=False)
    words = ["--judge", "passed", "--at-least", "0", "--out"]
    for page in ("page.html", "page.md"):
        with pytest.raises(SystemExit):
            main(["compare-runs", *map(str, paths), *words, str(tmp_path / page)])
        text = (tmp_path / page).read_text(encoding="utf-8")
        assert "<script>alert" not in text and "<i>t" not in text and "\x1b" not in text
    out, err = capsys.readouterr()
    assert "\x1b" not in out + err and "script" in out


def test_one_file_under_two_paths_is_no_second_run(tmp_path, capsys):
    path = tmp_path / "a.csv"
    A.to_csv(path, index=False)
    (tmp_path / "b.csv").symlink_to(path)
    with pytest.raises(SystemExit) as left:
        main(["compare-runs", str(path), str(tmp_path / "b.csv"), "--judge", "passed"])
    assert left.value.code == 2 and "must be another run" in capsys.readouterr().err


def test_a_column_that_is_named_as_the_score_is_no_trial():
    one, two = (frame.drop(columns="trial").rename(columns={"passed": "attempts"}) for frame in (A, B))
    got = calib.compare_runs(one, two, judge="attempts").one()
    assert got.estimate == pytest.approx(WANTED.estimate) and got.n_trials_a == N
