"""UniEval (Zhong et al. 2022): correlations of the stored predictions with people, over all items of a set."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import check
import pandas as pd

import calib


def rows() -> pd.DataFrame:
    """Eight rows of three coefficients."""
    items, ratings = calib.load_unieval()
    sets = [
        (name, calib.summarize(ratings[ratings["item"].isin(part["item"])], part))
        for name, part in items.groupby("set")
    ]
    return pd.concat([row(name, scores) for name, scores in sets])


def row(name: str, scores: pd.DataFrame) -> pd.DataFrame:
    """One set, all its criteria and coefficients."""
    people = scores["rater"] == "human"
    results = calib.agreement(scores[~people], scores[people], convention="unieval").to_frame()
    names = ["set", "criterion", "level", "coefficient", "estimate", "conf_low", "conf_high"]
    return results.assign(set=name)[names].rename(columns={"estimate": "value"})


if __name__ == "__main__":
    arguments = check.parser(__doc__).parse_args()
    sys.exit(check.report(Path(__file__).parent, rows, strict=arguments.check))
