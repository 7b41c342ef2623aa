"""Runs to look at, and what a page holds of them."""

import base64
import gzip
import json
import re

import numpy as np
import pandas as pd

_BLOCK = re.compile(r'<script type="application/gzip" id="b(\d+)">([^<]*)</script>')
HOSTILE = [
    "<script>window.hit = 1</script>", "</script><script>window.hit = 2</script>", "${hit} {{ hit }}", "__proto__",
    "<img src=x onerror='window.hit = 3'>", "<style>body { display: none }</style>", "'; DROP TABLE items",
    "[link](javascript:window.hit=4) ![i](http://example.com/x.png)", '=HYPERLINK("http://example.com")',
    "a\u202egnp.exe\u2066b", "\x00\x1b[31mred", "constructor", "]]>--><!--", "\u2028\u2029", "x" * 100_000,
]  # fmt: skip


def blocks_of(page):
    return {int(at): gzip.decompress(base64.b64decode(text)) for at, text in _BLOCK.findall(page)}


def about(page):
    """What is said on the page, beside its tables."""
    blocks = blocks_of(page)
    return json.loads(blocks[max(blocks)])


def frames_in(page):
    """The tables of a page as frames, decoded as its script does."""
    blocks, frames = blocks_of(page), {}
    for name, table in about(page)["tables"].items():
        columns = {}
        for head in table["columns"]:
            if head["kind"] == "number":
                columns[head["name"]] = np.frombuffer(blocks[head["cells"]], dtype=f"<{head['type']}")
            else:
                levels = np.array([*json.loads(blocks[head["levels"]]), None], dtype=object)
                columns[head["name"]] = levels[np.frombuffer(blocks[head["cells"]], dtype="<i4")]
        frames[name] = pd.DataFrame(columns)
    return frames


def run_of(n, *, length=120, rng=0, systems=("ours", "theirs", "other")):
    """A run with scores, labels and texts, as a file of one's own."""
    random = np.random.default_rng(rng)
    words = np.array([f"w{k:x}{'aeiou'[k % 5]}{k * 7919 % 997:x}" for k in range(8000)])
    texts = [" ".join(words[random.zipf(1.2, length // 5) % 8000])[:length] for _ in range(n)]
    quality = random.normal(3, 1, n)
    return pd.DataFrame({
        "id": [f"item-{k}" for k in range(n)],
        "model": random.choice(systems, n), "topic": random.choice(list("abcd"), n),
        "length": random.integers(1, 500, n),
        "prompt": [f"What of {k % (n // 3 + 1)}?" for k in range(n)], "response": texts,
        "judge": np.clip(quality + random.normal(0, 0.5, n), 1, 5).round(2),
        "label": np.where(random.random(n) < 0.5, np.clip(quality.round(), 1, 5), np.nan),
    })  # fmt: skip


def session(turns=20, now=""):
    """A conversation with tool calls: of each turn a question, a call, its result and an answer."""
    messages = [{"role": "system", "content": "Be brief."}]
    for k in range(turns):
        call = {"id": f"c{k}", "type": "function", "function": {"name": "look_up", "arguments": f'{{"order": {k}}}'}}
        messages += [
            {"role": "user", "content": f"Where is order {k}?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{k}", "content": f"state of {k}: on its way, depot {k}"},
            {"role": "assistant", "content": f"It is **on its way**, number {k}{now if k == 5 else ''}."},
        ]
    return messages


def hostile_session():
    """A conversation whose texts, tool names, arguments and results are hostile."""
    messages = []
    for k, text in enumerate(HOSTILE):
        call = {"id": f"c{k}", "type": "function", "function": {"name": text[:300], "arguments": text}}
        result = {"role": "tool", "tool_call_id": f"c{k}", "content": text}
        messages += [
            {"role": "user", "content": text},
            {"role": "assistant", "content": text, "tool_calls": [call]},
            result,
        ]
    return [*messages, {"role": "user", "content": "half a character: \ud800"}]
