"""From chosen items through a form of another tool to an interval: the labels given directly make the same one."""

import json

import openpyxl
import pandas as pd
import pytest

import calib
from calib.labelling.record import decoded_id

FIVE = "1|2|3|4|5"


@pytest.fixture(scope="module")
def planted():
    items, people = calib.load_planted()
    judge = calib.summarize(people[people["rater"] == "simulated-1"], items)
    drawn = calib.choose(judge[judge["criterion"] == "fluency"], 40, rng=1)
    return items, drawn, {item: 1 + place % 5 for place, item in enumerate(sorted(drawn["item"].astype(str)))}


def of_workbooks(paths, label):
    for path in paths:
        book = openpyxl.load_workbook(path)
        labels = book["labels"]
        (column,) = (cell.column for cell in labels[1] if cell.value == "c1")
        for row in range(3, labels.max_row + 1):
            labels.cell(row, column).value = label[decoded_id(labels.cell(row, 1).value)]
        book.save(path)
    return paths


def of_label_studio(paths, label):
    tasks = json.loads(paths[0].read_text())
    for number, task in enumerate(tasks):
        value = {"choices": [str(label[decoded_id(task["data"]["calib"]["item"])])]}
        result = {"from_name": "c1", "to_name": "text1", "type": "choices", "value": value}
        account = {"id": 3, "email": f"{task['data']['annotator']}@example.org"}
        done = {"id": number, "completed_by": account, "lead_time": 9.0, "created_at": "2026-01-01T10:00:00.0Z"}
        task |= {"id": number, "annotations": [done | {"result": [result]}]}
    paths[0].write_text(json.dumps(tasks))
    return paths[:1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("to", "ending", "answered"), [("xlsx", ".xlsx", of_workbooks), ("label-studio", ".json", of_label_studio)]
)
def test_labels_make_the_interval_that_they_make_directly(planted, tmp_path, to, ending, answered):
    items, drawn, label = planted
    pages = calib.label(
        items, drawn, annotators=["ann", "bo"], overlap=10, to=to, scale=FIVE, path=tmp_path / f"label{ending}"
    )
    labels = calib.read_labels(answered(pages.paths, label), drawn=drawn)
    assert (len(labels.ratings), set(labels.ratings["rater"])) == (50, {"ann", "bo"})
    given = labels.ratings[["item", "rater"]].astype(str)
    direct = given.assign(criterion="fluency", scale=FIVE, score=[float(label[item]) for item in given["item"]])
    found, wanted = (calib.interval(drawn, people).one() for people in (labels, pd.DataFrame(direct)))
    assert (found.estimate, *found.interval) == (wanted.estimate, *wanted.interval)
