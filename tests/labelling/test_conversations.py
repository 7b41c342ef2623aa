"""Conversations on the label page: who says what, folded results, the turn that is judged, no names of models."""

import asyncio
import json

import pandas as pd
import pytest
from page_data import page_data

import calib
from calib.labelling.talk import shown_talk, talk_of
from calib.table import TableError

HOSTILE = "</script><script>alert(1)</script><b>bold</b>"
CALL = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"order": 7}'}}
RUN = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": HOSTILE},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "shipped {call}"},
    {"role": "assistant", "content": "It has been shipped.", "name": "gpt-4o"},
]
ITEMS = pd.DataFrame({"item": [f"q{k}" for k in range(10)], "messages": [RUN, json.dumps(RUN)] * 5})


def labelled(tmp_path, items, to="html", ending="html"):
    path = tmp_path / f"label.{ending}"
    calib.label(items, criteria=["tone"], scale="1|2|3", path=path, to=to, rater="ann")
    return path


def test_a_conversation_is_shown_in_parts_without_names(tmp_path):
    path = labelled(tmp_path, ITEMS)
    assert "gpt-4o" not in path.read_text()
    assert "<script>alert" not in path.read_text()
    data = page_data(path)
    assert data["parts"] == ["messages"]
    for _, _, (parts,) in data["items"]:
        assert [(who, folded) for who, _, _, folded, _, _ in parts] == [
            ("role_system", True), ("role_user", False), ("tool_call", False), ("tool_result", True),
            ("role_assistant", False),
        ]  # fmt: skip
        assert parts[2][1:3] == [{"call": 1, "tool": "look_up"}, '{"order": 7}']


def test_of_a_turn_what_came_before_is_shown_and_the_turn_is_marked(tmp_path):
    data = page_data(labelled(tmp_path, ITEMS.assign(turn=[5, 2] * 5)))
    for item, _, (parts,) in data["items"]:
        assert [judged for *_, judged, _ in parts] == [False] * (len(parts) - 1) + [True]
        assert len(parts) == (5 if int(item[1]) % 2 == 0 else 2)


def test_texts_beside_a_conversation_stay_texts(tmp_path):
    data = page_data(labelled(tmp_path, ITEMS.assign(output="An answer.")))
    assert data["parts"] == ["output", "messages"]
    assert data["items"][0][2][0] == "An answer."


@pytest.mark.parametrize(("to", "ending"), [("xlsx", "xlsx"), ("label-studio", "json")])
def test_other_forms_show_it_as_plain_text(tmp_path, to, ending):
    path = labelled(tmp_path, ITEMS.assign(turn=5), to, ending)
    if to == "xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        text = openpyxl.load_workbook(path).worksheets[0]["C3"].value
    else:
        text = json.loads(path.read_text())[0]["data"]["text1"]
    assert text.endswith("Result of tool call 1:\nshipped {call}\n\nAssistant (to be judged):\nIt has been shipped.")
    assert text.startswith("System:\nBe brief.\n\nUser:\n")
    assert "gpt-4o" not in text


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"messages": [[{"role": "bot", "content": ""}]] * 10}, "row 0: column `messages`: message 1: `role` must be"),
        ({"turn": 9}, "column `messages`: `turn` must be the number of a message, from 1 to 5, but got 9"),
        ({"messages": [[RUN[0]] * 10_000] * 10}, "must have at most 5,000 messages"),
        ({"messages": "[free text"}, "must be a list of messages as JSON"),
    ],
)
def test_what_is_no_conversation_is_refused(tmp_path, columns, says):
    with pytest.raises(TableError, match=says):
        labelled(tmp_path, ITEMS.assign(**columns))


def test_a_column_of_that_name_with_other_texts_is_no_conversation(tmp_path):
    data = page_data(labelled(tmp_path, ITEMS.assign(output="An answer.", messages="free text")))
    assert data["parts"] == ["output"]


def test_items_without_a_conversation_show_nothing_but_their_texts(tmp_path):
    some = ITEMS.assign(output="An answer.", messages=[RUN, None] * 5)
    data = page_data(labelled(tmp_path, some))
    assert {len(texts[1]) for _, _, texts in data["items"]} == {0, 5}
    assert talk_of("") == []
    assert talk_of(shown_talk(RUN, float("nan")))[-1].judged is False


@pytest.mark.slow
def test_a_reader_sees_it_and_unfolds_a_result_by_keyboard(tmp_path):
    chromium = pytest.importorskip("chromium", reason="the browser is driven through aiohttp")
    if chromium.PROGRAM is None:
        pytest.skip("no Chromium here")
    long = [RUN[0], RUN[1] | {"content": "A long question.\n" * 200}, *RUN[2:]]
    page = labelled(tmp_path, ITEMS.assign(turn=5, messages=[long] * 10))

    async def read():
        async with chromium.Browser(tmp_path / "profile", tmp_path) as browser:
            visit = await browser.tab(page)
            await visit.read("$('begin').click()")
            heads = await visit.read(
                "[...document.querySelectorAll('.said > :first-child')].map(one => one.textContent)"
            )
            bodies = await visit.read(
                "[...document.querySelectorAll('.said > :last-child')].map(one => one.textContent)"
            )
            box = "document.querySelector('.judged').getBoundingClientRect().bottom <= innerHeight"
            assert await visit.read(box)
            await visit.read("document.querySelectorAll('summary')[1].focus()")
            await visit.press("Enter")
            opened = await visit.read("[...document.querySelectorAll('details')].map(one => one.open)")
            await visit.press("j")
            stepped = [await visit.read("document.activeElement.firstChild.textContent")]
            await visit.press("k", "k")
            stepped.append(await visit.read("document.activeElement.firstChild.textContent"))
            await visit.press("f")
            await visit.type("been SHIPPED")
            stepped.append(await visit.read("document.querySelector('mark.now').parentElement.textContent"))
            await visit.press("Escape")
            await visit.press("2")
            return heads, bodies, opened, stepped, await visit.read("items[0].answers[0].at(-1)[0]"), visit.said

    heads, bodies, opened, stepped, answer, said = asyncio.run(read())
    assert heads == [
        "1 System",
        "2 User",
        "3 Tool call 1: look_up",
        "4 Result of tool call 1",
        "5 Assistant (to be judged)",
    ]
    assert bodies[1:4] == ["A long question.\n" * 200, '{"order": 7}', "shipped {call}"]
    assert stepped == ["5 Assistant (to be judged)", "3 Tool call 1: look_up", "It has been shipped."]
    assert (opened, answer, said) == ([False, True], 2, [])
