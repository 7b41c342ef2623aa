"""A prompt and a judge as a metric of Opik."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from calib.adapters.one_item import reader
from calib.core.check import as_typed
from calib.core.text import needed
from calib.judge.calls.transport import AnyComplete
from calib.judge.judge import Judge
from calib.judge.prompt import Prompt


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
    as_typed(to_opik_metric, locals())
    read = reader(prompt, judge, store, complete)
    base = needed("opik.evaluation.metrics", extra="opik", use="metrics for Opik").BaseMetric
    result = needed("opik.evaluation.metrics.score_result", extra="opik", use="metrics for Opik").ScoreResult

    class CalibMetric(base):  # type: ignore[misc, valid-type]  # a class of a package without types
        def score(self, input: str, output: str, reference: str | None = None, **ignored: Any) -> Any:  # noqa: A002 - Opik's word
            reading = read({**ignored, "source": input, "output": output, "reference": reference})
            failed = not reading.is_read
            # Opik sends its spans in batches of JSON, which a NaN would spoil for all of them
            value = None if failed else reading.score
            told = {"reason": reading.words, "metadata": reading.details}
            return result(name=self.name, value=value, scoring_failed=failed, **told)

    return CalibMetric(name=prompt.criterion, track=track)
