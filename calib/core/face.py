"""A face that loads its names on first use, from the stub beside it.

`lazy_loader.attach_stub` does this for `calib`; it takes names from below a face only, and
`calib.stats` and `calib.plot` gather theirs from the topics.
"""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def attach(face: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package: each ``from module import name as name`` of its stub.

    Examples
    --------
    >>> import calib.stats
    >>> load, _, names = attach("calib.stats", calib.stats.__file__)
    >>> load("short"), "ppi_mean" in names
    Traceback (most recent call last):
        ...
    AttributeError: module 'calib.stats' has no attribute 'short'
    """
    found = homes(face, file)
    names = sorted(found)

    def load(name: str) -> Any:
        if name not in found:
            raise AttributeError(f"module {face!r} has no attribute {name!r}")
        value = getattr(import_module(found[name]), name)
        setattr(sys.modules[face], name, value)  # the next use finds it there
        return value

    return load, names.copy, names


def homes(face: str, file: str) -> dict[str, str]:
    """The module of each name of a face, by its stub.

    Examples
    --------
    >>> import calib
    >>> homes("calib", calib.__file__)["interval"]
    'calib.analysis.means.frames'
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    lines = [line for line in stub.body if isinstance(line, ast.ImportFrom)]
    return {
        alias.name: f"{face}.{line.module or alias.name}" if line.level else str(line.module)
        for line in lines
        for alias in line.names
    }
