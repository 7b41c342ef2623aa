"""The command line: one command per verb, each one call of the function of that name.

Exit codes: 0 done, 1 the run failed (no API key, a call failed, data or a package not available), 2 the
usage or the input is wrong, 130 interrupted (143 by SIGTERM, 129 by SIGHUP). `calib gate` leaves with 0 for pass,
1 for fail, 3 for inconclusive, and with 2 for all that kept it from measuring; likewise `calib gate-judge`, and
`calib compare-runs` with --at-least.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any

import typer

from calib._version import __version__
from calib.console.command import built, declared
from calib.console.menu import MENU, GroupedHelp, Menu
from calib.console.show import say
from calib.core.progress import Stop, stoppable

# UsageError; typer has its own copy of click or uses the one that is installed
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]
# the modules that have commands of their own
_HOMES = (
    *("calib.console.commands", "calib.console.commands_labels", "calib.console.commands_readings"),
    *("calib.judge.commands", "calib.adapters.commands", "calib.labelling.commands", "calib.gate.commands"),
    "calib.runs.commands",
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    heard: set[str] = set()

    def show(message: object, *_: Any, **__: Any) -> None:
        if str(message) not in heard:
            heard.add(str(message))
            say(str(message))

    with warnings.catch_warnings(), stoppable() as stop:
        warnings.showwarning = show
        status = _run(sys.argv[1:] if arguments is None else arguments, stop)
        if stop.heard and arguments is None:
            # end here and now: everything is closed, and a further Ctrl-C would only hit Python's own farewell
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError):
                    stream.flush()
            os._exit(status)
    sys.exit(status)


def commands() -> dict[str, Callable[..., Any]]:
    """Each command of the menu by its name: a function of its own, or its verb on FILE and LABELS."""
    modules = map(import_module, _HOMES)  # what these import is no command
    own = {name: f for m in modules for name, f in vars(m).items() if getattr(f, "__module__", "") == m.__name__}
    verbs = {name: name.replace("-", "_") for group in MENU.values() for name in group}
    return {name: own.get(verb) or declared(verb) for name, verb in verbs.items()}


def app(arguments: Sequence[str]) -> int:
    """Run one command; the options of the others, which stand in the signatures of their verbs, are not read."""
    program = typer.Typer(cls=Menu, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    about = "How far can an LLM judge be trusted? `calib COMMAND --help` explains a command."
    # behind a command there are no global options, and to look for them takes as long as all the rest
    no_command = not arguments or arguments[0][:1] == "-"
    program.callback(help=about, add_help_option=no_command)(_global_options if no_command else lambda: None)
    for name, function in commands().items():
        program.command(name, cls=GroupedHelp, help=function.__doc__)(
            built(function) if name in arguments[:1] else lambda: None
        )
    return program(args=arguments or ["--help"], prog_name="calib", standalone_mode=False) or 0


def _say_version(value: bool) -> None:
    if value:
        typer.echo(f"calib {__version__}")
        raise typer.Exit


_Version = Annotated[bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say the version.")]


def _global_options(version: _Version = False) -> None:
    """What stands before a command."""


def _run(arguments: Sequence[str], stop: Stop) -> int:
    try:
        status = int(app(arguments))
    except BaseException as error:
        if stop.heard or isinstance(error, KeyboardInterrupt | typer.Abort):
            return _stopped(error, stop)
        # what was not measured must not look like a build that failed
        of_gate = isinstance(error, Exception) and _is_gate(arguments)
        if not isinstance(error, Exception) or (failure := _failure(error)) is None:
            if of_gate:
                traceback.print_exc()
                return 2
            raise
        status, message = failure
        say(message)
        return 2 if of_gate else status
    # the parser's own code for an interrupt
    return _stopped(KeyboardInterrupt(), stop) if status == Stop().code else status


def _is_gate(arguments: Sequence[str]) -> bool:
    bars = [one for one in arguments if one.partition("=")[0] == "--at-least"]
    return arguments[:1] in (["gate"], ["gate-judge"]) or (arguments[:1] == ["compare-runs"] and bool(bars))


def _stopped(error: BaseException, stop: Stop) -> int:
    """Print the notes of what is kept."""
    notes = [note for one in (error, error.__cause__) for note in getattr(one, "__notes__", ())]
    with suppress(OSError):  # the terminal may be gone
        say(" ".join(("interrupted.", *notes)))
    return stop.code


def _failure(error: Exception) -> tuple[int, str] | None:
    """Exit code and message of an error that the user can do something about."""
    if isinstance(error, _UsageError):
        return 2, error.format_message()  # type: ignore[attr-defined]
    if isinstance(error, OSError) and error.filename is not None:
        return 2, f"{error.strerror}: {error.filename}"
    if isinstance(error, ValueError | FileNotFoundError):
        return 2, str(error)
    # of what is not loaded by now there is no error; a mistyped word need not wait for it
    import sqlite3

    from calib.core.text import MissingPackageError
    from calib.datasets import DatasetError
    from calib.judge.calls.transport import JudgeError

    if isinstance(error, sqlite3.Error):
        return 1, " ".join((f"the store of replies: {error}.", *getattr(error, "__notes__", ())))
    if isinstance(error, JudgeError | DatasetError | MissingPackageError | OSError):
        return 1, " ".join((str(error), *getattr(error, "__notes__", ())))
    return None


if __name__ == "__main__":
    main()
