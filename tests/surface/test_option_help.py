"""What the shell reads in the source of a verb is what Python says of it, and nothing is loaded for it."""

import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

import calib
import calib.stats
from calib.console import command as shell
from calib.console.program import commands

COMMANDS = commands()
VERBS = {verb for command in COMMANDS.values() for verb in vars(command).get("options", {}).get("verbs", ())}


def shell_type(hint: Any) -> Any:
    """The part of a type that can be written on a command line, or None."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    many = [list[get_args(part)[0]] for part in parts if get_origin(part) is Sequence]
    simple = (kind for kind in (Path, float, int, bool, str) if kind in parts)
    kinds = [*many, *(part for part in parts if get_origin(part) is tuple), *simple]
    return (kinds[0] | None if NoneType in parts else kinds[0]) if kinds else None


PUBLIC = {f"{face.__name__}.{name}": getattr(face, name) for face in (calib, calib.stats) for name in face.__all__}


@pytest.mark.parametrize("name", [name for name, thing in PUBLIC.items() if inspect.isfunction(thing)])
def test_a_docstring_has_every_argument(name):
    text = inspect.cleandoc(PUBLIC[name].__doc__)
    section = re.search(r"^Parameters\n-+\n(.*?)(?=\n\S[^\n]*\n-{3,}\n|\Z)", text, re.MULTILINE | re.DOTALL)
    heads = [line.partition(" : ")[0] for line in (section[1] if section else "").split("\n") if line[:1].strip()]
    documented = {one.strip("* ") for head in heads for one in head.split(",")}
    signature = inspect.signature(PUBLIC[name]).parameters.values()
    assert {one.name for one in signature if one.kind is not one.VAR_KEYWORD} <= documented


@pytest.mark.parametrize("verb", [*sorted(VERBS), "scores_from"])
def test_arguments_of_a_verb(verb):
    function = getattr(calib, verb)
    hints, wanted = get_type_hints(function), {}
    for name, parameter in inspect.signature(function).parameters.items():
        named = parameter.kind is parameter.KEYWORD_ONLY or isinstance(function, type)
        if named and parameter.default is not parameter.empty and (kind := shell_type(hints[name])):
            wanted[name] = (kind, parameter.default)
    found = shell.arguments(verb)
    assert {name: (argument.kind, argument.default) for name, argument in found.items()} == wanted
    assert set(wanted) <= set(shell.option_help(verb))
    for name, argument in found.items():
        assert argument.is_text_or_none == (isinstance(argument.default, str) and NoneType in get_args(hints[name]))


HEAVY = {"numpy", "scipy", "pandas", "matplotlib", "pyarrow", "litellm"}
LOADED_BY = """
import contextlib
from calib.cli import main
for line in {!r}:
    with contextlib.suppress(SystemExit):
        main(line.split())
"""


def test_the_menu_and_the_version_are_printed_before_any_package_is_loaded(loaded_by):
    loaded = loaded_by(LOADED_BY.format(["", "--help", "--version"]))
    assert not loaded & {*HEAVY, "typer", "click", "rich", "inspect", "subprocess", "asyncio"}


def test_a_mistyped_word_is_answered_before_anything_is_loaded(loaded_by):
    loaded = loaded_by(LOADED_BY.format(["--nonsense", "nonsense", "interval a.csv b.csv --nonsense"]))
    assert "typer" in loaded
    assert not loaded & {*HEAVY, "pydantic", "asyncio"}


def test_the_help_of_every_command_is_printed_before_anything_is_loaded(loaded_by):
    loaded = loaded_by(LOADED_BY.format([f"{command} --help" for command in COMMANDS]))
    assert "typer" in loaded
    assert not loaded & HEAVY
