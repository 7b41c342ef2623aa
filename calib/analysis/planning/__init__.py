"""What to buy next: labels, and of what; items, prompts or draws."""

from calib.core.topic import ResultDisplay, Topic

TOPIC = Topic(
    home=__name__,
    results={
        "BudgetPlan": ResultDisplay(plots=("plan",), pictures="plan_pictures"),
        "LabelsNeeded": ResultDisplay(plots=("labels_needed",), table_alone=True),
    },
    heads={
        "n_labels_alone": "labels alone", "half_width": "half-width", "half_width_alone": "half-width alone",
        "step_cost": "price of the step", "per_money": "narrowing per money",
    },
)  # fmt: skip
