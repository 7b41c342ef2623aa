"""The commands in groups, and the help of one with its options in groups."""

from __future__ import annotations

from typing import Any

import typer.core

# each group with its commands, and each of these in three to five words; the six that most users need come first
MENU = {
    "Start here": {
        "demo": "everything once, on sample data",
        "look": "how your files are read",
        "choose": "which items to label",
        "label": "a page to label with",
        "interval": "people's mean, with an interval",
        "report": "all results on one page",
    },
    "Judge": {
        "rate": "ask a judge about items",
        "pair-items": "pairs of outputs to compare",
        "read-log": "import another tool's log",
        "summarize": "one score for each item",
        "convergence": "how many draws are enough",
        "sensitivity": "how far prompts move scores",
        "drift": "has the judge changed since",
    },
    "People": {
        "read-labels": "join what annotators sent back",
        "reliability": "agreement among people, its ceiling",
        "data": "public data sets with labels",
    },
    "Trust": {
        "agreement": "correlation of judge and people",
        "difference": "compare systems by people's mean",
        "compare": "two judges against the labels",
        "rank-judges": "several judges against the labels",
        "pass-fail": "error rates of yes-or-no judges",
        "pairwise-agreement": "judge of pairs against people",
        "leaderboard": "rank systems from paired verdicts",
        "profile": "how a judge uses scales",
    },
    "One item": {
        "calibrate": "likely label of each item",
        "forecast-quality": "how good these forecasts are",
        "score-sets": "sets of likely labels",
        "escalate": "which items need a person",
    },
    "Fairness": {
        "bias": "favours length, family, layout",
        "rater-effects": "leniency and range of judges",
        "position-bias": "favours the first or second",
        "length-controlled": "win rate at equal length",
    },
    "Plan": {"labels-needed": "labels for a given precision", "plan": "labels, items and prices"},
    "CI": {"gate": "pass or fail a build", "gate-judge": "trust a judge or not"},
}
# headings of options in the help of a command, in their order
OPTIONS, COLUMNS, STATISTICS, OUTPUT, RARE = "Options", "Your columns", "Statistics", "Output", "Rarely needed"
# options that name what a command writes
WRITTEN = (
    *("out", "store", "to_batch", "save", "accepted"),
    *("junit", "summary", "json", "save_baseline", "certificate_out"),
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
        if any(param.name == "json" and not param.is_flag for param in self.params):
            after = [*args[1:], "--"]
            bare = [one == "--json" and word[:1] == "-" and word != "-" for one, word in zip(args, after, strict=True)]
            args = [word for one, alone in zip(args, bare, strict=True) for word in (one, *["-"] * alone)]
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
                formatter.write_dl([(name.ljust(18), text) for name, text in commands.items()])
