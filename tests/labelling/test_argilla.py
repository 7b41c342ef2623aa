"""Argilla: files that its package reads, files as its package writes them.

The forms below were taken from the package argilla 2.8.0: `Settings.from_json`, `Record.from_dict` and `to_dict`, and
`GenericIO.to_list`, which `dataset.to_disk`, `dataset.records.to_json` and `dataset.records.to_list` call.
"""

import json
import uuid
import warnings

import pytest

import calib
from calib.core.check import CalibWarning
from calib.labelling.argilla import argilla_answers, settings_beside, write_argilla
from calib.labelling.task import ANSWERS
from calib.table import TableError

ONE, TWO = str(uuid.UUID(int=1)), str(uuid.UUID(int=2))


def as_text(value):
    return value if value == "cannot_say" else str(value)


def answered(record, values, user=ONE, status="submitted"):
    """A record with what a user said, each response with its status, which `nested` leaves out."""
    given = {question: list(of_users) for question, of_users in record["responses"].items()}
    for question, value in values.items():
        given.setdefault(question, []).append({"value": value, "user_id": user, "status": status})
    return record | {"responses": given, "status": "completed" if status == "submitted" else "pending"}


def nested(records):
    """As `dataset.records.to_json` writes them: without a status."""
    return [
        one | {"responses": {q: [{"value": r["value"], "user_id": r["user_id"]} for r in of_users]
                             for q, of_users in one["responses"].items()}, "_server_id": None}
        for one in records
    ]  # fmt: skip


def flattened(records):
    """As `dataset.records.to_list(flatten=True)` gives them."""
    rows = []
    for one in records:
        row = {"id": one["id"], "status": one["status"], "_server_id": None, **one["fields"], **one["metadata"]}
        for question, of_users in one["responses"].items():
            row[f"{question}.responses"] = [r["value"] for r in of_users]
            row[f"{question}.responses.users"] = [r["user_id"] for r in of_users]
            row[f"{question}.responses.status"] = [r["status"] for r in of_users]
        rows.append(row)
    names = {name for row in rows for name in row}
    return [dict.fromkeys(names) | row for row in rows]


@pytest.fixture
def labelled(tmp_path, people):
    """The records of one annotator, answered."""
    say, comment, _ = people

    def label(task, sheet):
        path = write_argilla(task, sheet, tmp_path / f"label-{task.sheets.index(sheet)}.json")
        records = []
        for position, record in enumerate(json.loads(path.read_text()), start=1):
            values = {code: as_text(one) for code, one in say(task, sheet, position).items() if one is not None}
            records.append(answered(record, values | ({"comment": comment(position)} if comment(position) else {})))
        return records

    return label


def stored(records, path):
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


def on_disk(records, task, folder):
    """As `dataset.to_disk` leaves it."""
    (folder / ".argilla").mkdir(parents=True)
    write_argilla(task, task.sheets[0], folder / "x.json")
    settings_beside(folder / "x.json").rename(folder / ".argilla" / "settings.json")
    (folder / "x.json").unlink()
    stored(records, folder / "records.json")
    return folder


def of_first(task, people, **raters):
    """What the first annotator said."""
    sheet = task.sheets[0]
    expected = people[2](task, **raters)
    return expected[expected["item"].isin([one.item for one in sheet.asked]) & (expected["rater"] != "ben/<i>")]


@pytest.mark.parametrize("form", ["flat", "disk"])
def test_what_was_said_comes_back(task, labelled, people, alike, tmp_path, form):
    records = labelled(task, task.sheets[0])
    flat = form == "flat"
    path = stored(flattened(records), tmp_path / "o.json") if flat else on_disk(nested(records), task, tmp_path / "d")
    got = argilla_answers(path)
    assert list(got) == list(ANSWERS)
    assert got["seconds"].isna().all(), "Argilla keeps no time"
    assert got["time"].eq("").all()
    alike(got, of_first(task, people))


@pytest.mark.parametrize("form", [flattened, nested])
def test_pairs_are_turned_back_and_users_are_raters_where_no_name_was_meant(
    pairs, labelled, people, alike, tmp_path, form
):
    path = stored(form(labelled(pairs, pairs.sheets[0])), tmp_path / "label-0.json")
    alike(argilla_answers(path), people[2](pairs, raters={"": ONE}))


def test_read_labels_reads_both_forms(task, labelled, tmp_path):
    paths = [
        stored(form(labelled(task, sheet)), tmp_path / f"label-{number}.json")
        for number, (sheet, form) in enumerate(zip(task.sheets, (nested, flattened), strict=True))
    ]
    assert set(calib.read_labels(paths).ratings["rater"].astype(str)) == {"anna", "ben/<i>"}


def test_drafts_and_what_was_discarded_are_no_labels(pairs, labelled, tmp_path):
    (record, *_) = labelled(pairs, pairs.sheets[0])
    plain = record | {"responses": {}}
    records = [answered(plain, {"c1": "1"}, ONE, "draft"), answered(plain, {"c1": "1"}, TWO, "discarded")]
    records.append(answered(answered(plain, {"c1": "0"}, ONE, "discarded"), {"c1": "0.5"}, TWO))
    got = argilla_answers(stored(flattened(records), tmp_path / "o.json"))
    assert list(zip(got["rater"], got["score"], strict=True)) == [(TWO, 0.5)]
    assert argilla_answers(on_disk(nested(records[:2]), pairs, tmp_path / "d")).empty, "nobody submitted: pending"


def test_where_nothing_tells_what_was_submitted_it_is_said(task, labelled, tmp_path):
    """Two users of a record that one response completes: one of them may have a draft."""
    (record, *_) = labelled(task, task.sheets[0])
    record["responses"] = {}
    whole = answered(record, {"c1": "1", "c2": "7", "c3": "0"}, ONE)
    records = nested([answered(whole, {"c1": "2", "c2": "8"}, TWO, "draft") | {"status": "completed"}])
    with pytest.warns(CalibWarning, match=r"unknown_status: .*does not say of 2 responses"):
        got = argilla_answers(on_disk(records, task, tmp_path / "d"))
    assert got["score"].tolist() == [1, 7, 0], "of whom all was answered"


def test_one_response_with_the_settings_beside_is_sure(task, labelled, tmp_path):
    records = labelled(task, task.sheets[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(argilla_answers(on_disk(nested(records), task, tmp_path / "d")))
    with pytest.warns(CalibWarning, match="unknown_status"):
        argilla_answers(stored(nested(records), tmp_path / "alone.json"))


def test_what_annotators_see_tells_no_system(task, tmp_path):
    path = write_argilla(task, task.sheets[0], tmp_path / "a.json")
    told = path.read_text("utf-8") + settings_beside(path).read_text("utf-8")
    assert "gpt-4o" not in told


def test_texts_are_texts_that_its_database_takes(task, tmp_path):
    records = json.loads(write_argilla(task, task.sheets[0], tmp_path / "a.json").read_text())
    assert records[3]["fields"]["text2"] == "nul \u2400 escape \u241b[31m half \ufffd bidi \u202e line \u2028 end"
    settings = json.loads(settings_beside(tmp_path / "a.json").read_text())
    assert not any(one["settings"]["use_markdown"] for one in settings["fields"])
    assert [one["name"] for one in settings["fields"]] == list(records[0]["fields"])


def test_questions_ask_what_the_task_asks(task, tmp_path):
    write_argilla(task, task.sheets[0], tmp_path / "a.json")
    settings = json.loads((tmp_path / "a.settings.json").read_text())
    levels, number, _, comment = settings["questions"]
    assert [one["text"] for one in levels["settings"]["options"]] == ["1 poor", "2", "3 good", "cannot say"]
    assert "a number from 0 to 100, or: cannot say" in number["description"]
    assert (number["required"], comment["required"]) == (True, False)
    assert settings["guidelines"].startswith("=Read.\n\nIt costs $5 <b>.\n\nfluency $x <b>: Is it")


def test_its_own_package_reads_both_files(task, tmp_path):
    rg = pytest.importorskip("argilla")
    path = write_argilla(task, task.sheets[0], tmp_path / "a.json")
    rg.Settings.from_json(settings_beside(path)).validate()
    assert [rg.Record.from_dict(one).id for one in json.loads(path.read_text())]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"id": ', r"o\.json: not a table in Argilla's JSON"),
        ('{"id": 1}', r"o\.json: must be a list of records"),
        ('[{"id": 1, "responses": {}, "metadata": {}}]', r"o\.json, record 1: must have what calib put"),
        ('[{"id": 1, "responses": {"c1": [{"value": "1"}]}}]', r"record 1: its responses must be as Argilla writes"),
        ('[{"id": 1, "responses": [1]}]', r"record 1: its responses must be as Argilla writes"),
    ],
)
def test_other_files_are_refused(tmp_path, text, message):
    (tmp_path / "o.json").write_text(text)
    with pytest.raises(TableError, match=message):
        argilla_answers(tmp_path / "o.json")


def test_answers_off_the_scale_are_refused(task, labelled, tmp_path):
    records = labelled(task, task.sheets[0])
    odd = answered(records[1] | {"responses": {}}, {"c1": "1", "c2": "many", "c3": "0"})
    with pytest.raises(TableError, match=r"o\.json, record 1, user 0{8}-.*'=share' must be a number .* but got 'many'"):
        argilla_answers(stored(flattened([odd]), tmp_path / "o.json"))
