"""Escalation: whose verdict, of which systems and groups the labels are; calibrations whose skill has no number."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats as laws

import calib
from calib.analysis.calibration.display_sentences import escalation_notes
from calib.analysis.calibration.frames_escalation import _labelled_whole, said_of_items
from calib.core.check import CalibWarning
from calib.table import TableError

QUIET = pytest.mark.filterwarnings("ignore::calib.core.check.CalibWarning")
SCALE = "1|2|3|4|5"


def ids(n):
    return [f"i{k}" for k in range(n)]


# --- whose verdict ----------------------------------------------------------------------------------------------------


@QUIET
def test_lists_of_items_and_titles_say_whose_verdict():
    rng = np.random.default_rng(1)
    people = rng.choice([3, 4, 5], 800, p=[0.3, 0.5, 0.2])
    judge = np.clip(people - 2 + rng.choice([0, 0, 0, 0, 1], 800), 1, 5)
    table = pd.DataFrame({"item": ids(800), "judge": judge, "people": np.where(np.arange(800) < 300, people, np.nan)})
    lenient = calib.escalate(table, scale=SCALE, within=0, risk=0.3)
    assert set(lenient.one().accepted["decided_by"]) == {"calibration map of judge"}
    rows = said_of_items(lenient)
    assert set(rows["for"]) == {"the map"} and {"judge's score", "the map's verdict"} <= set(rows)
    assert "% decided without people by the map (which label)" in " ".join(lenient.plot().get_title(loc="left").split())
    own = calib.escalate(table.assign(judge=people, sure=1.0), scale=SCALE, within=0, risk=0.3, confidence="sure")
    assert set(own.one().accepted["decided_by"]) == {"judge"}
    assert "the judge's verdict" in said_of_items(own)
    assert "by the judge (which label)" in " ".join(own.plot().get_title(loc="left").split())


@QUIET
def test_not_shown_is_not_nothing():
    rng = np.random.default_rng(0)
    people = (rng.random(400) < 0.87).astype(int)
    people[:40] = np.arange(40) > 1  # fewer than of all
    judge = np.where(rng.random(400) < 0.01, 1 - people, people)
    labels = np.where(np.arange(400) < 40, people, np.nan)
    few = calib.escalate({"item": ids(400), "judge": judge, "people": labels}, risk=0.1)
    assert few.one().test.unbeaten
    assert "the labels do not show that it adds anything" in few.conclusion and few.conclusion.endswith("label more.")
    assert "adds nothing" not in f"{few.conclusion}{few}"


# --- systems ----------------------------------------------------------------------------------------------------------


def two_systems():
    rng = np.random.default_rng(1)
    system = np.where(np.arange(2000) % 5 == 0, "bad", "good")
    people = (rng.random(2000) < 0.6).astype(int)
    judge = np.where((system == "bad") & (rng.random(2000) < 0.4), 1 - people, people)
    pick = np.sort(rng.choice(2000, 400, replace=False))
    scores = pd.DataFrame({"item": np.array(ids(2000)), "judge": judge})
    return scores, scores.loc[pick, ["item"]].assign(people=people[pick], system=system[pick]), system


@QUIET
def test_systems_that_stand_beside_the_labels_alone_differ_too():
    scores, labels, system = two_systems()
    alone, both = (
        [text for text in calib.escalate(one, labels, risk=0.15).one().warnings if text.startswith("systems_differ")]
        for one in (scores, scores.assign(system=system))
    )
    assert alone == [f"{both[0]}, with the system beside all scores (in a shell --items)"]
    with pytest.raises(TableError, match=r"`by` must be a column of the scores.*'system'.*--items"):
        calib.escalate(scores, labels, risk=0.15, by="system")
    within = calib.escalate(scores.assign(system=system), labels, risk=0.15, by="system")
    assert {label["system"]: one.n for label, one in zip(within.labels, within, strict=True)} == {
        "bad": 400,
        "good": 1600,
    }
    (note,) = escalation_notes(within)
    assert "of each system by themselves" in note and "by='system'" not in note
    assert "by='system'" in escalation_notes(calib.escalate(scores, labels, risk=0.15))[0]


def test_a_column_that_stands_beside_the_labels_alone_has_a_way_in():
    scores, labels, _ = two_systems()
    with pytest.raises(TableError, match=r"`by` must be a column of the scores.*stand beside the scores.*--items"):
        calib.agreement(scores, labels.rename(columns={"system": "lang"}), by="lang")


# --- groups that were labelled whole ----------------------------------------------------------------------------------


@QUIET
def test_groups_labelled_whole_count_also_where_their_sizes_differ():
    rng = np.random.default_rng(0)
    size = np.r_[np.full(50, 2), np.full(10, 40)]
    wrong = np.r_[np.arange(50) % 5 == 0, np.arange(10) < 2]
    group = np.repeat(np.arange(60), size)
    people = rng.integers(0, 2, len(group))
    whole = np.isin(group, rng.choice(60, 40, replace=False))
    data = {"item": ids(len(group)), "judge": np.where(wrong[group], 1 - people, people), "group": group.astype(str)}
    found = calib.escalate(data | {"people": np.where(whole, people, np.nan)}, risk=0.19).one()
    assert found.n_groups == 40 and any(text.startswith("whole_groups: ") for text in found.warnings)
    gaps = whole & (rng.random(len(group)) > 0.002)  # a label or two that did not come
    assert calib.escalate(data | {"people": np.where(gaps, people, np.nan)}, risk=0.19).one().n_groups == 40
    some = rng.permutation(len(group)) < whole.sum()
    found = calib.escalate(data | {"people": np.where(some, people, np.nan)}, risk=0.19).one()
    assert found.n_groups == found.n_labels == whole.sum()


@pytest.mark.parametrize(("share", "size"), [(0.2, 2), (0.5, 2), (0.9, 3), (0.97, 2)])
def test_items_that_were_drawn_seldom_pass_for_groups(share, size):
    rng, runs = np.random.default_rng(2), 400
    code = np.repeat(np.arange(30), size)
    drawn = [
        _labelled_whole(code, pd.DataFrame({"y": np.where(rng.random(len(code)) < share, 1.0, np.nan)}))
        for _ in range(runs)
    ]
    assert laws.binomtest(sum(drawn), runs, 0.05, alternative="greater").pvalue > 0.001


# --- calibrations -----------------------------------------------------------------------------------------------------


def of_dice(labels, **columns):
    rng = np.random.default_rng(1)
    judge = rng.integers(1, 6, 300)
    judge[0] = judge[1] = 3
    return calib.calibrate({"item": ids(300), "judge": judge, "people": labels} | columns, scale=SCALE)


def first(n, value):
    return np.where(np.arange(300) < n, value, np.nan)


@QUIET
@pytest.mark.parametrize(
    ("labels", "columns", "why"),
    [
        (first(1, 5.0), {}, "all labels are of one group"),
        (first(2, 3.0), {}, "all labels are alike"),
        (first(40, 5.0), {}, "all labels are alike"),
        (first(100, np.arange(300) % 5 + 1.0), {"group": ["g"] * 300}, "all labels are of one group"),
    ],
    ids=["one", "two", "alike", "one group"],
)
def test_without_a_skill_that_can_be_computed_the_table_is_folded(labels, columns, why, tmp_path):
    calibration = of_dice(labels, **columns)
    assert np.isnan(calibration.one().skill) and calibration.one().without_skill
    assert (
        f"no skill can be computed: {why}. What each score means is left out: `.to_frame()`" in calibration.conclusion
    )
    assert "means:" not in calibration.conclusion and "<table" not in calibration._repr_html_()
    assert "mean label" not in calib.report(calibration).text
    saved = calib.Calibration.read(calibration.save(tmp_path / "map.json"))
    for use in (lambda: saved.at(3), lambda: saved.apply({"item": ids(9), "judge": [3] * 9}, judge="judge")):
        with pytest.warns(CalibWarning, match=f"no_skill: .*{why}"):
            use()


@QUIET
def test_two_labels_in_the_middle_have_no_interval():
    frame = of_dice(first(2, 3.0)).to_frame()
    assert frame[["conf_low", "conf_high"]].isna().all(axis=None)


def test_a_map_whose_skill_may_be_0_says_so_where_it_is_used():
    rng = np.random.default_rng(3)
    with pytest.warns(CalibWarning, match=r"no_skill: .* skill -?0\.\d+ beside no judge, 95 % CI"):
        of_dice(first(100, rng.integers(1, 6, 300))).at(3)


def test_a_map_by_a_column_of_numbers_outlives_a_blank(tmp_path):
    rng = np.random.default_rng(1)
    people = rng.integers(1, 6, 400)
    data = {"id": ids(400), "judge": np.clip(people + rng.choice([-1, 0, 0, 1], 400), 1, 5)}
    wave = np.arange(400) % 2
    blank = pd.DataFrame(data | {"people": people, "wave": np.where(np.arange(400) < 5, np.nan, wave)})
    with pytest.warns(CalibWarning, match="5 of 400 items have no"):
        calibration = calib.calibrate(blank, by="wave", scale=SCALE)
    saved = calib.Calibration.read(calibration.save(tmp_path / "waves.json"))
    assert len(saved.apply(pd.DataFrame(data | {"wave": wave}), scale=SCALE, judge="judge")) == 400
    other = pd.DataFrame(data | {"wave": 7})
    with (
        pytest.warns(CalibWarning, match="no map is of wave '7'"),
        pytest.raises(TableError, match=r"of a part that was calibrated \('0', '1'\), but none is"),
    ):
        saved.apply(other, scale=SCALE, judge="judge")
