"""The command line: what `calib`, `--help` and `--version` print is there before any package is loaded.

Exit codes: 0 done, 1 the run failed (no API key, a call failed, data or a package not available), 2 the
usage or the input is wrong, 130 interrupted (143 by SIGTERM, 129 by SIGHUP). `calib gate` leaves with 0 for pass,
1 for fail, 3 for inconclusive, and with 2 for all that kept it from measuring; likewise `calib gate-judge`, and
`calib compare-runs` with --at-least.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    first = [*(sys.argv[1:] if arguments is None else arguments)][:1]
    if first == ["--version"]:
        from calib._version import __version__

        sys.exit(_said(f"calib {__version__}"))
    if first in ([], ["--help"], ["--"]):
        from calib.console.menu import menu

        sys.exit(_said(menu()))
    from calib.console.program import run

    sys.exit(run(arguments))


def _said(text: str) -> int:
    """Exit code of an answer in text."""
    try:
        print(text, flush=True)  # noqa: T201
    except OSError as error:  # a full disk, a reader that has left
        sys.stderr.write(f"calib: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    main()
