"""Calibration: the chance of each label that people would give an item, sets of labels, and when to ask people."""

from calib.core.topic import ResultDisplay, Topic

TOPIC = Topic(
    home=__name__,
    results={
        "CalibrationMap": ResultDisplay(
            heading="what a score means", plots=("calibration",), pictures="map_pictures",
            headline="display_sentences.map_fact", conclusions="display_sentences.map_sentences",
            blocks="display_sentences.map_blocks",
        ),
        "ForecastQuality": ResultDisplay(
            heading="scores as forecasts of people", plots=("corp", "pit"), pictures="forecast_pictures",
            headline="display_sentences.forecast_fact", conclusions="display_sentences.forecast_sentences",
        ),
        "ScoreSets": ResultDisplay(
            heading="sets of labels", plots=("score_sets",), headline="display_sentences.sets_fact",
            conclusions="display_sentences.sets_sentences", notes="display_sentences.sets_notes",
        ),
        "AcceptThreshold": ResultDisplay(plots=("accept_risk",), pictures="accept_pictures", table_alone=True),
        "Escalation": ResultDisplay(
            heading="what the judge may decide alone", plots=("accept_risk",), pictures="accept_pictures",
            headline="display_sentences.accept_fact", conclusions="display_sentences.escalation_sentences",
            notes="display_sentences.escalation_notes",
        ),
    },
    heads={
        "judge": "judge's score", "n_at": "labels there",
        "skill_in_sample": "skill beside these labels' shares", "rps": "RPS", "crps": "CRPS", "mcb": "MCB",
        "dsc": "DSC", "unc": "UNC", "mcb_crossfitted": "MCB, cross-fitted", "dsc_crossfitted": "DSC, cross-fitted",
        "ece": "calibration error (ECE)", "log_score": "log score", "n_impossible": "labels without a chance",
        "score_to": "up to", "nearest": "nearest label", "size": "labels in the set", "n_items": "items",
        "filled": "was empty", "log_shares": "log score of the shares", "crps_shares": "CRPS of the shares",
        "accepted_share": "share accepted", "n_accepted": "accepted", "n_escalated": "for people",
        "n_counting": "independent ones", "whose": "whose verdict", "n_not_own": "not the judge's own",
        "constant": "one verdict for all", "constant_error": "its errors", "constant_bound": "its errors at most",
        "cost_of_labels": "cost of people for all", "confidence_level": "confidence level",
    },
    frame="display_sentences.what_readers_want",
)  # fmt: skip
