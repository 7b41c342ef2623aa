"""Commands from functions: options, defaults and help are read from the source of the function."""

from __future__ import annotations

import ast
import inspect
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin, get_type_hints

import typer

from calib.console.files import Files, Items, LabelsFile, Out, Scores
from calib.console.menu import COLUMNS, OUTPUT, STATISTICS, WRITTEN
from calib.console.next_steps import step_after
from calib.console.show import answer_as_json, say_next
from calib.core.parameters import completed
from calib.core.topic import homes
from calib.inputs.names import BY_COLUMN, Columns, InferredTables

F = TypeVar("F", bound=Callable[..., Any])
Parameters = dict[str, inspect.Parameter]
_PACKAGE = Path(__file__).parents[1]
_SIMPLE = {"Path": Path, "float": float, "int": int, "bool": bool, "str": str}
_SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", re.MULTILINE | re.DOTALL)
_MAY_BE_FILES = ("arguments", "guideline")
_JSON = typer.Option("--json", help="One JSON object instead of text.", rich_help_panel=OUTPUT)
_AS_JSON = Annotated[bool, _JSON]


def options_from(
    *verbs: str, only: Sequence[str] = (), without: Sequence[str] = (), called: Mapping[str, str] | None = None
) -> Callable[[F], F]:
    """The command takes the keyword arguments of these functions of `calib` as options, for its ``**options``.

    Its own arguments, such as FILE and LABELS, are the first ones of the first of these functions, in order, and so are
    they called in messages; `called` has the names of what differs.
    """

    def noted(function: F) -> F:
        function.__dict__["options"] = {"verbs": verbs, "only": only, "without": without, "called": called or {}}
        return function

    return noted


def declared(verb: str) -> Callable[..., bool]:
    """The command of a verb on FILE and LABELS that shows its results, where the menu has no more than its name.

    It returns whether the next step of the menu makes sense.
    """

    @options_from(verb)
    def command(file: Scores, files: Files, labels: LabelsFile = None, out: Out = None, **options: Any) -> bool:
        import calib
        from calib.console.show import show_results

        sides = files.resolved(file, labels)
        results = getattr(calib, verb)(*sides, **options)
        show_results(results, out, conclude=True)
        # a report needs a judge, and a leaderboard names for the systems
        alone = any(text.startswith("no_judge") for one in results for text in getattr(one, "warnings", ()))
        roles = {one.role for one in sides[0].columns} if isinstance(sides[0], InferredTables) else {"first"}
        return not alone and (verb != "pairwise_agreement" or "first" in roles)

    command.__name__ = verb
    command.__doc__ = (ast.get_docstring(_definition("calib", verb)[1]) or "").partition("\n")[0]
    return command


def built(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with a signature for typer: the options of its verbs and those for a user's own files."""
    source = function.__dict__.get("options", {"verbs": (), "only": (), "without": (), "called": {}})
    own = inspect.signature(function, eval_str=True).parameters
    options: Parameters = {}
    for verb in source["verbs"]:
        texts = option_help(verb)
        for name, argument in arguments(verb).items():
            if name in (*own, *source["without"]) or (source["only"] and name not in source["only"]):
                continue
            text = texts.get(name, "") + (" An empty text is None." if argument.is_text_or_none else "")
            default = list(argument.default) if isinstance(argument.default, tuple) else argument.default
            option = typer.Option(help=text, rich_help_panel=STATISTICS if "files" in own else None)
            options.setdefault(name, _parameter(name, Annotated[argument.kind, option], default))
    of_files = _file_options() if "files" in own else {}
    # `without` names options of the verbs, or else of the files
    verbs = [_definition("calib", verb)[1] for verb in source["verbs"]]
    of_verbs = {one.arg for verb in verbs if isinstance(verb, ast.FunctionDef) for one in verb.args.kwonlyargs}
    no_file = {name for name in source["without"] if name not in of_verbs}
    files = {name: p for name, p in of_files.items() if name not in (*own, *no_file)}
    special = {name: p for name, p in own.items() if p.kind is not p.VAR_KEYWORD and name != "files"}
    of_command = special | options | files | ({} if "json" in own else {"json": _parameter("json", _AS_JSON, False)})
    first = verbs[0] if verbs else None
    # the arguments that the first function takes by place are tables
    tables = tuple(one.arg for one in first.args.args) if isinstance(first, ast.FunctionDef) else ()
    names = _user_names(tables, of_command)
    in_messages = {name: f"--column {name}=" for name in BY_COLUMN} | names | source["called"]

    def command(**values: Any) -> None:
        from calib.core.check import ArgumentError

        _refuse_overwriting(values, names)
        as_json = "json" not in own and values.pop("json")
        command, typed = function.__name__.replace("_", "-"), dict(values)
        more: dict[str, Any] = {}
        for name, option in options.items():  # an empty text is None, what is repeatable a tuple
            value = values.pop(name)
            more[name] = (tuple(value) or option.default) if isinstance(value, list) else value if value != "" else None
        if files:
            words = {name: value for name in files if (value := values.pop(name)) not in (None, [])}
            words |= _roles(words.pop("column", ()), own)
            more["files"] = Files(words.pop("items", None), cast(Columns, words), tables)
        try:
            with answer_as_json(command) if as_json else nullcontext():
                leads_on = function(**values, **more)
                if leads_on is not False and (step := step_after(command, typed, files)):
                    say_next(step)
        except ArgumentError as error:
            raise ValueError(error.sentence(name=lambda name: in_messages.get(name, f"`{name}`"))) from None
        except FileNotFoundError as error:
            if error.filename is not None:
                raise
            text = re.sub(r"^`(\w+)`", lambda name: in_messages.get(name[1], name[0]), str(error))
            raise FileNotFoundError(text) from None
        except KeyboardInterrupt as error:  # of which the parser would leave a number
            raise typer.Abort from error

    parameters = [p.replace(kind=p.KEYWORD_ONLY) for p in sorted(of_command.values(), key=lambda p: p.name == "out")]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    command.__doc__ = function.__doc__
    return command


def _refuse_overwriting(values: Mapping[str, Any], names: Mapping[str, str]) -> None:
    """Before any work: what is written must not be a file that is read, whatever it is called, or written twice."""
    each = [(name, one) for name, value in values.items() for one in (value if isinstance(value, list) else [value])]
    # a text may be a file where a command takes files and names, or either
    files = ((name, Path(one) if isinstance(one, str) and name in _MAY_BE_FILES else one) for name, one in each)
    paths = [(name, path) for name, path in files if isinstance(path, Path)]
    for (name, path), (other, there) in product(paths, repeat=2):
        if name not in WRITTEN or other == name:
            continue
        same = os.path.realpath(path) == os.path.realpath(there)
        with suppress(OSError):  # one of them is not there yet
            same = path.samefile(there)  # through links of both kinds
        if same:
            rule = f"{names[name]} must be another file than {names[other]}"
            raise typer.BadParameter(f"{rule}, but {str(path)!r} is {str(there)!r}.")


def _file_options() -> Parameters:
    """--items, and the roles of the columns of a user's own file, called as in Python: the rarer ones by --column."""
    notes: dict[str, Any] = {"items": Items}
    rare = []
    for name, hint in get_type_hints(Columns, include_extras=True).items():
        kind, text = get_args(hint)
        if name in BY_COLUMN:
            rare.append(f"{name}: {text[0].lower()}{text[1:].rstrip('.')}")
            continue
        many = any(get_origin(part) is Sequence for part in get_args(kind))
        option = typer.Option(f"--{name}", help=text, rich_help_panel=COLUMNS)
        notes[name] = Annotated[list[str] | None if many else str | None, option]
    text = f"ROLE=NAME, repeatable: {'; '.join(rare)}."
    notes["column"] = Annotated[list[str] | None, typer.Option("--column", help=text, rich_help_panel=COLUMNS)]
    return {name: _parameter(name, note, None) for name, note in notes.items()}


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _roles(pairs: Sequence[str], others: Collection[str]) -> dict[str, str]:
    """The roles of --column; `others` are options of the command itself."""
    roles = [name for name in BY_COLUMN if name not in others]
    named: dict[str, str] = {}
    for pair in pairs:
        role, _, name = pair.partition("=")
        if (role := role.strip().replace("-", "_")) not in roles or not name:
            raise typer.BadParameter(f"--column must be ROLE=NAME with a role of {', '.join(roles)}, but got {pair!r}.")
        if role in named:
            raise typer.BadParameter(f"--column must name a role once, but {role} came twice.")
        named[role] = name
    return named


def _user_names(tables: Sequence[str], of_command: Parameters) -> dict[str, str]:
    """The names in messages of a command's arguments, and of the tables that the verb gets for them."""
    names = {name: f"--{name.replace('_', '-')}" for name in of_command}
    for name, parameter in of_command.items():
        if any(isinstance(note, typer.models.ArgumentInfo) for note in get_args(parameter.annotation)):
            names[name] = name.upper()
    return dict(zip(tables, (text for text in names.values() if text.isupper()), strict=False)) | names


# --- options and help of a function, read from its source, so that nothing has to be loaded ---------------------------


@dataclass(frozen=True)
class Argument:
    """A keyword argument of a function, or a field with a default, that a shell can give."""

    kind: Any  # its type there; of several the most specific
    default: Any
    is_text_or_none: bool


def arguments(name: str) -> dict[str, Argument]:
    """The arguments of a function of `calib` that a shell can give, and their defaults.

    Examples
    --------
    >>> found = arguments("interval")
    >>> found["min_labels"], found["by"].kind
    (Argument(kind=<class 'int'>, default=10, is_text_or_none=False), str | None)
    """
    module, node = _definition("calib", name)
    if isinstance(node, ast.ClassDef):
        fields = [line for line in node.body if isinstance(line, ast.AnnAssign)]
        rows = [(ast.unparse(line.target), line.annotation, line.value) for line in fields]
    else:
        pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        rows = [(one.arg, one.annotation, default) for one, default in pairs if one.annotation]
    read = {}
    for argument, annotation, value in rows:
        if value is None:
            continue
        parts, default = _annotation_parts(annotation, module), _default_value(value, module)
        # of several types the most specific: [int, list[int]] is list[int], [str, Path] is Path
        many = [part for part in parts if part not in (NoneType, *_SIMPLE.values())]
        kind = next((part for part in (*many, *_SIMPLE.values()) if part in parts), None)
        if kind:
            mixed = NoneType in parts
            text_or_none = isinstance(default, str) and mixed
            read[argument] = Argument(kind | None if mixed else kind, default, text_or_none)
    return read


def _annotation_parts(annotation: ast.expr, module: str) -> list[Any]:
    """The alternatives of an annotation that a shell can give, and None; what is imported for it is not loaded."""
    parts: list[Any] = []
    match annotation:
        case ast.Constant(value=None):
            parts = [NoneType]
        case ast.BinOp(left=left, right=right):
            parts = _annotation_parts(left, module) + _annotation_parts(right, module)
        case ast.Subscript(value=ast.Name(id="Sequence"), slice=inner):
            parts = [list[one] for one in _annotation_parts(inner, module)]  # type: ignore[valid-type]
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=inner)):
            parts = [tuple[tuple(part for one in inner for part in _annotation_parts(one, module))]]  # type: ignore[misc]
        case ast.Subscript(value=ast.Name(id="Literal")):
            parts = [str]
        case ast.Name(id=name) if name in _SIMPLE:
            parts = [_SIMPLE[name]]
        case ast.Name(id=name):
            home, there = _resolved(module, name)
            parts = _annotation_parts(there.value, home) if isinstance(there, ast.Assign) else []
    return parts


def _default_value(value: ast.expr, module: str) -> Any:
    if isinstance(value, ast.Name):
        home, there = _resolved(module, value.id)
        return _default_value(there.value, home)
    return ast.literal_eval(value)


def _definition(face: str, name: str) -> tuple[str, Any]:
    return _resolved(_homes(face)[name], name)


@cache
def _homes(face: str) -> dict[str, str]:
    return homes(face, str(_source_file(face)))


def _source_file(module: str) -> Path:
    path = _PACKAGE.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def _definitions(module: str) -> dict[str, Any]:
    """What a module defines or imports, by name; nothing of a module of others."""
    names: dict[str, Any] = {}
    if not module.startswith("calib.") or not _source_file(module).is_file():
        return names
    for node in ast.parse(_source_file(module).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign):
            names |= {target.id: node for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names[node.name] = node
    return names


def _resolved(module: str, name: str) -> tuple[str, Any]:
    """The module that defines a name of this one, and the definition there."""
    there = _definitions(module).get(name)
    return _resolved(*there) if isinstance(there, tuple) else (module, there)


def option_help(name: str, face: str = "calib") -> dict[str, str]:
    """The help text of each argument; a reference ("As for `calib.stats.x`.") is replaced by the text there.

    Examples
    --------
    >>> option_help("difference")["adjust"]
    'holm or bh. How p-values are adjusted where a is compared with several.'
    """
    module, node = _definition(face, name)
    section = _SECTION.search(completed(ast.get_docstring(node) or ""))
    texts, bare = dict[str, str](), list[str]()
    for block in re.split(r"\n(?=\S)", section[1].strip()) if section else []:
        head, _, body = block.partition("\n")
        names, _, kind = head.partition(" : ")
        first = re.split(r"\n\s*\n", body)[0]
        text = " ".join(first.split())
        elsewhere = re.match(r"As for `([\w.]+)`([^:]|$)", text)
        # one reference may stand below several arguments
        about = names.split(", ") + bare * bool(elsewhere)
        there: dict[str, str] = {}
        if elsewhere:  # a function of `calib.stats`, or one beside that which mentions it
            arrays = "calib.stats." in elsewhere[1] or not module.endswith((".frames", ".gate", ".compare"))
            there = option_help(elsewhere[1].rpartition(".")[2], "calib.stats" if arrays else "calib")
        # the choices and the text without the marks of a docstring
        choices = re.findall(r'"([^"]+)"', kind.partition("}")[0]) if kind.startswith("{") else []
        listed = " or ".join(filter(None, (", ".join(choices[:-1]), *choices[-1:])))
        own = "" if elsewhere else re.sub(r':math:|[`"]', "", re.sub(r"^As for `[\w.]+`: ", "", text))
        plain = " ".join(filter(None, (f"{listed}." if listed else "", own)))
        texts |= {name: there.get(name) or plain for name in about}
        bare = [] if text else [*bare, *names.split(", ")]
    return texts
