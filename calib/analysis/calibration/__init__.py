"""What one item's score means: the chance of each label that people would give it, sets, and when to ask them."""

from calib.core.topic import Shown, Topic

TOPIC = Topic(
    home=__name__,
    results={
        "CalibrationMap": Shown(
            name="what a score means",
            plots=("calibration",),
            apart=True,
            fact="map_fact",
            conclusions="map_sentences",
            speaks=True,
            adds=True,
        )
    },
    heads={"judge": "judge's score", "n_at": "labels there", "label_mean": "mean label there"},
)
