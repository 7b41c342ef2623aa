"""One folder for each question that a user asks."""

# their packages, in the order of reports
TOPICS = (
    "calib.analysis.agreement",
    "calib.analysis.distributions",
    "calib.analysis.draws",
    "calib.analysis.prompts",
    "calib.analysis.means",
    "calib.analysis.calibration",
    "calib.analysis.verdicts",
    "calib.analysis.pairs",
    "calib.analysis.bias",
    "calib.analysis.drift",
    "calib.analysis.planning",
    "calib.runs",
    "calib.gate",
)
