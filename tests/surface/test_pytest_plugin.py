"""The pytest plugin, in suites of their own: outcomes, options, re-runs, several processes."""

import importlib.util
import json
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

pytest_plugins = ["pytester"]

TABLES = """
    import numpy as np, pandas as pd, pytest

    def tables(shift=0.0, n=30):
        truth = np.tile([2.0, 3.0, 4.0, 5.0, 3.0], n // 5)
        item = [f"q{k}" for k in range(n)]
        scores = pd.DataFrame({"item": item, "criterion": "tone", "rater": "judge", "method": "sample",
                               "score": [*truth[:-1], 4.0], "system": "new", "scale": "1|2|3|4|5"})
        gold = pd.DataFrame({"item": item, "criterion": "tone", "rater": "ann", "method": "human",
                             "score": np.clip(truth + shift, 1, 5), "scale": "1|2|3|4|5"})
        return scores, gold
"""


def suite(pytester, body: str, **files: str):
    pytester.makepyfile(helper=TABLES, test_it=f"from helper import tables\n{body}", **files)
    return pytester


def test_a_pass_passes_and_is_told(pytester):
    suite(pytester, "def test_q(calib_gate):\n    assert calib_gate(*tables(), threshold=2.5).outcome == 'pass'")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*calib gates*", "test_it.py::test_q", "*pass: new*", "*pass  tone: 3.4*above 2.5*"])


def test_what_is_absent_stands_beside_a_pass_and_stops_one(pytester):
    """A crash in a suite of tests: one output in thirty is named, ten are no verdict; labels of v1 are none."""
    gates = ("scores.iloc[1:], gold", "scores.iloc[10:], gold", "scores, gold.assign(system='v1')")
    body = "".join(
        f"def test_{k}(calib_gate):\n    scores, gold = tables()\n    calib_gate({given}, threshold=2.5)\n"
        for k, given in enumerate(gates)
    )
    result = suite(pytester, body).runpytest_subprocess()
    result.assert_outcomes(passed=1, failed=2)
    assert result.ret == 1
    lines = ["*pass: new*", "*absent: *1 of 30 expected outputs of new: 'q0', 1 of them labelled*"]
    lines += ["*10 of 30 expected outputs of new have no score*", "*labels_of_others: tone: 30 labels of 'v1'*"]
    result.stdout.fnmatch_lines(lines)


@pytest.mark.slow
def test_a_fail_is_an_assertion(pytester):
    suite(pytester, "def test_q(calib_gate):\n    calib_gate(*tables(), threshold=4.5)")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*GateFailed: fail: new*"])
    assert result.ret == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "ini", "outcome"),
    [((), "", "failed"), (("--calib-inconclusive=skip",), "", "skipped"), ((), "skip", "skipped"),
     (("--calib-inconclusive=fail",), "skip", "failed")],
)  # fmt: skip
def test_what_is_not_known_fails_or_is_skipped(pytester, arguments, ini, outcome):
    suite(pytester, "def test_q(calib_gate):\n    calib_gate(*tables(), threshold=3.4)")
    if ini:
        pytester.makeini(f"[pytest]\ncalib_inconclusive = {ini}")
    result = pytester.runpytest_subprocess(*arguments)
    result.assert_outcomes(**{outcome: 1})
    result.stdout.fnmatch_lines(["*inconclusive: new*"])


def test_both_kinds_are_assertions_and_one_is_the_other():
    from calib import GateFailed, GateInconclusive

    assert issubclass(GateFailed, AssertionError)
    assert issubclass(GateInconclusive, GateFailed)


FLAKY = """
import itertools, pytest
shifts = itertools.count()

@pytest.mark.flaky(reruns=3)
def test_q(calib_gate):
    calib_gate(*tables(), threshold=4.5 if next(shifts) == 0 else 2.5)
"""


@pytest.mark.slow
def test_a_rerun_has_the_first_verdict(pytester):
    """The second run would pass: best of k is no verdict."""
    pytest.importorskip("pytest_rerunfailures")
    result = suite(pytester, FLAKY).runpytest_subprocess("-ra")
    outcomes = result.parseoutcomes()
    assert (outcomes.get("failed"), outcomes.get("rerun"), outcomes.get("passed")) == (1, 3, None)
    assert result.stdout.str().count("test_it.py::test_q\n  fail: new") == 1, "one verdict is told once"
    result.stdout.fnmatch_lines(["*the verdict of the first run*"])


@pytest.mark.slow
def test_several_processes_report_to_one(pytester):
    pytest.importorskip("xdist")
    body = "".join(f"def test_{k}(calib_gate):\n    calib_gate(*tables(), threshold=2 + {k} / 10)\n" for k in range(4))
    result = suite(pytester, body).runpytest_subprocess("-n", "2")
    result.assert_outcomes(passed=4)
    assert result.stdout.str().count("pass: new") == 4


@pytest.mark.slow
def test_the_summary_of_a_job_is_written_once(pytester, monkeypatch, tmp_path):
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    body = "".join(f"def test_{k}(calib_gate):\n    calib_gate(*tables(), threshold=2.5)\n" for k in range(2))
    suite(pytester, body).runpytest_subprocess("-n", "2").assert_outcomes(passed=2)
    assert summary.read_text().count("✔ pass: new") == 2


@pytest.mark.slow
def test_two_gates_of_one_test_and_junit(pytester, tmp_path):
    body = "def test_q(calib_gate):\n    calib_gate(*tables(), threshold=2)\n    calib_gate(*tables(), threshold=2.5)"
    path = tmp_path / "junit.xml"
    result = suite(pytester, body).runpytest_subprocess(f"--junitxml={path}")
    assert result.stdout.str().count("pass: new") == 2
    held = [one.get("value") for one in ET.parse(path).iter("property") if one.get("name") == "calib_gate"]
    assert [json.loads(text)["record"]["outcome"] for text in held] == ["pass", "pass"]


@pytest.mark.slow
def test_hostile_names_stay_harmless(pytester):
    body = (
        "def test_q(calib_gate):\n    scores, gold = tables()\n"
        "    calib_gate(scores.assign(system='a\\x1b[31m\\n::error::x'), gold, threshold=2.5)"
    )
    result = suite(pytester, body).runpytest_subprocess()
    result.assert_outcomes(passed=1)
    assert "\x1b[31m\n" not in result.stdout.str()


@pytest.mark.slow
def test_an_unknown_word_in_the_ini_file_is_refused(pytester):
    pytester.makeini("[pytest]\ncalib_inconclusive = maybe")
    suite(pytester, "def test_q(calib_gate):\n    calib_gate(*tables(), threshold=2.5)")
    result = pytester.runpytest_subprocess()
    result.stdout.fnmatch_lines(["*calib_inconclusive must be fail or skip*"])
    assert result.ret != 0


@pytest.mark.slow
def test_the_plugin_loads_nothing_until_it_is_used():
    code = "import pytest, sys; before = set(sys.modules); import calib.gate.plugin; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & {"numpy", "pandas", "scipy", "matplotlib", "typer", "calib_gate"}
    assert {name for name in done.stdout.split() if name.startswith("calib")} <= {
        *("calib", "calib._version", "calib.core", "calib.core.topic", "calib.gate", "calib.gate.plugin")
    }
    assert importlib.util.find_spec("calib.gate.plugin") is not None


def test_a_judge_is_gated_by_the_same_fixture(pytester):
    body = """
        import numpy as np, pandas as pd

        def judged(right):
            label = np.tile([1.0, 0.0, 1.0], 40)
            wrong = np.arange(120) % 10 >= right
            return pd.DataFrame({"id": range(120), "judge": np.where(wrong, 1 - label, label), "human": label})

        def test_trusted(calib_gate):
            verdict = calib_gate.judge(judged(10), kappa=0.6, judge="judge", label="human", scale="0|1")
            assert verdict.outcome == "trusted"

        def test_untrusted(calib_gate):
            calib_gate.judge(judged(5), kappa=0.6, judge="judge", label="human", scale="0|1")
    """
    pytester.makepyfile(body)
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=1, failed=1)
    lines = ["*GateFailed: UNTRUSTED: judge does not agree*", "*calib gates*", "*TRUSTED: judge agrees*"]
    result.stdout.fnmatch_lines(lines)
