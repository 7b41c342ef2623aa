"""What one item's score means: the chance of each label that people would give it, sets, and when to ask them."""

from calib.core.topic import Shown, Topic

TOPIC = Topic(
    home=__name__,
    results={
        "AcceptThreshold": Shown(plots=("accept_risk",), apart=True),
        "Escalation": Shown(
            name="what the judge may decide alone",
            plots=("accept_risk",),
            apart=True,
            fact="accept_fact",
            conclusions="escalation_sentences",
            speaks=True,
            adds=True,
            notes="escalation_notes",
            repeats=("rater",),
        ),
    },
    heads={
        "accepted_share": "share accepted",
        "n_accepted": "accepted",
        "n_people": "for people",
        "n_labels": "labels",
        "cost_of_people": "cost of people for all",
        "at_best": "accepted at best",
        "first_labels": "labels for a first acceptance",
    },
)
