"""Label Studio: files that it imports, exports as it wrote them.

The forms of the exports below were taken from Label Studio 1.23.2: a project was made with such an interface, such
tasks imported, annotations made by two accounts, exported. The texts are ours.
"""

import csv
import io
import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from calib.labelling.label_studio import label_studio_answers, write_label_studio
from calib.labelling.record import ANSWERS
from calib.table import TableError

ACCOUNTS = {"anna": 1, "ben/<i>": 2, "": 1}


def result(code, value):
    if code == "comment":
        return {"from_name": code, "to_name": "text1", "type": "textarea", "value": {"text": [value]}}
    if code == "c2" and value != "cannot_say":
        return {"from_name": code, "to_name": "text1", "type": "number", "value": {"number": value}}
    code = f"{code}_cannot_say" if code == "c2" else code
    value = value if value == "cannot_say" else str(value)
    return {"from_name": code, "to_name": "text1", "type": "choices", "value": {"choices": [value]}}


def annotation(results, account, number=1, **more):
    return {
        "id": number, "completed_by": account, "result": results, "was_cancelled": False, "ground_truth": False,
        "created_at": f"2026-11-22T19:16:{number:02d}.070223Z", "updated_at": f"2026-11-22T19:17:{number:02d}.070262Z",
        "draft_created_at": None, "lead_time": 10.5, "prediction": {}, "result_count": len(results),
    } | more  # fmt: skip


@pytest.fixture
def exported(tmp_path, people):
    """A task, imported and labelled, as each kind of export."""
    say, comment, _ = people

    def export(task, kind="JSON", accounts=ACCOUNTS):
        path = write_label_studio(task, tmp_path / "task.json")
        places = [(sheet, place) for sheet in task.sheets for place in range(1, len(sheet.records) + 1)]
        tasks = []
        for number, (one, (sheet, place)) in enumerate(zip(json.loads(path.read_text()), places, strict=True), start=1):
            values = {code: value for code, value in say(task, sheet, place).items() if value is not None}
            values |= {"comment": comment(place)} if comment(place) else {}
            done = annotation([result(*value) for value in values.items()], accounts[sheet.annotator], number)
            tasks.append({"id": number, "annotations": [done], "drafts": [], "predictions": [], **one})
        return written(tasks, kind, tmp_path)

    return export


def written(tasks, kind, folder):
    path = folder / {"JSON": "out.json", "JSON_MIN": "min.json", "CSV": "out.csv", "TSV": "out.tsv"}[kind]
    rows = tasks if kind == "JSON" else [flat(task, one) for task in tasks for one in task["annotations"]]
    if "JSON" in kind:
        path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
        return path
    out = io.StringIO(newline="")
    names = sorted({name for row in rows for name in row})
    table = csv.DictWriter(out, names, quoting=csv.QUOTE_NONNUMERIC, delimiter="," if kind == "CSV" else "\t")
    table.writeheader()
    for row in rows:
        plain = {name: json.dumps(cell) if isinstance(cell, list | dict) else cell for name, cell in row.items()}
        table.writerow(plain | {"annotator": str(row["annotator"])})
    path.write_text(out.getvalue(), encoding="utf-8", newline="")
    return path


def flat(task, one):
    """A row of JSON_MIN: one choice or text stands alone, a number in a list of one object."""
    values = {}
    for r in one["result"]:
        inner = r["value"]
        values[r["from_name"]] = [inner] if "number" in inner else next(iter(inner.values()))[0]
    kept = ("created_at", "updated_at", "lead_time")
    about = {"id": task["id"], "annotator": one["completed_by"], "annotation_id": one["id"]}
    return {**task["data"], **values, **about, **{name: one[name] for name in kept}}


@pytest.mark.parametrize("kind", ["JSON", "JSON_MIN", "CSV", "TSV"])
def test_what_was_said_comes_back(task, exported, people, alike, kind):
    got = label_studio_answers(exported(task, kind))
    assert list(got) == list(ANSWERS)
    alike(got, people[2](task))
    assert got.groupby(["item", "rater"])["seconds"].sum().eq(10.5).all()
    assert got["time"].str.fullmatch(r"2026-11-22T19:16:\d\d\.070223Z").all()


@pytest.mark.parametrize("kind", ["JSON", "JSON_MIN", "CSV", "TSV"])
def test_pairs_are_turned_back_and_accounts_are_raters_where_no_name_was_meant(pairs, exported, people, alike, kind):
    alike(label_studio_answers(exported(pairs, kind)), people[2](pairs, raters={"": "1"}))


def test_each_task_says_for_whom_it_is(task, pairs, tmp_path):
    data = [one["data"] for one in json.loads(write_label_studio(task, tmp_path / "task.json").read_text())]
    assert [one["annotator"] for one in data] == ["anna"] * 6 + ["ben/<i>"] * 5
    data = [one["data"] for one in json.loads(write_label_studio(pairs, tmp_path / "pair.json").read_text())]
    assert "annotator" not in data[0]
    assert (data[0]["text2"], data[1]["text2"]) == ("A0", "B1"), "the second pair is shown the other way round"


def test_texts_are_texts(task, tmp_path):
    """No half character and no NUL, which its database refuses; each text under the name that the interface shows."""
    path = write_label_studio(task, tmp_path / "task.json")
    data = [one["data"] for one in json.loads(path.read_text("utf-8"))]
    assert data[3]["text2"] == "nul \u2400 escape \u241b[31m half \ufffd bidi \u202e line \u2028 end"
    shown = ET.fromstring(path.with_suffix(".xml").read_text("utf-8"))
    values = [one.get("value") for one in shown.iter() if (one.get("value") or "").startswith("$")]
    assert values == ["$text1", "$text2"], "no other dollar is a variable"
    assert all(set(values) <= {f"${name}" for name in one} for one in data)


def test_the_interface_asks_what_the_task_asks(task, tmp_path):
    shown = ET.fromstring(write_label_studio(task, tmp_path / "t.json").with_suffix(".xml").read_text("utf-8"))
    controls = {one.get("name"): one for one in shown.iter() if one.get("toName")}
    assert list(controls) == ["c1", "c2", "c2_cannot_say", "c3", "comment"]
    assert [one.get("alias") for one in controls["c1"]] == ["1", "2", "3", "cannot_say"]
    assert [one.get("value") for one in controls["c3"]] == ["0 no", "0.1 =yes, no", "cannot say"]
    assert (controls["c2"].get("min"), controls["c2"].get("max")) == ("0.0", "100.0")
    keys = [one.get("hotkey") for one in shown.iter("Choice")]
    assert len(set(keys)) == len(keys), "each key means one thing"
    assert {one.get("toName") for one in controls.values()} <= {one.get("name") for one in shown.iter("Text")}


def test_its_own_package_takes_both_files(task, pairs, tmp_path):
    interface = pytest.importorskip("label_studio_sdk.label_interface")
    for one in (task, pairs):
        path = write_label_studio(one, tmp_path / "task.json")
        known = interface.LabelInterface(path.with_suffix(".xml").read_text("utf-8"))
        known.validate()
        assert all(map(known.validate_task, json.loads(path.read_text("utf-8"))))


def test_skipped_empty_drafted_and_predicted_are_no_labels(pairs, tmp_path):
    tasks = json.loads(write_label_studio(pairs, tmp_path / "task.json").read_text())
    one = [result("c1", 1)]
    given = [
        [annotation(one, 1, was_cancelled=True)],
        [annotation([], 1)],
        [annotation([result("other", 1), {"from_name": None, "type": "relation"}], 1)],
        [],
        [annotation(one, 2)],
        [annotation(one, {"id": 7, "email": "ben@example.org"})],
    ]
    spare = {"drafts": [{"result": one, "user": "boss@example.org"}], "predictions": [{"result": one}]}
    full = [{"id": k, "annotations": a, **spare, **t} for k, (a, t) in enumerate(zip(given, tasks, strict=True))]
    got = label_studio_answers(written(full, "JSON", tmp_path))
    assert list(zip(got["item"], got["rater"], strict=True)) == [
        ("gpt-4o vs llama/4", "2"), ("gpt-4o vs llama/5", "ben@example.org"),
    ]  # fmt: skip


def test_of_several_annotations_by_one_account_the_last_counts(pairs, tmp_path):
    (first, *_) = json.loads(write_label_studio(pairs, tmp_path / "task.json").read_text())
    given = [
        annotation([result("c1", 1)], 1, 9),
        annotation([result("c1", 0)], 1, 3),
        annotation([result("c1", 0.5)], 2),
    ]
    got = label_studio_answers(written([{"id": 1, "annotations": given, **first}], "JSON", tmp_path))
    assert dict(zip(got["rater"], got["score"], strict=True)) == {"1": 1.0, "2": 0.5}


def test_an_id_may_hold_half_a_character(pairs, exported):
    (sheet,) = pairs.sheets
    odd = replace(
        pairs, sheets=(replace(sheet, records=(replace(sheet.records[0], item="a\ud800"), *sheet.records[1:])),)
    )
    assert label_studio_answers(exported(odd))["item"].tolist()[0] == "a\ud800"


def test_names_are_kept_only_where_each_had_an_account(task, exported):
    assert set(label_studio_answers(exported(task))["rater"]) == {"anna", "ben/<i>"}
    assert set(label_studio_answers(exported(task, accounts={"anna": 5, "ben/<i>": 5}))["rater"]) == {"5"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"id": 1, "annotations": [', r"out\.json: not a table in Label Studio's JSON"),
        ("\udcff", r"out\.json: not a table in Label Studio's JSON"),
        ('{"a": 1}', r"must be a list of tasks"),
        ('[{"id": 3, "annotations": [], "data": {"text": "x"}}]', r"out\.json, task 3: must have what calib put"),
        ('[{"id": 3, "annotations": [], "data": {"calib": {"page": "x"}}}]', r"task 3: must have what calib put"),
        ('[{"id": 3, "annotations": []}]', r"task 3: must have what calib put"),
    ],
)
def test_other_files_are_refused(tmp_path, text, message):
    (tmp_path / "out.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(TableError, match=message):
        label_studio_answers(tmp_path / "out.json")


def test_the_file_that_was_imported_is_no_export(task, tmp_path):
    path = write_label_studio(task, tmp_path / "task.json")
    with pytest.raises(TableError, match=r"may be the file that was imported"):
        label_studio_answers(path)


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ([result("c1", 4)], r"out\.json, task 1: 'fluency \$x <b>' must be 1 poor, 2, 3 good, cannot say, but got '4'"),
        ([result("c2", 101)], r"'=share' must be a number from 0 to 100, or: cannot say, but got 101"),
        ([result("c2", 5), result("c2", "cannot_say")], r"'=share' must be .* but got both"),
    ],
)
def test_answers_off_the_scale_are_refused(task, tmp_path, results, message):
    (first, *_) = json.loads(write_label_studio(task, tmp_path / "task.json").read_text())
    path = written([{"id": 1, "annotations": [annotation(results, 1)], **first}], "JSON", tmp_path)
    with pytest.raises(TableError, match=message):
        label_studio_answers(path)


def test_tasks_of_two_pages_are_refused(task, pairs, tmp_path):
    tasks = [json.loads(write_label_studio(one, tmp_path / "task.json").read_text())[0] for one in (task, pairs)]
    full = [{"id": k, "annotations": [annotation([result("c1", 1)], 1)], **one} for k, one in enumerate(tasks)]
    with pytest.raises(TableError, match=r"task \d: is of another page than out\.json, task \d"):
        label_studio_answers(written(full, "JSON", tmp_path))
