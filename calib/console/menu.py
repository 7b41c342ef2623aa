"""The commands in groups: what `calib` alone prints, without any package."""

from __future__ import annotations

import shutil
import textwrap

ABOUT = "How far can an LLM judge be trusted? `calib COMMAND --help` explains a command."

# The six commands that most users need come first: what each does in three to five words, and what makes sense after it
# where it does not say so itself. {same} is FILE, LABELS and the columns as they were typed, {first} the first file,
# {judge} that and its columns, {judges} the judges' scores, {out} what was written, {out_results} and {out_ratings} a
# file in that folder
MENU: dict[str, dict[str, tuple[str, str]]] = {
    "Start here": {
        "demo": ("everything once, on sample data", "look {out_results}"),
        "look": ("how your files are read", ""),
        "choose": ("which items to label", ""),
        "label": ("a page to label with", ""),
        "interval": ("people's mean, with an interval", "report {same}"),
        "report": ("all results on one page", ""),
    },
    "Judge": {
        "rate": ("ask a judge about items", "choose {out} 60 --out chosen.csv"),
        "pair-items": (
            "pairs of outputs to compare",
            "rate {out} --pairwise --criterion NAME --model MODEL --out verdicts.csv",
        ),
        "read-log": ("import another tool's log", "look {out}"),
        "summarize": ("one score for each item", "choose {out} 60 --out chosen.csv"),
        "view": ("a run in the browser", ""),
        "convergence": (
            "how many draws are enough",
            "rate ITEMS.csv --method sample --draws N --criterion NAME --model MODEL --out ratings.csv",
        ),
        "sensitivity": ("how far prompts move scores", "summarize {first} --out scores.csv"),
        "drift": ("has the judge changed since", "agreement {now} LABELS.csv"),
    },
    "People": {
        "read-labels": ("join what annotators sent back", ""),
        "reliability": ("agreement among people, its ceiling", "agreement {judges} {first}"),
        "data": ("public data sets with labels", "look {out_ratings}"),
    },
    "Trust": {
        "agreement": ("correlation of judge and people", "interval {same}"),
        "difference": ("compare systems by people's mean", "report {same}"),
        "compare": ("two judges against the labels", "report {same}"),
        "rank-judges": ("several judges against the labels", "interval {same}"),
        "pass-fail": ("error rates of yes-or-no judges", "gate-judge {same} --kappa 0.6"),
        "pairwise-agreement": ("judge of pairs against people", "leaderboard {same}"),
        "leaderboard": ("rank systems from paired verdicts", "report {same}"),
        "profile": ("how a judge uses scales", "agreement {same}"),
    },
    "One item": {
        "calibrate": ("likely label of each item", "calibrate {same} --save calibration.json"),
        "forecast-quality": ("how good these forecasts are", "score-sets {same}"),
        "score-sets": ("sets of likely labels", "escalate {same} --within 1"),
        "escalate": ("which items need a person", "label {out} {first} --out label.html"),
    },
    "Fairness": {
        "bias": ("favours length, family, layout", "report {same}"),
        "rater-effects": ("leniency and range of judges", "agreement {same}"),
        "position-bias": ("favours the first or second", "pairwise-agreement {first} LABELS.csv"),
        "length-controlled": ("win rate at equal length", "leaderboard {same}"),
    },
    "Plan": {
        "labels-needed": ("labels for a given precision", "choose {judge} N --out chosen.csv"),
        "plan": ("labels, items and prices", "choose {judge} N --out chosen.csv"),
    },
    "CI": {
        "gate": ("pass or fail a build", ""),
        "gate-judge": ("trust a judge or not", ""),
        "compare-runs": ("two runs, task by task", ""),
    },
}
# headings of options in the help of a command, in their order
OPTIONS, COLUMNS, STATISTICS, OUTPUT, RARE = "Options", "Your columns", "Statistics", "Output", "Rarely needed"
# options that name what a command writes
WRITTEN = (
    *("out", "store", "to_batch", "save", "accepted"),
    *("junit", "summary", "json", "save_baseline", "certificate_out", "tasks"),
)
# options that few runs need
_RARELY = (
    "weights strata conservative alternative null tuned_on_labels min_labels pool n_resamples rng constant missing "
    "convention coefficient epsilon min_reliability n_subsets sizes unlike ridge floor one_per_group n_permutations "
    "correction adjust n_strata max_unread max_bytes max_reply_bytes timeout deadline requests_per_minute "
    "tokens_per_minute noise_floor continuation keep shards workers top_logprobs allow_stale rho sd certificate words "
    "price_prompt test"
)
RARELY = frozenset(_RARELY.split())


def menu() -> str:
    """The commands, each group under its heading, all in the same two columns.

    Examples
    --------
    >>> print(menu().partition("CI:")[2])
    <BLANKLINE>
      gate                pass or fail a build
      gate-judge          trust a judge or not
      compare-runs        two runs, task by task
    """
    width = max(min(shutil.get_terminal_size().columns, 80) - 2, 50)
    lines = ["Usage: calib [OPTIONS] COMMAND [ARGS]...", "", *_wrapped(ABOUT, "  ", width)]
    lines += ["", "Options:", "  --version  Show the version.", "  --help     Show this message and exit."]
    for group, commands in MENU.items():
        lines += ["", f"{group}:"]
        for name, (text, _) in commands.items():
            lines += _wrapped(text, f"  {name.ljust(18)}  ", width)
    return "\n".join(lines)


def _wrapped(text: str, before: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, initial_indent=before, subsequent_indent=" " * len(before))
