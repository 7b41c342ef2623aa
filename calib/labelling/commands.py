"""The command line's labelling: pages to label with, and what comes back."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

import calib
from calib.console.command import options_from
from calib.console.files import Out, to_write
from calib.console.show import add_table, echo, paragraphs, say_next, write_table, wrote

_ENDINGS = (".html", ".htm", ".xlsx", ".json")
_WORDS_A_MINUTE = 238  # silent reading of English non-fiction: Brysbaert (2019), J. Memory and Language 109:104047


@options_from(
    "label",
    without=("criteria", "annotators", "words"),
    called={"drawn": "CHOSEN", "path": "--out", "criteria": "--criterion", "annotators": "--annotator"},
)
def label(
    chosen: Annotated[Path, typer.Argument(help="What `calib choose` wrote; or rows, or ids, of your own.")],
    out: Annotated[Path, to_write(*_ENDINGS, help_text="Write the page there")],
    items: Annotated[
        Path | None, typer.Argument(help="The texts, which may be the file that was chosen from. Default: CHOSEN.")
    ] = None,
    criterion: Annotated[
        list[str] | None, typer.Option(help="What is asked, as name or name=meaning; repeatable. Default: as judged.")
    ] = None,
    scale: Annotated[
        str | None, typer.Option(help="1|2|3|4|5, poor|fair|good, no=0|yes=1 or 0..100. Default: as judged.")
    ] = None,
    annotator: Annotated[list[str] | None, typer.Option(help="Who labels; repeatable, a file for each.")] = None,
    guideline: Annotated[str | None, typer.Option(help="A .md or .txt file, or a text.")] = None,
    labelled: Annotated[
        list[Path] | None, typer.Option(help="Labels so far, whose items are left out; repeatable.")
    ] = None,
    words: Annotated[
        Path | None, typer.Option(help="JSON file with the words of the page in another language.")
    ] = None,
    **options: Any,
) -> None:
    """A page to label chosen items with: one file, no server, no network; nothing is sent anywhere."""
    from calib.inputs.resolve import is_table_file
    from calib.table.files import from_json, within_limit

    wording = None
    if words is not None:
        if not words.is_file():
            raise typer.BadParameter(f"--words must be a JSON file, but there is no file {str(words)!r}.")
        try:
            wording = from_json(within_limit(words).read_text(encoding="utf-8-sig"))
        except ValueError as error:
            raise typer.BadParameter(f"--words must be a JSON file, but {str(words)!r} is none: {error}.") from None
        if not isinstance(wording, dict):
            raise typer.BadParameter(f"--words must hold one JSON object, but {str(words)!r} does not.")
    pairs = [one.partition("=") for one in criterion or []]
    meanings = {name.strip(): meaning if sign else None for name, sign, meaning in pairs}
    names = [name for name, _, _ in pairs] or None
    criteria = meanings if len(meanings) == len(pairs) > 0 else names
    pages = calib.label(
        items or chosen, None if items is None else chosen, criteria=criteria, scale=scale or None,
        annotators=annotator or None, guideline=guideline or None, labelled=labelled or None, words=wording, path=out,
        **options,
    )  # fmt: skip
    echo(pages)
    for path in pages.paths:
        wrote(path, to_say=False)
    drawn = f" --drawn {shlex.quote(str(chosen))}" if is_table_file(chosen) else ""
    minutes, time = pages.n_words / _WORDS_A_MINUTE, f"{pages.n_labels} labels"
    if minutes >= 1:  # what is known before anybody has labelled
        count = f"{minutes:,.0f} minute{'s' * (round(minutes) > 1)}"
        time += f"; to read {pages.n_words:,} words takes about {count} in all ({_WORDS_A_MINUTE} words a minute)"
        time += ", and to decide comes on top"
    paragraphs(f"Shown of each: {', '.join(pages.parts)}. {time}.")
    say_next(f"calib read-labels LABELS.csv{drawn} --out labels.csv")


@options_from("read_labels", without=("drawn",))
def read_labels(
    labels: Annotated[list[Path], typer.Argument(help="What annotators exported, or what came back from a tool.")],
    drawn: Annotated[Path | None, typer.Option(help="What `calib choose` wrote: how far the labels are.")] = None,
    out: Out = None,
    **options: Any,
) -> None:
    """Join the labels of people, and tell how it went: agreement, speed, drift, what is missing."""
    joined = calib.read_labels(labels, drawn=drawn, **options)
    echo(joined)
    add_table("ratings", joined.ratings)
    write_table(joined.ratings, out)
    if drawn is not None and out is not None:
        say_next(f"calib interval {shlex.quote(str(drawn))} {shlex.quote(str(out))}")
