"""Each command that the page for coding agents names runs as it stands there."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from page_data import page_ids

import calib
from calib.cli import main
from calib.console.commands import side_by_side
from calib.console.program import commands

SKILL = Path(__file__).parents[2] / "agent-skills" / "calib" / "SKILL.md"
FENCE = re.compile(r"```shell\n(.*?)```", re.DOTALL)


def written_lines() -> list[str]:
    return [line for block in FENCE.findall(SKILL.read_text("utf-8")) for line in block.splitlines() if line]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A judge's scores of 200 outputs with people's labels of 80, and the texts."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    ids = [f"q{place}" for place in range(200)]
    quality = rng.normal(3.6, 0.9, 200)
    judge, human = (np.clip(np.round(quality + rng.normal(0, 0.5, 200)), 1, 5) for _ in range(2))
    human[80:] = np.nan
    pd.DataFrame({"item": ids, "judge": judge, "human": human}).to_csv("results.csv", index=False)
    pd.DataFrame({"item": ids, "source": "Why?", "output": ids}).to_csv("items.csv", index=False)


@pytest.fixture
def demo_files(tmp_path, monkeypatch):
    """Those of the demo: four systems in one file."""
    monkeypatch.chdir(tmp_path)
    items, people = calib.load_planted()
    judge = calib.Judge("offline", method="logprob")
    ratings = calib.rate(items, calib.geval_prompt("coherence"), judge, progress=False)
    calib.table.write(side_by_side(calib.summarize(ratings, items), people), "results.csv")
    calib.table.write(items, "items.csv")


def test_five_commands_that_exist():
    names = [shlex.split(line)[1] for line in written_lines()]
    assert names == ["look", "choose", "label", "interval", "gate"]
    named = re.findall(r"`calib ([a-z-]+)", SKILL.read_text("utf-8"))
    assert set(named) <= set(commands())


def answers(line: str, capsys) -> str:
    """What a command prints that runs well."""
    with pytest.raises(SystemExit) as left:
        main(shlex.split(line, comments=True)[1:])
    assert left.value.code == 0, line
    return capsys.readouterr().out


@pytest.mark.parametrize("of", ["files", "demo_files"])
@pytest.mark.filterwarnings("ignore")
def test_the_commands_run_one_after_the_other(of, request, capsys):
    request.getfixturevalue(of)
    for line in written_lines():
        out = answers(line, capsys)
        if "--json" in line:
            said = json.loads(out)
            assert said["schema"].startswith("calib/")
            assert not {"no_scale", "scale_guessed"} & {
                one.partition(":")[0] for one in said.get("messages", said.get("notes"))
            }


@pytest.mark.filterwarnings("ignore")
def test_the_page_has_the_drawn_items_and_their_labels_give_the_interval(demo_files, capsys):
    _, choose, label, *_ = written_lines()
    answers(choose, capsys)
    answers(label, capsys)
    drawn = pd.read_csv("to_label.csv").query("chosen")["item"]
    assert set(page_ids("label.html")) == set(drawn)
    labels = pd.DataFrame(
        {"item": drawn, "criterion": "quality", "rater": "ann", "score": [3, 4] * 30, "scale": "1|2|3|4|5"}
    )
    labels.to_csv("labels-ann.csv", index=False)
    command = re.search(r"`(calib interval\s+to_label.csv[^`]*)`", SKILL.read_text("utf-8"))[1]
    assert json.loads(answers(command, capsys))["tables"][0]["rows"][0]["n_labels"] == 60
