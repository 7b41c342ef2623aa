"""Calibration in the shell and on the page: what a file becomes, what is refused, whose row stands first."""

import numpy as np
import pandas as pd
import pytest

import calib
from calib import table
from calib.core.result import short

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]  # what the shell shows beside its output
HOSTILE = ["<script>alert(1)</script>", "=cmd|' /C calc'!A0", "\x1b[31mred", "a\u202egnp.exe", "a | b `c`", "x" * 400]


@pytest.fixture(scope="module")
def frame():
    """240 outputs to 120 questions, those to the first 60 labelled."""
    rng = np.random.default_rng(4)
    quality = np.repeat(rng.normal(3, 1.2, 120), 2)
    judge, people = (np.clip(np.round(quality + rng.normal(0, sd, 240)), 1, 5).astype(int) for sd in (0.5, 0.4))
    rows = {"id": [f"q{k}" for k in range(240)], "question": np.repeat(np.arange(120), 2), "judge": judge}
    return pd.DataFrame(rows | {"human": pd.Series(people).where(np.arange(240) < 120).astype("Int64")})


@pytest.fixture
def own(frame, tmp_path):
    path = tmp_path / "results.csv"
    frame.to_csv(path, index=False)
    return path


# --- calibrate ----------------------------------------------------------------------------------------------------


def test_calibrate_writes_what_the_functions_return(run, own, frame, tmp_path):
    out, kept = tmp_path / "scores.csv", tmp_path / "made" / "calibration.json"
    code, output, _ = run("calibrate", own, "--out", out, "--save", kept, "--ridge", "1")
    expected = calib.calibrate(frame, ridge=1.0)
    assert code == 0
    assert f"wrote 240 rows to {out}" in output
    assert f"wrote {kept}" in output
    assert expected.one().conclusion in " ".join(output.split())
    written = table.read(out, "scores")
    assert written["p_4"].to_numpy() == pytest.approx(expected.apply(frame)["p_4"].to_numpy())
    assert written["rater"].unique() == ["judge (calibrated)"]
    assert '"q0"' not in kept.read_text(), "items are named by their hashes"


def test_a_saved_calibration_scores_a_file_without_labels(run, own, frame, tmp_path):
    kept, new, out = tmp_path / "calibration.json", tmp_path / "new.csv", tmp_path / "out.csv"
    run("calibrate", own, "--save", kept)
    frame.drop(columns="human").to_csv(new, index=False)
    code, output, _ = run("calibrate", new, "--apply", kept, "--out", out)
    assert code == 0
    assert f"wrote 240 rows to {out}" in output
    again = calib.Calibration.read(kept).apply(str(new))
    assert table.read(out, "scores")["score"].to_numpy() == pytest.approx(again["score"].to_numpy())


def test_at_says_what_a_score_means(run, own, frame):
    code, output, _ = run("calibrate", own, "--at", "2", "--at", "4.5")
    meanings = calib.calibrate(frame).at(2, 4.5)
    assert code == 0
    assert all(short(mean) in output for mean in meanings["score"])
    same = calib.calibrate(frame).apply(frame.assign(id=[f"new {k}" for k in range(240)], question=range(500, 740)))
    two = same[same["judge"] == 2].iloc[0]
    assert (
        meanings.iloc[0][["score", "sd", "conf_low", "p_1"]].tolist()
        == two[["score", "sd", "conf_low", "p_1"]].tolist()
    )


def test_at_asks_a_saved_calibration_too(run, own, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    kept = tmp_path / "calibration.json"
    run("calibrate", own, "--save", kept)
    code, output, _ = run("calibrate", kept, "--at", "2")
    assert code == 0
    assert all(short(value) in output for value in calib.Calibration.read(kept).at(2)[["score", "sd", "p_1"]].iloc[0])
    for more in ((), ("--at", "2", "--out", tmp_path / "out.csv"), ("--at", "2", own)):
        code, _, err = run("calibrate", kept, *more)
        assert (code, "FILE is a calibration: --at alone says" in err) == (2, True)
    code, _, err = run("calibrate", own, "--apply", kept, "--at", "2")
    assert code == 2
    assert f"type calib calibrate {kept} --at 2." in " ".join(err.split())


@pytest.mark.parametrize("apply", [False, True])
def test_a_written_table_has_no_empty_columns_and_the_judges_own_score(run, own, frame, tmp_path, apply):
    kept, out = tmp_path / "calibration.json", tmp_path / "out.csv"
    run("calibrate", own, "--save", kept, *(() if apply else ("--out", out)))
    if apply:
        run("calibrate", own, "--apply", kept, "--out", out)
    written = pd.read_csv(out, dtype=str)
    assert written.notna().any().all()
    assert written["judge"].astype(float).tolist() == frame["judge"].tolist()
    assert written["fold"].dropna().str.fullmatch(r"\d+").all()
    whole = calib.calibrate(frame).apply(frame)
    labels = frame[["id", "human"]].dropna()
    assert calib.interval(str(out), labels).estimate == pytest.approx(calib.interval(whole, labels).estimate)


@pytest.mark.parametrize("command", ["calibrate", "score-sets", "escalate"])
def test_a_judge_on_a_scale_of_its_own_is_no_trouble_where_it_is_calibrated(run, frame, tmp_path, command):
    hundred = tmp_path / "hundred.csv"
    frame.assign(judge=frame["judge"] * 20).to_csv(hundred, index=False)
    code, _, err = run(command, hundred, *(("--label-threshold", 4) if command == "escalate" else ()))
    assert code == 0
    assert "another scale than the labels" not in err
    _, _, err = run("interval", hundred)
    assert "another scale than the labels" in err


def test_a_saved_calibration_is_judged_by_labels_that_its_maps_have_not_seen(run, own, frame, tmp_path):
    kept, out, hundred = tmp_path / "calibration.json", tmp_path / "q.csv", tmp_path / "hundred.csv"
    frame.assign(judge=frame["judge"] * 20).to_csv(hundred, index=False)
    code, _, output = run("forecast-quality", hundred)
    assert code == 2
    assert "calibrate it first, and judge the calibration" in output
    assert "`calib calibrate FILE --save judge.json` and `calib forecast-quality judge.json`" in output
    assert "another scale than the labels" not in output, "the error says it"
    run("calibrate", hundred, "--save", kept)
    code, output, _ = run("forecast-quality", kept, "--out", out)
    expected = calib.forecast_quality(calib.calibrate(frame)).one()
    assert code == 0
    assert f"skill {short(expected.skill)}" in " ".join(output.split())
    assert table.read_frame(out)["skill"][0] == pytest.approx(expected.skill)
    code, named, _ = run("forecast-quality", kept, hundred)
    assert code == 0
    assert f"skill {short(expected.skill)}" in " ".join(named.split())


def test_who_rated_stands_beside_the_judge(run, tmp_path):
    rng = np.random.default_rng(3)
    item, person = np.repeat(np.arange(60), 3), np.tile(np.arange(3), 60)
    judge = rng.integers(1, 6, 60)
    label = np.clip(judge[item] + person - 1 + rng.integers(-1, 2, 180), 1, 5)
    labels = pd.DataFrame({"id": item, "annotator": [f"p{k}" for k in person], "label": label})
    pd.DataFrame({"id": range(60), "judge": judge}).to_csv(tmp_path / "judge.csv", index=False)
    labels.to_csv(tmp_path / "labels.csv", index=False)
    code, output, _ = run("calibrate", tmp_path / "judge.csv", tmp_path / "labels.csv", "--annotators")
    assert code == 0
    assert "annotators:3" in output
    rows = {
        line.split()[0]: float(line.split()[1]) for line in output.splitlines() if line.startswith(("p0", "p1", "p2"))
    }
    assert rows["p0"] < rows["p1"] < rows["p2"]
    assert "judge and annotators" in output
    assert "a strict person" in " ".join(output.split())


def test_scores_of_another_judge_are_refused_unless_said(run, own, frame, tmp_path):
    kept, other = tmp_path / "calibration.json", tmp_path / "other.csv"
    run("calibrate", own, "--save", kept)
    frame.drop(columns="human").rename(columns={"judge": "gpt5"}).to_csv(other, index=False)
    code, _, err = run("calibrate", other, "--apply", kept)
    assert code == 2
    assert "rater was 'judge' and is 'gpt5'" in err
    code, out, err = run("calibrate", other, "--apply", kept, "--allow-stale")
    assert code == 0
    assert "stale" in err
    assert "240 rows in all" in out


@pytest.mark.parametrize(
    ("command", "options", "words"),
    [
        ("calibrate", ("--save", "again.json", "--apply", "calibration.json"), "leave out LABELS and --save"),
        ("calibrate", ("labels.csv", "--apply", "calibration.json"), "leave out LABELS and --save"),
        ("calibrate", ("--allow-stale",), "--allow-stale is for --apply"),
        ("escalate", ("--label-threshold", "4", "--price-judge", "0.01"), "--price-label"),
    ],
)
def test_options_that_do_not_go_together_are_refused(run, own, tmp_path, monkeypatch, command, options, words):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(command, own, *options)
    assert code == 2
    assert words in err


@pytest.mark.parametrize("option", ["--save", "--out"])
def test_no_file_that_is_read_is_written_over(run, own, option):
    path = own.with_suffix(".json") if option == "--save" else own
    if option == "--save":
        path.symlink_to(own)
    before = own.read_bytes()
    code, _, err = run("calibrate", own, option, path)
    assert code == 2
    assert "must be another file than FILE" in err
    assert own.read_bytes() == before


# --- forecasts, sets, escalation ------------------------------------------------------------------------------------


def test_sets_writes_the_set_of_each_item(run, own, frame, tmp_path):
    code, output, _ = run("score-sets", own, "--level", "0.8", "--out", tmp_path / "sets.csv")
    expected = calib.score_sets(frame, level=0.8).one()
    assert code == 0
    assert "wrote 240 rows" in output
    written = table.read_frame(tmp_path / "sets.csv")
    assert written["low"].tolist() == expected.items["low"].tolist()
    assert written["item"].tolist() == frame["id"].tolist()


def test_escalate_writes_both_lists(run, own, frame, tmp_path):
    people, accepted = tmp_path / "people.csv", tmp_path / "accepted.csv"
    options = ("--label-threshold", "4", "--risk", "0.15", "--price-label", "2", "--price-judge", "0.01")
    code, output, _ = run("escalate", own, *options, "--out", people, "--accepted", accepted)
    found = calib.escalate(frame, label_threshold=4, risk=0.15, prices={"label": 2.0, "judge": 0.01}).one()
    assert code == 0
    assert 0 < found.n_accepted < 240
    assert f"wrote {found.n_escalated} rows to {people}" in output
    assert f"wrote {found.n_accepted} rows to {accepted}" in output
    assert table.read_frame(people)["item"].tolist() == found.escalated["item"].tolist()
    assert table.read_frame(accepted)["item"].tolist() == found.accepted["item"].tolist()


# --- on the page ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def things(frame):
    names = frame.assign(id=[*HOSTILE, *frame["id"][len(HOSTILE) :]])
    return {
        "calibration": calib.calibrate(names),
        "sets": calib.score_sets(names),
        "found": calib.escalate(names, label_threshold=4, risk=0.15),
    }


def by_item(text):
    """Heads and rows of the table of items in Markdown."""
    lines = [line for line in text.partition("## Item by item")[2].splitlines() if line.startswith("|")]
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [dict(zip(head, row, strict=False)) for row in rows]


def test_items_for_people_come_first_least_sure_first(things):
    rows = by_item(calib.report([*things.values()]).text)
    assert len(rows) == 200  # the first of 240: more make no page
    whom = [row["for"] for row in rows]
    order = [("people", "people (labelled)", "the map").index(one) for one in whom]
    assert order == sorted(order)
    assert whom.count("people") == things["found"].one().n_escalated
    unsure = [float(row["confidence"]) for row in rows if row["for"] == "people"]
    assert unsure == sorted(unsure)


def test_each_item_has_the_judges_score_its_chances_and_its_set(things, frame):
    rows = {row["item"]: row for row in by_item(calib.report([*things.values()]).text)}
    calibrated = things["calibration"].apply(things["calibration"].scores).set_index("item")
    sets = things["sets"].one().items.set_index("item")
    for item in [*rows][100:110]:
        row = rows[item]
        assert float(row["judge's score"]) == frame.set_index("id")["judge"][item]
        assert float(row["chance of 4"]) == pytest.approx(calibrated["p_4"][item], rel=5e-3)
        assert float(row["mean"]) == pytest.approx(calibrated["score"][item], rel=5e-3)
        low, high = sets["low"][item], sets["high"][item]
        assert row["set"] == (f"{low:g}" if low == high else f"{low:g} to {high:g}")


def test_a_table_of_calibrated_scores_stands_item_by_item_only(things):
    calibration = things["calibration"]
    text = calib.report([calibration.apply(calibration.scores)]).text
    rows = by_item(text)
    assert len(rows) == 200
    assert "The map of a labelled document did not see its labels" in " ".join(text.split())
    spread = [float(row["sd"]) for row in rows]
    assert spread == sorted(spread, reverse=True)
    assert text.count("## ") == 1
    other = calib.report([calib.stats.mean_interval([3, 4, 4, 5, 4]), pd.DataFrame({"item": ["a"], "x": [1]})])
    assert "Item by item" not in other.text


@pytest.mark.parametrize("ending", ["md", "html"])
def test_hostile_ids_are_shown_as_text(things, tmp_path, ending):
    text = calib.report([*things.values()], tmp_path / f"page.{ending}").text
    assert "<script>alert" not in text
    assert not {"\x1b", "\u202e"} & set(text)
    assert "alert(1)" in text
