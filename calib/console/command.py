"""A command from a function that it calls: options, defaults and help are read there, and only there."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin, get_type_hints

import typer

from calib.console.files import Files, Items
from calib.console.option_help import arguments, arguments_told
from calib.inputs.names import Columns

F = TypeVar("F", bound=Callable[..., Any])
Parameters = dict[str, inspect.Parameter]
_MAY_BE_FILES = ("arguments", "guideline")
_WRITTEN = ("out", "store", "to_batch", "save", "accepted")  # options that name what a command writes
# what options for files of one's own were called
_FORMER = {"judge": ("--score",), "label": ("--human-score",), "label_item": ("--human-item",)}


def options_from(
    *verbs: str, only: Sequence[str] = (), without: Sequence[str] = (), called: Mapping[str, str] | None = None
) -> Callable[[F], F]:
    """The command takes the keyword arguments of these functions of `calib` as options, for its ``**options``.

    `called` says how messages call an argument that is no option of that name.
    """

    def noted(function: F) -> F:
        function.__dict__["asked"] = {"verbs": verbs, "only": only, "without": without, "called": called or {}}
        return function

    return noted


def built(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as typer takes it: with the options of its verbs and those for files of one's own spelled out."""
    asked = function.__dict__.get("asked", {"verbs": (), "called": {}})
    own = inspect.signature(function, eval_str=True).parameters
    options = _verb_options(asked, own)
    files = {name: p for name, p in _file_options().items() if name not in own} if "files" in own else {}
    special = {name: p for name, p in own.items() if p.kind is not p.VAR_KEYWORD and name != "files"}
    shown = special | options | files

    def command(**given: Any) -> None:
        from calib.core.check import ArgumentError

        _refuse_overwriting(given, shown)
        taken = _under_new_names({name: _value(p, given.pop(name)) for name, p in options.items()}, options)
        if files:
            said = {name: value for name in files if (value := given.pop(name)) not in (None, [])}
            taken["files"] = Files(said.pop("items", None), cast(Columns, said))
        try:
            function(**given, **taken)
        except ArgumentError as error:
            raise ValueError(error.told(name=lambda name: asked["called"].get(name) or _told(name, shown))) from None
        except KeyboardInterrupt as error:  # of which the parser would leave a number
            raise typer.Abort from error

    parameters = [p.replace(kind=p.KEYWORD_ONLY) for p in sorted(shown.values(), key=lambda p: p.name == "out")]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    command.__doc__ = function.__doc__
    return command


def _refuse_overwriting(given: Mapping[str, Any], shown: Parameters) -> None:
    """Before any work: what is written must not be a file that is read, whatever it is called, or written twice."""
    values = [(name, one) for name, value in given.items() for one in (value if isinstance(value, list) else [value])]
    # a text may be a file where a command takes files and names, or either
    files = ((name, Path(one) if isinstance(one, str) and name in _MAY_BE_FILES else one) for name, one in values)
    paths = [(name, path) for name, path in files if isinstance(path, Path)]
    for (name, path), (other, there) in product(paths, repeat=2):
        if name in _WRITTEN and other != name and _is_same_file(path, there):
            same = f"{str(path)!r} is {str(there)!r}"
            raise typer.BadParameter(
                f"{_told(name, shown)} must be another file than {_told(other, shown)}, but {same}."
            )


def _is_same_file(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)  # through links of both kinds
    except OSError:  # one of them is not there yet
        return os.path.realpath(path) == os.path.realpath(other)


def _verb_options(asked: Mapping[str, Any], own: Mapping[str, Any]) -> Parameters:
    found: Parameters = {}
    for verb in asked["verbs"]:
        for name, parameter in _shell_options(verb).items():
            if name not in (*own, *asked["without"]) and (not asked["only"] or name in asked["only"]):
                found.setdefault(name, parameter)
    return found


def _file_options() -> Parameters:
    """--items, and what may be said of the columns of a file of one's own: the same words as in Python."""
    notes: dict[str, Any] = {"items": Items}
    for name, hint in get_type_hints(Columns, include_extras=True).items():
        kind, told = get_args(hint)
        many = any(get_origin(part) is Sequence for part in get_args(kind))
        option = typer.Option(f"--{name.replace('_', '-')}", *_FORMER.get(name, ()), help=f"Your own file. {told}")
        notes[name] = Annotated[list[str] | None if many else str | None, option]
    keyword = inspect.Parameter.KEYWORD_ONLY
    return {name: inspect.Parameter(name, keyword, default=None, annotation=note) for name, note in notes.items()}


def _shell_options(verb: str) -> Parameters:
    """The arguments of a function of `calib` as options."""
    told = arguments_told(verb)
    found = {}
    for name, argument in arguments(verb).items():
        text = told.get(name, "") + (" An empty text is None." if argument.is_text_or_none else "")
        default = list(argument.default) if isinstance(argument.default, tuple) else argument.default
        option = typer.Option(help=text, hidden=name == "method" and default is None)
        found[name] = inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[argument.kind, option]
        )
    return found


def _under_new_names(given: dict[str, Any], options: Parameters) -> dict[str, Any]:
    """What was given by an old name, by that which the verb has now."""
    if "method" not in options or options["method"].default is not None:
        return given
    now = next((name for name in ("estimator", "design", "coefficient") if name in options), "method")
    old = given.pop("method")
    return given if old is None else given | {now: old}


def _value(parameter: inspect.Parameter, given: Any) -> Any:
    """What the verb gets: None for an empty text, tuples for what is repeatable."""
    if isinstance(given, list):
        return tuple(given) or parameter.default
    return None if given == "" else given


def _told(name: str, shown: Parameters) -> str:
    """An argument as the user of the command knows it."""
    if name not in shown:
        return f"`{name}`"
    if any(isinstance(note, typer.models.ArgumentInfo) for note in get_args(shown[name].annotation)):
        return name.upper()
    return f"--{name.replace('_', '-')}"
