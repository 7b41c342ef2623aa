"""What a function of calib says of itself, read in its source: options and help are there before anything is loaded."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any

from calib.core.topic import homes

_PACKAGE = Path(__file__).parents[1]
_SIMPLE = {"Path": Path, "float": float, "int": int, "bool": bool, "str": str}
_SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Argument:
    """A keyword argument of a function, or a field with a default, that a shell can give."""

    kind: Any  # its type there; of several that which says most
    default: Any
    is_text_or_none: bool


def arguments(name: str) -> dict[str, Argument]:
    """The arguments of a function of `calib` that a shell can give, and their defaults.

    Examples
    --------
    >>> found = arguments("interval")
    >>> found["min_gold"], found["by"].kind
    (Argument(kind=<class 'int'>, default=10, is_text_or_none=False), str | None)
    """
    found = {}
    module, node = _definition("calib", name)
    for argument, annotation, value in _settled(node):
        parts = _parts(annotation, module)
        default, mixed = _literal(value, module), NoneType in parts
        if kind := _most_telling(parts):
            text_or_none = isinstance(default, str) and mixed
            found[argument] = Argument(kind | None if mixed else kind, default, text_or_none)
    return found


def _settled(node: Any) -> list[tuple[str, ast.expr, ast.expr]]:
    """Name, annotation and default of keyword arguments and of fields."""
    if isinstance(node, ast.ClassDef):
        fields = (line for line in node.body if isinstance(line, ast.AnnAssign) and line.value is not None)
        return [(ast.unparse(line.target), line.annotation, line.value) for line in fields if line.value]
    pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    return [(one.arg, one.annotation, default) for one, default in pairs if default is not None and one.annotation]


def _most_telling(parts: Sequence[Any]) -> Any:
    """The part of a type that can be written on a command line, or None.

    Examples
    --------
    >>> _most_telling([str, Path, NoneType]), _most_telling([int, list[int]]), _most_telling([NoneType])
    (<class 'pathlib.Path'>, list[int], None)
    """
    many = [part for part in parts if part not in (NoneType, *_SIMPLE.values())]
    return next((part for part in (*many, *_SIMPLE.values()) if part in parts), None)


def _parts(annotation: ast.expr, module: str) -> list[Any]:
    """The alternatives of an annotation that a shell can give, and None; what is imported for it is not loaded."""
    found: list[Any] = []
    match annotation:
        case ast.Constant(value=None):
            found = [NoneType]
        case ast.BinOp(left=left, right=right):
            found = _parts(left, module) + _parts(right, module)
        case ast.Subscript(value=ast.Name(id="Sequence"), slice=inner):
            found = [list[one] for one in _parts(inner, module)]  # type: ignore[valid-type]
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=inner)):
            found = [tuple[tuple(part for one in inner for part in _parts(one, module))]]  # type: ignore[misc]
        case ast.Subscript(value=ast.Name(id="Literal")):
            found = [str]
        case ast.Name(id=name) if name in _SIMPLE:
            found = [_SIMPLE[name]]
        case ast.Name(id=name):
            home, there = _found(module, name)
            found = _parts(there.value, home) if isinstance(there, ast.Assign) else []
    return found


def _literal(value: ast.expr, module: str) -> Any:
    """A default: written there, or a constant of a name."""
    if isinstance(value, ast.Name):
        home, there = _found(module, value.id)
        return _literal(there.value, home)
    return ast.literal_eval(value)


# --- where a name is defined ------------------------------------------------------------------------------------------


def _definition(face: str, name: str) -> tuple[str, Any]:
    """The module and the definition of a public name."""
    return _found(_names(face)[name], name)


@cache
def _names(face: str) -> dict[str, str]:
    return homes(face, str(_file(face)))


def _file(module: str) -> Path:
    path = _PACKAGE.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def _definitions(module: str) -> dict[str, Any]:
    """What a module defines or imports, by name; nothing of a module of others."""
    found: dict[str, Any] = {}
    if not module.startswith("calib.") or not _file(module).is_file():
        return found
    for node in ast.parse(_file(module).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign):
            found |= {target.id: node for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
    return found


def _found(module: str, name: str) -> tuple[str, Any]:
    """The module that defines a name of this one, and the definition there."""
    there = _definitions(module).get(name)
    return _found(*there) if isinstance(there, tuple) else (module, there)


# --- docstrings -------------------------------------------------------------------------------------------------------


def arguments_told(name: str, face: str = "calib") -> dict[str, str]:
    """A text for each argument; one that stands elsewhere ("As for `calib.stats.x`.") is taken from there.

    Examples
    --------
    >>> arguments_told("difference")["adjust"]
    'holm or bh. How p-values are adjusted where a is compared with several.'
    """
    module, node = _definition(face, name)
    section = _SECTION.search(ast.get_docstring(node) or "")
    found: dict[str, str] = {}
    bare: list[str] = []
    for block in re.split(r"\n(?=\S)", section[1].strip()) if section else []:
        head, _, body = block.partition("\n")
        names, _, kind = head.partition(" : ")
        text = " ".join(_cleaned(body).partition("\n\n")[0].split())
        elsewhere = re.match(r"As for `([\w.]+)`([^:]|$)", text)
        # one reference may stand below several arguments
        about = names.split(", ") + bare * bool(elsewhere)
        there: dict[str, str] = {}
        if elsewhere:  # a function of `calib.stats`, or one beside that which mentions it
            arrays = "calib.stats." in elsewhere[1] or not module.endswith((".frames", ".gate"))
            there = arguments_told(elsewhere[1].rpartition(".")[2], "calib.stats" if arrays else "calib")
        found |= {name: there.get(name) or _plain(kind, "" if elsewhere else text) for name in about}
        bare = [] if text else [*bare, *names.split(", ")]
    return found


def _cleaned(body: str) -> str:
    return "\n".join(line.strip() for line in body.splitlines())


def _plain(kind: str, text: str) -> str:
    """The choices and the text without the marks of a docstring."""
    choices = re.findall(r'"([^"]+)"', kind.partition("}")[0]) if kind.startswith("{") else []
    said = re.sub(r"^As for `[\w.]+`: ", "", text)
    listed = " or ".join(filter(None, (", ".join(choices[:-1]), *choices[-1:])))
    return " ".join(filter(None, (f"{listed}." if listed else "", re.sub(r'[`"]', "", said))))
