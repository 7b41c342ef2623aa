"""What to type: a call of a verb as a line of Python and as a command, each of which runs as it is printed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from calib.inputs.availability import Can
from calib.inputs.names import BY_COLUMN, InferredTables
from calib.inputs.roles import is_table

FRAMES = ("frame", "labels")  # what a frame is called that has no name


def report_path(intake: InferredTables) -> Path:
    """Where a report goes that was not told where: into this folder, called as the file is."""
    path = next((source.path for source in intake.sources if source.path is not None), Path("calib"))
    return Path(f"{path.stem}-report.html")


def lines_of(intake: InferredTables, can: Sequence[Can]) -> tuple[str, ...]:
    """Lines of Python: the report, then each question that can be answered."""
    files, words = _python_arguments(intake)
    page = _literal(str(report_path(intake)))
    lines = [f"calib.report(calib.look({', '.join([*files, *words])}), {page})"] if _reported(can) else []
    for one in _printed(can, intake):
        sides = [f"{name}={_literal(value)}" for name, value in zip("ab", _sides(one), strict=False)]
        options = [f"{name}={_literal(value)}" for name, value in one.options.items()]
        lines.append(f"calib.{one.verb}({', '.join([*_in_order(one, files), *sides, *options, *words])})")
    return tuple(lines)


def commands_of(intake: InferredTables, can: Sequence[Can]) -> tuple[str, ...]:
    """The same as commands; none for what is in no file."""
    if any(source.path is None for source in intake.sources):
        return ()
    files, words = _shell_arguments(intake)
    commands = [_joined("report", files, words)] if _reported(can) else []
    for one in _printed(can, intake):
        options = dict(one.options)
        amount = [str(options.pop("n"))] if "n" in options else []
        more = [*_as_options(options), *words, *["--out", "chosen.csv"] * (one.verb == "choose")]
        places = [*_in_order(one, files), *amount, *_sides(one)]
        commands.append(_joined(one.verb.replace("_", "-"), places, more))
    return tuple(commands)


def tries_of(intake: InferredTables) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """To look again, with what is said now: a command, where all is in files, and a line."""
    files, words = _python_arguments(intake)
    command = _joined("look", *_shell_arguments(intake))
    in_files = all(source.path is not None for source in intake.sources)
    return (command,) if in_files else (), (f"calib.look({', '.join([*files, *words])})",)


def _python_arguments(intake: InferredTables) -> tuple[list[str], list[str]]:
    """The files, a frame by a name that its user will know better, and what was said of columns."""
    files = [FRAMES[place] if s.path is None else _literal(str(s.path)) for place, s in enumerate(intake.sources)]
    return files, [f"{name}={_literal(value)}" for name, value in intake.options.items()]


def _shell_arguments(intake: InferredTables) -> tuple[list[str], list[str]]:
    return [str(source.path) for source in intake.sources], _as_options(intake.options)


def _as_options(values: Mapping[str, Any]) -> list[str]:
    """Each value as an option; one that begins as an option does is joined to its name."""
    words = []
    for name, value in values.items():
        option = "--column" if name in BY_COLUMN else f"--{name.replace('_', '-')}"
        for one in map(str, [value] if isinstance(value, str | float | int) else value):
            if name in BY_COLUMN:
                words += [option, f"{name}={one}"]
                continue
            words += [f"{option}={one}"] if one[:1] == "-" else [option, one]
    return words


def _reported(can: Sequence[Can]) -> bool:
    return any(one.possible and one.verb not in ("choose", "labels_needed") for one in can)


def _printed(can: Sequence[Can], intake: InferredTables) -> Iterator[Can]:
    """What the verbs answer as they are called: for all criteria, or for each one that allows it."""
    own = not any(is_table(source.frame) for source in intake.sources) and "criterion" not in intake.options
    for one in can:
        if one.possible and one.whole:
            yield one
        elif one.possible and own and one.verb != "choose":
            yield from (replace(one, options={**one.options, "criterion": name}) for name in one.criteria)


def _in_order(can: Can, files: Sequence[str]) -> list[str]:
    """Of reliability people come first; items are drawn from the judge's scores alone."""
    if can.verb == "choose":
        return list(files[:1])
    return list(reversed(files)) if can.verb == "reliability" else list(files)


def _sides(can: Can) -> tuple[str, ...]:
    """The systems to name: of two both, else the first, which is held against all others."""
    return can.systems if len(can.systems) == 2 else can.systems[:1]


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
    written = ""
    for char in text.replace("\\", "\\\\").replace("'", "\\'"):
        code = f"\\x{ord(char):02x}" if ord(char) < 128 else f"\\U{ord(char):08x}"
        written += char if char.isprintable() else code
    return f"$'{written}'"


def _literal(value: Any) -> str:
    """A value as Python reads it; a text in the quotes that the documentation has, where it may."""
    if not isinstance(value, str | float | int):
        return f"[{', '.join(map(_literal, value))}]"
    text = repr(value)
    plain = isinstance(value, str) and text[0] == "'" and not {'"', "\\"} & set(text)
    return f'"{text[1:-1]}"' if plain else text
