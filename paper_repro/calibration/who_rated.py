"""LLM-Rubric, question Q0: what the judge's nine answers and what the annotator say of labels of other texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import rivals
from summeval_draws import Codes, Floats

import calib
from calib.stats import annotator_logit

LEVELS, FOLDS, REPEATS = 4, 10, 5


class Labels(NamedTuple):
    """Of each label of Q0: expectations of the nine answers, label from 0, annotator, text."""

    x: Floats
    y: Codes
    annotator: Codes
    text: Codes


def labels(part: str) -> Labels:
    """All labels from 1 to 4 beside the probabilities of the nine answers."""
    _, ratings = calib.load_llm_rubric(part)
    judge = ratings[(ratings["method"] == "logprob") & ratings["score"].between(1, LEVELS)]
    mass = judge.assign(product=judge["score"] * judge["weight"]).groupby(["item", "criterion"], observed=True)
    mean = (mass["product"].sum() / mass["weight"].sum()).unstack().dropna()
    people = ratings[(ratings["method"] == "human") & (ratings["criterion"] == "Q0")]
    people = people[people["score"].between(1, LEVELS) & people["item"].isin(mean.index)]
    codes = [np.unique(people[name].astype(str), return_inverse=True)[1] for name in ("rater", "item")]
    return Labels(mean.loc[people["item"]].to_numpy(), people["score"].to_numpy(dtype=np.intp) - 1, *codes)


def rows() -> Iterator[dict[str, Any]]:
    """Skill and log score of each choice of inputs, and of calib's random effects."""
    for part in ("real", "synth"):
        data = labels(part)
        dummies = np.eye(data.annotator.max() + 1)[data.annotator]
        inputs = {
            "shares": (np.zeros((len(data.y), 1)), 1.0),
            "own expectation": (data.x[:, :1], 1.0),
            "nine expectations": (data.x, 20.0),
            "annotator alone": (dummies, 5.0),
            "nine and annotator": (np.concatenate([data.x, dummies], axis=1), 20.0),
        }
        for name, (x, ridge) in inputs.items():
            for quantity, value in cross_validated(data, x, ridge).items():
                yield {"table": f"annotators, {part}", "of": name, "quantity": quantity, "at": "all", "value": value}
        found = annotator_logit(data.x, data.y, data.annotator, levels=range(LEVELS), ridge=20.0, groups=data.text)
        for one in found.forecasters:
            for quantity, value in {"skill": one.skill, "log score": one.log_score}.items():
                of = f"annotator_logit: {one.forecast}"
                yield {"table": f"annotators, {part}", "of": of, "quantity": quantity, "at": "all", "value": value}


def cross_validated(data: Labels, x: Floats, ridge: float) -> dict[str, float]:
    """Ten folds by text, dealt five times: skill beside the shares of all labels, and log score."""
    score, log = [], []
    for repeat in range(REPEATS):
        dealt = np.random.default_rng(repeat).permutation(data.text.max() + 1) % FOLDS
        p = np.empty((len(data.y), LEVELS))
        for fold in range(FOLDS):
            here = dealt[data.text] == fold
            p[here] = rivals.ordered_of_many(x[None, ~here], data.y[None, ~here], x[None, here], LEVELS, ridge)[0]
        score.append(rps(p, data.y))
        log.append(-np.log(p[np.arange(len(p)), data.y]).mean())
    shares = np.tile(np.bincount(data.y, minlength=LEVELS) / len(data.y), (len(data.y), 1))
    return {"skill": 1 - float(np.mean(score)) / rps(shares, data.y), "log score": float(np.mean(log))}


def rps(p: Floats, y: Codes) -> float:
    """Mean ranked probability score, from 0 to 1."""
    gap = np.cumsum(p, axis=1)[:, :-1] - (y[:, None] <= np.arange(LEVELS - 1))
    return float((gap**2).mean())
