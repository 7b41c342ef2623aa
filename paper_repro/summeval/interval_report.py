"""Sixteen systems, 25 articles with human labels: an interval from people, from a judge, and from both.

The judge is GPT-4o on coherence, the labels are the mean of three experts. All articles have
labels, so that the truth of each system is known; 25 chosen at random are used.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import missing
import numpy as np
import pandas as pd

import calib
from calib.datasets import DatasetError

METHODS = ("classical", "judge_only", "auto")


def scores() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Coherence of 1,600 summaries: of the judge, and of the experts."""
    items, ratings = calib.load_summeval_judges()
    ratings = ratings[ratings["criterion"] == "coherence"]
    people = calib.summarize(ratings[ratings["method"] == "human"], items, pool="rater")
    return calib.summarize(ratings[ratings["rater"] == "gpt-4o"], items), people


def chosen(people: pd.DataFrame, n: int, rng: int) -> pd.DataFrame:
    """The labels of `n` articles, all systems."""
    articles = sorted(set(people["group"]))
    picked = np.random.default_rng(rng).choice(articles, n, replace=False)
    return people[people["group"].isin(picked)]


def table(results: calib.Results, method: str, truth: pd.Series) -> pd.DataFrame:
    """One row per system."""
    rows = results.to_frame()[["system", "estimate", "conf_low", "conf_high"]].assign(method=method)
    rows["truth"] = rows["system"].map(truth)
    rows["holds"] = rows["truth"].between(rows["conf_low"], rows["conf_high"])
    return rows


def draw(results: list[calib.Results], truth: pd.Series, path: Path) -> None:
    """A forest plot."""
    import matplotlib as mpl

    mpl.use("agg")
    figure = calib.plot.interval(*results, truth=truth).get_figure()
    assert figure is not None
    figure.savefig(path, dpi=110)


def main(rng: int, folder: Path) -> None:
    """Compute, write interval_report.csv and interval_report.png, print the summary."""
    judge, people = scores()
    truth = people.groupby("system", observed=True)["score"].mean()
    gold = chosen(people, 25, rng)
    # the question is the mean of just these 100 articles
    results = [calib.interval(judge, gold, by="system", estimator=method, target="benchmark") for method in METHODS]
    frame = pd.concat([table(*pair, truth) for pair in zip(results, METHODS, strict=True)], ignore_index=True)
    frame.to_csv(folder / "interval_report.csv", index=False, float_format="%.9g", lineterminator="\n")
    draw(results, truth, folder / "interval_report.png")
    frame["width"] = frame["conf_high"] - frame["conf_low"]
    print(
        frame.groupby("method", sort=False).agg(
            holds=("holds", "sum"), systems=("holds", "size"), width=("width", "mean")
        )
    )
    print(f"25 of 100 articles, rng {rng}; all values are in {folder.name}/interval_report.csv")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rng", type=int, default=0, help="seed of the choice of articles (default 0)")
    try:
        main(arguments.parse_args().rng, Path(__file__).parent)
    except DatasetError as error:
        missing.skip("the report", error)
