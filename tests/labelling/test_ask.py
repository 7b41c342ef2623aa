"""`label`: what is asked, of which items, of whom, in which order, and what nobody is to see."""

import json
import re
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from page_data import page_data, page_ids
from scipy import stats

import calib
from calib.core.check import CalibWarning
from calib.labelling.pool import file_names, sheets_of
from calib.labelling.record import Record

FIVE = "1|2|3|4|5"


def texts(n=40, systems=("gpt-4o", "llama-3")):
    """Items whose ids tell the system."""
    rows = [
        (f"{systems[k % 2]}/{k:03d}", systems[k % 2], f"Source {k // 2}.", f"Summary number {k}.") for k in range(n)
    ]
    return pd.DataFrame(rows, columns=["item", "system", "source", "output"])


def scores(items, *, criterion="coherence", scale=FIVE, seed=0):
    rng = np.random.default_rng(seed)
    return items[["item", "system"]].assign(
        criterion=criterion, rater="secret-judge", scale=scale, score=rng.integers(1, 6, len(items)).astype(float)
    )


ITEMS = texts()
DRAWN = calib.choose(scores(ITEMS), 20, rng=1)
CHOSEN = set(DRAWN.loc[DRAWN["chosen"], "item"].astype(str))


@pytest.fixture
def page(tmp_path):
    """Make pages; the first one's data, or that of all."""

    def make(items=ITEMS, drawn=DRAWN, **options):
        return calib.label(items, drawn, path=tmp_path / "label.html", **options)

    return make


@pytest.fixture
def refused(tmp_path):
    """The message of what is refused, which leaves no file."""

    def of(items=ITEMS, drawn=DRAWN, **options):
        with pytest.raises((ValueError, OSError)) as caught:
            calib.label(items, drawn, **{"path": tmp_path / "out" / "label.html"} | options)
        assert not (tmp_path / "out").exists()
        return str(caught.value)

    return of


# --- what is asked ------------------------------------------------------------------------------------------------


def test_the_call_of_the_docs(page):
    with pytest.warns(CalibWarning, match="other_criterion"):
        pages = page(criteria={"tone": "Is it kind?"}, scale="poor|fair|good", rater="Ann", guideline="Be fair.")
    data = page_data(pages.paths[0])
    assert [one["name"] for one in data["criteria"]] == ["tone"]
    assert data["criteria"][0]["meaning"] == "Is it kind?"
    assert data["criteria"][0]["levels"] == [[0, "poor"], [1, "fair"], [2, "good"]]
    assert (data["annotator"], data["page"]) == ("Ann", pages.page)
    assert "Be fair." in pages.paths[0].read_text("utf-8")
    assert set(page_ids(pages.paths[0])) == CHOSEN
    assert (pages.n_items, pages.n_labels, pages.criteria) == (20, 20, ("tone",))


def test_criterion_and_scale_are_those_of_the_drawing(page):
    found = page_data(page().paths[0])["criteria"]
    assert [(one["name"], one["meaning"], one["scale"]) for one in found] == [("coherence", "", FIVE)]
    assert found[0]["levels"] == [[k, ""] for k in range(1, 6)]


def test_people_are_asked_what_a_judge_of_calibs_was_asked(page):
    prompt = calib.geval_prompt("coherence")
    told = page_data(page(drawn=DRAWN.assign(prompt=prompt.id)).paths[0])["criteria"][0]["meaning"]
    assert told in prompt.template
    own = calib.Prompt.from_criteria("coherence", "Does it hang together?")
    assert page_data(page(drawn=DRAWN.assign(prompt=own.id)).paths[0])["criteria"][0]["meaning"] == ""


SCALES = [
    ("1|2|3|4|5", FIVE, [""] * 5),
    ("very poor=1|poor=2|3=3|good=4|very good=5", FIVE, ["very poor", "poor", "", "good", "very good"]),
    ("poor|so|fair|good|great", FIVE, ["poor", "so", "fair", "good", "great"]),  # the judge's values
    ("5|4|3|2|1", FIVE, [""] * 5),
    ([1, 2, 3, 4, 5], FIVE, [""] * 5),
    (range(1, 6), FIVE, [""] * 5),
    (calib.Scale(), FIVE, [""] * 5),
    ({1: "poor", 5: "good"}, "1|5", ["poor", "good"]),
    ({"poor": 1, "good": 5}, "1|5", ["poor", "good"]),
    ({"coherence": "bad=1|good=5"}, "1|5", ["bad", "good"]),
    ("1..5", "1..5", []),
    ("1.0..5.0", "1..5", []),
    ("1|1.5|2|5", "1|1.5|2|5", [""] * 4),
]


@pytest.mark.parametrize(("scale", "written", "words"), SCALES)
def test_a_scale_in_any_form(page, scale, written, words):
    found = page_data(page(scale=scale).paths[0])["criteria"][0]
    assert found["scale"] == written
    assert [word for _, word in found["levels"]] == words


@pytest.mark.parametrize(
    ("scale", "text"),
    [
        ("", "must read '1|2|3|4|5', 'poor|fair|good', 'no=0|yes=1' or '0..100'"),
        ("good", "got 'good'"),
        ("poor|poor|good", "each word and value once"),
        ("1|1|2", "each word and value once"),
        ("a=1|b=1", "each word and value once"),
        ("5..1", "got '5..1'"),
        ("0..x", "got '0..x'"),
        ("1|zwei|3", "got '1|zwei|3'"),
        ({"tone": FIVE, "coherence": FIVE}, "must be of the criteria 'coherence', but got one of 'tone'"),
        ({"poor": "x"}, "must be values with their words"),
        ({1: "a", 2: "a"}, "must read"),
        (7, "got 7"),
        (float("nan"), "got nan"),
    ],
)
def test_a_scale_that_is_none(refused, scale, text):
    said = refused(scale=scale)
    assert said.startswith("`scale` must")
    assert text in said


def test_another_scale_than_the_judges_is_said(page):
    with pytest.warns(
        CalibWarning, match=r"other_scale: people are asked for coherence on 0\|1, and the judge's .* 1\|2"
    ):
        page(scale="no=0|yes=1")


def test_another_criterion_than_the_judges_is_said(page):
    with pytest.warns(
        CalibWarning, match="other_criterion: the judge scored 'coherence', and people are asked for 'tone'"
    ):
        page(criteria="tone", scale=FIVE)


@pytest.mark.parametrize(
    "criteria",
    ["", "  ", [], {}, ["tone", "tone "], [""], [3], {"tone": 3}, {3: "x"}, "a\nb", "a\u202eb", pd.DataFrame()],
)
def test_criteria_that_are_none(refused, criteria):
    assert refused(criteria=criteria, scale=FIVE).startswith("`criteria` must be")


def test_several_criteria_each_on_its_scale(page):
    with pytest.warns(CalibWarning, match="other_criterion"):
        pages = page(criteria=["tone", "length"], scale={"tone": "bad|good", "length": "0..100"})
    assert [one["scale"] for one in page_data(pages.paths[0])["criteria"]] == ["0|1", "0..100"]
    assert pages.n_labels == 40


def test_what_is_not_known_must_be_said(refused):
    assert refused(drawn=sorted(CHOSEN)).startswith(
        "`criteria` must say what is asked of each item, such as 'coherence'"
    )
    said = refused(drawn=sorted(CHOSEN), criteria="tone")
    assert said.startswith("`scale` must say on which scale people label 'tone', such as `scale` '1|2|3|4|5'")
    said = refused(drawn=DRAWN.assign(scale=""))
    assert "came without; the judge" in said and said.endswith("and no scale is stated.")
    assert "the judge scored 'coherence'" in refused(criteria="tone")


# --- of which items -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_was_drawn_in_any_form(page, tmp_path):
    chosen = DRAWN[DRAWN["chosen"]]
    calib.table.write(DRAWN, tmp_path / "chosen.csv")
    calib.table.write(DRAWN, tmp_path / "chosen.jsonl")
    chosen[["item", "score"]].to_excel(tmp_path / "filtered.xlsx", index=False)
    upper = DRAWN.assign(chosen=DRAWN["chosen"].map({True: "TRUE", False: "FALSE"}))
    names = chosen["item"].astype(str)
    files = (tmp_path / "chosen.csv", str(tmp_path / "chosen.jsonl"), tmp_path / "filtered.xlsx")
    frames = (DRAWN, upper, chosen.drop(columns="chosen"), chosen["item"], [{"item": name} for name in names])
    for drawn in (*files, *frames, list(names), names, names.to_numpy(), set(names)):
        found = page_ids(page(drawn=drawn, criteria="coherence", scale=FIVE).paths[0])
        assert set(found) == CHOSEN, type(drawn)


def test_without_a_drawing_all_items_are_asked(page):
    pages = page(drawn=None, criteria="coherence", scale=FIVE)
    assert set(page_ids(pages.paths[0])) == set(ITEMS["item"])


def test_a_drawing_that_has_the_texts_itself_is_enough(page):
    whole = DRAWN.merge(ITEMS[["item", "source", "output"]], on="item")
    found = page_data(page(items=whole, drawn=None).paths[0])
    assert {item for item, *_ in found["items"]} == CHOSEN
    assert found["criteria"][0]["name"] == "coherence"


def own_results():
    """One row per output, as a user has it; ids with blanks, numbers, no names of calib's."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "question_id": [k // 2 for k in range(60)],
            "model": ["gpt-4o", "llama"] * 30,
            "question": [f"What is {k // 2}?" for k in range(60)],
            "context": [f"Facts {k // 2}" for k in range(60)],
            "answer": [f"It is {k}." for k in range(60)],
            "gpt4_score": rng.integers(1, 6, 60),
            "human": [None] * 60,
        }
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_file_of_ones_own_with_ids_that_repeat_over_systems(page, tmp_path):
    path = tmp_path / "results.csv"
    own_results().to_csv(path, index=False)
    drawn = calib.choose(path, 12, rng=3, scale="1|2|3|4|5", judge="gpt4_score")
    found = page_data(page(path, drawn).paths[0])
    assert {item for item, *_ in found["items"]} == set(drawn.loc[drawn["chosen"], "item"].astype(str))
    assert found["parts"] == ["question", "context", "answer"]
    by_id = {
        f"{row.question_id}/{row.model}": [row.question, row.context, row.answer] for row in own_results().itertuples()
    }
    assert all(texts == by_id[item] for item, _, texts in found["items"])
    assert "gpt4" not in page(path, drawn).paths[0].read_text("utf-8")


@pytest.mark.filterwarnings("ignore")
def test_a_file_without_ids_goes_by_its_rows(page, tmp_path):
    path = tmp_path / "results.csv"
    own_results().drop(columns=["question_id", "model", "context"]).drop_duplicates("question").to_csv(
        path, index=False
    )
    drawn = calib.choose(path, 8, rng=3, scale="1|2|3|4|5", judge="gpt4_score")
    found = page_data(page(path, drawn).paths[0])
    rows = pd.read_csv(path)
    assert len(found["items"]) == 8
    assert all(told[0] == rows["question"][int(item)] for item, _, told in found["items"])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_columns_are_called_as_they_were_when_items_were_chosen(page, tmp_path):
    path = tmp_path / "results.csv"
    frame = own_results().assign(code=[f"c{k}" for k in range(60)])
    frame.to_csv(path, index=False)
    drawn = calib.choose(path, 12, rng=3, scale="1|2|3|4|5", judge="gpt4_score", item="code")
    for said in ({"item": "code"}, {}):  # that column has most of what was drawn
        found = page_data(page(path, drawn, **said).paths[0])
        assert {item for item, *_ in found["items"]} == set(drawn.loc[drawn["chosen"], "item"].astype(str))


@pytest.mark.slow
def test_columns_that_are_shown(page, refused):
    wide = ITEMS.assign(reference="A reference.", note="A note.", split="test")
    assert page_data(page(wide).paths[0])["parts"] == ["source", "output", "reference"]
    assert page_data(page(wide, inputs=("note", "output")).paths[0])["parts"] == ["note", "output"]
    renamed = ITEMS.rename(columns={"output": "gpt4_answer"})
    assert page_data(page(renamed, inputs=("source", "gpt4_answer")).paths[0])["parts"] == ["source", "output"]
    # the name of a data set, or of a system, is no text
    named = ITEMS.assign(source=ITEMS["system"])
    assert page_data(page(named).paths[0])["parts"] == ["output"]
    assert "`inputs` must be columns of the items, but got 'outptu': the frame has 'item'" in refused(inputs=["outptu"])
    said = refused(ITEMS.rename(columns={"source": "s1", "output": "s2"}))
    assert said == (
        "`inputs` must name the columns of texts that people read, but none has a name such as source, question, "
        "answer or output: the frame has 'item', 'system', 's1', 's2'."
    )


def test_cells_that_are_no_texts(page):
    frame = pd.DataFrame({"item": ["a", "b", "c"], "source": [[{"role": "user", "content": "Hé"}], "x", None]})
    frame["output"] = [3.0, "", "y"]
    found = {
        item: told for item, _, told in page_data(page(frame, None, criteria="tone", scale="0|1").paths[0])["items"]
    }
    assert found["b"] == ["x", ""]
    assert found["c"] == ["", "y"]
    assert json.loads(found["a"][0]) == [{"role": "user", "content": "Hé"}]
    assert found["a"][1] == "3"


def test_items_that_are_wrong_are_named(refused, tmp_path):
    assert "`drawn` must hold ids of the items, but 1 of 2 are not in the frame, such as 'x'" in refused(
        drawn=["gpt-4o/000", "x"], criteria="tone", scale=FIVE
    )
    none = DRAWN.assign(chosen=False)
    assert refused(drawn=none) == "`drawn` must have chosen items, but the frame has none where `chosen` is true."
    odd = DRAWN.assign(chosen="perhaps")
    assert "column `chosen`, row 0: must be true or false, but got 'perhaps'" in refused(drawn=odd)
    assert "`drawn` must hold ids, but got True and False" in refused(drawn=DRAWN["chosen"])
    assert "`drawn` must hold ids, but got True and False" in refused(drawn=np.array([True, False]))
    assert refused(drawn=[]) == "`drawn` must hold ids, but is empty."
    assert refused(drawn=["a", " a", "b"]) == "`drawn` must hold each id once, but has 'a' again."
    assert "must be a table, a path, or ids" in refused(drawn=[None, "a"])
    empty = ITEMS.assign(source="", output=["  ", *ITEMS["output"][1:]])
    assert "row 0: 'gpt-4o/000' has no text to show (output)" in refused(
        empty, ["gpt-4o/000"], criteria="t", scale="0|1"
    )
    twice = pd.concat([ITEMS, ITEMS.head(1).assign(output="Another.")])
    assert "row 40: 'gpt-4o/000' has other texts than in row 0" in refused(twice)
    path = tmp_path / "items.csv"
    twice.drop(columns="system").to_csv(path, index=False)
    assert "items.csv: line 42: 'gpt-4o/000' has other texts than in line 2" in refused(path)
    assert "there is no file" in refused(tmp_path / "nowhere.csv")
    assert "there is no file" in refused(drawn=tmp_path / "nowhere.csv")
    assert refused("not a path at all\n" * 30).startswith("`items`: there is no file")
    half = [{"item": "a\ud800", "output": "x"}, {"item": "b", "output": "y"}]
    assert "the id 'a\\ud800' holds half a character" in refused(half, None, criteria="t", scale="0|1")


def test_rows_that_repeat_are_one_item(page):
    twice = pd.concat([ITEMS, ITEMS])
    assert sorted(page_ids(page(twice).paths[0])) == sorted(CHOSEN)


def test_swapped_or_without_texts_leads_on(refused):
    assert refused(DRAWN, ITEMS) == (
        "`drawn` must be the table that has the column `chosen`, but the frame has it, which came as `items`: the two "
        "may be swapped."
    )
    assert refused(scores(ITEMS), ITEMS) == (
        "`items` must hold the texts that people read, but the frame has none and the other one has 'source', "
        "'output': the two may be swapped."
    )
    assert refused(DRAWN, None) == (
        "`items` must hold the texts that people read: give the file of the texts, and this one as `drawn`, but the "
        "frame is a table of scores."
    )
    assert "give the file of the texts" in refused(scores(ITEMS), DRAWN)


@pytest.mark.slow
def test_ids_of_any_kind(page):
    frame = pd.DataFrame({"id": [7, 8, 9], "output": ["a", "b", "c"]})
    table = pd.DataFrame({"id": [7.0, 9.0], "x": [1, 2]})
    for drawn in ([7, 9], iter([7, 9]), range(7, 10, 2), np.array([7, 9]), ["7", "9"], table):
        assert sorted(page_ids(page(frame, drawn, criteria="t", scale="0|1").paths[0])) == ["7", "9"]
    padded = pd.DataFrame({"id": ["007", "é ", "=1+1"], "output": ["a", "b", "c"]})
    found = page_ids(page(padded, ["007", "e\u0301", "=1+1"], criteria="t", scale="0|1").paths[0])
    assert sorted(found) == ["007", "=1+1", "é"]


def test_an_id_stays_as_it_was_drawn(page):
    # labels are matched with a table of calib's, in which blanks count
    spaced = scores(ITEMS.assign(item=" " + ITEMS["item"]))
    drawn = calib.choose(spaced, 5, rng=1)
    found = page_ids(page(ITEMS, drawn).paths[0])
    assert set(found) == set(drawn.loc[drawn["chosen"], "item"].astype(str))
    assert all(item.startswith(" ") for item in found)


# --- blind --------------------------------------------------------------------------------------------------------


def test_nothing_is_seen_of_ids_systems_scores_and_judges(page):
    wide = ITEMS.assign(gpt4_reason="too long", judge_score=4.25, model="secret-model")
    for path in page(wide, annotators=["a", "b"], overlap=4).paths:
        text = path.read_text("utf-8")
        for hidden in ("gpt-4o", "llama-3", "secret", "too long", "4.25", "gpt4_reason", "judge_score"):
            assert hidden not in text


@pytest.mark.slow
def test_order_is_by_seed_annotator_and_page(page):
    def order(**options):
        return [page_ids(path) for path in page(**options).paths]

    (plain,), (again,), (other,) = order(), order(), order(seed=1)
    assert plain == again
    assert plain != other
    ann, bo = order(annotators=["ann", "bo"])
    assert sorted(ann) == sorted(bo) == sorted(plain)
    assert len({tuple(one) for one in (plain, ann, bo)}) == 3
    # the order of rows says nothing
    assert order(items=ITEMS[::-1], drawn=DRAWN[::-1]) == [plain]


@pytest.mark.slow
def test_orders_are_spread_evenly():
    some = [Record(str(k), ("x",)) for k in range(5)]
    first = Counter(
        sheets_of(some, [""], strata={}, seed=seed, page="p", paired=False)[0].records[0].item for seed in range(2000)
    )
    assert stats.chisquare([first[str(k)] for k in range(5)]).pvalue > 0.001


# --- of whom ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "overlap"), [(20, 10), (20, 0), (20, 20), (19, 3), (20, 1)])
def test_items_in_common_and_shares(page, n, overlap):
    drawn = calib.choose(scores(ITEMS), n, rng=2)
    pages = page(drawn=drawn, annotators=["a", "b", "c"], overlap=overlap)
    sets = [set(page_ids(path)) for path in pages.paths]
    assert len(set.intersection(*sets)) == overlap
    assert set.union(*sets) == set(drawn.loc[drawn["chosen"], "item"].astype(str))
    counts = Counter(item for one in sets for item in one)
    assert sorted(counts.values()) == [1] * (n - overlap) + [3] * overlap
    assert max(map(len, sets)) - min(map(len, sets)) <= 1
    assert (pages.overlap, pages.n_items, pages.n_labels) == (overlap, n, sum(map(len, sets)))
    assert [path.name for path in pages.paths] == ["label-a.html", "label-b.html", "label-c.html"]
    assert [page_data(path)["annotator"] for path in pages.paths] == ["a", "b", "c"]
    assert {page_data(path)["page"] for path in pages.paths} == {pages.page}


def test_shares_are_even_in_each_stratum(page):
    drawn = calib.choose(scores(texts(120), seed=4), 61, design="strata", rng=2)
    stratum = dict(zip(drawn["item"].astype(str), drawn["stratum"], strict=True))
    pages = page(texts(120), drawn, annotators=["a", "b", "c"], overlap=12)
    counts = [Counter(stratum[item] for item in page_ids(path)) for path in pages.paths]
    for k in set(stratum.values()):
        held = [count[k] for count in counts]
        assert max(held) - min(held) <= 1
    common = set.intersection(*(set(page_ids(path)) for path in pages.paths))
    all_of = Counter(stratum[item] for item in drawn.loc[drawn["chosen"], "item"].astype(str))
    for k, size in Counter(stratum[item] for item in common).items():
        assert abs(size - 12 * all_of[k] / 61) < 1


def test_each_item_is_common_as_often_as_any_other():
    some = [Record(str(k), ("x",)) for k in range(12)]
    times: Counter = Counter()
    for seed in range(600):
        sheets = sheets_of(some, ["a", "b"], overlap=4, strata={"3": 1, "4": 1}, seed=seed, page="p", paired=False)
        times.update({one.item for one in sheets[0].records} & {one.item for one in sheets[1].records})
    assert sum(times.values()) == 2400
    chance = stats.binom(600, 4 / 12)
    assert all(chance.cdf(times[str(k)]) > 1e-4 and chance.sf(times[str(k)]) > 1e-4 for k in range(12))


def test_all_annotators_get_all_items_unless_said(page):
    pages = page(annotators=["a", "b"])
    assert [len(page_ids(path)) for path in pages.paths] == [20, 20]
    assert pages.overlap == 20
    (one,) = page(annotators=["a"]).paths
    assert one.name == "label.html"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"annotators": ["a", "b"], "overlap": 21}, "`overlap` must be at most the number of items to label (20), but"),
        ({"annotators": ["a", "b"], "overlap": -1}, "`overlap` must be a whole number of 0 or more"),
        ({"annotators": ["a", "b"], "overlap": 1.5}, "`overlap` must be a whole number"),
        ({"annotators": ["a", "b"], "overlap": True}, "`overlap` must be"),
        ({"annotators": ["a"], "overlap": 3}, "needs `annotators`, two or more, but there is 'a' alone"),
        ({"overlap": 3}, "`overlap` needs `annotators`, two or more"),
        ({"annotators": ["a", "b"], "rater": "c"}, "`rater` must be left out where `annotators` are given"),
        ({"annotators": []}, "`annotators` must be different names, one at least, but got none."),
        ({"annotators": ["a", " a "]}, "`annotators` must be different names, one at least, but got 'a' twice"),
        ({"annotators": ["a", ""]}, "`annotators` must be a name of characters that can be printed, but got ''"),
        ({"annotators": ["a", "b\x1b[31m"]}, "`annotators` must be a name of characters that can be printed"),
        ({"annotators": ["a", "b\u202e"]}, "`annotators` must be a name of characters that can be printed"),
        ({"annotators": ["a", 3]}, "`annotators` must be texts"),
        ({"annotators": "ann"}, "`annotators` must be texts or None, but got 'ann'"),
        ({"rater": " "}, "`rater` must be a name of characters that can be printed, but got ' '"),
        (
            {"annotators": [f"n{k}" for k in range(30)], "overlap": 0},
            "`annotators` must be at most the number of items",
        ),
        ({"to": "pdf"}, "`to` must be one of 'html', 'xlsx', 'label-studio', but got 'pdf'"),
        ({"seed": "x"}, "`seed` must be a whole number"),
        ({"guideline": Path("guide.pdf")}, "`guideline` must be a text, or a file that ends in .md, .markdown, .txt"),
        ({"guideline": "no.md"}, "`guideline` must be a text, or a file, but there is no file 'no.md'."),
        ({"inputs": "output"}, "`inputs` must be texts or None, but got 'output'"),
        ({"pair": ["output"]}, "`pair` must be two columns of outputs"),
        ({"pair": ["output", "output"]}, "`pair` must be two columns of outputs"),
        ({"item": "nix"}, "`item` must be a column, but got 'nix'"),
        ({"system": "nix"}, "`system` must be a column, but got 'nix'"),
    ],
)
def test_what_is_refused(refused, options, text):
    assert text in refused(**options)


@pytest.mark.slow
def test_names_become_names_of_files(page, tmp_path):
    names = ["../x", "x", "X", "Ann Lee", "ann-lee", "?", "...", "a" * 100, "a" * 100 + "b", "Zoë", "con", "a/b\\c:d"]
    pages = page(annotators=names)
    files = [path.name for path in pages.paths]
    assert {path.parent for path in pages.paths} == {tmp_path}
    assert len({name.casefold() for name in files}) == len(names)
    assert all(re.fullmatch(r"label-[\w.-]{1,60}\.html", name) and ".." not in name for name in files)
    assert [page_data(path)["annotator"] for path in pages.paths] == names
    assert file_names(["a-2", "a", "A"]) == ["a-2", "a", "A-3"]


# --- pairs --------------------------------------------------------------------------------------------------------


def pairs(n=21):
    rows = [(f"p{k}", f"Q{k}?", f"First {k}.", f"Second {k}.") for k in range(n)]
    return pd.DataFrame(rows, columns=["id", "question", "answer_gpt4", "answer_llama"])


@pytest.mark.slow
def test_pairs_are_shown_in_both_orders(page):
    options = {"criteria": "better", "pair": ("answer_gpt4", "answer_llama"), "annotators": ["a", "b"]}
    for overlap in (None, 8, 7, 0):
        pages = page(pairs(), None, overlap=overlap, **options)
        sheets = [{item: swapped for item, swapped, _ in page_data(path)["items"]} for path in pages.paths]
        for sheet in sheets:
            assert abs(2 * sum(sheet.values()) - len(sheet)) <= 1
        common = set(sheets[0]) & set(sheets[1])
        assert len(common) == (21 if overlap is None else overlap)
        assert all(sheets[0][item] != sheets[1][item] for item in common)
    data = page_data(pages.paths[0])
    assert (data["paired"], data["parts"]) == (True, ["question", "first", "second"])
    assert data["criteria"][0]["scale"] == "0|0.5|1"
    assert all(
        told == [f"Q{item[1:]}?", f"First {item[1:]}.", f"Second {item[1:]}."] for item, _, told in data["items"]
    )
    text = pages.paths[0].read_text("utf-8")
    assert "gpt4" not in text
    assert "llama" not in text


def test_orders_of_pairs_differ_by_seed_and_lean_to_no_side():
    some = [Record(str(k), ("x", "y")) for k in range(9)]
    flags = [
        {one.item: one.swapped for one in sheet.records}
        for seed in range(400)
        for sheet in sheets_of(some, ["a", "b", "c"], overlap=4, strata={}, seed=seed, page="p", paired=True)[:1]
    ]
    times = Counter(item for one in flags for item, swapped in one.items() if swapped)
    seen = Counter(item for one in flags for item in one)
    assert all(stats.binomtest(times[item], seen[item], 0.5).pvalue > 1e-4 for item in seen)


def test_a_pair_is_asked_on_no_other_scale(refused):
    said = refused(pairs(), None, criteria="better", pair=("answer_gpt4", "answer_llama"), scale=FIVE)
    assert said.startswith("`scale` must be left out for pairs")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_output_whose_wins_the_judge_counts_comes_first(page, refused):
    # in every second row the systems stand the other way round
    k = np.arange(20)
    frame = pd.DataFrame(
        {
            "id": [f"p{i}" for i in k],
            "question": [f"Q{i}?" for i in k],
            "model_a": np.where(k % 2, "llama", "gpt-4o"),
            "model_b": np.where(k % 2, "gpt-4o", "llama"),
            "response_a": [f"{'llama' if i % 2 else 'gpt'} says {i}" for i in k],
            "response_b": [f"{'gpt' if i % 2 else 'llama'} says {i}" for i in k],
            "judge_winner": np.where(k % 3, "model_a", "tie"),
        }
    )
    drawn = calib.choose(frame, 10, rng=1)
    assert set(drawn["system"].astype(str)) == {"gpt-4o"}
    found = page_data(page(frame, drawn, pair=("response_a", "response_b")).paths[0])
    assert len(found["items"]) == 10
    assert all(told[1].startswith("gpt says") and told[2].startswith("llama says") for _, _, told in found["items"])
    assert "`pair` must name the two columns of outputs" in refused(frame, drawn, inputs=["question"])


# --- rounds -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_page_of_a_later_drawing_is_the_same_page(page):
    more = calib.choose(DRAWN, 10, more=True, rng=2)
    first, second = page(), page(drawn=more)
    assert first.page == second.page
    assert second.n_items == 30
    others = [
        page(criteria="coherence", scale="1|3|5"),
        page(items=ITEMS.assign(output=ITEMS["output"] + "!")),
        page(criteria={"coherence": "In order?"}),
        page(items=texts(42)),
    ]
    assert len({first.page, *(one.page for one in others)}) == 5
    assert page(seed=9).page == page(annotators=["a", "b"]).page == first.page


def answers(pages, items, **columns):
    frame = pd.DataFrame({"item": list(items)})
    told = {"criterion": "coherence", "rater": "ann", "scale": FIVE, "method": "human", "score": 3.0, "status": "ok"}
    told |= {"seconds": 9.0, "time": "2026-03-01T09:00:00Z", "comment": "", "swapped": "false", "page": pages.page}
    return frame.assign(**told | columns, position=range(1, len(frame) + 1))


@pytest.mark.slow
def test_what_is_labelled_is_left_out(page, tmp_path):
    done = answers(page(), sorted(CHOSEN))
    more = calib.choose(DRAWN, 10, more=True, rng=2)
    new = set(more.loc[more["chosen"], "item"].astype(str)) - CHOSEN
    calib.table.write(done, tmp_path / "labels.csv", for_spreadsheets=True)
    path = tmp_path / "labels.csv"
    for labelled in (done, path, [path], calib.read_labels(path)):
        pages = page(drawn=more, labelled=labelled)
        assert set(page_ids(pages.paths[0])) == new
        assert pages.n_items == 10
    half = done.iloc[:7]
    assert set(page_ids(page(labelled=half).paths[0])) == CHOSEN - set(half["item"])
    unsaid = half.assign(status="cannot_say", score=np.nan)
    assert set(page_ids(page(labelled=unsaid).paths[0])) == CHOSEN - set(half["item"])


def test_an_item_is_done_when_all_that_is_asked_is_answered(page):
    options = {"criteria": ["coherence", "tone"], "scale": FIVE}
    pages = page(**options)
    one, two = sorted(CHOSEN)[:2]
    done = pd.concat([answers(pages, [one, two]), answers(pages, [one], criterion="tone")])
    assert set(page_ids(page(labelled=done, **options).paths[0])) == CHOSEN - {one}


@pytest.mark.slow
def test_labels_of_another_page_are_refused(page, refused, tmp_path):
    done = answers(page(), sorted(CHOSEN))
    assert "has all 20 chosen items" in refused(labelled=done)
    said = refused(labelled=done.assign(page="0123456789ab"))
    assert said.startswith("`labelled` must be labels of a page with the same items and texts, criteria, meanings of")
    calib.table.write(done.assign(page="0123456789ab"), tmp_path / "labels.csv")
    assert "must be labels of a page with the same items" in refused(labelled=tmp_path / "labels.csv")
    assert "there is no column 'criterion'" in refused(labelled=done[["item"]])


# --- files --------------------------------------------------------------------------------------------------------


def test_folders_are_made_and_what_is_written_is_said(tmp_path):
    pages = calib.label(ITEMS, DRAWN, annotators=["a", "<b>"], path=tmp_path / "new" / "deep" / "label.html")
    assert all(path.exists() for path in pages.paths)
    assert str(pages).endswith("label-b.html: 20 items to label (coherence), 20 of them by both annotators")
    assert "<b>" not in pages._repr_html_()
    assert pages._repr_html_().count("<a href=") == 2


@pytest.mark.parametrize(
    ("to", "name"), [("html", "x.xlsx"), ("html", "x"), ("xlsx", "x.html"), ("label-studio", "x.csv")]
)
def test_an_ending_that_does_not_fit_is_refused(tmp_path, to, name):
    with pytest.raises(ValueError, match=f"`path` must end in .* for '{to}', but got"):
        calib.label(ITEMS, DRAWN, to=to, path=tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_file_is_whole_or_not_there(tmp_path, monkeypatch):
    calib.label(ITEMS, DRAWN, path=tmp_path / "label.html")
    before = (tmp_path / "label.html").read_bytes()

    def broken(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", broken)
    with pytest.raises(OSError, match="No space"):
        calib.label(ITEMS, DRAWN, seed=3, path=tmp_path / "label.html")
    assert (tmp_path / "label.html").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["label.html"]


@pytest.mark.slow
def test_a_guideline_is_a_text_or_a_file(page, tmp_path):
    (tmp_path / "guide.md").write_text("\ufeffFrom the file: be fair.", encoding="utf-8")
    for given in (tmp_path / "guide.md", str(tmp_path / "guide.md"), "From the file: be fair."):
        assert "From the file: be fair." in page(guideline=given).paths[0].read_text("utf-8")
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="`guideline` must be a file in UTF-8"):
        page(guideline=tmp_path / "bad.txt")


@pytest.mark.parametrize(("to", "ending"), [("xlsx", "xlsx"), ("label-studio", "json")])
def test_files_for_other_tools_tell_no_system_and_no_judge(tmp_path, to, ending):
    pages = calib.label(ITEMS, DRAWN, to=to, annotators=["a", "b"], overlap=4, path=tmp_path / f"label.{ending}")
    assert len(pages.paths) == 2  # one for each annotator, or a file and its settings
    for path in pages.paths:
        contents = [path.read_bytes()]
        if to == "xlsx":
            with zipfile.ZipFile(path) as packed:
                contents = [packed.read(name) for name in packed.namelist()]
        assert not [name for name in (b"secret", b"gpt-4o", b"llama") for content in contents if name in content]
