"""A command from a function that it calls: options, defaults and help are read there, and only there."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import typer

import calib
from calib.console.files import Files, Items
from calib.intake.taken import Columns

F = TypeVar("F", bound=Callable[..., Any])
Parameters = dict[str, inspect.Parameter]
_WRITTEN = ("out", "store", "to_batch")  # options that name what a command writes
# what options for files of one's own were called
_FORMER = {"judge": ("--score",), "label": ("--human-score",), "label_item": ("--human-item",)}
_SIMPLE = (Path, float, int, bool, str)
_SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", re.MULTILINE | re.DOTALL)


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
    files = _file_options() if "files" in own else {}
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
    # a text may be a file where a command takes files and names
    files = ((name, Path(one) if isinstance(one, str) and name == "arguments" else one) for name, one in values)
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
        for name, parameter in _shell_options(getattr(calib, verb)).items():
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


def _shell_options(function: Any) -> Parameters:
    """The keyword arguments of a function, or fields with a default, that a shell can give."""
    hints, told = get_type_hints(function), arguments_told(function)
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        kind, default = _shell_type(hints.get(name)), parameter.default
        settled = parameter.kind is parameter.KEYWORD_ONLY or isinstance(function, type)
        if kind is None or not settled or default is parameter.empty:
            continue
        empty = " An empty text is None." if isinstance(default, str) and NoneType in get_args(hints[name]) else ""
        option = typer.Option(help=told.get(name, "") + empty, hidden=name == "method" and default is None)
        default = list(default) if isinstance(default, tuple) else default
        found[name] = parameter.replace(annotation=Annotated[kind, option], default=default)
    return found


def _under_new_names(given: dict[str, Any], options: Parameters) -> dict[str, Any]:
    """What was given by an old name, by that which the verb has now."""
    if "method" not in options or options["method"].default is not None:
        return given
    now = next((name for name in ("estimator", "design", "coefficient") if name in options), "method")
    old = given.pop("method")
    return given if old is None else given | {now: old}


def _shell_type(hint: Any) -> Any:
    """The part of a type that can be written on a command line, or None.

    Examples
    --------
    >>> _shell_type(str | Path | None), _shell_type(Sequence[int]), _shell_type(dict)
    (pathlib.Path | None, list[int], None)
    """
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    many = [list[get_args(part)[0]] for part in parts if get_origin(part) is Sequence]  # type: ignore[misc]
    kinds = [*many, *(part for part in parts if get_origin(part) is tuple), *(k for k in _SIMPLE if k in parts)]
    if not kinds:
        return None
    return kinds[0] | None if NoneType in parts else kinds[0]


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


# --- docstrings -------------------------------------------------------------------------------------------------------


def arguments_told(function: Any) -> dict[str, str]:
    """A text for each argument; one that stands elsewhere ("As for `calib.stats.x`.") is taken from there.

    Examples
    --------
    >>> arguments_told(calib.difference)["adjust"]
    'holm or bh. How p-values are adjusted where a is compared with several.'
    """
    section = _SECTION.search(inspect.getdoc(function) or "")
    found: dict[str, str] = {}
    bare: list[str] = []
    for block in re.split(r"\n(?=\S)", section[1].strip()) if section else []:
        head, _, body = block.partition("\n")
        names, _, kind = head.partition(" : ")
        text = " ".join(inspect.cleandoc(body).partition("\n\n")[0].split())
        elsewhere = re.match(r"As for `([\w.]+)`([^:]|$)", text)
        # one reference may stand below several arguments
        about = names.split(", ") + bare * bool(elsewhere)
        there: dict[str, str] = {}
        if elsewhere:  # a function of `calib.stats`, or one beside that which mentions it
            arrays = "calib.stats." in elsewhere[1] or not function.__module__.endswith(".verbs")
            there = arguments_told(getattr(calib.stats if arrays else calib, elsewhere[1].rpartition(".")[2]))
        found |= {name: there.get(name) or _plain(kind, "" if elsewhere else text) for name in about}
        bare = [] if text else [*bare, *names.split(", ")]
    return found


def _plain(kind: str, text: str) -> str:
    """The choices and the text without the marks of a docstring."""
    choices = re.findall(r'"([^"]+)"', kind.partition("}")[0]) if kind.startswith("{") else []
    said = re.sub(r"^As for `[\w.]+`: ", "", text)
    listed = " or ".join(filter(None, (", ".join(choices[:-1]), *choices[-1:])))
    return " ".join(filter(None, (f"{listed}." if listed else "", re.sub(r'[`"]', "", said))))
