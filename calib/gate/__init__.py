"""Whether a build may go out: the human mean beside a threshold, and what a gate can tell."""

from calib.core.topic import ResultDisplay, Topic

TOPIC = Topic(
    home=__name__,
    results={
        "GateCheck": ResultDisplay(
            heading="a gate", plots=("gate",), headline="gate_fact", conclusions="gate_sentences",
            notes="gate_notes", assumptions="gate_assumptions",
        ),
        "GatePlan": ResultDisplay(
            heading="what a gate can tell", plots=("gate_plan",), pictures="plan_pictures",
            conclusions="plan_sentences",
        ),
        "JudgeCheck": ResultDisplay(
            heading="a gate for a judge", notes="gate_notes", assumptions="gate_assumptions",
        ),
    },
    heads={
        "threshold": "threshold", "outcome": "outcome", "p_below": "p of not below",
        "labels_to_decide": "labels that would decide", "evidence": "rests on", "reason": "why not known",
        "passes_at": "passes 4 times in 5 at", "fails_at": "fails 4 times in 5 at", "best_low": "best lower end",
        "error": "error", "power": "power",
    },
)  # fmt: skip
