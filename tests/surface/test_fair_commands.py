"""Bias, pass and fail, habits, boards and labels needed in the shell: what a file becomes, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import calib

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]  # what the shell shows beside its output


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A file of verdicts, and one of ratings by two people with texts."""
    path, rng = tmp_path_factory.mktemp("fair"), np.random.default_rng(0)
    yes = rng.random(200) < 0.7
    judge = np.where(rng.random(200) < 0.9, yes, ~yes)
    words = np.array(["fail", "pass"])
    passes = {"id": [f"i{k}" for k in range(200)], "llm": words[judge.astype(int)]}
    human = np.where(np.arange(200) < 80, words[yes.astype(int)], "")
    pd.DataFrame(passes | {"human": human}).to_csv(path / "passes.csv", index=False)
    quality, length = rng.normal(3, 1, 180), rng.integers(5, 60, 180)
    scores = [np.clip(np.round(quality + rng.normal(0, 0.5, 180)), 1, 5).astype(int) for _ in range(2)]
    liked = np.clip(np.round(quality + np.log(length) - 3), 1, 5).astype(int)
    texts = {"output": [" ".join(["w"] * k) for k in length], "system": np.tile(list("ABC"), 60)}
    rated = {"id": range(180), "question": np.repeat(range(60), 3), "gpt": liked, "ann": scores[0], "bob": scores[1]}
    pd.DataFrame(rated | texts).to_csv(path / "rated.csv", index=False)
    return path


def test_passfail_takes_production(run, folder, tmp_path):
    frame = pd.read_csv(folder / "passes.csv")
    frame[:80].to_csv(tmp_path / "test.csv", index=False)
    frame[80:].drop(columns="human").to_csv(tmp_path / "used.csv", index=False)
    code, printed, err = run("pass-fail", tmp_path / "test.csv", "--production", tmp_path / "used.csv")
    assert code == 0, err
    assert "120 production items" in " ".join(printed.split())


def test_passfail_says_what_a_mark_must_be(run, folder):
    code, _, err = run("pass-fail", folder / "rated.csv", "--judge", "gpt", "--label", "ann", "--label-threshold", "9")
    assert code != 0
    assert "--label-threshold must be above 1 and up to 5" in " ".join(err.split())


def test_bias_prints_what_the_function_returns(run, folder, tmp_path):
    options = ["--judge", "gpt", "--label", "ann", "--label", "bob", "--column", "item=id", "--group", "question"]
    code, printed, err = run(
        "bias", folder / "rated.csv", *options, "--features", "length", "--out", tmp_path / "out.csv"
    )
    assert code == 0, err
    written = pd.read_csv(tmp_path / "out.csv")
    columns = {"judge": "gpt", "label": ["ann", "bob"], "item": "id", "group": "question"}
    found = calib.bias(folder / "rated.csv", features=["length"], **columns).one()
    assert written["estimate"].iloc[0] == pytest.approx(found.estimate)
    assert "more for length" in " ".join(printed.split())


def test_bias_takes_families(run, folder):
    options = ["--judge", "gpt", "--label", "ann", "--column", "item=id", "--features", "family"]
    code, printed, err = run(
        "bias", folder / "rated.csv", *options, *(f"--family={n}" for n in ("A=x", "B=y", "C=y", "gpt=x"))
    )
    assert code == 0, err
    assert "family" in printed
    code, _, err = run("bias", folder / "rated.csv", *options, "--family", "A")
    assert code != 0
    assert "--family must be NAME=FAMILY" in err


@pytest.mark.parametrize("aim", [("--half-width", 0.2), ("--difference", 0.3, "--power", 0.9)])
def test_labels_needed_prints_what_the_function_returns(run, folder, aim):
    code, printed, err = run(
        "labels-needed", folder / "rated.csv", "--judge", "gpt", "--label", "ann", "--column", "item=id", *aim
    )
    assert code == 0, err
    options = {name[2:].replace("-", "_"): value for name, value in zip(aim[::2], aim[1::2], strict=True)}
    found = calib.labels_needed(folder / "rated.csv", judge="gpt", label="ann", item="id", **options).one()
    assert str(found) in " ".join(printed.split())
    assert f"n_labels  half_width  half_width_alone\n{found.curve[0][0]}" in "\n".join(
        map(str.strip, printed.splitlines())
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "--half-width or --difference must be given, and not both"),
        (("--half-width", 0.2, "--difference", 0.2), "--half-width or --difference must be given, and not both"),
        (("--half-width", 0.01), "--half-width must be"),
        (("--half-width", 0.2, "--power", 0.01), "--power must be between 1 - --confidence-level"),
    ],
)
def test_what_labels_needed_refuses(run, folder, options, words):
    code, printed, err = run("labels-needed", folder / "rated.csv", "--judge", "gpt", "--label", "ann", *options)
    assert (code, printed) == (2, "")
    assert words in " ".join(err.split())
