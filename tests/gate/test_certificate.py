"""What a certificate lets through: scales, replies, days, segments, odd files, an earlier one left in place."""

import copy
import json
from datetime import date, datetime

import numpy as np
import pandas as pd
import pytest

import calib
from calib.analysis.calibration.frames_file import id_of
from calib.cli import main
from calib.gate import certificate as certificates

N, SCALE = 100, "1|2|3|4|5"


def made(rater="gpt-4o", prompt="p#1", **more):
    rng = np.random.default_rng(2)
    label = rng.integers(1, 6, N).astype(float)
    score = np.where(rng.random(N) < 0.1, np.clip(label + 1, 1, 5), label)
    at = {"item": [f"q{k}" for k in range(N)], "criterion": "tone", "scale": SCALE}
    scores = pd.DataFrame(at | {"rater": rater, "prompt": prompt, "method": "sample", "score": score} | more)
    return scores, pd.DataFrame(at | {"rater": "ann", "method": "human", "score": label})


SCORES, LABELS = made(language=["de", "en"] * (N // 2))


@pytest.fixture(autouse=True)
def early(monkeypatch):
    monkeypatch.setattr(certificates, "today", lambda: date(2026, 4, 1))


@pytest.fixture
def written(tmp_path):
    def write(scores=SCORES, *, on=date(2026, 3, 1), **asked):
        verdict = calib.gate_judge(scores, LABELS, **{"weighted_kappa": 0.6} | asked)
        return verdict.certificate(tmp_path / "judge.json", on=on)

    return write


def gated(scores, path):
    return calib.gate(scores, LABELS, threshold=2, certificate=path)


# --- which builds it lets through -------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", ["1|2|3|4|5|6|7|8|9|10", ""])
def test_every_scale_of_a_build_must_be_the_certified_one(written, other):
    path, half = written(), np.arange(N) < N // 2
    assert gated(SCORES, path).outcome == "pass"
    with pytest.raises(ValueError, match=r"judge of scale '1\|2\|3\|4\|5', but these scores"):
        gated(SCORES.assign(scale=np.where(half, SCALE, other)), path)


def test_fewer_replies_an_item_are_another_judge(written):
    path = written(SCORES.assign(n=20, sd=0.5))
    with pytest.raises(ValueError, match="draws 20, but these scores are by one of draws 1"):
        gated(SCORES.assign(n=1, sd=np.nan), path)
    for n, unread in ((18, 2), (40, 0)):
        assert gated(SCORES.assign(n=n, n_unread=unread, sd=0.5), path).outcome == "pass"


def test_before_its_first_day_it_is_refused(written):
    with pytest.raises(ValueError, match="holds from 2031-01-01, and today is 2026-04-01"):
        gated(SCORES, written(on=date(2031, 1, 1)))


def test_a_judge_compared_by_segments_is_certified_on_these(written):
    path = written(by="language")
    assert gated(SCORES, path).outcome == "pass"
    for other in ("fr", None):
        with pytest.raises(ValueError, match=r"for language de, en, but these scores have (fr|\(none\))"):
            gated(SCORES.assign(language=SCORES["language"].where(np.arange(N) > 3, other)), path)
    assert any("no column 'language'" in note for note in gated(SCORES.drop(columns="language"), path).notes)


def test_a_judge_without_a_models_name_is_noted(written):
    path = written(made(rater="judge", prompt="")[0])
    (note,) = gated(made(rater="judge", prompt="")[0], path).notes
    assert "'judge' is no model's name, and the tables name no prompt, so that another one would not be" in note
    assert "no model's name" not in gated(SCORES, written()).notes[0]


def test_a_weak_certificate_says_so(written):
    path = written(weighted_kappa=-0.9, error=0.2, min_labels=2, max_unread=1)
    weak = "weak_certificate: it allowed an error of 0.2, 100 % of labels without a score, 2 labels, a bar of -0.9"
    assert weak in gated(SCORES, path).notes
    assert not any(note.startswith("weak") for note in gated(SCORES, written()).notes)


# --- its file ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("days", "on"),
    [(0, None), (-5, None), (10**6, None), (90, "2026-01-01"), (90, datetime(2026, 1, 1, 3)), (90, date(9999, 12, 1))],  # noqa: DTZ001
)
def test_days_that_are_none_are_refused(tmp_path, days, on):
    verdict = calib.gate_judge(SCORES, LABELS, weighted_kappa=0.6)
    with pytest.raises(ValueError, match=r"`(days|on)` must be"):
        verdict.certificate(tmp_path / "c.json", days=days, on=on)
    assert not list(tmp_path.iterdir())


def odd(record, change):
    """A certificate with an odd field, whose hash is right."""
    record = copy.deepcopy(record)
    change(record)
    return record | {"id": id_of(record)}


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one.update(checks=[]), lambda one: one.update(checks=5), lambda one: one.pop("checks"),
        lambda one: one.update(anchors=[]), lambda one: one.update(anchors={}), lambda one: one.pop("annotators"),
        lambda one: one["anchors"].append(copy.deepcopy(one["anchors"][0])), lambda one: one.update(asked=None),
        lambda one: one["checks"][0].update(estimate=None), lambda one: one["checks"][0].update(low=0.1),
        lambda one: one["checks"][0].update(bar="0.6"), lambda one: one["valid"].update(until=20990101),
        lambda one: one["valid"].update({"from": "2099-01-01"}), lambda one: one["valid"].update(until="2099-W01-1"),
        lambda one: one["anchors"][0].update(judge=["criterion", "rater"]),
        lambda one: one["anchors"][0]["judge"].update(temperature="hot"),
        lambda one: one["anchors"][0]["rows"][0].__setitem__(1, "1e999"),
        lambda one: one["anchors"][0]["rows"][0].__setitem__(1, 10**400),
        lambda one: one["anchors"][0]["rows"].__setitem__(0, []), lambda one: one["asked"].update(by=["language"]),
    ],
)  # fmt: skip
def test_an_odd_file_whose_hash_is_right_is_refused_in_a_sentence(written, capsys, change):
    path = written()
    path.write_text(json.dumps(odd(json.loads(path.read_text("utf-8")), change)), "utf-8")
    calib.table.write(SCORES, path.with_name("scores.csv"))
    calib.table.write(LABELS, path.with_name("labels.csv"))
    tables = [str(path.with_name(name)) for name in ("scores.csv", "labels.csv")]
    for command, *bar in (("gate-judge", "--weighted-kappa", "0.6"), ("gate", "--threshold", "2")):
        with pytest.raises(SystemExit) as stop:
            main([command, *tables, *bar, "--certificate", str(path)])
        assert stop.value.code == 2
        assert "judge.json: is no certificate" in capsys.readouterr().err


def test_an_earlier_certificate_does_not_outlast_a_judge_that_is_not_trusted(written, tmp_path, capsys):
    path = written()
    tables = [str(tmp_path / name) for name in ("scores.csv", "labels.csv")]
    for table, name in zip((SCORES[:30], LABELS[:30]), tables, strict=True):
        calib.table.write(table, name)
    command = ["gate-judge", *tables, "--weighted-kappa", "0.95", "--allow-inconclusive", "--certificate-out"]
    other = tmp_path / "notes.json"
    other.write_text("{}", "utf-8")
    for out in (path, other):
        with pytest.raises(SystemExit) as stop:
            main([*command, str(out)])
        assert stop.value.code == 0
    assert f"the earlier certificate, {path}, was removed" in capsys.readouterr().err.replace("\n", " ")
    assert not path.exists()
    assert other.read_text("utf-8") == "{}"  # what is no certificate stays


def test_an_earlier_certificate_does_not_outlast_a_judge_that_was_not_measured(written, tmp_path, capsys):
    path, scores = written(), tmp_path / "scores.csv"
    calib.table.write(SCORES, scores)
    command = ["gate-judge", str(scores), str(tmp_path / "missing.csv"), "--weighted-kappa", "0.6"]
    with pytest.raises(SystemExit) as stop:
        main([*command, "--certificate-out", str(path)])
    assert stop.value.code == 2
    assert f"the earlier certificate, {path}, was removed" in capsys.readouterr().err.replace("\n", " ")
    assert not path.exists()


# --- what changed since -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("written_as", [lambda x: x.round(2), lambda x: np.floor(x * 100) / 100, lambda x: x + 1e-5])
def test_digits_are_no_change_of_the_judge(written, written_as):
    noisy = (SCORES["score"] + np.random.default_rng(0).normal(0, 0.2, N)).clip(1.1, 4.9)
    judged = SCORES.assign(score=noisy, scale="1..5", method="logprob")
    path = written(judged)
    notes = calib.gate_judge(judged.assign(score=written_as(noisy)), LABELS, weighted_kappa=0.6, certificate=path).notes
    assert notes == ("same_readings: all 100 readings of the same anchors are as they were",)
    shifted = judged.assign(score=written_as(noisy) - 0.02)
    (note,) = calib.gate_judge(shifted, LABELS, weighted_kappa=0.6, certificate=path).notes
    assert note.startswith("judge_changed")


def test_anchors_that_are_unread_now_and_criteria_that_are_gone_are_named(written):
    both = [pd.concat([table, table.assign(criterion="safety")]) for table in (SCORES, LABELS)]
    path = calib.gate_judge(*both, weighted_kappa=0.6).certificate(written().with_name("two.json"), on=date(2026, 3, 1))
    unread = SCORES.assign(score=SCORES["score"].where(np.arange(N) > 3), item=SCORES["item"] + "\u200b")
    notes = calib.gate_judge(unread, LABELS, weighted_kappa=0.6, certificate=path).notes[-3:]
    assert notes == (
        "anchors_changed: no anchors are of safety, as the certificate's",
        "anchors_unread: 4 of 100 anchors had a score then and have none now",
        "same_readings: 96 of 100 readings of the same anchors are as they were",
    )
