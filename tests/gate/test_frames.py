"""The gate on tables: outcomes, evidence, refusals, the ledger and the baseline."""

import json
import re
from functools import partial
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import calib
from calib.cli import main
from calib.gate.baseline import saved_baseline

SCALE = "1|2|3|4|5"
gate = partial(calib.gate, system="new")


def build(name="new", *, n=60, shift=0.0, seed=0, criteria=("tone",), labelled=None, systems=None):
    """Scores of a judge that is .4 too generous, and labels of some, of builds that answer the same inputs."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(3.6, 0.8, n)
    rows, labels = [], []
    for criterion in criteria:
        for system, moved in (systems or {name: shift}).items():
            truth = np.clip(np.round(quality + moved + rng.normal(0, 0.3, n)), 1, 5)
            judged = np.clip(truth + 0.4 + rng.normal(0, 0.4, n), 1, 5)
            for k in range(n):
                at = {"item": f"q{k}-{system}", "group": f"q{k}", "system": system, "criterion": criterion}
                rows.append(at | {"rater": "judge", "method": "sample", "score": judged[k], "scale": SCALE})
                if k < (labelled or n // 2):
                    labels.append(at | {"rater": "ann", "method": "human", "score": truth[k], "scale": SCALE})
    return pd.DataFrame(rows), pd.DataFrame(labels)


def texts(scores, same=()):
    """Outputs of each item, the same for both builds on some inputs."""
    rows = scores.drop_duplicates("item")
    out = [f"answer to {g}" + f" of {s}" * (g not in same) for g, s in zip(rows["group"], rows["system"], strict=True)]
    return rows[["item", "group", "system"]].assign(source=rows["group"], output=out)


def compared(scores, labels):
    """The difference of "new" and "old" as a gate has it, from arrays."""
    y = labels.set_index("item")["score"]
    sides = [scores[scores["system"] == name].set_index("group") for name in ("new", "old")]
    arrays = [y.reindex(side["item"]) for side in sides] + [side["score"] for side in sides]
    options = {"bounds": (1, 5), "step": 1, "conservative": "gross errors", "confidence_level": 0.9}
    return calib.stats.ppi_difference(*(values.to_numpy(float) for values in arrays), **options)


# --- outcomes ---------------------------------------------------------------------------------------------------


def test_a_check_is_the_interval_at_one_less_two_errors():
    scores, labels = build()
    check = gate(scores, labels, threshold=3).checks.one()
    y = labels.set_index("item")["score"].reindex(scores["item"]).to_numpy(float)
    options = {"bounds": (1, 5), "step": 1, "conservative": "gross errors", "confidence_level": 0.9}
    result = calib.stats.ppi_mean(y, scores["score"], **options)
    assert (check.estimate, *check.interval) == pytest.approx((result.estimate, *result.interval), rel=1e-12)
    assert check.n_labels == 30


def test_a_baseline_check_is_the_difference_at_one_less_two_errors():
    scores, labels = build(systems={"new": 0.0, "old": 0.0})
    check = gate(scores, labels, baseline="old", margin=0.5).checks.one()
    result = compared(scores, labels)
    assert (check.estimate, *check.interval) == pytest.approx((result.estimate, *result.interval), rel=1e-12)


@pytest.mark.parametrize(("line", "outcome", "code"), [(3, "pass", 0), (4.4, "fail", 1), (3.65, "inconclusive", 3)])
def test_three_outcomes(line, outcome, code):
    verdict = gate(*build(), threshold=line)
    assert (verdict.outcome, verdict.exit_code) == (outcome, code)
    if outcome == "pass":
        verdict.raise_for_outcome()
    else:
        kind = calib.GateFailed if outcome == "fail" else calib.GateInconclusive
        with pytest.raises(kind, match=outcome):
            verdict.raise_for_outcome()


def test_two_copies_of_a_build_pass_a_margin_and_never_fail():
    scores, labels = build()
    both = [pd.concat([t, t.assign(item=t["item"] + "-again", system="again")]) for t in (scores, labels)]
    verdict = calib.gate(*both, system="again", baseline="new", margin=0.2)
    assert verdict.outcome == "pass"
    assert verdict.checks.one().estimate == 0
    assert calib.gate(*both, system="again", baseline="new", margin=0).outcome == "inconclusive"


def test_the_order_of_rows_is_nothing():
    scores, labels = build(criteria=("tone", "facts"))
    one = gate(scores, labels, threshold=3.5)
    other = gate(scores.sample(frac=1, random_state=1), labels.sample(frac=1, random_state=2), threshold=3.5)
    assert one.digests == other.digests
    for label, mine in zip(one.checks.labels, one.checks, strict=True):
        shuffled = other.checks.select(criterion=label["criterion"]).one()
        assert mine.outcome == shuffled.outcome
        assert mine.interval == pytest.approx(shuffled.interval, abs=1e-9)


def test_few_labels_are_inconclusive_and_say_so():
    scores, labels = build(labelled=4)
    check = gate(scores, labels, threshold=3).checks.one()
    assert (check.outcome, check.reason, check.labels_to_decide) == ("inconclusive", "needs 10 labels, has 4", 10)


def test_unread_replies_make_it_inconclusive():
    scores, labels = build(n=100)
    scores.loc[scores.index[-12:], "score"] = np.nan
    verdict = gate(scores, labels, threshold=3)
    assert verdict.outcome == "inconclusive"
    assert verdict.checks.one().reason == "12 of 100 replies about new unread"
    assert verdict.checks.one().n_unread == 12
    assert gate(scores, labels, threshold=3, max_unread=0.2).outcome == "pass"


def test_a_criterion_of_which_nothing_was_read_leaves_the_others():
    scores, labels = build(criteria=("tone", "facts"))
    scores.loc[scores["criterion"] == "facts", "score"] = np.nan
    verdict = gate(scores, labels, threshold=3)
    assert [check.outcome for check in verdict.checks] == ["pass", "inconclusive"]
    assert verdict.checks[1].reason == "60 of 60 replies about new unread"
    with pytest.raises(ValueError, match="`scores` must have rows, but has none"):
        gate(scores.iloc[:0], labels, threshold=3)
    with pytest.raises(ValueError, match="`max_unread` must be a share"):
        gate(scores, labels, threshold=3, max_unread=5)


def test_shares_of_unread_replies_that_differ_between_builds():
    scores, labels = build(n=100, systems={"new": 0.0, "old": 0.0})
    scores.loc[scores.index[scores["system"] == "new"][-4:], "score"] = np.nan
    asked = {"baseline": "old", "margin": 0.5}
    assert gate(scores, labels, **asked, max_unread=0.03).checks.one().reason == "4 of 100 replies about new unread"
    assert gate(scores, labels, **asked).checks.one().reason == ""


def test_labels_that_would_decide_and_the_call_that_draws_them():
    scores, labels = build(n=400, labelled=20)
    near = gate(scores, labels, threshold=3).checks.one().estimate - 0.15
    verdict = gate(scores, labels, threshold=near)
    check = verdict.checks.one()
    assert check.outcome == "inconclusive"
    assert 20 < check.labels_to_decide <= 400
    call = re.search(r"calib\.choose\((.*), (\d+)\)$", verdict.next_steps[0])
    drawn = calib.choose(eval(call[1], {"scores": scores}), int(call[2]), rng=1)
    assert drawn["chosen"].sum() == check.labels_to_decide - 20


def test_what_all_items_cannot_decide():
    scores, labels = build(n=20, labelled=20)
    mean = gate(scores, labels, threshold=3).checks.one().estimate
    check = gate(scores, labels, threshold=mean - 0.01).checks.one()
    assert check.reason == "too few labels to decide, even with labels for all 20 items"
    assert np.isnan(check.labels_to_decide)


def test_a_line_for_each_criterion_and_one_that_is_not_there():
    scores, labels = build(criteria=("tone", "facts"))
    verdict = gate(scores, labels, threshold={"facts": 3})
    assert [label["criterion"] for label in verdict.checks.labels] == ["facts"]
    with pytest.raises(
        ValueError, match=r"`threshold` must name criteria of the scores \(tone, facts\), but got 'taste'"
    ):
        gate(scores, labels, threshold={"taste": 3})


def test_a_criterion_without_labels_is_not_lost():
    scores, labels = build(criteria=("tone", "facts"))
    verdict = gate(scores, labels[labels["criterion"] == "tone"], threshold=3)
    facts = verdict.checks.select(criterion="facts").one()
    assert (verdict.outcome, facts.outcome, facts.reason) == ("inconclusive", "inconclusive", "needs 10 labels, has 0")


@pytest.mark.parametrize(
    ("asked", "message"),
    [({}, "`threshold` or `baseline` must be given"),
     ({"threshold": 3, "baseline": "old", "margin": 1}, "both came"),
     ({"baseline": "old"}, "`margin` must be given with `baseline`"),
     ({"threshold": 3, "margin": 0.1}, "`margin` must come with"),
     ({"baseline": "old", "margin": -0.1}, "`margin` must be 0 or more"),
     ({"threshold": 5}, "`threshold` must lie on people's scale"),
     ({"threshold": np.nan}, "must be a finite number"),
     ({"baseline": "old", "margin": 4}, "less than the scale is long"),
     ({"threshold": 3, "system": "nope"}, "`system` must be a system of the scores"),
     ({"threshold": 3, "system": None}, "`system` must name the build"),
     ({"threshold": 3, "error": 0.7}, "`error` must be above 0"),
     ({"threshold": 3, "sequential": "twice"}, "`sequential` must be"),
     ({"baseline": "new", "margin": 1}, "must be another build than")],
)  # fmt: skip
def test_what_cannot_be_asked(asked, message):
    scores, labels = build(systems={"new": 0.0, "old": 0.0})
    with pytest.raises(ValueError, match=message):
        gate(scores, labels, **asked)


def test_two_judges_are_no_gate():
    scores, labels = build()
    with pytest.raises(ValueError, match="must hold one judge, prompt and method for each criterion"):
        gate(pd.concat([scores, scores.assign(rater="other")]), labels, threshold=3)


def test_builds_that_answered_other_inputs_are_not_compared():
    scores, labels = build(systems={"new": 0.0, "old": 0.0})
    few = scores[~((scores["system"] == "old") & scores["group"].isin([f"q{k}" for k in range(40, 60)]))]
    with pytest.raises(ValueError, match="80 % of the inputs in common, but have 40 of 60"):
        gate(few, labels, baseline="old", margin=0.2)


# --- evidence ---------------------------------------------------------------------------------------------------


def test_unchanged_outputs_count_zero_and_only_changed_ones_need_labels():
    scores, labels = build(n=100, systems={"new": 0.0, "old": 0.0}, seed=3)
    same = [f"q{k}" for k in range(20, 100)]  # 20 of 100 changed
    verdict = gate(scores, labels, baseline="old", margin=0.2, items=texts(scores, same))
    check = verdict.checks.one()
    changed = [t[~t["group"].isin(same)] for t in (scores, labels)]
    alone = calib.difference(*changed, "new", "old", confidence_level=0.9).one()
    assert check.estimate == pytest.approx(0.2 * alone.estimate)
    assert check.evidence == "unchanged outputs"
    assert check.interval.high - check.interval.low < 0.25 * (alone.interval.high - alone.interval.low)
    assert check.outcome == "pass"


def test_a_build_that_changed_nothing_passes_without_a_label():
    scores, labels = build(systems={"new": 0.0, "old": 0.0}, labelled=1)
    every = texts(scores, [f"q{k}" for k in range(60)])
    asked = {"baseline": "old", "items": every}
    assert gate(scores, labels, **asked, margin=0.1).outcome == "pass"
    assert gate(scores, labels, **asked, margin=0).outcome == "inconclusive"


def test_hardly_any_change_passes_by_the_ends_of_the_scale():
    scores, labels = build(n=200, systems={"new": 0.0, "old": 0.0}, labelled=2)
    asked = {"baseline": "old", "items": texts(scores, [f"q{k}" for k in range(1, 200)])}
    assert gate(scores, labels, **asked, margin=0.2).outcome == "pass"  # 1 of 200 changed: at most .0235 x 4
    check = gate(scores, labels, **asked, margin=0.05).checks.one()
    assert check.reason.startswith("needs 10 labels of each build on outputs that changed")


def test_labels_of_unchanged_outputs_carry_over_in_a_stratum_of_their_own():
    scores, labels = build(n=100, systems={"new": 0.0, "old": 0.0}, labelled=100, seed=5)
    same = [f"q{k}" for k in range(40, 100)]
    mine = labels[(labels["system"] == "new") & labels["group"].isin([f"q{k}" for k in range(20)])]
    old = labels[(labels["system"] == "old") & labels["group"].isin([f"q{k}" for k in range(30, 80)])]
    verdict = gate(scores, pd.concat([mine, old]), threshold=3, items=texts(scores, same))
    check = verdict.checks.one()
    assert check.evidence == "own and carried labels"
    assert check.n_labels == 20 + 40
    assert gate(scores, pd.concat([mine, old]), threshold=3).checks.one().n_labels == 20


def test_changed_outputs_without_labels_are_not_spoken_for_by_the_others():
    scores, labels = build(n=100, systems={"new": 0.0, "old": 0.0}, labelled=100)
    same = [f"q{k}" for k in range(40, 100)]
    old = labels[(labels["system"] == "old") & labels["group"].isin([f"q{k}" for k in range(40, 80)])]
    check = gate(scores, old, threshold=3, items=texts(scores, same)).checks.one()
    assert (check.outcome, check.reason) == ("inconclusive", "40 outputs are changed and 0 of them have a label")


def test_the_judge_alone_is_no_verdict():
    scores, _ = build()
    with pytest.raises(ValueError, match="label"):
        gate(scores, threshold=3)


def test_runs_of_one_build_are_draws():
    """Ratings of two runs are averaged before anything is asked: no second trial."""
    scores, labels = build()
    runs = pd.concat([scores.assign(run=f"r{k}", draw=k, weight=1.0, score=scores["score"].round()) for k in range(2)])
    items = scores[["item", "group", "system"]]
    drawn = calib.summarize(runs.drop(columns=["group", "system"]), items)
    assert gate(drawn, labels, threshold=3).checks.one().n == 60
    bare = [t.drop(columns=["group", "system"]) for t in (runs, labels)]
    assert gate(*bare, threshold=3).checks.one().n == 60


# --- looks, ledger ----------------------------------------------------------------------------------------------


def test_any_look_is_wider_and_takes_labels_in_their_order():
    scores, labels = build(n=300, labelled=150)
    once, often = (gate(scores, labels, threshold=3, sequential=name).checks.one() for name in (False, True))
    assert often.interval.high - often.interval.low > 1.3 * (once.interval.high - once.interval.low)
    from calib.stats import confidence_sequence

    x = scores.set_index("item")["score"]
    by_hand = confidence_sequence(labels["score"], x[labels["item"]], x, bounds=(1, 5), confidence_level=0.9)
    assert often.interval == pytest.approx((by_hand.low[-1], by_hand.high[-1]))


def test_the_ledger_has_a_line_for_each_verdict(tmp_path):
    scores, labels = build()
    path = tmp_path / "deep" / "gates.jsonl"
    first = gate(scores, labels, threshold=3, ledger=path)
    again = gate(scores, labels, threshold=3, ledger=path)
    assert first.notes == again.notes == ()
    assert first.record()["checks"] == again.record()["checks"]
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(lines) == 2
    assert {"time", "system", "labels", "scores", "outcome", "checks", "asked"} <= lines[0].keys()


def test_more_labels_of_the_same_build_make_it_hold_at_every_look(tmp_path):
    scores, labels = build(n=200, labelled=100)
    path = tmp_path / "gates.jsonl"
    assert gate(scores, labels.head(40), threshold=3, ledger=path).checks.one().sequential is False
    later = gate(scores, labels, threshold=3, ledger=path)
    assert later.checks.one().sequential is True
    assert later.notes[0].startswith("looked_before")


# --- the baseline -----------------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    scores, labels = build("old", seed=1)
    return saved_baseline(tmp_path / "old.jsonl", "old", scores, labels, texts(scores))


def test_a_saved_baseline_is_as_the_rows_themselves(saved):
    both = build(systems={"old": 0.0}, seed=1), build("new", seed=1)
    scores, labels = both[1]
    rows = [pd.concat([a, b]) for a, b in zip(*both, strict=True)]
    by_file = gate(scores, labels, baseline=str(saved), margin=0.3)
    by_rows = gate(*rows, baseline="old", margin=0.3)
    assert by_file.checks.one().interval == pytest.approx(by_rows.checks.one().interval)
    assert by_file.asked["baseline_id"] == calib.Baseline.read(saved).id


def test_an_edited_baseline_is_refused(saved):
    edited = saved.read_text().replace('"score": 3', '"score": 4', 1).replace('"label": 4.0', '"label": 1.0', 1)
    saved.write_text(edited)
    with pytest.raises(ValueError, match=r"is no baseline .* or was edited"):
        gate(*build(), baseline=saved, margin=0.3)


def test_a_baseline_by_another_judge_is_refused(saved):
    scores, labels = build()
    with pytest.raises(ValueError, match=r"the baseline 'old' was judged by judge .*, these scores are by other"):
        gate(scores.assign(rater="other"), labels, baseline=saved, margin=0.3)


def test_ids_that_both_builds_use_do_not_meet(saved, tmp_path):
    scores, labels = build("old", seed=1)
    plain = [t.assign(item=t["group"]).drop(columns=["group"]) for t in (scores, labels)]
    path = saved_baseline(tmp_path / "plain.jsonl", "old", *plain)
    mine = [t.assign(system="new") for t in plain]
    check = gate(*mine, baseline=path, margin=0.2).checks.one()
    assert (check.outcome, check.estimate, check.n) == ("pass", 0, 60)


# --- forms ------------------------------------------------------------------------------------------------------

HOSTILE = 'a\x00\x1b[31m<b>&"\n::error::x|y`\ud800'


@pytest.mark.parametrize("line", [3, 4.4, 3.65])
def test_every_form_of_a_verdict_is_valid_with_hostile_names(tmp_path, line):
    plain = HOSTILE.replace("\ud800", "")
    named = (t.assign(criterion=plain, item=t["item"] + plain) for t in build())
    scores, labels = (t.assign(system=pd.Series([HOSTILE] * len(t), dtype=object)) for t in named)
    verdict = calib.gate(scores, labels, system=HOSTILE, threshold=line)
    for name in ("v.xml", "v.json", "v.md", "v.txt"):
        verdict.write(tmp_path / name)
    suite = ET.parse(tmp_path / "v.xml").getroot().find("testsuite")
    assert int(suite.get("tests")) == 1
    assert (suite.find("testcase/failure") is None) == (verdict.outcome == "pass")
    assert json.loads((tmp_path / "v.json").read_text())["outcome"] == verdict.outcome
    for text in (str(verdict), repr(verdict), verdict.markdown(), verdict._repr_html_()):
        assert not {"\x00", "\x1b"} & set(text)
    assert "<b>" not in verdict._repr_html_().replace("<b>✔", "").replace("<b>✘", "").replace("<b>?", "")
    with pytest.raises(ValueError, match="`path` must end in"):
        verdict.write(tmp_path / "v.docx")


def test_a_verdict_in_a_report(tmp_path):
    verdict = gate(*build(criteria=("tone", "facts")), threshold=3)
    calib.report([verdict], tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "Gate of new: " in text
    assert "Gate of new: " in str(calib.report(verdict))
    assert "shown to lie above a threshold of 3" in text
    assert "A false pass and a false fail" in text


# --- the command ------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"):
        monkeypatch.delenv(name, raising=False)
    scores, labels = build(systems={"new": 0.0, "old": 0.1})
    scores.to_csv("scores.csv", index=False)
    labels.to_csv("gold.csv", index=False)
    texts(scores).to_csv("items.csv", index=False)
    return tmp_path


def run(*arguments):
    with pytest.raises(SystemExit) as left:
        main(["gate", *" ".join(arguments).split()])
    return left.value.code


CASES = [
    ("--threshold 3", 0), ("--threshold 4.5", 1), ("--threshold 3.65", 3), ("--threshold 3.65 --allow-inconclusive", 0),
    ("--threshold tone=3", 0), ("--threshold x", 2), ("", 2), ("--baseline gone.jsonl --margin .2", 2),
    ("--baseline old --margin 2", 0), ("--threshold 3 --criterion taste", 2), ("--threshold 3 --junit v.txt", 2),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "code"), CASES)
def test_exit_codes(files, asked, code):
    assert run("scores.csv gold.csv --system new", asked) == code


def test_what_breaks_is_not_measured(files, monkeypatch, capsys):
    """A judge that cannot be reached and a mistake of ours leave with 2, and never look like a build that failed."""
    for error in (RuntimeError("a mistake"), calib.JudgeError("no answer")):

        def broken(*_, failure=error, **__):
            raise failure

        monkeypatch.setattr(calib, "gate", broken)
        assert run("scores.csv gold.csv --system new --threshold 3 --junit v.xml") == 2
        assert ET.parse("v.xml").getroot().find("testsuite/testcase/error") is not None
    assert "no answer" in capsys.readouterr().err


def test_the_runner_of_github_is_told(files, monkeypatch, capsys):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(files / "summary.md"))
    monkeypatch.setenv("GITHUB_OUTPUT", str(files / "output"))
    assert run("scores.csv gold.csv --system new --threshold 3.65 --json v.json") == 3
    assert "::warning title=calib gate%3A tone::inconclusive: tone: " in capsys.readouterr().out
    assert (files / "output").read_text() == "outcome=inconclusive\njson=v.json\n"
    assert "? inconclusive" in (files / "summary.md").read_text()
    assert run("scores.csv gold.csv --system nope --threshold 3") == 2
    assert "::error title=calib gate not measured::" in capsys.readouterr().out
    assert (files / "output").read_text().endswith("outcome=not measured\n")


def test_a_baseline_is_saved_after_a_pass_alone(files):
    asked = "scores.csv gold.csv --system old --items items.csv --save-baseline old.jsonl"
    assert run(asked, "--threshold", "4.5") == 1
    assert not (files / "old.jsonl").exists()
    assert run(asked, "--threshold", "3") == 0
    assert run("scores.csv gold.csv --system new --items items.csv --baseline old.jsonl --margin 2") == 0


@pytest.mark.slow
def test_a_plan_on_the_command_line(files, capsys):
    assert run("--plan --threshold 3.7 --n-labels 40 --n-items 100") in (0, None)
    assert "passes with 80 % a true mean of" in capsys.readouterr().out
    assert run("--plan --threshold 4.9 --n-labels 10 --n-items 100") == 2
    assert "cannot pass at any result" in capsys.readouterr().err
    assert run("scores.csv gold.csv --plan --margin .2 --n-labels 40") in (0, None)
    assert run("--plan --threshold 3.7") == 2


def test_a_scale_that_was_guessed_is_said(files):
    scores, labels = (pd.read_csv(name).drop(columns="scale") for name in ("scores.csv", "gold.csv"))
    own = labels[["item", "score"]].rename(columns={"score": "label"})
    both = scores[["item", "group", "system", "score"]].merge(own, how="left")
    verdict = gate(both, threshold=3, judge="score", label="label")
    assert verdict.notes[0].startswith("scale_guessed: the scale, 1|2|3|4|5")
    assert gate(both, threshold=3, judge="score", label="label", scale="1|2|3|4|5").notes == ()


# --- plans ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_plan_from_numbers_and_from_a_pilot():
    by_hand = calib.gate_plan(margin={"tone": 0.2}, n_labels=40, n_items=100, rho=0.34, sd=1.0)
    assert by_hand.labels == ({"criterion": "tone"},)
    assert by_hand.one().threshold == -0.2
    items, people = calib.load_planted()
    human = calib.summarize(people, items, pool="rater")
    judge = calib.summarize(people[people["rater"] == "simulated-1"], items)
    pilot = calib.gate_plan(judge, human, threshold={"coherence": 3.5}, n_labels=40, n_items=100).one()
    both = judge[judge["criterion"] == "coherence"].merge(human, on=["item", "criterion"])
    assert pilot.rho == pytest.approx(np.corrcoef(both["score_x"], both["score_y"])[0, 1])


def test_neither_or_both_lines_are_refused():
    for asked in ({}, {"threshold": 3, "margin": 0.2}):
        with pytest.raises(ValueError, match="`threshold` or `margin` must be given"):
            calib.gate_plan(n_labels=40, n_items=100, **asked)


# --- numbers by hand --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", [3.2, 3.6, 4.2])
def test_p_below_is_one_sided_on_either_side_of_the_line(line):
    """Half of the two-sided p-value below the line, the rest above it."""
    scores, labels = build()
    check = gate(scores, labels, threshold=line).checks.one()
    y = labels.set_index("item")["score"].reindex(scores["item"]).to_numpy(float)
    options = {"bounds": (1, 5), "step": 1, "same_scale": True, "groups": scores["group"], "confidence_level": 0.9}
    options["conservative"] = "gross errors"
    two_sided = calib.stats.ppi_mean(y, scores["score"], null=line, **options).p_value
    assert check.p_below == pytest.approx(two_sided / 2 if check.estimate < line else 1 - two_sided / 2)
    assert (check.p_below > 0.5) == (check.estimate > line)


def test_a_difference_on_what_changed_has_the_error_of_the_changed_share():
    """Ends are the difference's on the changed inputs times their share, and the share's own error, as squares add."""
    scores, labels = build(n=200, labelled=200, systems={"new": 0.5, "old": 0.0})
    same = [f"q{k}" for k in range(120)]
    options = {"baseline": "old", "margin": 0.2}
    check = gate(scores, labels, **options, items=texts(scores, same)).checks.one()
    changed = [table[~table["group"].isin(same)] for table in (scores, labels)]
    alone = compared(*changed)
    share = 80 / 200
    of_share = 1.6448536 * np.sqrt(share * (1 - share) / 200) * alone.estimate  # the normal law's end of a share
    wide = [np.hypot(share * (end - alone.estimate), of_share) for end in alone.interval]
    assert check.estimate == pytest.approx(share * alone.estimate)
    assert check.interval == pytest.approx((check.estimate - wide[0], check.estimate + wide[1]), rel=1e-6)


def test_at_any_look_nothing_speaks_against_a_build_above_the_threshold():
    scores, labels = build()
    above, below = (gate(scores, labels, threshold=at, sequential=True).checks.one() for at in (2.0, 4.8))
    assert above.estimate > 2.0 and above.p_below == 0.5
    assert below.estimate < 4.8 and below.p_below < 0.5


def test_a_gate_without_a_scale_says_how_often_it_passes_falsely():
    scores, labels = build()
    bare = [table.drop(columns="scale") for table in (scores, labels)]
    check = gate(*bare, threshold=3).checks.one()
    assert any(text.startswith("gate_without_scale: ") for text in check.warnings)
    assert not any(
        text.startswith("gate_without_scale: ") for text in gate(scores, labels, threshold=3).checks.one().warnings
    )


def test_labels_of_two_or_three_groups_decide_nothing():
    scores, labels = build(n=60, labelled=30)
    alike = [table.assign(group=table["item"].str[1:-4].astype(int) // 10) for table in (scores, labels)]
    check = gate(*alike, threshold=2).checks.one()
    assert check.outcome == "inconclusive"
    assert "of 3 groups" in check.reason
    more = [table.assign(group=table["item"].str[1:-4].astype(int) // 6) for table in (scores, labels)]
    assert "groups" not in gate(*more, threshold=2).checks.one().reason
