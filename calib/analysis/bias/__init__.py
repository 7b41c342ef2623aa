"""Whether the judge is fair: what moves it beyond what people see, and how it rates beside their own spread."""

from calib.core.topic import ResultDisplay, Topic

TOPIC = Topic(
    home=__name__,
    results={
        "Instrumented": ResultDisplay(
            heading="what moves the judge beyond quality", plots=("bias",), headline="bias_fact",
            conclusions="bias_sentences", notes="bias_notes",
        ),
        "RaterEffects": ResultDisplay(
            heading="habits of the judge beside people's", plots=("rater_effects",), headline="rater_fact",
            conclusions="rater_sentences",
        ),
    },
    heads={
        "effect": "habit", "inside": "within people's range", "labels_low": "lowest person",
        "labels_high": "highest person", "feature": "what",
        "level": "which", "unit": "per", "judge_less_labels": "judge less people",
        "judge_less_labels_low": "its lower end", "judge_less_labels_high": "its upper end",
        "control": "controlled for people's mean",
        "difference_p_adjusted": "its p, adjusted", "labels_alone": "people alone", "slope": "judge's slope on quality",
        "first_stage_f": "first-stage F", "bracket_low": "bracket, lower", "bracket_high": "bracket, upper",
    },
    frame="estimates_in_words",
)  # fmt: skip
