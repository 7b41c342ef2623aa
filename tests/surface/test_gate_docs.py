"""What the pages on gates and logs tell a user to run, run."""

import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pandas as pd
import pytest

import calib

DOCS = Path(__file__).parents[2] / "docs"
# a shell in which calib is installed, as the interpreter of these tests has it
SHELL = os.environ | {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
LOGS = Path(os.environ.get("CALIB_DATA", "nowhere"), "tool_logs")


def commands() -> list[str]:
    """The commands of the workflow's steps, without the installation."""
    text = (DOCS / "gate-workflow.yml").read_text("utf-8")
    blocks = re.findall(r"run: \|\n((?: {10}.*\n)+)", text) + re.findall(r"run: ([^|\n].*)", text)
    return [line.strip() for block in blocks for line in block.splitlines() if "pip install" not in line]


@pytest.mark.slow
def test_the_workflow_runs_offline(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    environment = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": "summary.md", "GITHUB_OUTPUT": "output"}
    lines = commands()
    assert len(lines) == 3
    for line in lines:
        done = subprocess.run(
            ["bash", "-ec", line], env=SHELL | environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
    assert "::notice title=calib gate" in done.stdout
    assert Path("output").read_text() == "outcome=pass\njson=gate.json\n"
    assert "✔ pass: clean" in Path("summary.md").read_text("utf-8")
    assert all(Path(name).stat().st_size for name in ("gate.xml", "gates.jsonl"))


def test_each_part_of_the_workflow_is_indented_as_yaml():
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with the packages that make the site")
    steps = yaml.safe_load((DOCS / "gate-workflow.yml").read_text("utf-8"))["jobs"]["gate"]["steps"]
    assert [step.get("name") for step in steps if "run" in step][-1] == "gate"


def test_the_workflow_installs_by_name_and_until_then_from_the_repository():
    installs = re.findall(
        r"^ +(# )?run: pip install '(.*)'$", (DOCS / "gate-workflow.yml").read_text("utf-8"), re.MULTILINE
    )
    (by_name, now), (fallback, then) = installs
    name = re.search(r'^name = "(.*)"', (DOCS.parent / "pyproject.toml").read_text("utf-8"), re.MULTILINE)[1]
    assert (by_name, now, fallback) == ("", f"{name}[judge]", "# ")
    assert then.startswith(f"{now} @ git+https://")


CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)
TRACED = {'labels = "people.csv"\n': "", "threshold=3": 'threshold={"correctness": 2}'}  # labels are in the log
GATED = {  # where the page's lines after reading name another system or threshold, or the log names no system
    "I use LangSmith": {'"alpha"': '"alpha_rows"'},
    "I use OpenAI's batches": {', system="alpha"': "", ', by="system"': ""},
    "I use OpenTelemetry": {'"alpha"': '"alpha-1"', "threshold=3": 'threshold={"correctness": 2}'},
    # people labelled more criteria than the log has
    "I use Inspect AI": {"threshold=3": 'threshold={"clarity": 3}'},
    "I use lm-evaluation-harness": {"threshold=3": 'threshold={"correctness": 3}'},
    **dict.fromkeys(("I use Langfuse", "I use Phoenix", "I use data frames"), TRACED),
}


def recipes() -> dict[str, str]:
    """How each tool's log is read, and what the page does with it then."""
    first, *sections = re.split(r"^## ", (DOCS / "logs.md").read_text("utf-8"), flags=re.MULTILINE)
    found = {}
    for name, body in (section.split("\n", 1) for section in sections):
        if name.startswith("I use") and (read := CODE.search(body)):
            then = CODE.search(first)[1]
            for old, new in GATED.get(name, {}).items():
                then = then.replace(old, new)
            found[name] = f"import calib\n{read[1]}{then}"
    return found


FOLDERS = {
    "I use DeepEval": "deepeval-4.3.1", "I use Inspect AI": "inspect_ai-0.3.285",
    "I use promptfoo": "promptfoo-0.121.20",
    "I use lm-evaluation-harness": "lm_eval-0.4.13", "I use Ragas": "ragas-0.4.3", "I use MLflow": "mlflow-3.17.2",
    "I use Opik": "opik-2.2.122", "I use LangSmith": "langsmith-0.15.0", "I use Braintrust": "braintrust-0.47.0",
    "I use OpenAI's batches": "openai_batch",
}  # fmt: skip
OWN = {
    "I use Langfuse": "langfuse",
    "I use Phoenix": "phoenix",
    "I use OpenTelemetry": "opentelemetry",
    "I use data frames": "mlflow",
}


def test_there_is_a_recipe_for_each_log():
    assert recipes().keys() == FOLDERS.keys() | OWN.keys()
    assert max(len(code.strip().splitlines()) for code in recipes().values()) < 10


def people(name: str, folder: Path) -> pd.DataFrame:
    """Labels of the logs' outputs, by the ids that the recipe's items have."""
    labels = pd.read_csv(LOGS / "_source/human.csv")[["item", "criterion", "rater", "score", "scale"]]
    if name == "I use LangSmith":
        return labels.assign(item=labels["item"] + "_rows")
    if name == "I use Ragas":
        logs = [folder / f"{one}.jsonl" for one in ("alpha", "beta")]
        items, _ = calib.read_log(logs, rater="x", system="file", texts=True)
        own = items["output"].str.extract(r"ref (\S+)\)")[0]
        return labels.assign(item=labels["item"].map(dict(zip(own, items["item"], strict=True))))
    return labels


@pytest.mark.slow
@pytest.mark.skipif(not LOGS.is_dir(), reason="logs of tools: CALIB_DATA has no folder tool_logs")
def test_the_lines_for_a_shell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("promptfoo-0.121.20", "deepeval-4.3.1"):
        for one in (LOGS / folder).glob("*.json"):
            (tmp_path / one.name).symlink_to(one)
    people("", tmp_path).to_csv("people.csv", index=False)
    block = re.search(r"In a shell.*?```\n(.*?)```", (DOCS / "logs.md").read_text("utf-8"), re.DOTALL)
    for line in block[1].splitlines():
        done = subprocess.run(
            ["bash", "-ec", line], env=SHELL, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not LOGS.is_dir(), reason="logs of tools: CALIB_DATA has no folder tool_logs")
@pytest.mark.parametrize("name", FOLDERS)
def test_a_log_goes_in_and_a_page_comes_out(name, tmp_path, monkeypatch):
    if "Inspect" in name:
        pytest.importorskip("zstandard", reason=".eval files are packed with zstd")
    folder = LOGS / FOLDERS[name]
    monkeypatch.chdir(tmp_path)
    for one in folder.iterdir():
        (tmp_path / one.name).symlink_to(one)
    people(name, folder).to_csv("people.csv", index=False)
    follow(name, {})


def follow(name: str, names: dict[str, object]) -> None:
    """Run a recipe and look at what it made."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(recipes()[name], names)
    assert len(names["means"]) >= 1
    assert names["agreement"][0].estimate > 0.3
    assert names["verdict"].outcome in ("pass", "inconclusive")
    assert "of a gate" in Path("page.html").read_text("utf-8") or "lie above" in Path("page.html").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN)
def test_a_log_of_traces_goes_in_and_a_page_comes_out(name, tmp_path, monkeypatch):
    folder = Path(__file__).parents[1] / "adapters" / "logs" / OWN[name]
    monkeypatch.chdir(tmp_path)
    for one in folder.glob("*.json*"):
        (tmp_path / one.name).symlink_to(one)
    names: dict[str, object] = {"calib": calib}
    if name == "I use Phoenix":
        names["spans"] = pd.read_json("spans.jsonl", lines=True).set_index("context.span_id", drop=False)
        rows = pd.DataFrame(json.loads(Path("annotations.json").read_text())["data"])
        result = pd.json_normalize(rows["result"]).add_prefix("result.")
        rows = pd.concat([rows.drop(columns="result"), result], axis=1).rename(columns={"name": "annotation_name"})
        names["annotations"] = rows.set_index("span_id")
    if name == "I use data frames":
        names["frame"] = pd.read_json("search_traces.jsonl", lines=True)
    if name == "I use OpenTelemetry":  # people labelled spans
        _, ratings = calib.read_log("evaluations.jsonl", rater="g", scale={"tone": "poor|fair|good"})
        labels = ratings[(ratings["criterion"] == "correctness") & (ratings["draw"] == 0)].dropna(subset="score")
        labels.assign(rater="ann", method="human", draw=0).to_csv("people.csv", index=False)
    follow(name, names)
