"""Cells as people write them, as numbers: what is forgiven and counted, what is refused and how it is said."""

import datetime as dt
import decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from calib.core.check import ArgumentError
from calib.inputs.cells import ORDERS, PAIRS, blank, decimal_commas, nature, preferred, valued
from calib.inputs.scales import guessed_scale
from calib.judge.scale import Scale
from calib.table import TableError, parse_scale, scale_words

NAN = float("nan")


def column(*cells):
    return pd.Series(cells, dtype=object, index=range(10, 10 + len(cells)))


def numbers(cells, scale="", **options):
    return valued(column(*cells), scale, column="mark", **options).numbers.tolist()


def refused(cells, scale="", kind=TableError) -> str:
    with pytest.raises(kind) as caught:
        valued(column(*cells), scale, column="mark", line=lambda row: f"line {row + 2}")
    assert str(caught.value).isprintable()
    return str(caught.value)


# --- blanks -----------------------------------------------------------------------------------------------------

BLANKS = ["", " ", "NA", "n/a", "N/A", "nan", "NaN", "null", "NULL", "None", "-", "#N/A", None, NAN, pd.NA, pd.NaT]


@pytest.mark.parametrize("cell", BLANKS)
@pytest.mark.parametrize(("others", "scale"), [((4, 5), ""), (("yes", "no"), ""), (("poor", "good"), "poor|good")])
def test_blanks_are_no_scores(cell, others, scale):
    cells = column(others[0], cell, others[1])
    found = valued(cells, scale, column="mark")
    assert found.numbers.isna().tolist() == blank(cells).tolist() == [False, True, False]
    assert found.numbers.index.equals(cells.index)


def test_a_word_of_the_scale_is_no_blank():
    found = valued(column("none", "some", "all", ""), "none|some|all", column="mark")
    assert found.numbers.tolist() == pytest.approx([0, 1, 2, NAN], nan_ok=True)


def test_nothing_but_blanks():
    found = valued(column("", None), column="mark")
    assert (len(found.numbers), found.scale, found.numbers.isna().all()) == (2, "", True)
    assert nature(column("", None)) == "blank"


# --- words of a scale that was said -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scale", "values", "text"),
    [
        ("poor|fair|good", [2, 0, 1], "0|1|2"),
        ("poor=1|fair=2|good=3", [3, 1, 2], "1|2|3"),
        ("good=3|fair=2|poor=1", [3, 1, 2], "1|2|3"),
        ("poor=-1|fair=0|good=0.5", [0.5, -1, 0], "-1|0|0.5"),
        ("poor=0|fair=0|good=1", [1, 0, 0], "0|1"),  # what is one to the user
    ],
)
def test_words_are_their_values(scale, values, text):
    found = valued(column("good", "poor", "fair"), scale, column="mark")
    assert found.numbers.tolist() == values
    assert found.scale == text
    assert set(found.words) == {"poor", "fair", "good"}
    parse_scale(found.scale)


@pytest.mark.parametrize("text", ["poor|fair|good", "poor=0|fair=1|good=2", "no=0|yes=1", "1|2|3"])
def test_a_scale_means_the_same_to_a_judge_and_in_files(text):
    scale = Scale.parse(text)
    assert dict(zip(scale.labels, scale.values, strict=True)) == dict(scale_words(text))
    assert valued(column(*scale.labels), text, column="mark").numbers.tolist() == list(scale.values)


def test_blanks_and_case_are_forgiven_and_counted():
    cells = column("Good", "good ", " GOOD", "good", "very  good", "Very Good")
    found = valued(cells, "good|very good", column="mark")
    assert found.numbers.tolist() == [0, 0, 0, 0, 1, 1]
    assert found.n_forgiven == 5
    assert found.words == ("good", "very good")


def test_words_that_case_tells_apart_are_refused():
    with pytest.raises(ArgumentError, match=r"`scale` must name words that differ in more than case, but got 'A\|a'"):
        valued(column("A"), "A|a", column="mark")


def test_another_word_names_the_nearest():
    assert refused(["good", "goood"], "poor|fair|good") == (
        "column `mark`, line 3: must be a word of the scale poor|fair|good, but got 'goood' (did you mean 'good'?)."
    )
    assert "did you mean" not in refused(["zebra"], "poor|fair|good")
    assert len(refused(["x" * 10_000], "poor|fair|good")) < 300
    assert "\\x1b" in refused(["\x1b[31m"], "poor|fair|good")


def test_numbers_of_a_scale_of_words_are_said():
    found = valued(column("poor", 2, "1"), "poor|fair|good", column="mark")
    assert found.numbers.tolist() == [0, 2, 1]
    assert found.notes == ("2 of 3 cells are numbers beside words, taken as values of poor|fair|good.",)
    assert numbers([1.5, 0], "poor|fair|good") == [1.5, 0]  # a judge's expectation
    said = refused(["2", 3], "poor|fair|good")
    assert said.startswith("column `mark`, line 3: must lie on the scale 0|1|2 (poor|fair|good), but got '3' (")


def test_words_that_are_numbers_have_the_values_that_were_said():
    assert numbers(["1", 2, 1.0, NAN], "1=0|2=1") == pytest.approx([0, 1, 0, NAN], nan_ok=True)


@pytest.mark.parametrize("scale", ["yes|no", "good|fair|poor", "Pass|Fail"])
def test_an_order_that_is_turned_round_is_warned_of(scale):
    first, *_, last = scale.split("|")
    (note,) = valued(column(first, last), scale, column="mark").notes
    turned = "|".join(scale.split("|")[::-1])
    assert note == f"the scale makes {last!r} the best; words stand worst first: was {turned!r} meant?"
    assert not valued(column(first, last), turned, column="mark").notes


@pytest.mark.parametrize("scale", ["poor=0|fair", "poor|2", "good", "a=|b=1", "=1|b=2", "lo=x|hi=2", "poor|fair|3=3"])
def test_a_scale_that_cannot_be_read(scale):
    said = refused(["poor"], scale)
    assert f"`scale` must read '1|2|3', '1..3', 'poor|fair|good' or 'no=0|yes=1', but got {scale!r}" in said


# --- words that are known ---------------------------------------------------------------------------------------

KNOWN = [
    (["yes", "no"], [1, 0]), (["Y", "N"], [1, 0]), (["TRUE", "FALSE"], [1, 0]), (["t", "f"], [1, 0]),
    (["pass", "fail"], [1, 0]), (["Passed", "Failed"], [1, 0]), (["correct", "incorrect"], [1, 0]),
    (["good", "bad"], [1, 0]), ([True, False], [1, 0]), ([1, 0], [1, 0]), (["1", "0"], [1, 0]),
    (["yes", "No", "YES", "true"], [1, 0, 1, 1]), (["yes", "yes"], [1, 1]),
    (["Ja", "nein"], [1, 0]), (["non", "oui"], [0, 1]), (["sí", "no"], [1, 0]),
    (["low", "High", "medium"], [0, 2, 1]), (["fair", "excellent"], [1, 3]), (["ok", "bad", "good"], [1, 0, 2]),
    (["Strongly Agree", "disagree", "neutral"], [4, 1, 2]), (["strongly_agree", "strongly-disagree"], [3, 0]),
    (["very bad", "very good", "ok"], [0, 4, 2]), (["no", "partially", "yes"], [0, 1, 2]),
]  # fmt: skip


@pytest.mark.parametrize(("cells", "values"), KNOWN, ids=[str(cells) for cells, _ in KNOWN])
def test_known_words_need_no_scale_and_are_said(cells, values):
    found = valued(column(*cells), column="mark")
    assert found.numbers.tolist() == values
    if all(isinstance(cell, str) for cell in cells) and not cells[0].isdigit():
        assert nature(column(*cells)) == "words"
        parse_scale(found.scale)
        (note,) = found.notes
        assert note.startswith("column `mark`: words are read as ")
        assert all(f"{cell} = {value}" in note for cell, value in list(zip(cells, values, strict=True))[:2])


def test_booleans_and_pass_or_fail_are_on_zero_and_one():
    for cells in ([True, None, False], ["pass", "pass"], ["n", ""]):
        assert valued(column(*cells), column="mark").scale == "0|1"


def test_another_spelling_of_a_known_word_is_counted():
    found = valued(column("Yes", "Yes", "yes", "No ", "no", "no"), column="mark")
    assert found.n_forgiven == 2
    assert found.words == ("no", "Yes")


def test_the_table_of_known_words_reads_in_one_way():
    for order in (*PAIRS, *ORDERS):
        assert len(set(order)) == len(order)
        if len(order) > 2:
            assert numbers(order) == list(range(len(order)))


def test_words_in_no_order_are_counted_and_the_option_is_said():
    said = refused(["gold", "gold", "silver", "bronze"])
    assert said == (
        "`scale` must name the words of column `mark`, worst first, such as 'gold|silver|bronze' in the right order, "
        "but says nothing of 'gold' (2 times), 'silver' (once), 'bronze' (once)."
    )
    with pytest.raises(ArgumentError):
        valued(column("gold"), column="mark")
    assert refused([f"w{k}" for k in range(50)]).endswith(", ....")


def test_known_words_on_a_scale_of_numbers():
    assert numbers(["yes", "no"], "0|1") == [1, 0]
    said = refused(["good", "poor"], "1|2|3|4|5")
    assert said.startswith("column `mark`, line 2: must be a number on the scale 1|2|3|4|5, but got 'good'")


# --- numbers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cells", "values", "forgiven"), [([4, 2.5, np.int64(3), np.float32(0.5),
    decimal.Decimal("1.5")], [4, 2.5, 3, 0.5, 1.5], 0), (["4", "4.0", "4.50", "1e-3", ".5", "+2", "-1"],
    [4, 4, 4.5, 0.001, 0.5, 2, -1], 0), (["4 ", " 3", "\xa02", "5"], [4, 3, 2, 5], 3),
    (["3,5", "4", "0,125"], [3.5, 4, 0.125], 2), (["4/5", "3 / 5", "2/5"], [4, 3, 2], 3),
    (["\u22121", "2"], [-1, 2], 0)])  # fmt: skip
def test_numbers_as_they_are_typed(cells, values, forgiven):
    found = valued(column(*cells), column="mark")
    assert found.numbers.tolist() == values
    assert found.n_forgiven == forgiven
    assert nature(column(*cells)) == "numbers"


@pytest.mark.parametrize(("scale", "values"), [("0..1", [0.8, 0.205]), ("0..100", [80, 20.5])])
def test_percentages_are_on_the_scale_that_was_said(scale, values):
    assert numbers(["80 %", "20.5%"], scale) == values
    assert "`scale` must say what 100 % are in column `mark`, '0..1' or '0..100', but says nothing." in refused(
        ["80 %"]
    )
    assert "'0..1' or '0..100', but got '1|2|3|4|5'" in refused(["80 %"], "1|2|3|4|5")


@pytest.mark.parametrize(
    "cells", [["1,234", "5"], ["12,345", "1"], ["3,5", "4.5"], ["4/5", "7/10"], ["4/5", "4"], ["80 %", "0.8"]]
)
def test_what_may_be_two_numbers_is_refused(cells):
    said = refused(cells)
    assert "must be a number, and read in one way" in said or "must say what 100 %" in said
    assert nature(column(*cells)) == "numbers"


def test_parts_of_another_scale_are_refused():
    assert numbers(["4/5"], "1|2|3|4|5") == [4]
    refused(["4/10"], "1|2|3|4|5")


@pytest.mark.parametrize("cell", ["1_000", "0x10", "inf", "\uff14", "1e400", float("inf"), "4 stars", [4], "1.2.3"])
def test_what_is_no_number_names_column_and_line(cell):
    said = refused([4, 5, 3, cell])
    assert said.startswith("column `mark`, line 5: must be a number")


def test_a_date_that_excel_made_of_a_fraction():
    assert "(Excel makes a date of 3/5)" in refused([4, 5, 2, dt.date(2026, 5, 3)])
    assert "(Excel makes a date of 3/5)" in refused([dt.date(2026, 5, 3), dt.date(2026, 5, 4)])  # of all cells, too


@pytest.mark.parametrize(("scale", "cells"), [("1|2|3|4|5", [5, 6]), ("0..1", [1, 1.01]), ("-1|0|1", [0, "-2"])])
def test_a_number_off_the_scale_names_column_line_value_and_scale(scale, cells):
    assert refused(cells, scale) == f"column `mark`, line 3: must lie on the scale {scale}, but got '{cells[1]}'."


def test_blanks_in_the_text_of_a_scale_do_not_matter():
    assert valued(column(3), "1 | 2 | 3", column="mark").scale == "1|2|3"
    assert valued(column("fair"), "poor | fair | good", column="mark").numbers.tolist() == [1]


@settings(deadline=None)
@given(st.lists(st.floats(-1e9, 1e9) | st.integers(-(10**9), 10**9) | st.none(), min_size=1, max_size=8))
def test_numbers_come_through_as_they_are_and_as_texts(cells):
    texts = ["" if cell is None else repr(cell) for cell in cells]
    wanted = pytest.approx([NAN if cell is None else float(cell) for cell in cells], nan_ok=True, abs=0, rel=1e-15)
    assert numbers(cells) == wanted
    assert numbers(texts) == wanted


@settings(deadline=None)
@given(st.lists(st.decimals(-1000, 1000, places=2), min_size=1, max_size=6))
def test_decimal_commas_are_points(values):
    texts = [str(value).replace(".", ",") for value in values]
    assert decimal_commas(texts) == [float(value) for value in values]


@settings(deadline=None)
@given(
    st.lists(st.one_of(st.text(max_size=6), st.floats(), st.integers(), st.booleans(), st.none()), max_size=6),
    st.sampled_from(["", "1|2|3", "0..1", "poor|fair|good", "no=0|yes=1"]),
)
def test_any_cells_are_read_or_refused(cells, scale):
    kind = nature(column(*cells))
    try:
        found = valued(column(*cells), scale, column="mark")
    except TableError as error:
        assert "mark" in str(error)
    else:
        assert len(found.numbers) == len(cells)
        assert kind != "texts" or scale in ("poor|fair|good", "no=0|yes=1")
        ends = parse_scale(found.scale)
        assert ends is None or found.numbers.dropna().between(ends.low, ends.high).all()


# --- preferences ------------------------------------------------------------------------------------------------

WINNERS = [(["A", "b", "Tie"], [1, 0, 0.5]), (["model_a", "model_b", "tie (bothbad)"], [1, 0, 0.5]),
    (["left", "Right ", "equal"], [1, 0, 0.5]), (["first", "second", "draw"], [1, 0, 0.5]),
    (["[[A]]", "[[B]]", "[[C]]"], [1, 0, 0.5]), (["Response A", "response-b", "neither"], [1, 0, 0.5]),
    ([1, 2, 0], [1, 0, 0.5]), (["1", "2", "tie"], [1, 0, 0.5]), ([1.0, 0.5, 0.0], [1, 0.5, 0]),
    (["A", None, "both"], [1, NAN, 0.5])]  # fmt: skip


@pytest.mark.parametrize(("cells", "values"), WINNERS, ids=[str(cells) for cells, _ in WINNERS])
def test_winners_of_pairs(cells, values):
    found = preferred(column(*cells), column="winner")
    assert found.numbers.tolist() == pytest.approx(values, nan_ok=True)
    assert found.scale == "0|0.5|1"
    assert nature(column(*cells)) == ("numbers" if all(isinstance(cell, int | float) for cell in cells) else "winners")


def test_names_of_the_two_win_for_all_rows_or_for_each():
    assert preferred(column("GPT-4o", "llama"), "gpt-4o", "llama", column="winner").numbers.tolist() == [1, 0]
    first, second = column("gpt", "llama", "gpt"), column("llama", "gpt", "qwen")
    found = preferred(column("gpt", "gpt", "tie"), first, second, column="winner")
    assert found.numbers.tolist() == [1, 0, 0.5]
    # a system called b that stands first is the first
    assert preferred(column("b"), "b", "a", column="winner").numbers.tolist() == [1]
    assert preferred(column("x", "model_b"), "x", column="winner").numbers.tolist() == [1, 0]


@pytest.mark.parametrize("cells", [["A", "C"], [1, 0], ["gpt"], [-1, 1], [1, 2, 3], ["yes"]])
def test_what_says_no_winner_is_refused(cells):
    with pytest.raises(
        TableError, match=r"^column `winner`, row \d: must say which of two won \(A, B or tie\), but got"
    ):
        preferred(column(*cells), column="winner")


def test_what_is_no_column_of_winners():
    assert nature(column("a", "a")) == "texts"
    assert nature(column("A", "B", "D")) == "texts"


# --- the scale of numbers ---------------------------------------------------------------------------------------

SCALES = [
    ([[0, 1]], "0|1"), ([[1, 1]], "0|1"), ([[0, 1], [0.2, 0.9]], "0|1"), ([[0.2, 0.9]], "0..1"),
    ([[-1, 0, 1]], "-1|0|1"), ([[-0.5, 0.5]], "-1..1"), ([[0, 2]], "0|1|2"), ([[1, 3, 2]], "1|2|3"),
    ([[1, 2]], "1|2|3|4|5"), ([[2, 3]], "1|2|3|4|5"), ([[1, 5]], "1|2|3|4|5"), ([[3, 4], [2.7, 4.4]], "1|2|3|4|5"),
    ([[3.2, 4.8]], "1..5"), ([[0, 3]], "0|1|2|3|4|5"), ([[1, 6]], "1|2|3|4|5|6|7"),
    ([[1, 9]], "1|2|3|4|5|6|7|8|9|10"), ([[0, 9]], "0|1|2|3|4|5|6|7|8|9|10"), ([[0, 11]], "0..100"),
    ([[55.5, 80.1]], "0..100"), ([[1, 101]], ""), ([[-2, 1]], ""), ([[]], ""), ([[NAN]], ""),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "scale"), SCALES)
def test_the_smallest_usual_scale(columns, scale):
    assert guessed_scale(*(pd.Series(values, dtype=float) for values in columns)) == scale


@given(st.lists(st.lists(st.floats(-2, 120), max_size=5), min_size=1, max_size=3))
def test_a_guessed_scale_holds_all_values(columns):
    found = parse_scale(guessed_scale(*(pd.Series(values, dtype=float) for values in columns)))
    values = [value for values in columns for value in values]
    assert found is None or all(found.low <= value <= found.high for value in values)
    assert found is not None or not values or min(values) < 0 or max(values) > 100
