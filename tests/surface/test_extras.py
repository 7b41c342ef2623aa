"""What every user installs is enough for the analysis; the rest comes with extras, and a message says with which."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import calib

PACKAGE = Path(calib.__file__).parent
PROJECT = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def names(requirements: list[str]) -> set[str]:
    """The modules of what is required, without extras of our own."""
    found = {re.match(r"[\w.-]+", requirement)[0] for requirement in requirements}
    return {name.replace("-", "_") for name in found - {"calib-judge"}}


FOR_WORK = {"test", "docs", "dask"}  # on calib itself; the last brings an engine that calib does not know
HARNESSES = {"inspect", "deepeval", "opik"}  # each brings a whole tool, and is tested with it: .ci/harness
CORE = names(PROJECT["dependencies"])
OPTIONAL = names([one for extra, requirements in EXTRAS.items() if extra not in FOR_WORK for one in requirements])


def imported() -> set[str]:
    """The packages of others that calib imports, anywhere."""
    found: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(str(node.module).partition(".")[0])
    return found - sys.stdlib_module_names - {"calib"}


@pytest.mark.slow
def test_what_every_user_installs_is_used_and_what_is_used_is_named():
    assert imported() >= CORE
    # by litellm and jinja2; Python has the third from 3.14 on; where pytest loads the plugin it is there
    brought = {"httpx", "markupsafe", "compression", "pytest"}
    assert imported() - CORE <= OPTIONAL | brought
    assert not CORE & OPTIONAL


def test_all_extras_are_in_all_and_tests_have_them_all():
    everything = ",".join(sorted(set(EXTRAS) - {"all", *FOR_WORK, *HARNESSES}))
    inside = {name for one in EXTRAS["all"] for name in re.findall(r"\w+", one.partition("[")[2])}
    reached = inside | {
        name for extra in inside for one in EXTRAS[extra] for name in re.findall(r"calib-judge\[(\w+)\]", one)
    }
    assert ",".join(sorted(reached)) == everything
    assert "calib-judge[all]" in EXTRAS["test"]


def asked_for() -> list[tuple[str, str]]:
    """Each package and extra of a call of `needed`."""
    found = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "needed":
                extra = next(word.value.value for word in node.keywords if word.arg == "extra")
                found.append((ast.literal_eval(node.args[0]), extra))
    return found


@pytest.mark.slow
def test_each_message_names_the_extra_that_brings_the_package():
    brings = [(package.partition(".")[0], extra) for package, extra in asked_for()]
    assert {package for package, _ in brings} == OPTIONAL
    for package, extra in brings:
        assert package in names(EXTRAS[extra])


# --- in an interpreter that has none of them --------------------------------------------------------------------------


def without_extras(code: str, folder: Path) -> str:
    """What a program prints where no optional package is installed."""
    hidden = f"import sys; sys.modules.update(dict.fromkeys({sorted(OPTIONAL)}))\n"
    program = [sys.executable, "-W", "ignore", "-c", hidden + code]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


SCORES = """
import calib, pandas as pd
items, people = calib.load_planted()
judge = calib.Judge("offline", method="logprob")
ratings = calib.rate(items, calib.geval_prompt("coherence"), judge, progress=False)
scores = calib.summarize(ratings, items)
human = calib.summarize(people[people["criterion"] == "coherence"], items, pool="rater")
"""


@pytest.mark.slow
def test_the_analysis_needs_no_extra(tmp_path):
    work = """
print(calib.agreement(scores, human, level="group").one().n)
print(calib.interval(scores, human.head(60)).one().estimator)
print(calib.plan(scores, human.head(60), prices={"label": 1, "judge": 0.01}, budget=100).one())
calib.report([calib.interval(scores, human.head(60))], "page.html")
calib.table.write(scores, "scores.csv")
calib.table.write(human.head(60), "human.jsonl")
"""
    assert without_extras(SCORES + work, tmp_path).startswith("312\ngaffke\n")
    assert (tmp_path / "page.html").stat().st_size > 10_000
    run = "import calib.cli; calib.cli.main('{}'.split())"
    for command in ("agreement", "interval"):
        assert "estimate" in without_extras(run.format(f"{command} scores.csv human.jsonl"), tmp_path)
    assert "--store" in without_extras(run.format("rate --help"), tmp_path)


ASKED = {
    "calib.rate(items, prompt, calib.Judge('openai/m', base_url='http://127.0.0.1:9/v1'), progress=False)": "judge",
    "calib.rate(items, prompt, calib.Judge('anthropic/m'), progress=False)": "litellm",
    "calib.table.write(items, 'items.parquet')": "parquet",
    "calib.table.read_frame('there.parquet')": "parquet",
}


@pytest.mark.slow
def test_a_use_whose_package_is_missing_says_what_to_type(tmp_path):
    (tmp_path / "there.parquet").write_text("")
    code = "import calib\nitems, _ = calib.load_planted()\nprompt = calib.geval_prompt('coherence')\n"
    for call in ASKED:
        code += f"try: {call}\nexcept ImportError as error: print(error)\n"
    printed = without_extras(code, tmp_path).splitlines()
    assert [line.partition(": ")[2] for line in printed] == [f"pip install 'calib-judge[{e}]'" for e in ASKED.values()]
    assert not list(tmp_path.glob("items*"))


@pytest.mark.slow
def test_the_shell_says_it_in_one_line(tmp_path):
    code = (
        "import calib, calib.cli, contextlib, io\ncalib.table.write(calib.load_planted()[0], 'items.csv')\n"
        "said = io.StringIO()\n"
        "with contextlib.redirect_stderr(said), contextlib.suppress(SystemExit):\n"
        "    calib.cli.main('rate items.csv --criterion fluency --model anthropic/m --out r.csv'.split())\n"
        "print(said.getvalue())"
    )
    (line,) = without_extras(code, tmp_path).strip().splitlines()
    assert line.startswith("calib: ")
    assert line.endswith("pip install 'calib-judge[litellm]'")
