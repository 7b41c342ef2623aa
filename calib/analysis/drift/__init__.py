"""Whether a judge still reads as it did: anchors read again."""

from calib.core.topic import ResultDisplay, Topic

TOPIC = Topic(
    home=__name__,
    results={
        "ReadingChange": ResultDisplay(
            heading="whether the judge changed", plots=("drift",), pictures="drift_pictures", headline="drift_fact",
            conclusions="drift_sentences", notes="drift_notes", blocks="drift_blocks",
        ),
    },
    heads={
        "smallest_shift": "shift seen 4 times in 5", "changed": "differ beyond noise", "differ": "now and then differ",
        "floor": "noise floor: two of then differ", "floor_gap": "their mean distance",
        "statistic": "energy distance", "p_shift": "p of a shift", "n_dropped": "items left out",
        "readings_then": "readings then", "readings_now": "readings now",
        "sessions_then": "sessions then", "sessions_now": "sessions now",
        "n_changed": "items changed (Holm)", "least_p": "least p of an item", "changed_low": "beyond noise, lower end",
        "changed_high": "beyond noise, upper end", "n_only_then": "items of then alone",
        "n_only_now": "items of now alone", "n_unread_then": "unread then", "n_unread_now": "unread now",
        "energy": "energy distance", "p_item": "p of this item", "p_holm": "p, Holm", "p_by": "p, Benjamini-Yekutieli",
    },
)  # fmt: skip
