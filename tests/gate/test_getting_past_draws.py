"""What items share, and how labels were drawn: neither is left out of a verdict without a word."""

import numpy as np
import pandas as pd
import pytest

import calib

N, SCALE = 120, "1|2|3|4|5"


def file_of_a_build():
    """Outputs of twelve topics: those of a topic are alike, so that forty labels tell as much as twelve."""
    rng = np.random.default_rng(4)
    topic = np.arange(N) % 12
    truth = np.clip(np.round(rng.normal(3.4, 0.9, 12)[topic] + rng.normal(0, 0.3, N)), 1, 5)
    mine = pd.DataFrame({"id": np.arange(N), "topic": [f"t{k}" for k in topic], "judge": truth, "label": truth})
    mine["judge"] = np.clip(truth + rng.integers(-1, 2, N), 1, 5)
    mine.loc[rng.permutation(N)[40:], "label"] = np.nan
    return mine


MINE = file_of_a_build()
OPTIONS = {"judge": "judge", "label": "label", "scale": SCALE}


# --- groups -----------------------------------------------------------------------------------------------------------


def test_a_column_of_the_users_own_is_what_items_share():
    alone, by_topic = (calib.gate(MINE, threshold=2, groups=how, **OPTIONS).checks[0] for how in (None, "topic"))
    assert alone.outcome == by_topic.outcome == "pass"
    assert np.diff(by_topic.interval) > 1.3 * np.diff(alone.interval)
    with pytest.raises(ValueError, match="`groups` must be a column of the scores, but got 'tpic'; there are 'topic'"):
        calib.gate(MINE, threshold=2, groups="tpic", **OPTIONS)


def test_a_column_that_a_difference_does_not_use_is_refused():
    both = pd.concat([MINE.assign(model="old"), MINE.assign(model="new", judge=np.clip(MINE["judge"] + 1, 1, 5))])
    both = both.assign(question=both["id"], id=both["model"] + both["id"].astype(str))
    asked = {"system": "new", "baseline": "old", "margin": 0.3, **OPTIONS}
    calib.gate(both, groups="question", **asked)
    with pytest.raises(ValueError, match="`groups` must be left out with `baseline`"):
        calib.gate(both, groups="topic", **asked)
