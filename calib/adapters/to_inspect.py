"""A prompt and a judge as a scorer of Inspect AI."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from calib.adapters.one_item import reader
from calib.core.check import as_typed
from calib.core.text import needed
from calib.judge.calls.transport import AnyComplete
from calib.judge.judge import Judge
from calib.judge.prompt import Prompt

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
    as_typed(to_inspect_scorer, locals())
    read = reader(prompt, judge, store, complete)
    scorers = needed("inspect_ai.scorer", extra="inspect", use=_USE)
    threads = needed("anyio.to_thread", extra="inspect", use=_USE)

    async def score(state: Any, target: Any) -> Any:
        known = {"source": state.input_text, "output": state.output.completion, "reference": target.text or None}
        texts = {**(state.metadata or {}), **known}
        # `rate` waits for its calls; to give the thread up is all that a cancelled eval can do
        reading = await threads.run_sync(partial(read, texts), abandon_on_cancel=True)
        return scorers.Score(
            value=reading.score, answer=texts["output"], explanation=reading.words, metadata=reading.details
        )

    # Inspect writes a factory's arguments into its log: this one has none, as a judge may hold an endpoint
    return scorers.scorer(metrics=[scorers.mean(), scorers.stderr()], name=prompt.criterion)(lambda: score)()
