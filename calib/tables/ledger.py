"""The ledger of a gate: one line for each verdict."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from calib.core.text import printable
from calib.table import TableError


def digest_of(frame: pd.DataFrame, columns: Sequence[str]) -> str:
    """A hash of the rows of a table, in whatever order they stand.

    Examples
    --------
    >>> rows = pd.DataFrame({"item": ["a", "b"], "score": [1.0, 2.0]})
    >>> digest_of(rows, ["item", "score"]) == digest_of(rows[::-1], ["item", "score"])
    True
    """
    names = [name for name in columns if name in frame]
    plain = frame[names].astype(object).where(frame[names].notna(), None)
    lines = sorted(json.dumps(row, default=str) for row in plain.to_numpy().tolist())
    return f"sha256:{hashlib.sha256(chr(10).join(lines).encode('utf-8', 'surrogatepass')).hexdigest()}"


@dataclass(frozen=True, slots=True)
class Ledger:
    """Verdicts of before, as their lines have them.

    Attributes
    ----------
    path : Path
    lines : tuple of dict
    """

    path: Path
    lines: tuple[dict[str, Any], ...]

    @classmethod
    def read(cls, path: str | Path) -> Ledger:
        """The ledger of a file; one that is not there yet is empty.

        Raises
        ------
        TableError
            If a line is none of a ledger; with its number.
        """
        here = Path(path)
        if not here.exists():
            return cls(here, ())
        lines = []
        for number, line in enumerate(_text(here).splitlines(), start=1):
            if line.strip():
                lines.append(_line(line, f"{printable(here.name)}, line {number}"))
        return cls(here, tuple(lines))

    def looked(self, system: str, n_gold: Mapping[str, int]) -> bool:
        """Whether a verdict on this build was made with fewer labels than it has now."""
        mine = [line for line in self.lines if line["system"] == system]
        counts = [(check["criterion"], check["n_gold"]) for line in mine for check in line["checks"]]
        return any(before < n_gold.get(criterion, 0) for criterion, before in counts)

    def append(self, record: Mapping[str, Any]) -> None:
        """Write a further line; what stands there stays."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(plain_json(record), sort_keys=True, allow_nan=False)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text + "\n")


def plain_json(value: Any) -> Any:
    """A value as JSON has it: what is not finite is null."""
    if isinstance(value, Mapping):
        return {str(name): plain_json(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | bool | None) else plain_json(value.item())


def _line(text: str, where: str) -> dict[str, Any]:
    try:
        line = json.loads(text)
        whole = isinstance(line, dict) and _whole(line)
    except ValueError:
        whole = False
    if not whole:
        raise TableError(f"{where}: must be a verdict of a gate, but is not: the ledger is damaged.")
    return line  # type: ignore[no-any-return]


def _text(path: Path) -> str:
    if not path.is_file():
        raise TableError(f"{printable(path.name)}: a ledger must be a file, but is none.")
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        raise TableError(f"{printable(path.name)}: must be UTF-8, but is not: the ledger is damaged.") from None


def _whole(line: Mapping[str, Any]) -> bool:
    checks = line.get("checks")
    return (
        all(isinstance(line.get(name), str) for name in ("system", "scores", "gold", "outcome"))
        and isinstance(checks, list)
        and all(isinstance(one, dict) for one in checks)
        and all(isinstance(one.get("criterion"), str) and isinstance(one.get("n_gold"), int) for one in checks)
    )
