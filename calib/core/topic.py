"""Topics: the results of each and their display, by name, so that listing them loads nothing."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class ResultDisplay:
    """How the results of one class are displayed, by functions in `display.py` of the topic, or "file.name" beside."""

    heading: str = ""  # of their section in a report; default: the name of the class
    plots: tuple[str, ...] = ()  # functions of `calib.plot`, the usual one first
    pictures: str = ""  # results -> the drawings of a report, each of which takes `ax`; default: the usual plot of all
    headline: str = ""  # results -> what is seen in one sentence: the title of their picture
    conclusions: str = ""  # labels and results -> what may be concluded; default: the conclusion of each
    table_alone: bool = False  # a section of several has no conclusions above its table
    notes: str = ""  # results -> what a reader has to mind
    assumptions: str = ""  # results -> what must be true for the intervals to hold
    blocks: str = ""  # results -> further parts of their section, each a `calib.table.text.Block`
    side: str = ""  # label, result -> on which side its interval lies, a word and a sentence; None: nothing is asked
    interval: str = ""  # the attribute that has the interval, where it is not the result itself


@dataclass(frozen=True, slots=True)
class Topic:
    """A folder of statistics: its results and column heads by name."""

    home: str  # its package
    results: Mapping[str, ResultDisplay] = field(default_factory=dict)  # by the name of the class
    heads: Mapping[str, str] = field(default_factory=dict)  # what columns of its frames are called in a report
    frame: str = ""  # in `display.py`: frame -> the columns of it that a reader wants

    def function(self, file: str, name: str) -> Callable[..., Any] | None:
        """The function of that name in `display`, of "file.name" in that file; None for an empty name."""
        beside, _, own = name.rpartition(".")
        return getattr(import_module(f"{self.home}.{beside or file}"), own) if name else None


def topic_of(kind: type) -> Topic:
    """The topic of a type of result, by where it is defined; what is defined elsewhere has an empty one."""
    home = re.match(r"calib\.(analysis\.\w+|gate|runs)\b", kind.__module__)
    topic: Topic = import_module(home[0]).TOPIC if home else Topic(kind.__module__)
    return topic


def display_of(kind: type) -> ResultDisplay:
    """How results of a type are displayed; of one that no topic knows a table says it all."""
    return topic_of(kind).results.get(kind.__name__, ResultDisplay(table_alone=True))


def display_function(kind: type, name: str) -> Callable[..., Any] | None:
    """The function of `display.py` that a field of `ResultDisplay` names, if it names one."""
    return topic_of(kind).function("display", getattr(display_of(kind), name))


def above(module: str, name: str) -> Any:
    """A function of a higher layer, by which a result shows or reports itself; loaded when it is called."""
    return getattr(import_module(f"calib.{module}"), name)


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
    modules = homes(face, file)
    names = sorted(modules)

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {face!r} has no attribute {name!r}")
        value = getattr(import_module(modules[name]), name)
        setattr(sys.modules[face], name, value)  # the next use finds it there
        return value

    return load, names.copy, names


def homes(face: str, file: str) -> dict[str, str]:
    """The module of each name of a face, by its stub."""
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    return {
        alias.name: f"{face}.{line.module or alias.name}" if line.level else str(line.module)
        for line in stub.body
        if isinstance(line, ast.ImportFrom)
        for alias in line.names
    }
