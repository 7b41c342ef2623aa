"""What a view holds: tables of a run of any form, labels beside them, intervals, what changed; and its command."""

import json
import shlex
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from view_data import HOSTILE, about, frames_in, run_of, session

import calib
from calib.cli import main
from calib.judge.calls.store import Store

COLUMNS = {"item": "id", "judge": "judge", "label": "label", "system": "model", "scale": "1|2|3|4|5"}


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """Ratings of the embedded judge with their store, people's labels, texts."""
    items, people = calib.load_planted()
    items = items.head(60)
    store = tmp_path_factory.mktemp("view") / "run.sqlite"
    ratings = calib.rate(items, calib.geval_prompt("fluency"), calib.Judge("offline"), progress=False, store=store)
    labels = people[(people["criterion"] == "fluency") & people["item"].isin(items["item"])]
    return items, ratings, labels, store


@pytest.fixture(scope="module")
def page(planted):
    items, ratings, labels, store = planted
    return calib.view(ratings, labels=labels, items=items, store=store).text


def test_ratings_with_labels_texts_and_calls(planted, page):
    items, ratings, labels, _ = planted
    frames = frames_in(page)
    scores, rows = calib.summarize(ratings, items), frames["rows"]
    assert rows["score"].tolist() == scores["score"].tolist()
    assert rows["entropy"].tolist() == scores["entropy"].tolist()
    people = labels.groupby("item", observed=True)["score"].mean().reindex(rows["item"])
    assert rows["label"].tolist() == people.tolist()
    assert rows["gap"].tolist() == (rows["score"] - rows["label"]).tolist()
    assert rows["output"].tolist() == items["output"].tolist()
    assert rows["defect"].tolist() == items["defect"].tolist()
    assert len(frames["draws"]) == len(ratings)
    assert len(frames["labels"]) == len(labels)
    calls = frames["calls"]  # a reply goes to the item whose texts are in its prompt
    assert rows["item"][calls["row"]].tolist() == calls["item"].tolist()
    assert all(items.set_index("item")["output"][one.item] in one.prompt for one in calls.itertuples())


def test_intervals_are_those_of_interval(planted, page):
    items, ratings, labels, _ = planted
    scores, people = calib.summarize(ratings, items), calib.summarize(labels, items, pool="rater")
    shown = {(one["column"], one["value"]): (one["low"], one["high"]) for one in about(page)["intervals"]}
    assert shown["", ""] == pytest.approx(tuple(calib.interval(scores, people)[0].interval), rel=1e-12)
    registers = scores.merge(items[["item", "register"]], on="item")
    found = calib.interval(registers, people, by="register")
    for label, result in zip(found.labels, found, strict=True):
        assert shown["register", label["register"]] == pytest.approx(tuple(result.interval), rel=1e-12)
    few = scores["system"].value_counts()
    assert not [value for column, value in shown if column == "system" and few[value] < 10]


def test_a_slice_keeps_its_interval_where_another_has_too_few_labels_of_scored_items():
    mine = pd.DataFrame({"id": [f"i{k}" for k in range(30)], "topic": list("ab") * 15})
    mine["judge"] = np.arange(30) % 5 + 1.0
    mine["label"] = mine["judge"].where(mine.index < 20)
    mine.loc[0, "judge"] = np.nan  # of topic a nine labels count
    told = about(calib.view(mine, item="id", judge="judge", label="label", scale="1|2|3|4|5").text)
    assert {(one["column"], one["value"]) for one in told["intervals"]} >= {("", ""), ("topic", "b")}
    assert ("topic", "a") not in {(one["column"], one["value"]) for one in told["intervals"]}
    assert told["reasons"] == []


def test_two_prompts_have_an_interval_each(planted):
    items, _, labels, _ = planted
    prompts = calib.geval_prompt("fluency").variants(2)
    ratings = calib.rate(items, prompts, calib.Judge("offline"), progress=False)
    told = about(calib.view(ratings, items=items, labels=labels.head(90)).text)
    assert "prompt" not in told["slices"]
    shown = {one["prompt"]: one["estimate"] for one in told["intervals"] if not one["column"]}
    found = calib.interval(calib.summarize(ratings, items), calib.summarize(labels.head(90), items, pool="rater"))
    each = {label["prompt"]: one.estimate for label, one in zip(found.labels, found, strict=True)}
    assert shown == pytest.approx(each, rel=1e-12)
    assert not [reason for reason in told["reasons"] if reason.startswith("group: ")]


def test_own_file_in_one_call():
    mine = run_of(60)
    rows = frames_in(calib.view(mine, **COLUMNS).text)["rows"]
    assert rows["item"].tolist() == mine["id"].tolist()
    assert rows["topic"].tolist() == mine["topic"].tolist()
    assert rows["output"].tolist() == mine["response"].tolist()
    assert rows["label"].equals(mine["label"])
    assert rows["judge sure and wrong"].sum() == 0, "one number a row says nothing of how sure"


def test_own_file_with_a_row_for_each_reading():
    mine = pd.DataFrame({"id": list("aabbcc"), "score": [4, 5, 2, 2, 3, 1], "output": ["x", "x", "y", "y", "z", "z"]})
    frames = frames_in(calib.view(mine, item="id", judge="score").text)
    assert frames["rows"][["item", "score"]].to_numpy().tolist() == [["a", 4.5], ["b", 2.0], ["c", 2.0]]
    assert frames["draws"]["score"].tolist() == [4, 5, 2, 2, 3, 1]


def test_log_of_another_tool(tmp_path):
    rows = [
        {"input": f"Why {k}?", "output": f"So {k}.", "expected": None, "scores": {"tone": k / 4 if k else None}}
        for k in range(5)
    ]
    (tmp_path / "log.json").write_text(json.dumps(rows))
    frames = frames_in(calib.view(tmp_path / "log.json", rater="gpt").text)
    assert frames["rows"]["output"].tolist() == [f"So {k}." for k in range(5)]
    assert frames["rows"]["not read"].tolist() == [1, 0, 0, 0, 0]
    assert frames["rows"]["status"].tolist()[1:] == ["ok"] * 4
    assert frames["rows"]["status"][0] != "ok"


def test_store_and_items_alone(planted):
    items, _, _, store = planted
    frames = frames_in(calib.view(store, items=items).text)
    assert set(frames["rows"]["item"]) == set(items["item"])
    assert frames["calls"]["reply"].notna().all()
    assert frames_in(calib.view(items).text)["rows"]["output"].tolist() == items["output"].tolist()


def test_a_damaged_store_shows_what_it_has(tmp_path):
    with Store(tmp_path / "run.sqlite") as store:
        store.put(["a"], {"model": "m", "messages": [{"role": "user", "content": "Rate."}]}, b"not json")
        store.put(["b"], {"messages": "none"}, b'{"choices": [{"message": {"content": "4"}}]}')
    with closing(sqlite3.connect(tmp_path / "run.sqlite")) as db:
        db.execute("UPDATE replies SET arrived = 1e300 WHERE id = 1")
        db.execute("UPDATE requests SET body = '[1, 2' WHERE body LIKE '%none%'")
        db.commit()
    calls = frames_in(calib.view(tmp_path / "run.sqlite").text)["calls"]
    assert calls["finish"].tolist()[0] == "broken"
    assert calls["raw"][0] == "not json"
    assert calls["reply"][1] == "4"


def test_half_characters_and_lists_stop_nothing(tmp_path):
    cut = "So it \ud83d"  # as a model leaves a text that was cut
    own = [{"id": f"i{k}", "output": cut, "topic": cut, "tags": ["a", "b"][: k % 2], "judge": k % 5} for k in range(20)]
    (tmp_path / "run.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in own))
    rows = frames_in(calib.view(tmp_path / "run.jsonl", item="id", judge="judge").text)["rows"]
    assert set(rows["output"]) == set(rows["topic"]) == {"So it \ufffd"}
    log = [{"input": cut, "output": cut, "expected": None, "scores": {"tone": k / 4}} for k in range(5)]
    (tmp_path / "log.json").write_text(json.dumps(log))
    assert set(frames_in(calib.view(tmp_path / "log.json", rater="g").text)["rows"]["output"]) == {"So it \ufffd"}
    items = pd.DataFrame({"item": ["a", "b"], "output": [cut, "x"], "tags": [["x"], ["x", "y"]]}, dtype=object)
    prompt, judge = calib.geval_prompt("fluency", inputs=("output",)), calib.Judge("offline")
    ratings = calib.rate(items, prompt, judge, progress=False, store=tmp_path / "run.sqlite")
    people = items[["item"]].assign(criterion="fluency", rater="x", method="human", score=3.0, scale="1|2|3|4|5")
    frames = frames_in(calib.view(ratings, items=items, labels=people, store=tmp_path / "run.sqlite").text)
    assert frames["rows"]["tags"].tolist() == ["['x']", "['x', 'y']"]
    assert frames["calls"]["item"].tolist() == ["a", "b"]
    assert "So it \ufffd" in frames["calls"]["prompt"][0]


def test_columns_that_a_page_has_itself_stand_apart():
    mine = run_of(30).assign(gap="mine", **{"not read": 7.0})
    rows = frames_in(calib.view(mine, **COLUMNS).text)["rows"]
    assert rows["gap"].equals(rows["score"] - rows["label"])
    assert set(rows["my gap"]) == {"mine"}
    assert set(rows["not read"]) == {0.0}


def test_flags_follow_their_rules():
    shares = [("a", 5, 0.99), ("a", 4, 0.01), ("b", 5, 0.5), ("b", 4, 0.5), ("c", 2, 1.0)]
    ratings = pd.DataFrame(shares, columns=["item", "score", "weight"])
    ratings = ratings.assign(criterion="q", rater="j", method="logprob", scale="1|2|3|4|5")
    given = [("a", "x", 1), ("b", "x", 1), ("c", "x", 2), ("a", "y", 3), ("b", "y", 1), ("c", "y", 2)]
    labels = pd.DataFrame(given, columns=["item", "rater", "score"])
    labels = labels.assign(criterion="q", method="human", scale="1|2|3|4|5")
    rows = frames_in(calib.view(ratings, labels=labels).text)["rows"].set_index("item")
    assert rows["judge sure and wrong"].to_dict() == {"a": 1, "b": 0, "c": 0}
    assert rows["annotators disagree"].to_dict() == {"a": 1, "b": 0, "c": 0}


def talks_of(n=10, turn=5):
    ids = [f"q{k}" for k in range(n)]
    return pd.DataFrame({"item": ids, "messages": [session(2)] * n, "turn": turn, "score": np.arange(n) % 3 + 1.0})


def as_file(folder, frame):
    frame.to_json(folder / "run.jsonl", orient="records", lines=True)
    return folder / "run.jsonl"


@pytest.mark.parametrize(
    "form", ["own file", "own frame", "items", "scores and items", "texts of JSON", "labels", "readings"]
)
def test_messages_are_shown_as_a_conversation(form, tmp_path):
    own = talks_of()
    items = own[["item", "messages", "turn"]]
    scores = own[["item", "score"]].assign(criterion="q", rater="j", method="given", scale="1|2|3")
    page = {
        "own file": lambda: calib.view(as_file(tmp_path, own), judge="score"),
        "own frame": lambda: calib.view(own, judge="score"),
        "items": lambda: calib.view(items),
        "scores and items": lambda: calib.view(scores, items=items),
        "texts of JSON": lambda: calib.view(own.assign(messages=[json.dumps(one) for one in own["messages"]])),
        "labels": lambda: calib.view(own.rename(columns={"score": "label"})),
        "readings": lambda: calib.view(pd.concat([own, own.assign(score=1.0)]), item="item", judge="score"),
    }[form]().text
    rows = frames_in(page)["rows"]
    assert rows["turn"].tolist() == [5] * 10
    parts = rows["conversation"][9]
    assert [one[0] for one in parts[:5]] == ["role_system", "role_user", "tool_call", "tool_result", "role_assistant"]
    assert [(one[3], one[5]) for one in parts[:5]] == [(True, 1), (False, 2), (False, 3), (True, 4), (False, 5)]
    assert parts[2][1:3] == [{"call": 1, "tool": "look_up"}, '{"order": 0}']
    assert not [name for name in rows if "messages" in name]
    assert "conversation" not in about(page)["slices"]


def test_marked_turns_become_a_page_to_label(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    as_file(tmp_path, talks_of())
    command = about(calib.view("run.jsonl", judge="score").text)["commands"]["label"]
    (tmp_path / "marks.csv").write_text("item\nq3\nq7\n")
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(command)[1:])
    assert ended.value.code == 0
    page = (tmp_path / "label.html").read_text(encoding="utf-8")
    assert page.count('"It is **on its way**, number 0.",false,true,5]') == 1, "up to the turn, which both have"
    assert "number 1." not in page


def test_what_is_no_conversation_stays_its_text_and_is_named():
    talks = [session(2)] * 3 + [[{"role": "bot", "content": "<b>Hi"}]] + [session(2)] * 6
    own = talks_of().assign(messages=talks)
    for run, items in ((own, None), (own[["item", "score"]], own[["item", "messages"]])):
        with pytest.warns(calib.stats.CalibWarning, match="messages_unread: the messages of 1 items .*'q3', message 1"):
            page = calib.view(run, items=items, item="item", judge="score").text
        assert frames_in(page)["rows"]["conversation"][3] == "[{'role': 'bot', 'content': '<b>Hi'}]"
        assert about(page)["notes"][0].startswith("messages_unread")
    page = calib.view(
        own[["item", "score"]], items=own[["item", "messages"]].iloc[4:8], judge="score", item="item"
    ).text
    assert frames_in(page)["rows"]["conversation"].isna().tolist() == [True] * 4 + [False] * 4 + [True] * 2
    assert about(page)["notes"] == [], "an item without a conversation is no fault"
    plain = calib.view(talks_of().assign(messages=7, output="An answer."), item="item", judge="score").text
    assert "conversation" not in frames_in(plain)["rows"]


def test_a_turn_may_be_a_text_and_one_that_is_no_message_is_named():
    texts = calib.view(talks_of(turn="5"), item="item", judge="score").text
    assert frames_in(texts)["rows"]["turn"].tolist() == [5] * 10
    with pytest.warns(calib.stats.CalibWarning, match="the turn of 3 items is no number of their messages"):
        astray = calib.view(talks_of(turn=[5] * 7 + [99, 0, 2.5]), item="item", judge="score").text
    assert about(astray)["notes"][0].endswith("(first: 'q7', 99.0).")


def test_one_long_message_is_cut_no_more_than_it_must():
    messages = [{"role": "user", "content": "a"}] * 300 + [{"role": "user", "content": "b" * 1_100_000}]
    page = calib.view(pd.DataFrame({"item": ["a"], "messages": [messages]})).text
    start, gone, end = frames_in(page)["rows"]["conversation"][0][-1][2]
    assert gone == 100_300
    assert len(start) + len(end) == 999_700


def test_a_conversation_too_long_for_a_page_is_cut_and_says_how_much(tmp_path):
    many = [{"role": "user", "content": f"m{k}"} for k in range(10_000)]
    long = [{"role": "user", "content": "a" * 10_000_000 + "end"}, {"role": "assistant", "content": "ok"}]
    items = pd.DataFrame({"item": ["many", "long"], "messages": [many, long], "turn": [5000, 2]})
    view = calib.view(as_file(tmp_path, items))
    many, long = frames_in(view.text)["rows"]["conversation"]
    left = [part[1]["n"] for part in many if part[0] == "left_out"]
    there = [part[5] for part in many if part[0] != "left_out"]
    assert sum(int(n.replace(",", "")) for n in left) + len(there) == 10_000
    assert len(there) < 1000
    assert {1, 300, 4900, 5000, 5100, 9701, 10_000} <= set(there)
    start, gone, end = long[0][2]
    assert len(start) + gone + len(end) == 10_000_003
    assert end.endswith("end")
    assert long[1][2] == "ok"
    assert len(view.text) < 200_000


def test_calls_about_conversations_find_their_items(tmp_path):
    items = talks_of(4, turn=[5, 9, 13, 17]).assign(messages=[session(4)] * 4)[["item", "messages", "turn"]]
    prompt = calib.geval_prompt("task-completed", inputs=("messages", "turn"))
    judge = calib.Judge("offline")
    ratings = calib.rate(items, prompt, judge, progress=False, store=tmp_path / "run.sqlite")
    frames = frames_in(calib.view(ratings, items=items, store=tmp_path / "run.sqlite").text)
    assert frames["calls"]["item"].tolist() == ["q0", "q1", "q2", "q3"]
    assert frames["rows"]["item"][frames["calls"]["row"]].tolist() == frames["calls"]["item"].tolist()


def test_scales_that_differ_make_no_gap():
    scores = pd.DataFrame({"item": list("ab"), "criterion": "q", "rater": "j", "score": [0.2, 0.9], "scale": "0..1"})
    labels = scores.assign(rater="x", method="human", score=[1.0, 5.0], scale="1|2|3|4|5")
    with pytest.warns(calib.stats.CalibWarning, match="scales_differ"):
        rows = frames_in(calib.view(scores.assign(method="given"), labels=labels).text)["rows"]
    assert rows["gap"].isna().all()
    assert rows["label"].tolist() == [1, 5]


def test_two_runs_by_task():
    before, now = run_of(40, rng=1), run_of(40, rng=2)
    now = now.iloc[::-1].assign(prompt=before["prompt"].iloc[::-1]).drop(columns="label")
    before = before.drop(columns="label")
    columns = {"item": "id", "judge": "judge", "scale": "1|2|3|4|5"}
    page = calib.view(now.drop(columns="model"), against=before.drop(columns="model"), **columns).text
    rows = frames_in(page)["rows"].set_index("item")
    old = before.set_index("id")
    assert rows["score before"].to_dict() == old["judge"].to_dict()
    assert rows["output before"].to_dict() == old["response"].to_dict()
    assert rows["change"].tolist() == (rows["score"] - rows["score before"]).tolist()
    runs = {"the earlier run": before.drop(columns="model"), "this run": now.drop(columns="model")}
    result = calib.compare_runs(runs, **columns)
    assert about(page)["comparison"]["says"] == calib.conclusions(result)


def test_hostile_texts_stay_data(tmp_path):
    mine = pd.DataFrame(
        {"id": [f"{k} {text[:300]}." for k, text in enumerate(HOSTILE)], "output": HOSTILE}, dtype=object
    )
    mine = mine.assign(score=np.arange(len(mine)) % 5 + 1, remark=pd.Series(HOSTILE, dtype=object))
    page = calib.view(mine, tmp_path / "run.html", item="id", judge="score", title=HOSTILE[1]).text
    assert page.count("<script>") == 1
    assert "onerror" not in page.replace("onerror='window", "") and "DROP TABLE" not in page
    rows = frames_in((tmp_path / "run.html").read_text(encoding="utf-8"))["rows"]
    assert rows["output"][0] == HOSTILE[0]
    assert rows["output"].tolist() == HOSTILE


def test_too_much_text_is_left_out_and_named(monkeypatch):
    monkeypatch.setattr(sys.modules["calib.view.view"], "_MOST_TEXT", 5000)
    with pytest.warns(calib.stats.CalibWarning, match="texts_left_out"):
        page = calib.view(run_of(60, length=200), **COLUMNS).text
    assert "output" not in frames_in(page)["rows"]
    assert about(page)["notes"][0].startswith("texts_left_out")


def test_a_page_is_the_same_again_and_shows_in_a_notebook():
    one, two = (calib.view(run_of(20), **COLUMNS) for _ in range(2))
    assert one.text == two.text
    assert one._repr_html_().count("<iframe srcdoc=") == 1
    assert "<script" not in one._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"path": "run.txt"}, "path"), ({"store": "missing.sqlite"}, "store"), ({"nonsense": "x"}, "nonsense"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(arguments, names):
    with pytest.raises((ValueError, TypeError), match=names):
        calib.view(run_of(20), **COLUMNS | arguments)


def test_command(tmp_path, capsys):
    run_of(30).to_csv(tmp_path / "run.csv", index=False)
    with pytest.raises(SystemExit) as ended:
        main(["view", str(tmp_path / "run.csv"), "--out", str(tmp_path / "run.html"), "--column", "item=id"])
    assert ended.value.code == 0
    assert "run.html" in "".join(capsys.readouterr())
    assert len(frames_in((tmp_path / "run.html").read_text(encoding="utf-8"))["rows"]) == 30


@pytest.mark.filterwarnings("ignore:without_value")  # of the items that are not in view
def test_the_commands_on_a_page_run(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = run_of(80)
    run.rename(columns={"id": "key"}).to_csv("run.csv", index=False)
    commands = about(calib.view("run.csv", **COLUMNS | {"item": "key"}).text)["commands"]
    run[["id"]].head(50).rename(columns={"id": "item"}).assign(in_view="yes").to_csv("slice.csv", index=False)
    run[["id"]].head(5).rename(columns={"id": "item"}).to_csv("marks.csv", index=False)
    for name in ("interval", "label"):
        with pytest.raises(SystemExit) as ended:
            main(shlex.split(commands[name])[1:])
        assert ended.value.code == 0
    said = capsys.readouterr().out
    assert "in_view yes" in said
    assert "5 items" in said


@pytest.mark.filterwarnings("ignore:without_value")
@pytest.mark.parametrize("form", ["ratings", "log"])
def test_the_commands_on_a_page_of_ratings_or_a_log_run_too(planted, form, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if form == "ratings":
        items, ratings, people, _ = planted
        calib.table.write(ratings, "run.csv")
        calib.table.write(items, "items.csv")
        how = {"items": "items.csv"}
    else:
        ids = [f"t{k}" for k in range(40)]
        score = {"name": "done", "source": "EVAL", "dataType": "NUMERIC"}
        asked = [{"role": "user", "content": "Hi"}]
        scores = [score | {"id": f"s{one}", "traceId": one, "value": k % 2} for k, one in enumerate(ids)]
        traces = [{"id": one["traceId"], "input": asked, "output": "So.", "scores": [one]} for one in scores]
        Path("run.json").write_text(json.dumps({"data": traces}))
        items, how = pd.DataFrame({"item": ids}), {"rater": "g"}
        people = items.assign(criterion="done", rater="ann", method="human", score=np.arange(40) % 2, scale="0|1")
    calib.table.write(people, "labels.csv")
    commands = about(calib.view("run.csv" if form == "ratings" else "run.json", **how).text)["commands"]
    items[["item"]].head(20).assign(in_view="yes").to_csv("slice.csv", index=False)
    items[["item"]].head(5).to_csv("marks.csv", index=False)
    scale = "" if "--scale" in commands["label"] else " --scale '0|1'"
    for command in (*commands["interval"].split("; "), *f"{commands['label']}{scale}".split("; ")):
        with pytest.raises(SystemExit) as ended:
            main(shlex.split(command)[1:])
        assert ended.value.code == 0, command
    said = capsys.readouterr().out
    assert "in_view yes" in said
    assert "5 items" in said


def test_a_report_links_each_item_to_its_place_in_the_view(tmp_path):
    frame = pd.DataFrame({"item": ["a b/c&d", "<i>"], "gap": [2.0, 1.0]})
    page = calib.report([("Worst", frame)], tmp_path / "report.html", view="views/my run.html").text
    assert '<a href="views/my%20run.html#item=a%20b/c%26d">a b/c&amp;d</a>' in page
    assert '<a href="views/my%20run.html#item=%3Ci%3E">&lt;i&gt;</a>' in page
    assert 'href="javascript%3A' in calib.report([frame], tmp_path / "report.html", view="javascript:alert(1)").text
    assert "#item=" not in calib.report([frame], tmp_path / "report.html").text
