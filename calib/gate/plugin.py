"""The pytest plugin: a fixture that gates a build within a test suite. Nothing of calib is loaded until it is used."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from calib.gate.verdict import Verdict

_PROPERTY = "calib_gate"  # of a report: how workers hand verdicts over, and what JUnit shows
_FIRST = pytest.StashKey[dict[str, list[Any]]]()  # verdicts by test: a re-run is no second trial
_GATHERED = pytest.StashKey[dict[str, dict[str, Any]]]()
_MARKS = {"pass": {"green": True}, "fail": {"red": True}, "inconclusive": {"yellow": True}}
_MARKS |= {"trusted": _MARKS["pass"], "untrusted": _MARKS["fail"]}


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option for what an inconclusive gate does to its test."""
    text = "what a gate does to its test where there are too few labels to decide: fail (default) or skip"
    parser.getgroup("calib").addoption("--calib-inconclusive", choices=("fail", "skip"), help=text)
    parser.addini("calib_inconclusive", text, default="fail")


@pytest.fixture
def calib_gate(request: pytest.FixtureRequest) -> Callable[..., Verdict]:
    """`calib.gate` that fails the test unless the build passes; a re-run of the test has the first verdict.

    `calib_gate.judge` is `calib.gate_judge`, and fails it unless the judge is trusted.
    """
    config, node = request.config, request.node
    verdicts = config.stash.setdefault(_FIRST, {}).setdefault(node.nodeid, [])
    places = count()

    def decide(verb: str, /, *tables: Any, **options: Any) -> Verdict:
        __tracebackhide__ = True
        import calib
        from calib.core.text import printable

        at = next(places)
        if at == len(verdicts):
            verdicts.append(getattr(calib, verb)(*tables, **options))
        else:
            again = "the verdict of the first run, since a re-run is no second trial"
            node.add_report_section("call", "calib gate", again)
        verdict: Verdict = verdicts[at]
        text = "\n".join([str(verdict), *map(printable, verdict.cautions)])
        record = json.dumps({"place": at, "text": text, "record": verdict.record(), "md": verdict.markdown()})
        node.user_properties.append((_PROPERTY, record))
        choice = config.getoption("--calib-inconclusive") or config.getini("calib_inconclusive")
        if choice not in ("fail", "skip"):
            raise pytest.UsageError(f"calib_inconclusive must be fail or skip, but is {choice!r}.")
        if verdict.outcome == "inconclusive" and choice == "skip" and not verdict.unread:
            pytest.skip(f"calib gate {verdict}")
        verdict.raise_for_outcome()
        return verdict

    gate = partial(decide, "gate")
    gate.judge = partial(decide, "gate_judge")  # type: ignore[attr-defined]
    return gate


def pytest_configure(config: pytest.Config) -> None:
    """Gather verdicts in the one process that reports."""
    if not hasattr(config, "workerinput"):
        gathered = config.stash[_GATHERED] = {}
        config.pluginmanager.register(_Gatherer(gathered), "calib-gates")


class _Gatherer:
    """Collects each verdict once from the reports of tests, whichever process made it."""

    def __init__(self, verdicts: dict[str, dict[str, Any]]) -> None:
        self.verdicts = verdicts

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == _PROPERTY:
                record = json.loads(str(value))
                self.verdicts.setdefault(f"{report.nodeid}#{record['place']}", record)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """A section with all verdicts, and the same in the summary of a job."""
    verdicts = config.stash.get(_GATHERED, {})
    if not verdicts:
        return
    terminalreporter.section("calib gates")
    for place, record in verdicts.items():
        terminalreporter.write_line(place.rpartition("#")[0])
        for line in record["text"].splitlines():
            terminalreporter.write_line(f"  {line}", **_MARKS.get(line.split()[0].rstrip(":").lower(), {}))
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with open(summary, "a", encoding="utf-8") as file:  # noqa: PTH123 - nothing more is imported
                file.write("\n".join(record["md"] for record in verdicts.values()))
        except OSError as problem:  # the tests have passed or failed without it
            terminalreporter.write_line(f"GITHUB_STEP_SUMMARY was not written ({problem.strerror}).")
