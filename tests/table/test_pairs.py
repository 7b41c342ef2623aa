"""Items of two tables side by side: without a search where it is not needed, and the same as with one."""

import numpy as np
import pandas as pd
import pytest

from calib.table import check_scores, pairs
from calib.table.validate import ValidatedTable, by_criterion, slices


def scores(rng, items, **columns):
    rows = {"item": items, "criterion": "c", "rater": "r", "score": rng.normal(size=len(items))}
    return check_scores(pd.DataFrame(rows | columns))


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("theirs", ["all", "some", "none", "strangers"])
@pytest.mark.parametrize("group", ["", "mine", "theirs", "both"])
def test_items_are_aligned_as_an_outer_merge_does(monkeypatch, theirs, group, few):
    rng = np.random.default_rng(len(theirs) + few)
    n = 400 if few else 12
    mine = rng.permutation([f"i{k}" for k in range(n)])
    chosen = {"all": mine, "some": mine[:5], "none": mine[:0], "strangers": np.append(mine[:5], ["a", "z"])}[theirs]
    chosen = rng.permutation(chosen).astype(object)
    a = scores(rng, mine.astype(object), **({"group": mine} if group in ("mine", "both") else {}))
    b = scores(rng, chosen, **({"group": chosen} if group in ("theirs", "both") else {}))
    b["n_cannot_say"] = 1
    a = a.assign(system=pd.Series("s", index=a.index, dtype=object), chosen=True)
    found = pairs.aligned(a, b)
    monkeypatch.setattr(pairs, "_places_in", lambda *_: None)
    pd.testing.assert_frame_equal(found, pairs.aligned(a, b))


def test_an_item_that_comes_twice_is_left_to_the_merge(monkeypatch):
    rng = np.random.default_rng(0)
    a, b = (scores(rng, ["a", "b"]) for _ in range(2))
    twice = pd.concat([b, b], ignore_index=True)
    found = pairs.aligned(a, twice)
    monkeypatch.setattr(pairs, "_places_in", lambda *_: None)
    pd.testing.assert_frame_equal(found, pairs.aligned(a, twice))
    assert len(found) == 4


@pytest.mark.parametrize("temperature", [float("nan"), 0.0, 0.7])
def test_one_slice_is_found_without_groups(temperature):
    frame = scores(np.random.default_rng(1), ["b", "a"], temperature=temperature)
    keys = ["criterion", "rater", "prompt", "method", "temperature"]
    ((key, rows),) = frame.groupby(keys, observed=True, dropna=False, sort=False)
    ((label, same),) = slices(frame)
    assert repr(tuple(label.values())) == repr(key)
    assert list(map(type, label.values())) == list(map(type, key))
    pd.testing.assert_frame_equal(same, rows)
    assert [name for name, _ in by_criterion(frame)] == ["c"]
    assert [*slices(frame.iloc[:0])] == []


def test_a_slice_is_no_way_to_the_table():
    frame = scores(np.random.default_rng(1), ["b", "a"])
    ((_, rows),) = ValidatedTable(frame, "scores", "scores").slices()
    rows["score"] = 7.0
    assert (frame["score"] != 7.0).all()
