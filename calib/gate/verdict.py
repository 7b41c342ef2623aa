"""The verdict of a gate on a build, and its forms: text, table, JSON, JUnit, annotations of GitHub."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np

from calib._version import __version__
from calib.core.check import ArgumentError
from calib.core.result import short
from calib.core.text import plain_json
from calib.gate.display import gate_assumptions
from calib.table.files import whole_or_not
from calib.table.results import Results
from calib.table.text import markdown_text, visible

if TYPE_CHECKING:
    import pandas as pd

    from calib.gate.judge_bars import JudgeCheck
    from calib.gate.outcomes import GateCheck

_EXIT_CODES = {"pass": 0, "trusted": 0, "fail": 1, "untrusted": 1, "inconclusive": 3}
_MARKS = {"pass": "✔ pass", "fail": "✘ fail", "inconclusive": "? inconclusive"}
_MARKS |= {"trusted": "✔ trusted", "untrusted": "✘ untrusted"}
_HEADS = ("check", "outcome", "estimate", "interval", "threshold", "labels", "what would decide")
_KINDS = {0: "notice", 1: "error", 3: "warning"}


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
        The arguments: threshold, margin, baseline, error, sequential, min_labels, max_unread.
    digests : dict of str
        Hashes of the scores and the labels that it rests on, whatever their order.
    notes : tuple of str
        What a reader should know, about the gate as a whole.
    assumptions : tuple of str
        What the tables do not say and the verdict rests on, beside what every gate assumes.

    Examples
    --------
    >>> import calib
    >>> mine = {"id": range(40), "score": [4, 5, 4, 3] * 10, "label": [4, 5, 3, 4] * 10}
    >>> calib.gate(mine, threshold=3, judge="score", label="label", scale="1|2|3|4|5").exit_code
    0
    """

    outcome: str
    system: str
    checks: Results[Any]
    asked: Mapping[str, Any]
    digests: Mapping[str, str]
    notes: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """What `calib gate` leaves with: 0 pass, 1 fail, 3 inconclusive."""
        return _EXIT_CODES[self.outcome]

    @property
    def unread(self) -> bool:
        """Whether a check is open and too many of its outputs have no score, which no further label mends."""
        most = float(self.asked["max_unread"])
        return any(one.outcome == "inconclusive" and one.share_unread > most for one in self.checks)

    @property
    def headline(self) -> str:
        """The outcome and whose it is, in one line."""
        return f"{self.outcome}: {self.system}"

    @property
    def next_steps(self) -> tuple[str, ...]:
        """What would decide each open check: how many labels, and the call that draws them."""
        steps = []
        for label, one in _labelled_checks(self):
            if one.outcome != "inconclusive" or np.isnan(one.labels_to_decide):
                continue
            criterion, needed = str(label["criterion"]), int(one.labels_to_decide)
            rows = f'scores[(scores["system"] == {self.system!r}) & (scores["criterion"] == {criterion!r})]'
            both = " of inputs that both builds answered" * (one.estimand != "human mean")
            draw = f"calib.choose({rows}, {max(1, needed - one.n_labels)})"
            steps.append(f"{criterion}: about {needed} labels{both} (has {one.n_labels}): {draw}")
        return tuple(steps)

    @property
    def cautions(self) -> tuple[str, ...]:
        """The notes, and what the checks warn of."""
        return (*self.notes, *dict.fromkeys(text for one in self.checks for text in one.warnings))

    def to_frame(self) -> pd.DataFrame:
        """The checks as a DataFrame."""
        return self.checks.to_frame()

    def markdown(self) -> str:
        """A table of the checks for a job's summary, with what they assume."""
        rows = [_HEADS, ["---"] * len(_HEADS), *(_check_cells(*pair) for pair in _labelled_checks(self))]
        cells = ([cell if cell == "---" else markdown_text(cell) for cell in row] for row in rows)
        table = "\n".join(f"| {' | '.join(row)} |" for row in cells)
        beside = f"not worse than {self.asked['baseline']}" if self.asked.get("baseline") else "above the threshold"
        subject = self.headline.partition(": ")[2]
        head = f"### {_MARKS[self.outcome]}: {markdown_text(subject)} ({markdown_text(beside)})"
        steps = "\n".join(f"- to decide {markdown_text(step)}" for step in self.next_steps)
        notes = "\n".join(f"- ⚠ {markdown_text(text)}" for text in self.cautions)
        all_assumed = (*gate_assumptions(self.checks), *self.assumptions)
        assumed = "\n".join(f"- assumed: {markdown_text(text)}" for text in all_assumed)
        signed = "\n".join(f"- `{one.signature}`" for one in self.checks)
        labels = f"labels `{self.digests['labels'][:19]}`, scores `{self.digests['scores'][:19]}`"
        return "\n\n".join(filter(None, (head, table, steps, notes, assumed, signed, labels))) + "\n"

    def record(self) -> dict[str, Any]:
        """All of it as plain values, as JSON and the ledger have it."""
        checks: list[dict[str, Any]] = [
            {**{str(name): value for name, value in label.items() if isinstance(value, str | int | float)},
             **{str(name): value for name, value in one.to_frame().iloc[0].items()}, "reason": one.reason,
             "signature": one.signature, "confidence_level": one.confidence_level, "warnings": list(one.warnings)}
            for label, one in _labelled_checks(self)
        ]  # fmt: skip
        whole: dict[str, Any] = {
            "schema": "calib/verdict/v1", "calib": __version__, "system": self.system, "outcome": self.outcome,
            "attempt": os.environ.get("GITHUB_RUN_ATTEMPT", ""), "asked": dict(self.asked), **self.digests,
            "checks": checks, "notes": list(self.notes), "assumptions": list(self.assumptions),
        }  # fmt: skip
        return dict(plain_json(whole))

    def write(self, path: str | Path) -> Path:
        """Write it: JUnit as .xml, the table as .md, all values as .json, a line a check as .txt."""
        return written_verdict(self, Path(path))

    def raise_for_outcome(self) -> None:
        """Raise `GateFailed`, or `GateInconclusive`, which is one, unless it passed."""
        if self.exit_code:
            raise (GateFailed if self.exit_code == 1 else GateInconclusive)(str(self))

    def __str__(self) -> str:
        width = max(len(one.outcome) for one in self.checks)
        lines = [f"{one.outcome:<{width}}  {_check_line(label, one)}" for label, one in _labelled_checks(self)]
        return "\n".join(visible(line) for line in (self.headline, *lines))

    def __repr__(self) -> str:
        return f"<{visible(self.headline)}>\n{self}"

    def _repr_html_(self) -> str:
        def each(tag: str, texts: Iterable[str]) -> str:
            return "".join(f"<{tag}>{html.escape(visible(text))}</{tag}>" for text in texts)

        title = each("b", [f"{_MARKS[self.outcome].partition(' ')[0]} {self.headline}"])
        rows = "".join(f"<tr>{each('td', _check_cells(*pair))}</tr>" for pair in _labelled_checks(self))
        steps = f"<ul>{each('li', self.next_steps)}</ul>" if self.next_steps else ""
        return f"<p>{title}</p><table><tr>{each('th', _HEADS)}</tr>{rows}</table>{steps}"


def _labelled_checks(verdict: Verdict) -> list[tuple[dict[str, Any], Any]]:
    return list(zip(verdict.checks.labels, verdict.checks, strict=True))


def _name_of(label: dict[str, Any]) -> str:
    """What a check is called: the criterion, or of a judge what stands under `check`."""
    return str(label.get("check", label["criterion"]))


def _check_line(label: dict[str, Any], one: GateCheck | JudgeCheck) -> str:
    return f"{_name_of(label)}: {one.numbers} ({one.counts}){': ' * bool(one.reason)}{one.reason}"


def _check_cells(label: dict[str, Any], one: GateCheck | JudgeCheck) -> list[str]:
    estimated = not np.isnan(one.estimate)
    needed = "" if np.isnan(one.labels_to_decide) else f"about {int(one.labels_to_decide)} labels"
    decide = "; ".join(filter(None, (one.reason, needed)))
    numbers = [short(one.estimate), one.bracket] if estimated else ["", ""]
    beside = [short(one.threshold), str(one.n_labels), decide]
    return [_name_of(label), _MARKS[one.outcome], *numbers, *beside]


# --- the forms that a build takes -------------------------------------------------------------------------------


def _github_data(text: str) -> str:
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def to_github(
    verdict: Verdict | None, system: str, message: str = "", json_path: Path | None = None
) -> tuple[list[str], list[str]]:
    """Append to the job's summary and outputs, if it has them; give the annotations, and what was not written.

    Without a verdict, of a gate that could not be measured, `message` says why.
    """
    if verdict is not None:
        summary = verdict.markdown() + "\n"
        outputs = f"outcome={verdict.outcome}\n" + (f"json={json_path}\n" if json_path is not None else "")
        lines: dict[str, list[str]] = {kind: [] for kind in _KINDS.values()}
        for label, one in _labelled_checks(verdict):
            kind = _KINDS[_EXIT_CODES[one.outcome]]
            name = _github_data(f"calib gate: {_name_of(label)}").replace(":", "%3A").replace(",", "%2C")
            lines[kind].append(f"::{kind} title={name}::{_github_data(f'{one.outcome}: {_check_line(label, one)}')}")
        # the runner shows ten of a kind in a step
        annotations = [line for of_kind in lines.values() for line in of_kind[:10]]
    else:
        summary = f"### ⚠ not measured: {markdown_text(system)}\n\n{markdown_text(message)}\n\n"
        annotations = [f"::error title=calib gate not measured::{_github_data(message)}"]
        outputs = "outcome=not measured\n"
    unwritten = []
    for variable, text in (("GITHUB_STEP_SUMMARY", summary), ("GITHUB_OUTPUT", outputs)):
        if path := os.environ.get(variable):
            try:
                with Path(path).open("a", encoding="utf-8") as file:
                    file.write(text)
            except OSError as problem:
                unwritten.append(f"{variable} was not written ({problem.strerror}); the exit code is the verdict's.")
    return annotations if os.environ.get("GITHUB_ACTIONS") == "true" else [], unwritten


def as_junit(verdict: Verdict, *, skipped: bool = False) -> str:
    """One suite with a case for each check; one that is inconclusive fails, or is `skipped`."""
    cases: list[tuple[object, list[ET.Element]]] = []
    for label, one in _labelled_checks(verdict):
        properties, line = ET.Element("properties"), _xml_text(_check_line(label, one))
        for name, value in one.to_frame().iloc[0].items():
            ET.SubElement(properties, "property", {"name": str(name), "value": _xml_text(value)})
        cases.append((_name_of(label), [properties]))
        if one.outcome == "inconclusive" and skipped:
            cases[-1][1].append(ET.Element("skipped", {"message": line}))
        elif _EXIT_CODES[one.outcome]:
            failure = ET.Element("failure", {"type": one.outcome, "message": line})
            failure.text = _xml_text(one)
            cases[-1][1].append(failure)
    return _junit(verdict.system, cases)


def unmeasured_junit(system: str, message: str) -> str:
    """The suite of a gate that could not be measured."""
    error = ET.Element("error", {"type": "not measured", "message": _xml_text(message)})
    return _junit(system, [("measured", [error])])


def _junit(system: str, cases: Sequence[tuple[object, Sequence[ET.Element]]]) -> str:
    """A document of one suite, with the parts of each case by its name."""
    tags = [part.tag for _, parts in cases for part in parts]
    counts = {"tests": len(cases), "failures": tags.count("failure"), "errors": tags.count("error")}
    whole = ET.Element("testsuites", {name: str(count) for name, count in counts.items()})
    counted = {"name": "calib.gate", **whole.attrib, "skipped": str(tags.count("skipped"))}
    suite = ET.SubElement(whole, "testsuite", counted)
    for name, parts in cases:
        names = {"classname": _xml_text(f"calib.gate.{system}"), "name": _xml_text(name), "time": "0"}
        ET.SubElement(suite, "testcase", names).extend(parts)
    ET.indent(whole)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(whole, encoding="unicode")}\n'


def _xml_text(value: object) -> str:
    """A text that XML 1.0 can hold."""
    return "".join(char for char in visible(value) if char not in "\ufffe\uffff")


def written_verdict(verdict: Verdict, path: Path, *, skipped: bool = False) -> Path:
    """The verdict in the form that the path's ending names."""
    match path.suffix:
        case ".xml":
            text = as_junit(verdict, skipped=skipped)
        case ".md":
            text = verdict.markdown()
        case ".json":
            text = json.dumps(verdict.record(), indent=1, allow_nan=False) + "\n"
        case ".txt":
            text = f"{verdict}\n"
        case _:
            raise ArgumentError("path", "must end in .xml, .md, .json, .txt", f"got {str(path)!r}")
    with whole_or_not(path) as part:
        part.write_text(text, "utf-8")
    return path
