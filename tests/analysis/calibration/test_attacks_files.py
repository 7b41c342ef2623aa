"""Files and sequences that somebody made up to break calibrate, sets and escalate from the shell and Python."""

import warnings

import numpy as np
import pytest

pytest.importorskip("pandas")

import pandas as pd

import calib
from calib.table import TableError

HOSTILE = [
    "<script>alert(1)</script>",
    '=HYPERLINK("http://x")',
    "\x1b[31mred\x1b[0m",
    "\u202egnp.exe",
    "a\nb",
    "+1",
    "x" * 10_000,
]


def own_file(path, n=120, labels=80, **columns):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=n)
    said = [np.clip(np.round(3 + truth + 0.6 * rng.normal(size=n)), 1, 5) for _ in range(2)]
    frame = pd.DataFrame({"item": [f"i{k}" for k in range(n)], "judge": said[0], "human": said[1]})
    frame.loc[labels:, "human"] = np.nan
    frame.assign(**columns).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("verb", ["calibrate", "score_sets", "escalate", "forecast_quality"])
def test_rows_without_an_id_are_left_out_and_said(verb, tmp_path):
    path = own_file(tmp_path / "own.csv", item=[None, *(f"i{k}" for k in range(1, 120))])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        getattr(calib, verb)(path, **({"within": 1} if verb == "escalate" else {}))
    assert "own.csv: `item`: rows without an id are left out: 1." in [str(one.message) for one in said]


@pytest.mark.filterwarnings("ignore::calib.core.check.CalibWarning")
def test_hostile_names_of_systems_are_shown_as_text(tmp_path):
    path = own_file(tmp_path / "own.csv", system=[HOSTILE[k % 4] for k in range(120)])
    found = calib.forecast_quality(path, by="system")
    assert len(found) == 4
    for text in (str(found), repr(found)):
        assert not {"\x1b", "\u202e"} & set(text)
        assert "\\x1b[31mred" in text
    assert "<script>" not in found._repr_html_()


def test_hostile_ids_come_back_from_a_table_of_calibrated_scores(tmp_path):
    ids = [*HOSTILE, *(f"i{k}" for k in range(120 - len(HOSTILE)))]
    path = own_file(tmp_path / "own.csv", item=ids)
    calibrated = calib.calibrate(path).apply(path)
    assert set(calibrated["item"]) == set(ids)
    calib.table.write(calibrated, tmp_path / "calibrated.csv")
    assert "from 80 human labels" in str(calib.interval(tmp_path / "calibrated.csv", path))


def test_calibrated_scores_are_not_calibrated_again(tmp_path):
    calibration = calib.calibrate(own_file(tmp_path / "own.csv"))
    with pytest.raises(TableError, match=r"rater was 'judge' and is 'judge \(calibrated\)'"):
        calibration.apply(calibration.apply(tmp_path / "own.csv"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::calib.core.check.CalibWarning")
@pytest.mark.parametrize("labels", [1, 2, 9, 80])
@pytest.mark.parametrize("options", [{"within": 1}, {"label_threshold": 4}, {"within": 0}, {"within": 1, "risk": 0.3}])
def test_each_item_is_decided_labelled_or_for_people(labels, options, tmp_path):
    path = own_file(tmp_path / "own.csv", labels=labels)
    found = calib.escalate(path, **options).one()
    accepted, people = set(found.accepted["item"]), set(found.escalated["item"])
    labelled = {f"i{k}" for k in range(labels)}
    assert not accepted & people and not people & labelled
    assert len(accepted | people | labelled) == 120


@pytest.mark.parametrize("wrong", ["folder", "x.csv"])
def test_the_ending_of_a_saved_calibration_is_said_in_words(wrong, tmp_path, capsys):
    from calib.cli import main

    with pytest.raises(SystemExit) as stopped:
        main(["calibrate", str(own_file(tmp_path / "own.csv")), "--save", wrong])
    assert stopped.value.code == 2
    assert "must end in .json, but got" in capsys.readouterr().err
