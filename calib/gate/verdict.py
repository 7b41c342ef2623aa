"""What a gate says of a build: an outcome, the checks behind it, and what would decide those that are open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calib.core.topic import above
from calib.table.results import Results

if TYPE_CHECKING:
    import pandas as pd

    from calib.gate.outcomes import GateCheck

EXIT_CODES = {"pass": 0, "fail": 1, "inconclusive": 3}


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
        What was asked for: lines, margin, baseline, error, looks.
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
    >>> verdict.exit_code, verdict.checks[0].line
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
        return EXIT_CODES[self.outcome]

    @property
    def next_steps(self) -> tuple[str, ...]:
        """What would decide each open check: how many labels, and the call that draws them."""
        return tuple(above("gate.record", "next_steps")(self))

    def to_frame(self) -> pd.DataFrame:
        """The checks as a DataFrame."""
        return self.checks.to_frame()

    def markdown(self) -> str:
        """A table of the checks for a job's summary, with what they assume."""
        return str(above("gate.record", "as_markdown")(self))

    def record(self) -> dict[str, Any]:
        """All of it as plain values, as JSON and the ledger have it."""
        return dict(above("gate.record", "as_record")(self))

    def write(self, path: str | Path) -> Path:
        """Write it: JUnit as .xml, the table as .md, all values as .json, a line a check as .txt.

        Raises
        ------
        ArgumentError
            If the ending is another.
        """
        return Path(above("gate.record", "written_verdict")(self, Path(path)))

    def raise_for_outcome(self) -> None:
        """Raise `GateFailed`, or `GateInconclusive`, which is one, unless it passed."""
        if self.outcome != "pass":
            raise (GateFailed if self.outcome == "fail" else GateInconclusive)(str(self))

    def __str__(self) -> str:
        return str(above("gate.record", "as_text")(self))

    def __repr__(self) -> str:
        return f"<{self.outcome}: {self.system}>\n{self}"

    def _repr_html_(self) -> str:
        return str(above("gate.record", "as_html")(self))
