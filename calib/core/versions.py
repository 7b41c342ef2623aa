"""Versions of calib and of what it uses, for a report of a fault."""

from __future__ import annotations

import platform
import re
import sys
from contextlib import suppress
from importlib import metadata

from calib._version import __version__


def show_versions() -> None:
    """Print the versions of Python, of calib, and of the packages that it uses where they are installed.

    Examples
    --------
    >>> show_versions()  # doctest: +ELLIPSIS
    calib ...
    Python ...
    """
    lines = [f"calib {__version__}", f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"]
    try:
        needed = metadata.requires("calib-judge") or []
    except metadata.PackageNotFoundError:  # a folder that was not installed
        needed = []
    for name in sorted({re.split(r"[^\w.-]", one, maxsplit=1)[0] for one in needed} - {"calib-judge"}):
        with suppress(metadata.PackageNotFoundError):
            lines.append(f"{name} {metadata.version(name)}")
    sys.stdout.write("\n".join([*lines, ""]))
