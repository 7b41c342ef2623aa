"""Prediction-powered inference: the ballots of San Francisco, and what labels and judge scores to buy."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import check
import numpy as np
import oracles
import pandas as pd
from best_pair import best_pair
from data_sets import load_ballots

import calib

PEERS = {"ppi_py": "ppi_py", "lambda = 1": "ares"}
ESTIMATORS = {"labels alone": "classical", "calib": "auto"}
DESIGNS = [
    {"rho": 0.9, "cost_label": 1, "cost_judge": 0.1, "budget": 1000},
    {"rho": 0.9, "cost_label": 1, "cost_judge": 0.1, "effective_n": 3000},
    {"rho": 0.49393859104677634, "cost_item": 0.01, "cost_label": 1, "cost_judge": 0.01, "effective_n": 4000},
    {"rho": 0.5654183386120578, "cost_item": 0.01, "cost_label": 1, "cost_judge": 0.01, "budget": 5000},
    {"rho": 0.6127273457809836, "cost_item": 0.1, "cost_label": 0.9, "cost_judge": 0.01, "budget": 5000},
    {"rho": 0.6555119650114937, "cost_label": 1, "cost_judge": 0.01, "budget": 5000, "n_max": 6000},
    {"rho": 0.6555119650114937, "cost_label": 1, "cost_judge": 0.01, "effective_n": 5950, "n_max": 6000},
]


def rows() -> pd.DataFrame:
    """Intervals of the ballots, the power analysis from 500 of them, and seven purchases."""
    items, ratings = load_ballots()
    scores = calib.summarize(ratings, items)
    machine, people = (scores[scores["rater"] == rater] for rater in ("machine", "human"))
    told = [*intervals(machine, people), *pilot(machine, people)]
    for design in DESIGNS:
        given = ", ".join(f"{name} {value:g}" for name, value in design.items())
        told += purchase("purchases", given, design)
    return pd.DataFrame(told)


def intervals(machine: pd.DataFrame, people: pd.DataFrame) -> list[dict[str, object]]:
    """The share of the winner by each estimator, at two levels."""
    both = machine.set_index("item")[["score"]].join(people.set_index("item")["score"].rename("label"))
    gold = both["label"].notna()
    data = both.loc[gold, "label"], both.loc[gold, "score"], both.loc[~gold, "score"]
    told = []
    for name in (*PEERS, *ESTIMATORS):
        for level in (0.95, 0.9):
            if name in PEERS:
                result = oracles.mean(*data, program=PEERS[name], confidence_level=level)
            else:
                result = calib.interval(machine, people, estimator=ESTIMATORS[name], confidence_level=level).one()
            values = {"estimate": result.estimate, "low": result.interval.low, "high": result.interval.high}
            told += cells("ballots", f"{name}, {level:.0%}", values)
    return told


def pilot(machine: pd.DataFrame, people: pd.DataFrame) -> list[dict[str, object]]:
    """What 500 ballots, drawn as in ppi_py's notebook, advise to buy."""
    drawn = np.random.RandomState(0).choice(len(people), 500, replace=False)  # as the notebook: seed(0), choice
    both = people.set_index("item")["score"].iloc[drawn].to_frame("label").join(machine.set_index("item")["score"])
    rho = float(both.corr().loc["label", "score"])
    shared = {"rho": rho, "cost_label": 1, "cost_judge": 0.1}
    return [
        *cells("pilot", "500 ballots", {"rho": rho}),
        *purchase("pilot", "budget 1000", shared | {"budget": 1000}),
        *purchase("pilot", "effective_n 35000", shared | {"effective_n": 35000}),
    ]


def purchase(part: str, case: str, design: dict[str, float]) -> list[dict[str, object]]:
    """The best pair for the money, or for the wanted precision."""
    return cells(part, case, best_pair(**design)._asdict())


def cells(part: str, case: str, values: dict[str, float]) -> list[dict[str, object]]:
    """One row a number."""
    return [{"part": part, "case": case, "quantity": name, "value": value} for name, value in values.items()]


if __name__ == "__main__":
    arguments = check.parser(__doc__).parse_args()
    sys.exit(check.report(Path(__file__).parent, rows, strict=arguments.check))
