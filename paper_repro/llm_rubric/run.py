"""LLM-Rubric (Hashemi et al. 2024): expected and most probable score of GPT-3.5 against people, question Q0."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import check
import numpy as np
import pandas as pd

import calib


def rows() -> pd.DataFrame:
    """Error and correlation of two ways to read one score from four probabilities."""
    _, ratings = calib.load_llm_rubric("real")
    ratings = ratings[ratings["criterion"] == "Q0"]
    human = calib.summarize(ratings[ratings["method"] == "human"], pool="rater")
    judge = calib.summarize(ratings[ratings["method"] == "logprob"])
    estimators = {"expectation": judge, "argmax": judge.assign(score=judge["mode"])}
    return pd.DataFrame([row for name, scores in estimators.items() for row in against(scores, human, name)])


def against(scores: pd.DataFrame, human: pd.DataFrame, estimator: str) -> list[dict[str, object]]:
    """The four numbers of one estimator."""
    pairs = scores.set_index("item")["score"].to_frame("judge").join(human.set_index("item")["score"])
    values = {"rmse": float(np.sqrt(np.mean((pairs["judge"] - pairs["score"]) ** 2)))}
    for method in ("pearson", "spearman", "kendall"):
        values[method] = calib.agreement(scores, human, method=method, interval="none").one().estimate
    return [{"estimator": estimator, "coefficient": name, "value": value} for name, value in values.items()]


if __name__ == "__main__":
    arguments = check.parser(__doc__).parse_args()
    sys.exit(check.report(Path(__file__).parent, rows, strict=arguments.check))
