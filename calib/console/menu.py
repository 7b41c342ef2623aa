"""The commands in groups, and the help of one with its options in groups."""

from __future__ import annotations

from typing import Any

import typer.core

# The six commands that most users need come first: what each does in three to five words, and what makes sense after it
# where it does not say so itself. {same} is FILE, LABELS and the columns as they were typed, {first} the first file,
# {judge} that and its columns, {out} what was written, {out_results} and {out_ratings} a file in that folder
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
        "convergence": (
            "how many draws are enough",
            "rate ITEMS.csv --method sample --draws N --criterion NAME --model MODEL --out ratings.csv",
        ),
        "sensitivity": ("how far prompts move scores", "summarize {first} --out scores.csv"),
        "drift": ("has the judge changed since", "agreement {now} LABELS.csv"),
    },
    "People": {
        "read-labels": ("join what annotators sent back", ""),
        "reliability": ("agreement among people, its ceiling", "agreement SCORES.csv {first}"),
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


class GroupedHelp(typer.core.TyperCommand):
    """A command whose help has its options in groups."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Without a file behind it `--json` prints, also where it names one to write (of the gates)."""
        if any(param.name == "json" and not getattr(param, "is_flag", True) for param in self.params):
            pairs = zip(args, [*args[1:], "--"], strict=True)
            args = ["--json=-" if one == "--json" and word[:1] == "-" and word != "-" else one for one, word in pairs]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, then each group under its heading."""
        groups: dict[str, list[Any]] = {name: [] for name in ("Arguments", OPTIONS, COLUMNS, STATISTICS, OUTPUT, RARE)}
        for param in self.get_params(ctx):
            if (record := param.get_help_record(ctx)) is not None:
                groups[_heading(param)].append(record)
        for heading, records in groups.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


def _heading(param: Any) -> str:
    if param.param_type_name == "argument":
        return "Arguments"
    own = RARE if param.name in RARELY else OUTPUT if param.name in (*WRITTEN, "help") else OPTIONS
    panel = getattr(param, "rich_help_panel", None)
    return panel if panel == COLUMNS or (panel and own == OPTIONS) else own


class Menu(typer.core.TyperGroup):
    """The commands in their groups."""

    def format_commands(self, _: Any, formatter: Any) -> None:
        """Each group under its heading, all in the same two columns."""
        for group, commands in MENU.items():
            with formatter.section(group):
                formatter.write_dl([(name.ljust(18), text) for name, (text, _) in commands.items()])
