"""Strengths of four journals from their citations, and the leaderboard of SummEval by people, a judge, and both."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from board_agreement import board_agreement

import calib
from calib import datasets
from calib.stats import CalibWarning, bradley_terry

JOURNALS = ("Biometrika", "Comm Statist", "JASA", "JRSS-B")
CITED = np.array([[714, 730, 498, 221], [33, 425, 68, 17], [320, 813, 1072, 142], [284, 276, 325, 188]])  # by citing


def _side(board: Any, systems: list[str]) -> tuple[Any, Any]:
    """Strengths of these systems and their covariance."""
    at = [board.system.index(name) for name in systems]
    return board.strength[at], board.covariance[np.ix_(at, at)]


def values() -> pd.DataFrame:
    """All values of this part: table, row, measure, value."""
    rows = [*_journals(), *_summeval()]
    return pd.DataFrame(rows, columns=["table", "row", "measure", "value"])


def _journals() -> Iterator[tuple[str, str, str, float]]:
    pairs = [(i, j) for i in range(4) for j in range(4) if i != j for _ in range(CITED[i, j])]
    a, b = np.array(JOURNALS)[np.array(pairs).T]
    board = bradley_terry(a, b, np.ones(len(a)))
    strength = dict(zip(board.system, board.strength, strict=True))
    for name in JOURNALS[1:]:
        yield "journals", name, "log-odds against Biometrika", float(strength[name] - strength["Biometrika"])


def _summeval() -> Iterator[tuple[str, str, str, float]]:
    """Relevance: GPT-4o on all 100 documents, experts on 30 of them, held against experts on all."""
    items, ratings = datasets.load_summeval_judges()
    rows = ratings[ratings["criterion"] == "relevance"]
    experts = rows["rater"].isin(["e0", "e1", "e2"])
    human = calib.summarize(rows[experts], items, pool="rater")
    judge = calib.summarize(rows[rows["rater"] == "gpt-4o"], items)
    documents = sorted(set(human["group"].astype(str)))
    few = human[human["group"].astype(str).isin(documents[::10] + documents[3::10] + documents[6::10])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibWarning)
        boards = {"people on all": calib.leaderboard(human), "judge on all": calib.leaderboard(judge),
                  "people on 30 documents": calib.leaderboard(few),
                  "judge on all, people on 30": calib.leaderboard(judge, few)}  # fmt: skip
    truth = boards["people on all"]
    for name, board in boards.items():
        found = board.one()
        yield "SummEval relevance", name, "mean standard error", float(found.std_error.mean())
        yield "SummEval relevance", name, "systems that may be first", float((found.rank_low == 1).sum())
        if name != "people on all":
            shared = [system for system in found.system if system in truth.one().system]
            agreed = board_agreement(*_side(found, shared), *_side(truth.one(), shared))
            for figure in ("kendall", "separability", "agreement_with_confidence", "brier"):
                yield "SummEval relevance", name, figure, getattr(agreed, figure).estimate
    yield "SummEval relevance", "judge on all, people on 30", "lambda", boards["judge on all, people on 30"].lam
