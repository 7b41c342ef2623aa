"""Whatever a tokenizer does and however little of it a server shows, the truth lies within the bounds.

A judge is a tree of tokens: each answer (marks, a label or another word, an end) is cut into tokens in several ways,
each way with a weight. The truth is the mean over all answers that are labels, by enumeration; the reply is one way
through the tree with the most probable tokens of each place, as one of several kinds of servers writes them.
"""

import math
from collections import Counter
from itertools import accumulate
from random import Random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from test_extract import AGREE, FIVE, HALVES, HUNDRED, SIGNED, TEN, YES_NO, log, rows_of

import calib
from calib.judge.scale import Scale

SCALES = {
    "five": FIVE, "ten": TEN, "hundred": HUNDRED, "halves": HALVES, "signed": SIGNED, "yes": YES_NO, "agree": AGREE,
    "nested": Scale(("a", "ab", "abc", "b c", "B"), (1.0, 2.0, 3.0, 4.0, 5.0)),
    "chinese": Scale.parse("差=1|中=2|好=3"),
    "chinese, nested": Scale.parse("差=1|中=2|中等=3|好=4"), "thumbs": Scale.parse("👎=0|👍=1"),
    "mixed": Scale.parse("no=0|так=1|да=2|ja=3|é=4"),
}  # fmt: skip
MARKS, ENDS, STRAYS = (
    ("", "", " ", "**", '"', "\n", " **"),
    ("\n", "</s>", "", ".\n", "**"),
    ("The", "I", "?", " In", ""),
)
LEADS = {"label": [], "line": ["Good", ".\n", "Score"], "json": ['{"', "reason", '":', ' "x", "', "score"]}
COLONS = {"label": "", "line": ":", "json": '":'}  # cut into tokens together with what follows, or not


class Tree:
    """Ways to write an answer, each a tuple of tokens, and their weights; "" ends the reply."""

    def __init__(self, rng: Random, scale: Scale, colon: str = ""):
        self.colon = colon
        self.weights: dict[tuple[bytes, ...], float] = {}
        self.values: dict[tuple[bytes, ...], float] = {}
        sharp = rng.choice((1, 3, 6))
        pairs = list(zip(scale.labels, scale.values, strict=True))
        for label, value in rng.sample(pairs, min(len(pairs), rng.randint(2, 12))):
            for _ in range(rng.randint(1, 4)):
                mark, end = rng.choice(MARKS), rng.choice(ENDS)
                self.add(rng, mark + label, end, value, rng.random() ** sharp)
        for stray in rng.sample(STRAYS, rng.randint(0, 3)):
            self.add(rng, stray, "\n" if stray else "", math.nan, rng.random() ** sharp / 3)

    def add(self, rng: Random, text: str, end: str, value: float, weight: float) -> None:
        text = self.colon + text
        apart = end in ("</s>", "")  # a token of its own
        way = cut(rng, (text + ("" if apart else end)).encode()) + (end.encode(),) * apart
        self.weights[way], self.values[way] = weight, value

    def next(self, begun: tuple[bytes, ...]) -> dict[bytes, float]:
        top: Counter[bytes] = Counter()
        for way, weight in self.weights.items():
            if way[: len(begun)] == begun and len(way) > len(begun):
                top[way[len(begun)]] += weight
        return {token: p / sum(top.values()) for token, p in top.items()}

    def truth(self, drawn: tuple[bytes, ...]) -> float:
        """Given the tokens drawn before the one in which the answer begins."""
        before = drawn[: sum(length <= len(self.colon) for length in accumulate(map(len, drawn)))] if self.colon else ()
        labels = {w: v for w, v in self.values.items() if not math.isnan(v) and w[: len(before)] == before}
        mass = sum(self.weights[way] for way in labels)
        return sum(self.weights[way] * value for way, value in labels.items()) / mass if labels else math.nan


def cut(rng: Random, text: bytes) -> tuple[bytes, ...]:
    """The text in up to four tokens, cut anywhere, also inside characters."""
    places = sorted(rng.sample(range(1, len(text)), min(len(text) - 1, rng.randint(0, 3)))) if len(text) > 1 else []
    return tuple(text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True))


# --- how servers write tokens -------------------------------------------------------------------------------------


def with_bytes(token: bytes, _: bytes) -> dict:
    return {"token": token.decode("utf-8", "replace"), "bytes": list(token)}


def openai_name(token: bytes, _: bytes) -> dict:
    whole = is_whole(token)
    return {"token": token.decode() if whole else "bytes:" + "".join(f"\\x{one:02x}" for one in token)}


def deepseek_name(token: bytes, _: bytes) -> dict:
    shown = token.decode("utf-8", "backslashreplace")
    return {"token": shown, "bytes": list(shown.encode())}


def sentencepiece_name(token: bytes, _: bytes) -> dict:
    return {"token": token.decode() if is_whole(token) else "".join(f"<0x{one:02X}>" for one in token)}


PRINTED = [*range(33, 127), *range(161, 173), *range(174, 256)]
OTHERS = [byte for byte in range(256) if byte not in PRINTED]
ALPHABET = {byte: chr(byte) for byte in PRINTED} | {byte: chr(256 + n) for n, byte in enumerate(OTHERS)}


def byte_level(token: bytes, _: bytes) -> dict:
    """The alphabet of GPT-2's tokenizer, written down from its description: printed bytes as Latin-1, then 256 on."""
    text = "".join(ALPHABET[byte] for byte in token)
    return {"token": text, "bytes": list(text.encode())}


def replaced(token: bytes, _: bytes) -> dict:
    text = token.decode("utf-8", "replace")
    return {"token": text, "bytes": list(text.encode())}


def in_context(token: bytes, cut_off: bytes) -> dict:
    """As vLLM: nothing for a part of a character, and the whole of it for the last part."""
    text = (cut_off + token).decode("utf-8", "replace") if is_whole(cut_off + token) else ""
    return {"token": text, "bytes": list(text.encode())}


def stripped(token: bytes, _: bytes) -> dict:
    """As SentencePiece decodes a token alone: its first blank is gone, and two tokens read the same."""
    return with_bytes(token.removeprefix(b" "), b"")


def is_whole(token: bytes) -> bool:
    return token.decode("utf-8", "ignore").encode() == token


def tail(text: bytes) -> bytes:
    """The part of a character that a text ends with."""
    return next((text[-n:] for n in (1, 2, 3) if text[-n : -n + 1 or None] >= b"\xc0" and not is_whole(text[-n:])), b"")


EXACT = {"bytes": with_bytes, "openai": openai_name, "deepseek": deepseek_name, "sentencepiece": sentencepiece_name,
         "byte level": byte_level}  # fmt: skip
VAGUE = {"replaced": replaced, "in context": in_context, "stripped": stripped}
SERVERS = EXACT | VAGUE


def reply_of(way: tuple[bytes, ...], tree: Tree, lead: list[str], k: int, server: str) -> dict:
    """A reply that goes one way through the tree, and shows the k most probable tokens and the one drawn."""
    steps = [(word.encode(), {word.encode(): 1.0}) for word in lead]
    for n, token in enumerate(way):
        top = tree.next(way[:n])
        best = sorted(top, key=top.get, reverse=True)[:k]
        steps.append((token, {one: top[one] for one in dict.fromkeys([*best, token])}))
    places, said, held = [], b"", []
    for token, top in steps:
        spell = SERVERS.get(server, with_bytes)
        before = tail(said)
        said += token
        place = spell(token, before) | {"logprob": log(top[token])}
        place["top_logprobs"] = [spell(one, before) | {"logprob": log(p)} for one, p in top.items()]
        if server == "llama.cpp":  # a token is shown when its last character is whole, with all that was held back
            held.append(token)
            if tail(said):
                continue
            place |= with_bytes(b"".join(held), b"")
            held = []
        places.append(place)
    text = b"".join(token for token, _ in steps).decode("utf-8", "replace").removesuffix("</s>")
    choice = {"message": {"content": text}, "finish_reason": "stop", "logprobs": {"content": places}}
    return {"choices": [choice]}


@pytest.mark.slow
@pytest.mark.parametrize("server", [*SERVERS, "llama.cpp"])
def test_the_truth_lies_within_the_bounds(server):
    assert bounded(server, 1500) > 1200  # most have bounds, so that something was tried


def bounded(server: str, n: int) -> int:
    """How many of n replies have bounds; all of these hold the truth."""
    rng, rows, truths = Random(server), [], []
    for item in range(n):
        scale, answer, k = rng.choice(sorted(SCALES)), rng.choice(sorted(LEADS)), rng.randint(1, 12)
        tree, lead, way = drawn(rng.random(), scale, answer)
        truths.append(tree.truth(way))
        found = rows_of(reply_of(way, tree, lead, k, server), SCALES[scale], answer)
        assert sum(row.weight for row in found) <= 1 + 1e-6
        rows += [row._asdict() | {"item": f"{item:05}", "scale": str(SCALES[scale])} for row in found]
    scores = calib.summarize(pd.DataFrame(rows).assign(criterion="c", rater="j", method="logprob")).sort_values("item")
    read = scores["score"].notna().to_numpy() & ~np.isnan(truths)
    low, high, score, truth = scores["low"][read], scores["high"][read], scores["score"][read], np.array(truths)[read]
    assert (low - 1e-5 <= truth).all()
    assert (truth <= high + 1e-5).all()
    assert ((low - 1e-9 <= score) & (score <= high + 1e-9)).all()
    return int(read.sum())


@settings(deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(sorted(SCALES)), st.sampled_from(sorted(LEADS)), st.integers(1, 12))
def test_servers_that_tell_the_bytes_in_any_way_are_read_alike(seed, scale, answer, k):
    tree, lead, way = drawn(seed, scale, answer)
    replies = [reply_of(way, tree, lead, k, server) for server in EXACT]
    readings = {repr(rows_of(reply, SCALES[scale], answer)) for reply in replies}
    assert len(readings) == 1


def drawn(seed: float, scale: str, answer: str) -> tuple[Tree, list[str], tuple[bytes, ...]]:
    rng = Random(f"{seed}{scale}")
    glued = rng.random() < 0.5
    tree = Tree(rng, SCALES[scale], COLONS[answer] if glued else "")
    (way,) = rng.choices(list(tree.weights), list(tree.weights.values()))
    return tree, LEADS[answer] + [COLONS[answer]] * (not glued and answer != "label"), way
