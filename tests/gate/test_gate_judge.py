"""The gate for a judge on tables and in the shell: whose labels, what is missing, segments, the certificate."""

import json
import warnings
from datetime import date
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import calib
from calib.cli import main
from calib.gate import certificate as certificates


def tables(n=120, *, right=0.93, seed=1, people=1, prompt="tone-1a2b3c", rater="gpt", draws=None):
    """A judge of pass and fail, and the labels of so many people who agree."""
    rng = np.random.default_rng(seed)
    label = (rng.random(n) < 0.6).astype(float)
    score = np.where(rng.random(n) < right, label, 1 - label)
    item = [f"q{k}" for k in range(n)]
    at = {"item": item, "criterion": "tone", "scale": "0|1"}
    scores = pd.DataFrame(at | {"rater": rater, "prompt": prompt, "method": "sample", "score": score,
                                "language": ["de", "en"] * (n // 2)})  # fmt: skip
    labels = pd.concat([pd.DataFrame(at | {"rater": f"ann-{k}", "method": "human", "score": label})
                        for k in range(people)])  # fmt: skip
    return scores, labels


def run(*arguments):
    with pytest.raises(SystemExit) as stop:
        main([*map(str, arguments)])
    return stop.value.code


@pytest.fixture
def certified(tmp_path):
    scores, labels = tables()
    verdict = calib.gate_judge(scores, labels, kappa=0.6)
    return verdict.certificate(tmp_path / "judge.json", on=date(2026, 1, 1))


# --- the verdict ------------------------------------------------------------------------------------------------


def test_a_judge_is_trusted_by_so_many_annotators():
    verdict = calib.gate_judge(*tables(people=3), kappa=0.6, tpr=0.7, tnr=0.7)
    assert (verdict.outcome, verdict.exit_code) == ("trusted", 0)
    assert str(verdict).startswith("TRUSTED: gpt agrees with the labels of 3 annotators\n")
    assert "with one constant verdict in 57.5 %" in str(verdict)
    verdict.raise_for_outcome()


@pytest.mark.parametrize(
    ("right", "outcome", "code", "error"),
    [(0.6, "untrusted", 1, calib.GateFailed), (0.84, "inconclusive", 3, calib.GateInconclusive)],
)
def test_other_outcomes_raise(right, outcome, code, error):
    verdict = calib.gate_judge(*tables(right=right), kappa=0.6)
    assert (verdict.outcome, verdict.exit_code) == (outcome, code)
    with pytest.raises(error, match=outcome.upper()):
        verdict.raise_for_outcome()
    assert bool(verdict.next_steps) == (outcome == "inconclusive")
    assert any(note.startswith("looks: fix how many labels") for note in verdict.notes) == bool(verdict.next_steps)


def test_the_order_of_rows_says_nothing():
    scores, labels = tables()
    one, other = (calib.gate_judge(s, y, kappa=0.6) for s, y in ((scores, labels), (scores[::-1], labels[::-1])))
    assert one.checks.one().interval == pytest.approx(other.checks.one().interval, abs=1e-9)
    assert one.digests == other.digests


def test_scores_on_a_scale_need_a_cut():
    rng = np.random.default_rng(0)
    mine = pd.DataFrame({"id": range(100), "human": rng.integers(1, 6, 100)})
    mine["judge"] = (mine["human"] + rng.choice([0, 0, 0, 0.6, -0.6], 100)).clip(1, 5)
    options = {"judge": "judge", "label": "human", "scale": "1|2|3|4|5"}
    with pytest.raises(ValueError, match="say what passes"):
        calib.gate_judge(mine, tpr=0.8, **options)
    with pytest.raises(ValueError, match="values of the labels' scale"):
        calib.gate_judge(mine, kappa=0.5, **options)
    with pytest.raises(ValueError, match="`cut` must be above 1 and up to 5"):
        calib.gate_judge(mine, kappa=0.5, cut=9, **options)
    verdict = calib.gate_judge(mine, kappa=0.5, spearman=0.5, weighted_kappa=0.5, cut=4, judge_cut=3.5, **options)
    assert verdict.outcome == "trusted"
    passed, right = mine["human"] >= 4, mine["judge"] >= 3.5
    agree = calib.stats.agreement(right, passed, method="kappa_nominal").estimate
    assert verdict.checks[0].estimate == pytest.approx(agree)


def test_a_rate_alone_says_who_reaches_it_without_reading():
    notes = calib.gate_judge(*tables(), tpr=0.8).notes
    assert notes == ("one_sided: a judge that passes every item has a TPR of 1: set a bar on TNR, too",)
    both = calib.gate_judge(*tables(), tpr=0.8, tnr=0.8).notes
    assert not any(note.startswith("one_sided") for note in both)


def test_a_constant_judge_is_not_trusted():
    scores, labels = tables()
    verdict = calib.gate_judge(scores.assign(score=1.0), labels, tpr=0.8, kappa=0.1)
    assert verdict.outcome == "inconclusive"
    assert "gives every item 1" in str(verdict)


# --- what is missing --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("gone", "outcome"), [(6, "trusted"), (7, "inconclusive")])
@pytest.mark.parametrize("how", ["absent", "unread"])
def test_labels_without_a_score_count_and_are_named(how, gone, outcome):
    scores, labels = tables()
    lost = scores["item"].isin([f"q{k}" for k in range(gone)])
    scores = scores[~lost] if how == "absent" else scores.assign(score=scores["score"].mask(lost))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", calib.stats.CalibWarning)
        verdict = calib.gate_judge(scores, labels, kappa=0.6)
    check = verdict.checks.one()
    assert verdict.outcome == outcome
    assert (check.n_unmatched, check.n_unread) == ((gone, 0) if how == "absent" else (0, gone))
    if how == "absent":
        assert f"unmatched: {gone} of 120 labelled items match no score: 'q0', 'q1'" in verdict.markdown().replace(
            "\\", ""
        )
    if outcome == "inconclusive":
        assert "7 of 120 labels have no score" in check.reason


def test_a_criterion_without_labels_is_said():
    scores, labels = tables()
    with pytest.warns(calib.stats.CalibWarning, match="unlabelled"):
        verdict = calib.gate_judge(pd.concat([scores, scores.assign(criterion="style")]), labels, kappa=0.6)
    assert "unlabelled: no label is of style: nothing was checked there" in verdict.notes


def test_two_judges_are_refused():
    scores, labels = tables()
    with pytest.raises(ValueError, match="must hold one judge"):
        calib.gate_judge(pd.concat([scores, scores.assign(rater="other")]), labels, kappa=0.6)


# --- segments ---------------------------------------------------------------------------------------------------


def test_every_segment_must_hold():
    scores, labels = tables(400)
    assert calib.gate_judge(scores, labels, kappa=0.6).outcome == "trusted"
    wrong = (scores["language"] == "en") & (np.arange(400) % 8 < 5)
    scores["score"] = np.where(wrong, 1 - scores["score"], scores["score"])
    verdict = calib.gate_judge(scores, labels, kappa=0.6, by="language")
    assert [one.outcome for one in verdict.checks] == ["trusted", "untrusted"]
    assert verdict.outcome == "untrusted"
    assert [label["check"] for label in verdict.checks.labels][1] == "tone (language: en), kappa"


def test_segments_may_stand_beside_labels_or_items(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    scores, labels = tables()
    place, bare = scores[["item", "language"]], scores.drop(columns="language")
    direct = calib.gate_judge(scores, labels, kappa=0.6, by="language")
    beside = calib.gate_judge(bare, labels.merge(place), kappa=0.6, by="language")
    assert str(direct) == str(beside)
    mine = calib.gate_judge(
        pd.DataFrame({"id": bare["item"], "judge": bare["score"]}),
        pd.DataFrame({"id": labels["item"], "human": labels["score"], "language": place["language"]}),
        kappa=0.6, by="language", judge="judge", label="human", scale="0|1",
    )  # fmt: skip
    assert [one.interval for one in mine.checks] == [one.interval for one in direct.checks]
    for name, table in (("scores.csv", bare), ("labels.csv", labels), ("items.csv", place.assign(output="x"))):
        calib.table.write(table, name)
    command = ("gate-judge", "scores.csv", "labels.csv", "--kappa", 0.6, "--by", "language", "--items", "items.csv")
    assert run(*command) == direct.exit_code
    assert capsys.readouterr().out.split()[: len(str(direct).split())] == str(direct).split()


def test_labelled_items_without_a_segment_must_hold_as_well():
    scores, labels = tables(200)
    scores.loc[:39, "language"] = None
    scores.loc[:39, "score"] = 1 - scores.loc[:39, "score"]
    verdict = calib.gate_judge(scores, labels, kappa=0.6, by="language")
    pairs = zip(verdict.checks.labels, verdict.checks, strict=True)
    outcomes = {label["language"]: one.outcome for label, one in pairs}
    assert outcomes == {"(none)": "untrusted", "de": "trusted", "en": "trusted"}


def test_a_segment_without_labels_is_open():
    scores, labels = tables()
    some = scores[scores["language"] == "de"]["item"]
    verdict = calib.gate_judge(scores, labels[labels["item"].isin(some)], kappa=0.6, by="language")
    assert [one.outcome for one in verdict.checks] == ["trusted", "inconclusive"]


# --- the certificate --------------------------------------------------------------------------------------------


def test_only_a_trusted_judge_has_a_certificate(tmp_path):
    verdict = calib.gate_judge(*tables(right=0.6), kappa=0.6)
    with pytest.raises(ValueError, match="trusted"):
        verdict.certificate(tmp_path / "judge.json")
    assert not list(tmp_path.iterdir())


def test_a_certificate_holds_what_its_figures_are_made_of(certified):
    record = json.loads(certified.read_text("utf-8"))
    part = record["anchors"][0]
    assert part["judge"] == {"criterion": "tone", "rater": "gpt", "prompt": "tone-1a2b3c", "method": "sample",
                             "temperature": None, "scale": "0|1", "draws": 1}  # fmt: skip
    x, y = np.array([row[1:3] for row in part["rows"]]).T
    one = calib.stats.judge_bar(x, y, "kappa", 0.6)
    assert (record["checks"][0]["estimate"], record["checks"][0]["low"]) == pytest.approx((one.estimate, one.conf_low))
    assert record["valid"] == {"from": "2026-01-01", "until": "2026-04-01"}
    assert "q0" not in certified.read_text("utf-8")


@pytest.mark.parametrize(
    "change",
    [("2026-04-01", "2036-04-01"), ('"rater": "gpt"', '"rater": "gpu"'), ('"kappa": 0.6', '"kappa": 0.1'),
     ('"schema": "calib/certificate/v1"', '"schema": "calib/certificate/v9"')],
)  # fmt: skip
def test_an_edited_certificate_is_refused(certified, change):
    text = certified.read_text("utf-8")
    assert change[0] in text
    certified.write_text(text.replace(*change), "utf-8")
    with pytest.raises(ValueError, match="no certificate that `calib gate-judge` wrote, or was edited"):
        certificates.Certificate.read(certified)


@pytest.mark.parametrize("text", ["", "[]", "1", "[" * 200_000, '{"id": ' + "[" * 200_000, '{"schema": "x"}', "\x00",
                                  '{"schema": "calib/certificate/v1", "id": "sha256:0", "anchors": null}'])  # fmt: skip
def test_a_file_that_is_none_is_refused_in_one_line(tmp_path, capsys, text):
    path = tmp_path / "c.json"
    path.write_text(text, "utf-8")
    scores, labels = tables()
    calib.table.write(scores, tmp_path / "scores.csv")
    calib.table.write(labels, tmp_path / "labels.csv")
    for command in (("gate-judge", "--kappa", 0.6), ("gate", "--threshold", 0.4)):
        name, *options = command
        assert run(name, tmp_path / "scores.csv", tmp_path / "labels.csv", *options, "--certificate", path) == 2
        said = capsys.readouterr().err
        assert "c.json: is no certificate" in said
        assert "Traceback" not in said


@pytest.fixture
def early(monkeypatch):
    monkeypatch.setattr(certificates, "today", lambda: date(2026, 4, 1))


@pytest.mark.usefixtures("early")
def test_a_build_by_the_certified_judge_is_gated(certified):
    scores, labels = tables(60, seed=5)
    verdict = calib.gate(scores, labels, threshold=0.2, certificate=certified)
    assert verdict.outcome == "pass"
    assert any(note.startswith("certificate: tone, kappa") and "until 2026-04-01" in note for note in verdict.notes)


@pytest.mark.usefixtures("early")
@pytest.mark.parametrize(
    ("changed", "why"),
    [({"rater": "gpt-2"}, "rater 'gpt'"), ({"prompt": "tone-ffffff"}, "prompt 'tone-1a2b3c'"),
     ({"method": "logprob"}, "method 'sample'"), ({"criterion": "style"}, "'style' is checked"),
     ({"scale": "0..1"}, r"scale '0\|1'"), ({"temperature": 0.7}, "temperature None")],
)  # fmt: skip
def test_a_build_by_another_judge_is_refused(certified, changed, why):
    scores, labels = tables(60, seed=5)
    people = labels.assign(**{name: value for name, value in changed.items() if name in ("criterion", "scale")})
    with pytest.raises(ValueError, match=why):
        calib.gate(scores.assign(**changed), people, threshold=0.2, certificate=certified)


def test_after_its_last_day_a_certificate_is_refused(certified, monkeypatch):
    monkeypatch.setattr(certificates, "today", lambda: date(2026, 4, 2))
    with pytest.raises(ValueError, match="ended on 2026-04-01"):
        calib.gate(*tables(60, seed=5), threshold=0.2, certificate=certified)
    notes = calib.gate_judge(*tables(), kappa=0.6, certificate=certified).notes
    assert "expired: the certificate ended on 2026-04-01" in notes


@pytest.mark.usefixtures("early")
def test_a_changed_judge_is_told_from_changed_anchors(certified):
    scores, labels = tables()
    again = {"certificate": certified, "kappa": 0.6}
    same = calib.gate_judge(scores, labels, **again).notes
    assert same == ("same_readings: all 120 readings of the same anchors are as they were",)
    lower = scores.assign(score=scores["score"].where(np.arange(120) % 4 > 0, 0.0))
    judge, *_ = calib.gate_judge(lower, labels, **again).notes
    assert judge.startswith("judge_changed: ")
    flipped = labels.assign(score=labels["score"].where(np.arange(120) > 2, 1 - labels["score"]))[:-5]
    anchors, readings = calib.gate_judge(scores, flipped, **again).notes
    assert anchors.startswith("anchors_changed: 0 labelled items are new, 5 are gone, 3 have another label")
    assert readings.startswith("same_readings: all 115")


@pytest.mark.usefixtures("early")
def test_noise_of_drawn_readings_is_no_change(tmp_path):
    rng, hits = np.random.default_rng(0), []
    level = rng.uniform(2.5, 3.9, 100)

    def reading(shift=0.0, spread=0.0):
        draws = level[:, None] + shift + spread * rng.choice([-1, 1], 100)[:, None] + 0.5 * rng.normal(size=(100, 6))
        return pd.DataFrame({"item": [f"q{k}" for k in range(100)], "criterion": "tone", "rater": "gpt", "prompt": "p",
                             "method": "sample", "score": draws.mean(axis=1), "sd": draws.std(axis=1, ddof=1), "n": 6,
                             "scale": "0..6"})  # fmt: skip

    labels = reading().assign(rater="ann", method="human", prompt="", score=np.round(level + 0.1))
    labels = labels.drop(columns=["sd", "n"]).assign(scale="0|1|2|3|4|5|6")
    path = calib.gate_judge(reading(), labels, spearman=0.5).certificate(tmp_path / "c.json", on=date(2026, 3, 1))
    for _ in range(20):
        (note,) = calib.gate_judge(reading(), labels, spearman=0.5, certificate=path).notes
        hits.append(note.startswith("judge_changed"))
    assert sum(hits) <= 4  # 5 % of 20, 99.7 % of the time
    for change in ({"shift": 0.3}, {"spread": 0.5}):
        note, *_ = calib.gate_judge(reading(**change), labels, spearman=0.5, certificate=path).notes
        assert note.startswith("judge_changed"), note


@pytest.mark.usefixtures("early")
def test_another_judge_on_the_same_anchors_is_named(certified):
    notes = calib.gate_judge(*tables(rater="gpt-2"), kappa=0.6, certificate=certified).notes
    assert "another_judge: the certificate is of rater gpt" in notes[0]


# --- forms ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("right", "code", "words"), [(0.93, 0, "TRUSTED"), (0.6, 1, "UNTRUSTED"),
                                                      (0.84, 3, "INCONCLUSIVE")])  # fmt: skip
def test_the_command_writes_all_forms(tmp_path, capsys, monkeypatch, right, code, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "job.md"))
    for name, table in zip(("scores.csv", "labels.csv"), tables(right=right), strict=True):
        calib.table.write(table, name)
    files = ("--junit", "v.xml", "--summary", "v.md", "--json", "v.json", "--certificate-out", "c.json")
    assert run("gate-judge", "scores.csv", "labels.csv", "--kappa", 0.6, *files) == code
    out = capsys.readouterr().out
    assert out.startswith(f"{words}: ")
    assert f"::{ {0: 'notice', 1: 'error', 3: 'warning'}[code] } title=calib gate%3A tone%2C kappa::" in out
    record = json.loads((tmp_path / "v.json").read_text("utf-8"))
    assert (record["outcome"], record["asked"]["kappa"]) == (words.lower(), 0.6)
    assert (tmp_path / "v.md").read_text("utf-8").strip() == (tmp_path / "job.md").read_text("utf-8").strip()
    suite = ET.fromstring((tmp_path / "v.xml").read_text("utf-8"))
    assert suite.attrib["failures"] == str(int(code > 0))
    assert (tmp_path / "c.json").exists() == (code == 0)
    assert ("to decide tone, kappa: about" in out) == (code == 3)
    allowed = run("gate-judge", "scores.csv", "labels.csv", "--kappa", 0.6, "--allow-inconclusive")
    assert allowed == (0 if code == 3 else code)


def test_files_of_an_earlier_verdict_do_not_outlast_a_judge_that_was_not_measured(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, table in zip(("scores.csv", "labels.csv"), tables(), strict=True):
        calib.table.write(table, name)
    files = ("--junit", "v.xml", "--summary", "v.md", "--json", "v.json")
    assert run("gate-judge", "scores.csv", "labels.csv", "--kappa", 0.6, *files) == 0
    assert run("gate-judge", "scores.csv", "none.csv", "--kappa", 0.6, *files) == 2
    assert [Path(name).exists() for name in files[1::2]] == [True, False, False]
    assert "not measured" in Path("v.xml").read_text("utf-8")
    assert "v.json, of an earlier verdict, was removed: nothing was measured." in capsys.readouterr().err
    Path("v.json").write_text("{}")  # of somebody else
    assert run("gate-judge", "scores.csv", "none.csv", "--kappa", 0.6, *files) == 2
    assert Path("v.json").read_text() == "{}"


def test_a_want_of_labels_is_allowed_and_a_crash_is_not(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    scores, labels = tables()
    labels.iloc[:10].to_csv("labels.csv", index=False)
    words = ("gate-judge", "scores.csv", "labels.csv", "--kappa", 0.6, "--allow-inconclusive")
    for table, code in ((scores, 0), (scores.assign(score=scores["score"].where(scores.index % 2 == 0)), 3)):
        table.to_csv("scores.csv", index=False)
        assert run(*words) == code


def test_names_that_steer_stay_on_their_line(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    scores, labels = tables(rater="gpt\n::error::x|<b>\x1b[31m")
    verdict = calib.gate_judge(scores.assign(language="::error::\n| a\x1b[2J"), labels, kappa=0.6, by="language")
    for text in (str(verdict), verdict.markdown(), verdict._repr_html_(), json.dumps(verdict.record())):
        assert "\x1b" not in text
        assert "\n::" not in text
    assert "<b>" not in verdict._repr_html_().replace("<b>✔", "")
    ET.fromstring(verdict.write(tmp_path / "v.xml").read_text("utf-8"))


def test_nothing_measured_is_two(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    calib.table.write(tables()[0], "scores.csv")
    assert run("gate-judge", "scores.csv", "none.csv", "--kappa", 0.6, "--junit", "v.xml") == 2
    assert "not measured" in (tmp_path / "v.xml").read_text("utf-8")
    calib.table.write(tables()[1], "labels.csv")
    assert run("gate-judge", "scores.csv", "labels.csv") == 2
    assert "--kappa or another bar" in capsys.readouterr().err


def test_what_is_written_is_no_file_that_is_read(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, table in zip(("scores.csv", "labels.csv"), tables(), strict=True):
        calib.table.write(table, name)
    for twice in (("--json", "--certificate-out"), ("--certificate", "--certificate-out"), ("--certificate", "--json")):
        files = [part for option in twice for part in (option, "c.json")]
        assert run("gate-judge", "scores.csv", "labels.csv", "--kappa", 0.6, *files) == 2
        assert "must be another file than" in capsys.readouterr().err
    assert not (tmp_path / "c.json").exists()


def test_ids_that_look_alike_are_one_and_named():
    scores, labels = tables()
    labels = labels.assign(item=labels["item"] + "\u200b")
    verdict = calib.gate_judge(scores, labels, kappa=0.6)
    assert verdict.checks.one().n_unmatched == 0
    assert any(note.startswith("look_alike: 120 item names") for note in verdict.notes)
