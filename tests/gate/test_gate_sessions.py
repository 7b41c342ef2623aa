"""A gate on sessions beside a baseline of turns: equal to tables that pandas makes of sessions."""

import numpy as np
import pandas as pd
import pytest

import calib
from calib import cli
from calib.gate.baseline import Baseline, saved_baseline
from calib.table import TableError, check_scores

HAND = {"mean": "mean", "worst": "min", "last": "last"}


def build(name, n=30, seed=1, shift=0.0):
    """Scores and labels of one to twelve turns of each session, on 1 to 5; ids do not sort as turns do."""
    size = np.random.default_rng(0).integers(1, 13, n)
    rng = np.random.default_rng(seed)
    rows = [(f"s{s}", t, f"{name}-s{s}-t{t}") for s in range(n) for t in range(size[s])]
    frame = pd.DataFrame(rows, columns=["group", "turn", "item"]).assign(
        system=name, criterion="tone", scale="1|2|3|4|5"
    )
    quality = rng.normal(size=n)[[int(one[1:]) for one in frame["group"]]] + rng.normal(size=len(frame)) + shift
    people, judge = (np.clip(np.rint(3 + quality + rng.normal(0, 0.4, len(frame))), 1, 5) for _ in range(2))
    scores = frame.assign(score=judge, rater="judge", method="sample")
    return scores, frame.drop(columns=["group", "turn"]).assign(score=people, rater="ann", method="human")


def by_hand(scores, labels, how):
    """Both tables of sessions, by pandas alone."""
    group = scores.set_index("item")[["group", "turn"]]
    tables = []
    for table in (scores, labels):
        frame = table.drop(columns=["group", "turn"], errors="ignore").join(group, on="item").sort_values("turn")
        keys = ["group", "system", "criterion", "rater", "method", "scale"]
        session = frame.groupby(keys, sort=False)["score"].agg(HAND[how]).reset_index()
        tables.append(check_scores(session.assign(item=session["group"] + " of " + session["system"])))
    return tables


def both(*builds):
    return [pd.concat(tables, ignore_index=True) for tables in zip(*builds, strict=True)]


def numbers(verdict):
    (one,) = verdict.checks
    return (
        verdict.outcome,
        *one.interval,
        one.estimate,
        one.p_below,
        one.n,
        one.n_labels,
        one.n_unread,
        verdict.exit_code,
    )


@pytest.mark.parametrize("how", HAND)
def test_a_gate_of_sessions_with_a_baseline_is_that_of_tables_by_hand(tmp_path, how):
    old, new = build("old", seed=1), build("new", seed=2, shift=0.3)
    want = numbers(calib.gate(*both(by_hand(*old, how), by_hand(*new, how)), system="new", baseline="old", margin=0.5))
    options = {"system": "new", "margin": 0.5, "level": "session", "turns": how}
    in_scores = calib.gate(*both(old, new), baseline="old", **options)
    path = saved_baseline(tmp_path / "old.jsonl", "old", *old)
    in_a_file = calib.gate(*new, baseline=path, **options)
    assert numbers(in_scores) == pytest.approx(want) and numbers(in_a_file) == pytest.approx(want)
    assert want[5:8] == (30, 30, 0)
    assert any(note.startswith("sessions: ") and how in note for note in in_a_file.notes)


def test_turns_without_a_number_are_in_the_order_in_which_the_baseline_was_saved(tmp_path):
    old, new = build("old"), build("new", seed=2)
    plain = [old[0].drop(columns="turn"), old[1].sample(frac=1, random_state=0)]
    options = {"system": "new", "margin": 0.5, "level": "session", "turns": "last"}
    path, other = (saved_baseline(tmp_path / name, "old", *one) for name, one in (("a.jsonl", old), ("b.jsonl", plain)))
    one, two = (calib.gate(*new, baseline=file, **options) for file in (path, other))
    assert numbers(one) == numbers(two)
    mixed = [table.sample(frac=1, random_state=3) for table in old]  # the column `turn` is what counts
    assert numbers(
        calib.gate(*new, baseline=saved_baseline(tmp_path / "c.jsonl", "old", *mixed), **options)
    ) == numbers(one)
    former = path.read_text().replace(', "in_order": true', "", 1)
    path.write_text(former)
    assert Baseline.read(path).id == Baseline.read(other).id
    with pytest.raises(
        calib.ArgumentError, match=r"`baseline` must keep the order of turns, but its file .* save it anew"
    ):
        calib.gate(*new, baseline=path, **options)
    assert calib.gate(*new, baseline=path, **options | {"turns": "mean"}).checks[0].n == 30


def test_a_turn_without_a_score_leaves_its_session_of_the_build_or_of_the_baseline(tmp_path):
    old, new = build("old"), build("new", seed=2)
    path = saved_baseline(tmp_path / "old.jsonl", "old", *old)
    options = {"baseline": path, "system": "new", "margin": 0.5, "level": "session"}
    items = new[0][["item", "group"]]
    lacking = new[0][~new[0]["item"].isin(["new-s0-t0"])]
    labels = new[1][~new[1]["item"].str.startswith("new-s0-")]
    assert calib.gate(lacking, labels, items=items, **options).checks[0].n_unread == 1
    gone = old[0]["item"].isin(["old-s3-t0", "old-s7-t0"])
    file = saved_baseline(tmp_path / "less.jsonl", "old", old[0].assign(score=old[0]["score"].where(~gone)), old[1])
    (check,) = calib.gate(*new, **options | {"baseline": file}).checks
    assert check.outcome == "inconclusive" and "2 of 30 replies about old unread" in check.reason
    assert calib.gate(*new, items=items, **options).checks[0].n_unread == 0


def test_items_of_two_systems_without_their_names_are_still_two_sessions():
    old, new = build("old"), build("new", seed=2)
    scores, labels = both(old, new)
    options = {"baseline": "old", "system": "new", "margin": 0.5, "level": "session"}
    items = scores[["item", "group"]]
    assert numbers(calib.gate(scores, labels, items=items, **options)) == numbers(calib.gate(scores, labels, **options))
    with pytest.raises(
        calib.ArgumentError, match=r"`items` must have a column `system`, but sessions of one name are of several"
    ):
        calib.gate(scores.iloc[1:], labels[~labels["item"].str.contains("-s0-")], items=items, **options)


def test_who_labelled_sessions_of_two_builds_is_looked_at(tmp_path):
    old, new = build("old"), build("new", seed=2)
    people = [table.assign(rater=name) for (_, table), name in zip((old, new), ("strict", "kind"), strict=True)]
    path = saved_baseline(tmp_path / "old.jsonl", "old", old[0], people[0])
    for baseline, scores, labels in (("old", *both(old, new)[:1], pd.concat(people)), (path, new[0], people[1])):
        verdict = calib.gate(scores, labels, baseline=baseline, system="new", margin=2, level="session")
        assert verdict.outcome == "inconclusive" and "annotators" in verdict.checks[0].reason


def test_other_sessions_are_refused(tmp_path):
    old, new = build("old"), build("new", seed=2)
    path = saved_baseline(tmp_path / "old.jsonl", "old", old[0].assign(group="x" + old[0]["group"]), old[1])
    with pytest.raises(TableError, match=r"must have 80 % of the inputs in common, but have 0 of 30"):
        calib.gate(*new, baseline=path, system="new", margin=0.5, level="session")
    alone = saved_baseline(tmp_path / "alone.jsonl", "old", old[0].drop(columns="group"), old[1])
    with pytest.raises(TableError, match=r"must have 80 % of the inputs in common"):
        calib.gate(*new, baseline=alone, system="new", margin=0.5, level="session")


def test_the_command_saves_turns_and_compares_sessions(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, seed in (("old", 1), ("new", 2)):
        for kind, table in zip(("scores", "labels"), build(name, seed=seed, shift=0.5), strict=True):
            table.to_csv(f"{name}-{kind}.csv", index=False)

    def left(*words):
        with pytest.raises(SystemExit) as done:
            cli.main(["gate", *words, "--level", "session"])
        return done.value.code

    assert left("old-scores.csv", "old-labels.csv", "--threshold", "2", "--save-baseline", "old.jsonl") == 0
    assert (
        left("new-scores.csv", "new-labels.csv", "--system", "new", "--baseline", "old.jsonl", "--margin", "1.5") == 0
    )
    assert "30 labels" in capsys.readouterr().out


def test_sessions_that_are_left_out_stand_with_the_verdict(tmp_path):
    scores, labels = build("new")
    with pytest.warns(calib.stats.CalibWarning, match="sessions_incomplete"):
        verdict = calib.gate(scores, labels.iloc[1:], threshold=2, level="session")
    left_out = (
        "inputs: sessions_incomplete: 1 of 30 sessions have labels of some of their turns alone, and are left out."
    )
    assert left_out in verdict.notes
    assert left_out.removeprefix("inputs: ") in verdict.write(tmp_path / "v.json").read_text("utf-8")
