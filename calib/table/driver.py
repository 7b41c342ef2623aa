"""The loop of verbs on tables: checked arguments, shared parameter texts, one result for each slice."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Generic, TypeVar

from calib.core.check import ArgumentError, check_types
from calib.core.parameters import completed
from calib.core.result import Result
from calib.table.labelled import with_warnings
from calib.table.results import Results
from calib.table.validate import renamed_errors

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R", bound=Result)
Part = TypeVar("Part")


def verb(function: F) -> F:
    """A public function of tables: its arguments are checked by its signature, its docstring is completed.

    A line ``{groups}`` of its parameters becomes the entry of that name, which `calib.core.parameters` has once.

    Examples
    --------
    >>> @verb
    ... def spread(*, groups: str | None = "group") -> str:
    ...     '''The spread.
    ...
    ...     Parameters
    ...     ----------
    ...     {groups}
    ...     '''
    >>> "The column of what items share" in spread.__doc__
    True
    >>> spread(groups=1.5)
    Traceback (most recent call last):
        ...
    calib.core.check.ArgumentError: `groups` must be a text or None, but got 1.5.
    """
    signature = inspect.signature(function)

    @wraps(function)
    def checked(*positional: Any, **named: Any) -> Any:
        check_types(function, signature.bind(*positional, **named).arguments)
        return function(*positional, **named)

    checked.__doc__ = completed(function.__doc__ or "")
    return checked  # type: ignore[return-value]


@dataclass(frozen=True, slots=True, eq=False)
class Slice(Generic[Part]):
    """The rows that one result is made of: what they are about, how many were left out, what a reader should know."""

    label: Mapping[str, Any]
    rows: Part
    counts: Mapping[str, Any] | None = None
    warnings: Sequence[str] = ()


def each_result(
    slices: Iterable[Slice[Part]],
    statistic: Callable[[Part], R],
    *,
    names: Mapping[str, str] | None = None,
    skip: Collection[str] | None = (),
) -> Results[R]:
    """One result of a statistic for each slice, in order.

    Parameters
    ----------
    slices : iterable of Slice
    statistic : function of a slice's rows
    names : mapping, optional
        What the verb calls the arguments of the statistic: errors name those, and what the slice is about.
    skip : collection of str or None, default ()
        Arguments of the verb, of which an error leaves this slice out with a warning; one of all slices is raised.
        None: of any argument.
    """
    answers, refused = [], []
    for each in slices:
        try:
            with renamed_errors(each.label, **(names or {})):
                result = statistic(each.rows)
        except ArgumentError as error:
            if skip is not None and error.argument not in skip:
                raise
            refused.append(error)
            continue
        answers.append(({**each.label, **(each.counts or {})}, with_warnings(result, each.warnings)))
    return Results.of(answers, refused)
