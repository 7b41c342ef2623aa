"""What a reproduction says where a package or data are missing: one line, and what to type.

Each script imports this before anything else that is not Python's own.
"""

import os
import sys
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parents[1]
_NAMES = {"rouge_score": "rouge-score"}  # calib brings the others


def in_words(error: BaseException) -> str:
    """What is missing and what to do about it; empty for an error of another kind."""
    if isinstance(error, ModuleNotFoundError):
        name = str(error.name).partition(".")[0]
        what = _NAMES.get(name, f"-e '{ROOT}[all]'")
        return f"the package {name} is not installed: {sys.executable} -m pip install {what}"
    if type(error).__name__ in ("DatasetError", "MissingPackageError"):
        return str(error)
    return ""


def skip(name: str, error: Exception) -> None:
    """Without data a reproduction is passed over. In a folder that was named a file that is absent is a miss."""
    if "CALIB_DATA" in os.environ:
        raise error
    print(f"skipped: {name} needs data that are not here; set CALIB_DATA. {error}")


def _tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if words := in_words(error):
        print(f"{Path(sys.argv[0]).resolve().parent.name}: {words}", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


if ROOT / "paper_repro" in Path(sys.argv[0]).resolve().parents:  # not where a test imports a reproduction
    sys.excepthook = _tell
