"""Sets of labels on tables: what each item gets, cells, documents, how the labels were drawn, words and pictures."""

import numpy as np
import pandas as pd
import pytest

import calib
from calib.core.check import ArgumentError
from calib.table import TableError

pytestmark = pytest.mark.filterwarnings("ignore::calib.core.check.CalibWarning")


def tables(n=120, labelled=40, seed=0, **columns):
    """A judge's scores of n items in documents of two, and people's labels of some of them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(1, 6, n)
    x = np.clip(y + rng.integers(-1, 2, n), 1, 5)
    items = pd.DataFrame({"item": [f"i{i}" for i in range(n)], "group": [f"d{i // 2}" for i in range(n)]})
    items["system"] = np.where(np.arange(n) % 2, "a", "b")
    shared = {"criterion": "fluency", "prompt": "p", "scale": "1|2|3|4|5", "n": 1, "n_unread": 0}
    judge = items.assign(rater="gpt", method="sample", score=x.astype(float), **shared, **columns)
    people = items.assign(rater="human", method="human", score=y.astype(float), **shared)
    return judge, people.sample(labelled, random_state=1)


def test_each_item_has_its_set_and_its_label_where_there_is_one():
    judge, people = tables()
    found = calib.score_sets(judge, people).one()
    items = found.items
    assert items["item"].tolist() == judge["item"].tolist()
    assert items["score"].tolist() == judge["score"].tolist()
    assert items["label"].notna().sum() == found.n == 40
    assert ((items["low"] <= items["high"]) & (items["size"] == items["high"] - items["low"] + 1)).all()
    assert items["size"].mean() == pytest.approx(found.mean_size)
    labels = items.set_index("item")["label"].dropna()
    assert (labels == people.set_index("item")["score"].reindex(labels.index)).all()


def test_labels_that_share_documents_are_said_and_one_of_each_is_taken():
    judge, people = tables()
    documents = people["group"].nunique()
    found = calib.score_sets(judge, people).one()
    assert any(text.startswith(f"repeated_documents: 40 labels are of {documents}") for text in found.warnings)
    alone = calib.score_sets(judge, people, one_per_group=True).one()
    assert (alone.n, alone.n_groups) == (documents, documents)
    assert not any(text.startswith("repeated_documents") for text in alone.warnings)
    assert alone.items["label"].notna().sum() == 40
    others = [calib.score_sets(judge, people, one_per_group=True, rng=seed).one().p_values for seed in range(5)]
    assert any(not np.array_equal(other, alone.p_values) for other in others)
    without = calib.score_sets(judge, people, groups=None).one()
    assert without.warnings == () and without.n == 40
    with pytest.raises(ArgumentError, match="one_per_group"):
        calib.score_sets(judge, people, groups=None, one_per_group=True)


@pytest.mark.slow
def test_sets_hold_for_items_of_new_documents_with_one_label_each():
    """Documents of 10 items that are alike: one label per document is exact, all labels are not, which is said."""
    rng, inside = np.random.default_rng(0), {True: [], False: []}
    for _ in range(60):
        n_documents = 40
        document = np.repeat(np.arange(n_documents), 10)
        shift = rng.normal(0, 1.5, n_documents)[document]
        y = np.clip(np.round(3 + shift + rng.normal(0, 0.4, len(document))), 1, 5)
        frame = pd.DataFrame({"item": np.arange(len(y)), "group": document, "judge": rng.integers(1, 6, len(y))})
        few = document < 10
        frame["people"] = np.where(few, y, np.nan)
        for one, shares in inside.items():
            found = calib.score_sets(frame, judge="judge", label="people", scale="1|2|3|4|5", one_per_group=one).one()
            held = (found.items["low"] <= y) & (y <= found.items["high"])
            shares.append(held[~few].mean())
    error = np.std(inside[True]) / np.sqrt(60)
    assert np.mean(inside[True]) >= 0.9 - 3 * error
    assert np.mean(inside[False]) < np.mean(inside[True])


def test_a_column_or_the_score_has_quantiles_of_its_own():
    judge, people = tables(labelled=60)
    by_system = calib.score_sets(judge, people, by="system").one()
    assert sorted(cell.name for cell in by_system.cells) == ["a", "b"]
    assert sum(cell.n for cell in by_system.cells) == 60
    assert set(by_system.items["cell"]) == {"a", "b"}
    by_score = calib.score_sets(judge, people, by="score").one()
    assert {cell.name for cell in by_score.cells} <= {"1", "2", "3", "4", "5", "all others"}
    with pytest.raises(TableError, match="colour"):
        calib.score_sets(judge, people, by="colour")


def test_items_that_could_not_be_read_have_the_whole_scale():
    judge, people = tables()
    judge.loc[:4, "score"] = np.nan
    for by in (None, "score"):
        found = calib.score_sets(judge, people, by=by)
        assert found.labels[0]["n_unread"] == found.one().n_unread == 5
        assert (found.one().items.loc[:4, "size"] == 5).all()


@pytest.mark.parametrize("design", ["strata", "active"])
def test_labels_drawn_with_several_probabilities_are_refused(design):
    judge, people = tables()
    inclusion = np.where(np.arange(120) % 2, 0.2, 0.5)
    stratum = np.arange(120) % 2
    drawn = judge.assign(chosen=judge["item"].isin(people["item"]), inclusion=inclusion, stratum=stratum, design=design)
    with pytest.raises(TableError, match=f"design '{design}'"):
        calib.score_sets(drawn, people)
    assert len(calib.score_sets(drawn, people, by="stratum").one().cells) == 2
    same = drawn.assign(inclusion=1 / 3, design="simple")
    assert calib.score_sets(same, people).one().n == 40


def test_level_changes_the_sets_and_too_few_labels_are_said():
    judge, people = tables()
    sizes = [calib.score_sets(judge, people, level=level).one().mean_size for level in (0.5, 0.8, 0.95)]
    assert sizes == sorted(sizes) and sizes[0] < sizes[-1]
    few = calib.score_sets(judge, people.head(8)).one()
    assert few.mean_size == 5 and few.warnings[0].startswith("too_few_labels")
    with pytest.raises(ArgumentError, match="level"):
        calib.score_sets(judge, people, level=90)


def test_words_say_that_wide_sets_do_not_decide():
    judge, people = tables()
    assert "they are too wide to decide single items" in calib.conclusions(calib.score_sets(judge, people))[0]
    exact = calib.score_sets(judge.assign(score=3.0), people.assign(score=4.0))
    assert "too wide" not in calib.conclusions(exact)[0]
    assert exact.one().singles == 1.0


def test_several_judges_are_drawn_as_rows_and_one_as_bars():
    judge, people = tables()
    both = pd.concat([judge, judge.assign(rater="other")])
    found = calib.score_sets(both, people)
    assert len(found) == 2
    pytest.importorskip("matplotlib")
    assert calib.plot.score_sets(found).get_xlabel() == "share of the items, by how many labels their sets have"
    assert len(calib.plot.score_sets(found[0]).patches) == len(found[0].score)
