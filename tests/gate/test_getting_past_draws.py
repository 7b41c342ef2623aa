"""What items share, and how labels were drawn: neither is left out of a verdict without a word."""

import numpy as np
import pandas as pd
import pytest

import calib
from calib.cli import main

N, SCALE = 120, "1|2|3|4|5"


def file_of_a_build():
    """Outputs of twelve topics: those of a topic are alike, so that forty labels tell as much as twelve."""
    rng = np.random.default_rng(4)
    topic = np.arange(N) % 12
    truth = np.clip(np.round(rng.normal(3.4, 0.9, 12)[topic] + rng.normal(0, 0.3, N)), 1, 5)
    mine = pd.DataFrame({"id": np.arange(N), "topic": [f"t{k}" for k in topic], "judge": truth, "label": truth})
    mine["judge"] = np.clip(truth + rng.integers(-1, 2, N), 1, 5)
    mine.loc[rng.permutation(N)[40:], "label"] = np.nan
    return mine


MINE = file_of_a_build()
OPTIONS = {"judge": "judge", "label": "label", "scale": SCALE}


# --- groups -----------------------------------------------------------------------------------------------------------


def test_a_column_of_the_users_own_is_what_items_share():
    alone, by_topic = (calib.gate(MINE, threshold=2, groups=how, **OPTIONS).checks[0] for how in (None, "topic"))
    assert alone.outcome == by_topic.outcome == "pass"
    assert np.diff(by_topic.interval) > 1.3 * np.diff(alone.interval)
    with pytest.raises(ValueError, match="`groups` must be a column of the scores, but got 'tpic'; there are 'topic'"):
        calib.gate(MINE, threshold=2, groups="tpic", **OPTIONS)


def test_a_column_that_a_difference_does_not_use_is_refused():
    both = pd.concat([MINE.assign(model="old"), MINE.assign(model="new", judge=np.clip(MINE["judge"] + 1, 1, 5))])
    both = both.assign(question=both["id"], id=both["model"] + both["id"].astype(str))
    asked = {"system": "new", "baseline": "old", "margin": 0.3, **OPTIONS}
    calib.gate(both, groups="question", **asked)
    with pytest.raises(ValueError, match="`groups` must be left out with `baseline`"):
        calib.gate(both, groups="topic", **asked)


def test_outputs_that_are_copies_of_a_few_are_named():
    rows = pd.DataFrame({"id": range(100), "input": [f"why {k % 5}" for k in range(100)], "output": "because"})
    rows = rows.assign(judge=np.arange(100) % 5 // 2 + 3, label=[[5, 4, 4, 3, 5][k % 5] for k in range(100)])
    same = "same_texts: 95 of 100 labelled outputs have input and text of another, and each counts"
    plain, items = rows[["id", "judge", "label"]], rows.rename(columns={"id": "item", "input": "source"})
    for table, more in ((rows, {}), (plain, {"items": items[["item", "source", "output"]]})):
        assert any(note.startswith(same) for note in calib.gate(table, threshold=3.5, **more, **OPTIONS).notes)
    by_input = calib.gate(rows, threshold=3.5, group="input", **OPTIONS)
    assert not any(note.startswith("same_texts") for note in by_input.notes)
    assert np.diff(by_input.checks[0].interval) > 1


# --- how labels were drawn --------------------------------------------------------------------------------------------


def drawn_builds(**how):
    """Two builds on inputs of two kinds, the rare one drawn more often, and all labels of what was drawn."""
    rng = np.random.default_rng(3)
    kind = np.repeat(["easy", "hard"], [340, 60])
    old = np.where(kind == "easy", rng.integers(3, 6, 400), rng.integers(1, 4, 400))
    new = np.where(kind == "easy", old - (rng.random(400) < 0.5), old + 1)  # .3 worse on the whole
    at = {"group": [f"i{k}" for k in range(400)], "criterion": "tone", "scale": SCALE, "kind": kind}
    at |= {"rater": "judge", "method": "given", "prompt": ""}
    builds = [
        pd.DataFrame(at | {"item": [f"{name}{k}" for k in range(400)], "system": name, "score": truth})
        for name, truth in (("old", old), ("new", new))
    ]
    drawn = calib.choose(builds[0], 50, rng=1, **how)
    design = [name for name in drawn if name not in builds[0]]
    scores = pd.concat([one.assign(**drawn[design]) for one in builds], ignore_index=True)
    labels = scores[scores["chosen"]].drop(columns=design).assign(rater="ann", method="human")
    noisy = np.clip(scores["score"] + rng.integers(-1, 2, 800), 1, 5)
    return scores.assign(score=noisy), labels


@pytest.mark.parametrize("falling", [True, False])
@pytest.mark.parametrize("asked", [{"threshold": 2.5}, {"baseline": "old", "margin": 0.1}])
def test_labels_of_a_sorted_file_decide_nothing_at_any_look(asked, falling):
    scores, labels = drawn_builds()
    labels = labels.sample(frac=1, random_state=1)
    asked = {"system": "new", "sequential": True} | asked
    assert calib.gate(scores, labels, **asked).checks[0].reason in ("", "too few labels to decide")
    apart = labels.set_index("group")["score"].where((labels["system"] == "new").to_numpy()).groupby("group").max()
    if "baseline" in asked:
        apart -= labels[labels["system"] == "old"].set_index("group")["score"]
    in_order = labels.iloc[labels["group"].map(apart).argsort(kind="stable")[:: -1 if falling else 1]]
    verdict = calib.gate(scores, in_order, **asked)
    assert verdict.outcome == "inconclusive"
    assert f"labels {'fall' if falling else 'rise'} from the first to the last" in verdict.checks[0].reason


@pytest.mark.parametrize("how", [{"by": "kind"}, {"design": "strata"}])
def test_a_difference_needs_labels_with_one_chance_for_all(how):
    scores, labels = drawn_builds(**how)
    of_new = {"system": "new", "threshold": 2.5, "sequential": True}
    for asked in ({"system": "new", "baseline": "old", "margin": 0.1}, of_new):
        with pytest.raises(ValueError, match="drawn by strata or with chances that differ"):
            calib.gate(scores, labels, **asked)
    with pytest.raises(ValueError, match="a difference needs labels that were drawn simply or by groups"):
        calib.difference(scores, labels, "new", "old")


def test_a_baseline_has_no_place_for_chances(tmp_path, capsys):
    scores, labels = drawn_builds(by="kind")
    for name, table in (("scores", scores), ("labels", labels)):
        calib.table.write(table[table["system"] == "old"], tmp_path / f"{name}.csv")
    files = [str(tmp_path / name) for name in ("scores.csv", "labels.csv", "old.jsonl")]
    with pytest.raises(SystemExit) as left:
        main(["gate", *files[:2], "--threshold", "2", "--save-baseline", files[2]])
    assert left.value.code == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "was not written (a baseline needs labels that were drawn simply or by groups" in said
    assert not (tmp_path / "old.jsonl").exists()


def test_the_best_of_what_choose_drew_are_no_random_sample():
    scores, labels = drawn_builds()
    mine = scores["system"] == "new"
    labels = labels[labels["system"] == "new"].sort_values("score", ascending=False)
    best = calib.gate(scores[mine], labels[:25], threshold=3.3)
    assert best.checks[0].interval.low > 3.3
    assert best.outcome == "inconclusive"
    assert "against the others that `choose` drew (p < .001 in a random draw)" in best.checks[0].reason
