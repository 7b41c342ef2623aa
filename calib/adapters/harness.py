"""Scorers for Inspect AI and metrics for DeepEval and Opik: one item, read as `calib.rate` reads many."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from calib.adapters.session import JudgeReading, JudgeSession
from calib.core.check import ArgumentError, check_types
from calib.core.text import needed
from calib.judge.calls.transport import AnyComplete, JudgeError
from calib.judge.judge import Judge
from calib.judge.prompt import Prompt
from calib.judge.scale import Scale

_USE = "scorers for Inspect AI"


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
        With ``method="logprob"`` or ``"sample"``: each sample is read when it comes. Its limits hold for all of
        them; at the default `concurrency` up to 64 calls are under way, as many as the harness asks for at once.
    store, complete : optional
        As for `calib.rate`. With a store nothing is paid for twice, also when the log is scored again.

    Returns
    -------
    Scorer
        Its scores have the expectation as `value` (NaN, which Inspect leaves out of its metrics, if nothing
        could be read), and as `metadata` entropy, sd, mass, low, high, n, n_unread, status, distribution, prompt
        and judge, and what `calib.read_log` makes the ratings of. The metrics are mean and stderr.

    Examples
    --------
    >>> scorer = to_inspect_scorer(calib.geval_prompt("fluency"), calib.Judge("offline"))  # doctest: +SKIP
    >>> inspect_ai.eval(inspect_ai.Task(dataset, scorer=scorer), model="openai/gpt-4o")  # doctest: +SKIP
    """
    check_types(to_inspect_scorer, locals())
    session = JudgeSession(prompt, judge, store, complete)
    scorers = needed("inspect_ai.scorer", extra="inspect", use=_USE)
    threads = needed("anyio.to_thread", extra="inspect", use=_USE)

    async def score(state: Any, target: Any) -> Any:
        own = {"source": state.input_text, "output": state.output.completion, "reference": target.text or None}
        texts = {**(state.metadata or {}), **own}
        coming = session.submit(texts)
        try:
            asyncio.get_running_loop()
        except RuntimeError:  # under trio
            reading = await threads.run_sync(coming.result, abandon_on_cancel=True)
        else:
            reading = await asyncio.wrap_future(coming)
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
    prompt, judge, store, complete
        As for `to_inspect_scorer`.
    threshold : float, optional
        From 0 (the lowest value of the prompt's scale) to 1 (the highest): what a test case needs to
        pass. Default: none passes or fails.

    Returns
    -------
    BaseMetric
        After `measure` or `a_measure` it has `score`, `reason` (the distribution in words) and
        `score_breakdown` (expectation on the prompt's own scale, and the metadata of `to_inspect_scorer`). Where
        nothing could be read these raise `JudgeError` and `error` says why; there is no score then.

    Examples
    --------
    >>> metric = to_deepeval_metric(calib.geval_prompt("fluency"), calib.Judge("offline"))  # doctest: +SKIP
    >>> deepeval.evaluate(test_cases, [metric])  # doctest: +SKIP
    """
    check_types(to_deepeval_metric, locals())
    if threshold is not None and not 0 <= threshold <= 1:
        raise ArgumentError("threshold", "must be between 0 and 1, the ends of the scale", f"got {threshold!r}")
    session = JudgeSession(prompt, judge, store, complete)
    base = needed("deepeval.metrics", extra="deepeval", use="metrics for DeepEval").BaseMetric
    passing = threshold

    class CalibMetric(base):  # type: ignore[misc, valid-type]  # a class of a package without types
        success: bool | None

        # DeepEval copies a metric by the arguments of its __init__ that are attributes, for each test case
        def __init__(self, threshold: float | None = passing) -> None:
            self.threshold, self.evaluation_model, self.include_reason = threshold, judge.model, True

        def measure(self, test_case: Any, *_args: Any, **_options: Any) -> float:
            with self._of_this_case():
                return _keep(self, session.read(_texts_of(test_case)), prompt.scale)

        async def a_measure(self, test_case: Any, *_args: Any, **_options: Any) -> float:
            with self._of_this_case():
                reading = await asyncio.wrap_future(session.submit(_texts_of(test_case)))
                return _keep(self, reading, prompt.scale)

        @contextmanager
        def _of_this_case(self) -> Iterator[None]:
            # forget the last test case: a metric may be used again
            self.score = self.score_breakdown = self.reason = self.success = self.error = None
            try:
                yield
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


def _texts_of(test_case: Any) -> dict[str, Any]:
    """The columns of a test case of DeepEval; what is empty is not there: a prompt that shows it is refused."""
    lines = {name: getattr(test_case, name, None) for name in ("context", "retrieval_context")}
    texts = {name: "\n".join(map(str, several)) for name, several in lines.items() if several}
    texts |= {"source": test_case.input, "output": test_case.actual_output}
    return texts | {"reference": test_case.expected_output}


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
    prompt, judge, store, complete
        As for `to_inspect_scorer`.
    track : bool, default True
        Have Opik trace each scoring, as its own metrics do.

    Returns
    -------
    BaseMetric
        Its `score` returns a ScoreResult: `value` is the expectation, `reason` the distribution in words, `metadata`
        as of `to_inspect_scorer`. Where nothing could be read `value` is None and `scoring_failed` is set.

    Examples
    --------
    >>> metric = to_opik_metric(calib.geval_prompt("fluency"), calib.Judge("offline"))  # doctest: +SKIP
    >>> metric.score(input="The boat sank.", output="A boat sank.").value  # doctest: +SKIP
    """
    check_types(to_opik_metric, locals())
    session = JudgeSession(prompt, judge, store, complete)
    base = needed("opik.evaluation.metrics", extra="opik", use="metrics for Opik").BaseMetric
    result = needed("opik.evaluation.metrics.score_result", extra="opik", use="metrics for Opik").ScoreResult

    class CalibMetric(base):  # type: ignore[misc, valid-type]  # a class of a package without types
        def score(self, input: str, output: str, reference: str | None = None, **ignored: Any) -> Any:  # noqa: A002 - Opik's word
            reading = session.read({**ignored, "source": input, "output": output, "reference": reference})
            failed = math.isnan(reading.score)
            # Opik sends its spans in batches of JSON, which a NaN would spoil for all of them
            value = None if failed else reading.score
            explained = {"reason": reading.words, "metadata": reading.details}
            return result(name=self.name, value=value, scoring_failed=failed, **explained)

    return CalibMetric(name=prompt.criterion, track=track)
