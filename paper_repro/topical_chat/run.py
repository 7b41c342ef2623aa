"""Chiang and Lee (2023), Tables 2, 3 and 4: GPT-3.5 on Topical-Chat, from the recorded replies."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import check
import pandas as pd

import calib

PROMPTS = ("geval", "geval_no_auto_cot", "llm_eval_no_cot", "rate_explain", "analyze_rate", "rate_explain_auto_cot")
# table, printed row, prompt that gives it, level of its Pearson, rule for replies that cannot be read
ROWS = [
    *((2, prompt, prompt, "item", "drop") for prompt in PROMPTS[:3]),
    # two printed rows of Table 2 are those of one prompt, at the two levels
    (2, "rate_explain", "analyze_rate", "item", "drop"),
    (2, "analyze_rate", "analyze_rate", "group", "drop"),
    (3, "rate_explain_auto_cot", "rate_explain_auto_cot", "item", "zero"),
    *((4, prompt, prompt, "group", "drop") for prompt in PROMPTS[:5]),
]


def tables() -> pd.DataFrame:
    """All printed cells by the row that gives them, and the two mislabelled rows as their names say."""
    scores = {prompt: scored(prompt) for prompt in PROMPTS}
    told = [
        cells(scores[prompt], level, missing).assign(table=table, row=row, prompt=prompt, missing=missing)
        for table, row, prompt, level, missing in ROWS
    ]
    meant = [
        cells(scores[prompt], "item", "drop").assign(
            table=2, row=f"{prompt} (recomputed)", prompt=prompt, missing="drop"
        )
        for prompt in ("rate_explain", "analyze_rate")
    ]
    return pd.concat(told + meant, ignore_index=True)


def scored(prompt: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The judge's scores and people's."""
    items, ratings = calib.load_topical_chat(prompt, reading="chiang-lee")
    scores = calib.summarize(ratings, items)
    people = scores["method"] == "human"
    return scores[~people], scores[people]


def cells(scores: tuple[pd.DataFrame, pd.DataFrame], level: str, missing: str) -> pd.DataFrame:
    """Pearson at the level, and Kendall within dialogues; four criteria."""
    if (level, missing) == ("item", "drop"):
        results = calib.agreement(*scores, convention="chiang-lee")
    else:
        results = calib.agreement(*scores, level=level, method="pearson", missing=missing)
        results += calib.agreement(*scores, level="group", method="kendall", missing=missing)
    names = ["criterion", "level", "coefficient", "estimate", "conf_low", "conf_high", "estimate_other_missing"]
    return results.to_frame()[names].rename(columns={"estimate": "value"})


if __name__ == "__main__":
    arguments = check.parser(__doc__).parse_args()
    sys.exit(check.report(Path(__file__).parent, tables, strict=arguments.check))
