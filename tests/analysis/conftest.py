"""Recorded judges that several topics look at."""

import pytest


@pytest.fixture(scope="session")
def twenty_draws():
    """Draws (items x 20), human scores and levels of all items with 20 read replies, for 7 prompts x 4 criteria."""
    from calib.datasets import TOPICAL_CHAT_PROMPTS

    return [cell for prompt in TOPICAL_CHAT_PROMPTS for cell in cells_of(prompt)]


def cells_of(prompt):
    import numpy as np

    import calib

    items, ratings = calib.load_topical_chat(prompt, reading="chiang-lee")
    people = ratings["method"] == "human"
    human = calib.summarize(ratings[people], items)
    for criterion in ("naturalness", "coherence", "engagingness", "groundedness"):
        low, high = (0, 1) if criterion == "groundedness" else (1, 3)
        rows = ratings[~people & (ratings["criterion"] == criterion) & ratings["score"].between(low, high)]
        draws = rows.groupby("item", observed=True)["score"].agg(list)
        draws = draws[draws.map(len) == 20]
        wanted = human[human["criterion"] == criterion].set_index("item")["score"].reindex(draws.index)
        yield np.array(draws.tolist()), wanted.to_numpy(), np.arange(low, high + 1)
