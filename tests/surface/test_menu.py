"""The menu of commands, the help of each in groups, and the width of both."""

import re
from itertools import chain

import pytest

from calib.console.menu import MENU, RARE, RARELY
from calib.console.program import commands

COMMANDS = commands()
HEADINGS = ["Arguments", "Options", "Your columns", "Statistics", "Output", RARE]


def headings(text):
    return [line[:-1] for line in text.splitlines() if re.fullmatch(r"[A-Z][a-z ]+:", line)]


def test_the_menu_has_each_command_once_in_three_to_five_words():
    names = list(chain.from_iterable(MENU.values()))
    assert names == list(COMMANDS)
    assert len(names) == len(set(names))
    assert len(next(iter(MENU.values()))) == 6
    assert all(3 <= len(text.split()) <= 5 for group in MENU.values() for text, _ in group.values())


@pytest.mark.parametrize("options", [(), ("--help",)])
def test_calib_alone_prints_the_menu_whole(run, monkeypatch, options):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run(*options)
    assert (code, headings(out)) == (0, ["Options", "Start here", *list(MENU)[1:-1]])
    assert "..." not in out.partition("Start here:")[2]
    for name, (text, _) in chain.from_iterable(group.items() for group in MENU.values()):
        assert re.search(rf"^  {name} +{re.escape(text)}$", out, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_options_are_in_groups_and_the_rare_ones_last(run, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = run(command, "--help")
    there = headings(out)
    assert there == [name for name in HEADINGS if name in there]
    assert max(map(len, out.splitlines())) <= 80
    before, _, after = out.partition(f"{RARE}:")
    for name in RARELY:
        assert not re.search(rf"^  --{name.replace('_', '-')} ", before, re.MULTILINE), name
    assert re.search(r"^  --", after, re.MULTILINE) or not after
    assert ":math:" not in out


def test_each_rare_option_is_one():
    from calib.console.command import built

    there = {name for function in COMMANDS.values() for name in built(function).__annotations__}
    assert there >= RARELY
