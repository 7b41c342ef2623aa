"""The command line: one command per verb, each one call of the function of that name.

Exit codes: 0 done, 1 the run failed (no API key, a call failed, data not available), 2 the
usage or the input is wrong, 130 interrupted.
"""

from __future__ import annotations

import math
import shlex
import shutil
import sys
import textwrap
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

if TYPE_CHECKING:
    import pandas as pd

    from calib import Results
    from calib.stats import Convergence, GStudy

app = typer.Typer(
    help="How far can an LLM judge be trusted? Rate, check against people, put an interval around it.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

# UsageError; typer has its own copy of click or uses the one that is installed
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]
_SEED = 1
_ROWS = 20


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    said: set[str] = set()

    def tell(message: object, *_: Any, **__: Any) -> None:
        if str(message) not in said:
            said.add(str(message))
            _say(str(message))

    with warnings.catch_warnings():
        warnings.showwarning = tell
        sys.exit(_run(sys.argv[1:] if arguments is None else arguments))


def _run(arguments: Sequence[str]) -> int:
    try:
        status = app(args=arguments or ["--help"], prog_name="calib", standalone_mode=False) or 0
    except (KeyboardInterrupt, typer.Abort):
        status = 130
    except _UsageError as error:
        _say(error.format_message())  # type: ignore[attr-defined]
        return 2
    except Exception as error:
        found = _failure(error)
        if found is None:
            raise
        status, message = found
        _say(message)
    if status == 130:
        _say("interrupted. Replies that were stored are kept: the same command goes on from there.")
    return int(status)


def _failure(error: Exception) -> tuple[int, str] | None:
    """Exit code and message of an error that the user can do something about."""
    import sqlite3

    from calib.datasets import DatasetError
    from calib.judge.calls.transport import JudgeError

    if isinstance(error, OSError) and error.filename is not None:
        return 2, f"{error.strerror}: {error.filename}"
    if isinstance(error, ValueError):
        return 2, str(error)
    if isinstance(error, sqlite3.Error):
        return 1, f"the store of replies: {error}"
    if isinstance(error, JudgeError | DatasetError | OSError):
        return 1, str(error)
    return None


def _say(message: str) -> None:
    from calib.tables.figure import visible

    typer.echo(f"calib: {visible(message)}", err=True)


# --- options that several commands share ------------------------------------------------------------------------


def _table_file(path: Path | None) -> Path | None:
    # before any work: a run should not fail at its last line
    if path is not None and path.suffix not in (".csv", ".jsonl", ".parquet"):
        raise typer.BadParameter(f"must end in .csv, .jsonl or .parquet, but got {str(path)!r}.")
    return path


Out = Annotated[Path | None, typer.Option(callback=_table_file, help="Write the table there (.csv, .jsonl, .parquet).")]
Items = Annotated[Path | None, typer.Option(help="Table of items: adds group and system to the scores.")]
Scores = Annotated[Path, typer.Argument(help="A judge's scores or ratings.")]
Human = Annotated[Path, typer.Argument(help="People's scores or ratings, or a file of your own.")]
ConfidenceLevel = Annotated[float, typer.Option(help="Between 0 and 1.")]
_COEFFICIENTS = (
    "spearman, pearson, kendall (tau-b), kendall_a, kendall_c, gamma, pairs (pairwise accuracy with ties), "
    "kappa (quadratic weights), exact or adjacent"
)
Coefficient = Annotated[str, typer.Option(help=f"{_COEFFICIENTS}.")]
AnyCoefficient = Annotated[str, typer.Option(help=f"{_COEFFICIENTS}; spa (soft pairwise accuracy) at level system.")]
Level = Annotated[str, typer.Option(help="item, group or system.")]
Constant = Annotated[str, typer.Option(help="Groups without a coefficient: skip or zero.")]
By = Annotated[str | None, typer.Option(help="A column of the scores, such as system.")]
MinGold = Annotated[int, typer.Option(help="Refuse fewer gold labels.")]
Resamples = Annotated[int, typer.Option(help="Draws of a bootstrap or of a permutation test.")]
Seed = Annotated[int | None, typer.Option(help="Seed of these draws.")]

# how to read a file that is no table of calib's: the arguments of `scores_from`
OwnItem = Annotated[str | None, typer.Option(help="Your own file: the column of ids.")]
HumanItem = Annotated[str | None, typer.Option(help="Your own human file: its column of ids, if it is another.")]
HumanScore = Annotated[str | None, typer.Option(help="Your own human file: its column of scores, if it is another.")]
OwnScore = Annotated[str | None, typer.Option(help="Your own file: the column of scores.")]
OwnCriterion = Annotated[str | None, typer.Option(help="Your own file: a column, or the name of the criterion.")]
OwnRater = Annotated[str | None, typer.Option(help="Your own file: a column, or the name of the rater.")]
OwnScale = Annotated[str | None, typer.Option(help="Your own file: '1|2|3|4|5' or 'lo..hi'.")]
OwnGroup = Annotated[str | None, typer.Option(help="Your own file: the column of source documents.")]
OwnSystem = Annotated[str | None, typer.Option(help="Your own file: the column of systems.")]


def _given(**options: str | None) -> dict[str, str]:
    return {name: value for name, value in options.items() if value is not None}


# --- commands ---------------------------------------------------------------------------------------------------


@app.command()
def demo(out: Annotated[Path, typer.Option(help="Folder for what it makes.")] = Path("calib-demo")) -> None:
    """Go through everything once, offline: simulated people, the embedded judge."""
    import calib

    items, people = calib.load_planted()
    exact, sampled = (_rated_offline(items, method, out / "replies.sqlite") for method in ("logprob", "sample"))
    scores, human = calib.summarize(exact, items), calib.summarize(people, items, pool="rater")
    gold = _some(human)
    tables = {"items": items, "ratings": exact, "sampled": sampled, "scores": scores, "human": human, "gold": gold}
    for name, frame in tables.items():
        calib.table.write(frame, out / f"{name}.csv")
    agreement = calib.agreement(scores, human, level="group")
    convergence = calib.convergence(sampled, scores, human=human, rng=_SEED)
    intervals, everything = _three(scores, gold), calib.interval(scores, human, method="classical")
    _show_demo(agreement, convergence, intervals)
    parts = [_DEMO, *zip(_HEADS, (agreement, convergence, intervals, everything), strict=True)]
    for ending in ("md", "html"):
        calib.report(parts, out / f"report.{ending}", title="calib demo: simulated people, embedded judge")
    typer.echo(_next_steps(out))


_DEMO = (
    "The people here are SIMULATED and the judge is the one embedded in calib: "
    "the numbers show what calib does and say nothing about any model."
)
_HEADS = (
    "Agreement with the simulated people within source texts",
    "Distance (RMSE) of the mean of N draws from the exact expectation",
    "Mean score from the labels of 60 of the 312 outputs",
    "For comparison: the labels of all outputs",
)


def _rated_offline(items: pd.DataFrame, method: str, store: Path) -> pd.DataFrame:
    import calib

    prompts = [calib.geval_prompt(name) for name in ("coherence", "consistency", "fluency", "relevance")]
    return calib.rate(items, prompts, calib.Judge("offline", method=method), store=store)


def _show_demo(agreement: Results, convergence: Results, intervals: Results) -> None:
    from calib.report.report import together

    _paragraph(_DEMO)
    typer.echo(f"\n{_HEADS[0]}\n")
    _show_results(agreement)
    typer.echo(f"\n{_HEADS[1]}\n")
    _print(convergence.to_frame().pivot_table(index="draws", columns="criterion", values="rmse").reset_index())
    typer.echo(f"\n{_HEADS[2]}\n")
    _show_results(together(intervals))


def _some(human: pd.DataFrame) -> pd.DataFrame:
    """The labels of 60 outputs, chosen at random: the gold subset."""
    import numpy as np

    chosen = np.random.default_rng(_SEED).choice(human["item"].unique(), 60, replace=False)
    return human[human["item"].isin(chosen)]


def _three(scores: pd.DataFrame, gold: pd.DataFrame) -> Results:
    import calib

    first, *more = (calib.interval(scores, gold, method=name) for name in ("classical", "judge_only", "auto"))
    return sum(more, first)


def _next_steps(out: Path) -> str:
    at = {name: shlex.quote(str(out / f"{name}.csv")) for name in ("sampled", "scores", "human", "gold")}
    return (
        f"\nReport: {_text(out / 'report.html')} (and report.md); tables: the csv files beside it. Try on them:\n"
        f"  calib agree {at['scores']} {at['human']} --level system --method kendall\n"
        f"  calib interval {at['scores']} {at['gold']}\n"
        f"  calib converge {at['sampled']} {at['scores']} --human {at['human']}"
    )


@app.command()
def rate(
    items: Annotated[Path, typer.Argument(help="Table of items: item, source, output, ...")],
    criterion: Annotated[list[str], typer.Option(help="coherence, consistency, fluency, relevance; repeatable.")],
    model: Annotated[str, typer.Option(help="'offline', openai/gpt-4o-mini, or any model that LiteLLM knows.")],
    out: Annotated[Path | None, typer.Option(callback=_table_file, help="Ratings: .csv, .jsonl or .parquet.")] = None,
    criteria: Annotated[str | None, typer.Option(help="A criterion in your own words, named by --criterion.")] = None,
    inputs: Annotated[list[str] | None, typer.Option(help="Columns shown, the last is rated; repeatable.")] = None,
    scale: Annotated[str | None, typer.Option(help="'1|2|3|4|5' (default) or 'no=0|yes=1'.")] = None,
    reasoning: Annotated[str, typer.Option(help="form (the label alone), think or json (reasons first).")] = "form",
    variants: Annotated[int, typer.Option(help="Wordings of each prompt; the first is the prompt itself.")] = 1,
    method: Annotated[str, typer.Option(help="auto, logprob or sample.")] = "auto",
    draws: Annotated[int | None, typer.Option(help="Samples, or chains of reasoning, per item.")] = None,
    temperature: Annotated[float, typer.Option(help="Of the draws.")] = 1.0,
    top_logprobs: Annotated[int, typer.Option(help="Token probabilities to ask for.")] = 20,
    base_url: Annotated[str | None, typer.Option(help="An OpenAI-compatible server.")] = None,
    seed: Annotated[int | None, typer.Option(help="For servers that take one.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Longest reply; models that reason need more.")] = None,
    concurrency: Annotated[int, typer.Option(help="The most calls under way at once.")] = 16,
    timeout: Annotated[float, typer.Option(help="Seconds for one attempt.")] = 120.0,
    deadline: Annotated[float, typer.Option(help="Seconds for a call with all its attempts.")] = 900.0,
    requests_per_minute: Annotated[float | None, typer.Option(help="A limit of the provider.")] = None,
    tokens_per_minute: Annotated[float | None, typer.Option(help="A limit of the provider.")] = None,
    price: Annotated[
        tuple[float, float] | None, typer.Option(help="US dollars per million tokens, in and out.")
    ] = None,
    noise_floor: Annotated[float, typer.Option(help="Labels with less probability are not told apart.")] = 0.0,
    continuation: Annotated[bool, typer.Option("--continuation", help="Resolve labels left open by a call.")] = False,
    store: Annotated[
        Path | None, typer.Option(help="SQLite file of replies. Default: --out, ending in .sqlite.")
    ] = None,
    keep: Annotated[str, typer.Option(help="What is stored of a reply: compact or full.")] = "compact",
    max_cost: Annotated[float | None, typer.Option(help="US dollars; the run stops before it would cost more.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show calls, tokens and cost; call nobody.")] = False,
    to_batch: Annotated[
        Path | None, typer.Option(help="Write the requests there as OpenAI batch input instead.")
    ] = None,
    from_jsonl: Annotated[Path | None, typer.Option(help="Read the replies from there instead (batch output).")] = None,
    replies: Annotated[bool, typer.Option("--replies", help="Keep the text of each reply.")] = False,
) -> None:
    """Ask a judge about every item. Replies are stored as they come; a second run goes on."""
    import calib

    judge = calib.Judge(
        model,
        method=method,
        draws=draws,
        temperature=temperature,
        top_logprobs=top_logprobs,
        base_url=base_url,
        seed=seed,
        max_tokens=max_tokens,
        concurrency=concurrency,
        timeout=timeout,
        deadline=deadline,
        requests_per_minute=requests_per_minute,
        tokens_per_minute=tokens_per_minute,
        price=price,
        noise_floor=noise_floor,
        continuation=continuation,
    )
    prompts = _prompts(criterion, criteria, scale, tuple(inputs or ("source", "output")), reasoning)
    if not 1 <= variants <= 256:
        raise typer.BadParameter(f"--variants must be from 1 to 256, but got {variants}.")
    prompts = [variant for prompt in prompts for variant in prompt.variants(variants)] if variants > 1 else prompts
    for prompt in prompts if variants > 1 else []:
        _say(
            f"{prompt.id}: {', '.join(f'{facet} {choice}' for facet, choice in prompt.changes) or 'the prompt itself'}"
        )
    table = calib.table.read(items, "items")
    kept = store or (out and out.with_suffix(".sqlite"))
    if to_batch is not None:
        typer.echo(f"wrote {_text(calib.to_batch(table, prompts, judge, to_batch))}")
        return
    if dry_run:
        there = kept if kept and kept.exists() else None  # looking on leaves no file behind
        typer.echo(str(calib.rate(table, prompts, judge, store=there, dry_run=True)))
        return
    if out is None:
        raise typer.BadParameter("--out must name a file for the ratings.")
    if from_jsonl is not None:
        ratings = calib.from_jsonl(from_jsonl, table, prompts, judge, replies=replies)
    else:
        ratings = calib.rate(table, prompts, judge, store=kept, keep=keep, max_cost=max_cost, replies=replies)
    _show(ratings)
    _write(ratings, out)


def _prompts(
    names: list[str], criteria: str | None, scale: str | None, inputs: tuple[str, ...], reasoning: str
) -> list[Any]:
    import calib

    if criteria is None:
        return [calib.geval_prompt(name, scale=scale, inputs=inputs, reasoning=reasoning) for name in names]
    if len(names) != 1:
        raise typer.BadParameter("--criteria needs exactly one --criterion, its name.")
    return [calib.Prompt.from_criteria(names[0], criteria, scale=scale, inputs=inputs, reasoning=reasoning)]


@app.command()
def summarize(
    ratings: Annotated[Path, typer.Argument(help="Table of ratings.")],
    items: Items = None,
    pool: Annotated[str | None, typer.Option(help="'rater' or 'prompt': average them for each item.")] = None,
    out: Out = None,
) -> None:
    """One score per item, criterion and rater: the expectation of its score distribution."""
    import calib

    texts = None if items is None else calib.table.read(items, "items")
    scores = calib.summarize(calib.table.read(ratings, "ratings"), texts, pool=pool)
    _show(scores)
    _write(scores, out)


@app.command()
def agree(
    scores: Scores,
    human: Human,
    items: Items = None,
    level: Level = "item",
    method: AnyCoefficient = "spearman",
    interval: Annotated[
        str, typer.Option(help="auto, none, boot-both, boot-groups, boot-systems or boot-items.")
    ] = "auto",
    constant: Constant = "skip",
    missing: Annotated[str, typer.Option(help="Replies that could not be read: drop or zero.")] = "drop",
    convention: Annotated[
        str | None,
        typer.Option(
            help="As in published tables: geval, unieval, bartscore, summeval or chiang-lee; "
            "sets level, method, constant and missing."
        ),
    ] = None,
    confidence_level: ConfidenceLevel = 0.95,
    n_resamples: Resamples = 9999,
    rng: Seed = None,
    item: OwnItem = None,
    score: OwnScore = None,
    human_item: HumanItem = None,
    human_score: HumanScore = None,
    criterion: OwnCriterion = None,
    rater: OwnRater = None,
    scale: OwnScale = None,
    group: OwnGroup = None,
    system: OwnSystem = None,
    out: Out = None,
) -> None:
    """Agreement of a judge with people, per criterion, and what may be concluded from it."""
    import calib

    own = _given(item=item, score=score, criterion=criterion, rater=rater, scale=scale, group=group, system=system)
    own |= _given(human_item=human_item, human_score=human_score)
    options: dict[str, Any] = {"interval": interval, "constant": constant, "missing": missing, "convention": convention}
    options |= {"confidence_level": confidence_level, "n_resamples": n_resamples, "rng": rng}
    judged, people = _scores(own, items, [scores], human)
    _show_results(calib.agreement(judged, people, level=level, method=method, **options), out, conclude=True)


@app.command()
def compare(
    scores: Annotated[
        list[Path], typer.Argument(help="Two judges' scores or ratings; or one file of several judges, to rank them.")
    ],
    human: Human,
    items: Items = None,
    level: Level = "item",
    method: AnyCoefficient = "spearman",
    test: Annotated[
        str,
        typer.Option(
            help="auto (jackknife), boot-both, boot-groups, boot-systems, boot-items, perm-cells, perm-axes, williams."
        ),
    ] = "auto",
    correction: Annotated[
        str | None, typer.Option(help="For a ranking, whose pairs are many tests: holm (default), bh or none.")
    ] = None,
    constant: Constant = "skip",
    confidence_level: ConfidenceLevel = 0.95,
    n_resamples: Resamples = 9999,
    rng: Seed = None,
    item: OwnItem = None,
    score: OwnScore = None,
    human_item: HumanItem = None,
    human_score: HumanScore = None,
    criterion: OwnCriterion = None,
    rater: OwnRater = None,
    scale: OwnScale = None,
    group: OwnGroup = None,
    system: OwnSystem = None,
    out: Out = None,
) -> None:
    """Which of two judges agrees more with people; or all judges of one file in order."""
    import calib

    own = _given(item=item, score=score, criterion=criterion, rater=rater, scale=scale, group=group, system=system)
    own |= _given(human_item=human_item, human_score=human_score)
    options: dict[str, Any] = {"level": level, "method": method, "test": test, "constant": constant}
    options |= {"confidence_level": confidence_level, "n_resamples": n_resamples, "rng": rng}
    if len(scores) > 2:
        raise typer.BadParameter(
            f"SCORES must be one file or two, but got {len(scores)}: for a ranking put all judges into one."
        )
    if len(scores) == 2 and correction is not None:
        raise typer.BadParameter("--correction is for the ranking of one file of several judges, but there are two.")
    *judged, people = _scores(own, items, scores, human)
    if len(judged) == 2:
        results = calib.compare(judged[0], judged[1], people, **options)
    else:
        results = calib.rank_judges(judged[0], people, correction=correction or "holm", **options)
    _show_results(results, out, conclude=True)


@app.command()
def reliability(
    human: Annotated[Path, typer.Argument(help="People's scores or ratings one by one, or a file of your own.")],
    scores: Annotated[Path | None, typer.Argument(help="Judges' scores or ratings, set beside the people.")] = None,
    items: Items = None,
    metric: Annotated[
        str, typer.Option(help="Of Krippendorff's alpha: interval, nominal, ordinal or ratio.")
    ] = "interval",
    level: Level = "item",
    method: Coefficient = "spearman",
    min_reliability: Annotated[
        float, typer.Option(help="Of people; below it no correlation is corrected for their noise.")
    ] = 0.7,
    confidence_level: ConfidenceLevel = 0.95,
    annotator_test: Annotated[
        bool, typer.Option("--annotator-test", help="Test whether a judge may stand in for one of the people.")
    ] = False,
    epsilon: Annotated[
        float | None, typer.Option(help="Of --annotator-test: the handicap of people, default 0.2.")
    ] = None,
    item: OwnItem = None,
    score: OwnScore = None,
    human_item: HumanItem = None,
    human_score: HumanScore = None,
    criterion: OwnCriterion = None,
    rater: OwnRater = None,
    scale: OwnScale = None,
    group: OwnGroup = None,
    system: OwnSystem = None,
    out: Out = None,
) -> None:
    """How far people agree among themselves, and what ceiling that sets a judge."""
    import calib

    own = _given(item=item, score=score, criterion=criterion, rater=rater, scale=scale, group=group, system=system)
    own |= _given(human_item=human_item, human_score=human_score)
    if annotator_test and scores is None:
        raise typer.BadParameter("--annotator-test needs SCORES, those of a judge.")
    if epsilon is not None and not annotator_test:
        raise typer.BadParameter("--epsilon is for --annotator-test, which was not asked for.")
    judged, people = _scores(own, items, [scores], human)
    options: dict[str, Any] = {"metric": metric, "level": level, "method": method}
    options |= {"min_reliability": min_reliability, "confidence_level": confidence_level}
    results = calib.reliability(people, judged, **options)
    _show_results(results)
    if annotator_test:
        tests = calib.alternative_annotator_test(judged, people, epsilon=0.2 if epsilon is None else epsilon)
        typer.echo()
        _show_results(tests, conclude=True)
        results += tests
    _write(results.to_frame(), out)


@app.command()
def converge(
    sampled: Annotated[Path, typer.Argument(help="Ratings with several draws per item.")],
    exact: Annotated[Path | None, typer.Argument(help="Scores or ratings from token probabilities.")] = None,
    human: Annotated[Path | None, typer.Option(help="People's scores or ratings, or a file of your own.")] = None,
    coefficient: Annotated[str | None, typer.Option(help=f"{_COEFFICIENTS}; spearman.")] = None,
    method: Annotated[str | None, typer.Option(help="Another name of --coefficient.")] = None,
    sizes: Annotated[list[int] | None, typer.Option(help="Number of draws; repeatable.")] = None,
    groups: Annotated[
        str, typer.Option(help="The column of what items share; '' takes items as independent.")
    ] = "group",
    n_subsets: Annotated[int, typer.Option(help="Random subsets of the draws.")] = 200,
    unlike: Annotated[bool, typer.Option("--unlike", help="Compare with what estimates something else, too.")] = False,
    confidence_level: ConfidenceLevel = 0.95,
    rng: Annotated[int | None, typer.Option(help="Seed of the subsets.")] = None,
    item: OwnItem = None,
    score: OwnScore = None,
    criterion: OwnCriterion = None,
    rater: OwnRater = None,
    scale: OwnScale = None,
    out: Out = None,
) -> None:
    """Means of N draws against the exact expectation, and against people."""
    import calib
    from calib.tables.results import words

    own = _given(item=item, score=score, criterion=criterion, rater=rater, scale=scale)
    expected, people = _scores(own, None, [exact], human)
    draws = calib.table.read(sampled, "ratings")
    options: dict[str, Any] = {"coefficient": coefficient, "method": method, "sizes": sizes, "n_subsets": n_subsets}
    options |= {"unlike": unlike, "rng": rng, "groups": groups or None, "confidence_level": confidence_level}
    results = calib.convergence(draws, expected, human=people, **options)
    _show_results(results, out)
    for line in str(results).splitlines():
        _paragraph(line)
    for label, curve in zip(results.labels, cast("Sequence[Convergence]", results), strict=True):
        if math.isfinite(curve.r):
            enough = calib.stats.draws_needed(curve.r, 0.95)
            _paragraph(f"{words(label)}: {enough} draws keep 95 % of Pearson's correlation of endless draws.")


@app.command()
def sensitivity(
    ratings: Annotated[Path, typer.Argument(help="Ratings of the same items under several prompts.")],
    items: Items = None,
    gold: Annotated[
        Path | None, typer.Option(help="People's scores of some items: does averaging prompts help?")
    ] = None,
    by: By = None,
    judges: Annotated[bool, typer.Option("--judges", help="Take the raters as a further facet.")] = False,
    groups: Annotated[
        str, typer.Option(help="The column of what items share; '' takes items as independent.")
    ] = "group",
    estimator: Annotated[str, typer.Option("--estimator", "--method", help="auto, moments or reml.")] = "auto",
    calls: Annotated[int, typer.Option(help="Replies per item, to be spent on prompts or on draws.")] = 8,
    target: Annotated[float | None, typer.Option(help="Wanted Phi: the cheapest prompts and draws.")] = None,
    price_prompt: Annotated[float, typer.Option(help="With --target: of one more prompt, in replies.")] = 0.0,
    confidence_level: ConfidenceLevel = 0.95,
    out: Out = None,
) -> None:
    """How far the prompt moves scores: variance components, other designs, means with the prompt inside."""
    import calib

    table = calib.table.read(ratings, "ratings")
    texts = None if items is None else calib.table.read(items, "items")
    people = None if gold is None else calib.table.read(gold, "scores")
    options: dict[str, Any] = {"groups": groups or None, "confidence_level": confidence_level}
    of_items = options if texts is not None or groups != "group" else {**options, "groups": None}
    studies = calib.sensitivity(table, texts, judges=judges, estimator=estimator, **of_items)
    designs, answers = _designs(studies, calls, target, price_prompt), []  # all of it before the first line is printed
    if not judges:
        scores = calib.summarize(table, texts)
        answers.append(calib.prompt_mean(scores, by=by, **options))
        if _paired_systems(scores):
            answers.append(calib.rank_stability(scores))
        if people is not None:
            answers.append(calib.averaging(scores, people, **options))
    _show_results(studies, out)
    for line in designs:
        _paragraph(line)
    for answer in answers:
        _lines(answer)


def _paired_systems(scores: pd.DataFrame) -> bool:
    """Whether several systems have one item each in a group, so that their order can be asked for."""
    if not {"group", "system"} <= set(scores) or len(scores["system"].unique()) < 2:
        return False
    return not scores.duplicated(["criterion", "rater", "prompt", "method", "temperature", "group", "system"]).any()


def _designs(studies: Results, calls: int, target: float | None, price_prompt: float) -> list[str]:
    """What as many replies, spent otherwise, would give."""
    from calib.tables.results import words

    said = []
    for label, study in zip(studies.labels, cast("Sequence[GStudy]", studies), strict=True):
        confounded = any(part.name == "residual" for part in study.components)
        designs = [study.d_study([1, calls], 1) if confounded else study.equal_calls(calls)]
        said += [f"{words(label)}: {design}" for design in designs]
        if target is not None:
            best = study.cheapest(target, price_prompt=price_prompt, n_items=study.n_items)
            said.append(f"{words(label)}: cheapest for Phi {target:g}: {best}")
    return said


@app.command()
def interval(
    scores: Scores,
    gold: Human,
    items: Items = None,
    by: By = None,
    groups: Annotated[
        str, typer.Option(help="The column of what items share; '' takes items as independent.")
    ] = "group",
    strata: Annotated[str | None, typer.Option(help="A column within whose values the gold items were drawn.")] = None,
    weights: Annotated[str | None, typer.Option(help="A column: how much each item counts.")] = None,
    target: Annotated[str, typer.Option(help="population (items to come) or benchmark (just these items).")] = (
        "population"
    ),
    method: Annotated[
        str, typer.Option(help="auto, classical, judge_only, regression, ppi, ppi++, ppi_py, ares or glide.")
    ] = "auto",
    conservative: Annotated[bool, typer.Option(help="Yes or no: Clopper and Pearson's interval.")] = False,
    alternative: Annotated[str, typer.Option(help="two-sided, greater (a lower bound) or less.")] = "two-sided",
    null: Annotated[float | None, typer.Option(help="Give the p-value of this mean.")] = None,
    min_gold: MinGold = 10,
    tuned_on_gold: Annotated[bool, typer.Option(help="The judge has seen these labels: warn.")] = False,
    confidence_level: ConfidenceLevel = 0.95,
    item: OwnItem = None,
    score: OwnScore = None,
    human_item: HumanItem = None,
    human_score: HumanScore = None,
    criterion: OwnCriterion = None,
    rater: OwnRater = None,
    scale: OwnScale = None,
    group: OwnGroup = None,
    system: OwnSystem = None,
    out: Out = None,
) -> None:
    """Mean human score of all items, from a few labels and the judge, with an interval."""
    import calib

    own = _given(item=item, score=score, criterion=criterion, rater=rater, scale=scale, group=group, system=system)
    own |= _given(human_item=human_item, human_score=human_score)
    judged, people = _scores(own, items, [scores], gold)
    options: dict[str, Any] = {
        "by": by,
        "groups": groups or None,
        "strata": strata,
        "weights": weights,
        "target": target,
        "method": method,
        "null": null,
    }
    options |= {"conservative": conservative, "alternative": alternative, "min_gold": min_gold}
    options |= {"tuned_on_gold": tuned_on_gold}
    _show_means(calib.interval(judged, people, **options, confidence_level=confidence_level), out)


@app.command()
def difference(
    scores: Scores,
    gold: Human,
    first: Annotated[str, typer.Argument(help="A system.")],
    second: Annotated[list[str] | None, typer.Argument(help="Other systems; without one all others.")] = None,
    items: Items = None,
    target: Annotated[str, typer.Option(help="population or benchmark.")] = "population",
    method: Annotated[str, typer.Option(help="As for `calib interval`.")] = "auto",
    alternative: Annotated[str, typer.Option(help="two-sided, greater or less.")] = "two-sided",
    adjust: Annotated[str, typer.Option(help="Of the p-values of several: holm or bh.")] = "holm",
    min_gold: MinGold = 10,
    confidence_level: ConfidenceLevel = 0.95,
    item: OwnItem = None,
    score: OwnScore = None,
    human_item: HumanItem = None,
    human_score: HumanScore = None,
    criterion: OwnCriterion = None,
    rater: OwnRater = None,
    scale: OwnScale = None,
    group: OwnGroup = None,
    system: OwnSystem = None,
    out: Out = None,
) -> None:
    """Mean human score of one system less that of others, paired by group; p-values by Holm where several."""
    import calib

    own = _given(item=item, score=score, criterion=criterion, rater=rater, scale=scale, group=group, system=system)
    own |= _given(human_item=human_item, human_score=human_score)
    judged, people = _scores(own, items, [scores], gold)
    options: dict[str, Any] = {"target": target, "method": method, "min_gold": min_gold, "adjust": adjust}
    options |= {"alternative": alternative, "confidence_level": confidence_level}
    _show_means(calib.difference(judged, people, first, second or None, **options), out)


@app.command()
def choose(
    scores: Scores,
    n: Annotated[int, typer.Argument(help="Labels to buy; with --by for each of its values.")],
    out: Annotated[Path, typer.Option(callback=_table_file, help="The scores with what was drawn.")],
    items: Items = None,
    design: Annotated[str, typer.Option("--design", "--method", help="simple, groups, strata or active.")] = "simple",
    by: By = None,
    on: Annotated[str, typer.Option(help="What strata are cut by: score or entropy.")] = "score",
    n_strata: Annotated[int, typer.Option(help="Number of strata.")] = 4,
    seed: Seed = _SEED,
    item: OwnItem = None,
    score: OwnScore = None,
    criterion: OwnCriterion = None,
    rater: OwnRater = None,
    scale: OwnScale = None,
    group: OwnGroup = None,
    system: OwnSystem = None,
) -> None:
    """Which items people shall label, with a known probability each; `calib interval` reads how they were drawn."""
    import calib

    own = _given(item=item, score=score, rater=rater, scale=scale, group=group, system=system)
    table = _is_table(calib.table.read_frame(scores))
    judged = _scores(own if table else own | _given(criterion=criterion), items, [scores], None)[0]
    if table and criterion is not None:
        judged = judged[judged["criterion"].astype(str) == criterion]
    drawn = calib.choose_items(judged, n, design=design, by=by, on=on, n_strata=n_strata, rng=seed)
    chosen = drawn[drawn["chosen"]]
    typer.echo(f"{len(chosen)} of {len(drawn)} items to label ({design})")
    _show(chosen[[name for name in ("item", "group", "system", "score", "inclusion", "stratum") if name in chosen]])
    _write(drawn, out)


@app.command()
def plan(
    scores: Scores,
    gold: Human,
    items: Items = None,
    half_width: Annotated[float | None, typer.Option(help="Wanted half of the interval, in score points.")] = None,
    budget: Annotated[float | None, typer.Option(help="Instead: money to spend; needs prices.")] = None,
    price_label: Annotated[float | None, typer.Option(help="Price of a human label.")] = None,
    price_judge: Annotated[float | None, typer.Option(help="Price of a judge's reply.")] = None,
    price_item: Annotated[float | None, typer.Option(help="Price of an item itself.")] = None,
    price_prompt: Annotated[float | None, typer.Option(help="Ratings only: price of writing a prompt.")] = None,
    max_items: Annotated[int | None, typer.Option(help="Items that there are to be had.")] = None,
    by: By = None,
    confidence_level: ConfidenceLevel = 0.95,
    item: OwnItem = None,
    score: OwnScore = None,
    human_item: HumanItem = None,
    human_score: HumanScore = None,
    criterion: OwnCriterion = None,
    rater: OwnRater = None,
    scale: OwnScale = None,
    group: OwnGroup = None,
    system: OwnSystem = None,
) -> None:
    """From a pilot: whether the judge helps, how many labels a target needs, and what is cheapest at given prices."""
    import calib

    own = _given(item=item, score=score, criterion=criterion, rater=rater, scale=scale, group=group, system=system)
    own |= _given(human_item=human_item, human_score=human_score)
    judged, people = _scores(own, items, [scores], gold)
    named = {"label": price_label, "judge": price_judge, "item": price_item, "prompt": price_prompt}
    prices = {name: price for name, price in named.items() if price is not None}
    options: dict[str, Any] = {"half_width": half_width, "confidence_level": confidence_level}
    pilot = _pilot(scores, own) if prices and by is None else None
    if pilot is not None:
        _lines(calib.plan(pilot, people, prices=prices, budget=budget, max_items=max_items, **options))
        return
    if max_items is not None and not prices:
        raise typer.BadParameter("--max-items needs prices.")
    wanted = bool(prices) or budget is not None
    aim = options | {"prices": prices, "budget": budget, "max_items": max_items, "by": by}
    bought = [calib.plan(judged, people, **aim)] if wanted else []
    needed = [] if half_width is None else [calib.labels_needed(judged, people, by=by, **options)]
    for answer in (calib.will_it_help(judged, people, by=by, confidence_level=confidence_level), *bought, *needed):
        _lines(answer)


def _pilot(path: Path, own: dict[str, str]) -> pd.DataFrame | None:
    """Ratings that say what prompts or draws do; None for scores, or one draw of one prompt."""
    import calib

    if own or not calib.table.has_replies(calib.table.read_frame(path)):
        return None
    ratings = calib.table.read(path, "ratings")
    judge = ratings[ratings["method"] != "human"]
    numbers = judge.groupby(["criterion", "rater"], observed=True)[["prompt", "draw"]].nunique()
    return ratings if (numbers > 1).any(axis=None) or (judge["method"] == "logprob").any() else None


@app.command()
def report(
    scores: Scores,
    human: Human,
    out: Annotated[Path, typer.Option(help="A file that ends in .html or .md.")],
    items: Items = None,
    title: Annotated[str, typer.Option(help="Its heading.")] = "calib report",
    by: By = None,
    method: Coefficient = "spearman",
    confidence_level: ConfidenceLevel = 0.95,
    item: OwnItem = None,
    score: OwnScore = None,
    human_item: HumanItem = None,
    human_score: HumanScore = None,
    criterion: OwnCriterion = None,
    rater: OwnRater = None,
    scale: OwnScale = None,
    group: OwnGroup = None,
    system: OwnSystem = None,
) -> None:
    """Agreement at every level that the columns allow, and intervals by criterion, in one file."""
    import calib

    own = _given(item=item, score=score, criterion=criterion, rater=rater, scale=scale, group=group, system=system)
    own |= _given(human_item=human_item, human_score=human_score)
    judged, people = _scores(own, items, [scores], human)
    parts: list[Any] = [
        (
            f"Agreement, level {level}",
            calib.agreement(judged, people, level=level, method=method, confidence_level=confidence_level),
        )
        for level in ("item", *_columns(judged, people))
    ]
    parts += _intervals(judged, people, confidence_level)
    if by is not None:
        parts += _intervals(judged, people, confidence_level, by)
    calib.report(parts, out, title=title)
    typer.echo(f"wrote {_text(out)}")


@app.command()
def data(
    name: Annotated[str | None, typer.Argument(help="A set; without one they are listed.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for items.csv and ratings.csv.")] = None,
) -> None:
    """List the public data sets, or write one of them as tables."""
    import calib

    sets = {
        loader.removeprefix("load_"): getattr(calib.datasets, loader)
        for loader in dir(calib.datasets)
        if loader[:5] == "load_"
    }
    about = calib.datasets.available().assign(name=lambda frame: frame["loader"].str.removeprefix("load_"))
    if name is None:
        for row in about.itertuples():
            _paragraph(f"{row.name}: {row.title} (licence: {row.licence}; where: {row.where})")
    elif name not in sets:
        raise typer.BadParameter(f"NAME must be one of {', '.join(sets)}, but got {name!r}.")
    elif out is None:
        raise typer.BadParameter("--out must name a folder for the tables.")
    else:
        for kind, frame in zip(("items", "ratings"), sets[name](), strict=True):
            _write(frame, out / f"{kind}.csv")
        row = next(about[about["name"] == name].itertuples())
        _paragraph(f"{row.title}. Licence: {row.licence}. {row.citation}")


# --- files in ---------------------------------------------------------------------------------------------------


def _scores(own: dict[str, str], items: Path | None, judges: Sequence[Path | None], human: Path | None) -> list[Any]:
    """The scores in the files of judges and people, each of scores, of ratings, or of one's own."""
    import calib

    texts = None if items is None else calib.table.read(items, "items")
    paths = [*judges, human]
    frames = [None if path is None else calib.table.read_frame(path) for path in paths]
    if own and all(frame is None or _is_table(frame) for frame in frames):
        raise typer.BadParameter(
            f"--{next(iter(own))} describes a file of your own, but the files are tables of calib's."
        )
    return [
        None if frame is None else _scored(path, frame, _own_of(own, paths, frames, place), texts)
        for place, (path, frame) in enumerate(zip(paths, frames, strict=True))
    ]


def _own_of(own: dict[str, str], paths: list[Path | None], frames: list[Any], place: int) -> dict[str, str]:
    """The options as they go for one file; the last is people's."""
    path, mine = paths[place], frames[place]
    named = {option: column for option, column in own.items() if option[:6] != "human_"}
    if place == len(paths) - 1:
        named |= {option.removeprefix("human_"): column for option, column in own.items() if option[:6] == "human_"}
    elif path is not None and own.get("rater") not in (mine if mine is not None else ()):
        # in two files of one's own the raters must differ: the judge is called as its file is
        named["rater"] = path.stem
    others = {name for i, frame in enumerate(frames) if i != place and frame is not None for name in frame}
    # columns of the design that only another file has
    elsewhere = [name for name in ("group", "system") if mine is not None and named.get(name, "") in others - set(mine)]
    return {name: column for name, column in named.items() if name not in elsewhere}


def _is_table(frame: pd.DataFrame) -> bool:
    return {"item", "criterion", "rater", "score"} <= set(frame.columns)


def _scored(path: Path | None, frame: pd.DataFrame, own: dict[str, str], items: pd.DataFrame | None) -> pd.DataFrame:
    import calib

    try:
        if not _is_table(frame):
            return _designed(calib.scores_from(frame, **own), items)
        if {"weight", "draw", "status"} & set(frame.columns):
            return calib.summarize(frame, items)
        return _designed(calib.table.check_scores(frame), items)
    except calib.table.TableError as error:
        raise calib.table.TableError(f"{path}: {error}") from None


def _designed(scores: pd.DataFrame, items: pd.DataFrame | None) -> pd.DataFrame:
    """The scores with the groups and systems of the items, if these are given."""
    if items is None:
        return scores
    design = [name for name in ("group", "system") if name in items]
    known = scores.astype({"item": object}).drop(columns=design, errors="ignore")
    return known.merge(items[["item", *design]], on="item", how="left")


def _columns(scores: pd.DataFrame, human: pd.DataFrame) -> list[str]:
    """The levels beyond items that either table has whole columns for."""
    return [
        name
        for name in ("group", "system")
        if any(name in frame and frame[name].notna().all() for frame in (scores, human))
    ]


def _intervals(scores: pd.DataFrame, gold: pd.DataFrame, confidence_level: float, by: str | None = None) -> list[Any]:
    """Gold only, judge only and both, or why there is none."""
    import calib

    found, trouble = [], {}
    for method in ("classical", "judge_only", "auto"):
        try:
            found.append(calib.interval(scores, gold, by=by, method=method, confidence_level=confidence_level))
        except ValueError as error:
            trouble[str(error)] = method
    heading = "Mean score, by criterion" if by is None else f"Mean score, by criterion and {by}"
    parts: list[Any] = [(heading, sum(found[1:], found[0]))] if found else []
    return parts + [f"No interval ({method}): {words}" for words, method in trouble.items()]


# --- text out ---------------------------------------------------------------------------------------------------


def _text(value: object) -> str:
    """For a terminal: line by line without control characters."""
    from calib.tables.figure import visible

    return "\n".join(visible(line) for line in str(value).splitlines())


def _show_results(results: Results, out: Path | None = None, *, conclude: bool = False) -> None:
    from calib.report.report import conclusions, digest

    kept, rest = digest(results)
    _print(kept)
    _paragraph(rest)
    signatures = {result.signature for result in results}
    if len(signatures) == 1:
        typer.echo(f"signature: {signatures.pop()}")
    if any(getattr(result, "method", "") == "judge_only" for result in results):
        _paragraph("Judge alone: its interval is for the judge's own mean, not for the human mean.")
    for line in conclusions(results) if conclude else ():
        _paragraph(line)
    _warn_once(results)
    _write(results.to_frame(), out)


def _warn_once(results: Results) -> None:
    """Each text once, whoever says it; of texts with one name the first, and how many there are."""
    said: dict[str, list[str]] = {}
    for result in results:
        for text in getattr(result, "warnings", ()):
            named = text.partition(": ")[0] if " " not in text.partition(": ")[0] else text
            said.setdefault(named, []).append(text)
    for texts in said.values():
        more = f" (and {len(texts) - 1} more results)" if len(set(texts)) > 1 else ""
        warnings.warn(texts[0] + more, stacklevel=1)


def _show_means(results: Results, out: Path | None) -> None:
    """A table of means, a sentence for each that can be pasted into a report, and what they assume."""
    from calib.report.report import assumptions

    _show_results(results, out, conclude=True)
    for text in ("Assumed:", *(f"- {text}" for text in assumptions(results))):
        _paragraph(text)


def _lines(results: Results) -> None:
    for line in str(results).splitlines():
        _paragraph(line)
    _warn_once(results)


def _paragraph(text: str) -> None:
    typer.echo(textwrap.fill(_text(text), shutil.get_terminal_size().columns))


def _show(frame: pd.DataFrame) -> None:
    """The first rows of a table."""
    from calib.report.report import informative

    _print(informative(frame)[0].head(_ROWS))
    typer.echo(f"{len(frame)} rows" if len(frame) <= _ROWS else f"... {len(frame)} rows in all")


def _print(frame: pd.DataFrame) -> None:
    import pandas as pd

    shown = pd.DataFrame(dict(_column(name, values) for name, values in frame.items()))
    width, options = shutil.get_terminal_size().columns, {"float_format": _number, "na_rep": ""}
    text = shown.to_string(index=False, **options)
    if max(map(len, text.splitlines()), default=0) > width:
        # in a table of several parts each part repeats the words that name its rows
        names = [name for name, kind in shown.dtypes.items() if kind.kind not in "iuf"]
        rows = shown[names].agg(" ".join, axis="columns") if names else shown.index
        text = shown.drop(columns=names).set_axis(rows, axis="index").to_string(line_width=width, **options)
    typer.echo(text)


def _column(name: object, values: pd.Series) -> tuple[str, Any]:
    """A column as it is shown: numbers as they are, words flush left under their head."""
    if values.dtype.kind in "iuf":
        return _text(name), values
    words = [_text(name), *(_text(value) for value in values)]
    head, *cells = [word.ljust(max(map(len, words))) for word in words]
    return head, cells


def _number(value: Any) -> str:
    from calib.core.result import short

    return short(value) if isinstance(value, float) else str(value)


def _write(frame: pd.DataFrame, out: Path | None) -> None:
    from calib import table

    if out is not None:
        typer.echo(f"wrote {len(frame)} rows to {_text(table.write(frame, out))}")
