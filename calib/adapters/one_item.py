"""One item, read as `rate` and `summarize` read many: what the metrics for other tools' harnesses share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from calib.core.check import ArgumentError
from calib.core.text import printable
from calib.judge.calls.rate import rate
from calib.judge.calls.transport import AnyComplete, JudgeError
from calib.judge.judge import Judge
from calib.judge.prompt import Prompt
from calib.scale.summarize import summarize

_NUMBERS = ("entropy", "sd", "mass", "low", "high")
_COUNTS = ("n", "n_unread")


class Reading(NamedTuple):
    """What a judge says of one item."""

    score: float  # the expectation over the scale; NaN if nothing could be read
    # plain JSON: entropy, sd, mass, low, high, n, n_unread (None where that is not known), status, distribution (label
    # to weight, not renormalised), prompt, judge
    details: dict[str, Any]
    words: str  # the same for people, or why nothing could be read

    @property
    def is_read(self) -> bool:
        """Whether there is a score."""
        return not math.isnan(self.score)


Read = Callable[[Mapping[str, Any]], Reading]


def reader(prompt: Prompt, judge: Judge, store: str | Path | None, complete: AnyComplete | None) -> Read:
    """A function that has the judge read one item, given its texts by column.

    Examples
    --------
    >>> from calib.judge.prompt import geval_prompt
    >>> read = reader(geval_prompt("fluency"), Judge("offline"), None, None)
    >>> read({"source": "The boat sank.", "output": "The boat sank."}).details["status"]
    'ok'
    """
    check_alone(prompt, judge)

    def read(texts: Mapping[str, Any]) -> Reading:
        item = _item(prompt, texts)
        try:
            ratings = rate(item, prompt, judge, store=store, complete=complete, progress=False)
        except JudgeError as error:  # of the only item: `rate` has nothing to return
            details = dict.fromkeys((*_NUMBERS, "n_unread")) | {"n": 0, "status": "failed", "distribution": {}}
            return Reading(math.nan, details | _names(prompt, judge), f"nothing was read (failed): {error}")
        return _reading(prompt, judge, ratings)

    return read


def check_alone(prompt: Prompt, judge: Judge) -> None:
    """Refuse what needs the whole run: pairs, steps still to be written, a method to be found out.

    Examples
    --------
    >>> from calib.judge.prompt import geval_prompt
    >>> check_alone(geval_prompt("fluency"), Judge("openai/gpt-4o-mini"))
    Traceback (most recent call last):
        ...
    calib.core.check.ArgumentError: `judge` must have method='logprob' or method='sample': each item is a run of its
    own, and 'auto' would be settled anew for each.
    """
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


def _item(prompt: Prompt, texts: Mapping[str, Any]) -> pd.DataFrame:
    """The columns that the prompt shows, and no other: what else a harness knows is not the judge's business."""
    for name in prompt.inputs:
        if texts.get(name) is None:
            raise ArgumentError("prompt", f"shows {name!r}, which this sample does not have")
    return pd.DataFrame([{"item": "1"} | {name: str(texts[name]) for name in prompt.inputs}])


def _reading(prompt: Prompt, judge: Judge, ratings: pd.DataFrame) -> Reading:
    row = summarize(ratings).iloc[0]
    score, numbers = float(row["score"]), {name: _or_none(row[name]) for name in _NUMBERS}
    counts = {name: int(row[name]) for name in _COUNTS}
    shares = _distribution(prompt, ratings, sum(counts.values()))
    status = "ok" if not math.isnan(score) else ", ".join(sorted(set(ratings["status"].astype(str))))
    details = numbers | counts | {"status": status, "distribution": shares} | _names(prompt, judge)
    return Reading(score, details, _words(prompt, score, details))


def _distribution(prompt: Prompt, ratings: pd.DataFrame, draws: int) -> dict[str, float]:
    """Each label's weight, the mean over all draws, so that their sum is `mass`."""
    read = ratings[ratings["status"] == "ok"]
    weight = read.groupby(read["score"].astype(float))["weight"].sum() / draws
    levels = zip(prompt.scale.labels, prompt.scale.values, strict=True)
    return {label: float(weight.get(value, 0.0)) for label, value in levels}


def _names(prompt: Prompt, judge: Judge) -> dict[str, str]:
    """Not the judge's `repr`, which has an endpoint in it."""
    return {"prompt": printable(prompt.id), "judge": printable(judge.model)}


def _or_none(value: float) -> float | None:
    """JSON has no NaN."""
    return None if math.isnan(value) else float(value)


def _words(prompt: Prompt, score: float, details: Mapping[str, Any]) -> str:
    if math.isnan(score):
        return f"nothing was read ({details['status']}) in {details['n_unread']} draws of {details['judge']}"
    spread = f"sd {details['sd']:.2f}, entropy {details['entropy']:.2f} nats, mass {details['mass']:.2f}"
    shares = ", ".join(f"{label} {weight:.2f}" for label, weight in details["distribution"].items())
    return printable(f"{prompt.criterion} {score:.2f} on {prompt.scale} ({spread}); weights: {shares}")
