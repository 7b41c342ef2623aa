"""The commands: one per verb, each one call of the function of that name."""

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
import typer.core

from calib.console.command import built, declared
from calib.console.menu import COLUMNS, MENU, OPTIONS, OUTPUT, RARE, RARELY, STATISTICS, WRITTEN
from calib.console.show import say
from calib.core.progress import Stop, stoppable

# UsageError; typer has its own copy of click or uses the one that is installed
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]
# the modules that have commands of their own
_HOMES = (
    *("calib.console.commands", "calib.console.commands_labels", "calib.console.commands_readings"),
    *("calib.judge.commands", "calib.adapters.commands", "calib.labelling.commands", "calib.gate.commands"),
    *("calib.runs.commands", "calib.view.commands"),
)


def run(arguments: Sequence[str] | None) -> int:
    """Run a command; its exit code."""
    heard: set[str] = set()

    def show(message: object, *_: Any, **__: Any) -> None:
        if str(message) not in heard:
            heard.add(str(message))
            say(str(message))

    with warnings.catch_warnings(), stoppable() as stop:
        warnings.showwarning = show
        status = _run(sys.argv[1:] if arguments is None else arguments, stop)
        if stop.heard and arguments is None:
            # end at once: everything is closed, and a further Ctrl-C would only disturb Python's shutdown
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError):
                    stream.flush()
            os._exit(status)
    return status


class GroupedHelp(typer.core.TyperCommand):
    """A command whose help has its options in groups."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Without a file behind it `--json` prints, also where it names one to write (of the gates)."""
        if any(param.name == "json" and not getattr(param, "is_flag", True) for param in self.params):
            pairs = zip(args, [*args[1:], "--"], strict=True)
            args = ["--json=-" if one == "--json" and word[:1] == "-" and word != "-" else one for one, word in pairs]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, then each group under its heading."""
        groups: dict[str, list[Any]] = {name: [] for name in ("Arguments", OPTIONS, COLUMNS, STATISTICS, OUTPUT, RARE)}
        for param in self.get_params(ctx):
            if (record := param.get_help_record(ctx)) is not None:
                groups[_heading(param)].append(record)
        for heading, records in groups.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


def _heading(param: Any) -> str:
    if param.param_type_name == "argument":
        return "Arguments"
    own = RARE if param.name in RARELY else OUTPUT if param.name in (*WRITTEN, "help") else OPTIONS
    panel = getattr(param, "rich_help_panel", None)
    return panel if panel == COLUMNS or (panel and own == OPTIONS) else own


def commands() -> dict[str, Callable[..., Any]]:
    """Each command of the menu by its name: a function of its own, or its verb on FILE and LABELS."""
    modules = map(import_module, _HOMES)  # what these import is no command
    own = {name: f for m in modules for name, f in vars(m).items() if getattr(f, "__module__", "") == m.__name__}
    verbs = {name: name.replace("-", "_") for group in MENU.values() for name in group}
    return {name: own.get(verb) or declared(verb) for name, verb in verbs.items()}


def app(arguments: Sequence[str]) -> int:
    """Run one command; the options of the others, which stand in the signatures of their verbs, are not read."""
    program = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    # a command has no global options, and looking for them takes as long as all the rest
    no_command = not arguments or arguments[0][:1] == "-"
    program.callback(add_help_option=no_command)(_global_options if no_command else lambda: None)
    for name, function in commands().items():
        program.command(name, cls=GroupedHelp, help=function.__doc__)(
            built(function) if name in arguments[:1] else lambda: None
        )
    return program(args=arguments, prog_name="calib", standalone_mode=False) or 0


def _global_options(version: Annotated[bool, typer.Option("--version")] = False) -> None:
    """The global options, which are answered before a command is loaded; here for those who mistype one."""


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
    """Say that the command was interrupted and what is kept; the exit code."""
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
    # imported here, so that a mistyped word need not wait for them
    import sqlite3

    from calib.core.text import MissingPackageError
    from calib.datasets import DatasetError
    from calib.judge.calls.transport import JudgeError

    if isinstance(error, sqlite3.Error):
        return 1, " ".join((f"the store of replies: {error}.", *getattr(error, "__notes__", ())))
    if isinstance(error, JudgeError | DatasetError | MissingPackageError | OSError):
        return 1, " ".join((str(error), *getattr(error, "__notes__", ())))
    return None
