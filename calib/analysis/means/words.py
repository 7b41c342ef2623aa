"""Means in words: the sentence for a report, what is assumed, what an interval is not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from calib.analysis.means.contrast import DifferenceEstimate
from calib.analysis.means.mean import MeanEstimate
from calib.analysis.means.methods import METHODS
from calib.core.result import short

if TYPE_CHECKING:
    import pandas as pd

_JUDGE_ALONE = (
    "Judge alone: its interval is for the judge's own mean, not for the human mean. "
    "It is not an interval for the human mean, and more judge scores do not make it one."
)
# labels that say how a score was read, not what it is of
_READ_BY = ("criterion", "rater", "prompt", "method", "temperature", "against", "p_adjusted", "scale")


def mean_sentences(labels: Sequence[Mapping[str, Any]], results: Sequence[MeanEstimate]) -> list[str]:
    """A sentence for each, which can be pasted into a report."""
    return list(map(_mean_sentence, labels, results))


def _mean_sentence(label: Mapping[str, Any], result: MeanEstimate) -> str:
    """What of, the interval, what it rests on, and what the judge was good for."""
    what = _quantity(label, result)
    labels, judged = f"{result.n_gold} human labels" if result.n_gold else "no human label", f"{result.n} judge scores"
    if isinstance(result, DifferenceEstimate) and not result.is_paired:
        labels, judged = result.labels_in_words, f"judge scores of {result.n} inputs"
    scores = f" and {judged}" if result.uses_judge else ""
    gain = 1 - result.width_ratio
    told = result.uses_judge and result.alternative == "two-sided" and abs(gain) >= 0.005  # NaN is not
    wide = f"; {abs(gain):.0%} {'narrower' if gain > 0 else 'wider'} than the labels alone".replace("%", " %")
    p = "" if math.isnan(result.p_value) else f", p = {result.p_value:.2g}"
    scale = f"; scale {label['scale']}" if "scale" in label else ""
    left = _left_out(label) if result.uses_judge else ""
    return f"{what} is {short(result.estimate)}, {result.bracket}{p}, from {labels}{scores}{wide * told}{left}{scale}."


def _quantity(label: Mapping[str, Any], result: MeanEstimate) -> str:
    """What an estimate is of: a mean of a criterion, or of preferences a win rate, and of which system."""
    who = "human" if result.estimand.startswith("human") else "judge's"
    of = [f"{name} {label[name]}" for name in label if name not in _READ_BY and not name.startswith("n_")]
    if "win rate" in result.estimand:
        apart = f"Difference of {who} win rates" if "difference" in result.estimand else f"{who.capitalize()} win rate"
        return f"{apart} of {', '.join(text.removeprefix('system ') for text in of)}" if of else apart
    apart = "Difference of mean" if "difference" in result.estimand else "Mean"
    parts = (apart, who, str(label.get("criterion", "score")), f"of {', '.join(of)}" if of else "")
    return " ".join(filter(None, parts))


def _left_out(label: Mapping[str, Any]) -> str:
    """What is not in the numbers: labels without a judge score, and items whose judge score could not be read."""
    paired = "n_unscored" in label
    labels, unread = label.get("n_unscored" if paired else "n_unmatched", 0), label.get("n_unread", 0)
    parts = [
        (labels, "label of an item", "labels of items", "without a judge score"),
        (unread, "item", "items", "whose judge score is missing"),
        (label.get("n_unmatched", 0) if paired else 0, "input", "inputs", "that only one of them answered"),
    ]
    told = [f"{n} {one if n == 1 else many} {rest}" for n, one, many, rest in parts if n]
    one = sum(n for n, *_ in parts) == 1
    return f"; {' and '.join(told)} {'was' if one else 'were'} left out" if told else ""


def assumed(results: Sequence[MeanEstimate]) -> list[str]:
    """What has to be true for the intervals to hold, each once; for the judge alone only if there is no other."""
    of_people = [result for result in results if result.estimator != "judge_only"]
    return list(dict.fromkeys(text for result in of_people or results for text in result.assumptions))


def of_judge_alone(results: Sequence[MeanEstimate]) -> list[str]:
    """What the interval of the judge alone is not."""
    return [_JUDGE_ALONE] * any(result.estimator == "judge_only" for result in results)


def estimators_in_words(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame that calls each estimator as a reader would."""
    words = {name: method.words for name, method in METHODS.items()} | {"judge_only": "judge alone"}
    return frame.drop(columns="labels_saved", errors="ignore").replace({"estimator": words})
