"""Validation of arguments and arrays: each check raises an `ArgumentError` that names the argument."""

from __future__ import annotations

import collections.abc
import inspect
import sys
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache, partial
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Self, Union, Unpack, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib.core.text import PrintableError, printable

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Labels = Sequence[Any] | NDArray[Any]


class ArgumentError(PrintableError, ValueError):
    """An argument breaks a rule.

    Attributes
    ----------
    argument, rule, received : str
        Its name, as the function that was called has it; what it must be, with ``{0}``, ``{1}`` for `mentions`; what
        was received instead, with its verb ("got 2").
    mentions, about : tuple of str, str
        Other arguments that the rule is about; what the error is of, where a function does many things in a row.

    Examples
    --------
    >>> error = ArgumentError("y", "must have the length of {0}", "got 2", mentions=("f",))
    >>> print(error)
    `y` must have the length of `f`, but got 2.
    >>> print(error.renamed({"y": "labels", "f": "scores"}, about="fluency"))
    fluency: `labels` must have the length of `scores`, but got 2.
    """

    def __init__(
        self, argument: str, rule: str, received: str = "", *, mentions: Sequence[str] = (), about: str = ""
    ) -> None:
        self.argument, self.rule, self.received = argument, rule, received
        self.mentions, self.about = tuple(mentions), about
        super().__init__(self.sentence())

    def __reduce__(self) -> Any:
        """An error may come from another process."""
        again = partial(type(self), mentions=self.mentions, about=self.about)
        return again, (self.argument, self.rule, self.received)

    def sentence(self, name: Callable[[str], str] = "`{}`".format) -> str:
        """The message, with arguments written as `name` does."""
        text = f"{self.rule}, but {self.received}" if self.received else self.rule
        # by hand: `format` would stumble over braces in values
        for place, mention in enumerate(self.mentions):
            text = text.replace(f"{{{place}}}", name(mention))
        return printable(f"{self.about}{': ' * bool(self.about)}{name(self.argument)} {text}.")

    def renamed(self, names: Mapping[str, str], *, about: str = "") -> Self:
        """The same error in the names that a caller used."""
        mentions = [names.get(mention, mention) for mention in self.mentions]
        argument = names.get(self.argument, self.argument)
        return type(self)(argument, self.rule, self.received, mentions=mentions, about=about or self.about)


def array(value: ArrayLike, name: str, *, ndim: int | None = None) -> Floats:
    """Floats of the wanted dimension; masked entries become NaN, infinities are refused.

    Examples
    --------
    >>> array([1, 2, None], "x", ndim=1)
    array([ 1.,  2., nan])
    >>> array([[1.0]], "x", ndim=1)
    Traceback (most recent call last):
        ...
    calib.core.check.ArgumentError: `x` must have 1 dimension, but got shape (1, 1).
    """
    if isinstance(value, np.ma.MaskedArray):
        value = np.ma.filled(value.astype(float), np.nan)
    try:
        if hasattr(value, "isna") and hasattr(value, "to_numpy"):  # pandas, whose missing value numpy may not know
            value = value.to_numpy(dtype=float, na_value=np.nan)
        out = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError(name, "must be numeric", _got(value)) from None
    if ndim is not None and out.ndim != ndim:
        plural = "" if ndim == 1 else "s"
        raise ArgumentError(name, f"must have {ndim} dimension{plural}", f"got shape {out.shape}")
    if np.isinf(out).any():
        place = tuple(int(i) for i in np.argwhere(np.isinf(out))[0])
        raise ArgumentError(name, "must be finite or NaN", f"got {out[place]} at {place}")
    return out


def same_length(**arrays: Any) -> None:
    """All arrays have the length of the first; None is passed over."""
    lengths = {name: len(value) for name, value in arrays.items() if value is not None}
    first, length = next(iter(lengths.items()))
    for name, other in lengths.items():
        if other != length:
            raise ArgumentError(name, f"must have the length of {{0}} ({length})", f"got {other}", mentions=(first,))


def codes(labels: Labels, name: str) -> Codes:
    """Labels as integers 0..k-1, in order of appearance; a missing label is refused.

    Examples
    --------
    >>> codes(["b", "a", "b"], "groups")
    array([0, 1, 0])
    """
    if isinstance(labels, str | bytes):
        raise ArgumentError(name, "must be a sequence of labels", f"got the text {labels!r}")
    values = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    try:
        place = {label: number for number, label in enumerate(dict.fromkeys(values))}
    except TypeError:
        bad = next(i for i, label in enumerate(values) if not isinstance(label, Hashable))
        raise ArgumentError(name, "must have 1 dimension", f"got a list at {bad}") from None
    if any(map(_is_missing, place)):
        first = next(i for i, label in enumerate(values) if _is_missing(label))
        raise ArgumentError(name, "must have no missing label", f"got one at {first}")
    return np.fromiter(map(place.__getitem__, values), dtype=np.intp, count=len(values))


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)  # noqa: PLR0124 - what is not itself is NaN or NaT
    except TypeError:  # pandas.NA does not say
        return True


def choice(value: str, name: str, options: Sequence[str]) -> str:
    """One of the options."""
    if value not in options:
        raise ArgumentError(name, f"must be one of {', '.join(map(repr, options))}", f"got {value!r}")
    return value


def probability(value: float, name: str) -> float:
    """A number strictly between 0 and 1."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < value < 1:
        raise ArgumentError(name, "must be between 0 and 1", _got(value))
    return float(value)


def whole(value: int, name: str, *, least: int) -> int:
    """A whole number that is not below `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ArgumentError(name, f"must be a whole number of {least} or more", f"got {value!r}")
    return int(value)


# what an argument may be: the test, and the words for one and for many
_KINDS: dict[Any, tuple[Callable[[Any], bool], str, str]] = {
    NoneType: (lambda value: value is None, "None", "None"),
    bool: (lambda value: isinstance(value, bool | np.bool_), "True or False", "True or False"),
    int: (lambda value: isinstance(value, Integral) and not isinstance(value, bool), "a whole number", "whole numbers"),
    float: (lambda value: isinstance(value, Real) and not isinstance(value, bool), "a number", "numbers"),
    str: (lambda value: isinstance(value, str), "a text", "texts"),
    Path: (lambda value: isinstance(value, str | PathLike), "a path", "paths"),
    np.random.Generator: (lambda value: isinstance(value, np.random.Generator), "a numpy Generator", "Generators"),
}


def check_types(function: Any, arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that are not what the signature says: the first line of a public function.

    Only of numbers, texts, truth values, paths, and sequences and mappings of these.

    Examples
    --------
    >>> def draw(*, n: int = 1, sizes: Sequence[int] | None = None) -> None:
    ...     check_types(draw, locals())
    >>> draw(sizes=[1, "x"])
    Traceback (most recent call last):
        ...
    calib.core.check.ArgumentError: `sizes` must be whole numbers or None, but got [1, 'x'].
    """
    typed = _typed_arguments(function)
    for name, value in arguments.items():
        parts = typed.get(name, (Any,))
        kinds = [_kind(part) for part in parts if part is not str or Path not in parts]
        if None in kinds or any(test(value) for test, _ in filter(None, kinds)):
            continue
        raise ArgumentError(name, f"must be {' or '.join(words for _, words in filter(None, kinds))}", _got(value))


@cache
def _typed_arguments(function: Any) -> dict[str, tuple[Any, ...]]:
    """The types of arguments, of fields or of words, each as its alternatives."""
    hints = get_type_hints(function)
    signed = hints if is_typeddict(function) else inspect.signature(function).parameters
    whole = {name: hints[name] for name in signed if name in hints and get_origin(hints[name]) is not Unpack}
    return {name: get_args(one) if get_origin(one) in (Union, UnionType) else (one,) for name, one in whole.items()}


def _kind(part: Any) -> tuple[Callable[[Any], bool], str] | None:
    """The test of one alternative and its words; None for what is tested elsewhere."""
    origin, inner = get_origin(part), get_args(part)
    if origin is Literal:  # which texts is for its function to say
        return _kind(str)
    test, one, many = _KINDS.get(inner[-1] if inner else part, (callable, "a function", ""))
    if part is str:  # the name of a column may be a number
        return (lambda value: test(value) or _KINDS[int][0](value)), one
    if part in _KINDS or origin is collections.abc.Callable:
        return test, one
    if origin in (Sequence, tuple) and many:
        return (lambda value: not isinstance(value, str) and _all(test, value)), many
    if origin is Mapping and many:
        return (lambda value: isinstance(value, Mapping) and _all(test, value.values())), f"a dict of {many}"
    return None


def _all(test: Callable[[Any], bool], values: Any) -> bool:
    """Whether these are several and each passes; rows and columns of a frame are neither."""
    return isinstance(values, Iterable) and not hasattr(values, "columns") and all(map(test, values))


def _got(value: Any) -> str:
    """The received value in a few words."""
    if hasattr(value, "columns"):
        return f"got a {type(value).__name__}"
    text = repr(value)
    return f"got {text if len(text) <= 60 else text[:57] + '...'}"


class CalibWarning(UserWarning):
    """A result may mislead; the text is in its `warnings`, too, where it has such a field.

    Each text begins with its name; `docs/warnings.md` lists what to do about each.
    """


def warn(message: str, category: type[Warning] = CalibWarning) -> None:
    """Warn where calib was called."""
    level, frame = 1, sys._getframe()  # noqa: SLF001 - `warnings` has no other way before Python 3.12
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("calib."):
        level, frame = level + 1, frame.f_back
    warnings.warn(printable(message), category, stacklevel=level)


def warn_all(texts: Sequence[str]) -> tuple[str, ...]:
    """The warnings of a result, after warning of each."""
    for text in texts:
        warn(text)
    return tuple(texts)
