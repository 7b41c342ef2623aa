"""What a topic says of itself: its results, plots, words and commands by name, so that saying so loads nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True)
class Shown:
    """How results of one type are shown.

    Attributes
    ----------
    plots : tuple of str
        What `plots.py` has for it. A report draws the first, unless `pictures` chooses.
    pictures : str
        In `plots.py`: results -> the drawings of a report, each of which takes `ax`.
    apart : bool
        Whether each result has a picture of its own.
    conclusions : str
        In `words.py`: labels and results -> what may be concluded, in sentences. Default: what each says of itself.
    speaks : bool
        Whether a report of several has the conclusions beside their table.
    adds : bool
        Whether a report of a single one has the conclusion behind its line.
    joined : bool
        Whether results of the same rows, made in several ways, are one section.
    notes, assumptions : str
        In `words.py`: results -> what a reader has to mind, and what must be true for the intervals to hold.
    interval_of : str
        The attribute that has the interval, where it is not the result itself.
    repeats : tuple of str
        Labels that the sentences of the result name themselves.
    """

    plots: tuple[str, ...] = ()
    pictures: str = ""
    apart: bool = False
    conclusions: str = ""
    speaks: bool = False
    adds: bool = False
    joined: bool = False
    notes: str = ""
    assumptions: str = ""
    interval_of: str = ""
    repeats: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Topic:
    """A folder of statistics and what is known of it by name.

    Attributes
    ----------
    home : str
        Its package.
    results : mapping of str to Shown
        By the name of the class.
    heads : mapping of str to str
        What columns of its frames are called in a report.
    frame : str
        In `words.py`: frame -> the columns of it that a reader wants.
    commands : tuple of str
        Functions of `commands.py` that the command line has.
    """

    home: str
    results: Mapping[str, Shown] = field(default_factory=dict)
    heads: Mapping[str, str] = field(default_factory=dict)
    frame: str = ""
    commands: tuple[str, ...] = ()

    def function(self, file: str, name: str) -> Callable[..., Any] | None:
        """The function of that name in `plots`, `words` or `commands`; None for an empty name."""
        return getattr(import_module(f"{self.home}.{file}"), name) if name else None


def topic_of(kind: type) -> Topic:
    """The topic of a type of result, by where it is defined; what is defined elsewhere has an empty one.

    Examples
    --------
    >>> from calib.stats import Agreement, Interval
    >>> topic_of(Agreement).home, topic_of(Interval).results
    ('calib.analysis.agreement', {})
    """
    calib, *folders = kind.__module__.split(".")
    inside = calib == "calib" and folders[:1] == ["analysis"]
    topic: Topic = import_module(".".join([calib, *folders[:2]])).TOPIC if inside else Topic(kind.__module__)
    return topic


def shown(kind: type) -> Shown:
    """How results of a type are shown."""
    return topic_of(kind).results.get(kind.__name__, Shown())


def words_of(kind: type, what: str) -> Callable[..., Any] | None:
    """The function of `words.py` that an entry of `Shown` names, if it names one."""
    return topic_of(kind).function("words", getattr(shown(kind), what))
