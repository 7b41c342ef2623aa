"""Where a judge says which of two is better: position, agreement with people, boards of systems."""

from calib.core.topic import ResultDisplay, Topic

TOPIC = Topic(
    home=__name__,
    results={
        "PositionBias": ResultDisplay(
            heading="does the place decide", plots=("position_bias",), headline="position_fact",
            conclusions="position_sentences",
        ),
        "PairwiseAgreement": ResultDisplay(
            heading="the judge's verdicts on pairs beside people's", plots=("pairwise_agreement",),
            headline="pairwise_fact", conclusions="pairwise_sentences",
        ),
        "LengthControlled": ResultDisplay(
            heading="preferences at equal length", plots=("length_controlled",), headline="length_fact",
            conclusions="length_sentences",
        ),
        "BradleyTerry": ResultDisplay(
            heading="leaderboard", plots=("leaderboard",), headline="board_fact", conclusions="board_sentences",
        ),
    },
    heads={
        "consistency": "same in both orders", "consistency_low": "lower end", "consistency_high": "upper end",
        "n_first": "towards the first", "n_second": "towards the second", "n_ties": "ties",
        "n_ties_labels": "people's ties", "n_order_ties": "ties by order", "n_one_order": "one order only",
        "win_rate": "plain win rate", "win_share": "pairs won", "slope_low": "slope, lower end",
        "slope_high": "slope, upper end", "slope_p_value": "p of the slope", "spread": "sd of length differences",
        "win_low": "win rate, lower end", "win_high": "win rate, upper end", "rank_low": "best rank",
        "rank_high": "worst rank", "n_battles": "battles", "n_longer": "A is longer", "n_shorter": "A is shorter",
    },
)  # fmt: skip
