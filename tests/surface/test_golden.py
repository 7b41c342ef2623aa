"""Nothing that a user sees changes unseen: results of each class, verbs on small files, commands on the planted set.

The answers stand in `tests/golden/*.json`; `python tests/golden/outputs.py` records them anew.
"""

import json
import math
from functools import cache

import pytest
from outputs import COMMANDS, FILES, HERE, VERBS, answer, numbers, planted, printed, specimen
from specimens import MADE

from calib import stats
from calib.console.program import commands
from calib.core.result import Estimate, Result


@cache
def golden(name):
    return json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))


def same(left, right):
    """Equal, numbers to a relative 1e-6 (another processor adds in another order)."""
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-6, abs_tol=1e-9) or (math.isnan(left) and math.isnan(right))
    if isinstance(left, str) and isinstance(right, str):
        (words, values), (others, wanted) = numbers(left), numbers(right)
        return words == others and all(map(_to_the_digits_printed, values, wanted))
    return left == right


def _to_the_digits_printed(value, wanted):
    return math.isclose(value, wanted, rel_tol=2e-3, abs_tol=1e-9)


def test_every_class_of_results_has_a_specimen():
    public = {name for name in stats.__all__ if issubclass(type(getattr(stats, name)), type)}
    ours = {name for name in public if issubclass(getattr(stats, name), Result)} - {"Result"}
    by_verbs = {"GateCheck", "Escalation"}  # made by verbs alone: `answers` and `commands` have them
    assert ours - {name.partition(",")[0] for name in MADE} == by_verbs


@pytest.mark.filterwarnings("ignore::calib.core.check.CalibWarning")
@pytest.mark.parametrize("name", MADE)
def test_frame_and_signature_of_a_result_stay(name):
    assert same(specimen(name), golden("specimens")[name])


@pytest.mark.filterwarnings("ignore::calib.core.check.CalibWarning")
@pytest.mark.parametrize(
    "name", ["PositionBias", "PairwiseAgreement", "LengthControlled", "Instrumented", "JudgeHelp", "Transport"]
)
def test_an_estimate_has_the_ends_of_its_interval(name):
    result = MADE[name]()
    assert isinstance(result, Estimate)
    assert (result.conf_low, result.conf_high) == tuple(result.interval)
    assert result.bracket in str(result)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("file", [path.name for path in FILES])
def test_numbers_of_a_small_file_stay(verb, file):
    assert same(answer(verb, file), golden("answers")[f"{verb}: {file}"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("planted")
    planted(folder)
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_answers_as_before(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "250")
    monkeypatch.delenv("CALIB_DATA", raising=False)
    assert same(printed(COMMANDS[name]), golden("commands")[name])


def test_every_command_is_there():
    own = {"demo", "read-log", "read-labels", "compare"}  # with tests of their own
    assert set(commands()) - {name.partition(",")[0] for name in COMMANDS} == own
