"""Whether the judge is fair: what moves it beyond what people see, and how it rates beside their own spread."""

from calib.core.topic import Shown, Topic

TOPIC = Topic(
    home=__name__,
    results={
        "Instrumented": Shown(
            name="what moves the judge beyond quality", plots=("bias",), fact="bias_fact", conclusions="bias_sentences",
            speaks=True, notes="bias_notes",
        ),
    },
    heads={
        "feature": "what", "level": "which", "unit": "per", "difference": "judge less people",
        "difference_low": "its lower end", "difference_high": "its upper end",
        "control": "controlled for people's mean",
        "difference_p_adjusted": "its p, adjusted", "people": "people alone", "slope": "judge's slope on quality",
        "first_stage_f": "first-stage F", "bracket_low": "bracket, lower", "bracket_high": "bracket, upper",
    },
    frame="estimates_in_words",
    commands=("bias",),
)  # fmt: skip
