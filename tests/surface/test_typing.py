"""What editors and type checkers see: a user's script passes both, and a wrong argument in it is found."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]

# each line, and what stands there wrong in the other script
SCRIPT = {
    "import calib": "",
    "from calib.stats import MeanEstimate, ppi_mean": "",
    "items, people = calib.load_planted()": "",
    'judge = calib.Judge("offline")': "judge = calib.Judge()",
    'prompt = calib.geval_prompt("coherence")': "prompt = calib.geval_prompt(5)",
    "ratings = calib.rate(items, prompt, judge, progress=False)": "ratings = calib.rate(items, prompt, progres=False)",
    'human = calib.summarize(people, items, pool="rater")': 'human = calib.summarize(people, items, pol="rater")',
    'results = calib.agreement(human, human, level="group")': "results = calib.agreement(human, human, level=2)",
    "print(results.to_frame())": "print(results.to_fram())",
    "print(calib.interval(human, human).one().width_ratio)": "print(calib.interval(human, human).one().width_ratios)",
    "print(results[0].n_groups, results.select(rater='a').one().level)": "print(results[0].n_group)",
    "print(calib.plot.agreement(results))": "print(calib.plot.agreemen(results))",
    "found: MeanEstimate = ppi_mean([1.0, 2.0], [1.5, 2.5], [2.0], bounds=(1, 5))": "found = ppi_mean([1.0], bounds=5)",
    "print(ratings, found.estimate + 1)": "print(ratings, found.estimat + 1)",
}
RIGHT = "".join(f"{line}\n" for line in SCRIPT)
WRONG = "".join(f"{wrong or line}\n" for line, wrong in SCRIPT.items())


@pytest.fixture(scope="module")
def complaints(tmp_path_factory) -> Callable[..., list[int]]:
    """Check scripts in a folder of their own, as a user's would be; the lines of a script with an error."""
    folder = tmp_path_factory.mktemp("script")
    scripts = {"right.py": RIGHT, "wrong.py": WRONG}
    for name, text in scripts.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "pyrightconfig.json").write_text(f'{{"extraPaths": ["{ROOT}"], "typeCheckingMode": "strict"}}')
    commands = {
        # calib is what is installed: its own lines are the package's matter
        "mypy": ["mypy", "--strict", "--follow-imports=silent", "--cache-dir", folder / "cache", *scripts],
        "pyright": ["pyright", "--pythonpath", sys.executable, "--project", folder],
    }
    said: dict[str, str] = {}

    def lines(checker: str, script: str) -> list[int]:
        if checker not in said:
            command = [sys.executable, "-m", *map(str, commands[checker])]
            environment = os.environ | {"MYPYPATH": str(ROOT)}
            ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
            assert ran.returncode == 1, ran.stdout + ran.stderr
            said[checker] = ran.stdout
        found = re.findall(rf"{re.escape(script)}:(\d+).*\berror\b", said[checker])
        return sorted(set(map(int, found)))

    return lines


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_a_script_passes(complaints, checker):
    pytest.importorskip(checker)
    assert complaints(checker, "right.py") == []


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_each_wrong_line_is_found(complaints, checker):
    pytest.importorskip(checker)
    wrong = {number for number, line in enumerate(SCRIPT.values(), start=1) if line}
    assert wrong <= set(complaints(checker, "wrong.py"))  # and what follows from them, as pyright sees it
