"""One folder for each question that a user asks."""

# in the order of the command line
TOPICS = (
    "agreement",
    "distributions",
    "draws",
    "prompts",
    "means",
    "calibration",
    "verdicts",
    "pairs",
    "bias",
    "drift",
    "planning",
    "gate",
)
