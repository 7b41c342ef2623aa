"""One script of the gate: what workflows, hooks and pages call is a step of `.ci/run`, or the tool that it calls."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

yaml = pytest.importorskip("yaml", reason="PyYAML comes with the extra dask")
ROOT = Path(__file__).parents[2]
RUN = (ROOT / ".ci" / "run").read_text("utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def called(path: Path) -> list[str]:
    """The commands of a workflow."""
    jobs = yaml.safe_load(path.read_text("utf-8"))["jobs"].values()
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


def test_steps_that_are_called_are_steps_and_all_of_them_are_called():
    steps = set(re.findall(r"^(\w+)\(\) \{", RUN, re.MULTILINE))
    default = re.search(r'for step in "\$\{@:-(\w+ .*?)\}"', RUN)[1].split()
    lines = [line for path in WORKFLOWS for run in called(path) for line in run.splitlines() if ".ci/run" in line]
    named = {step for line in lines for step in line.partition(".ci/run")[2].split()}
    assert (named | set(default)) - steps == set()
    header = RUN[: RUN.index("set -euo")]
    listed = set(re.findall(r"\w+", header.partition("only these are run:")[2])) & steps
    assert listed == named | set(default)


def test_actions_are_pinned_and_who_may_write_installs_nothing():
    for path in WORKFLOWS:
        workflow = yaml.safe_load(path.read_text("utf-8"))
        assert workflow["permissions"] == {"contents": "read"}, path.name
        for name, job in workflow["jobs"].items():
            used = [step["uses"] for step in job["steps"] if "uses" in step]
            assert [one for one in used if not re.search(r"@[0-9a-f]{40}$", one)] == [], (path.name, name)
            runs = " ".join(step.get("run", "") for step in job["steps"])
            assert "write" not in job.get("permissions", {}).values() or ".ci/run" not in runs, (path.name, name)


def test_each_python_of_the_classifiers_has_a_job():
    jobs = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text("utf-8"))["jobs"]
    pythons = {one.rpartition(" ")[2] for one in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", one)}
    assert {"3.11"} < pythons <= set(jobs["tests"]["strategy"]["matrix"]["python"])


def test_what_is_published_has_been_checked_and_attested():
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))["jobs"]
    assert jobs["publish"]["needs"] == "build"
    assert "bash .ci/run package" in [step.get("run") for step in jobs["build"]["steps"]]
    used = [step.get("uses", "").partition("@")[0] for step in jobs["publish"]["steps"]]
    assert used[-3:] == ["actions/attest-build-provenance", "actions/attest-sbom", "pypa/gh-action-pypi-publish"]
    assert jobs["publish"]["permissions"]["id-token"] == "write"


def test_hooks_before_a_commit_are_the_linters_of_the_gate():
    hooks = [
        hook
        for repo in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"]
        for hook in repo["hooks"]
    ]
    tools = {hook["entry"].split()[0].removeprefix(".venv/bin/") for hook in hooks if hook["language"] == "system"}
    lint = RUN[RUN.index("\nlint() {") :].partition("\n}")[0]
    assert tools == set(re.findall(r'"\$bin/(\w+)"', lint)) == {"ruff", "mypy"}
    assert len(hooks) == 3
    asked = {one.name: one for one in map(Requirement, PROJECT["optional-dependencies"]["test"])}
    assert all(asked[tool].specifier.contains(version(tool)) for tool in tools)
