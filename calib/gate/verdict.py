"""What a gate says of a build: an outcome, the checks behind it, and what would decide those that are open."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np

from calib._version import __version__
from calib.core.check import ArgumentError
from calib.core.result import bracket, short
from calib.gate.baseline import plain_json
from calib.gate.display import gate_assumptions
from calib.table.files import whole_or_not
from calib.table.results import Results
from calib.table.text import markdown_text, visible

if TYPE_CHECKING:
    import pandas as pd

    from calib.gate.outcomes import GateCheck

_EXIT_CODES = {"pass": 0, "fail": 1, "inconclusive": 3}
_MARKS = {"pass": "✔ pass", "fail": "✘ fail", "inconclusive": "? inconclusive"}
_HEADS = ("check", "outcome", "estimate", "interval", "threshold", "labels", "what would decide")
_KINDS = {"pass": "notice", "fail": "error", "inconclusive": "warning"}
_MOST = 10  # annotations of a kind that a step of GitHub's shows


class GateFailed(AssertionError):  # noqa: N818 - it is a test's outcome, and no error
    """A gate did not pass."""


class GateInconclusive(GateFailed):
    """A gate could not tell."""


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """One build, one verdict.

    Attributes
    ----------
    outcome : {"pass", "fail", "inconclusive"}
        Fail if a check fails, else inconclusive if one is, else pass.
    system : str
        The build.
    checks : Results
        One `calib.stats.GateCheck` per criterion.
    asked : dict
        What was asked for: lines, margin, baseline, error, sequential.
    digests : dict of str
        Hashes of the scores and the labels that it rests on, whatever their order.
    notes : tuple of str
        What a reader should know, about the gate as a whole.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> human = calib.summarize(people, items, pool="rater")
    >>> judge = calib.summarize(people[people["rater"] == "simulated-1"], items)
    >>> verdict = calib.gate(judge, human, system="clean", baseline="coherence-2", margin={"coherence": 0})
    >>> verdict.exit_code, verdict.checks[0].threshold
    (0, 0.0)
    """

    outcome: str
    system: str
    checks: Results[GateCheck]
    asked: Mapping[str, Any]
    digests: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """What `calib gate` leaves with: 0 pass, 1 fail, 3 inconclusive."""
        return _EXIT_CODES[self.outcome]

    @property
    def next_steps(self) -> tuple[str, ...]:
        """What would decide each open check: how many labels, and the call that draws them."""
        steps = []
        for label, one in _pairs(self):
            if one.outcome != "inconclusive" or np.isnan(one.labels_to_decide):
                continue
            criterion, needed = str(label["criterion"]), int(one.labels_to_decide)
            rows = f'scores[(scores["system"] == {self.system!r}) & (scores["criterion"] == {criterion!r})]'
            both = " of inputs that both builds answered" * (one.estimand != "human mean")
            draw = f"calib.choose({rows}, {max(1, needed - one.n_labels)})"
            steps.append(f"{criterion}: about {needed} labels{both} (has {one.n_labels}): {draw}")
        return tuple(steps)

    def to_frame(self) -> pd.DataFrame:
        """The checks as a DataFrame."""
        return self.checks.to_frame()

    def markdown(self) -> str:
        """A table of the checks for a job's summary, with what they assume."""
        rows = [_HEADS, ["---"] * len(_HEADS), *(_cells(*pair) for pair in _pairs(self))]
        table = "\n".join(
            f"| {' | '.join(cell if cell == '---' else markdown_text(cell) for cell in row)} |" for row in rows
        )
        beside = f"not worse than {self.asked['baseline']}" if self.asked["baseline"] else "above the threshold"
        head = f"### {_MARKS[self.outcome]}: {markdown_text(self.system)} ({markdown_text(beside)})"
        steps = "\n".join(f"- to decide {markdown_text(step)}" for step in self.next_steps)
        cautions = [*self.notes, *dict.fromkeys(text for one in self.checks for text in one.warnings)]
        notes = "\n".join(f"- ⚠ {markdown_text(text)}" for text in cautions)
        assumed = "\n".join(f"- assumed: {markdown_text(text)}" for text in gate_assumptions(self.checks))
        signed = "\n".join(f"- `{one.signature}`" for one in self.checks)
        labels = f"labels `{self.digests['labels'][:19]}`, scores `{self.digests['scores'][:19]}`"
        return "\n\n".join(filter(None, (head, table, steps, notes, assumed, signed, labels))) + "\n"

    def record(self) -> dict[str, Any]:
        """All of it as plain values, as JSON and the ledger have it."""
        checks: list[dict[str, Any]] = [
            {**{str(name): value for name, value in label.items() if isinstance(value, str | int | float)},
             **{str(name): value for name, value in one.to_frame().iloc[0].items()}, "reason": one.reason,
             "signature": one.signature, "confidence_level": one.confidence_level, "warnings": list(one.warnings)}
            for label, one in _pairs(self)
        ]  # fmt: skip
        whole: dict[str, Any] = {"schema": "calib/verdict/v1", "calib": __version__}
        whole |= {"system": self.system, "outcome": self.outcome}
        whole |= {"attempt": os.environ.get("GITHUB_RUN_ATTEMPT", ""), "asked": dict(self.asked), **self.digests}
        return dict(plain_json(whole | {"checks": checks, "notes": list(self.notes)}))

    def write(self, path: str | Path) -> Path:
        """Write it: JUnit as .xml, the table as .md, all values as .json, a line a check as .txt."""
        return written_verdict(self, Path(path))

    def raise_for_outcome(self) -> None:
        """Raise `GateFailed`, or `GateInconclusive`, which is one, unless it passed."""
        if self.outcome != "pass":
            raise (GateFailed if self.outcome == "fail" else GateInconclusive)(str(self))

    def __str__(self) -> str:
        width = max(len(one.outcome) for one in self.checks)
        lines = [f"{one.outcome:<{width}}  {_line(label, one)}" for label, one in _pairs(self)]
        return "\n".join(visible(line) for line in (f"{self.outcome}: {self.system}", *lines))

    def __repr__(self) -> str:
        return f"<{self.outcome}: {self.system}>\n{self}"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in _HEADS)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(visible(cell))}</td>" for cell in _cells(*pair)) + "</tr>"
            for pair in _pairs(self)
        )
        title = html.escape(visible(f"{_MARKS[self.outcome]}: {self.system}"))
        steps = "".join(f"<li>{html.escape(visible(step))}</li>" for step in self.next_steps)
        return f"<p><b>{title}</b></p><table><tr>{head}</tr>{rows}</table>{f'<ul>{steps}</ul>' if steps else ''}"


def _pairs(verdict: Verdict) -> list[tuple[dict[str, Any], GateCheck]]:
    return list(zip(verdict.checks.labels, verdict.checks, strict=True))


def _line(label: dict[str, Any], one: GateCheck) -> str:
    counts = f"({one.n_labels} labels, {one.n} judge scores)"
    return f"{label['criterion']}: {one.numbers} {counts}{': ' * bool(one.reason)}{one.reason}"


def _cells(label: dict[str, Any], one: GateCheck) -> list[str]:
    estimated = not np.isnan(one.estimate)
    needed = "" if np.isnan(one.labels_to_decide) else f"about {int(one.labels_to_decide)} labels"
    decide = "; ".join(filter(None, (one.reason, needed)))
    interval = bracket(one.interval, one.confidence_level) if estimated else ""
    estimate = short(one.estimate) if estimated else ""
    return [
        str(label["criterion"]),
        _MARKS[one.outcome],
        estimate,
        interval,
        short(one.threshold),
        str(one.n_labels),
        decide,
    ]


# --- the forms that a build takes -------------------------------------------------------------------------------


def github_annotations(verdict: Verdict, title: str = "calib gate") -> list[str]:
    """A line for each check, as GitHub's runner takes them; at most ten of a kind."""
    lines: dict[str, list[str]] = {kind: [] for kind in _KINDS.values()}
    for label, one in _pairs(verdict):
        kind = _KINDS[one.outcome]
        name = _data(f"{title}: {label['criterion']}").replace(":", "%3A").replace(",", "%2C")
        lines[kind].append(f"::{kind} title={name}::{_data(f'{one.outcome}: {_line(label, one)}')}")
    return [line for of_kind in lines.values() for line in of_kind[:_MOST]]


def _data(text: str) -> str:
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def tell_github(verdict: Verdict, json_path: Path | None = None) -> list[str]:
    """Append to the job's summary and outputs, where it has such; the annotations come back."""
    outputs = f"outcome={verdict.outcome}\n" + (f"json={json_path}\n" if json_path is not None else "")
    return _to_github(verdict.markdown() + "\n", outputs, github_annotations(verdict))


def tell_github_unmeasured(system: str, message: str) -> list[str]:
    """The same of a gate that could not be measured."""
    summary = f"### ⚠ not measured: {markdown_text(system)}\n\n{markdown_text(message)}\n\n"
    return _to_github(summary, "outcome=not measured\n", [f"::error title=calib gate not measured::{_data(message)}"])


def _to_github(summary: str, outputs: str, annotations: list[str]) -> list[str]:
    for variable, text in (("GITHUB_STEP_SUMMARY", summary), ("GITHUB_OUTPUT", outputs)):
        if path := os.environ.get(variable):
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(text)
    return annotations if os.environ.get("GITHUB_ACTIONS") == "true" else []


def as_junit(verdict: Verdict, *, skipped: bool = False) -> str:
    """One suite with a case for each check; one that is inconclusive fails, or is `skipped`."""
    outcomes = [one.outcome for one in verdict.checks]
    open_, failed = outcomes.count("inconclusive"), outcomes.count("fail")
    counts = {
        "tests": len(outcomes),
        "failures": failed + open_ * (not skipped),
        "errors": 0,
        "skipped": open_ * skipped,
    }
    suite = ET.Element("testsuite", {"name": "calib.gate", **{name: str(value) for name, value in counts.items()}})
    for label, one in _pairs(verdict):
        case = _case(suite, verdict.system, label["criterion"])
        properties = ET.SubElement(case, "properties")
        for name, value in one.to_frame().iloc[0].items():
            ET.SubElement(properties, "property", {"name": str(name), "value": _xml_text(value)})
        if one.outcome == "fail" or (one.outcome == "inconclusive" and not skipped):
            failure = {"type": one.outcome, "message": _xml_text(_line(label, one))}
            ET.SubElement(case, "failure", failure).text = _xml_text(one)
        elif one.outcome == "inconclusive":
            ET.SubElement(case, "skipped", {"message": _xml_text(_line(label, one))})
    return _document(suite)


def unmeasured_junit(system: str, message: str) -> str:
    """The suite of a gate that could not be measured."""
    counts = {"name": "calib.gate", "tests": "1", "failures": "0", "errors": "1", "skipped": "0"}
    suite = ET.Element("testsuite", counts)
    case = _case(suite, system, "measured")
    ET.SubElement(case, "error", {"type": "not measured", "message": _xml_text(message)})
    return _document(suite)


def _case(suite: ET.Element, system: str, name: object) -> ET.Element:
    names = {"classname": _xml_text(f"calib.gate.{system}"), "name": _xml_text(name), "time": "0"}
    return ET.SubElement(suite, "testcase", names)


def _document(suite: ET.Element) -> str:
    whole = ET.Element("testsuites", {name: suite.get(name, "") for name in ("tests", "failures", "errors")})
    whole.append(suite)
    ET.indent(whole)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(whole, encoding="unicode")}\n'


def _xml_text(value: object) -> str:
    """A text that XML 1.0 can hold."""
    return "".join(char for char in visible(value) if char not in "\ufffe\uffff")


def written_verdict(verdict: Verdict, path: Path, *, skipped: bool = False) -> Path:
    """The verdict in the form that the path's ending names."""
    forms: dict[str, Callable[[], str]] = {
        ".xml": lambda: as_junit(verdict, skipped=skipped),
        ".md": verdict.markdown,
        ".json": lambda: json.dumps(verdict.record(), indent=1, allow_nan=False) + "\n",
        ".txt": lambda: f"{verdict}\n",
    }
    if path.suffix not in forms:
        raise ArgumentError("path", f"must end in {', '.join(forms)}", f"got {str(path)!r}")
    with whole_or_not(path) as part:
        part.write_text(forms[path.suffix](), "utf-8")
    return path
