"""The mean human score, from a few labels and the judge."""

from dataclasses import replace

from calib.core.topic import ResultDisplay, Topic

_MEANS = ResultDisplay(
    plots=("interval", "difference"), pictures="mean_pictures", headline="mean_fact", conclusions="mean_sentences",
    table_alone=True, notes="of_judge_alone", assumptions="assumed", side="where_it_lies",
)  # fmt: skip

TOPIC = Topic(
    home=__name__,
    results={"MeanEstimate": _MEANS, "DifferenceEstimate": replace(_MEANS, plots=("difference", "interval"))},
    heads={
        "lam": "judge's weight",
        "width_ratio": "width against labels alone",
        "effective_n": "effective labels",
        "n_labelled": "inputs labelled",
        "n_paired": "pairs",
        "n_a_only": "of the first alone",
        "n_b_only": "of the second alone",
    },
    frame="estimators_in_words",
)
