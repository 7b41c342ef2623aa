"""The command line: each command once on small real input, and every kind of error."""

import csv
import inspect
import json
import os
import re
import select
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
import warnings
from contextlib import closing, suppress
from functools import wraps
from itertools import product
from threading import Event, Thread

import numpy as np
import pandas as pd
import pytest
import typer

import calib
from calib import cli, table
from calib.console import program
from calib.console.command import arguments, built
from calib.console.next_steps import step_after
from calib.console.program import commands
from calib.judge.calls.store import Store

OFFLINE = ("--criterion", "fluency", "--model", "offline")
ROLES = ("--column", "item=id", "--judge", "rating", "--column", "criterion=fluency")
RUN = [sys.executable, "-c", "from calib.cli import main; main()"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Tables of six source texts: items, ratings, sampled, scores, people, human, gold."""
    folder = tmp_path_factory.mktemp("tables")
    items, people = calib.load_planted()
    items = items[items["group"].isin(sorted(set(items["group"]))[:6])]
    people = people[people["item"].isin(items["item"]) & people["criterion"].isin(["coherence", "fluency"])]
    prompts = [calib.geval_prompt(name) for name in ("coherence", "fluency")]
    made = {"items": items, "people": people, "human": calib.summarize(people, items, pool="rater")}
    # two judges: one of the people, and the same with noise
    first = calib.summarize(people[people["rater"] == "simulated-1"], items)
    noise = np.random.default_rng(0).integers(-2, 3, len(first))
    second = first.assign(rater="noisy", score=(first["score"] + noise).clip(1, 5))
    people_rest = people[people["rater"] != "simulated-1"]
    made |= {"first": first.assign(rater="close"), "second": second, "rest": calib.summarize(people_rest, items)}
    made["two"] = pd.concat([made["first"], second], ignore_index=True)
    made["pooled"] = calib.summarize(people_rest, items, pool="rater")
    for name, judge in {
        "ratings": calib.Judge("offline", method="logprob"),
        "sampled": calib.Judge("offline", method="sample", draws=5),
    }.items():
        made[name] = calib.rate(items, prompts, judge, progress=False)
    made["scores"] = calib.summarize(made["ratings"], items)
    made["gold"] = made["human"][made["human"]["group"].isin(sorted(set(items["group"]))[:4])]
    return {name: table.write(frame, folder / f"{name}.csv") for name, frame in made.items()}


@pytest.fixture
def own(tmp_path):
    """A file of two columns, as people bring it."""
    path = tmp_path / "mine.csv"
    _, people = calib.load_planted()
    rated = people[(people["criterion"] == "fluency") & (people["rater"] == "simulated-1")]
    rated = rated.sort_values("item").head(40)
    pd.DataFrame({"id": rated["item"], "rating": rated["score"].astype(int)}).to_csv(path, index=False)
    return path


def number(text, name, column):
    """The number in the row of a name and under a head of a printed table."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    place = next(place for place, line in enumerate(lines) if column in line)
    return float(next(line for line in lines[place:] if line[0] == name)[lines[place].index(column)])


# --- each command -----------------------------------------------------------------------------------------------


@pytest.fixture
def wide(monkeypatch):
    """A terminal on which a table is in one piece."""
    monkeypatch.setenv("COLUMNS", "250")


def test_agree_writes_what_the_function_returns(run, files, tmp_path):
    (tmp_path / "a.csv").write_text("of yesterday, which may be written over")
    command = ("agreement", files["scores"], files["human"], "--level", "group", "--out", tmp_path / "a.csv")
    assert run(*command)[::2] == (0, "")
    expected = calib.agreement(*read(files, "scores", "human"), level="group").to_frame()
    written = table.read_frame(tmp_path / "a.csv")
    assert written[["estimate", "signature"]].to_dict() == expected[["estimate", "signature"]].to_dict()


@pytest.mark.slow
@pytest.mark.usefixtures("wide")
def test_agree_prints_the_table_of_a_paper(run, files, tmp_path):
    paths, both = (files["scores"], files["human"]), ("--coefficient", "pearson", "--coefficient", "kendall")
    results = calib.agreement(*(table.read(path, "scores") for path in paths), coefficient=("pearson", "kendall"))
    code, out, _ = run("agreement", *paths, *both, "--table")
    assert (code, out) == (0, f"{results.table()}\n")
    code, out, _ = run("agreement", *paths, *both, "--latex", "--out", tmp_path / "all.csv")
    assert code == 0
    assert out.startswith(results.table().to_latex())
    assert len(calib.table.read_frame(tmp_path / "all.csv")) == len(results)


@pytest.mark.slow
@pytest.mark.usefixtures("wide")
def test_agree_takes_ratings_and_items(run, files):
    code, out, _ = run("agreement", files["ratings"], files["people"], "--items", files["items"], "--level", "system")
    assert code == 0
    assert out.count("simulated-") == 6 + 1  # the rows, and the one in the sentence
    refused = run("agreement", files["ratings"], files["people"], "--level", "system")
    assert refused[0] == 2
    assert "level 'system' needs a column `system`" in refused[2]


@pytest.mark.slow
def test_agree_takes_a_users_file(run, files, own):
    options = (*ROLES, "--column", "rater=me", "--scale", "1|2|3|4|5")
    code, out, _ = run("agreement", files["scores"], own, *options)
    mine = calib.scores_from(table.read_frame(own), item="id", score="rating", criterion="fluency")
    expected = calib.agreement(table.read(files["scores"], "scores"), mine).one()
    assert code == 0
    assert number(out, "fluency", "estimate") == pytest.approx(expected.estimate, rel=1e-3)
    assert "against me" in out
    assert "against human" in run("agreement", files["scores"], own, *options[:6])[1]
    assert run("agreement", files["scores"], own, *options[:-1], "1|2")[0] == 2
    other = own.with_name("robot.csv")
    frame = table.read_frame(own)
    frame.loc[0, "rating"] = 6 - float(frame.loc[0, "rating"])  # the same file twice is refused
    frame.to_csv(other, index=False)
    _, out, _ = run("agreement", other, own, *ROLES[:4])
    assert "rater robot" in out, "a judge is called as its file"
    assert "against human" in out


@pytest.mark.slow
@pytest.mark.parametrize("scores", ["scores", "ratings"])
@pytest.mark.filterwarnings("ignore:few_groups")
def test_items_give_columns_for_by(run, files, tmp_path, scores):
    items = table.read_frame(files["items"])
    path = table.write(items.assign(language=np.where(np.arange(len(items)) % 2, "de", "en")), tmp_path / "items.csv")
    code, out, err = run("interval", files[scores], files["human"], "--items", path, "--by", "language")
    assert code == 0, err
    assert "language de" in folded(out)
    assert "language en" in folded(out)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:38 of 78 labelled items have no score")
def test_items_give_a_users_file_its_groups(run, files, own):
    code, out, _ = run("agreement", own, files["human"], *ROLES, "--items", files["items"], "--level", "group")
    assert code == 0
    assert "groups 3" in out


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("agreement {scores} {human} --column criterion=fluency", "--column criterion= describes your own file"),
        ("agreement {scores} {mine} --column label_item=key --judge rating",
         "--column label_item= must be a column, but got 'key': mine.csv has 'id', 'rating'"),
        ("look {mine} --column word=x", "ROLE=NAME with a role of item, label_item"),
        ("look {mine} --column item", "ROLE=NAME"),
        ("look {mine} --column item=", "ROLE=NAME"),
        ("look {mine} --column item=id --column item=key", "item came twice"),
    ],
)  # fmt: skip
def test_a_role_of_a_column_that_cannot_be(run, files, own, command, words):
    code, _, err = run(*(part.format(**files, mine=own) for part in command.split()))
    assert code == 2
    assert words in folded(err)


def read(files, *names):
    return [table.read(files[name], "scores") for name in names]


def in_shell(options):
    """Keyword arguments as a shell gives them."""
    return [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", str(value))]


AGREE = {
    "level": "group", "method": "gamma", "interval": "none", "constant": "zero", "missing": "zero",
    "confidence_level": 0.8,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [*({name: value} for name, value in AGREE.items() if name not in ("constant", "missing")),
     {"level": "group", "constant": "zero"}, {"interval": "boot-groups", "n_resamples": 50, "rng": 1},
     {"interval": "boot-groups", "n_resamples": 50, "rng": 2},
     {"interval": "boot-groups", "n_resamples": 60, "rng": 1}, {"convention": "bartscore"},
     *({"method": name} for name in ("kendall", "kendall_a", "kendall_c", "pairs", "kappa", "exact", "adjacent")),
     {"method": "spa", "level": "system"}, {"systems": "fixed"}],
)  # fmt: skip
def test_each_option_of_agree_changes_what_it_writes(run, files, tmp_path, options):
    code, _, err = run("agreement", files["second"], files["pooled"], *in_shell(options), "--out", tmp_path / "a.jsonl")
    assert (code, err) == (0, "")
    expected = calib.agreement(*read(files, "second", "pooled"), **options)
    written = table.read_frame(tmp_path / "a.jsonl")
    assert written["signature"].tolist() == [result.signature for result in expected]
    for name in ("estimate", "conf_low", "estimate_other"):
        wanted = expected.to_frame()[name].tolist()
        assert pd.to_numeric(written[name]).tolist() == pytest.approx(wanted, rel=1e-12, nan_ok=True)
    plain = calib.agreement(*read(files, "second", "pooled")).to_frame()
    assert not expected.to_frame().equals(plain)


@pytest.mark.slow
def test_agree_counts_unread_replies_as_zero_when_told(run, files, tmp_path):
    scores = table.read(files["second"], "scores")
    unread = (scores.index % 5 == 0).astype(int)
    gaps = scores.assign(method="sample", score=scores["score"].where(unread == 0), n_unread=unread)
    path = table.write(gaps, tmp_path / "gaps.csv")
    output = {}
    for rule in ("drop", "zero"):
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            code, _, err = run("agreement", path, files["pooled"], "--missing", rule, "--out", tmp_path / f"{rule}.csv")
        assert code == 0
        assert ("the judge has no score for 16 of 78 labelled items" in err) == (rule == "drop")
        output[rule] = table.read_frame(tmp_path / f"{rule}.csv")
    assert output["drop"]["n_missing"].tolist() == output["zero"]["n_missing"].tolist() == [16, 16]
    assert output["drop"]["estimate"].tolist() == output["zero"]["estimate_other_missing"].tolist()
    assert output["drop"]["estimate"].tolist() != output["zero"]["estimate"].tolist()


def folded(out):
    return " ".join(out.split())


@pytest.mark.slow
def test_agree_ends_with_one_sentence_that_claims_no_more_than_the_interval(run, files):
    results = calib.agreement(*read(files, "second", "pooled"), level="group")
    best = max(results, key=lambda result: result.estimate)
    _, out, _ = run("agreement", files["second"], files["pooled"], "--level", "group")
    sentence = folded(out).partition("The highest of 2 ")[2]
    assert (
        f"Spearman rho = {best.estimate:.4g}, 95 % CI [{best.interval.low:.4g}, {best.interval.high:.4g}]" in sentence
    )
    assert best.interval.low < 0
    assert (
        "which generalises to new groups and new systems, and does not exclude 0; the highest of 2 is probably too high"
        in sentence
    )
    _, out, _ = run("agreement", files["second"], files["pooled"], "--interval", "none")
    assert "no interval: it says nothing beyond these data" in folded(out)
    assert "conf_low" not in out
    assert "estimate" in out


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{"level": "group"}, {"method": "pairs"}, {"level": "group", "constant": "zero"}, {"confidence_level": 0.8},
     {"test": "perm-cells", "n_resamples": 50, "rng": 1}, {"test": "perm-cells", "n_resamples": 60, "rng": 1},
     {"test": "boot-both", "n_resamples": 50, "rng": 1}, {"test": "boot-both", "n_resamples": 50, "rng": 2}],
)  # fmt: skip
@pytest.mark.parametrize("ranked", [False, True])
def test_each_option_of_compare_changes_what_it_writes(run, files, tmp_path, options, ranked):
    given = [files["two"]] if ranked else [files["first"], files["second"]]
    command = "rank-judges" if ranked else "compare"
    code, out, err = run(command, *given, files["pooled"], *in_shell(options), "--out", tmp_path / "c.jsonl")
    assert (code, err) == (0, "")
    frames = read(files, *(("two", "pooled") if ranked else ("first", "second", "pooled")))
    expected = (calib.rank_judges if ranked else calib.compare)(*frames, **options)
    written = table.read_frame(tmp_path / "c.jsonl")
    assert set(written["signature"]) == {result.signature for result in expected}
    assert written["estimate"].tolist() == pytest.approx(expected.to_frame()["estimate"].tolist(), rel=1e-12)
    assert all(result.conclusion in folded(out) for result in expected)
    if not ranked:
        assert written["p_value"].tolist() == pytest.approx(expected.to_frame()["p_value"].tolist(), rel=1e-12)
        assert not expected.to_frame().equals(calib.compare(*frames).to_frame())


@pytest.mark.slow
def test_rank_judges_orders_the_judges_of_one_file(run, files, tmp_path):
    two = table.read(files["two"], "scores")
    third = two[two["rater"] == "close"].assign(rater="third")
    third["score"] = (third["score"] + np.random.default_rng(1).integers(-1, 2, len(third))).clip(1, 5)
    path = table.write(pd.concat([two, third], ignore_index=True), tmp_path / "three.csv")
    cut = {}
    for name in ("holm", "bh", "none", None):
        options = () if name is None else ("--correction", name)
        code, out, err = run("rank-judges", path, files["pooled"], *options, "--out", tmp_path / "r.csv")
        assert (code, err) == (0, "")
        expected = calib.rank_judges(table.read(path, "scores"), *read(files, "pooled"), correction=name or "holm")
        written = table.read_frame(tmp_path / "r.csv")
        assert written["judge"].tolist() == [judge for result in expected for judge in result.names]
        assert all(result.conclusion in folded(out) for result in expected)
        assert f"correction:{name or 'holm'}" in out
        cut[name] = [result.p_values.tolist() for result in expected]
    assert str(cut["holm"]) != str(cut["none"]) != str(cut["bh"]) != str(cut["holm"]) == str(cut[None])


@pytest.mark.slow
def test_compare_takes_a_users_files(run, own, tmp_path):
    frame = table.read_frame(own)
    one, two, people = (tmp_path / f"{name}.csv" for name in ("one", "two", "people"))
    frame.to_csv(one, index=False)
    frame.assign(rating=(frame["rating"] * 6) % 5).to_csv(two, index=False)
    frame.rename(columns={"id": "key", "rating": "label"}).to_csv(people, index=False)
    options = ("--column", "item=id", "--judge", "rating", "--column", "label_item=key", "--label", "label")
    code, out, err = run("compare", one, two, people, *options, "--column", "criterion=fluency")
    assert code == 0
    assert "calib: one.csv: `id` as ids, `rating` as the judge\n" in err
    assert "first one, second two" in folded(out)
    assert "against human" in folded(out)
    assert "one agrees with the labels more than two does" in folded(out)


@pytest.mark.slow
def test_warnings_of_unlike_ties_are_plain_lines(run, files, tmp_path):
    scores = table.read(files["first"], "scores")
    coarse = scores.assign(rater="coarse", score=1 + (scores["score"] > 3).astype(float))
    fine = scores.assign(rater="fine", score=0.9 * scores["score"] + 0.1 + np.arange(len(scores)) / 1000)
    paths = [table.write(frame, tmp_path / f"{frame['rater'].iloc[0]}.csv") for frame in (coarse, fine)]
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        code, out, err = run("compare", *paths, files["pooled"], "--method", "kendall")
    assert code == 0
    lines = err.splitlines()
    assert lines
    assert all(line.startswith("calib: unequal_ties: coarse ties") for line in lines)
    assert len(lines) == len(set(lines))
    assert "tau-b compares" not in out
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        command = ("agreement", files["second"], files["pooled"], "--interval", "boot-items", "--n-resamples", 50)
        _, _, err = run(*command)
    assert err.count("boot-items takes items as independent") == err.count("\n") == 1, "each warning once"


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{"metric": "ordinal"}, {"level": "group"}, {"method": "kendall"}, {"min_reliability": 0.99},
     {"confidence_level": 0.8}],
)  # fmt: skip
def test_each_option_of_reliability_changes_what_it_writes(run, files, tmp_path, options):
    code, out, err = run(
        "reliability", files["rest"], files["second"], *in_shell(options), "--out", tmp_path / "r.jsonl"
    )
    assert (code, err) == (0, "")
    expected = calib.reliability(*read(files, "rest", "second"), **options).to_frame()
    written = table.read_frame(tmp_path / "r.jsonl")
    assert written["signature"].tolist() == expected["signature"].tolist()
    assert written["conf_low"].tolist() == pytest.approx(expected["conf_low"].tolist(), nan_ok=True)
    assert not expected.equals(calib.reliability(*read(files, "rest", "second")).to_frame())
    assert "difference" in out


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [None, 0.0, 0.3])
def test_reliability_tests_whether_a_judge_may_stand_in(run, files, tmp_path, epsilon):
    options = () if epsilon is None else ("--epsilon", epsilon)
    path = tmp_path / "t.csv"
    people = calib.summarize(table.read(files["people"], "ratings"))
    people_path = table.write(people, tmp_path / "people.csv")
    code, out, err = run("reliability", people_path, files["second"], "--annotator-test", *options, "--out", path)
    assert (code, err) == (0, "")
    expected = calib.alternative_annotator_test(
        table.read(files["second"], "scores"), people, epsilon=0.2 if epsilon is None else epsilon
    )
    assert all(result.verdict in folded(out) for result in expected)
    assert f"epsilon:{0.2 if epsilon is None else epsilon:g}" in out
    written = table.read_frame(path)
    rates = written["winning_rate"].dropna().tolist()
    assert rates == expected.to_frame()["winning_rate"].tolist()
    assert set(written["quantity"].dropna()) >= {"ceiling", "judge"}


@pytest.mark.slow
def test_reliability_takes_a_users_file(run, own, tmp_path):
    frame = table.read_frame(own)
    both = pd.concat([frame.assign(who="ann"), frame.assign(who="bob", rating=frame["rating"].clip(2))])
    both.to_csv(tmp_path / "both.csv", index=False)
    code, out, err = run(
        "reliability", tmp_path / "both.csv", "--column", "item=id", "--judge", "rating", "--column", "rater=who"
    )
    assert code == 0
    assert "`rating` as labels, `who` as who labelled" in err
    assert "raters:2|" in out
    code, _, err = run("reliability", own, "--column", "item=id", "--judge", "rating")
    assert code == 2
    one_line(err.splitlines(keepends=True)[-1], "must have 2 raters")


@pytest.mark.slow
def test_converge_prints_table_and_sentences(run, files, tmp_path):
    options = ["--rng", "3", "--sizes", "1", "--sizes", "5", "--n-subsets", "7", "--coefficient", "kendall", "--labels"]
    command = ("convergence", files["sampled"], files["ratings"], *options, files["human"])
    code, out, _ = run(*command, "--out", tmp_path / "c.parquet")
    expected = calib.convergence(
        table.read(files["sampled"], "ratings"), table.read(files["ratings"], "ratings"),
        labels=table.read(files["human"], "scores"), rng=3, sizes=[1, 5], n_subsets=7, coefficient="kendall",
    )  # fmt: skip
    assert code == 0
    written = pd.read_parquet(tmp_path / "c.parquet")
    assert written["rmse"].tolist() == [value for result in expected for value in result.rmse]
    assert written["agreement"].tolist() == [value for result in expected for value in result.agreement]
    assert " ".join(str(expected).split()) in " ".join(out.split())


def test_converge_without_an_exact_expectation(run, files):
    assert "the mean of all 5" in run("convergence", files["sampled"])[1]


FEW = ("--min-labels", "4")


@pytest.mark.filterwarnings("default")
def test_interval_of_the_judge_alone_says_what_it_is_not(run, files):
    _, alone, _ = run("interval", files["scores"], files["gold"], "--estimator", "judge_only")
    _, both, _ = run("interval", files["scores"], files["gold"], "--estimator", "ppi")
    assert "not for the human mean" in alone
    assert "not for the human mean" not in both
    assert "method PPI," in both


@pytest.mark.slow
def test_summarize_writes_scores(run, files, tmp_path):
    code, out, _ = run(
        "summarize", files["people"], "--items", files["items"], "--pool", "rater", "--out", tmp_path / "h.jsonl"
    )
    assert code == 0
    assert "wrote 156 rows" in out
    written, expected = (table.read(path, "scores") for path in (tmp_path / "h.jsonl", files["human"]))
    pd.testing.assert_frame_equal(written, expected, check_categorical=False)
    code, out, _ = run("summarize", files["people"])
    assert "... 468 rows in all" in out


def test_rate_writes_ratings_and_keeps_replies(run, files, tmp_path):
    out = tmp_path / "r.csv"
    options = (*OFFLINE, "--criterion", "coherence", "--method", "sample", "--draws", "3", "--seed", "7")
    code, output, _ = run("rate", files["items"], *options, "--replies", "--concurrency", "2", "--out", out)
    assert code == 0
    assert "wrote 468 rows" in output
    judge = calib.Judge("offline", method="sample", draws=3, seed=7)
    prompts = [calib.geval_prompt(name) for name in ("fluency", "coherence")]
    expected = calib.rate(table.read(files["items"], "items"), prompts, judge, replies=True, progress=False)
    pd.testing.assert_frame_equal(table.read(out, "ratings"), expected, check_categorical=False)
    with closing(sqlite3.connect(tmp_path / "r.sqlite")) as store:
        assert store.execute("SELECT count(*) FROM replies").fetchone() == (468,)


def test_rate_makes_the_judge_of_its_options(run, files, tmp_path, monkeypatch):
    asked = {}

    def record(items, prompts, judge, **options):
        asked.update(judge=judge, prompts=prompts, **options)
        raise ValueError("enough")

    monkeypatch.setattr(calib, "rate", wraps(calib.rate)(record))
    options = "--temperature 0.5 --top-logprobs 5 --base-url http://localhost:1 --seed 3 --max-tokens 9 --concurrency 2"
    options += " --timeout 5 --deadline 50 --requests-per-minute 60 --tokens-per-minute 900 --price 1 2"
    options += " --noise-floor 0.01 --continuation --keep full --max-cost 3"
    command = ["rate", files["items"], "--criterion", "fluency", "--model", "m", "--method", "sample", "--draws", "4"]
    run(*command, *options.split(), "--reasoning", "think", "--inputs", "output", "--out", tmp_path / "r.csv")
    assert asked["judge"] == calib.Judge(
        "m", method="sample", draws=4, temperature=0.5, top_logprobs=5, base_url="http://localhost:1", seed=3,
        max_tokens=9, concurrency=2, timeout=5, deadline=50, requests_per_minute=60, tokens_per_minute=900,
        price=(1, 2), noise_floor=0.01, continuation=True,
    )  # fmt: skip
    assert (asked["keep"], asked["max_cost"]) == ("full", 3)
    assert asked["prompts"] == [calib.geval_prompt("fluency", reasoning="think", inputs=("output",))]
    assert (asked["store"], asked["replies"]) == (tmp_path / "r.sqlite", False)


def test_a_dry_run_calls_nobody_and_leaves_nothing_behind(run, files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none-at-all")
    command = ["rate", files["items"], "--criterion", "fluency", "--model", "openai/gpt-4o-mini", "--dry-run"]
    code, output, _ = run(*command)
    assert code == 0
    assert re.fullmatch(
        r"78 calls \(0 draws in the store\): about [\d,]+ tokens in, at most 624 tokens out, .*",
        " ".join(output.split()),
    )
    assert "at most $0.0" in output
    run(*command, "--out", tmp_path / "r.csv")
    assert not list(tmp_path.iterdir())


def test_a_batch_goes_out_and_its_replies_come_in(run, files, tmp_path):
    command = ["rate", files["items"], "--criterion", "fluency", "--model", "m", "--method", "sample", "--draws", "2"]
    code, output, _ = run(*command, "--to-batch", tmp_path / "batch.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "batch.jsonl").read_text().splitlines()]
    assert (code, len(lines)) == (0, 156)
    assert "wrote" in output
    body = {"choices": [{"message": {"content": "3"}}]}
    replies = [{"custom_id": line["custom_id"], "response": {"status_code": 200, "body": body}} for line in lines]
    (tmp_path / "out.jsonl").write_text("\n".join(map(json.dumps, replies)))
    code, output, _ = run(*command, "--from-jsonl", tmp_path / "out.jsonl", "--out", tmp_path / "r.csv")
    ratings = table.read(tmp_path / "r.csv", "ratings")
    assert (code, set(ratings["score"]), len(ratings)) == (0, {3.0}, 156)


@pytest.mark.slow
def test_unlike_targets_are_compared_only_when_told(run, files, tmp_path):
    options = ["rate", files["items"], "--criterion", "fluency", "--model", "offline"]
    cold = tmp_path / "cold.csv"
    run(*options, "--method", "sample", "--draws", "3", "--temperature", "0.5", "--out", cold)
    code, _, err = run("convergence", cold, files["ratings"])
    assert code == 2
    one_line(err, "drawn at temperature 0.5, token probabilities are those of temperature 1")
    code, output, _ = run("convergence", cold, files["ratings"], "--unlike")
    assert code == 0
    assert "logprob of fluency-form" in output


@pytest.mark.slow
def test_rate_takes_a_criterion_in_own_words(run, files, tmp_path):
    out, store = tmp_path / "r.jsonl", tmp_path / "s.sqlite"
    words = ("--criterion", "brevity", "--criteria", "It is short.", "--inputs", "output", "--reasoning", "think")
    code, _, _ = run(
        "rate", files["items"], *words, "--model", "offline", "--method", "logprob", "--store", store, "--out", out
    )
    ratings = table.read(out, "ratings")
    assert code == 0
    assert set(ratings["criterion"]) == {"brevity"}
    assert set(ratings["method"]) == {"chain"}
    assert ratings["prompt"].str.startswith("brevity-think-").all()
    with closing(sqlite3.connect(store)) as replies:
        assert replies.execute("SELECT count(*) FROM replies WHERE request LIKE '%BEGIN SOURCE%'").fetchone() == (0,)
    assert "reply" not in ratings


@pytest.mark.slow
def test_report_has_levels_and_intervals(run, files, tmp_path):
    path = tmp_path / "r.html"
    code, out, _ = run(
        "report", files["scores"], files["gold"], "--out", path, "--title", "A & B", "--method", "pearson"
    )
    text = path.read_text()
    assert code == 0
    assert str(path) in out
    assert "<h1>A &amp; B</h1>" in text
    assert all(f"Agreement with people {level}" in text for level in ("over items", "within groups", "over systems"))
    assert all(f">{words}<" in text for words in ("people alone", "judge alone"))
    assert "pearson|level:group" in text
    assert all(f"<h2>{name}" in text for name in ("What a score means", "The labels that people may give"))
    assert text.count("<figure>") == 10  # those of agreement, means and favour, a map of each criterion, and their sets


@pytest.mark.slow
def test_report_leaves_out_what_the_columns_do_not_allow_and_says_why_there_is_no_interval(run, files, own, tmp_path):
    plain = tmp_path / "plain.csv"
    frame = table.read_frame(files["scores"]).drop(columns=["group", "system"])
    table.write(frame, plain)
    assert run("report", plain, own, *ROLES, "--out", tmp_path / "r.md")[0] == 0
    text = (tmp_path / "r.md").read_text()
    assert "Agreement with people over items" in text
    assert "Agreement with people within groups" not in text
    few = tmp_path / "few.csv"
    table.write(table.read(files["human"], "scores").drop_duplicates(["criterion", "group"]), few)
    assert run("report", files["scores"], few, "--out", tmp_path / "r.md")[0] == 0
    text = (tmp_path / "r.md").read_text()
    assert "No interval (auto): " in text
    assert "must have 10 labels at least" in text
    assert "people alone" in text


@pytest.mark.slow
def test_data_writes_sets(run, tmp_path):
    code, out, _ = run("data", "planted", "--out", tmp_path)
    assert code == 0
    assert len(table.read(tmp_path / "items.csv", "items")) == 312
    assert len(table.read(tmp_path / "ratings.csv", "ratings")) == 3744
    assert "Licence" in out


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:no_gain")
def test_demo_goes_through_everything(run, tmp_path):
    folder = tmp_path / "the demo"
    code, out, _ = run("demo", "--out", folder)
    assert code == 0
    assert "SIMULATED" in out
    for head in ("Agreement with the simulated people", "Distance (RMSE)", "Mean score from the labels of 100"):
        assert head in out
    draws = out[out.index("draws") :]
    assert number(draws, "1", "relevance") > number(draws, "20", "relevance") > 0
    assert "Judge alone" in out
    few, everything = (table.read(folder / f"{name}.csv", "scores") for name in ("labels", "all_labels"))
    assert (few["item"].nunique(), everything["item"].nunique()) == (100, 312)
    assert sorted(set(table.read(folder / "ratings.csv", "ratings")["method"])) == ["logprob"]
    assert sorted(set(table.read(folder / "sampled.csv", "ratings")["method"])) == ["sample"]
    assert (folder / "replies.sqlite").is_file()
    for ending in ("html", "md"):
        text = (folder / f"report.{ending}").read_text()
        assert "SIMULATED" in text
        assert "Items that deserve a look" in text
    step = step_after("demo", {"out": folder}, ())
    assert step == f"calib look '{folder / 'results.csv'}'"
    assert run(*shlex.split(step)[1:])[0] == 0


# --- errors -----------------------------------------------------------------------------------------------------


def one_line(err, words):
    assert err.startswith("calib: ")
    assert err.count("\n") == 1
    assert words in err
    assert "Traceback" not in err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("agreement nowhere.csv {human}", "there is no file 'nowhere.csv'"),
        ("agreement {folder} {human}", "FILE must be a file, or a folder of Parquet files, but"),
        ("summarize {folder} --out parts", "or a folder of Parquet files, but"),
        ("agreement {scores} {human} --out x.xls", "must end in .csv, .jsonl or .parquet, but got 'x.xls'"),
        ("agreement {scores} {human} --level word",
         "--level must be one of 'item', 'group', 'system', but got 'word'."),
        ("agreement {scores} {human} --method word", "--method must be one of"),
        ("agreement {scores} {human} --confidence-level 95", "--confidence-level must be between 0 and 1, but got 95"),
        ("agreement {scores} {mine}", "must say which criterion is meant ('coherence' or 'fluency'), but `score`"),
        ("agreement {scores} {human} --nonsense", "No such option: --nonsense"),
        ("agreement {scores}", "LABELS must be given"),
        ("nonsense", "No such command 'nonsense'."),
        ("agreement {scores} {human} --convention word", "--convention must be one of"),
        ("agreement {scores} {human} --convention geval --level group", "--level is set by --convention 'geval'"),
        ("agreement {scores} {human} --missing word", "--missing must be one of"),
        ("agreement {scores} {human} --interval word", "--interval must be one of"),
        ("agreement {scores} {human} --interval boot-both --n-resamples 0", "--n-resamples must be"),
        ("agreement {scores} {human} --rng x", "Invalid value for '--rng'"),
        ("compare {first} {second} {pooled} --test word", "--test must be one of"),
        ("rank-judges {two} {pooled} --correction word", "--correction must be one of"),
        ("compare {first} {second} {two} {pooled}",
         "Got unexpected extra argument"),
        ("compare {first} {pooled}", "LABELS must be given, beside two tables of calib's"),
        ("compare {first} {first} {pooled}", "must hold two judges of one criterion"),
        ("compare {first}", "LABELS must be given"),
        ("reliability {rest} --annotator-test", "--annotator-test needs JUDGES"),
        ("reliability {rest} {second} --epsilon 0.1", "--epsilon is an option of --annotator-test alone"),
        ("reliability {rest} {second} --annotator-test", "must have 3 raters"),
        ("reliability {human}", "FILE must have 2 raters"),
        ("reliability {rest} --metric word", "--metric must be one of"),
        ("reliability {rest} {second} --min-reliability 2", "--min-reliability must be"),
        ("interval {scores} {gold} --by nothing", "--by must be a column of the scores, but got 'nothing'"),
        ("interval {scores} {human} --estimator ppi", "must be 'auto' or 'classical' where every item has a label"),
        ("interval {scores} {gold} --estimator magic", "--estimator must be one of"),
        ("convergence {ratings}", "SAMPLED must hold ratings of method 'sample', but has none."),
        ("convergence {sampled} --sizes 99", "--sizes must be whole numbers from 1 to 5"),
        ("summarize {items}", "ratings: column `criterion` is missing"),
        ("summarize {people} --pool all", "--pool must be one of 'rater', 'prompt', but got 'all'."),
        ("report {scores} {gold} --out r.pdf", "--out must end in .md or .html, but got 'r.pdf'."),
        ("data nothing", "NAME must be one of alpaca_eval, composo, hanna, llm_rubric, llm_summeval,"),
        ("data planted", "--out must name a folder"),
        ("rate {items} --criterion beauty --model offline --out r.csv", "--criterion must be one of 'coherence'"),
        ("rate {items} --criterion fluency --model offline --method magic --out r.csv",
         "--method must be one of 'auto'"),
        ("rate {items} --criterion fluency --model offline --draws 0 --out r.csv", "--draws must be"),
        ("rate {items} --criterion fluency --model offline --temperature -1 --out r.csv",
         "--temperature must not be negative"),
        ("rate {items} --criterion fluency --model offline --top-logprobs 0 --out r.csv", "--top-logprobs must be"),
        ("rate {items} --criterion fluency --model offline --reasoning aloud --out r.csv",
         "--reasoning must be one of"),
        ("rate {items} --criterion fluency --model offline --inputs nothing --out r.csv", "'nothing' is missing"),
        ("rate {items} --criterion a --criterion b --criteria words --model offline --out r.csv",
         "exactly one --criterion"),
        ("rate {items} --criterion fluency --model offline --out r.txt", "must end in .csv, .jsonl or .parquet"),
        ("rate {items} --criterion fluency --model offline", "--out must name a file for the ratings"),
        ("rate {items} --criterion fluency --out r.csv", "Missing option '--model'"),
        ("report {scores} {gold} --out r.md --by nope", "--by must be a column of the scores, but got 'nope'"),
    ],
)  # fmt: skip
def test_wrong_usage_and_input_end_with_2(run, files, own, tmp_path, monkeypatch, command, words):
    monkeypatch.chdir(tmp_path)
    places = {**files, "mine": own, "folder": tmp_path}
    code, _, err = run(*(part.format(**places) for part in command.split()))
    assert code == 2
    one_line(err, words)
    if words.startswith(("--", "FILE", "LABELS", "SAMPLED")):  # of options, and of verbs
        assert set(re.findall(r"`(.*?)`", err)) <= set(calib.__all__)
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".sqlite"] == ["mine.csv"]


@pytest.mark.slow
def test_help_of_an_option_is_that_of_the_function(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    _, out, _ = run("interval", "--help")
    output = folded(out)
    assert "--alternative" in output
    assert "two-sided, greater or less. greater gives a lower bound, less an upper one." in output
    assert "[default: 10]" in output
    for command in commands():
        assert run(command, "--help")[0] == 0


def test_a_file_with_a_bad_cell_that_is_no_table_or_cannot_be_written_is_named(run, files, tmp_path):
    path = table.write(table.read_frame(files["scores"]).assign(score="high"), tmp_path / "broken.csv")
    (tmp_path / "t.jsonl").write_text('{"item": ')
    (tmp_path / "t.csv").write_text("a,b\n1\n")
    row = f"calib: {path}: scores: column `score`, row 0: must be a number, but got 'high'."
    for first, words in ((path, row), (tmp_path / "t.jsonl", "t.jsonl"), (tmp_path / "t.csv", "t.csv")):
        code, _, err = run("agreement", first, files["human"])
        assert code == 2
        one_line(err, words)
    code, _, err = run("agreement", files["scores"], files["human"], "--out", path / "a.csv")
    assert code == 2
    one_line(err, str(path))


@pytest.mark.slow
def test_no_key_ends_with_1(files, tmp_path):
    bare = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    command = [
        "rate", files["items"], "--criterion", "fluency", "--model", "openai/gpt-4o-mini", "--out",
        tmp_path / "r.csv",
    ]  # fmt: skip
    done = subprocess.run([*RUN, *map(str, command)], capture_output=True, text=True, env=bare, check=False)
    assert done.returncode == 1
    price, error = done.stderr.strip().splitlines()  # the price needs no key
    assert price.startswith("calib: 78 calls")
    one_line(f"{error}\n", "OPENAI_API_KEY")


def test_a_failed_call_ends_with_1(run, files, tmp_path, monkeypatch):
    async def fail(request):
        raise OSError("the line is dead")

    monkeypatch.setattr("calib.judge.offline.complete", fail)
    code, _, err = run("rate", files["items"], *OFFLINE, "--out", tmp_path / "r.csv")
    assert code == 1
    assert "calib: the call for item" in err
    assert "run again to go on" in err
    assert "Traceback" not in err


def test_data_that_cannot_be_had_ends_with_1(run, tmp_path, monkeypatch):
    monkeypatch.setenv("CALIB_DATA", str(tmp_path / "nowhere"))
    code, _, err = run("data", "summeval", "--out", tmp_path)
    assert code == 1
    one_line(err, "`CALIB_DATA` must name a folder")


def test_a_locked_store_says_which_file_and_what_to_do(run, files, tmp_path, monkeypatch):
    path = tmp_path / "s.sqlite"
    Store(path).__exit__()
    monkeypatch.setattr("calib.judge.calls.store._PATIENCE", 0.1)
    command = ["rate", files["items"], *OFFLINE, "--store", path]
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        code, _, err = run(*command, "--out", tmp_path / "r.csv")
    assert code == 2
    one_line(err, f"--store must not be locked by another program, but {path} was for 0.1 s (")
    assert "end it and run again" in err


def test_a_store_that_is_none_ends_with_2(run, files, tmp_path):
    (tmp_path / "s.sqlite").write_text("a letter, not a database " * 50)
    options = ("--store", tmp_path / "s.sqlite", "--out", tmp_path / "r.csv")
    code, _, err = run("rate", files["items"], *OFFLINE, *options)
    assert code == 2
    one_line(err, "--store must be a new file or a store of calib")


def test_a_fault_of_our_own_is_not_hidden(files, monkeypatch):
    def fail(*_, **__):
        raise KeyError("a bug")

    monkeypatch.setattr(calib, "agreement", fail)
    with pytest.raises(KeyError, match="a bug"):
        cli.main(["agreement", str(files["scores"]), str(files["human"])])


# sends itself further signals: when it hears the first one, and as its store is closed and is closed
SIGNALLED = """
import os, signal, sys
from calib.cli import main
from calib.core import progress
from calib.judge.calls.store import Store

further = [getattr(signal, name) for name in sys.argv.pop(1).split()]
hear, close = progress.Stop.__call__, Store.__exit__

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which tests under nohup ignore

def another():
    if further:
        os.kill(os.getpid(), further.pop(0))

def heard(stop, number, frame):
    first = not stop.heard
    hear(stop, number, frame)
    if first:
        another()

def closed(store, *error):
    another()
    close(store, *error)
    another()

progress._PATIENCE, progress.Stop.__call__, Store.__exit__ = 600.0, heard, closed
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("further", [[], ["SIGINT"], ["SIGINT", "SIGINT", "SIGTERM"]], ids=len)
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_an_interrupted_run_says_what_is_kept_and_goes_on(files, tmp_path, name, further):
    store = tmp_path / "s.sqlite"
    command = [sys.executable, "-c", SIGNALLED, " ".join(further), *long_run(files, store)]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    wait_for_replies(store)
    running.send_signal(getattr(signal, name))
    _, err = running.communicate(timeout=300)
    assert running.returncode == 128 + getattr(signal, name)
    kept = replies(store)
    assert kept > 0
    assert f"calib: interrupted. {kept} replies are kept in {str(store)!r}: run again to go on.\n" in err
    assert "Traceback" not in err
    assert not (tmp_path / "r.csv").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_command_without_calls_ends_by_signals_too(files, name):
    code = (
        "import functools, signal, time, calib, calib.cli\n"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
        "calib.agreement = functools.wraps(calib.agreement)(lambda *_, **__: (print(1, flush=True), time.sleep(600)))\n"
        "calib.cli.main()"
    )
    command = [sys.executable, "-c", code, "agreement", str(files["scores"]), str(files["human"])]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert running.stdout.readline() == "1\n"
    running.send_signal(getattr(signal, name))
    out, err = running.communicate(timeout=300)
    assert (running.returncode, out, err) == (128 + getattr(signal, name), "", "calib: interrupted.\n")


@pytest.mark.slow
def test_a_terminal_that_is_closed_ends_a_run_in_order(files, tmp_path):
    """Its signal is SIGHUP, and nothing can be written to it any more."""
    store = tmp_path / "s.sqlite"
    code = (
        "import fcntl, signal, termios; from calib.cli import main; signal.signal(signal.SIGHUP, signal.SIG_DFL);"
        "fcntl.ioctl(0, termios.TIOCSCTTY, 0); main()"
    )
    ours, its = os.openpty()
    running = subprocess.Popen(
        [sys.executable, "-c", code, *long_run(files, store)], stdin=its, stdout=its, stderr=its, start_new_session=True
    )
    os.close(its)
    closing_time = Event()
    reader = Thread(target=read_until, args=(ours, closing_time), daemon=True)
    reader.start()
    wait_for_replies(store)
    closing_time.set()
    reader.join()  # as long as it reads the terminal stays open
    os.close(ours)
    assert running.wait(300) == 128 + signal.SIGHUP
    assert 0 < replies(store) < 5000


def long_run(files, store):
    """A command that makes thousands of calls, in a minute and a half."""
    options = ("--method", "sample", "--draws", "600", "--requests-per-minute", "30000")
    options += ("--store", store, "--out", store.with_name("r.csv"))
    return map(str, ("rate", files["items"], *OFFLINE, *options))


def wait_for_replies(store):
    deadline = time.monotonic() + 300
    while not replies(store) and time.monotonic() < deadline:
        time.sleep(0.05)


def read_until(terminal, end):
    with suppress(OSError):
        while not end.is_set():
            if select.select([terminal], [], [], 0.02)[0]:
                os.read(terminal, 1 << 16)


def replies(store):
    if not store.exists():
        return 0
    with closing(sqlite3.connect(store, timeout=30)) as database:
        try:
            return database.execute("SELECT count(*) FROM replies").fetchone()[0]
        except sqlite3.OperationalError:  # the table is not there yet
            return 0


@pytest.mark.parametrize(
    ("owner", "name", "kind"),
    [(calib, "agreement", KeyboardInterrupt), (program, "app", KeyboardInterrupt), (program, "app", typer.Abort)],
)
def test_an_interrupt_anywhere_ends_with_130(run, files, monkeypatch, owner, name, kind):
    def interrupt(*_, **__):
        raise kind

    monkeypatch.setattr(owner, name, interrupt)
    code, _, err = run("agreement", files["scores"], files["human"])
    assert code == 130
    assert "calib: interrupted." in err


# --- what it writes ---------------------------------------------------------------------------------------------


def linked(path, folder, how):
    """Another name of a file."""
    if how == "relative":
        return os.path.relpath(path)
    if how == "through a folder":
        return folder / "sub" / ".." / path.name
    other = folder / f"other{path.suffix}"
    if how == "symbolic link":
        other.symlink_to(path)
    elif how == "link of a link":
        (folder / "between.csv").symlink_to(path)
        other.symlink_to("between.csv")
    elif how == "hard link":
        os.link(path, other)
    return path if how == "the same" else other


# a command's arguments with its inputs in braces, and how the input that must not be written over is called
OUT_IS_AN_INPUT = [
    (["agreement", "{scores}", "{human}"], "scores", "FILE"),
    (["agreement", "{scores}", "{human}"], "human", "LABELS"),
    (["agreement", "{scores}", "{human}", "--items", "{items}"], "items", "--items"),
    (["compare", "{first}", "{second}", "{pooled}"], "second", "SECOND"),
    (["reliability", "{people}"], "people", "FILE"),
    (["convergence", "{sampled}", "{scores}", "--labels", "{human}"], "human", "--labels"),
    (["interval", "{scores}", "{gold}"], "gold", "LABELS"),
    (["difference", "{scores}", "{gold}", "a", "b"], "scores", "ARGUMENTS"),
    (["sensitivity", "{ratings}"], "ratings", "RATINGS"),
    (["choose", "{scores}", "10"], "scores", "FILE"),
    (["read-labels", "{human}"], "human", "LABELS"),
    (["summarize", "{ratings}"], "ratings", "RATINGS"),
    (["rate", "{items}", "--criterion", "fluency", "--model", "offline"], "items", "ITEMS"),
]


@pytest.mark.parametrize(("command", "name", "called"), OUT_IS_AN_INPUT)
def test_out_is_no_file_that_is_read(run, files, tmp_path, command, name, called):
    own = {one: tmp_path / path.name for one, path in files.items()}
    for one, path in files.items():
        own[one].write_bytes(path.read_bytes())
    code, out, err = run(*(part.format(**own) for part in command), "--out", own[name])
    assert (code, out) == (2, "")
    path = str(own[name])
    one_line(err, f"--out must be another file than {called}, but {path!r} is {path!r}.")
    assert all(own[one].read_bytes() == path.read_bytes() for one, path in files.items())


@pytest.mark.parametrize(
    "how", ["the same", "relative", "through a folder", "symbolic link", "link of a link", "hard link"]
)
def test_out_is_no_file_that_is_read_by_any_name(run, files, tmp_path, how):
    (tmp_path / "sub").mkdir()
    path = tmp_path / "scores.csv"
    path.write_bytes(before := files["scores"].read_bytes())
    code, _, err = run("agreement", path, files["human"], "--out", linked(path, tmp_path, how))
    assert code == 2
    one_line(err, "--out must be another file than FILE, but ")
    assert path.read_bytes() == before


@pytest.mark.parametrize("output", ["--to-batch", "--store", "--from-jsonl"])
def test_the_other_files_of_rate_are_none_that_is_read_or_written_besides(run, files, tmp_path, output):
    path = tmp_path / "one.csv"
    path.write_bytes(files["items"].read_bytes())
    command = ["rate", files["items"], "--criterion", "fluency", "--model", "offline", "--out", path]
    if output == "--to-batch":
        command = ["rate", path, *command[2:-2]]
    code, _, err = run(*command, output, path)
    assert code == 2
    one_line(err, " must be another file than ")
    assert path.read_bytes() == files["items"].read_bytes()


IDS = ["=cmd|' /C calc'!A0", "+1", "-2+3", "@SUM(A1)", "\tx", "\rx", "\x1b[31mx", "'=x", "-0.5", "plain"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:rare_failures")
def test_ids_that_look_like_formulas_match_after_they_were_written(run, tmp_path):
    rows = {"item": IDS, "criterion": "c", "draw": 0, "scale": "1..5"}
    for name, scores in (("judge", [1, 2, 3, 4, 5, 1, 2, 3, 4, 5]), ("people", [1, 2, 3, 4, 5, 2, 2, 3, 5, 5])):
        frame = pd.DataFrame(rows | {"rater": name, "score": scores})
        table.write(frame, tmp_path / f"{name}.csv")
        run("summarize", tmp_path / f"{name}.csv", "--out", tmp_path / f"{name}-scores.csv")
        with (tmp_path / f"{name}-scores.csv").open(newline="") as file:
            written = [row[0] for row in csv.reader(file)][1:]
        assert sorted(written) == sorted(one if one in {"+1", "-0.5", "plain"} else f"'{one}" for one in IDS)
        assert sorted(table.read(tmp_path / f"{name}-scores.csv", "scores")["item"]) == sorted(IDS)
    for judge, people in product(("judge", "judge-scores"), ("people", "people-scores")):
        code, out, _ = run("agreement", tmp_path / f"{judge}.csv", tmp_path / f"{people}.csv")
        assert code == 0
        assert "n 10" in " ".join(out.split())


# --- what it prints ---------------------------------------------------------------------------------------------


def test_warnings_are_one_line_each(run, files, monkeypatch):
    def warn(*_, **__):
        warnings.warn("mind\nthis", stacklevel=2)
        raise ValueError("done")

    monkeypatch.setattr(calib, "agreement", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        _, _, err = run("agreement", files["scores"], files["human"])
    assert err == "calib: mind this\ncalib: done\n"


@pytest.mark.slow
def test_control_characters_do_not_reach_the_terminal(run, tmp_path):
    rows = {"item": ["a\x1b[31m", "b", "c"], "criterion": "c\x07\x9b2J", "score": [1, 2, 3]}
    first, second = (
        table.write(pd.DataFrame({**rows, "rater": f"\x1b[2J{name}"}), tmp_path / f"{name}.csv") for name in ("x", "y")
    )
    third = table.write(pd.DataFrame({**rows, "rater": "\x1b[2Jz", "score": [1, 3, 2]}), tmp_path / "w.csv")
    for command in (
        ["agreement", first, second],
        ["agreement", first, second, "--level", "\x1b[2J"],
        ["compare", first, third, second],
        ["compare", first, second, third, "--test", "\x1b[2J"],
    ):
        _, out, err = run(*command)
        assert "[2J" in out + err
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", out + err)
    ratings = pd.DataFrame({**rows, "rater": "r"}).assign(draw=0)
    _, out, _ = run("summarize", table.write(ratings, tmp_path / "z.csv"))
    assert "a[31m" in out
    assert "\x1b" not in out


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_tables_keep_to_the_width_of_the_terminal(run, files, monkeypatch):
    widths = {}
    for width in (200, 60):
        monkeypatch.setenv("COLUMNS", str(width))
        _, out, _ = run("interval", files["scores"], files["gold"], "--by", "system", *FEW)
        widths[width] = max(len(line.rstrip("\\ ")) for line in out.splitlines() if "signature" not in line)
    assert widths[60] <= 60 < widths[200] <= 200
    # the columns that name a row and its interval stay
    table, _, _ = out.partition("The same in all rows")
    head = table.splitlines()[0].split()
    assert head[:2] == ["criterion", "system"]
    assert {"estimate", "conf_low", "conf_high"} <= set(head)
    assert "Not shown (screen too narrow): " in table
    assert "--json has all columns" in " ".join(table.split())


# commands that are no verb of `calib`: a demonstration, the data sets
NO_VERBS = {"demo", "data"}


def test_python_runs_it_by_the_name_of_the_package():
    done = subprocess.run([sys.executable, "-m", "calib", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"calib {calib.__version__}\n")


def test_it_has_its_version_and_a_command_is_called_as_its_verb(run):
    assert run("--version") == run("--version", "interval") == (0, f"calib {calib.__version__}\n", "")
    verbs = {name.replace("-", "_") for name in set(commands()) - NO_VERBS}
    assert verbs <= set(calib.__all__)
    assert verbs <= set(dir(calib))


@pytest.mark.parametrize("command", sorted(set(commands()) - NO_VERBS))
def test_an_option_is_called_as_its_parameter(command):
    """Each keyword argument that a shell can give is an option of that name, with the default of the verb."""
    verb = command.replace("-", "_")
    own = inspect.signature(built(commands()[command])).parameters
    function = inspect.signature(getattr(calib, verb)).parameters
    wanted = {name for name in arguments(verb) if function[name].kind is inspect.Parameter.KEYWORD_ONLY}
    assert wanted - {"progress", "title"} - {"label": {"criteria", "annotators"}}.get(command, set()) <= set(own)
    for name in wanted & set(own) - {"title", *["rng"] * (command == "choose")}:
        default = function[name].default
        assert own[name].default == (list(default) if isinstance(default, tuple) else default), name


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_two_files_of_a_user_may_name_their_columns_differently(run, tmp_path):
    rows = [(f"i{k}", f"d{k // 2}", "ab"[k % 2], 1 + (k * 3) % 5) for k in range(40)]
    judge, people = tmp_path / "judge.csv", tmp_path / "people.csv"
    judge.write_text("id,doc,sys,grade\n" + "".join(f"{i},{d},{s},{g}\n" for i, d, s, g in rows))
    people.write_text("key,label\n" + "".join(f"{i},{min(g + k % 2, 5)}\n" for k, (i, _, _, g) in enumerate(rows[:15])))
    own = (
        "--column", "item=id", "--judge", "grade", "--column", "label_item=key", "--label", "label", "--system",
        "sys",
    )  # fmt: skip
    out = tmp_path / "out.csv"
    code, _, err = run("interval", judge, people, *own, "--by", "system", "--out", out, *FEW)
    assert code == 0
    taken, scale, few, *_ = err.splitlines()
    assert taken == (
        "calib: judge.csv: `id` as ids, `sys` as system (2 of them; --by system gives each its mean), `doc` as group, "
        "`grade` as the judge"
    )
    assert scale == "calib: people.csv: `key` as ids, `label` as labels; scale 1|2|3|4|5 (guessed)"
    assert few.startswith("calib: few_labels: 8 labels; ")
    assert table.read_frame(out)[["system", "n_labels", "n"]].to_numpy().tolist() == [["a", 8, 20], ["b", 7, 20]]
    code, _, err = run("agreement", judge, people, *own, "--group", "doc", "--level", "system", "--out", out)
    assert (code, err) == (0, f"{taken}\n{scale}\n")
    assert table.read_frame(out)["n_systems"].tolist() == [2]
