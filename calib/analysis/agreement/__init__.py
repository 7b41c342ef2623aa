"""How far raters agree: with people, with each other, against another judge."""

from calib.core.topic import ResultDisplay, Topic

TOPIC = Topic(
    home=__name__,
    results={
        "Agreement": ResultDisplay(
            plots=("agreement", "scatter", "forest", "heatmap", "ties"),
            pictures="agreement_pictures", headline="agreement_fact", conclusions="highest_agreement", table_alone=True,
        ),
        "Comparison": ResultDisplay(
            plots=("compare",), headline="comparison_fact", conclusions="compared", side="side_of_zero",
        ),
        "Ranking": ResultDisplay(plots=("ranking",), headline="ranking_fact"),
        "Reliability": ResultDisplay(
            plots=("reliability",), headline="reliability_fact", conclusions="reliability_sentences",
            interval="ceiling", side="against_one_person",
        ),
        "AltTest": ResultDisplay(conclusions="verdicts"),
    },
    heads={
        "n_skipped": "constant groups", "estimate_other": "other rule",
        "estimate_other_missing": "other rule for missing", "ties_x": "judge's ties",
        "ties_y": "ties of labels", "ties_first": "ties of first", "ties_second": "ties of second",
        "levels_x": "judge's levels", "levels_y": "levels of labels", "agreement_first": "agreement of first",
        "agreement_second": "agreement of second", "n_raters": "people", "winning_rate": "winning rate",
        "n_missing_first": "missing of first", "n_missing_second": "missing of second",
        "n_missing_alone": "missing of this judge", "unweighted_kappa": "unweighted kappa",
        "not_distinguishable": "not clearly different from",
    },
    frame="without_repeats",
)  # fmt: skip
