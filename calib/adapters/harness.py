"""Scorers for Inspect AI and metrics for DeepEval and Opik: one item, read as `calib.rate` reads many."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from calib.core.check import ArgumentError, check_types
from calib.core.text import needed, printable
from calib.judge.calls.rate import rate
from calib.judge.calls.transport import AnyComplete, JudgeError
from calib.judge.judge import Judge
from calib.judge.prompt import Prompt
from calib.judge.scale import Scale
from calib.scale.summarize import summarize

_NUMBERS = ("entropy", "sd", "mass", "low", "high")
_COUNTS = ("n", "n_unread")
_USE = "scorers for Inspect AI"


class JudgeReading(NamedTuple):
    """What a judge says of one item."""

    score: float  # the expectation over the scale; NaN if nothing could be read
    # plain JSON: entropy, sd, mass, low, high, n, n_unread (None where that is not known), status, distribution (label
    # to weight, not renormalised), prompt, judge
    details: dict[str, Any]
    words: str  # the same for people, or why nothing could be read


def reader(
    prompt: Prompt, judge: Judge, store: str | Path | None, complete: AnyComplete | None
) -> Callable[[Mapping[str, Any]], JudgeReading]:
    """A function that has the judge read one item, given its texts by column."""
    check_alone(prompt, judge)
    names = {"prompt": printable(prompt.id), "judge": printable(judge.model)}  # not its `repr`, with an endpoint in it

    def read(texts: Mapping[str, Any]) -> JudgeReading:
        # the columns that the prompt shows, and no other: what else a harness knows is not the judge's business
        for name in prompt.inputs:
            if texts.get(name) is None:
                raise ArgumentError("prompt", f"shows {name!r}, which this sample does not have")
        item = pd.DataFrame([{"item": "1"} | {name: str(texts[name]) for name in prompt.inputs}])
        try:
            ratings = rate(item, prompt, judge, store=store, complete=complete, progress=False)
        except JudgeError as error:  # of the only item: `rate` has nothing to return
            details = dict.fromkeys((*_NUMBERS, "n_unread")) | {"n": 0, "status": "failed", "distribution": {}}
            return JudgeReading(math.nan, details | names, f"nothing was read (failed): {error}")
        row = summarize(ratings).iloc[0]
        score, counts = float(row["score"]), {name: int(row[name]) for name in _COUNTS}
        # JSON has no NaN
        numbers = {name: None if math.isnan(row[name]) else float(row[name]) for name in _NUMBERS}
        # each label's weight, the mean over all draws, so that their sum is `mass`
        rows = ratings[ratings["status"] == "ok"]
        weight = rows.groupby(rows["score"].astype(float))["weight"].sum() / sum(counts.values())
        levels = zip(prompt.scale.labels, prompt.scale.values, strict=True)
        shares = {label: float(weight.get(value, 0.0)) for label, value in levels}
        if math.isnan(score):
            status = ", ".join(sorted(set(ratings["status"].astype(str))))
            words = f"nothing was read ({status}) in {counts['n_unread']} draws of {names['judge']}"
        else:
            status, each = "ok", ", ".join(f"{label} {share:.2f}" for label, share in shares.items())
            spread = f"sd {numbers['sd']:.2f}, entropy {numbers['entropy']:.2f} nats, mass {numbers['mass']:.2f}"
            words = printable(f"{prompt.criterion} {score:.2f} on {prompt.scale} ({spread}); weights: {each}")
        return JudgeReading(score, numbers | counts | {"status": status, "distribution": shares} | names, words)

    return read


def check_alone(prompt: Prompt, judge: Judge) -> None:
    """Refuse what needs the whole run: pairs, steps still to be written, a method to be found out."""
    if not isinstance(prompt, Prompt):
        raise TypeError(f"`prompt` must be one calib.Prompt, such as geval_prompt makes, but got {prompt!r:.60}.")
    if not isinstance(judge, Judge):
        raise TypeError(f"`judge` must be a calib.Judge, such as calib.Judge('offline'), but got {judge!r:.60}.")
    if prompt.pair:
        rule = "must ask about one output: a harness gives one at a time, and `Prompt.pairwise` compares two"
        raise ArgumentError("prompt", rule)
    if prompt.steps is None:
        rule = "must have its steps, which would be written anew for each item: `calib.write_steps` writes them once"
        raise ArgumentError("prompt", rule)
    if judge.method == "auto" and judge.model != "offline":
        each = "each item is a run of its own, and 'auto' would be settled anew for each"
        raise ArgumentError("judge", f"must have method='logprob' or method='sample': {each}")


# --- the metrics ------------------------------------------------------------------------------------------------------


def to_inspect_scorer(
    prompt: Prompt, judge: Judge, *, store: str | Path | None = None, complete: AnyComplete | None = None
) -> Any:
    """A scorer for Inspect AI: the expectation over the score tokens in place of one digit.

    The prompt's columns are filled from the sample: `source` is its input as text, `output` the
    completion, `reference` the target; any other column comes from the sample's metadata.

    Parameters
    ----------
    prompt : Prompt
        About one output, with its evaluation steps.
    judge : Judge
        With ``method="logprob"`` or ``"sample"``: each sample is a run of its own.
    store, complete : optional
        As for `calib.rate`. With a store nothing is paid for twice, also when the log is scored again.

    Returns
    -------
    Scorer
        Its scores have the expectation as `value` (NaN, which Inspect leaves out of its metrics, if nothing
        could be read), and as `metadata` entropy, sd, mass, low, high, n, n_unread, status, distribution,
        prompt and judge. The metrics are mean and stderr.

    Examples
    --------
    >>> scorer = to_inspect_scorer(calib.geval_prompt("fluency"), calib.Judge("offline"))  # doctest: +SKIP
    >>> inspect_ai.eval(inspect_ai.Task(dataset, scorer=scorer), model="openai/gpt-4o")  # doctest: +SKIP
    """
    check_types(to_inspect_scorer, locals())
    read = reader(prompt, judge, store, complete)
    scorers = needed("inspect_ai.scorer", extra="inspect", use=_USE)
    threads = needed("anyio.to_thread", extra="inspect", use=_USE)

    async def score(state: Any, target: Any) -> Any:
        own = {"source": state.input_text, "output": state.output.completion, "reference": target.text or None}
        texts = {**(state.metadata or {}), **own}
        # `rate` waits for its calls; to give the thread up is all that a cancelled eval can do
        reading = await threads.run_sync(partial(read, texts), abandon_on_cancel=True)
        return scorers.Score(
            value=reading.score, answer=texts["output"], explanation=reading.words, metadata=reading.details
        )

    # Inspect writes a factory's arguments into its log: this one has none, as a judge may hold an endpoint
    return scorers.scorer(metrics=[scorers.mean(), scorers.stderr()], name=prompt.criterion)(lambda: score)()


def to_deepeval_metric(
    prompt: Prompt,
    judge: Judge,
    *,
    threshold: float | None = None,
    store: str | Path | None = None,
    complete: AnyComplete | None = None,
) -> Any:
    """A metric for DeepEval: the expectation over the score tokens, rescaled to 0..1.

    The prompt's columns are filled from the test case: `source` is its input, `output` the actual
    output, `reference` the expected one, `context` and `retrieval_context` theirs, one line each.

    Parameters
    ----------
    prompt : Prompt
        About one output, with its evaluation steps.
    judge : Judge
        With ``method="logprob"`` or ``"sample"``: each test case is a run of its own.
    threshold : float, optional
        From 0 (the lowest value of the prompt's scale) to 1 (the highest): what a test case needs to
        pass. Default: none passes or fails.
    store, complete : optional
        As for `calib.rate`. With a store nothing is paid for twice.

    Returns
    -------
    BaseMetric
        After `measure` or `a_measure` it has `score`, `reason` (the distribution in words) and
        `score_breakdown` (expectation on the prompt's own scale, entropy, sd, mass, low, high, n, n_unread,
        status, distribution, prompt, judge). Where nothing could be read these raise `JudgeError` and `error`
        says why; there is no score then.

    Examples
    --------
    >>> metric = to_deepeval_metric(calib.geval_prompt("fluency"), calib.Judge("offline"))  # doctest: +SKIP
    >>> deepeval.evaluate(test_cases, [metric])  # doctest: +SKIP
    """
    check_types(to_deepeval_metric, locals())
    if threshold is not None and not 0 <= threshold <= 1:
        raise ArgumentError("threshold", "must be between 0 and 1, the ends of the scale", f"got {threshold!r}")
    read = reader(prompt, judge, store, complete)
    base = needed("deepeval.metrics", extra="deepeval", use="metrics for DeepEval").BaseMetric
    passing = threshold

    class CalibMetric(base):  # type: ignore[misc, valid-type]  # a class of a package without types
        success: bool | None

        # DeepEval copies a metric by the arguments of its __init__ that are attributes, for each test case
        def __init__(self, threshold: float | None = passing) -> None:
            self.threshold, self.evaluation_model, self.include_reason = threshold, judge.model, True

        def measure(self, test_case: Any, *_args: Any, **_options: Any) -> float:
            return _keep(self, self._reading_of(test_case), prompt.scale)

        async def a_measure(self, test_case: Any, *_args: Any, **_options: Any) -> float:
            return _keep(self, await asyncio.to_thread(self._reading_of, test_case), prompt.scale)

        def _reading_of(self, test_case: Any) -> JudgeReading:
            # a metric may be used again, and what it said of the last test case is not about this one
            self.score = self.score_breakdown = self.reason = self.success = self.error = None
            try:
                # what is empty is not there: a prompt that shows it is refused
                lines = {name: getattr(test_case, name, None) for name in ("context", "retrieval_context")}
                texts = {name: "\n".join(map(str, several)) for name, several in lines.items() if several}
                texts |= {"source": test_case.input, "output": test_case.actual_output}
                return read(texts | {"reference": test_case.expected_output})
            except Exception as error:
                self.error = str(error)
                raise

        def is_successful(self) -> bool | None:
            over = self.threshold is not None and self.score is not None and self.score >= self.threshold
            self.success = None if self.threshold is None else self.error is None and over
            return self.success

        @property
        def __name__(self) -> str:
            return prompt.criterion

    return CalibMetric()


def _keep(metric: Any, reading: JudgeReading, scale: Scale) -> float:
    """The reading as attributes, by which DeepEval takes it."""
    metric.reason, metric.score_breakdown = reading.words, {"expectation": None, **reading.details}
    if math.isnan(reading.score):
        metric.error = reading.words
        metric.is_successful()
        raise JudgeError(reading.words)
    low, high = min(scale.values), max(scale.values)
    metric.score_breakdown["expectation"] = reading.score
    metric.score = (reading.score - low) / (high - low)
    metric.is_successful()
    return float(metric.score)


def to_opik_metric(
    prompt: Prompt,
    judge: Judge,
    *,
    track: bool = True,
    store: str | Path | None = None,
    complete: AnyComplete | None = None,
) -> Any:
    """A metric for Opik: the expectation over the score tokens in place of one digit.

    The prompt's columns are filled from the arguments of `score`: `source` is `input`, `output` and
    `reference` are what they are called; any other column is taken from the dataset item by its name.

    Parameters
    ----------
    prompt : Prompt
        About one output, with its evaluation steps.
    judge : Judge
        With ``method="logprob"`` or ``"sample"``: each item is a run of its own.
    track : bool, default True
        Have Opik trace each scoring, as its own metrics do.
    store, complete : optional
        As for `calib.rate`. With a store nothing is paid for twice.

    Returns
    -------
    BaseMetric
        Its `score` returns a ScoreResult: `value` is the expectation, `reason` the distribution in words,
        `metadata` entropy, sd, mass, low, high, n, n_unread, status, distribution, prompt and judge. Where
        nothing could be read `value` is None and `scoring_failed` is set.

    Examples
    --------
    >>> metric = to_opik_metric(calib.geval_prompt("fluency"), calib.Judge("offline"))  # doctest: +SKIP
    >>> metric.score(input="The boat sank.", output="A boat sank.").value  # doctest: +SKIP
    """
    check_types(to_opik_metric, locals())
    read = reader(prompt, judge, store, complete)
    base = needed("opik.evaluation.metrics", extra="opik", use="metrics for Opik").BaseMetric
    result = needed("opik.evaluation.metrics.score_result", extra="opik", use="metrics for Opik").ScoreResult

    class CalibMetric(base):  # type: ignore[misc, valid-type]  # a class of a package without types
        def score(self, input: str, output: str, reference: str | None = None, **ignored: Any) -> Any:  # noqa: A002 - Opik's word
            reading = read({**ignored, "source": input, "output": output, "reference": reference})
            failed = math.isnan(reading.score)
            # Opik sends its spans in batches of JSON, which a NaN would spoil for all of them
            value = None if failed else reading.score
            explained = {"reason": reading.words, "metadata": reading.details}
            return result(name=self.name, value=value, scoring_failed=failed, **explained)

    return CalibMetric(name=prompt.criterion, track=track)
