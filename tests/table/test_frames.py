"""Frames of polars, lazy too, and of Arrow wherever a table is accepted."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import calib
from calib.table.frames import pandas_of

ITEMS = [f"i{k}" for k in range(40)]
JUDGE = pd.DataFrame({"item": ITEMS, "criterion": "tone", "rater": "gpt-4o", "score": [1.0 + k % 5 for k in range(40)]})
PEOPLE = JUDGE.assign(rater="ann", score=[1.0 + k * 3 % 5 for k in range(40)], scale="1|2|3|4|5")
JUDGE = JUDGE.assign(method="sample", scale="1|2|3|4|5")
DRAWS = pd.concat([JUDGE.assign(draw=k, score=(JUDGE["score"] + k) % 5 + 1) for k in range(2)])
THINGS = pd.DataFrame({"item": ITEMS, "system": ["a", "b"] * 20, "output": "x"})
FORMS = {
    "polars": pl.from_pandas,
    "polars, lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}
USES = {
    "interval": lambda form: str(calib.interval(form(JUDGE), form(PEOPLE))),
    "gate": lambda form: str(calib.gate(form(JUDGE), form(PEOPLE), threshold=2)),
    "look": lambda form: str(calib.look(form(JUDGE), form(PEOPLE))),
    "reliability": lambda form: str(calib.convergence(form(DRAWS))),
    "summarize": lambda form: calib.summarize(form(DRAWS), form(THINGS)).to_csv(),
    "calibrate": lambda form: calib.calibrate(form(JUDGE), form(PEOPLE)).apply(form(JUDGE)).to_csv(),
    "checks": lambda form: calib.table.check_items(form(THINGS)).to_csv(),
    "parts": lambda form: str(calib.interval([form(JUDGE[:20]), form(JUDGE[20:])], form(PEOPLE))),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("use", USES)
def test_a_frame_of_another_library_is_a_table(use, form):
    assert USES[use](FORMS[form]) == USES[use](lambda frame: frame)


@pytest.mark.parametrize("form", FORMS)
def test_it_is_written_as_it_reads(form, tmp_path):
    path = calib.table.write(FORMS[form](THINGS), tmp_path / "items.csv")
    assert calib.table.read(path, "items")["item"].tolist() == ITEMS


def test_ids_that_are_whole_numbers_stay_whole_and_what_is_no_frame_stays_as_it_is():
    frame = pandas_of(pl.LazyFrame({"item": [2**60 + 1, None], "score": [3, None]}))
    assert frame["item"].tolist() == [2**60 + 1, None]
    assert frame["score"].iloc[0] == 3.0
    for thing in (3, "a.csv", pl.Series("a", [1]), None):
        assert pandas_of(thing) is thing
