"""The gate on the command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import calib
from calib.console.command import options_from
from calib.console.files import Files, LabelsFile, to_write
from calib.console.show import answer_as_json, echo, paragraphs, say, show_lines, shown_text

if TYPE_CHECKING:
    from calib.gate.verdict import Verdict

_FILE = typer.Argument(help="A judge's scores or ratings, or your own file; with --plan a pilot, or nothing.")
_THRESHOLD = typer.Option(help="The threshold, or CRITERION=THRESHOLD; repeatable.")
_MARGIN = typer.Option(help="How much worse than the baseline it may be, or CRITERION=MARGIN; repeatable.")
_BASELINE = typer.Option(help="Another system of the scores, or a file of --save-baseline.")
_ERROR = typer.Option(help="Probability of a false pass, and of a false fail.")
_ALLOW = typer.Option("--allow-inconclusive", help="Leave with 0 where there are too few labels to decide.")
_JUNIT = to_write(".xml", help_text="Write JUnit there")
_SUMMARY = to_write(".md", help_text="Write the table there")
_JSON = to_write(".json", "-", help_text="One JSON object instead of text, or beside it in a file that is named")
_CERTIFICATE_OUT = to_write(
    ".json", help_text="Where the judge is trusted, write its certificate there; else remove it"
)
_DAYS = typer.Option(min=1, max=3660, help="With --certificate-out: days that the certificate holds.")


@options_from("gate", only=("sequential", "groups", "level", "turns", "min_labels", "max_unread", "certificate"))
def gate(
    files: Files,
    file: Annotated[Path | None, _FILE] = None,
    labels: LabelsFile = None,
    system: Annotated[str | None, typer.Option(help="The build; needed where the scores are of several.")] = None,
    threshold: Annotated[list[str] | None, _THRESHOLD] = None,
    baseline: Annotated[str | None, _BASELINE] = None,
    margin: Annotated[list[str] | None, _MARGIN] = None,
    criterion: Annotated[list[str] | None, typer.Option(help="Check only this criterion; repeatable.")] = None,
    error: Annotated[float, _ERROR] = 0.05,
    ledger: Annotated[Path | None, typer.Option(help="File of verdicts, to which this one is added.")] = None,
    allow_inconclusive: Annotated[bool, _ALLOW] = False,
    junit: Annotated[Path | None, _JUNIT] = None,
    summary: Annotated[Path | None, _SUMMARY] = None,
    json: Annotated[Path | None, _JSON] = None,
    save_baseline: Annotated[
        Path | None, to_write(".jsonl", help_text="After a pass, write the build there as a baseline")
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Say what the gate could tell, without a verdict.")] = False,
    n_labels: Annotated[int | None, typer.Option(help="With --plan: labels of the build.")] = None,
    n_items: Annotated[int | None, typer.Option(help="With --plan: items that the judge will score.")] = None,
    rho: Annotated[float | None, typer.Option(help="With --plan: correlation of judge and people.")] = None,
    sd: Annotated[float | None, typer.Option(help="With --plan: standard deviation of people's scores.")] = None,
    **options: Any,
) -> None:
    """Whether people would rate a build above a threshold, or not worse than a baseline: pass, fail, or not known."""
    from calib.gate.baseline import saved_baseline
    from calib.inputs.resolve import resolve_inputs

    texts = {"threshold": threshold, "margin": margin}
    lines = {name: _numbers_by_criterion(text, criterion, f"--{name}") for name, text in texts.items()}
    if plan:
        pilot = files.resolved(file, labels) if file is not None else ()
        if n_labels is None:
            raise typer.BadParameter("--plan needs --n-labels, the number of labels of the build.")
        plans = calib.gate_plan(*pilot, **lines, n_labels=n_labels, n_items=n_items, rho=rho, sd=sd, error=error)
        with answer_as_json("gate") if str(json) == "-" else nullcontext():
            show_lines(plans)
        if not all(each.can_pass for each in plans):
            say("this gate cannot pass at any result: take more labels, or another threshold.")
            raise typer.Exit(2)
        return
    if file is None:
        raise typer.BadParameter("FILE must be given, but for --plan.")
    for name, value in {"--n-labels": n_labels, "--n-items": n_items, "--rho": rho, "--sd": sd}.items():
        if value is not None:  # a verdict counts the labels that are there
            raise typer.BadParameter(f"{name} is for --plan: a verdict is of the labels and scores in its files.")
    try:
        scores, labels = files.resolved(file, labels, own_systems=True)
        items, options = files.texts, options | {"baseline": baseline, "error": error, "ledger": ledger}
        verdict = calib.gate(scores, labels, system=system, items=items, **lines, **options)
    except Exception as problem:
        _say_unmeasured(system or "the build", problem, junit, (summary, json))
        raise
    code = _say_verdict(verdict, junit, summary, json, skipped=allow_inconclusive and not verdict.unread)
    if save_baseline is not None and verdict.outcome != "pass":  # what was not shown to be good is no baseline
        say(f"no baseline was written to {save_baseline}: the build did not pass.")
    elif save_baseline is not None:
        read = resolve_inputs(scores, labels, {}, names=("scores", "labels"))
        with _written(save_baseline):
            saved_baseline(save_baseline, verdict.system, read.scores, read.labels, items, read.annotations)
    raise typer.Exit(code)


@options_from("gate_judge")
def gate_judge(
    files: Files,
    file: Annotated[Path, typer.Argument(help="One judge's scores or ratings, or your own file.")],
    labels: LabelsFile = None,
    allow_inconclusive: Annotated[bool, _ALLOW] = False,
    junit: Annotated[Path | None, _JUNIT] = None,
    summary: Annotated[Path | None, _SUMMARY] = None,
    json: Annotated[Path | None, _JSON] = None,
    certificate_out: Annotated[Path | None, _CERTIFICATE_OUT] = None,
    days: Annotated[int, _DAYS] = 90,
    **options: Any,
) -> None:
    """Whether a judge agrees with people's labels beyond a bar: trusted, untrusted, or not known."""
    try:
        scores, labels = files.resolved(file, labels)
        verdict = calib.gate_judge(scores, labels, **options)
    except Exception as problem:
        _say_unmeasured("the judge", problem, junit, (summary, json))
        _remove_certificate(certificate_out)
        raise
    code = _say_verdict(verdict, junit, summary, json, skipped=allow_inconclusive and not verdict.unread)
    if certificate_out is not None and verdict.outcome != "trusted":
        say(f"no certificate was written to {certificate_out}: the judge is not trusted.")
        _remove_certificate(certificate_out)
    elif certificate_out is not None:
        with _written(certificate_out):
            verdict.certificate(certificate_out, days=days)
    raise typer.Exit(code)


def _remove_certificate(path: Path | None) -> None:
    """Remove an earlier certificate, which would let the next gate through; any other file stays."""
    from calib.gate.certificate import Certificate
    from calib.table import TableError

    if path is not None:
        with suppress(OSError, TableError):
            Certificate.read(path)
            path.unlink()
            say(f"the earlier certificate, {path}, was removed.")


def _say_unmeasured(name: str, problem: Exception, junit: Path | None, others: Iterable[Path | None]) -> None:
    """Say why nothing was measured where CI looks for it, and remove the other files of an earlier verdict."""
    from calib.gate.verdict import to_github, unmeasured_junit

    if junit is not None:
        with suppress(OSError):  # why nothing was measured matters more than that this could not be written
            junit.parent.mkdir(parents=True, exist_ok=True)
            junit.write_text(unmeasured_junit(name, str(problem)), "utf-8")
    for path in filter(None, others):
        with suppress(OSError, UnicodeDecodeError):
            text = path.read_text("utf-8")
            if '"calib/verdict/v1"' in text or text.startswith("### "):  # what is none stays
                path.unlink()
                say(f"{path}, of an earlier verdict, was removed: nothing was measured.")
    for line in to_github(None, name, str(problem))[0]:
        typer.echo(line)


def _say_verdict(
    verdict: Verdict, junit: Path | None, summary: Path | None, json: Path | None, *, skipped: bool
) -> int:
    """The verdict on the terminal, in the files, and where GitHub looks for it; the exit code comes back."""
    from calib.gate.verdict import to_github, written_verdict

    if as_json := str(json) == "-":
        json = None
        typer.echo(dumps(verdict.record(), indent=1, allow_nan=False))
    else:
        echo(verdict)
        paragraphs(*[f"to decide {step}" for step in verdict.next_steps])
    for assumption in verdict.assumptions:
        say(f"assumed: {assumption}")
    for note in verdict.cautions:
        if not note.startswith("inputs: "):  # which were said when the files were read
            say(note)
    for path in (junit, summary, json):
        if path is not None:
            with _written(path):
                written_verdict(verdict, path, skipped=skipped)
    annotations, unwritten = to_github(verdict, verdict.system, json_path=json)
    for line in annotations:
        typer.echo(line, err=as_json)  # the runner reads both
    for line in unwritten:
        say(line)
    return 0 if skipped and verdict.outcome == "inconclusive" else verdict.exit_code


@contextmanager
def _written(path: Path) -> Iterator[None]:
    """Write a file and its folder; where that fails, say so: the exit code stays the verdict's."""
    from calib.table import TableError

    with suppress(OSError):  # which then says the file itself
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield
        typer.echo(f"wrote {shown_text(path)}", err=True)
    except (OSError, TableError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else str(problem).rstrip(".")
        say(f"{path} was not written ({why}); the exit code is the verdict's.")


def _numbers_by_criterion(texts: Sequence[str] | None, criteria: Sequence[str] | None, option: str) -> Any:
    """A number for every criterion, or one for each that is named."""
    if not texts:
        return None
    named = {name: value for name, _, value in (text.rpartition("=") for text in texts)}
    try:
        values = {name: float(value) for name, value in named.items()}
    except ValueError:
        raise typer.BadParameter(f"{option} must be a number or CRITERION=NUMBER, but got {texts[0]!r}.") from None
    if len(values) < len(texts) or ("" in values and len(values) > 1):
        raise typer.BadParameter(f"{option} must be one number, or one for each criterion, but got {list(texts)}.")
    if "" in values:
        return dict.fromkeys(criteria, values[""]) if criteria else values[""]
    # none of the criteria that are asked about may go unchecked
    if without := [name for name in criteria or () if name not in values]:
        raise typer.BadParameter(f"{option} must have a number for each --criterion, but has none for {without[0]!r}.")
    return {name: values[name] for name in criteria} if criteria else values
