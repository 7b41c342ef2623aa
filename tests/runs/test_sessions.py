"""Runs of turns compared by session: equal to tables of sessions that pandas makes, and what lacks a turn."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

import calib
from calib import cli
from calib.core.check import CalibWarning
from calib.table import TableError, check_scores

HAND = {"mean": "mean", "worst": "min", "last": "last"}


def turns(n=25, runs=("v1", "v2"), seed=0, trials=1, **columns):
    """One to five turns of each session, rated 1 to 5."""
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 6, n)
    rows = [
        (run, f"s{s}", f"s{s}-{t}", t, trial, int(np.clip(np.rint(3 + 0.4 * at + rng.normal()), 1, 5)))
        for at, run in enumerate(runs) for trial in range(trials) for s in range(n) for t in range(size[s])
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["run", "session", "id", "turn", "trial", "score"]).assign(**columns)


def by_hand(frame, how):
    """Tables of sessions, in one line of pandas."""
    keys = ["run", "session", "trial"]
    return frame.sort_values("turn", kind="stable").groupby(keys, sort=False)["score"].agg(HAND[how]).reset_index()


def numbers(results):
    return [one.to_frame().drop(columns="warnings").to_numpy(float) for one in results]


def alike(one, two):
    return all(map(np.array_equal, one, two, [True] * len(one)))


def sides(frame):
    return [rows.drop(columns=["run", "trial"]) for _, rows in frame.groupby("run")]


def compared(frame, how="mean", **options):
    return calib.compare_runs(*sides(frame), level="session", turns=how, **options)


# --- equal to pandas by hand ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", HAND)
def test_sessions_are_tasks_to_all_digits(how):
    frame = turns()
    got = compared(frame, how)
    tables = [side.rename(columns={"session": "id"}) for side in sides(by_hand(frame, how))]
    assert alike(numbers(got), numbers(calib.compare_runs(*tables)))
    assert got.labels[0]["sessions"] == f"{how} of turns"
    assert f"25 sessions by their {how} turn" in got.conclusion
    one = got.one()
    assert one.n == one.n_groups == one.n_trials_a == 25


def test_trials_three_runs_and_rows_in_any_order():
    frame = turns(trials=3, runs=("v1", "v2", "v3"))
    table = by_hand(frame, "last").rename(columns={"session": "id"})
    want = calib.compare_runs(table)
    mixed = pd.concat([rows.sample(frac=1, random_state=1) for _, rows in frame.groupby("run")])
    for each in (frame, mixed):
        got = calib.compare_runs(each, level="session", turns="last")
        assert [label["run"] for label in got.labels[:3]] == [label["run"] for label in want.labels[:3]]
        assert [one.n_trials_a for one in got[:3]] == [75] * 3
        pairs = zip(got[:3], want[:3], strict=True)
        assert all(
            a.interval == pytest.approx(b.interval) and a.estimate == pytest.approx(b.estimate) for a, b in pairs
        )


def test_tables_of_scores_are_to_sessions_of_each_run():
    frame = turns().rename(columns={"id": "item", "session": "group"})
    frame = frame.assign(criterion="tone", rater="j", method="sample", scale="1|2|3|4|5")
    tables = [check_scores(rows.drop(columns=["run", "trial", "turn"])) for _, rows in frame.groupby("run")]
    want = calib.compare_runs(*(calib.to_sessions(one, "worst") for one in tables))
    assert alike(numbers(calib.compare_runs(*tables, level="session", turns="worst")), numbers(want))


def test_a_file_and_a_table_of_scores():
    frame = turns()
    one, two = sides(frame)
    table = two.rename(columns={"id": "item", "session": "group"}).assign(criterion="quality", rater="judge")
    table = check_scores(table.assign(method="sample", scale="1|2|3|4|5"))
    for how in HAND:
        got = calib.compare_runs(one, table, level="session", turns=how).one()
        assert got.estimate == compared(frame, how).one().estimate and got.n_trials_b == 25


def test_two_draws_of_a_judge_are_averaged_before_turns_are():
    frame = turns(n=12)
    two = pd.concat([frame, frame.assign(score=6 - frame["score"])])
    two = two.assign(score=two["score"] + (two.index % 2))
    mean = two.groupby(["run", "session", "id", "turn", "trial"], sort=False)["score"].mean().reset_index()
    got = calib.compare_runs(two, level="session", turns="worst")
    assert alike(numbers(got), numbers(calib.compare_runs(by_hand(mean, "worst").rename(columns={"session": "id"}))))


@pytest.mark.parametrize("how", HAND)
def test_turns_that_pass_or_fail(how):
    frame = turns().assign(score=lambda f: f["score"] > 2)
    got = compared(frame, how).one()
    hand = by_hand(frame.assign(score=frame["score"].astype(float)), how)
    a, b = (rows["score"].to_numpy() for _, rows in hand.groupby("run"))
    assert got.estimate == pytest.approx(np.mean(b - a), abs=1e-12)
    assert (got.attempts is None) == (how == "mean")  # a share of turns that pass is no pass


# --- what lacks a turn ------------------------------------------------------------------------------------------------


def test_a_turn_without_a_score_or_without_a_row_leaves_its_session_unread():
    frame = turns()
    second = frame["run"] == "v2"
    several = frame.groupby("session")["turn"].transform("max") > 1
    place = frame.index[second & several & (frame["turn"] == 1)][:2]
    lacking = {"score": frame.assign(score=frame["score"].where(~frame.index.isin(place))), "row": frame.drop(place)}
    hand = by_hand(frame, "mean").rename(columns={"session": "id"})
    lost = frame.loc[place, "session"]
    want = calib.compare_runs(*sides(hand[~hand["id"].isin(lost)])).one()
    for each in lacking.values():
        got = compared(each)
        assert got.one().estimate == pytest.approx(want.estimate, abs=1e-12)
        assert (got.labels[0]["n_unread_b"], got.labels[0]["n_unread_a"], got.one().n) == (2, 0, 23)
        (text,) = (text for text in got.one().warnings if text.startswith("unread"))
        assert text.startswith("unread: 2 of 25 sessions of b lack a score, or a turn that another run has (where")
    were_last = frame.loc[place, "turn"] == frame.groupby("session")["turn"].transform("max")[place]
    for each in lacking.values():  # a turn before the last does not count
        assert compared(each, "last").labels[0]["n_unread_b"] == were_last.sum() < 2


def test_sessions_of_one_turn_are_their_turns():
    frame = turns()
    first = frame[frame["turn"] == 0]
    got = compared(first, groups="session").one()
    assert got.interval == calib.compare_runs(*sides(first)).one().interval


def test_a_last_turn_that_is_gone_is_no_other_turn():
    frame = turns()
    longest = frame["turn"] == frame.groupby("session")["turn"].transform("max")
    gone = frame.index[(frame["run"] == "v2") & longest & (frame["turn"] > 0)][:3]
    got = compared(frame.drop(gone).drop(columns="turn"), "last")
    assert (got.one().n, got.labels[0]["n_unread_b"]) == (22, 3)


def test_turns_of_ids_of_their_own_are_each_runs_own():
    frame = turns().assign(id=lambda f: f["run"] + f["id"])
    longer = pd.concat(
        [frame, frame[frame["run"] == "v2"].assign(id=lambda f: f["id"] + "b", turn=lambda f: f["turn"] + 9)]
    )
    got = compared(longer).one()
    assert got.n == 25
    assert got.estimate == compared(frame).one().estimate
    assert any(text.startswith("turns_unmatched: no turn has one id in two runs") for text in got.warnings)
    assert not any(text.startswith("turns_unmatched") for text in compared(turns()).one().warnings)


def test_a_session_of_one_run_alone_is_unmatched():
    frame = turns()
    got = compared(frame[(frame["run"] == "v1") | (frame["session"] != "s3")])
    assert (got.one().n, got.labels[0]["n_only_a"]) == (24, 1)
    assert any("1 in a alone" in text for text in got.one().warnings)


def test_what_is_refused():
    frame = turns()
    with pytest.raises(TableError, match=r"`groups` must name the column of sessions, .* but none was recognised in a"):
        compared(frame.drop(columns="session"))
    gap = frame.assign(session=frame["session"].where(frame["id"] != "s4-0"))
    with pytest.raises(TableError, match=r"must name the group of each row, but this one has none"):
        compared(gap)
    with pytest.raises(TableError, match=r"must have one group for each turn, but '0' has several: give each turn an"):
        compared(frame.assign(id=frame["turn"]))
    longer = frame[frame["run"] == "v2"].assign(id=lambda f: f["id"] + "b", turn=lambda f: f["turn"] + 9)
    with pytest.raises(TableError, match=r"`b` must share with `a` two sessions .*, but 25 of a and 0 of b lack"):
        compared(pd.concat([frame, longer]))
    reverse = frame.drop(columns="turn")
    reverse = pd.concat([reverse[reverse["run"] == "v1"], reverse[reverse["run"] == "v2"][::-1]])
    with pytest.raises(
        TableError, match=r"'last' needs a column `turn`, as runs order the turns of 's[0-9]+' otherwise"
    ):
        compared(reverse, "last")
    assert compared(reverse, "worst").one().n == 25
    with pytest.raises(TableError, match=r"`a` must have in `turn` another number in each turn of a session"):
        compared(frame.assign(turn="user"), "last")
    assert compared(frame.assign(turn="user"), "mean").one().n == 25
    with pytest.raises(calib.ArgumentError, match=r"must have scores of two tasks of `a` at least, but got 1"):
        compared(frame.assign(session="only"))
    with pytest.raises(calib.ArgumentError, match=r"`labels` .* `difference`"):
        compared(frame, labels=frame)
    with pytest.raises(calib.ArgumentError, match=r"`level` must be one of 'item', 'session'"):
        calib.compare_runs(frame, level="group")
    with pytest.raises(calib.ArgumentError, match=r"`turns` must be one of 'mean', 'worst', 'last'"):
        compared(frame, "best")


def test_an_id_of_several_sessions_is_said_where_the_level_is_not_the_session():
    frame = turns(trials=1).assign(id=lambda f: "t" + f["turn"].astype(str))
    got = calib.compare_runs(*sides(frame)).one()
    assert any(text.startswith("tasks_in_groups: ") for text in got.warnings)


def test_the_worst_turn_of_a_criterion_where_high_is_bad():
    frame = turns(n=12, criterion="Toxicity")
    with pytest.warns(CalibWarning, match=r"worst_is_lowest: Toxicity: .* reverse the scores if high is bad"):
        compared(frame, "worst")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compared(frame, "mean")


# --- the level of turns, and files ------------------------------------------------------------------------------------


def test_turns_of_a_session_are_one_cluster_and_the_answer_says_so():
    frame = turns()
    frame["score"] += frame["session"].str[1:].astype(int) % 3 * (frame["run"] == "v2")
    got, alone = (calib.compare_runs(*sides(frame), groups=groups) for groups in ("group", None))
    assert got.one().n_groups == 25 < got.one().n
    assert f"{got.one().n} tasks in 25 groups" in got.conclusion
    assert "groups" not in alone.conclusion.split(".")[0]
    assert np.ptp(got.one().interval) > np.ptp(alone.one().interval)


def log(path, frame, **more):
    """Inspect AI's log of a run: a sample is a turn, with its session and number in the metadata."""
    samples = [
        {"id": row.id, "epoch": row.trial + 1, "input": f"turn {row.id}", "target": "",
         "output": {"model": "m", "completion": f"{path.stem} {row.id}"}, "scores": {"tone": {"value": row.score}},
         "metadata": {"session_id": row.session, "turn": row.turn} | more.get(row.id, {})}
        for row in frame.itertuples()
    ]  # fmt: skip
    spec = {"eval_id": path.stem, "task": "t", "model": "m", "scorers": [{"name": "tone", "options": {"model": "g"}}]}
    path.write_text(json.dumps({"status": "success", "eval": spec, "samples": samples}))
    return path


def test_two_logs_of_turns(tmp_path):
    frame = turns(trials=2)
    mixed = frame.sample(frac=1, random_state=2)
    paths = [log(tmp_path / f"{name}.json", rows) for name, rows in mixed.groupby("run")]
    for how in HAND:
        want = calib.compare_runs(by_hand(frame, how).rename(columns={"session": "id"})).one()
        got = calib.compare_runs(*paths, level="session", turns=how).one()
        assert got.interval == pytest.approx(want.interval, abs=1e-12) and got.n_trials_a == 50
    clustered = calib.compare_runs(*paths).one()
    assert (clustered.n, clustered.n_groups) == (frame["id"].nunique(), 25)
    with pytest.raises(TableError, match=r"`groups` must be a field of the samples of a, but there are .*'session_id'"):
        calib.compare_runs(*paths, level="session", groups="thread")
    log(paths[0], frame[frame["run"] == "v1"], **{"s4-0": {"session_id": None}})
    with pytest.raises(TableError, match=r"`v1` must have a `group`, the session, of each turn, but 's4-0' has none"):
        calib.compare_runs(*paths, level="session", groups="session_id")


def test_files_on_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, rows in turns().groupby("run"):
        rows.drop(columns=["run", "trial"]).to_csv(f"{name}.csv", index=False)
    with pytest.raises(SystemExit) as done:
        cli.main(["compare-runs", "v1.csv", "v2.csv", "--level", "session", "--turns", "worst", "--at-least", "-3"])
    assert done.value.code == 0
    assert "25 sessions by their worst turn" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(("turns", "repeated"), [("mean", 1), ("worst", 6), ("last", 6)])
def test_repeated_turns_without_a_column_of_trials_are_refused(turns, repeated):
    run = pd.DataFrame({"item": [f"{s}-{t}" for s in "abc" for t in "12"], "session": [*"aabbcc"], "score": 3.0})
    twice = pd.concat([run, run.head(repeated)], ignore_index=True)
    columns = {"judge": "score", "item": "item", "group": "session", "scale": "1..5"}
    with pytest.raises(ValueError, match=r"`trial` must name the column of trials .* 'a-1' of session 'a' 2 times"):
        calib.compare_runs({"old": twice, "new": run.assign(score=4.0)}, level="session", turns=turns, **columns)
