"""What a clumsy or hostile user does to labelling, and what then must not happen."""

import openpyxl
import pandas as pd
import pytest
from page_data import page_data

import calib
from calib.core.check import ArgumentError
from calib.labelling.record import ANSWERS

IDS = [f"i{k:02d}" for k in range(12)]
ASKED = {"criteria": "tone", "scale": "1|2|3|4|5"}


def texts(**columns):
    """Items with a text of its own in each of these columns."""
    return pd.DataFrame({"item": IDS} | {name: [f"{start} {k}." for k in range(12)] for name, start in columns.items()})


ITEMS = texts(source="Source", output="Output")


@pytest.fixture
def refused(tmp_path):
    """The message of what is refused, which leaves no page."""

    def of(items=ITEMS, **options):
        options = ASKED | {"path": tmp_path / "label.html"} | options
        with pytest.raises(ValueError) as caught:
            calib.label(items, IDS, **options)
        assert not (tmp_path / "label.html").exists()
        return str(caught.value)

    return of


@pytest.mark.parametrize(
    "columns",
    [
        {"question": "Vad", "svar": "Detta"},
        {"prompt": "What", "response_a": "This", "response_b": "That"},
        {"source": "Long text", "reference": "What is wanted", "my_model": "What came"},
    ],
)
def test_a_page_that_would_show_no_output_is_refused(columns, refused, tmp_path):
    items = texts(**columns)
    assert "`inputs` must name the columns that people read, or `pair` two outputs" in refused(items)
    pages = calib.label(items, IDS, inputs=list(columns), path=tmp_path / "label.html", **ASKED)
    assert pages.parts == tuple(columns)
    assert calib.label(items, IDS, inputs=list(columns)[:1], path=tmp_path / "label.html", **ASKED).parts


def test_an_output_of_numbers_is_not_left_out_in_silence(refused, tmp_path):
    items = texts(question="How much is it").assign(answer=range(12))
    assert "'question' alone would be seen: the frame has 'item', 'question', 'answer'" in refused(items)
    path = tmp_path / "label.html"
    calib.label(items, IDS, inputs=["question", "answer"], path=path, **ASKED)
    assert {shown[1] for _, _, shown in page_data(path)["items"]} == {str(k) for k in range(12)}


def test_an_id_that_no_export_could_bring_back_is_refused(refused):
    items = ITEMS.assign(item=[f"{item}\0" for item in IDS])
    with pytest.raises(ValueError, match="holds half a character or NUL, which no file of labels can"):
        calib.label(items, None, path="never.html", **ASKED)


def test_a_scale_may_have_words_for_its_ends_alone(tmp_path):
    path = tmp_path / "label.html"
    calib.label(ITEMS, IDS, criteria="tone", scale={1: "poor", 2: "", 3: " ", 4: "good"}, path=path)
    (asked,) = page_data(path)["criteria"]
    assert asked["scale"] == "1|2|3|4"
    assert asked["levels"] == [[1.0, "poor"], [2.0, ""], [3.0, ""], [4.0, "good"]]


@pytest.mark.parametrize("scale", ["1: poor|2: good", ["1 poor", "2 fair", "3 good"], "1-2|3-5"])
def test_words_with_figures_of_their_own_do_not_get_other_values(scale, refused, tmp_path):
    assert "the value of each word where one begins with a figure" in refused(scale=scale)
    path = tmp_path / "label.html"
    calib.label(ITEMS, IDS, criteria="tone", scale="1: poor=1|2: good=2", path=path)
    assert page_data(path)["criteria"][0]["levels"] == [[1.0, "1: poor"], [2.0, "2: good"]]


def answered(pages, path, scores="314213524312"):
    """What the first annotator exports."""
    asked = zip(page_data(pages.paths[0])["items"], scores, strict=True)
    rows = [
        (item, "tone", "ann", "1|2|3|4|5", "human", score, "ok", 9, f"2026-03-01T09:00:{k:02d}Z", "", k, swapped,
         pages.page)
        for k, ((item, swapped, _), score) in enumerate(asked, start=1)
    ]  # fmt: skip
    pd.DataFrame(rows, columns=ANSWERS).to_csv(path, index=False)
    return path


def test_what_is_no_path_is_no_file_of_labels(tmp_path):
    labels = answered(calib.label(ITEMS, IDS, path=tmp_path / "l.html", **ASKED), tmp_path / "labels.csv")
    for given in (5, pd.read_csv(labels), [labels, 5]):
        with pytest.raises(ArgumentError, match="`files` must be paths of files of labels, but got"):
            calib.read_labels(given)


def test_what_systems_and_spreadsheets_leave_in_a_folder_is_passed_over(tmp_path):
    pages = calib.label(ITEMS, IDS, path=tmp_path / "l.html", **ASKED)
    back = tmp_path / "back"
    back.mkdir()
    answered(pages, back / "labels.csv")
    for name in ("._labels.csv", "~$labels.xlsx"):
        (back / name).write_bytes(b"\0\1")
    assert len(calib.read_labels(back).ratings) == 12


def test_a_drawing_without_scores_is_refused_in_its_own_name(tmp_path):
    labels = answered(calib.label(ITEMS, IDS, path=tmp_path / "l.html", **ASKED), tmp_path / "labels.csv")
    ITEMS.to_csv(tmp_path / "items.csv", index=False)
    for drawn in (ITEMS, tmp_path / "items.csv"):
        with pytest.raises(ArgumentError, match="`drawn` must be what `choose` returned"):
            calib.read_labels(labels, drawn=drawn)


def test_words_of_a_page_are_of_no_other_form(refused, tmp_path):
    told = refused(words={"start": "Los"}, to="xlsx", path=tmp_path / "label.xlsx")
    assert told == "`words` must be left out unless `to` is 'html', but that is 'xlsx'."


def test_what_is_read_is_not_written_over(refused, tmp_path):
    source = tmp_path / "items.json"
    ITEMS.to_json(source, orient="records")
    before = source.read_bytes()
    (tmp_path / "link.json").hardlink_to(source)
    for path in (source, tmp_path / "link.json"):
        assert "must lead to other files than those that are read" in refused(source, to="label-studio", path=path)
    sheet = tmp_path / "label-ann.xlsx"
    ITEMS.to_excel(sheet, index=False)
    path = tmp_path / "label.xlsx"
    assert "those that are read" in refused(sheet, to="xlsx", annotators=["ann", "bo"], path=path)
    assert source.read_bytes() == before
    assert openpyxl.load_workbook(sheet).active["A2"].value == IDS[0]


@pytest.mark.slow
@pytest.mark.parametrize("answer", [3, "a slip"])
def test_a_workbook_that_was_filled_in_is_not_written_over(answer, refused, tmp_path):
    path = tmp_path / "label.xlsx"
    for _ in range(2):  # as long as nobody filled it in
        calib.label(ITEMS, IDS, to="xlsx", path=path, **ASKED)
    book = openpyxl.load_workbook(path)
    heads = [cell.value for cell in book["labels"][1]]
    book["labels"].cell(3, heads.index("c1") + 1).value = answer
    book.save(path)
    before = path.read_bytes()
    assert "must not lead to a workbook that somebody may have filled in" in refused(to="xlsx", path=path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("annotators", [None, ["ann", "bo"]])
def test_colons_in_names_take_nothing_from_what_a_notebook_shows(annotators, tmp_path):
    asked = {"criteria": ["tone: polite", "tone: kind"], "scale": "0|1", "annotators": annotators}
    shown = calib.label(ITEMS, IDS, path=tmp_path / "a: b.html", **asked)._repr_html_()
    assert "</a>: 12 items to label (tone: polite, tone: kind)" in shown


def test_one_item_is_one(tmp_path):
    assert str(calib.label(ITEMS, IDS[:1], path=tmp_path / "l.html", **ASKED)).endswith("1 item to label (tone)")


@pytest.mark.slow
def test_ids_whose_zeros_a_spreadsheet_took_are_known_for_that(tmp_path):
    items = ITEMS.assign(item=[f"{k:04d}" for k in range(12)])
    judged = items[["item"]].assign(criterion="tone", rater="judge", scale="1|2|3|4|5", score=[1.0, 3.0, 5.0, 2.0] * 3)
    drawn = calib.choose(judged, 12, rng=1)
    path = tmp_path / "label.html"
    labels = answered(calib.label(items, drawn, path=path), tmp_path / "labels.csv")
    pd.read_csv(labels).to_csv(labels, index=False)
    with pytest.raises(ArgumentError, match="a spreadsheet took the zeros in front of their ids"):
        calib.read_labels(labels, drawn=drawn)
    with pytest.raises(ArgumentError, match="`labelled` must be labels of these items"):
        calib.label(items, drawn, labelled=labels, path=path)


def test_labels_of_other_items_of_the_pool_leave_nothing_out(tmp_path):
    done = pd.DataFrame({"item": IDS[:4], "criterion": "tone"})
    assert calib.label(ITEMS, IDS[4:], labelled=done, path=tmp_path / "l.html", **ASKED).n_items == 8


def test_places_of_rows_are_no_ids_where_rows_have_some(tmp_path):
    path = tmp_path / "l.html"
    with pytest.raises(ArgumentError, match="`drawn` must hold ids of the items"):
        calib.label(ITEMS, [0, 1, 2], path=path, **ASKED)
    assert calib.label(ITEMS.drop(columns="item"), [0, 1, 2], path=path, **ASKED).n_items == 3


@pytest.mark.parametrize(("to", "name"), [("xlsx", "l.xlsx"), ("label-studio", "l.xml")])
def test_every_form_says_what_a_number_of_a_pair_means(to, name, tmp_path):
    items = texts(source="Source", a="This", b="That")
    path = tmp_path / ("l.xlsx" if to == "xlsx" else "l.json")
    calib.label(items, IDS, criteria="better", pair=["a", "b"], to=to, path=path)
    if to == "xlsx":
        cells = openpyxl.load_workbook(path)["calib"].iter_rows(values_only=True)
        told = "\n".join(str(cell) for row in cells for cell in row)
    else:
        told = (tmp_path / name).read_text("utf-8")
    for words in ("0 second is better", "0.5 equal", "1 first is better"):
        assert words in told
