"""Tables in parts: what may be given, and that scores of parts are those of one table, bit for bit."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest
from conftest_scale import equal

import calib
from calib.core.check import ArgumentError
from calib.scale.partitions import Partitions, is_partitioned
from calib.table import TableError


@pytest.fixture
def folder(ratings, cut, tmp_path):
    for k, part in enumerate(cut(ratings, 5)):
        calib.table.write(calib.table.check_ratings(part), tmp_path / "ratings" / f"part-{k}.parquet")
    return tmp_path / "ratings"


@pytest.mark.slow
@pytest.mark.parametrize(("number", "seed"), [(1, 0), (2, 1), (7, 2), (60, 3)])
def test_scores_of_parts_are_those_of_the_whole(ratings, items, cut, number, seed):
    equal(calib.summarize(cut(ratings, number, seed), items), calib.summarize(ratings, items))


@pytest.mark.slow
@pytest.mark.parametrize("pool", ["rater", "prompt"])
def test_a_pool_knows_who_is_asked_in_other_parts(ratings, cut, pool):
    some = ratings[(ratings["rater"] == "few") | ratings["item"].isin([f"i{k}" for k in range(50)])]
    if pool == "prompt":
        some = some.assign(prompt=some["rater"], rater="one")
    by_item = some.sort_values("item", key=lambda names: names.str[1:].astype(int), kind="stable")
    halves = [by_item.iloc[: len(by_item) // 2], by_item.iloc[len(by_item) // 2 :]]
    halves[1] = halves[1][~halves[1]["item"].isin(halves[0]["item"])]
    one = calib.summarize(pd.concat(halves), pool=pool)
    assert one["n_unread"].sum() > 0 or pool == "rater"
    equal(calib.summarize(halves, pool=pool), one)
    with pytest.raises(TableError, match="`pool` needs the raters of all parts first"):
        calib.summarize(iter(halves), pool=pool)


@pytest.mark.slow
def test_all_forms_of_partitions_are_one_table(ratings, items, folder, tmp_path):
    import pyarrow.dataset

    whole = calib.summarize(ratings, items)
    forms = [folder, str(folder), pyarrow.dataset.dataset(folder), sorted(folder.glob("*"))]
    for form in (*forms[:3], Partitions(forms[3]), Partitions(folder), iter(Partitions(folder))):
        equal(calib.summarize(form, items), whole)
    out = calib.summarize(folder, items, out=tmp_path / "scores")
    equal(out.frame(), whole)
    assert repr(out) == f"Partitions({str(tmp_path / 'scores')!r}: 5 files)"
    assert len(calib.summarize(folder, items, out=tmp_path / "scores")) == 5  # once more into the same
    assert is_partitioned(folder)
    assert not is_partitioned(folder / "part-0.parquet")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning:dask.*")
def test_a_dask_dataframe_is_partitions(ratings, folder):
    dask = pytest.importorskip("dask.dataframe")
    equal(calib.summarize(dask.read_parquet(folder)), calib.summarize(ratings))


def test_folders_by_a_value_are_asked_for_as_a_dataset(ratings, cut, tmp_path):
    import pyarrow.dataset

    for rater, rows in ratings.groupby("rater"):
        calib.table.write(rows.drop(columns="rater").head(300), tmp_path / f"rater={rater}" / "part.parquet")
    with pytest.raises(ArgumentError, match="partitioning='hive'"):
        calib.summarize(tmp_path)
    hive = pyarrow.dataset.dataset(tmp_path, partitioning="hive")
    assert set(Partitions(hive).part(0)["rater"]) == {"few"}


@pytest.mark.slow
def test_scores_are_the_same_where_threads_work(ratings, items, folder):
    with ThreadPoolExecutor(2) as executor:
        equal(calib.summarize(folder, items, executor=executor), calib.summarize(ratings, items))


@pytest.mark.slow
def test_items_may_come_in_parts_too(ratings, items, cut):
    beside = [items[items["item"].isin(part["item"])] for part in cut(ratings, 4)]
    equal(calib.summarize(cut(ratings, 4), beside), calib.summarize(ratings, items))
    with pytest.raises(TableError, match="as many parts, cut by the same items"):
        calib.summarize(cut(ratings, 4), beside[:3])


@pytest.mark.slow
def test_an_item_in_two_parts_is_refused(ratings, items, folder, tmp_path):
    again = calib.table.check_ratings(ratings[ratings["item"] == "i5"])
    calib.table.write(again, folder / "part-9.parquet")
    with pytest.raises(TableError, match="all rows of an item must stand in one part, but 'i5' is in parts"):
        calib.summarize(folder, items, out=tmp_path / "scores")
    assert not list((tmp_path / "scores").iterdir())  # nothing is left that could be taken for scores


def test_what_is_no_partitions_is_said(ratings, tmp_path):
    with pytest.raises(ArgumentError, match=r"without \.parquet files"):
        calib.summarize(tmp_path)
    with pytest.raises(TableError, match="`executor` goes with ratings in partitions"):
        calib.summarize(ratings, executor=ThreadPoolExecutor(1))
    with pytest.raises(TableError, match="`out` goes with ratings in partitions"):
        calib.summarize(ratings, out=tmp_path)
    with pytest.raises(ArgumentError, match="`executor` must have the `submit`"):
        calib.summarize([ratings], executor=3)
    with pytest.raises(ArgumentError, match="frames, or paths"):
        Partitions([ratings, 3])
    with pytest.raises(ArgumentError, match="folder of Parquet files, a dataset"):
        Partitions(3)


def test_scores_are_written_into_a_folder_of_their_own(ratings, folder):
    with pytest.raises(TableError, match="`out` must be a new folder"):
        calib.summarize(folder, out=folder)
    assert len(Partitions(folder)) == 5


@pytest.mark.slow
def test_orders_of_pairs_are_counted_over_all_parts(pairs, cut):
    with pytest.warns(UserWarning, match="one_order: 2 of 40 pairs"):
        calib.summarize(pairs)
    with pytest.warns(UserWarning, match="one_order: 2 of 40 pairs"):
        found = calib.summarize(cut(pairs, 6))
    with warnings.catch_warnings(action="ignore"):
        equal(found, calib.summarize(pairs))


WHOLE = "must be one table .*, but got partitions, which `summarize` and `interval` take"
OTHERS = {
    "agreement": (calib.agreement, f"`scores` {WHOLE}"),
    "agreement with people": (lambda parts, table: calib.agreement(table, parts), f"`labels` {WHOLE}"),
    "compare": (lambda parts, table: calib.compare(parts, table, table), f"`scores_a` {WHOLE}"),
    "compare with another": (lambda parts, table: calib.compare(table, parts, table), f"`scores_b` {WHOLE}"),
    "forecast_quality": (calib.forecast_quality, f"`scores` {WHOLE}"),
    "interval's labels": (lambda parts, table: calib.interval(parts, iter(parts)), f"`labels` {WHOLE}"),
    "labels_needed": (lambda parts, table: calib.labels_needed(parts, table, half_width=0.1), f"`scores` {WHOLE}"),
    "sensitivity": (lambda parts, _: calib.sensitivity(parts), f"`ratings` {WHOLE}"),
    "prompt_mean": (lambda parts, _: calib.prompt_mean(parts), f"`scores` {WHOLE}"),
}


@pytest.mark.parametrize(("verb", "says"), OTHERS.values(), ids=OTHERS)
def test_other_verbs_say_that_they_take_one_table(ratings, cut, verb, says):
    table = ratings[ratings["rater"] == "few"]
    for parts in (cut(table, 2), Partitions(cut(table, 2))):
        with pytest.raises(ArgumentError, match=says):
            verb(parts, table)


def test_a_function_that_names_calib_can_be_sent_to_another_process():
    cloudpickle = pytest.importorskip("cloudpickle")
    assert cloudpickle.loads(cloudpickle.dumps(lambda: calib.Partitions))() is Partitions
