"""A judge: what exactly is asked of it, with which seeds and under which keys, and the rows of its answers."""

from __future__ import annotations

import hashlib
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from calib.core import check
from calib.core.check import ArgumentError
from calib.inputs.resolve import items_to_rate
from calib.judge.calls.endpoint import MOST_BYTES, public_url
from calib.judge.prompt import Prompt
from calib.judge.replies.extract import RatingRow
from calib.judge.replies.grammar import PATTERN_VERSION
from calib.judge.replies.reply import to_json
from calib.judge.scale import Scale
from calib.table import STATUSES, check_ratings

Row = dict[str, Any]  # an item, by column

_MAX_TOKENS = {"form": 8, "think": 1024, "json": 1024}
_STEPS_TOKENS = 512
DEFAULT_DRAWS = {"sample": 20, "logprob": 1}
# servers with samplers of their own get them switched off: samples follow the model's own distribution
SAMPLERS_OFF = {"top_k": -1, "min_p": 0.0}
_STATUS_CODES = {status: code for code, status in enumerate(STATUSES)}


@dataclass(frozen=True, slots=True)
class Judge:
    """A judge model and how it is read: a frozen value.

    Parameters
    ----------
    model : str
        ``"offline"`` for the embedded judge, else a model string such as ``"openai/gpt-4o-mini"``. Models of OpenAI
        and models with a `base_url` are asked directly; everything else, and what begins with ``"litellm/"``, through
        LiteLLM. API keys come from the environment (OPENAI_API_KEY for direct calls). The embedded judge is a small
        program for trying things out: it compares words, names, numbers and spelling with the source, for the four
        criteria of `geval_prompt`; what it says of any other criterion means nothing, and a warning says so.
    method : {"auto", "logprob", "sample"}, default "auto"
        "logprob" reads the token probabilities at the score (an error after the first calls where none come), "sample"
        draws replies. "auto" asks once whether the
        model gives token probabilities, then keeps to one method for the whole run and writes it into the ratings.
    draws : int, optional
        Replies per item, of a pair in each order: default 20 samples, or 1 reasoning chain for "logprob" with a
        prompt that reasons (without reasoning one reply says everything). With several chains the mean of their
        expectations estimates the same as the mean of as many samples, with less variance.
    temperature : float, default 1.0
        At another temperature samples and chains follow another distribution than the
        model's own: another estimand, which the tables keep apart.
    top_logprobs : int, default 20
        How many token probabilities to ask for at each place; fewer from a server that says so.
    base_url : str, optional
        Endpoint of an OpenAI-compatible server. Its own samplers (`top_k`, `min_p`) are
        switched off where it knows them.
    seed : int, optional
        From it a seed is made for each draw. Without one no seed is sent.
    max_tokens : int, optional
        Longest reply; default 8 tokens for a label alone, 1024 with reasoning, and 8192 more for a model that reasons
        on its own, as its name or its server says. A number that is set here holds for all of it.
    concurrency : int, default 16
        The most calls under way at once; fewer while the server asks for fewer.
    timeout : float, default 120
        Seconds for one attempt.
    deadline : float, default 900
        Seconds after the first attempt of a call within which it is retried.
    max_reply_bytes : int, default 16,000,000
        The longest reply, unpacked: a longer one is not read to its end, and its item fails.
    requests_per_minute, tokens_per_minute : float, optional
        Limits of the provider. Tokens are counted as an estimate of the prompt's and `max_tokens`.
    price : (float, float), optional
        US dollars per million tokens in and out. Default: LiteLLM's price list, where the model is on it.
    noise_floor : float, default 0
        Labels with a smaller probability count as ambiguous.
    continuation : bool, default False
        Resolve labels of several tokens that a reply leaves open (the 1 of a 10) with a
        further short call that continues the reply, for servers that can do so.

    Examples
    --------
    >>> Judge("offline", method="sample", draws=5).draws
    5
    """

    model: str
    method: str = "auto"
    draws: int | None = None
    temperature: float = 1.0
    top_logprobs: int = 20
    base_url: str | None = None
    seed: int | None = None
    max_tokens: int | None = None
    concurrency: int = 16
    timeout: float = 120.0
    deadline: float = 900.0
    max_reply_bytes: int = MOST_BYTES
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    price: tuple[float, float] | None = None
    noise_floor: float = 0.0
    continuation: bool = False

    def __post_init__(self) -> None:
        """Refuse what no call could be made from."""
        check.check_types(Judge, {field.name: getattr(self, field.name) for field in fields(self)})
        if not self.model:
            raise ArgumentError("model", "must be a model string", "got ''")
        check.choice(self.method, "method", ("auto", "logprob", "sample"))
        if not self.temperature >= 0:
            raise ArgumentError("temperature", "must not be negative", f"got {self.temperature!r}")
        for name in ("draws", "top_logprobs", "max_tokens", "concurrency", "max_reply_bytes"):
            value = getattr(self, name)
            if value is not None:
                check.whole(value, name, least=1)
        for name in ("timeout", "deadline", "requests_per_minute", "tokens_per_minute"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ArgumentError(name, "must be more than 0", f"got {value!r}")
        if not 0 <= self.noise_floor < 1:
            raise ArgumentError("noise_floor", "must be a probability below 1", f"got {self.noise_floor!r}")
        if self.price is not None and (len(self.price) != 2 or min(self.price) < 0):
            raise ArgumentError("price", "must be two numbers, for tokens in and out", f"got {self.price!r}")

    def __repr__(self) -> str:
        """As it was made, without what is secret in an endpoint."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.base_url is not None:
            values["base_url"] = public_url(self.base_url)
        return f"Judge({', '.join(f'{name}={value!r}' for name, value in values.items())})"


class Plan(NamedTuple):
    """What is settled for a whole run: its method, extra fields of its requests, and the words that record both."""

    method: str
    run: str
    extras: dict[str, Any]
    choices: int = 1  # draws in one request


class Call(NamedTuple):
    """One draw of one item: what to ask, and the key of its reply."""

    key: str
    prompt: Prompt
    row: Row
    draw: int
    logprobs: bool
    shown_first: str = ""  # of a pair: "a" or "b"

    @property
    def scale(self) -> Scale:
        """What the labels stand for: of a pair in terms of A, whichever of the two is shown first."""
        return self.prompt.turned_scale if self.shown_first == "b" else self.prompt.scale

    @property
    def method(self) -> str:
        """How its ratings are labelled."""
        return "sample" if not self.logprobs else "logprob" if self.prompt.reasoning == "form" else "chain"

    @property
    def what(self) -> str:
        """For messages."""
        return f"item {self.row['item']!r}"


def prompts_and_rows(items: Any, prompt: Prompt | Iterable[Prompt]) -> tuple[list[Prompt], list[Row]]:
    """The checked prompts, no two of which send the same, and the checked items as rows; at least one of each."""
    prompts = list(prompt) if isinstance(prompt, Iterable) and not isinstance(prompt, str) else [prompt]
    for one in prompts:
        if not isinstance(one, Prompt):
            rule = "must be a calib.Prompt or several, such as geval_prompt makes"
            raise TypeError(f"`prompt` {rule}, but got {one!r:.60}.")
    table = items_to_rate(items, {name for one in prompts for name in one.inputs})
    if not prompts or not len(table):
        got = f"got {len(table)} items, {len(prompts)} prompts"
        raise ArgumentError("items", "and {0} must not be empty", got, mentions=("prompt",))
    if len({p.id for p in prompts}) < len(prompts):
        raise ArgumentError("prompt", "must name each prompt once", "two of them send the same")
    return prompts, table.to_dict(orient="records")


def calls_for(judge: Judge, address: str, plan: Plan, prompts: list[Prompt], rows: list[Row]) -> Iterator[Call]:
    """The calls of a run, one per draw, in the order of the table; `address` is that of the transport."""
    logprobs = plan.method == "logprob"
    for prompt, row in product(prompts, rows):
        # without a chain of reasoning each reply would tell the same probabilities
        draws = 1 if logprobs and prompt.reasoning == "form" else judge.draws or DEFAULT_DRAWS[plan.method]
        for place, order in enumerate(prompt.orders):
            call = Call("", prompt, row, 0, logprobs, order)
            scale = call.scale
            read = [PATTERN_VERSION, prompt.answer, scale.labels, scale.values]  # noqa: PD011 - no array
            base = digest([address, judge.seed, read, _item_body(judge, plan, call)])
            # the orders of a pair take turns, so that a draw keeps its number where more are asked for
            for draw in range(place, draws * len(prompt.orders), len(prompt.orders)):
                own = base.copy()
                own.update(str(draw).encode())
                yield call._replace(key=own.hexdigest(), draw=draw)


def draws_request(judge: Judge, plan: Plan, group: list[Call]) -> dict[str, Any]:
    """The body that asks for the draws of one item."""
    first = group[0]
    body = _item_body(judge, plan, first)
    return seeded(judge, body | ({"n": len(group)} if len(group) > 1 else {}), first.draw)


def steps_request(judge: Judge, prompt: Prompt) -> dict[str, Any]:
    """The body that asks for evaluation steps."""
    most = max(_STEPS_TOKENS, judge.max_tokens or 0)
    return seeded(judge, _chat_body(judge, prompt.render_steps_request(), most), 0)


def choices_request(judge: Judge, extras: dict[str, Any], choices: int) -> dict[str, Any]:
    """The body that shows whether several choices of one request are several draws."""
    ask = "Name any whole number between 1 and 1000000. Answer with the number alone."
    body = _chat_body(judge, [{"role": "user", "content": ask}], _MAX_TOKENS["form"])
    return seeded(judge, body | extras | {"n": choices}, 0)


def digest(values: list[Any]) -> hashlib.blake2b:
    """A hash of JSON, which can be updated further."""
    return hashlib.blake2b(to_json(values), digest_size=16)


def _item_body(judge: Judge, plan: Plan, call: Call) -> dict[str, Any]:
    most = judge.max_tokens or _MAX_TOKENS[call.prompt.reasoning]
    candidates = {"logprobs": True, "top_logprobs": judge.top_logprobs} if call.logprobs else {}
    messages = call.prompt.render(call.row, shown_first=call.shown_first or "a")
    return _chat_body(judge, messages, most) | candidates | plan.extras


def _chat_body(judge: Judge, messages: list[dict[str, str]], most_tokens: int) -> dict[str, Any]:
    body = {"model": judge.model, "messages": messages, "temperature": judge.temperature, "max_tokens": most_tokens}
    # hosted models have it as default, and some refuse it beside a temperature
    return body if judge.base_url is None else body | {"top_p": 1}


def seeded(judge: Judge, body: dict[str, Any], draw: int) -> dict[str, Any]:
    """The body with a seed of its own.

    It is a hash, because servers count up from a seed and neighbours would overlap; of the
    question too, because the same seeds for all items would make their draws alike.
    """
    if judge.seed is None and judge.model != "offline":
        return body
    own = digest([judge.seed or 0, draw, body["messages"]]).digest()
    return body | {"seed": int.from_bytes(own[:4], "big") >> 1}


class Sheet:
    """Rating rows by call; a number costs eight bytes, whatever the run's length.

    Attributes
    ----------
    calls : list of Call
        All draws of the run.
    counts : Counter
        Draws by how they read: "ok", or what stands in the way.
    """

    def __init__(self, *, texts: bool = False) -> None:
        self.keeps_texts = texts
        self.expect([])

    def expect(self, calls: list[Call]) -> dict[str, Call]:
        """Begin with these calls, in the order of the table; the different ones by key (equal texts share a reply)."""
        self.counts: Counter[str] = Counter()
        self.calls, self._places = calls, dict[str, list[int]]()
        self._call, self._status = array("q"), array("b")
        self._numbers = {name: array("d") for name in ("score", "weight", "low", "high")}
        self._texts: dict[int, str] = {}
        for place, call in enumerate(calls):
            self._places.setdefault(call.key, []).append(place)
        return {key: calls[places[0]] for key, places in self._places.items()}

    def add(self, call: Call, rows: Sequence[RatingRow], text: str) -> None:
        """Add the rows of one draw."""
        self.counts["ok" if any(row.status == "ok" for row in rows) else rows[0].status] += 1
        score, weight, status, low, high = zip(*rows, strict=True)
        for place in self._places[call.key]:
            self._call.extend([place] * len(rows))
            self._status.extend([_STATUS_CODES[one] for one in status])
            for name, numbers in (("score", score), ("weight", weight), ("low", low), ("high", high)):
                self._numbers[name].extend(numbers)
            if self.keeps_texts:
                self._texts[place] = text

    def fail(self, call: Call) -> None:
        """Add the row of a draw that failed."""
        self.add(call, [RatingRow(math.nan, 1.0, "failed")], "")

    def missing(self) -> int:
        """Draws that were expected and have no row."""
        return len(self.calls) - len(set(self._call))

    def rows(self) -> list[tuple[Call, RatingRow]]:
        """What came of the calls, in their order."""
        numbers = [self._numbers[name] for name in ("score", "weight", "low", "high")]
        rows = []
        for at in sorted(range(len(self._call)), key=self._call.__getitem__):
            score, weight, low, high = (each[at] for each in numbers)
            rows.append((self.calls[self._call[at]], RatingRow(score, weight, STATUSES[self._status[at]], low, high)))
        return rows

    def frame(self, judge: Judge, run: str) -> pd.DataFrame:
        """The checked table of ratings, in the order of the calls."""
        place = np.frombuffer(self._call, dtype=np.int64)
        order = np.argsort(place, kind="stable")
        place = place[order]
        calls, numbers = self.calls, {name: np.frombuffer(each)[order] for name, each in self._numbers.items()}
        # a prompt is the same object for many calls
        prompts = {id(call.prompt): call.prompt for call in calls}
        ids = {key: prompt.id for key, prompt in prompts.items()}
        scales = {key: str(prompt.scale) for key, prompt in prompts.items()}
        frame = pd.DataFrame(
            {
                "item": _categorical([str(call.row["item"]) for call in calls], place),
                "criterion": _categorical([call.prompt.criterion for call in calls], place),
                "rater": _categorical([judge.model], np.zeros(len(place), dtype=np.int64)),
                "prompt": _categorical([ids[id(call.prompt)] for call in calls], place),
                "scale": _categorical([scales[id(call.prompt)] for call in calls], place),
                "method": _categorical([call.method for call in calls], place),
                "temperature": float(judge.temperature),
                "run": _categorical([run], np.zeros(len(place), dtype=np.int64)),
                "draw": np.array([call.draw for call in calls], dtype=np.int64)[place],
                "status": pd.Categorical.from_codes(np.frombuffer(self._status, dtype=np.int8)[order], STATUSES),
                **numbers,
            }
        )
        if any(call.shown_first for call in calls):
            frame["shown_first"] = _categorical([call.shown_first for call in calls], place)
        if self.keeps_texts:
            frame["reply"] = pd.Series([self._texts[i] for i in place.tolist()], dtype=object)
        return check_ratings(frame)


_UNREAD = {
    "truncated": "cut off at max_tokens",
    "no_logprobs": "without logprobs",
    "refused": "refusals",
    "unread": "without a rating where the prompt asks for it (replies=True, --replies keeps their text)",
    "off_scale": "off the scale",
}


def unread_notes(counts: Mapping[str, int]) -> list[str]:
    """The note of a run of which no reply could be read, from its draws by how they read."""
    lost = [f"{n} were {words}" for status, words in _UNREAD.items() if (n := counts.get(status, 0))]
    if counts.get("ok") or not lost:
        return []
    return [f"no reply could be read: {', '.join(lost)}."]


def _categorical(values: list[str], place: Any) -> pd.Categorical:
    return pd.Categorical(pd.Index(values, dtype=object)).take(place).remove_unused_categories()
