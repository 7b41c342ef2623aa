"""The command line's judge: rate."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

import calib
from calib.console.command import options_from
from calib.console.files import Out
from calib.console.show import echo, processes, say, show_rows, shown_text, write_table, wrote

_PAIRWISE = typer.Option(
    "--pairwise", help="Ask which of two outputs is better (columns output_a and output_b), once with either first."
)
_TIES = typer.Option(help="With --pairwise: whether the judge may say that neither is better.")
_STORE = typer.Option(help="SQLite file of replies (default: --out, ending in .sqlite), with --shards a folder.")
_TO_BATCH = typer.Option(help="Write the requests there as OpenAI batch input instead.")


@options_from(
    "Judge", "geval_prompt", "rate", without=("complete", "progress", "executor", "before_sampling"),
    called={"judge": "the judge (--method)", "Prompt.from_criteria": "--criteria"},
)  # fmt: skip
def rate(
    items: Annotated[Path, typer.Argument(help="Table of items: item, source, output, ...")],
    criterion: Annotated[list[str], typer.Option(help="coherence, consistency, fluency, relevance; repeatable.")],
    model: Annotated[str, typer.Option(help="'offline', openai/gpt-4o-mini, or any model that LiteLLM knows.")],
    out: Out = None,
    criteria: Annotated[str | None, typer.Option(help="A criterion in your own words, named by --criterion.")] = None,
    variants: Annotated[int, typer.Option(help="Wordings of each prompt; the first is the prompt itself.")] = 1,
    pairwise: Annotated[bool, _PAIRWISE] = False,
    ties: Annotated[bool, _TIES] = True,
    store: Annotated[Path | None, _STORE] = None,
    to_batch: Annotated[Path | None, _TO_BATCH] = None,
    from_jsonl: Annotated[Path | None, typer.Option(help="Read the replies from there instead (batch output).")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Draw replies without a question where they are needed.")] = False,
    **options: Any,
) -> None:
    """Ask a judge about every item. Replies are stored as they come; a second run goes on."""
    judge = calib.Judge(model, **_options_of(calib.Judge, options))
    prompts = _prompts(criterion, criteria, _options_of(calib.geval_prompt, options), pairwise=pairwise, ties=ties)
    if not 1 <= variants <= 256:
        raise typer.BadParameter(f"--variants must be from 1 to 256, but got {variants}.")
    if variants > 1:
        prompts = [variant for prompt in prompts for variant in prompt.variants(variants)]
        for prompt in prompts:
            changes = ", ".join(f"{facet} {choice}" for facet, choice in prompt.changes)
            say(f"{prompt.id}: {changes or 'the prompt itself'}")
    if options["shards"] is not None or items.is_dir():
        if store is None or to_batch or from_jsonl or out:
            need = "--store, a folder, which holds the ratings, too, and no further file."
            raise typer.BadParameter(f"--shards needs {need}")
        from calib.judge.calls.shards import shards_kept

        if not options["dry_run"]:
            options["before_sampling"] = _question(items, prompts, judge, store, options["shards"], yes=yes)
        with shards_kept(store), processes(options["workers"] or 1) as executor:
            echo(calib.rate(items, prompts, judge, store=store, executor=executor, **options))
        return
    kept = store or (out and out.with_suffix(".sqlite"))
    if to_batch is not None:
        wrote(calib.to_batch(items, prompts, judge, to_batch))
        return
    if options["dry_run"]:
        before = kept if kept and kept.exists() else None  # looking on leaves no file behind
        echo(calib.rate(items, prompts, judge, store=before, dry_run=True))
        return
    if out is None:
        raise typer.BadParameter("--out must name a file for the ratings.")
    if from_jsonl is not None:
        ratings = calib.from_jsonl(from_jsonl, items, prompts, judge, replies=options["replies"])
    else:
        options["before_sampling"] = _question(items, prompts, judge, kept, None, yes=yes)
        ratings = calib.rate(items, prompts, judge, store=kept, **options)
    show_rows(ratings)
    write_table(ratings, out)


def _question(
    items: Path, prompts: list[calib.Prompt], judge: calib.Judge, store: Path | None, shards: int | None, *, yes: bool
) -> Callable[[], None] | None:
    """What is asked where samples have to be drawn; both numbers are said before the first call. None if not dearer."""
    if judge.method != "auto" or judge.model == "offline":
        return None
    before = store if store and (shards is not None or store.exists()) else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the run says them
        dry = calib.rate(items, prompts, judge, store=before, shards=shards, dry_run=True)
    if (dearer := dry.otherwise) is None:
        return None
    say(str(dry))

    def ask() -> None:
        what = f"{judge.model} gives no token probabilities, and drawing replies takes {dearer}"
        if yes:
            say(what)
        elif sys.stdin.isatty() and sys.stderr.isatty():
            typer.confirm(shown_text(f"{what}. Go on?"), abort=True, err=True)
        else:
            raise typer.BadParameter(f"{what}. --yes goes on, --draws says how many to draw for each item.")

    return ask


def _options_of(function: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The options of one of several functions, which are then taken from the rest."""
    return {name: options.pop(name) for name in inspect.signature(function).parameters if name in options}


def _prompts(
    names: list[str], criteria: str | None, options: dict[str, Any], *, pairwise: bool, ties: bool
) -> list[calib.Prompt]:
    if pairwise:
        if options.pop("scale") is not None:
            raise typer.BadParameter("--scale is of single outputs: with --pairwise the labels are A, B and tie.")
        if tuple(options["inputs"]) == ("source", "output"):  # the default, which a pair has otherwise
            del options["inputs"]
        options["ties"] = ties
    if criteria is None:
        # also refuses a name that is no built-in criterion
        prompts = [calib.geval_prompt(name, **({} if pairwise else options)) for name in names]
        return [calib.Prompt.pairwise(name, **options) for name in names] if pairwise else prompts
    if len(names) != 1:
        raise typer.BadParameter("--criteria needs exactly one --criterion, its name.")
    if pairwise:
        return [calib.Prompt.pairwise(criteria, name=names[0], **options)]
    return [calib.Prompt.from_criteria(names[0], criteria, **options)]
