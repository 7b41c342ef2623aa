"""What a judge's distribution over the labels says: its numbers, its temperature, its fit to draws."""

from calib.core.topic import ResultDisplay, Topic

TOPIC = Topic(
    home=__name__,
    results={
        "Temperature": ResultDisplay(),
        "Profile": ResultDisplay(
            heading="the judge's own page", plots=("profile",), pictures="profile_pictures",
            headline="profile_fact", conclusions="profile_sentences", blocks="blocks",
        ),
    },
    heads={
        "difference": "judge less people", "distance": "distance from people", "median_entropy": "median entropy",
        "median_mass": "median mass",
    },
)  # fmt: skip
