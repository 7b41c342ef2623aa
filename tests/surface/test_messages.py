"""Messages and help name what the user has: keywords in Python, options in a shell, their own files and columns."""

import numpy as np
import pandas as pd
import pytest

import calib

RNG = np.random.default_rng(0)
TRUTH = RNG.integers(1, 6, 60)
ONE = pd.DataFrame({
    "id": [f"d{k // 3}-m{k % 3}" for k in range(60)],
    "document": [f"d{k // 3}" for k in range(60)],
    "model": [f"m{k % 3}" for k in range(60)],
    "judge": np.clip(TRUTH + RNG.integers(-1, 2, 60), 1, 5),
    "human": np.where(np.arange(60) % 3 < 2, TRUTH, np.nan),
})  # fmt: skip
JUDGE = calib.Judge("offline")
TOPIC = "must be a column of the scores, but got 'topic'; there are 'document', 'model'"
SHARE = "must be the share of A that wins: 1, 0, 0.5 for a tie, or between, but got"


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder with a file of one's own and no other table."""
    monkeypatch.chdir(tmp_path)
    ONE.to_csv("one.csv", index=False)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("pass-fail one.csv", "--label-threshold must say what passes where labels are not pass and fail"),
        ("convergence one.csv", "SAMPLED must have two items and two draws at least, but got shape (60, 1)"),
        ("pairwise-agreement one.csv", f"one.csv: column `judge`, line 2: {SHARE}"),
        ("position-bias one.csv", f"one.csv: column `judge`, line 2: {SHARE}"),
        ("length-controlled one.csv", f"one.csv: column `judge`, line 2: {SHARE}"),
        ("read-log one.csv", "--tool must say whose log it is, but one.csv is no log of deepeval"),
        ("compare one.csv", "FIRST must hold two judges (--judge names their columns"),
        ("rate one.csv --criterion beauty --model offline --out r.csv", "'escalation' (--criteria takes any other)"),
        ("choose one.csv 9 --more --out c.csv", "FILE must have been drawn by `choose` before, for --more,"),
        ("interval one.csv --by topic", f"--by {TOPIC}"),
        ("interval one.csv --groups topic", f"--groups {TOPIC}"),
        ("interval one.csv --strata topic", f"--strata {TOPIC}"),
        ("interval one.csv --weights topic", f"--weights {TOPIC}"),
        ("choose one.csv 9 --by topic --out c.csv", f"--by {TOPIC}"),
        ("interval .", "FILE must be a file, or a folder of Parquet files, but '.' is"),
        ("summarize . --out parts", "RATINGS must be a file, or a folder of Parquet files, but '.' is"),
    ],
)
def test_a_shell_says_options_files_and_columns(run, own, command, words):
    code, _, err = run(*command.split())
    assert code == 2
    assert words in err


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: calib.pass_fail(ONE), "`label_threshold` must say what passes"),
        (lambda: calib.convergence(ONE), "`sampled` must have two items"),
        (lambda: calib.pairwise_agreement(ONE), f"the frame: column `judge`, row 0: {SHARE}"),
        (lambda: calib.interval(ONE, by="topic"), f"`by` {TOPIC}"),
        (lambda: calib.geval_prompt("beauty"), "(`Prompt.from_criteria` takes any other)"),
        (lambda: calib.compare(ONE), "`scores_a` must hold two judges (`judge` names their columns"),
        (lambda: calib.interval(ONE.assign(other=ONE["judge"], human=np.where(ONE["judge"] > 2, "good", "bad")),
                                label=["human", "other"], judge="judge"), "the frame: column `other`, row 0: must lie"),
        (lambda: calib.report(calib.interval(ONE), by="model"), "`by` is of a file or a look"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::calib.core.check.CalibWarning")
def test_python_says_keywords_and_columns(call, words):
    with pytest.raises(ValueError, match=r"\w") as caught:
        call()
    assert words in str(caught.value)


@pytest.mark.slow
def test_a_plan_of_a_gate_without_a_criterion_begins_with_its_words(run):
    _, out, _ = run("gate", "--plan", "--threshold", 3, "--n-labels", 20, "--n-items", 100)
    assert out.startswith("a gate at 3 passes")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "option", "words"),
    [
        ("compare", "--systems", "auto, fixed or random. fixed: the question is about these systems"),
        ("rank-judges", "--systems", "auto, fixed or random. fixed: the question is about these systems"),
        ("labels-needed", "--n-items", "Default: those of the pilot."),
        ("sensitivity", "--confidence-level", "How often the intervals are to hold. [default"),
        ("plan", "plan", "Without prices --half-width is answered as by `calib labels-needed`; before"),
    ],
)
def test_help_is_of_the_option(run, command, option, words):
    text = " ".join(run(command, "--help")[1].split())
    assert words in text[text.index(option) :][: 400 + len(words)]


@pytest.mark.filterwarnings("ignore::calib.core.check.CalibWarning")
def test_what_a_look_and_warnings_say_is_typed_in_both():
    text = " ".join(str(calib.look(ONE)).split())
    assert "(a guess; give scale= or --scale)" in text
    assert "label_threshold=, --label-threshold (which labels pass)" in text
    notes = calib.gate(ONE, system="m0", threshold=1.5).notes
    assert any("(scale=, --scale)" in note for note in notes)


@pytest.mark.filterwarnings("ignore::calib.core.check.CalibWarning")
def test_a_report_takes_the_options_of_its_command(own):
    assert "90 % CI" in calib.report("one.csv", confidence_level=0.9).text
    assert "Pearson" in calib.report("one.csv", method="pearson").text
    look = calib.look(ONE.assign(topic=["x", "y"] * 30))
    assert "by topic" in calib.report(look, by="topic").text
    assert "by topic" not in calib.report(look).text


def test_tables_may_be_paths(own):
    ids = dict.fromkeys(["id"], "item") | {"document": "group", "model": "system"}
    items = ONE.rename(columns=ids)[["item", "group", "system"]].assign(source=ONE["document"], output=ONE["id"])
    prompt = calib.geval_prompt("fluency")
    path = calib.table.write(items, "items.csv")
    ratings = calib.rate(path, prompt, JUDGE, progress=False)
    pd.testing.assert_frame_equal(ratings, calib.rate(items, prompt, JUDGE, progress=False))
    kept = calib.table.write(ratings, "ratings.csv")
    pd.testing.assert_frame_equal(calib.summarize(str(kept), path), calib.summarize(ratings, items), check_like=True)
    pd.testing.assert_frame_equal(calib.pair_items(str(path)), calib.pair_items(items))
    batch = calib.Judge("openai/some", method="sample")
    both = [calib.to_batch(one, prompt, batch, own / f"{k}.jsonl").read_text() for k, one in enumerate((path, items))]
    assert both[0] == both[1]
    options = {"system": "m0", "threshold": 1.5, "scale": "1|2|3|4|5"}
    assert str(calib.gate(ONE, items=path, **options)) == str(calib.gate(ONE, items=items, **options))
