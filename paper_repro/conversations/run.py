"""Is one question about a whole dialogue better than eight about its sides? LLM-Rubric, on the same labels."""

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import check
import pandas as pd

import calib
from calib.core.result import Estimate

Tables = tuple[pd.DataFrame, pd.DataFrame]


def rows() -> pd.DataFrame:
    """Spearman's correlations with people, their difference, and calls for a dialogue."""
    return pd.DataFrame([row for part in ("synth", "real") for row in whole_or_sides(part)])


def summarized(tables: Tables) -> Tables:
    """The judge's scores and people's, pooled."""
    items, ratings = tables
    human = ratings["method"] == "human"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return calib.summarize(ratings[~human], items), calib.summarize(ratings[human], items, pool="rater")


def whole_or_sides(part: str) -> Iterator[dict[str, object]]:
    """GPT-3.5's answer to Q0, how good the dialogue is, against its eight answers on sides of it; and people's."""
    judge, people = summarized(calib.load_llm_rubric(part))
    whole, labels = (table[table["criterion"] == "Q0"] for table in (judge, people))
    for how in ("mean", "worst"):
        both = calib.compare(whole, sides_of(judge, how), labels, rng=1).one()
        if how == "mean":
            yield {"data": part, "judge": "GPT-3.5", "unit": "whole", "value": both.first, "n": both.n, "calls": 1}
        of_sides = {"unit": f"8 sides, {how}", "value": both.second, "n": both.n, "calls": 8}
        yield {"data": part, "judge": "GPT-3.5", **of_sides}
        yield {"data": part, "judge": "GPT-3.5", **values(f"whole less 8 sides, {how}", both)}
        own = calib.agreement(sides_of(people, how), labels, rng=1).one()
        yield {"data": part, "judge": "people", **values(f"8 sides, {how}", own)}


def sides_of(table: pd.DataFrame, how: str) -> pd.DataFrame:
    """The eight answers to Q1 to Q8 as one score of the dialogue, as those of turns are."""
    plain = table[table["criterion"] != "Q0"].astype(dict.fromkeys(("item", "criterion"), str))
    sides = plain.assign(group=plain["item"], item=plain["item"] + "-" + plain["criterion"], method="sample")
    sides = sides.assign(criterion="Q0", rater="in parts")
    return calib.to_sessions(sides.drop(columns="mass", errors="ignore"), how)


def values(unit: str, result: Estimate) -> dict[str, object]:
    """An estimate with its interval."""
    ends = {"conf_low": result.interval.low, "conf_high": result.interval.high}
    return {"unit": unit, "value": result.estimate, "n": result.n, **ends}


if __name__ == "__main__":
    arguments = check.parser(__doc__).parse_args()
    sys.exit(check.report(Path(__file__).parent, rows, strict=arguments.check))
