"""Whether a build may go out: the human mean beside a line, and what a gate can tell."""

from calib.core.topic import Shown, Topic

TOPIC = Topic(
    home=__name__,
    results={
        "GateCheck": Shown(
            name="a gate", plots=("gate",), fact="gate_fact", conclusions="gate_sentences", speaks=True,
            notes="gate_notes", assumptions="gate_assumptions",
        ),
        "GatePlan": Shown(name="what a gate can tell", plots=("gate_plan",), apart=True, conclusions="plan_sentences",
                          speaks=True),
    },
    heads={
        "line": "line", "outcome": "outcome", "p_below": "p of not below",
        "labels_to_decide": "labels that would decide", "evidence": "rests on", "reason": "why not known",
        "passes_at": "passes 4 times in 5 at", "fails_at": "fails 4 times in 5 at", "best_low": "best lower end",
        "error": "error", "power": "power",
    },
    commands=("gate",),
)  # fmt: skip
