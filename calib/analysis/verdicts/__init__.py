"""A judge that says pass or fail: how often it is right, and what share passes in truth."""

from calib.core.topic import ResultDisplay, Topic

TOPIC = Topic(
    home=__name__,
    results={
        "PassFail": ResultDisplay(
            heading="pass and fail", plots=("confusion", "roc"), pictures="verdict_pictures", headline="pass_fact",
            conclusions="pass_sentences", notes="pass_notes",
        ),
    },
    frame="figures_in_words",
)  # fmt: skip
