"""`calib label` and `calib read-labels`: from a file of one's own to an interval, in the shell."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from page_data import page_data, page_ids

import calib
from calib import cli

pytestmark = pytest.mark.slow

FIVE = "1|2|3|4|5"


@pytest.fixture
def run(capsys):
    def call(*arguments):
        with pytest.raises(SystemExit) as done:
            cli.main([str(a) for a in arguments])
        out, err = capsys.readouterr()
        return done.value.code, " ".join(out.split()), " ".join(err.split())

    return call


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """One row per output, under names of one's own."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "code": [f"c{k:03d}" for k in range(60)],
            "model": ["gpt-4o", "llama"] * 30,
            "question": [f"What is {k // 2}?" for k in range(60)],
            "answer": [f"It is {k}." for k in range(60)],
            "gpt4": rng.integers(1, 6, 60),
        }
    )
    frame.to_csv(tmp_path / "results.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(path):
    """What a page holds: its ids, and all else."""
    return page_ids(path), page_data(path)


def chosen_in(path):
    frame = pd.read_csv(path, dtype=str)
    return sorted(frame.loc[frame["chosen"] == "True", "item"])


def exported(path, page, rater, ids, scores, criterion="quality"):
    """What the page exports."""
    frame = pd.DataFrame({"item": ids, "criterion": criterion, "rater": rater, "scale": FIVE, "method": "human"})
    frame = frame.assign(score=scores, status="ok", seconds=12.5, time="2026-03-01T09:00:00Z", comment="")
    return calib.table.write(
        frame.assign(position=range(1, len(ids) + 1), swapped="false", page=page), path, for_spreadsheets=True
    )


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("--item", "code"), ("--item", "code", "--system", "model")])
def test_choose_label_read_interval(run, folder, words):
    of_file = ("--column", "item=code", *words[2:]) if words else ()
    assert run("choose", "results.csv", 40, "--scale", FIVE, "--out", "chosen.csv", *of_file)[0] == 0
    code, out, err = run("label", "chosen.csv", "results.csv", "--out", "label.html", *words)
    assert (code, err) == (0, "next: calib read-labels LABELS.csv --drawn chosen.csv --out labels.csv")
    assert "label.html: 40 items to label (quality)" in out
    assert "Shown of each: question, answer. 40 labels" in out
    ids, data = told("label.html")
    assert sorted(ids) == chosen_in("chosen.csv")
    judged = pd.read_csv("chosen.csv").set_index("item")["score"]
    scores = [min(int(judged[item]) + 1, 5) for item in ids]
    exported("labels.csv", data["page"], "ann", ids, scores)
    code, out, err = run("read-labels", "labels.csv", "--drawn", "chosen.csv", "--out", "joined.csv")
    assert (code, "wrote 40 rows to joined.csv" in out) == (0, True)
    direct = pd.DataFrame({"item": ids, "criterion": "quality", "rater": "ann", "score": scores, "scale": FIVE})
    wanted = calib.interval("chosen.csv", direct).one()
    for path in ("labels.csv", "joined.csv"):
        found = calib.interval("chosen.csv", path).one()
        assert (found.estimate, *found.interval) == (wanted.estimate, *wanted.interval)
    assert run("interval", "chosen.csv", "joined.csv")[0] == 0


def test_the_line_of_the_issue_with_tables_of_calibs(run, folder):
    items, people = calib.load_planted()
    judge = calib.summarize(people[people["rater"] == "simulated-1"], items)
    calib.table.write(items, "items.csv")
    calib.table.write(judge[judge["criterion"] == "fluency"], "scores.csv")
    assert run("choose", "scores.csv", 40, "--out", "chosen.csv")[0] == 0
    assert run("label", "chosen.csv", "items.csv", "--out", "label.html")[0] == 0
    ids, data = told("label.html")
    assert sorted(ids) == chosen_in("chosen.csv")
    assert [(one["name"], one["scale"]) for one in data["criteria"]] == [("fluency", FIVE)]
    assert data["parts"] == ["source", "output"]


def test_options(run, folder):
    run("choose", "results.csv", 20, "--scale", FIVE, "--out", "chosen.csv")
    Path("guide.md").write_text("Be fair, always.", encoding="utf-8")
    options = ["--criterion", "quality=Is it = right?", "--criterion", "tone", "--scale", "bad=1|fair=3|good=5"]
    options += ["--annotator", "ann", "--annotator", "bo", "--overlap", 6, "--guideline", "guide.md", "--seed", 4]
    options += ["--inputs", "answer", "--title", "My labels"]
    code, out, err = run("label", "chosen.csv", "results.csv", "--out", "new/label.html", *options)
    assert (code, err[:6]) == (0, "next: ")
    assert "6 of them by both annotators" in out
    ann, bo = (told(f"new/label-{name}.html") for name in ("ann", "bo"))
    assert len(set(ann[0]) & set(bo[0])) == 6
    meanings = {one["name"]: one["meaning"] for one in ann[1]["criteria"]}
    assert meanings == {"quality": "Is it = right?", "tone": ""}
    text = Path("new/label-ann.html").read_text("utf-8")
    assert "Be fair, always." in text
    assert "My labels" in text
    assert ann[1]["parts"] == ["answer"]
    run("label", "chosen.csv", "results.csv", "--out", "five.html", "--seed", 5, "--rater", "ann")
    run("label", "chosen.csv", "results.csv", "--out", "six.html", "--seed", 6, "--rater", "ann")
    assert told("five.html")[0] != told("six.html")[0]
    assert told("five.html")[1]["annotator"] == "ann"
    run("label", "chosen.csv", "results.csv", "--out", "text.html", "--guideline", "See http://x.org//y. Be kind")
    assert "See http://x.org//y. Be kind" in Path("text.html").read_text("utf-8")
    Path("words.json").write_text('{"start": "Los geht es"}', encoding="utf-8")
    run("label", "chosen.csv", "results.csv", "--out", "german.html", "--words", "words.json")
    assert "Los geht es" in Path("german.html").read_text("utf-8")


def test_rounds(run, folder):
    run("choose", "results.csv", 20, "--scale", FIVE, "--out", "chosen.csv")
    run("label", "chosen.csv", "results.csv", "--out", "label.html")
    ids, data = told("label.html")
    exported("labels.csv", data["page"], "ann", ids, [3] * 20)
    assert run("choose", "chosen.csv", 10, "--more", "--out", "chosen-2.csv")[0] == 0
    code, out, _ = run("label", "chosen-2.csv", "results.csv", "--labelled", "labels.csv", "--out", "label-2.html")
    assert (code, "10 items to label" in out) == (0, True)
    new, later = told("label-2.html")
    assert later["page"] == data["page"]
    assert sorted([*ids, *new]) == chosen_in("chosen-2.csv")


def test_pairs(run, folder):
    frame = pd.read_csv("results.csv").assign(other=[f"No, {k}." for k in range(60)])
    frame.to_csv("pairs.csv", index=False)
    line = ["label", "pairs.csv", "--criterion", "better", "--pair", "answer", "--pair", "other", "--out", "label.html"]
    assert run(*line)[0] == 0
    _, data = told("label.html")
    assert (data["paired"], data["parts"]) == (True, ["question", "first", "second"])
    assert sum(swapped for _, swapped, _ in data["items"]) == 30


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("results.csv chosen.csv", "CHOSEN must be the table that has the column `chosen`, but chosen.csv"),
        ("chosen.csv", "ITEMS must hold the texts that people read: give the file of the texts"),
        ("results.csv", "--criterion must say what is asked of each item"),
        ("results.csv --criterion x", "--scale must say on which scale people label 'x'"),
        ("chosen.csv nix.csv", "there is no file 'nix.csv'"),
        ("... --out x.pdf", "must end in .html"),
        ("... --to xlsx", "--out must end in .xlsx for 'xlsx'"),
        ("... --criterion a --criterion a", "--criterion must be different names"),
        ("... --criterion a=x --criterion a=y", "--criterion must be different names"),
        ("... --overlap 2", "--overlap needs --annotator, two or more"),
        ("... --scale 1|x", "--scale must read"),
        ("... --inputs nix", "--inputs must be columns of the items, but got 'nix'"),
        ("... --item nix", "--item must be a column, but got 'nix'"),
        ("... --labelled nix.csv", "nix.csv"),
        ("... --words results.csv", "--words must be a JSON file"),
        ("... --words list.json", "--words must hold one JSON object"),
        ("... --words no.json", "--words must be a JSON file, but there is no file 'no.json'"),
        ("... --guideline no.md", "--guideline must be a text, or a file"),
    ],
)
def test_what_is_refused(run, folder, line, text):
    run("choose", "results.csv", 20, "--scale", FIVE, "--out", "chosen.csv")
    Path("list.json").write_text("[1]", encoding="utf-8")
    code, out, err = run("label", "--out", "x.html", *line.replace("...", "chosen.csv results.csv").split())
    assert (code, out) == (2, "")
    assert text in err
    assert not Path("x.html").exists()


def test_a_file_that_is_read_is_not_written_over(run, folder):
    run("choose", "results.csv", 20, "--scale", FIVE, "--out", "chosen.csv")
    Path("guide.html").write_text("x", encoding="utf-8")
    for option in ("--guideline", "--words", "--labelled"):
        code, _, err = run("label", "chosen.csv", "results.csv", option, "guide.html", "--out", "guide.html")
        assert (code, f"--out must be another file than {option}" in err) == (2, True)
    assert Path("guide.html").read_text("utf-8") == "x"
