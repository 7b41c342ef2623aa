"""How far raters agree: with people, with each other, against another judge."""

from calib.core.topic import Shown, Topic

TOPIC = Topic(
    home=__name__,
    results={
        "Agreement": Shown(
            plots=("agreement", "scatter", "forest", "heatmap", "ties"),
            pictures="agreement_pictures", fact="agreement_fact", conclusions="highest_agreement",
        ),
        "Comparison": Shown(
            plots=("compare",), conclusions="compared", speaks=True, adds=True, repeats=("rater", "versus"),
            fact="comparison_fact", light="told_apart_from_zero",
        ),
        "Ranking": Shown(plots=("ranking",), fact="ranking_fact", speaks=True),
        "Reliability": Shown(
            plots=("reliability",), fact="reliability_fact", speaks=True, interval_of="ceiling",
            light="against_one_person",
        ),
        "AltTest": Shown(conclusions="verdicts", speaks=True),
    },
    heads={
        "n_skipped": "constant groups", "estimate_other": "other rule",
        "estimate_other_missing": "other rule for missing", "ties_human": "people's ties", "ties_x": "judge's ties",
        "ties_y": "human ties", "ties_first": "ties of first", "ties_second": "ties of second",
        "levels_x": "judge's levels", "levels_y": "human levels", "agreement_first": "agreement of first",
        "agreement_second": "agreement of second", "n_raters": "people", "winning_rate": "winning rate",
        "n_missing_first": "missing of first", "n_missing_second": "missing of second",
        "n_missing_alone": "missing of this judge", "unweighted_kappa": "unweighted kappa",
        "not_distinguishable": "not told apart from",
    },
    frame="told_once",
    commands=("agree", "compare", "reliability"),
)  # fmt: skip
