"""What the shell reads in the source of a verb is what Python says of it, and nothing is loaded for it."""

import inspect
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

import calib
from calib import cli
from calib.console import command as shell

COMMANDS = cli.commands()
VERBS = {verb for command in COMMANDS.values() for verb in vars(command).get("options", {}).get("verbs", ())}


def shell_type(hint: Any) -> Any:
    """The part of a type that can be written on a command line, or None."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    many = [list[get_args(part)[0]] for part in parts if get_origin(part) is Sequence]
    simple = (kind for kind in (Path, float, int, bool, str) if kind in parts)
    kinds = [*many, *(part for part in parts if get_origin(part) is tuple), *simple]
    return (kinds[0] | None if NoneType in parts else kinds[0]) if kinds else None


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


def loaded_by(*words: str) -> set[str]:
    """The top-level packages that a command line has loaded when it ends."""
    code = (
        "import sys; from calib.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: print('loaded', *{name.split('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.splitlines()[-1].split()) - {"loaded"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", ["", "--help", "--version", "--nonsense", "nonsense", "interval a.csv b.csv --nonsense"]
)
def test_a_mistyped_word_is_answered_before_anything_is_loaded(words):
    loaded = loaded_by(*words.split())
    assert "typer" in loaded
    assert not loaded & {"numpy", "scipy", "pandas", "matplotlib", "pyarrow", "pydantic", "litellm", "asyncio"}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_help_loads_nothing_heavy(command):
    assert not loaded_by(command, "--help") & {"numpy", "scipy", "pandas", "matplotlib", "pyarrow", "litellm"}
