"""The embedded judge: deterministic, without key or network, for demos and tests.

It reads the texts as a simple-minded rater would and answers like a server, with top
logprobs or with a reply drawn at temperature 1 from the same distribution.

What it looks at, per criterion:

- coherence: whether the output's sentences keep the order of the source passages they match;
- consistency: whether the names and numbers of a sentence occur in the passage it matches;
- fluency: words that are a letter or two away from a word of the source, and repeated words;
- relevance: how many sentences are backed by the source, and whether its opening is covered;
- anything else: the mean of the four.

Its noise, by design: the latent score of each item is off by a fixed amount between -0.45 and +0.45 label steps (a
hash of criterion and texts); the distribution over labels is a discretised normal with sd 0.6 steps around it; 1 % of
the mass goes to a token that is no label; and when it reasons first, each chain moves the latent score by -0.5, 0 or
+0.5 steps. Draws depend on the request's `seed` alone. A wording other than the plain one (a variant) is up to 0.5
steps strict or kind, and up to 0.6 off item by item, by hashes of its text; the plain one is neither, so that it is
not one of the variants' population.

Of two outputs it says which is better by the difference of what it sees in each, with the same
noise (none between equal texts), and 0.2 label steps in favour of the one that is shown first.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

_Gist = tuple[tuple[str, ...], float]
_LATENT_SD = 0.6
_ITEM_BIAS = 0.45
_LEAKED_SHARE = 0.01
_PROMPT_BIAS = 0.5
_ITEM_PROMPT_BIAS = 0.6
_NOT_A_LABEL = "?"
_PAIR_GAIN = 1.5
_FIRST_BIAS = 0.2

_ITEM_SECTION = re.compile(r"BEGIN (.+) ([0-9a-f]{16})\n(.*?)\nEND \1 \2", re.DOTALL)
_CRITERION_LINE = re.compile(r"^(?:## )?Criterion: (.+)$", re.MULTILINE)
_LABELS_LINE = re.compile(r"^Labels, from (worst to best|best to worst): (.+)$", re.MULTILINE)
_PAIR_LINE = re.compile(
    r"^Labels: (.+?) if (.+?) is better, (.+?) if (.+?) is better(?:, (.+?) if neither is)?\.$", re.MULTILINE
)
_REWORD_QUESTION = re.compile(r"\ATask: (.+?)\n\nCriterion: [^\n]+\n(.*)\n\nReword the task and ", re.DOTALL)
_PLAIN_WORDING = re.compile(
    r"(?:(?!\n\n).)+\n\nCriterion: .*\n\n"
    r"Labels, from worst to best: [^\n]+\n(?:Answer|First)[^\n]*\nYour rating [^\n]+",
    re.DOTALL,
)
_WORD = re.compile(r"[A-Za-z][A-Za-z']*")
_FACT = re.compile(r"\d[\d.,:]*\d|\d|(?<![.!?\"] )(?<!^)\b[A-Z][a-z]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_STOP_WORDS = frozenset(
    _WORD.findall(
        "a an and are as at be been but by for from had has have he her his i in into is it its no not of on or she "
        "that the their them then there they this to was we were which while who will with would you"
    )
)


async def complete(request: dict[str, Any]) -> dict[str, Any]:
    """Answer an OpenAI chat-completions request."""
    question = str(request["messages"][-1]["content"])
    seed = int(request.get("seed") or 0)
    head = _ITEM_SECTION.sub("", question)  # what an item says is not read as an instruction
    if question_parts := _REWORD_QUESTION.match(head):  # the same behind other words, as it cannot do better
        task = _TASK_LEADS[int(_uniform(question, seed, "task") * 5)]
        criterion = _CRITERION_LEADS[int(_uniform(question, seed, "criterion") * 5)]
        text = json.dumps({"task": f"{task} {question_parts[1]}", "criterion": f"{criterion} {question_parts[2]}"})
    elif "evaluation steps" in head and not _LABELS_LINE.search(head) and not _PAIR_LINE.search(head):
        line = _CRITERION_LINE.search(head)
        criterion = line[1].strip() if line else "the criterion"
        text = (
            f"1. Read the material and note what bears on {criterion}.\n"
            f"2. Go through the rated text and mark every strength and flaw in {criterion}.\n"
            "3. Weigh the marks and choose the label that fits best."
        )
    elif (gist := _gist_of(question))[0]:
        form = next((form for sign, form in _REASONED_FORMS.items() if sign in head), _LABEL_ALONE)
        shift, reasons = 0.0, list[str]()
        if form is not _LABEL_ALONE:
            shift = (int(_uniform(question, seed, "chain") * 3) - 1) / 2
            verdict = {-0.5: "strictly", 0.0: "fairly", 0.5: "kindly"}[shift]
            reasons = ["Compared", " with", " the", " source", ",", f" {verdict}", " weighed", "."]
        shares = _label_shares(gist, shift)
        # the label under u in the cumulated shares, sharpened or flattened by the temperature
        label, u = max(shares, key=shares.__getitem__), _uniform(question, seed, "label")
        if temperature := float(request.get("temperature", 1.0)):
            tempered = [share ** (1 / temperature) for share in shares.values()]
            cumulated = accumulate(share / sum(tempered) for share in tempered)
            label = next((label for label, below in zip(shares, cumulated, strict=True) if u < below), _NOT_A_LABEL)
        slot = _Token(form.before + label, {form.before + name: share for name, share in shares.items()})
        lead, end = map(_Token, form.opening + reasons + form.closing), map(_Token, form.after)
        return _completion([*lead, slot, *end], request)
    else:
        text = "The embedded judge reads prompts with a line 'Labels, from worst to best: ...'."
    return _completion([_Token(text)], request)


class _Token(NamedTuple):
    """A text and the probabilities of what could stand there; none of a token that is certain."""

    text: str
    top: dict[str, float] | None = None


class _ReplyForm(NamedTuple):
    """The tokens around the reasons and the label."""

    opening: list[str]
    closing: list[str]
    before: str  # what the label's own token begins with
    after: list[str]


_LABEL_ALONE = _ReplyForm([], [], "", [])
_REASONED_FORMS = {
    "Score: <label>": _ReplyForm([], ["\n", "Score", ":"], " ", []),
    '"score": "<label>"': _ReplyForm(['{"', "reason", '":', ' "'], ['",', ' "', "score", '":', ' "'], "", ['"}']),
}


# --- reading ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _gist_of(question: str) -> _Gist:
    """What a question comes down to: labels from worst to best and the latent position on them."""
    sections = [text for _, _, text in _ITEM_SECTION.findall(question)]
    head = _ITEM_SECTION.sub("", question)
    named = _CRITERION_LINE.search(head)
    criterion = named[1].strip() if named else ""
    if (pair := _PAIR_LINE.search(head)) and len(sections) > 1:
        # from "the second is better" to "the first is", and where between them the two outputs lie
        *sources, first, second = sections
        source, labels = " ".join(sources), tuple(word for word in (pair[3], pair[5], pair[1]) if word)
        noise = _ITEM_BIAS * (2 * _uniform("\0".join([criterion, source, *sorted((first, second))]), 0, "pair") - 1)
        noise *= (first > second) - (first < second)  # what speaks for the one speaks against the other
        apart = _quality(criterion, source, first) - _quality(criterion, source, second)
        return labels, (len(labels) - 1) / 2 + _PAIR_GAIN * apart + noise + _FIRST_BIAS
    line = _LABELS_LINE.search(head)
    labels = tuple(re.split(r",\s*", line[2])) if line else ()
    labels = labels[::-1] if line and line[1] == "best to worst" else labels
    source, output = " ".join(sections[:-1]), sections[-1] if sections else ""
    texts = source + "\0" + output
    bias = _ITEM_BIAS * (2 * _uniform(criterion + "\0" + texts, 0, "bias") - 1)
    if not _PLAIN_WORDING.fullmatch(head.strip()) or head.startswith(_TASK_LEADS):
        bias += _PROMPT_BIAS * (2 * _uniform(head, 0, "prompt") - 1)
        bias += _ITEM_PROMPT_BIAS * (2 * _uniform(head + "\0" + texts, 0, "item and prompt") - 1)
    return labels, _quality(criterion, source, output) * (len(labels) - 1) + bias


@lru_cache(maxsize=4096)
def _quality(criterion: str, source: str, output: str) -> float:
    """Between 0 (worst) and 1 (best)."""
    sentences = [s for s in _SENTENCE_END.split(output.strip()) if _WORD.search(s)]
    if not sentences:
        return 0.0
    if criterion in _FEATURES:
        return _FEATURES[criterion](source, sentences)
    return sum(feature(source, sentences) for feature in _FEATURES.values()) / len(_FEATURES)


def _content_words(text: str) -> set[str]:
    """Content words, cut to five letters so that inflections meet."""
    return {word[:5] for word in _WORD.findall(text.lower()) if word not in _STOP_WORDS}


def _best_passages(source: str, sentences: list[str]) -> list[tuple[int, float]]:
    """For each sentence the source passage that shares most of its words, and that share."""
    passages = [_content_words(passage) for passage in _SENTENCE_END.split(source)]
    best_of = []
    for sentence in sentences:
        words = _content_words(sentence)
        shared = [len(words & passage) / max(len(words), 1) for passage in passages]
        best = max(range(len(shared)), key=shared.__getitem__)
        best_of.append((best, shared[best]))
    return best_of


def _coherence(source: str, sentences: list[str]) -> float:
    places = [place for place, share in _best_passages(source, sentences) if share > 0.25]
    pairs = [(a, b) for i, a in enumerate(places) for b in places[i + 1 :] if a != b]
    return sum(a < b for a, b in pairs) / len(pairs) if pairs else 0.5


def _consistency(source: str, sentences: list[str]) -> float:
    passages = _SENTENCE_END.split(source)
    wrong = total = 0
    for sentence, (place, share) in zip(sentences, _best_passages(source, sentences), strict=True):
        near = " ".join(passages[max(place - 1, 0) : place + 2])
        facts = _FACT.findall(sentence) if share > 0.25 else []
        total += len(facts)
        wrong += sum(fact not in near for fact in facts)
    return max(1.0 - 1.6 * wrong / total, 0.0) if total else 0.8


def _fluency(source: str, sentences: list[str]) -> float:
    plain = set(_WORD.findall(source.lower()))
    stems = {word.removesuffix(ending) for word in plain for ending in ("", "s", "d", "ed")}
    longer = [word for word in plain if len(word) > 3]
    garbled = {word[:i] + word[i + 1 :] for word in longer for i in range(len(word))}
    scrambled = {"".join(sorted(word)) for word in longer}
    words: list[str] = _WORD.findall(" ".join(sentences).lower())
    slips = sum(len(w) > 2 and w not in stems and (w in garbled or "".join(sorted(w)) in scrambled) for w in words)
    doubled = sum(a == b for a, b in pairwise(words))
    return max(1.0 - 3.0 * (slips + doubled) / max(len(words), 1), 0.0)


def _relevance(source: str, sentences: list[str]) -> float:
    matches = _best_passages(source, sentences)
    backed = [place for place, share in matches if share >= 0.4]
    lead = max((share for place, share in matches if place <= 1), default=0.0)
    return 0.65 * len(backed) / max(len(sentences), 1) + 0.35 * min(lead / 0.6, 1.0)


_FEATURES: dict[str, Callable[[str, list[str]], float]] = {
    "coherence": _coherence, "consistency": _consistency, "fluency": _fluency, "relevance": _relevance,
}  # fmt: skip
CRITERIA = frozenset(_FEATURES)  # what it has a view of


@lru_cache(maxsize=8192)
def _label_shares(gist: _Gist, shift: float) -> dict[str, float]:
    """Probability of each label, and of the one token that is none."""
    labels, latent = gist
    centre = min(max(latent + shift, 0.0), len(labels) - 1.0)
    raw = [math.exp(-0.5 * ((k - centre) / _LATENT_SD) ** 2) for k in range(len(labels))]
    shares = {label: (1 - _LEAKED_SHARE) * w / sum(raw) for label, w in zip(labels, raw, strict=True)}
    return shares | {_NOT_A_LABEL: _LEAKED_SHARE}


def _uniform(text: str, seed: int, purpose: str) -> float:
    """A number in [0, 1) that depends on nothing but its arguments."""
    raw = f"{purpose}\0{seed}\0{text}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(raw, digest_size=7).digest(), "big") / 2.0**56


_TASK_LEADS = ("Read with care.", "Take your time.", "Be even-handed.", "Weigh before you judge.", "Judge by yourself.")
_CRITERION_LEADS = ("What counts:", "The standard:", "Look for this:", "The point is this:", "Keep in mind:")


def _completion(tokens: list[_Token], request: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": "".join(token.text for token in tokens)}
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": "stop"}
    if request.get("logprobs"):
        most = int(request.get("top_logprobs") or 0)
        entries = []
        for token in tokens:
            top = sorted((token.top or {token.text: 1.0}).items(), key=lambda pair: -pair[1])
            listed = [{"token": text, "logprob": math.log(p) if p > 0 else -9999.0} for text, p in top]
            own = next(one for one in listed if one["token"] == token.text)
            entries.append(own | {"top_logprobs": listed[:most]})
        choice["logprobs"] = {"content": entries}
    return {"object": "chat.completion", "model": "offline", "choices": [choice]}
