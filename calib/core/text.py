"""Printable messages, hashes of scripts, errors of packages that are not installed, and versions of those that are."""

from __future__ import annotations

import base64
import hashlib
import math
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module, resources
from typing import Any

from calib._version import __version__

HALF = re.compile("[\ud800-\udfff]")  # half a character, such as the end of a text that was cut


def printable(text: str) -> str:
    r"""A text for a message: characters that cannot be seen are escaped as in Python; one line stays one line.

    Examples
    --------
    >>> printable("a\x1b[31mb\nc\u202ed, cr\u00e8me")
    'a\\x1b[31mb\\nc\\u202ed, cr\xe8me'
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def shortlist(names: Sequence[str], most: int) -> str:
    """The first of them, and how many more there are."""
    return ", ".join(names[:most]) + f" and {len(names) - most} more" * (len(names) > most)


def source_hash(source: str) -> str:
    """A script or style by its hash, as a page's content security policy lets it through."""
    return f"sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}"


def asset(package: str, name: str) -> str:
    """The text of a file that lies beside the modules of a package of `calib`."""
    return resources.files(f"calib.{package}").joinpath(name).read_text(encoding="utf-8")


class PrintableError(Exception):
    """An error whose message may hold names and texts of others, and shows them harmless."""

    def __str__(self) -> str:
        return printable(super().__str__())


class MissingPackageError(PrintableError, ImportError):
    """A package that this use of calib needs is not installed; the message has the command that installs it."""


def needed(package: str, *, extra: str, use: str) -> Any:
    """A package of an extra, imported; where it is not installed, the error names the extra.

    Examples
    --------
    >>> needed("pyarrow_of_another_world", extra="parquet", use="Parquet files")
    Traceback (most recent call last):
        ...
    calib.core.text.MissingPackageError: Parquet files need the package pyarrow_of_another_world, which is not
    installed: pip install 'calib-judge[parquet]'
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        missing = f"{use} need the package {error.name}, which is not installed"
        raise MissingPackageError(f"{missing}: pip install 'calib-judge[{extra}]'", name=error.name) from None


def plain_json(value: Any) -> Any:
    """A value as JSON has it: what is not finite, or is missing, is null.

    Examples
    --------
    >>> plain_json({"a": (1, float("nan"))})
    {'a': [1, None]}
    """
    if isinstance(value, Mapping):
        return {str(name): plain_json(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # pandas' own, which need not be loaded
        return None
    if isinstance(value, str | int):
        return value
    return plain_json(value.tolist()) if hasattr(value, "tolist") else str(value)


def show_versions() -> None:
    """Print the versions of Python, of calib, and of the packages that it uses where they are installed.

    Examples
    --------
    >>> show_versions()  # doctest: +ELLIPSIS
    calib ...
    Python ...
    """
    import platform
    from importlib import metadata

    lines = [f"calib {__version__}", f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"]
    try:
        requirements = metadata.requires("calib-judge") or []
    except metadata.PackageNotFoundError:  # a folder that was not installed
        requirements = []
    for name in sorted({re.split(r"[^\w.-]", one, maxsplit=1)[0] for one in requirements} - {"calib-judge"}):
        with suppress(metadata.PackageNotFoundError):
            lines.append(f"{name} {metadata.version(name)}")
    sys.stdout.write("\n".join([*lines, ""]))
