"""Chiang and Lee (2023), Table 4: GPT-3.5 on Topical-Chat, from the recorded replies."""

import sys
from pathlib import Path

import pandas as pd

import calib

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import check

PROMPTS = ("geval", "geval_no_auto_cot", "llm_eval_no_cot", "rate_explain", "analyze_rate")


def table_4() -> pd.DataFrame:
    """Pearson and Kendall within dialogues, replies that cannot be read missing."""
    return pd.concat([rows(prompt) for prompt in PROMPTS])


def rows(prompt: str) -> pd.DataFrame:
    """One prompt: four criteria, two coefficients."""
    items, ratings = calib.load_topical_chat(prompt, reading="chiang-lee")
    scores = calib.summarize(ratings, items)
    people = scores["method"] == "human"
    pearson, kendall = (
        calib.agreement(scores[~people], scores[people], level="group", method=method)
        for method in ("pearson", "kendall")
    )
    names = ["prompt", "criterion", "level", "coefficient", "estimate", "conf_low", "conf_high", "n_groups"]
    return (pearson + kendall).to_frame()[names].rename(columns={"estimate": "value"})


if __name__ == "__main__":
    arguments = check.parser(__doc__).parse_args()
    sys.exit(check.report(Path(__file__).parent, table_4, strict=arguments.check))
