"""Tables by which a bad build got past the gate: labels and texts that count for more than they are evidence of."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import calib
from calib.analysis.means.random_draw import p_of_draw
from calib.cli import main

SCALE, N = "1|2|3|4|5", 60
IDS = [f"q{k}" for k in range(N)]
RNG = np.random.default_rng(7)
GOOD = np.clip(np.rint(RNG.normal(4.3, 0.7, N)), 1, 5)
BAD = np.clip(np.rint(RNG.normal(2.1, 0.8, N)), 1, 5)
NOISE = RNG.integers(-1, 2, N)


def judged(values):
    return np.clip(values + NOISE, 1, 5)


def of(system, truth, scores=None, *, who="people", groups=IDS, scale=SCALE):
    """Scores and labels of a build whose outputs people see as `truth`."""
    at = {"item": [f"{system}/{k}" for k in range(len(truth))], "group": list(groups), "system": system}
    rows = pd.DataFrame(at).assign(criterion="quality", scale=scale)
    scores = judged(truth) if scores is None else scores
    scored = rows.assign(rater="judge", method="sample", score=scores)
    return scored, rows.assign(rater=who, method="human", score=truth)


def both(first, second):
    """The tables of two builds in one."""
    return tuple(pd.concat(tables, ignore_index=True) for tables in zip(first, second, strict=True))


@pytest.fixture
def left(tmp_path, monkeypatch, capsys):
    """Exit code and both streams of `calib gate` on tables as files."""
    monkeypatch.chdir(tmp_path)

    def run(scores, labels, *words, items=None):
        for name, table in (("s", scores), ("p", labels), ("items", items)):
            if table is not None:
                table.to_csv(f"{name}.csv", index=False)
        more = ["--items", "items.csv"] * (items is not None)
        with pytest.raises(SystemExit) as ended:
            main(["gate", "s.csv", "p.csv", *map(str, words), *more])
        streams = capsys.readouterr()
        return ended.value.code, " ".join(streams.out.split()), " ".join(streams.err.split())

    return run


AGAINST = ("--system", "v2", "--baseline", "v1", "--margin", "0.2")
ABOVE = ("--system", "v2", "--threshold", "3.5")


# --- texts ------------------------------------------------------------------------------------------------------------


def test_a_talk_whose_first_turn_is_unchanged(left):
    talks = [f"c{k // 4}" for k in range(N)]
    scores, labels = both(of("v1", GOOD, groups=talks), of("v2", BAD, groups=talks))
    texts = [f"{item}" if k % 4 else "Hello" for k, item in enumerate(scores["item"])]
    items = scores[["item", "group", "system"]].assign(output=texts)
    for words in (AGAINST, (*AGAINST, "--sequential")):
        code, _, err = left(scores, labels, *words, items=items)
        assert code == 2 and "one item per group" in err


def test_the_label_of_a_canned_answer_to_another_input(left):
    """Refused rightly by v1 and wrongly by v2, in one topic; the judge cannot tell."""
    topics, even = [f"topic{k // 2}" for k in range(N)], np.arange(N) % 2 == 0
    blind = 3 + NOISE
    scores, labels = both(of("v1", np.where(even, 5.0, 4.0), blind, groups=topics),
                          of("v2", np.ones(N), blind[::-1], groups=topics))  # fmt: skip
    texts = [*np.where(even, "Sorry.", labels["item"][:N]), *np.where(even, labels["item"][N:], "Sorry.")]
    items = scores[["item", "group", "system"]].assign(output=texts)
    labels = labels[(labels["system"] == "v1") | labels["item"].isin([f"v2/{k}" for k in range(0, 40, 2)])]
    for more in ({}, {"source": "support mails"}):
        code, out, _ = left(scores, labels, "--system", "v2", "--threshold", "2.5", items=items.assign(**more))
        assert code != 0 and "carried" not in out


@pytest.mark.parametrize("n_own", [4, 12])
def test_own_labels_that_carried_ones_contradict(left, n_own):
    """On other outputs of those whose texts are the same, where the judge is blind."""
    scores, labels = both(of("v1", GOOD, 3 + NOISE), of("v2", BAD, 3 + NOISE[::-1]))
    items = scores[["item", "group", "system"]].assign(output="answer to " + scores["group"])
    at = labels["item"].str.partition("/")[2].astype(int)
    labels = labels[(at < n_own) == (labels["system"] == "v2")]
    for words in (("--system", "v2", "--threshold", "3"), AGAINST):
        code, out, _ = left(scores, labels, *words, items=items)
        assert code == 3 and f"{n_own} labels of v2 lie -" in out


def test_how_many_labels_are_carried_and_whose_they_are(left):
    scores, labels = both(of("v1", GOOD), of("v2", GOOD))
    items = scores[["item", "group", "system"]].assign(output="answer to " + scores["group"])
    labels = labels[(labels["system"] == "v1") | labels["item"].isin([f"v2/{k}" for k in range(10)])]
    code, out, _ = left(scores, labels, *ABOVE, "--json", "v.json", items=items)
    assert code == 0 and "10 own labels, 50 carried from 'v1', 60 judge scores" in out
    assert json.loads(Path("v.json").read_text("utf-8"))["checks"][0]["n_carried"] == 50


# --- labels that name no system ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("with_items", [False, True])
def test_an_assumption_on_labels_that_name_no_system_is_in_every_form(left, with_items):
    scores, labels = of("v2", GOOD)
    items = scores[["item", "group", "system"]].assign(output="one") if with_items else None
    labels = labels.drop(columns="system")
    code, _, err = left(scores, labels, *ABOVE, "--summary", "v.md", "--json", "v.json", items=items)
    assert code == 0 and "assumed: The labels name no system" in err
    for name in ("v.md", "v.json"):
        assert "The labels name no system" in Path(name).read_text("utf-8")


@pytest.mark.filterwarnings("ignore:120 items are labelled")
def test_labels_of_an_old_build_that_items_alone_name(left):
    """They are expected of the old build, and not of this one."""
    scores, labels = both(of("v1", GOOD), of("v2", GOOD))
    items = scores[["item", "group", "system"]]
    code, _, err = left(scores[scores["system"] == "v2"], labels.drop(columns="system"), *ABOVE, items=items)
    assert code == 0 and "absent" not in err


# --- who labelled -----------------------------------------------------------------------------------------------------


def by(who, other, n=N):
    """A build that is worse than its baseline and whose annotator, or annotators, are kinder."""
    first, second = of("v1", GOOD - 1, who=who), of("v2", np.clip(GOOD + 0.5, 1, 5), who=other)
    return first, second


@pytest.mark.parametrize(
    ("names", "code", "said"),
    [
        (("strict", "kind"), 3, True),  # builds and annotators are one thing
        (("people", "kind"), 0, True),  # who knows
        (("people", "people"), 0, False),
        (("mean of 3 annotators", "mean of 2 annotators"), 0, False),
        (("ann", "ann"), 0, False),
        ((np.tile(["ann", "bo"], N // 2), "bo"), 0, False),
        ((["kind"] + ["strict"] * (N - 1), "kind"), 3, True),  # one label in common
        (([f"a{k}" for k in range(N)], [f"b{k}" for k in range(N)]), 0, True),  # a crowd
    ],
)
def test_annotators_of_one_build_each(left, names, code, said):
    first, second = by(*names)
    left_with, out, err = left(*both(first, second), *AGAINST)
    assert left_with == code and ("annotators_apart" in err) == said
    assert ("because annotators do" in out) == (code == 3)


@pytest.mark.parametrize(("names", "code"), [(("strict", "kind"), 3), (("ann", "ann"), 0)])
def test_annotators_of_a_saved_baseline(left, names, code):
    first, second = by(*names)
    assert left(*first, "--system", "v1", "--threshold", "2.5", "--save-baseline", "v1.jsonl")[0] == 0
    assert "strict" not in Path("v1.jsonl").read_text("utf-8")
    assert left(*second, "--system", "v2", "--baseline", "v1.jsonl", "--margin", "0.2")[0] == code


def test_annotators_in_files_of_ones_own():
    """Whose labels are joined to means of them."""
    data = pd.concat([
        pd.DataFrame({"id": IDS, "model": name, "judge_score": 3 + NOISE, "label": GOOD - (name == "v1")})
        .assign(annotator=f"{name}-{one}") for name in ("v1", "v2") for one in range(2)
    ])  # fmt: skip
    verdict = calib.gate(data.drop(columns=["label", "annotator"]).drop_duplicates(), data.drop(columns="judge_score"),
                         system="v2", baseline="v1", margin=0.2, scale=SCALE)  # fmt: skip
    assert verdict.outcome == "inconclusive" and "by 2 annotators" in verdict.checks.one().reason


# --- labels of a part, and on another scale ---------------------------------------------------------------------------


def test_labels_of_easy_inputs_for_one_build_and_of_hard_ones_for_the_other(left):
    first, second = of("v1", GOOD), of("v2", GOOD)
    scores, labels = both(first, second)
    labels = pd.concat([first[1][:30], second[1][30:]])
    _, out, err = left(scores, labels, *AGAINST)
    assert "(60 labels, 60 judge scores)" in out and "labels_unpaired: 60 of 60 labelled inputs" in err
    _, _, err = left(*both(first, second), *AGAINST)
    assert "labels_unpaired" not in err


def test_a_threshold_on_the_scale_of_the_judge(left):
    scores, labels = of("v2", BAD)
    code, out, err = left(scores, labels.assign(score=20 * BAD, scale="0..100"), *ABOVE)
    stated = "labels are on '0..100', scores on '1|2|3|4|5'"
    assert code == 0 and f"60 judge scores; {stated})" in out and f"scales_differ: {stated}; the threshold, 3.5" in err


@pytest.mark.parametrize(("scales", "code"), [(("", ""), 2), (("1..5", "1..10"), 2), (("1..10", "1..10"), 0)])
def test_labels_of_a_baseline_on_another_scale(left, scales, code):
    first, second = (of(name, truth, judged(GOOD), scale="") for name, truth in (("v1", GOOD), ("v2", 2 * BAD)))
    labels = [table[1].assign(scale=scale) for table, scale in zip((first, second), scales, strict=True)]
    left_with, _, err = left(pd.concat([first[0], second[0]]), pd.concat(labels), *AGAINST[:-1], "4")
    assert left_with == code and ("scale" in err or not code)


def test_preferences_are_no_scores_of_a_build(left):
    winner = np.where(np.arange(N) % 3 == 0, "new", "old")
    rows = pd.DataFrame({"id": IDS, "model_a": "old", "model_b": "new", "judge_winner": winner, "human_winner": winner})
    rows.to_csv("w.csv", index=False)
    for words in (["--threshold", "0.5"], ["--threshold", "0.5", "--system", "new"]):
        with pytest.raises(SystemExit) as ended:
            main(["gate", "w.csv", *words])
        assert ended.value.code == 2
    with pytest.raises(ValueError, match="leaderboard"):
        calib.gate(rows, threshold=0.5)


# --- options that leave little of a gate ------------------------------------------------------------------------------


def test_an_error_that_leaves_no_interval(left):
    code, _, err = left(*of("v2", GOOD), *ABOVE, "--error", "0.49")
    assert code == 2 and "at most 0.2" in err


def test_half_of_the_outputs_may_be_unread(left):
    scores, labels = of("v2", GOOD)
    scores["score"] = scores["score"].where(np.arange(N) >= N // 2)
    code, _, err = left(scores, labels, *ABOVE, "--max-unread", "1")
    assert code == 0 and "much_unread: up to 100 % of the outputs" in err
    assert left(scores, labels, *ABOVE, "--max-unread", "0.5")[0] == 0
    assert "much_unread" not in left(scores, labels, *ABOVE, "--max-unread", "0.5")[2]


# --- the ledger -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(20, 20, 20), (24, 22, 20), (20, 22, 24)])
def test_fresh_labels_at_each_try_are_further_looks(left, sizes):
    """Also where each time there are fewer of them."""
    scores, labels = of("v2", GOOD)
    words = (*ABOVE, "--ledger", "gates.jsonl")
    for k, size in enumerate(sizes):
        drawn = labels.sample(size, random_state=k)
        _, _, err = left(scores, drawn, *words)
        assert ("looked_before" in err) == (k > 0)
        assert (f"verdict {k + 1} on this build, after" in err) == (k > 0)
    again = left(scores, drawn, *words)
    assert "verdict 3 on this build" in again[2]
    verdicts = [json.loads(line) for line in Path("gates.jsonl").read_text("utf-8").splitlines()]
    assert [one["asked"]["sequential"] for one in verdicts] == [False, True, True, True]
    assert {name: verdicts[-1][name] for name in ("outcome", "checks", "notes")}.items() <= verdicts[-2].items()


def test_a_lower_threshold_after_a_verdict(left):
    tables, words = of("v2", BAD), ("--system", "v2", "--ledger", "gates.jsonl", "--threshold")
    assert left(*tables, *words, "3")[0] == 1
    assert "verdict" not in left(*tables, *words, "3")[2]  # the same once more
    code, _, err = left(*tables, *words, "1.5")
    assert code == 0 and "verdicts_before: verdict 2 on this build, after 1 fail" in err


def test_a_larger_error_after_an_open_verdict_is_no_rerun(left):
    scores, labels = of("v2", GOOD)
    words = ("--system", "v2", "--ledger", "gates.jsonl", "--threshold", "3.75")
    assert left(scores, labels.head(30), *words)[0] == 3
    code, _, err = left(scores, labels.head(30), *words, "--error", "0.2")
    assert code == 0 and "verdicts_before: verdict 2 on this build, after 1 inconclusive" in err


# --- what cannot be written, or read ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("truth", "code"), [(GOOD, 0), (BAD, 1)])
def test_files_that_cannot_be_written_leave_the_verdict(left, monkeypatch, truth, code):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "/dev/null/x")
    Path("file").write_text("", "utf-8")
    words = ("--json", "new/folder/v.json", "--junit", "file/x.xml", "--save-baseline", "file/b.jsonl")
    left_with, _, err = left(*of("v2", truth), *ABOVE, *words)
    assert left_with == code and Path("new/folder/v.json").exists()
    assert "file/x.xml was not written" in err and "GITHUB_STEP_SUMMARY was not written" in err
    assert ("file/b.jsonl was not written" in err) == (code == 0)


def test_without_its_line_in_a_ledger_there_is_no_verdict(left):
    Path("file").write_text("", "utf-8")
    code, out, _ = left(*of("v2", GOOD), *ABOVE, "--ledger", "file/gates.jsonl")
    assert code == 2 and "pass" not in out


@pytest.mark.parametrize("column", ["item", "group", "system"])
@pytest.mark.parametrize("which", [0, 1])
def test_a_list_is_no_name(column, which):
    tables = list(of("v2", GOOD))
    tables[which] = tables[which].assign(**{column: [[name] for name in tables[which][column]]})
    with pytest.raises(calib.table.TableError, match=f"must name each {column} by a text"):
        calib.gate(*tables, system="v2", threshold=3)


# --- labels that are no random sample ---------------------------------------------------------------------------------

MADE = np.random.default_rng(5)
KINDS = {
    "likert": lambda n: np.clip(np.rint(MADE.normal(3.5, 1, n)), 1, 5),
    "rare": lambda n: np.where(MADE.random(n) < 0.95, 5.0, 1.0),
    "long tail": lambda n: np.exp(MADE.normal(0, 1.5, n)),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_random_samples_are_hardly_ever_taken_for_others(kind):
    """At p < .001 in at most .1 % of them, and with scores that are fine enough not in much less either."""
    hits, n = 0, 20_000
    for k in range(n):
        size, labels = ((100, 10), (100, 40), (500, 20))[k % 3]
        labelled = MADE.permutation(size) < labels
        hits += p_of_draw(KINDS[kind](size), labelled) < 1e-3
    assert hits <= stats.binom.ppf(0.999, n, 1e-3)
    assert kind == "rare" or hits >= stats.binom.ppf(0.001, n, 5e-4)


def test_labels_of_the_best_outputs_decide_nothing(left):
    truth = np.where(np.arange(N) < 20, 5.0, 2.0)
    scores, labels = of("v2", truth)
    code, out, _ = left(scores, labels[:20], *ABOVE)
    assert code == 3 and "are the labels of a random sample?" in out
    at = [f"c{k // 3}" for k in range(N)]
    code, out, _ = left(scores.assign(group=at), labels[:18].assign(group=at[:18]), *ABOVE)
    assert code == 3 and "are the labels of a random sample?" in out


def test_rare_scores_are_no_sign_of_another_sample(left):
    """None of the few is labelled, and the labels' scores are all alike."""
    truth = np.where(np.arange(500) < 25, 1.0, 5.0)
    scores, labels = of("v2", truth, truth, groups=range(500))
    assert left(scores, labels[30:50], "--system", "v2", "--threshold", "3")[0] == 0


def test_labels_beside_what_choose_drew(left):
    scores, labels = of("v2", np.tile([2.0, 3, 4, 5], N // 4))
    drawn = calib.choose(scores, 20, rng=0)
    chosen = drawn["chosen"].to_numpy(bool)
    assert left(drawn, labels[chosen], "--system", "v2", "--threshold", "2")[0] == 0
    more = chosen | (np.arange(N) < 15)
    code, out, _ = left(drawn, labels[more], "--system", "v2", "--threshold", "2")
    assert code == 3 and "that `choose` did not draw" in out
    code, _, err = left(drawn.drop(columns="stratum"), labels[chosen], "--system", "v2", "--threshold", "2")
    assert code == 2 and "`stratum` is missing" in err
