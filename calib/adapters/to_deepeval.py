"""A prompt and a judge as a metric of DeepEval."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from calib.adapters.one_item import Reading, reader
from calib.core.check import ArgumentError, as_typed
from calib.core.text import needed
from calib.judge.calls.transport import AnyComplete, JudgeError
from calib.judge.judge import Judge
from calib.judge.prompt import Prompt
from calib.judge.scale import Scale


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
    as_typed(to_deepeval_metric, locals())
    if threshold is not None and not 0 <= threshold <= 1:
        raise ArgumentError("threshold", "must be between 0 and 1, the ends of the scale", f"got {threshold!r}")
    read = reader(prompt, judge, store, complete)
    base = needed("deepeval.metrics", extra="deepeval", use="metrics for DeepEval").BaseMetric
    passing = threshold

    class CalibMetric(base):  # type: ignore[misc, valid-type]  # a class of a package without types
        # DeepEval copies a metric by the arguments of its __init__ that are attributes, for each test case
        def __init__(self, threshold: float | None = passing) -> None:
            self.threshold, self.evaluation_model, self.include_reason = threshold, judge.model, True

        def measure(self, test_case: Any, *_args: Any, **_options: Any) -> float:
            _forget(self)
            return _keep(self, _read(self, test_case), prompt.scale)

        async def a_measure(self, test_case: Any, *_args: Any, **_options: Any) -> float:
            _forget(self)
            return _keep(self, await asyncio.to_thread(_read, self, test_case), prompt.scale)

        def is_successful(self) -> bool | None:
            if self.threshold is None:
                self.success = None
            else:
                self.success = self.error is None and self.score is not None and self.score >= self.threshold
            return self.success

        @property
        def __name__(self) -> str:
            return prompt.criterion

    def _read(metric: Any, test_case: Any) -> Reading:
        try:
            return read(_texts(test_case))
        except Exception as error:
            metric.error = str(error)
            raise

    return CalibMetric()


def _texts(test_case: Any) -> dict[str, Any]:
    """What is empty is not there: a prompt that shows it is refused."""
    lines = {name: getattr(test_case, name, None) for name in ("context", "retrieval_context")}
    texts = {name: "\n".join(map(str, several)) for name, several in lines.items() if several}
    case = {"source": test_case.input, "output": test_case.actual_output, "reference": test_case.expected_output}
    return texts | case


def _forget(metric: Any) -> None:
    """A metric may be used again, and what it said of the last test case is not about this one."""
    metric.score = metric.score_breakdown = metric.reason = metric.success = metric.error = None


def _keep(metric: Any, reading: Reading, scale: Scale) -> float:
    """The reading as attributes, by which DeepEval takes it."""
    metric.reason, metric.score_breakdown = reading.words, {"expectation": None, **reading.details}
    if not reading.is_read:
        metric.error = reading.words
        metric.is_successful()
        raise JudgeError(reading.words)
    low, high = min(scale.values), max(scale.values)
    metric.score_breakdown["expectation"] = reading.score
    metric.score = (reading.score - low) / (high - low)
    metric.is_successful()
    return float(metric.score)
