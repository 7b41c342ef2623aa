"""Labels read back: the same numbers as given directly, files joined, odd files read or refused with their place."""

import json
import math
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import calib
from calib.core.check import CalibWarning
from calib.labelling.record import ANSWERS
from calib.table import TableError, write

PAGE = "0123456789ab"
SCALE = "1|2|3|4|5"
HOSTILE = [
    "<script>alert(1)</script>", "=1+1", "\x1b[31mred", "\u202egnp", "a\u2028b", "$x$", "`rm`", "</table>", "\ud800",
]  # fmt: skip


def answers(rater, items, scores, *, criterion="tone", start="2026-03-01T09:00:00", step=12.0, **more):
    """Rows as the page exports them."""
    when = [pd.Timestamp(start) + pd.Timedelta(seconds=step * (k + 1)) for k in range(len(items))]
    known = [score == score for score in scores]
    columns = {
        "item": items, "criterion": criterion, "rater": rater, "scale": SCALE, "method": "human",
        "score": [float(score) for score in scores], "status": ["ok" if one else "cannot_say" for one in known],
        "seconds": step, "time": [f"{at.isoformat()}Z" for at in when], "comment": "",
        "position": range(1, len(items) + 1), "swapped": False, "page": PAGE,
    }  # fmt: skip
    columns = columns | more
    for name in ("item", "rater", "comment", "criterion"):  # what Arrow may not hold
        columns[name] = pd.Series(
            [columns[name]] * len(items) if isinstance(columns[name], str) else columns[name], dtype=object
        )
    return pd.DataFrame(columns)[list(ANSWERS)]


@pytest.fixture
def saved(tmp_path):
    """Write frames as exports; their paths."""

    def save(*frames, ending=".csv"):
        paths = [tmp_path / f"labels-{number}{ending}" for number in range(len(frames))]
        for frame, path in zip(frames, paths, strict=True):
            write(frame, path, for_spreadsheets=True)
        return paths

    return save


def study(n=120, n_labels=40, *, seed=0):
    """A judge's scores of all items, of which some are drawn, and the labels of three people of these."""
    rng = np.random.default_rng(seed)
    items = [f"i{k}" for k in range(n)]
    true = rng.integers(1, 6, n)
    judge = pd.DataFrame({"item": items, "criterion": "tone", "rater": "judge", "method": "logprob", "scale": SCALE})
    judge = judge.assign(score=np.clip(true + rng.normal(0, 0.7, n), 1, 5), system=np.where(np.arange(n) % 2, "x", "y"))
    drawn = calib.choose(judge.assign(group=[f"g{k // 2}" for k in range(n)]), n_labels, rng=1)
    chosen = drawn.loc[drawn["chosen"], "item"].astype(str).tolist()
    label = dict(zip(items, true, strict=True))
    common, rest = chosen[:10], chosen[10:]
    files = []
    for place, rater in enumerate(("ann", "bob", "cy")):
        mine = list(rng.permutation(common + rest[place::3]))
        scores = np.clip([label[i] + rng.integers(-1, 2) for i in mine], 1, 5)
        files.append(answers(rater, mine, scores, start=f"2026-03-01T{9 + place:02}:00:00"))
    return drawn, files


def drawing():
    """The judge's scores with what was drawn, and the chosen items."""
    drawn, _ = study()
    return drawn, drawn.loc[drawn["chosen"], "item"].astype(str).tolist()


def plain(files):
    """The same labels as a frame of one's own."""
    rows = pd.concat(files, ignore_index=True)
    rows = rows[rows["status"] == "ok"]
    return pd.DataFrame({"id": rows["item"], "annotator": rows["rater"], "label": rows["score"]})


OWN = {"scale": SCALE, "criterion": "tone"}


def numbers(results):
    """All numbers of results, and what they were made of, without how the labels came."""
    frame = results.to_frame()
    return frame[[name for name in frame if name not in ("method", "warnings")]]


# --- the same numbers, to the last digit ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "ask",
    [
        calib.interval,
        lambda drawn, labels, **own: calib.interval(drawn, labels, by="system", **own),
        lambda drawn, labels, **own: calib.difference(drawn, labels, "x", "y", min_labels=5, **own),
        lambda drawn, labels, **own: calib.labels_needed(drawn, labels, half_width=0.3, **own),
        lambda drawn, labels, **own: calib.plan(drawn, labels, prices={"label": 1, "judge": 0.1}, budget=5, **own),
        calib.agreement,
        lambda drawn, labels, **own: calib.agreement(drawn, labels, level="group", **own),
        calib.will_it_help,
        lambda drawn, labels, **own: calib.reliability(labels, drawn, **own),
        lambda drawn, labels, **own: calib.reliability(labels, **own),
        calib.alternative_annotator_test,
    ],
    ids=[
        *("interval", "by_system", "difference", "labels_needed", "plan", "agreement", "groups", "help", "beside"),
        *("reliability", "test"),
    ],
)
@pytest.mark.filterwarnings("ignore::calib.stats.CalibWarning")
def test_every_verb_has_the_numbers_of_labels_given_directly(saved, ask):
    drawn, files = study()
    labels = calib.read_labels(saved(*files))
    (joined,) = saved(labels.ratings[list(ANSWERS)])
    direct = numbers(ask(drawn, plain(files), **OWN))
    assert len(direct)
    for given in (labels, joined, str(joined), labels.ratings):
        assert_frame_equal(numbers(ask(drawn, given)), direct, check_exact=True)


@pytest.mark.slow
def test_a_judge_in_a_file_of_ones_own_beside_labels(saved):
    drawn, files = study()
    labels = calib.read_labels(saved(*files))
    mine = pd.DataFrame({"id": drawn["item"].astype(str), "gpt-4o": drawn["score"]})
    found, direct = calib.interval(mine, labels).one(), calib.interval(mine, plain(files), **OWN).one()
    assert (found.estimate, found.interval) == (direct.estimate, direct.interval)


@pytest.mark.slow
def test_people_are_pooled_by_their_plain_mean_and_it_is_said(saved):
    drawn, files = study()
    labels = calib.read_labels(saved(*files))
    by_hand = plain(files).groupby("id")["label"].mean()
    gold = labels.pooled.set_index("item")["score"]
    assert gold.to_dict() == by_hand.to_dict()
    assert calib.interval(drawn, labels).labels[0]["against"] == "mean of 3 annotators"
    assert set(labels.pooled["n"]) == {1, 3}
    assert not any("raters_missing" in text for text in calib.interval(drawn, labels).one().warnings)


def test_judges_among_gold_are_still_refused():
    drawn, files = study()
    gold = pd.concat(files)[["item", "criterion", "rater", "score"]].assign(method="sample")
    with pytest.raises(TableError, match="must have one rater per criterion, but 'tone' has 'ann', 'bob', 'cy'; pool"):
        calib.interval(drawn, gold)


# --- cannot say -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_cannot_say_is_no_label_and_is_counted(saved):
    drawn, items = drawing()
    scores = [math.nan if k < 3 else 1 + k % 5 for k in range(len(items))]
    path, other = saved(answers("ann", items, scores), answers("bob", items[:2], [4, math.nan]))
    found = calib.interval(drawn, path).one()
    assert found.n_labels == 37
    assert "cannot_say: people looked at 3 of these items and could not say; they count as unlabelled" in found.warnings
    both = calib.read_labels([path, other])
    assert calib.interval(drawn, both).one().n_labels == 38  # bob could say of one
    assert any("at 2 of these items" in text for text in calib.interval(drawn, both).one().warnings)
    assert both.pooled.set_index("item")["n_cannot_say"].loc[items[:4]].tolist() == [1, 2, 1, 0]
    assert both.annotators["n_cannot_say"].tolist() == [3, 1]


def test_an_item_that_nobody_could_judge_is_not_taken_for_a_label_that_was_left_blank():
    drawn, files = study()
    blank = pd.concat(files).assign(status="")[["item", "criterion", "rater", "score"]]
    blank.loc[blank.index[0], "score"] = math.nan
    assert not any("cannot_say" in text for text in calib.interval(drawn, blank).one().warnings)


@pytest.mark.slow
def test_summarize_keeps_what_people_could_not_say(saved):
    table = calib.read_labels(saved(answers("ann", ["a", "b"], [3, math.nan]))).ratings
    for scores in (calib.summarize(table), calib.summarize(table, pool="rater")):
        assert scores.set_index("item")["n_cannot_say"].to_dict() == {"a": 0, "b": 1}


# --- files that are joined ------------------------------------------------------------------------------------------


def test_a_partial_and_a_later_export_count_once(saved):
    items = list("abcdef")
    whole = answers("ann", items, [1, 2, 3, 4, 5, 1])
    labels = calib.read_labels(saved(whole.head(3), whole))
    assert (len(labels.ratings), labels.notes) == (6, ())


@pytest.mark.slow
def test_csv_jsonl_and_a_folder_are_one(saved, tmp_path):
    ids, comments = ["007", "1.0", "é", "1e5", "-x", " pad"], ["", "=x", '"', ",", "a\nb", ""]
    frame = answers("ann", ids, [1, 2, 3, math.nan, 5, 1], comment=comments)
    (csv,), (jsonl,) = saved(frame), saved(frame, ending=".jsonl")
    one, two, folder = (calib.read_labels(given) for given in (csv, jsonl, tmp_path))
    assert one.ratings["item"].astype(str).tolist() == frame["item"].tolist()
    assert one.ratings["comment"].tolist() == frame["comment"].tolist()
    for other in (two, folder):
        assert_frame_equal(one.ratings, other.ratings)


@pytest.mark.slow
def test_of_an_answer_given_anew_the_later_one_counts_and_that_is_said(saved):
    first = answers("ann", list("abc"), [1, 2, 3])
    later = first.assign(score=[1.0, 5.0, 3.0], time=[first["time"][0], "2026-03-01T10:00:00Z", first["time"][2]])
    for files in ((first, later), (later, first)):
        with pytest.warns(CalibWarning, match="'ann' answered 1 question anew"):
            labels = calib.read_labels(saved(*files))
        assert labels.ratings.set_index("item")["score"].to_dict() == {"a": 1, "b": 5, "c": 3}
        assert labels.notes == (
            "'ann' answered 1 question anew, and the later answer counts (item 'b', tone: 2 then 5).",
        )


def test_an_answer_withdrawn_to_cannot_say_counts(saved):
    first = answers("ann", list("ab"), [1, 2])
    later = answers("ann", ["b"], [math.nan], start="2026-03-02T09:00:00")
    with pytest.warns(CalibWarning, match="2 then cannot say"):
        labels = calib.read_labels(saved(first, later))
    assert labels.ratings["status"].astype(str).tolist() == ["ok", "cannot_say"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::calib.stats.CalibWarning")
def test_two_people_of_one_name_are_told(saved):
    items = [f"i{k}" for k in range(8)]
    one, two = answers("ann", items, [1] * 8), answers("ann", items, [5] * 8, start="2026-03-01T09:00:05")
    labels = calib.read_labels(saved(one, two))
    assert "are both of 'ann', were labelled at times that overlap, and differ in 8 of 8 answers" in labels.notes[0]
    # who comes back the next day and changes an answer is one
    again = answers("ann", items[:2], [2, 1], start="2026-03-02T09:00:00")
    assert not any("both of" in note for note in calib.read_labels(saved(one, again)).notes)


@pytest.mark.filterwarnings("ignore::calib.stats.CalibWarning")
def test_names_that_differ_in_case_are_told(saved):
    labels = calib.read_labels(saved(answers("Ann", ["a"], [1]), answers("ann ", ["b"], [1])))
    assert labels.notes[0] == "'Ann' and 'ann' are taken for 2 people: are they one?"


def test_two_answers_of_which_none_is_later_are_refused(saved):
    frame = answers("ann", ["a", "b"], [1, 2])
    with pytest.raises(TableError, match=r"twice, differently \(labels-0.csv, line 2 and labels-1.csv, line 2\)"):
        calib.read_labels(saved(frame, frame.assign(score=[3.0, 2.0])))
    untimed = frame.assign(time="")
    with pytest.raises(TableError, match="no time says which answer is the later one"):
        calib.read_labels(saved(untimed, untimed.assign(score=[3.0, 2.0])))


@pytest.mark.slow
def test_a_file_of_another_page_is_refused(saved, tmp_path):
    one, two = saved(answers("ann", ["a"], [1]), answers("bob", ["a"], [1], page="ba9876543210"))
    with pytest.raises(TableError) as caught:
        calib.read_labels([one, two])
    both = "labels-0.csv is of page 0123456789ab and labels-1.csv of page ba9876543210: a page is made of its items"
    assert str(caught.value).startswith(both)
    page = tmp_path / "page.html"
    page.write_text(f"<meta content={PAGE}>")
    assert calib.read_labels(one, page=page).page == calib.read_labels(one, page=PAGE).page == PAGE
    for other in (page, "0123456789ab"):
        with pytest.raises(calib.ArgumentError, match="`page` must be the page"):
            calib.read_labels(two, page=other)
    with pytest.raises(calib.ArgumentError, match="`page` must be the path of a label page, or its hash"):
        calib.read_labels(two, page="nowhere.html")


# --- what a spreadsheet did -----------------------------------------------------------------------------------------


def excel(frame, path, *, encoding="utf-8-sig", comma=True):
    """Save as Excel does where the comma is of decimals."""
    cells = frame.astype(object).map(lambda value: "" if value != value else str(value))
    for name in ("score", "seconds") if comma else ():
        cells[name] = cells[name].str.removesuffix(".0").str.replace(".", ",")
    cells["swapped"] = "FALSCH"
    cells.to_csv(path, sep=";", index=False, encoding=encoding, lineterminator="\r\n")
    return path


def test_what_excel_made_of_an_export_is_read(tmp_path):
    frame = answers("ann", list("abcd"), [1, 0.5, math.nan, 0], seconds=[7.25, 9, 11.5, 3], scale="0|0.5|1")
    path = excel(frame, tmp_path / "labels.csv")
    text = path.read_text("utf-8-sig")
    path.write_text(text + ";;;;;;;;;;;;\r\n", "utf-8-sig")
    found = calib.read_labels(path).ratings
    assert found["score"].fillna(-1).tolist() == [1, 0.5, -1, 0]
    assert found["seconds"].tolist() == [7.25, 9, 11.5, 3]
    assert found["swapped"].tolist() == [False] * 4


@pytest.mark.slow
def test_an_export_saved_as_a_sheet_is_read(tmp_path):
    frame = answers("ann", ["007", "b"], [1, math.nan], comment=["a,b", "x"])
    frame.to_excel(tmp_path / "labels.xlsx", index=False)
    found = calib.read_labels(tmp_path / "labels.xlsx")
    write(frame, tmp_path / "labels.csv", for_spreadsheets=True)
    assert_frame_equal(found.ratings, calib.read_labels(tmp_path / "labels.csv").ratings)
    frame.assign(score=[9, math.nan]).to_excel(tmp_path / "labels.xlsx", index=False)
    with pytest.raises(TableError, match=r"labels.xlsx, row 2, column `score`: must be a value of its `scale`"):
        calib.read_labels(tmp_path / "labels.xlsx")


def test_a_western_code_page_is_read_and_told(tmp_path):
    with pytest.warns(CalibWarning, match="Windows-1252"):
        labels = calib.read_labels(excel(answers("Zoë", ["a"], [1]), tmp_path / "labels.csv", encoding="cp1252"))
    assert labels.annotators["annotator"].tolist() == ["Zoë"]


@pytest.mark.parametrize(
    ("column", "cell", "text"),
    [
        ("score", "03. Mai", "column `score`: must be a number (a spreadsheet makes dates of some numbers"),
        ("score", "good", "column `score`: must be a number, but got 'good'"),
        ("score", "6", "column `score`: must be a value of its `scale`, but got '6'"),
        ("score", "2.5", "column `score`: must be a value of its `scale`, but got '2.5'"),
        ("score", "", "column `score`: must be a number exactly where `status` is 'ok'"),
        ("score", "inf", "column `score`: must be a number"),
        ("status", "failed", "column `status`: must be 'ok' or 'cannot_say', but got 'failed'"),
        ("status", "cannot_say", "column `score`: must be a number exactly where"),
        ("seconds", "-3", "column `seconds`: must not be negative"),
        ("time", "01.03.2026 09:00", "column `time`: must be a time such as 2026-03-01T09:30:00Z (a spreadsheet"),
        ("swapped", "maybe", "column `swapped`: must be true or false"),
        ("method", "logprob", "column `method`: must be 'human'"),
        ("scale", "1|x", "column `scale`: a scale must read"),
        ("rater", " ", "column `rater`: must say who labelled"),
        ("item", "", "column `item`: must be an id"),
        ("page", "", "column `page`: must hold the hash"),
        ("page", "ffffffffffff", "column `page`: must be of one page (0123456789ab)"),
        ("position", "first", "column `position`: must be a number"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(saved, column, cell, text):
    frame = answers("ann", list("abc"), [1, 2, 3], comment=["", "two\nlines", ""]).astype(object)
    frame.loc[2, column] = cell
    with pytest.raises(TableError) as caught:
        calib.read_labels(saved(frame))
    assert f"labels-0.csv, line 5, {text}" in str(caught.value)


def test_times_without_a_zone_are_told(saved):
    frame = answers("ann", list("ab"), [1, 2], time=["2026-03-01 09:00:00", "2026-03-01T11:00:00+02:00"])
    with pytest.warns(CalibWarning, match="1 times say no zone and are taken for UTC"):
        labels = calib.read_labels(saved(frame))
    assert labels.annotators["first"].iloc[0] == labels.annotators["last"].iloc[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must have a line of names"),
        (",".join(ANSWERS), "must have an answer, but has none"),
        ("id,label\na,3\n", "is no export of a label page: columns `item`, `criterion`"),
        ("id,label\na,3\n", 'calib.interval("scores.csv", "labels.csv")'),
        ("item,criterion,rater,score,prompt,mass\na,t,gpt,3,p,1\n", "but a judge's scores"),
        ("item,criterion,rater,score\na,t,ann,3\n", "a table of scores, or an export whose header was edited"),
        (",".join(ANSWERS) + "\na,b\n", "line 2: must have as many cells as line 1 has names (13), but has 2"),
        (",".join((*ANSWERS, "page")) + "\n" + ",".join("a" * 14), "column `page` must be there once"),
        ('item,"crit\n', "not a csv table"),
        ("\0\0\0", "holds a NUL byte"),
        ("PK\x03\x04", "a zip archive"),
    ],
)
def test_what_is_no_export_is_refused(tmp_path, text, words):
    path = tmp_path / "mine.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(TableError) as caught:
        calib.read_labels(path)
    assert words in str(caught.value)
    assert str(caught.value).startswith("mine.csv")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "line 1: must be a JSON object"),
        ("3", "line 1: must be a JSON object"),
        ("[1, 2]", "must be a list of objects"),
        ("[", "not JSON"),
        ('{"item": "a"}\n{"item": "b"}', "columns `criterion`"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_what_is_no_json_export_is_refused(tmp_path, text, words):
    for ending in ("json", "jsonl"):
        path = tmp_path / f"mine.{ending}"
        path.write_text(text)
        with pytest.raises(TableError) as caught:
            calib.read_labels(path)
        assert words in str(caught.value)


def test_places_are_refused_in_words(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file .*nowhere.csv"):
        calib.read_labels(tmp_path / "nowhere.csv")
    with pytest.raises(calib.ArgumentError, match="`files` must be files"):
        calib.read_labels(tmp_path)
    with pytest.raises(calib.ArgumentError, match="`files` must name a file"):
        calib.read_labels([])
    (tmp_path / "labels.pdf").write_text("x")
    with pytest.raises(TableError, match=r"labels.pdf: answers are read from files that end in \.csv"):
        calib.read_labels(tmp_path / "labels.pdf")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text", "tool"),
    [
        ("e.json", '[{"id": 1, "data": {}, "annotations": []}]', "label_studio"),
        ("e.json", '[{"id": 1, "annotation_id": 2, "lead_time": 3.1, "tone": "4"}]', "label_studio"),
        ("e.csv", "annotation_id,annotator,lead_time,tone\n1,2,3.1,4\n", "label_studio"),
        ("e.tsv", "annotation_id\tannotator\tlead_time\n1\t2\t3.1\n", "label_studio"),
        ("e.xlsx", "", "workbook"),
    ],
)
def test_files_of_other_tools_are_known_by_what_they_hold(monkeypatch, tmp_path, name, text, tool):
    path = tmp_path / name
    path.write_text(text)
    if name == "e.xlsx":
        pd.DataFrame({"source": ["x"], "tone": [3]}).to_excel(path)

    def read(given):
        return answers("ann", ["a", "b"], [3, math.nan]).assign(seconds=[math.nan, 2.5]) if given == path else None

    monkeypatch.setitem(sys.modules, f"calib.labelling.{tool}", SimpleNamespace(**{f"{tool}_answers": read}))
    labels = calib.read_labels(path)
    assert labels.ratings["score"].fillna(0).tolist() == [3, 0]
    assert labels.ratings["seconds"].fillna(0).tolist() == [0, 2.5]


# --- against the drawing --------------------------------------------------------------------------------------------


def test_items_are_held_against_the_drawing(saved):
    drawn, chosen = drawing()
    other = drawn.loc[~drawn["chosen"].astype(bool), "item"].astype(str).iloc[0]
    scores = [math.nan, *(1 + k % 5 for k in range(13))]
    labels = calib.read_labels(saved(answers("ann", ["stranger", *chosen[:12], other], scores[:14])), drawn=drawn)
    assert labels.notes == (
        "1 labelled item not among the drawn ones, such as 'stranger'.",
        f"1 labelled item not chosen by the drawing, such as {other!r}.",
        "28 of 40 chosen items have no answer yet.",
    )
    assert (labels.progress.chosen, labels.progress.left, labels.progress.so_far) == (40, 28, None)
    assert "some labelled items were not drawn" in labels.progress.notes[0]
    with pytest.raises(calib.ArgumentError, match="`drawn` must have the items that were labelled"):
        calib.read_labels(saved(answers("ann", ["stranger"], [1])), drawn=drawn)


@pytest.mark.slow
def test_how_far_it_is(saved):
    """The interval that may be looked at often is that of the arrays, in the order in which labels came."""
    drawn, files = study()
    paths = saved(*files)
    labels = calib.read_labels(paths, drawn=drawn, half_width=0.4)
    progress = labels.progress
    assert (progress.chosen, progress.left, progress.half_width) == (40, 0, 0.4)
    needed = calib.labels_needed(drawn, labels, half_width=0.4).one()
    assert progress.needed.one() == needed
    came = pd.concat(files).sort_values("time", kind="stable").drop_duplicates("item")["item"]
    y = labels.pooled.set_index(labels.pooled["item"].astype(str))["score"].loc[came]
    x = drawn.set_index(drawn["item"].astype(str))["score"]
    known = calib.stats.confidence_sequence(y, x.loc[came], x, bounds=(1, 5))
    found = progress.so_far.one()
    assert found.n_labelled == 40
    assert found.low == pytest.approx(known.low, rel=1e-12)
    assert found.high == pytest.approx(known.high, rel=1e-12)
    assert f"{needed.n_labels} with the judge" in progress.notes[0]


@pytest.mark.slow
def test_without_times_it_is_the_order_of_the_pages_not_that_of_the_pool(saved):
    """The pool may stand by systems, and a sequence in that order misses the mean more often than it says."""
    drawn, _ = study()
    chosen = drawn.loc[drawn["chosen"], "item"].astype(str).to_numpy()
    scores = np.where(np.arange(len(chosen)) < len(chosen) // 2, 1, 5)
    order = np.random.default_rng(9).permutation(len(chosen))
    at_once = answers("ann", chosen[order].tolist(), scores[order].tolist(), step=0)
    looks = [
        calib.read_labels(saved(frame), drawn=drawn).progress.so_far.one()
        for frame in (at_once, at_once.assign(time=""), answers("ann", chosen[order].tolist(), scores[order].tolist()))
    ]
    for found in looks[:2]:
        assert found.low.tolist() == looks[2].low.tolist()
        assert found.high.tolist() == looks[2].high.tolist()
    unknown = at_once.assign(time="", position=np.nan)
    progress = calib.read_labels(saved(unknown), drawn=drawn).progress
    assert progress.so_far is None
    assert "no time or place says when each label came" in progress.notes[0]


@pytest.mark.slow
def test_short_of_ten_labels_it_is_said(saved):
    drawn, chosen = drawing()
    labels = calib.read_labels(saved(answers("ann", chosen[:6], [1, 2, 3, 4, 5, 1])), drawn=drawn, half_width=0.2)
    assert "tone: 4 labels short of the first interval, which needs 10." in labels.progress.notes
    assert str(labels.progress).startswith("6 of 40 chosen items are labelled.\n")


def test_people_who_were_asked_for_something_else_than_the_judge_are_told(saved):
    drawn, chosen = drawing()
    path = saved(answers("ann", chosen[:6], [1, 2, 3, 4, 5, 1], criterion="depth"))
    progress = calib.read_labels(path, drawn=drawn, half_width=0.2).progress
    assert progress.notes == ("people were asked for depth and the judge for tone: there is no interval.",)
    assert (progress.left, progress.needed) == (34, None)


@pytest.mark.slow
def test_nothing_but_cannot_say(saved):
    drawn, chosen = drawing()
    labels = calib.read_labels(saved(answers("ann", chosen[:3], [math.nan] * 3)), drawn=drawn, half_width=0.2)
    assert repr(labels) == "<0 labels of 3 items by 1 annotator, page 0123456789ab>"
    assert "3 of 40 chosen items could not be judged, and count as unlabelled." in labels.notes
    assert math.isnan(labels.seconds_per_label)
    assert len(labels.disagreements) == 0
    assert "0 of 40 chosen items are labelled." in str(labels)


@pytest.mark.slow
def test_a_drawing_that_is_not_simple_has_no_sequence(saved):
    drawn, _ = study()
    strata = calib.choose(drawn.drop(columns=["chosen", "inclusion", "stratum", "design"]), 40, design="strata", rng=2)
    chosen = strata.loc[strata["chosen"], "item"].astype(str).tolist()
    path = saved(answers("ann", chosen, [1 + k % 5 for k in range(40)]))
    assert "the items were not drawn simply" in calib.read_labels(path, drawn=strata).progress.notes[0]
    bare = strata.drop(columns=["chosen", "inclusion", "stratum", "design"])
    assert "nothing says how the items were drawn" in calib.read_labels(path, drawn=bare).progress.notes[0]


@pytest.mark.slow
def test_what_half_width_needs(saved):
    path = saved(answers("ann", ["a"], [1]))
    with pytest.raises(calib.ArgumentError, match="`half_width` needs `drawn`"):
        calib.read_labels(path, half_width=0.2)
    with pytest.raises(calib.ArgumentError, match="`half_width` must be above 0"):
        calib.read_labels(path, half_width=-1)
    drawn, files = study()
    labels = calib.read_labels(saved(*files), drawn=drawn, half_width=0.001)  # more labels than items
    assert labels.progress.needed is None
    assert any("+/- 0.001 needs is not known" in text for text in labels.progress.notes)


# --- about the annotators -------------------------------------------------------------------------------------------


def test_annotators_are_told_one_by_one(saved):
    items = [f"i{k}" for k in range(12)]
    frame = answers("ann", items, [5] * 11 + [math.nan], seconds=[10.0] * 11 + [900.0])
    second = answers("ann", ["late"], [5], start="2026-03-01T12:00:00")
    comments = ["", "why?", *[""] * 10]
    labels = calib.read_labels(saved(frame.assign(comment=comments), second))
    row = labels.annotators.iloc[0]
    counts = row[["annotator", "criterion", "n_items", "n_labels", "n_cannot_say", "n_comments"]]
    assert counts.tolist() == ["ann", "tone", 13, 12, 1, 1]
    assert (row["seconds"], row["mean"]) == (10.0, 5.0)
    assert "'ann' on tone: all 12 labels are 5, which says nothing about agreement." in labels.notes
    # 900 seconds are a page that was left open: ten times the median at most, and paid for by the labels
    assert labels.seconds_per_label == pytest.approx((11 * 10 + 100 + 12) / 12)
    assert any("took more than ten times the median (the longest 900 s)" in note for note in labels.notes)


@pytest.mark.slow
def test_disagreements_come_by_how_far_apart_they_are(saved):
    ann = answers("ann", list("abcd"), [1, 5, 3, 3], comment=["", "no!", "", ""])
    bob = answers("item", list("abcd"), [2, 1, 3, math.nan], comment=["", "yes", "", ""])
    labels = calib.read_labels(saved(ann, bob))
    found = labels.disagreements
    assert list(found) == ["item", "criterion", "spread", "comments", "ann", "item (annotator)"]
    assert found[["item", "spread", "ann", "item (annotator)"]].to_numpy().tolist() == [["b", 4, 5, 1], ["a", 1, 1, 2]]
    assert found["comments"].tolist() == ["ann: no!; item: yes", ""]
    assert labels.overlap == 3


@pytest.mark.slow
def test_spreads_on_two_scales_are_compared_by_their_share(saved):
    long = {"criterion": "depth", "scale": "0..100"}
    files = [
        pd.concat([answers(n, ["a"], [x]), answers(n, ["a"], [y], **long)]) for n, x, y in (("u", 1, 40), ("v", 4, 50))
    ]
    assert calib.read_labels(saved(*files)).disagreements["criterion"].tolist() == ["tone", "depth"]


@pytest.mark.slow
def test_reliability_is_that_of_the_verb_or_there_is_a_reason(saved):
    _, files = study()
    labels = calib.read_labels(saved(*files))
    assert_frame_equal(labels.reliability.to_frame(), calib.reliability(labels).to_frame())
    few = calib.read_labels(saved(answers("ann", ["a", "b", "c"], [1, 2, 3]), answers("bob", ["c", "d"], [1, 2])))
    assert few.reliability is None
    assert few.notes == ("tone: reliability needs 3 items that two annotators labelled, but there are 1.",)
    alone = calib.read_labels(saved(answers("ann", ["a"], [1])))
    assert (alone.reliability, alone.notes) == (None, ())


@pytest.mark.slow
def test_groups_of_the_drawing_reach_reliability(saved):
    drawn, files = study()
    labels = calib.read_labels(saved(*files), drawn=drawn)
    assert labels.reliability.one().ceiling.n_groups > 0
    assert labels.reliability.one().alpha.estimate == calib.reliability(labels).one().alpha.estimate


def test_no_times_and_no_seconds_are_no_trouble(saved):
    labels = calib.read_labels(saved(answers("ann", list("abc"), [1, 2, 3], time="", seconds="", position="")))
    assert math.isnan(labels.seconds_per_label)
    assert "What a label costs" not in str(labels)


# --- shown ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_it_prints_what_a_reader_wants(saved):
    drawn, files = study()
    labels = calib.read_labels(saved(*files), drawn=drawn, half_width=0.3)
    assert repr(labels) == "<60 labels of 40 items by 3 annotators, 10 items in common, page 0123456789ab>"
    heads = ("How far they agree", "What a label costs", "To talk about", "How far it is")
    assert all(part in str(labels) for part in (*heads, "12 s a label", "at every look"))
    page = labels._repr_html_()
    assert page.count("<tr>") == 4
    assert page.count("<div") == page.count("</div>") == 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::calib.stats.CalibWarning")
@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_hostile_names_and_comments_are_data(saved, ending):
    items, files = [*HOSTILE, "x", "y"], []
    for k, name in enumerate(HOSTILE):
        marks = [1 + (k + j) % 5 for j in range(len(items))]
        files.append(answers(name, items, marks, comment=name, criterion=HOSTILE[0]))
    labels = calib.read_labels(saved(*files, ending=ending))
    names = {name.replace("\ud800", "?") for name in HOSTILE}
    assert set(labels.annotators["annotator"]) == set(labels.ratings["comment"]) == names
    for text in (str(labels), labels._repr_html_(), repr(labels)):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e\u2028\ud800]", text)
    page = labels._repr_html_()
    assert "<script" not in page
    assert page.count("</table>") == 1
    page.encode()
    str(labels).encode()


def test_labels_take_all_json_types(tmp_path):
    rows = answers("ann", ["a", "b"], [1, math.nan]).astype(object)
    rows["swapped"] = [True, None]
    lines = [{k: None if v != v else v for k, v in row.items()} for row in rows.to_dict("records")]
    lines[1].pop("comment")
    path = Path(tmp_path, "labels.json")
    path.write_text(json.dumps(lines, default=str))
    found = calib.read_labels(path).ratings
    assert found["swapped"].tolist() == [True, False]
    assert found["comment"].tolist() == ["", ""]


@pytest.mark.slow
def test_labels_are_looked_at(saved):
    drawn, files = study()
    labels = calib.read_labels(saved(*files))
    mine, theirs = (str(calib.look(drawn, one)) for one in (labels, labels.ratings))
    assert mine == theirs
    assert "3 annotators" in mine
