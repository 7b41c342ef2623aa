"""What to type: a call of a verb as a line of Python and as a command, each of which runs as it is printed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from calib.inputs.availability import Can
from calib.inputs.names import Intake
from calib.inputs.roles import is_table

# commands that have another name than their verb
_COMMANDS = {"agreement": "agree", "rank_judges": "compare", "labels_needed": "plan", "choose_items": "choose",
             "score_sets": "sets", "pass_fail": "passfail",
             "pairwise_agreement": "pairwise-agreement"}  # fmt: skip
FRAMES = ("frame", "labels")  # what a frame is called that has no name


def report_path(taken: Intake) -> Path:
    """Where a report goes that was not told where: into this folder, called as the file is."""
    path = next((source.path for source in taken.sources if source.path is not None), Path("calib"))
    return Path(f"{path.stem}-report.html")


def lines_of(taken: Intake, can: Sequence[Can]) -> tuple[str, ...]:
    """Lines of Python: the report, then each question that can be answered."""
    asked = [_line(one, taken) for one in _printed(can, taken)]
    report = f"calib.report({look_line(taken)}, {_literal(str(report_path(taken)))})"
    return (report, *asked) if _reported(can) else tuple(asked)


def look_line(taken: Intake) -> str:
    return f"calib.look({', '.join([*_named(taken), *_words(taken)])})"


def _named(taken: Intake) -> list[str]:
    """The files as Python has them; a frame by a name that its user will know better."""
    return [FRAMES[place] if s.path is None else _literal(str(s.path)) for place, s in enumerate(taken.sources)]


def _words(taken: Intake) -> list[str]:
    return [f"{name}={_literal(value)}" for name, value in taken.said.items()]


def _line(can: Can, taken: Intake) -> str:
    options = [f"{name}={_literal(value)}" for name, value in can.options.items()]
    names = [f"{name}={_literal(value)}" for name, value in zip("ab", _sides(can), strict=False)]
    return f"calib.{can.verb}({', '.join([*_in_order(can, _named(taken)), *names, *options, *_words(taken)])})"


def commands_of(taken: Intake, can: Sequence[Can]) -> tuple[str, ...]:
    """The same as commands; none for what is in no file."""
    if any(source.path is None for source in taken.sources):
        return ()
    asked = [_command(one, taken) for one in _printed(can, taken)]
    return (_joined("report", _files(taken), _options(taken)), *asked) if _reported(can) else tuple(asked)


def tries_of(taken: Intake) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """To look again, with what is said now: a command, where all is in files, and a line."""
    command = _joined("look", _files(taken), _options(taken))
    return (() if any(source.path is None for source in taken.sources) else (command,)), (look_line(taken),)


def _files(taken: Intake) -> list[str]:
    return [str(source.path) for source in taken.sources]


def _options(taken: Intake) -> list[str]:
    return [word for name, value in taken.said.items() for word in _option(name, value)]


def _reported(can: Sequence[Can]) -> bool:
    """Whether a report would hold anything."""
    return any(one.possible and one.verb not in ("choose_items", "labels_needed") for one in can)


def _command(can: Can, taken: Intake) -> str:
    options = dict(can.options)
    amount = [str(options.pop("n"))] if "n" in options else []
    words = [word for name, value in options.items() for word in _option(name, value)]
    out = ["--out", "chosen.csv"] if can.verb == "choose_items" else []
    return _joined(
        _COMMANDS.get(can.verb, can.verb),
        [*_in_order(can, _files(taken)), *amount, *_sides(can)],
        [*words, *_options(taken), *out],
    )


def _printed(can: Sequence[Can], taken: Intake) -> Iterator[Can]:
    """What the verbs answer as they are called: for all criteria, or for each one that allows it."""
    own = not any(is_table(source.frame) for source in taken.sources) and "criterion" not in taken.said
    for one in can:
        if one.possible and one.whole:
            yield one
        elif one.possible and own and one.verb != "choose_items":
            yield from (replace(one, options={**one.options, "criterion": name}) for name in one.criteria)


def _in_order(can: Can, files: Sequence[str]) -> list[str]:
    """Of reliability people come first; items are drawn from the judge's scores alone."""
    if can.verb == "choose_items":
        return list(files[:1])
    return list(reversed(files)) if can.verb == "reliability" else list(files)


def _sides(can: Can) -> tuple[str, ...]:
    """The systems to name: of two both, else the first, which is held against all others."""
    return can.systems if len(can.systems) == 2 else can.systems[:1]


def _option(name: str, value: Any) -> list[str]:
    option = f"--{name.replace('_', '-')}"
    values = [value] if isinstance(value, str | float | int) else list(value)
    return [word for one in values for word in ([f"{option}={one}"] if str(one)[:1] == "-" else [option, str(one)])]


def _joined(command: str, places: Sequence[str], options: Sequence[str]) -> str:
    """A place that begins as an option does stands behind two dashes, and so do all."""
    dashed = any(place[:1] == "-" for place in places)
    words = [*options, "--", *places] if dashed else [*places, *options]
    return " ".join(["calib", command, *map(shell_word, words)])


def shell_word(text: str) -> str:
    r"""A word as a shell reads it; what is not to be seen is written out, which bash and zsh understand.

    Examples
    --------
    >>> print(shell_word("results.csv"), shell_word("my file's"), shell_word("a\x1b[31m"))
    results.csv 'my file'"'"'s' $'a\x1b[31m'
    """
    if text.isprintable():
        return shlex.quote(text)
    plain = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{''.join(char if char.isprintable() else _written_out(char) for char in plain)}'"


def _written_out(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 128 else f"\\U{code:08x}"


def _literal(value: Any) -> str:
    """A value as Python reads it; a text in the quotes that the documentation has, where it may."""
    if not isinstance(value, str | float | int):
        return f"[{', '.join(map(_literal, value))}]"
    text = repr(value)
    plain = isinstance(value, str) and text[0] == "'" and not {'"', "\\"} & set(text)
    return f'"{text[1:-1]}"' if plain else text
