"""Packages that only some uses of calib need: each comes with an extra of the installation."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from calib.core.text import PrintableError


class MissingPackageError(PrintableError, ImportError):
    """A package that this use of calib needs is not installed; the message says what to type."""


def needed(package: str, *, extra: str, use: str) -> Any:
    """A package that an extra brings, loaded; if it is not there, the error says which extra that is.

    Examples
    --------
    >>> needed("pyarrow_of_another_world", extra="parquet", use="Parquet files")
    Traceback (most recent call last):
        ...
    calib.core.extras.MissingPackageError: Parquet files need the package pyarrow_of_another_world, which is not
    installed: pip install 'calib-judge[parquet]'
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        missing = f"{use} need the package {error.name}, which is not installed"
        raise MissingPackageError(f"{missing}: pip install 'calib-judge[{extra}]'", name=error.name) from None
