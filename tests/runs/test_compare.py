"""The verb: runs from logs, files and tables; matched tasks, judges, labels."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calib
from calib import stats
from calib.core.check import CalibWarning

LOGS = Path(os.environ.get("CALIB_DATA", "nowhere"), "tool_logs")
INSPECT = LOGS / "inspect_ai-0.3.285"
needs_logs = pytest.mark.skipif(not INSPECT.is_dir(), reason="logs of tools: CALIB_DATA has no folder tool_logs")


def trials(tasks=30, n=4, runs=("v1", "v2"), seed=0, **columns):
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 1, tasks)
    rows = [
        (run, f"t{task}", trial, int(rng.random() < p[task] + 0.1 * at))
        for at, run in enumerate(runs) for task in range(tasks) for trial in range(n)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["run", "task", "trial", "passed"]).assign(**columns)


def array(frame, run):
    rows = frame[frame["run"] == run]
    return (
        rows.pivot_table(index="task", columns="trial", values="passed", sort=False)
        .reindex(rows["task"].unique())
        .to_numpy(float)
    )


def same(got, want):
    return got.estimate == pytest.approx(want.estimate) and tuple(got.interval) == pytest.approx(tuple(want.interval))


def names(results):
    return {text.partition(":")[0] for one in results for text in getattr(one, "warnings", ())}


# --- one table, two tables, several runs ------------------------------------------------------------------------------


def test_one_table_with_columns_of_runs_tasks_and_trials_is_the_arrays(tmp_path):
    table = trials()
    got = calib.compare_runs(table, judge="passed")
    want = stats.compare_runs(array(table, "v1"), array(table, "v2"), tasks=[f"t{k}" for k in range(30)])
    assert same(got.one(), want) and got.one().attempts.to_frame().equals(want.attempts.to_frame())
    assert got.one().changes.to_frame().equals(want.changes.to_frame())
    assert got.labels[0]["run"] == "v2 - v1"
    table.to_csv(tmp_path / "runs.csv", index=False)
    assert same(calib.compare_runs(tmp_path / "runs.csv", judge="passed").one(), want)


@pytest.mark.parametrize("column", ["model", "agent", "system"])
def test_systems_that_share_tasks_are_runs_without_a_word(column):
    table = trials()
    want = calib.compare_runs(table, judge="passed")
    for each in (table, table.drop(columns="trial")):
        got = calib.compare_runs(each.rename(columns={"run": column}), judge="passed")
        assert same(got.one(), want.one()) and got.labels[0]["run"] == "v2 - v1"
    with pytest.raises(ValueError, match=r"outputs of one system each in the frame, but 't0' is of 'v1', 'v2' by"):
        calib.compare_runs(table.rename(columns={"run": column}).assign(run="x"), judge="passed")


def test_documents_are_tasks_where_ids_are_those_of_outputs():
    table = trials(n=1).assign(id=lambda f: f["task"] + "/" + f["run"]).rename(columns={"task": "document"})
    want = calib.compare_runs(trials(n=1), judge="passed")
    for column, options in (("model", {}), ("model", {"run": "model"}), ("run", {})):
        mine = table.drop(columns="trial").rename(columns={"run": column})
        got = calib.compare_runs(mine[["id", "document", column, "passed"]], judge="passed", **options)
        assert same(got.one(), want.one()) and "tasks_by_group" in names(got)


def test_a_column_of_scores_for_each_run_keeps_trials_of_a_task_together():
    table = trials()
    wide = table.pivot_table(index=["task", "trial"], columns="run", values="passed", sort=False).reset_index()
    for each in (wide, wide.drop(columns="trial")):
        got = calib.compare_runs(each, judge=["v1", "v2"], wide="system").one()
        assert same(got, calib.compare_runs(table, judge="passed").one()) and (got.n, got.n_trials_a) == (30, 120)
    with pytest.raises(ValueError, match=r"no column of runs or systems: name it .*wide='system'"):
        calib.compare_runs(wide, judge=["v1", "v2"])


def test_two_files_are_the_runs_by_their_names(tmp_path):
    table = trials()
    paths = [tmp_path / "before.csv", tmp_path / "after.csv"]
    for path, run in zip(paths, ("v1", "v2"), strict=True):
        table[table["run"] == run].drop(columns="run").to_csv(path, index=False)
    got = calib.compare_runs(*paths, judge="passed")
    assert same(got.one(), stats.compare_runs(array(table, "v1"), array(table, "v2")))
    assert got.labels[0]["run"] == "after - before"


def test_rows_of_a_task_are_trials_in_any_order():
    table = trials()
    shuffled = table.sample(frac=1, random_state=0)
    one, two = (calib.compare_runs(each, judge="passed").one() for each in (table, shuffled.drop(columns="trial")))
    assert abs(one.estimate) == pytest.approx(abs(two.estimate)) and two.n_trials_a == 120
    assert one.components_a.trial == pytest.approx((two.components_a, two.components_b)[one.mean_a != two.mean_a].trial)


def test_rows_of_one_trial_are_draws_of_the_judge():
    table = pd.concat([trials(seed=seed).assign(draw=seed) for seed in (0, 1)])
    got = calib.compare_runs(table.drop(columns="draw"), judge="passed").one()
    assert got.n_trials_a == 120 and got.components_a.n_scores == 240 and not np.isnan(got.components_a.draw)
    as_trials = calib.compare_runs(table.assign(trial=2 * table["trial"] + table["draw"]).drop(columns="draw"),
                                   judge="passed").one()  # fmt: skip
    assert as_trials.n_trials_a == 240 and as_trials.estimate == pytest.approx(got.estimate)


def test_three_runs_are_all_pairs_with_holm_and_ranks():
    table = trials(runs=("v1", "v2", "v3"))
    got = calib.compare_runs(table, judge="passed")
    pairs = [one for one in got if isinstance(one, stats.RunComparison)]
    assert [label["run"] for label in got.labels[:3]] == ["v2 - v1", "v3 - v1", "v3 - v2"]
    p = [one.p_value for one in pairs]
    holm = np.minimum(np.maximum.accumulate(np.sort(p) * [3, 2, 1]), 1)
    assert sorted(label["p_adjusted"] for label in got.labels[:3]) == pytest.approx(list(holm))
    ranks = next(one for one in got if isinstance(one, stats.RunRanks))
    means = [array(table, run).mean() for run in ("v1", "v2", "v3")]
    assert list(ranks.run) == ["v1", "v2", "v3"] and list(ranks.mean) == pytest.approx(means)


def test_a_dict_names_the_runs():
    table = trials()
    parts = {f"my {run}": rows.drop(columns="run") for run, rows in table.groupby("run")}
    assert calib.compare_runs(parts, judge="passed").labels[0]["run"] == "my v2 - my v1"


def test_tables_of_scores_are_runs_by_system():
    table = trials(n=1)
    scores = pd.DataFrame({"item": table["run"] + table["task"], "group": table["task"], "system": table["run"],
                           "criterion": "tone", "rater": "j", "score": table["passed"].astype(float), "scale": "0|1",
                           "method": "given"})  # fmt: skip
    got = calib.compare_runs(calib.table.check_scores(scores))
    assert same(got.one(), stats.compare_runs(array(table, "v1"), array(table, "v2")))
    assert "tasks_by_group" in names(got)


def test_ratings_and_counts_are_compared_as_they_are():
    rng = np.random.default_rng(0)
    table = trials()
    for scores, scale in ((rng.integers(1, 6, len(table)), "1|2|3|4|5"), (rng.poisson(3, len(table)), None)):
        rated = table.assign(passed=scores)
        got = calib.compare_runs(rated, judge="passed", **({"scale": scale} if scale else {})).one()
        assert same(got, stats.compare_runs(array(rated, "v1"), array(rated, "v2"))) and got.attempts is None
    assert calib.compare_runs(rated, judge="passed", pass_mark=3).one().attempts is not None


def test_what_would_decide_is_said_with_its_draws_and_trials():
    table = pd.concat([trials(10, seed=seed) for seed in (0, 1)])
    got = calib.compare_runs(table, judge="passed")
    plan = got.one().needed(got.one().estimate)
    wanted = f"About {plan.tasks[0]} tasks with {plan.trials[0]} trials and {plan.draws[0]} judge draws each would show"
    assert plan.draws[0] > 1 and wanted.replace("1 trials", "1 trial") in got.conclusion
    assert "labels of every trial of both runs on about" in got.conclusion
    one = calib.compare_runs(trials(n=1), judge="passed").conclusion
    assert "judge draws" not in one and "labels of both runs on about" in one


def test_a_design_that_did_not_decide_is_not_called_enough():
    one, two = (pd.DataFrame({"task": ["x", "y", "z"], "passed": [value] * 3}) for value in (0, 1))
    got = calib.compare_runs(one, two, judge="passed")
    assert "No winner" in got.conclusion and "4 times in 5" not in got.conclusion


# --- tasks ------------------------------------------------------------------------------------------------------------


def test_tasks_of_one_run_alone_are_named_and_left_out():
    table = trials(10)
    table = table[~((table["run"] == "v1") & (table["task"] == "t3"))]
    got = calib.compare_runs(table[~((table["run"] == "v2") & table["task"].isin(["t5", "t6"]))], judge="passed")
    assert (got.labels[0]["n_only_a"], got.labels[0]["n_only_b"], got.one().n) == (2, 1, 7)
    assert "unmatched: tasks 2 in v1 alone ('t5', 't6') and 1 in v2 alone ('t3') are left out" in got.one().warnings


def test_another_input_under_one_id_is_left_out_and_named():
    text = {f"t{k}": f"Please write the long text number {k} about something." for k in range(10)}
    table = trials(10)
    table["input"] = table["task"].map(text)
    table.loc[(table["run"] == "v2") & (table["task"] == "t4"), "input"] = "Quite another thing to be done here."
    got = calib.compare_runs(table, judge="passed")
    assert got.one().n == 9 and any(
        "another input in v1 and v2 and are left out: 't4'" in w for w in got.one().warnings
    )


def test_tasks_of_other_ids_are_matched_by_their_input():
    text = {f"t{k}": f"Please write the long text number {k} about something." for k in range(10)}
    table = trials(10)
    table["input"] = table["task"].map(text)
    renamed = table.assign(task=np.where(table["run"] == "v2", "x" + table["task"], table["task"]))
    got = calib.compare_runs(renamed, judge="passed")
    assert same(got.one(), calib.compare_runs(table, judge="passed").one()) and "matched_by_text" in names(got)


def test_groups_are_clusters_by_any_column():
    table = trials()
    repo = table["task"].str[1:].astype(int) // 3
    want = stats.compare_runs(array(table, "v1"), array(table, "v2"), groups=np.arange(30) // 3)
    for column, options in (("group", {}), ("repo", {"groups": "repo"}), ("repo", {"group": "repo"})):
        got = calib.compare_runs(table.assign(**{column: repo.astype(str)}), judge="passed", **options).one()
        assert same(got, want) and got.n_groups == 10
    alone = calib.compare_runs(table.assign(group=repo.astype(str)), judge="passed", groups=None).one()
    assert same(alone, stats.compare_runs(array(table, "v1"), array(table, "v2")))


def test_tasks_of_one_group_are_independent_within_it():
    table = trials()
    got = calib.compare_runs(table.assign(group="bench"), judge="passed").one()
    assert same(got, calib.compare_runs(table, judge="passed").one())
    assert "one_group: all tasks are of 'bench': the interval is for tasks of it" in got.warnings


# --- trials without a score -------------------------------------------------------------------------------------------


def test_unread_trials_have_the_range_at_the_ends_of_the_scale():
    table = trials(10).astype({"passed": float})
    table.loc[[0, 1, 45], "passed"] = np.nan
    got = calib.compare_runs(table, judge="passed")
    assert (got.labels[0]["n_unread_a"], got.labels[0]["n_unread_b"]) == (2, 1)
    ends = []
    for low, high in ((1, 0), (0, 1)):
        filled = table.assign(passed=table["passed"].fillna(pd.Series({0: low, 1: low, 45: high})))
        ends.append(calib.compare_runs(filled, judge="passed").one().estimate)
    text = next(w for w in got.one().warnings if w.startswith("unread"))
    assert text.startswith("unread: 2 of 40 readings of v1 and 1 of 40 readings of v2 have no score and are left out")
    assert text.endswith(f"would make the difference {ends[0]:.4g} to {ends[1]:.4g}")


def test_a_task_without_any_score_counts_as_unread_and_stays_in_the_range():
    table = trials(10).astype({"passed": float})
    table.loc[(table["run"] == "v2") & (table["task"] == "t0"), "passed"] = np.nan
    got = calib.compare_runs(table, judge="passed")
    assert got.one().n == 9 and got.labels[0]["n_unread_b"] == 4 and "unread" in names(got)


def test_a_trial_without_a_row_counts_as_unread():
    table = trials(20).astype({"passed": float})
    lost = (table["run"] == "v2") & (table["passed"] == 0) & (table["trial"] > 1)
    want = calib.compare_runs(table.assign(passed=table["passed"].where(~lost)), judge="passed")
    numbered = table.assign(trial=range(len(table)))
    for each in (table, table.drop(columns="trial"), numbered):
        got = calib.compare_runs(each[~lost], judge="passed")
        assert got.one().interval == want.one().interval and got.labels[0]["n_unread_a"] == 0
        assert 0 < got.labels[0]["n_unread_b"] <= want.labels[0]["n_unread_b"] == lost.sum()
    got = calib.compare_runs(table[~lost], judge="passed")
    (text,) = (text for text in got.one().warnings if text.startswith("unread"))
    (other,) = (text for text in want.one().warnings if text.startswith("unread"))
    assert got.labels == want.labels
    assert text.replace(f" ({lost.sum()} of them without a row, where most tasks have one)", "") == other


def test_more_trials_of_a_few_tasks_leave_the_others_complete():
    table = trials(20)
    more = table[table["task"] == "t3"].assign(trial=lambda f: f["trial"] + 9)
    got = calib.compare_runs(pd.concat([table, more]), judge="passed")
    assert "unread" not in names(got) and got.one().n_trials_a == 84
    uneven = table[table["trial"] <= table["task"].str[1:].astype(int) % 4].drop(columns="trial")
    assert "unread" not in names(calib.compare_runs(uneven, judge="passed")), (
        "tasks of one run have as many in the other"
    )


# --- judges -----------------------------------------------------------------------------------------------------------


def judged(run, by, table=None):
    table = trials() if table is None else table
    return table[table["run"] == run].drop(columns="run").assign(model=by)


def test_different_judges_are_refused_or_compared_as_such():
    one, two = judged("v1", "small"), judged("v2", "large")
    with pytest.raises(calib.ArgumentError, match=r"`b` must be scored by the judge of `a`.*a by small; b by large"):
        calib.compare_runs(one, two, judge="passed", rater="model")
    with pytest.warns(CalibWarning, match="judges_differ: a by small; b by large"):
        got = calib.compare_runs(one, two, judge="passed", rater="model", unlike=True)
    assert got.labels[0]["rater"] == "small / large"


def test_each_judge_of_both_runs_has_an_answer():
    both = pd.concat([judged("v1", "small"), judged("v1", "large")])
    again = pd.concat([judged("v2", "small"), judged("v2", "large")])
    got = calib.compare_runs(both, again, judge="passed", rater="model")
    assert sorted(label["rater"] for label in got.labels) == ["large", "small"]


def test_a_judge_of_one_run_alone_is_named():
    both = pd.concat([judged("v1", "small"), judged("v1", "large")])
    with pytest.warns(CalibWarning, match="left_out: a has scores that not all runs have: 'quality' by 'large'"):
        got = calib.compare_runs(both, judged("v2", "small"), judge="passed", rater="model")
    assert [label["rater"] for label in got.labels] == ["small"]


def test_a_criterion_of_one_run_alone_is_named():
    one = pd.concat([judged("v1", "j").assign(criterion=name) for name in ("tone", "style")])
    with pytest.warns(CalibWarning, match="left_out: .*'style' by 'judge'"):
        got = calib.compare_runs(one, judged("v2", "j").assign(criterion="tone"), judge="passed")
    assert [label["criterion"] for label in got.labels] == ["tone"]


# --- labels -----------------------------------------------------------------------------------------------------------


def test_labels_of_tasks_that_both_runs_share_add_what_people_would_see():
    table = trials(60, n=2)
    people = table[(table["trial"] == 0) & table["task"].isin([f"t{k}" for k in range(25)])]
    labels = people.drop(columns="trial").rename(columns={"run": "system", "task": "item", "passed": "human"})
    runs = {run: rows.drop(columns="run") for run, rows in table.groupby("run")}
    got = calib.compare_runs(runs, labels=labels, judge="passed", label="human")
    people = [one for one in got if isinstance(one, stats.DifferenceEstimate)]
    assert len(got) == 2 and len(people) == 1 and people[0].n_paired == 25
    beside = table.assign(human=table["passed"].where((table["trial"] == 0) & table["task"].isin(set(labels["item"]))))
    for name, options in (("run", {}), ("version", {"run": "version"}), ("version", {"system": "version"})):
        mine, theirs = (one.rename(columns={"run": name, "system": name}) for one in (beside, labels))
        for each in (theirs, mine):  # whose run the labels name in the same column
            again = calib.compare_runs(mine, labels=each, judge="passed", label="human", **options)
            assert again[1].interval == people[0].interval and again[0].interval == got[0].interval


def test_labels_of_outputs_with_ids_of_their_own():
    items, people = calib.load_planted()
    human = calib.summarize(people, items, pool="rater")
    judge = calib.summarize(people[people["rater"] == "simulated-1"], items)
    judge = judge[judge["system"].isin(["clean", "coherence-1"]) & (judge["criterion"] == "coherence")]
    labels = human[human["item"].isin(judge["item"]) & (human["criterion"] == "coherence")]
    labels = labels[labels["group"].isin(sorted(set(labels["group"]))[:20])]
    got = calib.compare_runs(judge, labels=labels)
    comparison, people = got
    want = calib.difference(judge, labels, "coherence-1", "clean").one()
    assert got.labels[0]["run"] == "coherence-1 - clean" and people.n_paired == 20
    assert abs(people.estimate) == pytest.approx(abs(want.estimate)) and comparison.n == 24


def test_labels_that_match_nothing_are_refused():
    table = trials()
    runs = {run: rows.drop(columns="run") for run, rows in table.groupby("run")}
    labels = pd.DataFrame({"item": ["zz1", "zz2", "zz3"], "system": "v1", "human": [1, 0, 1]})
    with pytest.raises(ValueError, match=r"no id is in both"):
        calib.compare_runs(runs, labels=labels, judge="passed", label="human")


# --- what cannot be compared ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (trials(1).drop(columns="run").head(4), trials(1).drop(columns="run").tail(4), "two tasks"),
        (trials(9).assign(run="v1"), None, "must hold two runs or more where it is given alone, but it has 'v1' alone"),
        (trials(9).drop(columns="run"), None, "`a` must hold two runs or more .* no column of runs or systems"),
        (trials(9), trials(9),
         "must hold one run, or be given alone to compare the runs in it, but holds 'v1', 'v2'"),
        (trials(9).drop(columns="run"), trials(9).drop(columns="run").assign(task="z" + trials(9)["task"]),
         "`b` must have tasks of `a`"),
        ({"only": trials(9).drop(columns="run")}, None, "must hold two runs or more where it is given alone"),
        (trials(9).assign(passed=np.nan), None, "passed|score"),
    ],
    ids=["one task", "one run", "no run", "two tables of runs", "no common task", "a dict of one", "no score"],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(a, b, words):
    with pytest.raises(ValueError, match=words):
        calib.compare_runs(a, b, judge="passed")


# --- logs -------------------------------------------------------------------------------------------------------------


@needs_logs
def test_two_logs_of_inspect_have_their_own_means():
    got = calib.compare_runs(INSPECT / "grade_alpha.eval", INSPECT / "grade_beta.eval")
    assert {label["criterion"] for label in got.labels} == {"model_graded_qa", "model_graded_qa1", "clarity_1to5"}
    (at,) = [k for k, label in enumerate(got.labels) if label["criterion"] == "clarity_1to5"]
    log = json.loads((INSPECT / "grade_beta.json").read_text())
    (own,) = [one for one in log["results"]["scores"] if one["name"] == "clarity_1to5"]
    assert got[at].mean_b == pytest.approx(own["metrics"]["mean"]["value"], rel=1e-9)
    assert got.labels[at]["run"] == "beta - alpha" and got[at].n_trials_b == 69 and "unread" in names(got)


@pytest.mark.slow
@needs_logs
def test_a_log_of_another_form_of_the_same_run_is_the_same_answer():
    form = [calib.compare_runs(INSPECT / "grade_alpha.eval", INSPECT / f"grade_beta.{end}") for end in ("eval", "json")]
    assert form[0].to_frame().equals(form[1].to_frame())
