"""Tables in parts that are cut badly, lack something or hold odd texts: as one table, or refused."""

import dataclasses
import warnings

import numpy as np
import pandas as pd
import pytest

import calib
from calib.table import TableError

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::calib.core.check.CalibWarning"),
]  # `same` hears them

SCALE = "1|2|3|4|5"
ODD = ["b\n c", "\x01", "i1\x01", "e\u0301", "\u65e5", "q" * 300, "7", "7.0", "nan", "None", " ", "a|b", "=1+1"]
ODD += ["\U0001f600"]


def cut(frame, n):
    """Parts by a hash of the item."""
    part = pd.util.hash_array(frame["item"].astype(str).to_numpy(object), categorize=False) % np.uint64(n)
    return [frame[part == k].reset_index(drop=True) for k in range(n)]


def whole(parts):
    return pd.concat(parts, ignore_index=True)


def study(n=120, *, raters=("g",), continuous=False, seed=0):
    """Scores of judges, some missing, and labels of a quarter of the items."""
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for k in range(n):
        truth = rng.integers(1, 6)
        item = ODD[k // 5] if k % 5 == 0 and k // 5 < len(ODD) else f"i{k}"
        for criterion in ("c", "d"):
            for rater in raters:
                guess = np.clip(truth + rng.normal(), 1, 5)
                row = {"item": item, "criterion": criterion, "rater": rater, "method": "sample"}
                score = np.nan if rng.random() < 0.05 else guess if continuous else round(guess)
                own = {"group": f"g{k}", "system": f"s{k % 3}", "stratum": k // 4 % 2, "w": 1 + k % 5}
                mass = rng.random() if k % 20 == 0 else 1.0
                rows.append(row | own | {"score": score, "mass": mass, "scale": "1..5" if continuous else SCALE})
            if k % 4 == 0:
                label = {"item": item, "criterion": criterion, "rater": "people", "method": "human", "scale": SCALE}
                labels.append(label | {"score": np.nan if rng.random() < 0.1 else float(truth)})
    return pd.DataFrame(rows), pd.DataFrame(labels)


def heard(work):
    """What it gives, and what it warns of."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = work()
    return found, sorted({str(one.message) for one in said})


def numbers(result):
    """The fields of a result that are numbers or texts, as one looks at them; not the sample of a picture."""
    found = {}
    for field in dataclasses.fields(result):
        value = getattr(result, field.name)
        if field.name != "sample" and isinstance(value, bool | int | float | str | tuple | np.number):
            found[field.name] = value
    return found | {"shown": str(result)}


def same(work, parts, table=None):
    """A verb gives of parts what it gives of one table: labels and warnings equal, numbers within rounding."""
    (one, told), (other, also) = (
        heard(lambda: work(whole(parts) if table is None else table)),
        heard(lambda: work(parts)),
    )
    assert told == also
    assert len(one.labels) == len(other.labels)
    for mine, theirs in zip(one.labels, other.labels, strict=True):
        pd.testing.assert_series_equal(pd.Series(mine, dtype=object), pd.Series(theirs, dtype=object))
    for mine, theirs in zip(one, other, strict=True):
        expected, found = numbers(mine), numbers(theirs)
        assert expected.keys() == found.keys()
        for name, value in expected.items():
            if isinstance(value, float | np.floating):
                assert found[name] == pytest.approx(value, rel=1e-12, abs=1e-12, nan_ok=True), name
            elif name != "interval" and not (isinstance(value, tuple) and not all(isinstance(v, str) for v in value)):
                assert found[name] == value, name
    return other


def verbs(gold):
    return (
        lambda scores: calib.interval(scores, gold, min_labels=5),
        lambda scores: calib.interval(scores, gold, min_labels=5, confidence_level=0.8),
    )


def test_odd_ids_and_parts_without_rows():
    scores, gold = study()
    empty = scores.iloc[:0]
    parts = cut(scores, 3)
    for work in verbs(gold)[:2]:
        same(work, [empty, *parts[:1], empty, *parts[1:]])


def test_all_labelled_items_in_the_last_part():
    scores, gold = study()
    labelled = scores["item"].isin(gold["item"])
    for work in verbs(gold):
        same(work, [scores[~labelled], scores[labelled]])


def test_results_come_in_the_order_of_one_table():
    """A judge whose first items have no label comes first all the same."""
    scores, gold = study(raters=("g", "h"))
    labelled = scores["item"].isin(gold["item"])
    parts = [*cut(scores[~labelled & (scores["rater"] == "h")], 2), scores[labelled]]
    parts.append(scores[~labelled & (scores["rater"] == "g")].assign(item=lambda rows: "z" + rows["item"]))
    found = [same(work, parts) for work in verbs(gold)]
    assert found[0].labels[0]["rater"] == "h"
    same(lambda scores: calib.interval(scores, gold, by="system", min_labels=4), parts)


def test_an_item_that_is_called_as_rows_that_stand_for_others():
    """Rows that stand for many are called after an item, and no item must lose its name to them."""
    scores, gold = study()
    unlabelled = min(set(scores["item"]) - set(gold["item"]))
    named = {gold["item"].iloc[0]: f"{unlabelled}\x01", gold["item"].iloc[2]: f"{unlabelled}\x01\x01"}
    scores, gold = (frame.assign(item=frame["item"].replace(named)) for frame in (scores, gold))
    for work in verbs(gold)[1:]:
        same(work, cut(scores, 4))


OPTIONS = [{"by": "system", "min_labels": 4}, {"strata": "stratum"}, {"weights": "w"}, {"target": "benchmark"}]


@pytest.mark.parametrize("options", [*OPTIONS, {"estimator": "ppi++"}, {"groups": None}], ids=str)
def test_interval_options(options):
    scores, gold = study(continuous="estimator" in options)
    same(lambda table: calib.interval(table, gold, **options), cut(scores, 4))


def test_groups_that_repeat_across_parts_only():
    scores, gold = study()
    half = scores["item"].isin(set(scores["item"].unique()[::2]))
    first, second = scores[half], scores[~half]
    again = dict(zip(second["group"].unique(), first["group"].unique(), strict=True))
    parts = [first, second.assign(group=second["group"].map(again))]
    same(lambda table: calib.interval(table, gold), parts)
    with pytest.raises(ValueError, match="must be a folder or a list where groups repeat"):
        calib.interval(iter(parts), gold)


def test_labels_of_items_that_are_not_there():
    """What is said of them counts the items that have scores, not the rows that are kept."""
    scores, gold = study()
    strangers = gold.assign(item="zz" + gold["item"])
    same(verbs(whole([gold, strangers]))[0], cut(scores, 4))
    with pytest.raises(TableError, match="no item that the judge scored has a label"):
        calib.interval(cut(scores, 4), strangers)


def test_some_scores_of_no_calibration_are_counted_as_items():
    scores, gold = study()
    parts = cut(scores.assign(fold=scores["stratum"], calibration="abc"), 4)
    parts[1] = parts[1].drop(columns="calibration")
    found = same(lambda table: calib.interval(table, gold), parts)
    bare = int((parts[1].loc[parts[1]["criterion"] == "c", "score"].notna()).sum())
    assert any(f"{bare} scores by none" in text for text in found.select(criterion="c").one().warnings)


@pytest.mark.parametrize("kind", ["empty", "iterator"])
def test_nothing_to_read_is_said(kind):
    scores, gold = study()
    with pytest.raises(TableError, match=r"must share a criterion|one part at least"):
        calib.interval([scores.iloc[:0]] if kind == "empty" else iter([]), gold)


def test_a_column_that_one_part_lacks_is_refused():
    scores, gold = study()
    for column, options in (("w", {"weights": "w"}), ("group", {}), ("system", {"by": "system"})):
        parts = cut(scores, 4)
        parts[2] = parts[2].drop(columns=column)
        with pytest.raises(TableError, match=column):
            calib.interval(parts, gold, **options)


# --- ratings -----------------------------------------------------------------------------------------------------


def ratings_of(kind, seed=3):
    """Ratings with all that can happen to a reply."""
    rng = np.random.default_rng(seed)
    rows = []
    for item in [*ODD, *(f"i{k}" for k in range(30))]:
        for rater, prompt in (("g", "p"), ("g", "q"), ("h", "p")):
            if rng.random() < 0.3:
                continue
            row = {"item": item, "criterion": "c", "rater": rater, "prompt": prompt, "scale": SCALE, "method": kind}
            if kind in ("logprob", "chain"):
                p = rng.dirichlet(np.ones(5)) * rng.uniform(0.2, 1)
                draws = range(2 if kind == "chain" else 1)
                rows += [row | {"score": s + 1.0, "weight": w, "draw": d} for d in draws for s, w in enumerate(p)]
                status = str(rng.choice(["ok", "ambiguous", "unseen", "off_scale"]))
                if status != "ok":
                    ends = {"low": 1.0, "high": 5.0} if status != "off_scale" else {}
                    rows.append(row | {"weight": 1 - p.sum(), "status": status, "draw": 0} | ends)
            else:
                bad = rng.random() < 0.2
                status = ("cannot_say" if kind == "human" else "unread") if bad else "ok"
                score = np.nan if bad else float(rng.integers(1, 6))
                rows += [row | {"score": score, "status": status, "draw": d} for d in range(1 + (kind == "sample"))]
    found = pd.DataFrame(rows)
    return found.assign(status=found["status"].where(found["status"].notna(), "ok")) if "status" in found else found


@pytest.mark.parametrize("pool", [None, "rater", "prompt"])
@pytest.mark.parametrize("kind", ["logprob", "sample", "chain", "human"])
def test_summaries_are_those_of_one_table(kind, pool, tmp_path):
    parts = cut(ratings_of(kind), 4)
    expected = calib.summarize(whole(parts), pool=pool)
    pd.testing.assert_frame_equal(calib.summarize([parts[0].iloc[:0], *parts], pool=pool), expected)
    kept = calib.summarize(parts, pool=pool, out=tmp_path / "scores").frame()
    pd.testing.assert_frame_equal(calib.table.check_scores(kept), expected)


@pytest.mark.parametrize("kind", ["logprob", "sample", "chain"])
def test_ratings_in_parts(kind):
    ratings = ratings_of(kind)
    items = [*ODD, *(f"i{k}" for k in range(0, 30, 2))]
    values = np.random.default_rng(0).integers(1, 6, len(items)).astype(float)
    gold = pd.DataFrame({"item": items, "score": values}).assign(criterion="c", rater="people", method="human")
    for work in verbs(gold.assign(scale=SCALE)):
        same(work, cut(ratings, 3))
