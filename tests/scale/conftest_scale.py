"""A judge whose scores, groups and systems are made up once, and the same cut into parts."""

import numpy as np
import pandas as pd
import pytest

SCALE = "1|2|3|4|5"


def equal(found, wanted):
    """Two tables with the same rows, bit for bit, in whatever order and whatever their categories are."""
    sides = []
    for table in (found, wanted):
        plain = table.astype(dict.fromkeys(table.select_dtypes(["category", "str", "object"]), object))
        order = [name for name in ("item", "rater", "prompt", "run", "draw", "score", "status") if name in plain]
        sides.append(plain.sort_values(order, ignore_index=True, key=lambda values: values.astype(str)))
    pd.testing.assert_frame_equal(sides[0], sides[1][list(sides[0])], check_exact=True)


@pytest.fixture(scope="session")
def ratings():
    """Token probabilities of two judges on 600 items: some unseen mass, some unread, one with many levels."""
    rng, rows = np.random.default_rng(5), []
    for k in range(600):
        for rater, levels in (("few", np.arange(1.0, 6.0)), ("many", np.round(np.linspace(1, 5, 4 + 8 * (k % 2)), 3))):
            weights = rng.dirichlet(np.ones(len(levels) + 1))
            rows += [(f"i{k}", rater, s, w, "ok", np.nan, np.nan) for s, w in zip(levels, weights, strict=False)]
            if k % 3:
                rows += [(f"i{k}", rater, np.nan, weights[-1] * rng.uniform(), "unseen", 1.0, 5.0)]
                rows += [(f"i{k}", rater, np.nan, weights[-1] / 9, "ambiguous", 2.0, 3.0)]
    columns = ["item", "rater", "score", "weight", "status", "low", "high"]
    table = pd.DataFrame(rows, columns=columns).assign(criterion="fluency", prompt="p", method="logprob", scale=SCALE)
    unread = table["item"].isin(["i7", "i88"])
    whole = {"score": np.nan, "status": "unread", "weight": 1.0, "low": np.nan, "high": np.nan}
    return pd.concat([table[~unread], table[unread].drop_duplicates(["item", "rater"]).assign(**whole)])


@pytest.fixture(scope="session")
def items():
    number = np.arange(600)
    names = {"item": "i", "group": "g", "system": "s"}
    values = {"item": number, "group": number // 12, "system": number % 12}
    return pd.DataFrame({name: [f"{names[name]}{v}" for v in each] for name, each in values.items()})


@pytest.fixture
def pairs():
    """Pairs of outputs in both orders, of two of which one order could not be read."""
    rows = [(f"i{k}", first, float(k % 2), "ok") for k in range(40) for first in "ab"]
    pairs = pd.DataFrame(rows, columns=["item", "shown_first", "score", "status"])
    pairs = pairs.assign(criterion="better", rater="j", scale="0|1", method="sample", draw=pairs["shown_first"] == "b")
    lost = pairs["item"].isin(["i3", "i30"]) & (pairs["shown_first"] == "b")
    pairs.loc[lost, ["score", "status"]] = [np.nan, "unread"]
    return pairs


@pytest.fixture(scope="session")
def cut():
    """A table in parts by item, in a random way."""

    def parts(table, number, seed=0):
        names = pd.Series(sorted(table["item"].astype(str).unique()))
        place = dict(zip(names, np.random.default_rng(seed).integers(number, size=len(names)), strict=True))
        owner = table["item"].astype(str).map(place).astype(int).to_numpy()
        return [table[owner == k] for k in range(number) if (owner == k).any()]

    return parts
