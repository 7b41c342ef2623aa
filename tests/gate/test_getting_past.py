"""Ways to get a bad build past the gate: each by the function and by the command, whose exit code must agree."""

import json
import os
import re
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest

import calib
from calib.cli import main
from calib.gate.baseline import saved_baseline
from calib.inputs.alike import looks

SCALE, N = "1|2|3|4|5", 100
ZERO_WIDTH, CYRILLIC = "\u200b", "\u0430"


def of(system, truth, judged):
    at = {"item": [f"{system}-a{k}" for k in range(N)], "group": [f"a{k}" for k in range(N)], "system": system}
    rows = pd.DataFrame(at).assign(criterion="tone", rater="judge", method="given", score=judged, scale=SCALE)
    return rows, rows.assign(rater="ann", method="human", score=truth)


def made(seed=0):
    """A build whose true mean is 2.55, scored by a judge that follows people well, and labels of 40 outputs."""
    rng = np.random.default_rng(seed)
    truth = np.repeat([1.0, 2, 3, 4, 5], [21, 29, 30, 14, 6])
    rng.shuffle(truth)
    scores, labels = of("b1", truth, np.clip(truth + rng.integers(-1, 2, N), 1, 5))
    return scores, labels, truth, rng.permutation(N)[:40]


SCORES, EVERY, TRUTH, DRAWN = made()
LABELS = EVERY.iloc[np.sort(DRAWN)].reset_index(drop=True)
WORST = set(SCORES["item"][np.argsort(TRUTH, kind="stable")[:49]])
ITEMS = SCORES[["item", "group", "system"]]


def without_worst(table):
    return table[~table["item"].isin(WORST)].reset_index(drop=True)


def respelled(table, change, column="item"):
    """The worst items under another spelling."""
    return table.assign(**{column: table[column].where(~table["item"].isin(WORST), table[column].map(change))})


@pytest.fixture
def asked(tmp_path, monkeypatch, capsys):
    """A verdict by the function, and by the command on the same tables as files; both must agree."""
    monkeypatch.chdir(tmp_path)

    def both(scores, labels, *, items=None, system="b1", **options):
        words = [] if system is None else ["--system", system]
        for name, value in options.items():
            words += [f"--{name.replace('_', '-')}", str(value)]
        for name, table in (("scores", scores), ("labels", labels), ("items", items)):
            if table is not None:
                table.to_csv(f"{name}.csv", index=False)
        words += ["--items", "items.csv"] * (items is not None)
        with warnings.catch_warnings(), pytest.raises(SystemExit) as left:
            warnings.simplefilter("always")
            main(["gate", "scores.csv", "labels.csv", *words])
        shown = capsys.readouterr()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                verdict = calib.gate(scores, labels, items=items, system=system, **options)
            except ValueError as error:
                assert left.value.code == 2
                return str(error)
        assert left.value.code == verdict.exit_code
        for text in (*verdict.notes, *verdict.checks[0].warnings):
            assert re.sub(r"^inputs|\W", "", text)[:50] in re.sub(r"\W", "", shown.err)
        return verdict

    return both


def reason(verdict):
    return verdict.checks[0].reason


# --- labels of another system -----------------------------------------------------------------------------------------


def test_the_build_itself_fails(asked):
    assert TRUTH.mean() == 2.55
    verdict = asked(SCORES, LABELS, threshold=3)
    assert (verdict.outcome, verdict.notes, verdict.assumptions) == ("fail", (), ())


@pytest.mark.parametrize("with_items", [False, True])
def test_labels_of_another_system_do_not_count(asked, with_items):
    praise = LABELS.assign(system="v1", score=5)
    verdict = asked(SCORES, praise, threshold=3, items=ITEMS if with_items else None)
    assert verdict.exit_code == 3
    assert reason(verdict).startswith("needs 10 labels, has 0: 40 labels of 'v1' have ids of outputs of another system")
    assert verdict.notes[0].startswith("labels_of_others: tone: 40 labels of 'v1'")


def test_labels_of_another_system_beside_scores_that_name_none(asked):
    praise, bare = LABELS.assign(system="v1", score=5), SCORES.drop(columns="system")
    assert "must name the build, but the labels are of 'v1'" in asked(bare, praise, threshold=3, system=None)
    assert asked(bare, praise, threshold=3).exit_code == 3
    assert asked(bare, praise, threshold=3, system="v1").exit_code == 0  # who says so has them


def test_labels_of_another_system_in_ratings(asked):
    """A table with a row for each reply has systems as well."""
    praise = LABELS.assign(system="v1", score=5, draw=0, weight=1.0)
    for items in (None, ITEMS):
        assert asked(SCORES.assign(draw=0, weight=1.0), praise, threshold=3, items=items).exit_code == 3
    mixed = pd.concat([praise, praise.assign(system="b1", draw=1)])
    assert "must have one system for each item" in asked(SCORES, mixed, threshold=3)


def test_a_name_without_its_point_is_another_system(asked):
    files = {"b1.2": SCORES.assign(system="b1.2"), "b12": LABELS.assign(system="b12", score=5)}
    own = [t[["item", "system", "score"]].rename(columns={"item": "id"}) for t in files.values()]
    assert (
        asked(own[0], own[1].rename(columns={"score": "label"}), threshold=3, system="b1.2", scale=SCALE).exit_code == 3
    )


def test_labels_of_a_misspelled_system_are_not_left_out_in_passing(asked):
    verdict = asked(SCORES, respelled(LABELS, lambda _: "bl", "system"), threshold=3)
    assert verdict.exit_code == 3
    assert "correct their system" in reason(verdict)


def test_labels_without_a_system_rest_on_an_assumption(asked):
    verdict = asked(SCORES, LABELS.drop(columns="system"), threshold=3)
    assert verdict.outcome == "fail"
    assert verdict.assumptions[0].startswith("The labels name no system")
    assert verdict.assumptions[0] in verdict.markdown()
    assert verdict.record()["assumptions"] == list(verdict.assumptions)


def test_labels_of_a_judge_are_none_of_people(asked):
    assert "`labels` must be people's" in asked(SCORES, LABELS.assign(method="sample"), threshold=3)


def test_labels_of_a_baseline_are_its_own(asked, tmp_path):
    _, accepted = of("old", TRUTH, TRUTH)
    scores = SCORES.assign(item=accepted["item"], system="old")
    path = saved_baseline(tmp_path / "old.jsonl", "old", scores, accepted)
    assert len(calib.Baseline.read(path).labels) == N
    mixed = pd.concat([accepted.iloc[:60], accepted.iloc[60:].assign(system="v0", score=1)])
    path = saved_baseline(tmp_path / "old.jsonl", "old", scores, mixed)
    assert len(calib.Baseline.read(path).labels) == 60
    options = {"baseline": str(path), "margin": 0.2}
    assert asked(SCORES, LABELS.assign(system="v9"), **options).exit_code == 3
    assert "must say in a column of systems" in asked(SCORES.drop(columns="system"), LABELS, **options)


def test_labels_on_a_criterion_that_nothing_is_scored_on_are_named(asked):
    apart = respelled(LABELS, lambda _: "ton\u0435", "criterion")
    bare = len(LABELS) - len(without_worst(LABELS))
    assert f"but {bare} labels are on 'ton\u0435'" in asked(SCORES, apart, threshold=3)  # as a crash on a criterion
    verdict = calib.gate(SCORES, apart, system="b1", threshold={"tone": 3})
    assert verdict.notes == (f"criteria_apart: {bare} labels are on 'ton\u0435', on which nothing is scored",)


def test_a_build_without_a_name(asked):
    assert "`system` must be a name" in asked(SCORES, LABELS, system=" ", threshold=3)


def test_a_threshold_that_excludes_next_to_nothing(asked):
    low = asked(SCORES.assign(scale="0..100"), LABELS.assign(scale="0..100"), threshold=0.9)
    assert "2 % of people's scale (0 to 100) above its bottom" in low


@pytest.mark.parametrize("which", [0, 1])
def test_a_row_without_an_id_may_be_of_any_output(asked, which):
    own = SCORES[["item", "score"]], LABELS[["item", "score"]].rename(columns={"score": "label"})
    tables = [table.rename(columns={"item": "id"}) for table in own]
    bare = tables[which]["id"].isin(WORST)
    tables[which] = tables[which].assign(id=tables[which]["id"].where(~bare))
    name = ("scores", "labels")[which]
    assert f"`{name}` must have an id in each row, but {bare.sum()} rows" in asked(*tables, threshold=3, scale=SCALE)


# --- outputs without a row --------------------------------------------------------------------------------------------


def test_leaving_out_the_worst_raises_no_mean(asked):
    verdict = asked(without_worst(SCORES), LABELS, threshold=3)
    bare = len(LABELS) - len(without_worst(LABELS))
    assert verdict.exit_code == 3
    assert reason(verdict).startswith(f"{bare} of {51 + bare} expected outputs of b1 have no score ({bare} absent: ")
    assert verdict.checks[0].n_unread == bare
    assert any(f"{bare} of them labelled" in text for text in verdict.checks[0].warnings)


def test_absent_outputs_of_which_a_table_of_items_tells(asked):
    rest = without_worst(SCORES), without_worst(LABELS)
    assert asked(*rest, threshold=3).exit_code == 0  # nothing here tells of them
    for items in (ITEMS, ITEMS.drop(columns="system"), ITEMS[["item"]]):
        bare = [t.drop(columns=[c for c in ("system", "group") if c not in items]) for t in rest]
        verdict = asked(*bare, threshold=3, items=items)
        assert reason(verdict).startswith("49 of 100 expected outputs of b1 have no score (49 absent: 'b1-a")


def test_items_of_other_systems_are_not_expected(asked):
    others = ITEMS.assign(item="old" + ITEMS["item"], system="old")
    verdict = asked(SCORES, LABELS, threshold=3, items=pd.concat([ITEMS, others]))
    assert (verdict.outcome, verdict.checks[0].n_unread) == ("fail", 0)


def test_items_that_are_inputs_of_several_systems(asked):
    """Ids that repeat over systems name inputs; a table of these lacks nothing, and tells what is lacking once."""
    both = pd.concat([SCORES, SCORES.assign(system="old")])
    scores = both.assign(id=both["group"])[["id", "system", "score"]]
    labels = LABELS.assign(id=LABELS["group"], label=LABELS["score"])[["id", "system", "label"]]
    questions = SCORES[["group"]].rename(columns={"group": "item"}).assign(source="why?")
    options = {"threshold": 3, "scale": SCALE, "items": questions}
    assert asked(scores, labels, **options).outcome == "fail"
    lost = (both["system"] == "b1") & both["item"].isin(WORST)
    verdict = asked(scores[~lost.to_numpy()], labels, **options)
    assert reason(verdict).startswith("49 of 100 expected outputs of b1 have no score")


def test_inputs_that_another_system_answered(asked):
    other = SCORES.assign(item="old" + SCORES["item"], system="old")
    rest = pd.concat([without_worst(SCORES), other])
    assert reason(asked(rest, without_worst(LABELS), threshold=3)).startswith("49 of 100 expected outputs of b1")
    # labelled, and an input of another system: each output counts once
    assert reason(asked(rest, LABELS, threshold=3)).startswith("49 of 100 expected outputs of b1")


def test_a_criterion_that_lacks_outputs(asked):
    scores = pd.concat([SCORES, without_worst(SCORES).assign(criterion="facts")])
    labels = pd.concat([EVERY.assign(score=4), without_worst(LABELS).assign(criterion="facts")])
    verdict = asked(scores, labels, threshold=3)
    assert [one.outcome for one in verdict.checks] == ["pass", "inconclusive"]
    alone = calib.gate(scores, labels, system="b1", threshold={"facts": 3})
    assert alone.outcome == "pass"  # it may be meant for these outputs alone, and says that it is
    assert alone.notes[0].startswith("criteria_apart: 49 outputs of 'b1' are scored on other criteria and not on facts")


def test_a_few_absent_outputs_are_named_in_a_pass(asked):
    verdict = asked(SCORES.iloc[3:], LABELS[~LABELS["item"].isin(SCORES["item"][:3])], threshold=2, items=ITEMS)
    assert verdict.outcome == "pass"
    named = "absent: the scores have no row for 3 of 100 expected outputs of b1: 'b1-a0', 'b1-a1', 'b1-a2'. Score them"
    assert verdict.checks[0].warnings[0].startswith(named)


@pytest.mark.parametrize("absent", [True, False])
def test_labelled_outputs_without_a_score_are_few_of_all_and_many_of_the_labelled(asked, absent):
    """A thousand outputs: ten are 1 %, but a quarter of the labels."""
    many = pd.concat([SCORES, *[SCORES.assign(item=f"{k}/" + SCORES["item"]) for k in range(9)]]).drop(columns="group")
    bad = set(LABELS.sort_values("score")["item"][:10])
    lost = many["item"].isin(bad)
    scores = many[~lost] if absent else many.assign(score=many["score"].where(~lost))
    verdict = asked(scores, LABELS.drop(columns="group"), threshold=2)
    assert reason(verdict) == "10 of 40 labels of b1 are of outputs without a score"


def test_inputs_that_one_of_two_builds_lacks(asked):
    rng = np.random.default_rng(2)
    old, old_labels = of("old", np.clip(TRUTH + 0.6, 1, 5), np.clip(TRUTH + 0.6, 1, 5))
    new, new_labels = of("b1", TRUTH, np.clip(TRUTH + rng.integers(-1, 2, N), 1, 5))
    labels = pd.concat([new_labels, old_labels])
    options = {"baseline": "old", "margin": 0.3}
    assert asked(pd.concat([new, old]), labels, **options).outcome == "fail"
    for lost, rest in (("b1", [new.iloc[12:], old]), ("old", [new, old.iloc[12:]])):
        verdict = asked(pd.concat(rest), labels[~labels["group"].isin(new["group"][:12])], **options)
        assert reason(verdict).startswith(f"12 of 100 expected outputs of {lost} have no score (12 absent: 'a0', ")
    path = saved_baseline("old.jsonl", "old", old.iloc[12:], old_labels)
    verdict = asked(new, new_labels, baseline=str(path), margin=0.3)
    assert reason(verdict).startswith("12 of 100 expected outputs of old have no score")


# --- names that look alike --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change", [lambda t: t + ZERO_WIDTH, lambda t: f" {t}\u00a0", lambda t: t.replace("a", "\uff41")]
)
def test_ids_that_a_reader_cannot_tell_apart_are_one(asked, change):
    # of the items their ids alone, so that the command takes no systems from them
    for labels, items in ((respelled(LABELS, change), None), (LABELS, respelled(ITEMS[["item"]], change))):
        verdict = asked(SCORES, labels, threshold=3, items=items)
        assert verdict.outcome == "fail"
        assert verdict.checks[0].n_labels == 40 and verdict.checks[0].n_unread == 0
        assert verdict.notes[0].startswith("look_alike: ") and " item names of `" in verdict.notes[0]


def test_a_letter_of_another_alphabet_is_another_id(asked):
    verdict = asked(SCORES, respelled(LABELS, lambda t: t.replace("a", CYRILLIC)), threshold=3)
    assert verdict.exit_code == 3
    assert re.match(r"\d+ of \d+ expected outputs of b1 have no score \(\d+ absent: 'b1-\u0430", reason(verdict))


@pytest.mark.parametrize("column", ["item", "system", "group", "criterion"])
def test_two_names_of_a_table_that_look_alike_are_refused(asked, column):
    twice = pd.concat([SCORES, without_worst(SCORES).assign(item=lambda t: "again " + t["item"])])
    twice[column] = np.where(np.arange(len(twice)) < N, twice[column], SCORES[column][0] + ZERO_WIDTH)
    if column == "item":
        twice = twice.iloc[: N + 1]
    message = asked(twice, LABELS, threshold=3)
    assert re.search(
        rf"`scores` must write each {column} in one way, but has '.*' and '.*\\u200b', which look", message
    )


def test_systems_that_look_alike(asked, tmp_path):
    labels = LABELS.assign(system="b1" + ZERO_WIDTH)
    verdict = asked(SCORES, labels, threshold=3)
    assert (verdict.outcome, verdict.checks[0].n_labels) == ("fail", 40)
    assert "1 system name of `labels`" in verdict.notes[0]
    # a baseline of the same name is no other build
    path = saved_baseline(tmp_path / "old.jsonl", "b1", SCORES, LABELS)
    named = [table.assign(system="b1" + ZERO_WIDTH) for table in (SCORES, LABELS)]
    assert isinstance(asked(*named, system="b1" + ZERO_WIDTH, baseline=str(path), margin=0.2), str)


def test_looks():
    assert looks("e\u200b\u0301") == looks("\u00e9") == looks(" \u00e9\x00")
    assert looks("x\u00b2") == "x2" and looks("\ud800") == "\ud800"


def test_inputs_of_a_baseline_that_look_alike_meet(asked, tmp_path):
    old, old_labels = of("old", TRUTH, SCORES["score"])
    path = saved_baseline(tmp_path / "old.jsonl", "old", old, old_labels)
    change = {"item": lambda t: t + ZERO_WIDTH, "group": lambda t: t + ZERO_WIDTH}
    mine = [table.assign(**{name: table[name].map(to) for name, to in change.items()}) for table in (SCORES, LABELS)]
    verdict = asked(*mine, baseline=str(path), margin=0.2)
    assert verdict.outcome == "pass" and verdict.checks[0].n == N
    assert "100 group names of `baseline`" in verdict.notes[0]


# --- another name of the model ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("grouped", [True, False])
def test_crashed_outputs_under_another_name_of_the_model(asked, grouped):
    lost = SCORES["item"].isin(WORST)
    scores = SCORES.assign(system=np.where(lost, "gpt-4o", "gpt-4o-2024-08-06"), score=SCORES["score"].where(~lost))
    scores = scores if grouped else scores.drop(columns="group")
    labels = without_worst(LABELS).assign(system="gpt-4o-2024-08-06").drop(columns=[] if grouped else "group")
    verdict = asked(scores, labels, threshold=3, system="gpt-4o-2024-08-06")
    assert reason(verdict).startswith("49 of 100 expected outputs of gpt-4o-2024-08-06 have no score")
    assert verdict.notes[0].startswith("systems_apart: 49 outputs of 'gpt-4o' have no score: if they are")


@pytest.mark.parametrize(("grouped", "code"), [(True, 3), (False, 0)])
def test_outputs_with_a_score_under_another_name(asked, grouped, code):
    """Of inputs that both might have answered they are missed; else a name is all that there is, and is said."""
    scores = respelled(SCORES, lambda _: "b1-mini", "system")
    scores = scores if grouped else scores.drop(columns="group")
    verdict = asked(scores, without_worst(LABELS).drop(columns=[] if grouped else "group"), threshold=3)
    assert verdict.exit_code == code
    assert verdict.notes[0].startswith("systems_apart: 49 outputs of 'b1-mini' have inputs of their own")


# --- files ------------------------------------------------------------------------------------------------------------

DEEP = {"brackets": "[" * 100_000, "lists": "[" * 900 + "]" * 900, "objects": '{"a":' * 50_000 + "1" + "}" * 50_000}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_files_that_are_nested_too_deep(asked, text, tmp_path):
    (tmp_path / "deep.jsonl").write_text(text)
    path = str(tmp_path / "deep.jsonl")
    assert "is no baseline that" in asked(SCORES, LABELS, baseline=path, margin=0.2)
    assert "the ledger is damaged" in asked(SCORES, LABELS, threshold=3, ledger=path)
    for given in ((path, LABELS), (SCORES, path)):
        with pytest.raises(ValueError, match="nested at most 100 levels deep"):
            calib.gate(*given, system="b1", threshold=3)
    with pytest.raises(ValueError, match="nested at most 100 levels deep"):
        calib.gate(SCORES, LABELS, system="b1", threshold=3, items=path)


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_every_reader_of_json_refuses_what_is_nested_too_deep(tmp_path, monkeypatch, capsys, text):
    monkeypatch.chdir(tmp_path)
    for name in ("deep.json", "deep.eval"):
        path = tmp_path / name
        path.write_text(text)
        if name.endswith(".eval"):
            path.unlink()
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("header.json", text)
        for read in (calib.Calibration.read, calib.read_log):
            with pytest.raises(ValueError, match=r"deep\.(json|eval)"):
                read(path)
    ITEMS.assign(output="text").to_csv("items.csv", index=False)
    words = ["label", "items.csv", "--out", "page.html", "--words", "deep.json", "--criterion", "tone=how it sounds"]
    with pytest.raises(SystemExit) as left:
        main([*words, "--scale", SCALE])
    assert left.value.code == 2 and "--words must be a JSON file" in capsys.readouterr().err


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".json", ".parquet", ".xlsx"])
def test_files_that_are_too_long_or_have_no_end(tmp_path, ending):
    long, endless = (tmp_path / f"{name}{ending}" for name in ("long", "endless"))
    with long.open("wb") as file:
        file.truncate(2_000_000_001)  # takes no room
    endless.symlink_to("/dev/zero")
    pipe = tmp_path / f"pipe{ending}"
    os.mkfifo(pipe)
    rules = {long: "at most 2 GB", endless: "is a device or a pipe", pipe: "is a device or a pipe"}
    for path, rule in rules.items():
        options = [((path, LABELS), {}), ((SCORES, path), {}), ((SCORES, LABELS), {"items": path})]
        if ending == ".jsonl":
            options += [((SCORES, LABELS), {"ledger": path})] * (path == long)
        for tables, more in options:
            with pytest.raises(ValueError, match=rule):
                calib.gate(*tables, system="b1", threshold=3, **more)
        if ending in (".jsonl", ".json"):
            with pytest.raises(ValueError, match=rule):
                calib.gate(SCORES, LABELS, system="b1", baseline=path, margin=0.2)


# --- the ledger -------------------------------------------------------------------------------------------------------


def test_fewer_labels_than_before_are_said(tmp_path):
    ledger = tmp_path / "gates.jsonl"
    calib.gate(SCORES, LABELS, system="b1", threshold=3, ledger=ledger)
    best = LABELS.sort_values("score").tail(20)
    assert calib.gate(SCORES, best, system="b1", threshold=3, ledger=ledger).notes[0].startswith("labels_fewer")
    # under a name that looks the same as well
    named = [table.assign(system="b1" + ZERO_WIDTH) for table in (SCORES, EVERY)]
    verdict = calib.gate(*named, system="b1" + ZERO_WIDTH, threshold=3, ledger=ledger)
    assert verdict.checks[0].sequential
    assert len([json.loads(line) for line in ledger.read_text("utf-8").splitlines()]) == 3


def test_a_pair_gate_again_is_no_second_look(tmp_path):
    """Labels of one build alone make no pair, and no look with fewer labels of a verdict on the same tables."""
    old, old_labels = of("old", TRUTH, SCORES["score"])
    labels = pd.concat([EVERY, old_labels.iloc[:30]])
    options = {"system": "b1", "baseline": "old", "margin": 0.5, "ledger": tmp_path / "gates.jsonl"}
    first, again = (calib.gate(pd.concat([SCORES, old]), labels, **options) for _ in range(2))
    assert first.record() == again.record()
