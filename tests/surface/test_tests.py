"""What holds of the tests themselves."""

import ast
from pathlib import Path

import pytest

import calib

TESTS, PACKAGE = Path(__file__).parents[1], Path(calib.__file__).parent
MODULES = sorted(path for path in TESTS.rglob("*.py") if "bench" not in path.parts)
CLOCKS = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "thread_time", "getrusage"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_no_test_asserts_a_time(path):
    """A busy machine is no fault: count calls (`count_calls`) or sizes, and write a benchmark in tests/bench."""
    asserts = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Assert)]
    names = {getattr(node, "attr", getattr(node, "id", "")) for one in asserts for node in ast.walk(one)}
    assert not names & CLOCKS


def test_folders_of_tests_are_those_of_the_package():
    ours = {path.relative_to(TESTS).as_posix() for path in TESTS.rglob("*") if list(path.glob("test_*.py"))}
    assert not [path for path in ours - {"surface", "harness"} if not (PACKAGE / path).is_dir()]
