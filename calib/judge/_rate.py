"""rate(): render, call, store, extract. Paid work ends here, in a table."""

from __future__ import annotations

import asyncio
import hashlib
import json
import warnings
from collections.abc import Awaitable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pandas as pd
from tqdm import tqdm

from calib.judge._extract import Row, extract, reply_text
from calib.judge._prompt import Prompt, parse_steps
from calib.judge._store import Store
from calib.judge._transport import (
    AnyComplete,
    Complete,
    JudgeError,
    LogprobsError,
    connect,
    decode,
    hang_up,
    public,
    redact,
    wrap,
)
from calib.table import check_items, check_ratings

T = TypeVar("T")

METHODS = ("auto", "logprob", "sample")
_MAX_TOKENS = {"form": 8, "think": 1024}
_STEPS_TOKENS = 512
_DRAWS = {"sample": 20, "logprob": 1}


@dataclass(frozen=True, slots=True)
class Judge:
    """A judge model and how it is read: a frozen value.

    Parameters
    ----------
    model : str
        ``"offline"`` for the embedded judge, else a LiteLLM model string such as
        ``"openai/gpt-4o-mini"``. API keys come from the environment. The embedded judge is
        a small program for trying things out: it compares words, names, numbers and
        spelling with the source, for the four criteria of `geval_prompt`; what it says of
        any other criterion means nothing.
    method : {"auto", "logprob", "sample"}, default "auto"
        "logprob" reads the token probabilities at the score, "sample" draws replies.
        "auto" asks once whether the model gives token probabilities, then keeps to
        one method for the whole run and writes it into the ratings.
    draws : int, optional
        Replies per item: default 20 samples, or 1 reasoning chain for "logprob" with a
        prompt that thinks (without reasoning one reply says everything).
    temperature : float, default 1.0
        At another temperature samples follow another distribution than the model's own.
    top_logprobs : int, default 20
        How many token probabilities to ask for at each place.
    base_url : str, optional
        Endpoint of an OpenAI-compatible server.
    seed : int, optional
        From it a seed is made for each draw. Without one no seed is sent.
    max_tokens : int, optional
        Longest reply; default 8 tokens for a label alone, 1024 with reasoning. Models that
        reason on their own need more.
    concurrency : int, default 16
        Calls under way at once.

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

    def __post_init__(self) -> None:
        """Refuse what no call could be made from."""
        if not self.model:
            raise ValueError("`model` must be a model string, but got ''.")
        if self.method not in METHODS:
            raise ValueError(f"`method` must be one of {', '.join(METHODS)}, but got {self.method!r}.")
        if self.temperature < 0:
            raise ValueError(f"`temperature` must not be negative, but got {self.temperature!r}.")
        for name in ("draws", "top_logprobs", "max_tokens", "concurrency"):
            value = getattr(self, name)
            if value is not None and (value < 1 or int(value) != value):
                raise ValueError(f"`{name}` must be a whole number of at least 1, but got {value!r}.")


def rate(
    items: pd.DataFrame,
    prompt: Prompt | Iterable[Prompt],
    judge: Judge,
    *,
    store: str | Path | None = None,
    complete: AnyComplete | None = None,
    replies: bool = False,
    progress: bool = True,
) -> pd.DataFrame:
    """Ask the judge about every item and return its ratings.

    Parameters
    ----------
    items : DataFrame
        With `item` (unique id) and the columns that the prompt shows.
    prompt : Prompt or iterable of Prompt
        One question or several (one criterion each, say).
    judge : Judge
    store : path, optional
        SQLite file of raw replies. Each reply is kept before it is read: an interrupted
        run goes on where it stopped, a repeated one makes no call. Default: memory.
    complete : callable, optional
        Your own transport: ``async def f(request: dict) -> dict | bytes`` (or a plain
        function, which then runs in threads), an OpenAI chat-completions body in, its
        response out. Replies are stored under the function's name and `judge.base_url`:
        give a base_url where one function serves several endpoints. Raise
        `calib.LogprobsError` where token probabilities are asked for and not to be had.
    replies : bool, default False
        Keep the text of each reply in a column `reply`.
    progress : bool, default True
        Show a progress bar.

    Returns
    -------
    DataFrame
        A table of ratings (see `calib.table`), one row per value that the judge gave a
        reply's probability to; replies that could not be read are NaN with a status.

    Raises
    ------
    TableError, ValueError
        If the items lack a column or have doubled ids.
    JudgeError
        If a call fails or no API key is set; what arrived is in the store.

    Examples
    --------
    >>> import calib
    >>> items, _ = calib.load_planted()
    >>> ratings = rate(items.head(2), calib.geval_prompt("fluency"), Judge("offline"), progress=False)
    >>> sorted(set(ratings["status"])), sorted(set(ratings["method"]))
    (['off_scale', 'ok'], ['logprob'])
    """
    if not isinstance(judge, Judge):
        raise TypeError(f"`judge` must be a calib.Judge, such as calib.Judge('offline'), but got {judge!r}.")
    table = check_items(items)
    prompts = [prompt] if isinstance(prompt, Prompt) else list(prompt)
    if not prompts or not len(table):
        raise ValueError(f"`items` and `prompt` must not be empty, but got {len(table)} items, {len(prompts)} prompts.")
    if len({p.id for p in prompts}) < len(prompts):
        raise ValueError("`prompt` must name each prompt once, but two of them send the same.")
    with Store(store) as kept:
        line = _Line(judge, kept, *_transport(judge, complete), progress)
        calls, run = _run(_closing(_all_calls(line, prompts, table.to_dict(orient="records"))))
        if run.endswith("|auto:sample"):
            drawn = judge.draws or _DRAWS["sample"]
            note = f"{judge.model} gives no token probabilities: this run samples {drawn} replies per item."
            warnings.warn(note, stacklevel=2)
        return _ratings(line, calls, run, replies)


def write_steps(prompt: Prompt, judge: Judge, *, complete: AnyComplete | None = None) -> Prompt:
    """Have the judge write the evaluation steps once (auto-CoT) and freeze them into the prompt.

    `rate` does this by itself for a prompt without steps; do it beforehand to read the
    steps, to edit them or to use the same ones with another judge.

    Parameters
    ----------
    prompt : Prompt
    judge : Judge
    complete : callable, optional
        As for `rate`.

    Returns
    -------
    Prompt
        With `steps`; its `id` depends on them.

    Raises
    ------
    JudgeError
        If the call fails or the reply holds no list of steps.

    References
    ----------
    Liu et al. (2023), G-Eval, section 2, arXiv:2303.16634.

    Examples
    --------
    >>> bare = Prompt.from_criteria("politeness", "The answer is courteous.", inputs=("question", "answer"))
    >>> len(write_steps(bare, Judge("offline")).steps)
    3
    """
    with Store(None) as kept:
        line = _Line(judge, kept, *_transport(judge, complete), progress=False)
        return _run(_closing(_with_steps(line, prompt)))


# --- one call ---------------------------------------------------------------------------------------------------


class _Line(NamedTuple):
    """The way to the judge and what is kept of it."""

    judge: Judge
    store: Store
    name: str
    complete: Complete
    progress: bool


class _Call(NamedTuple):
    key: str
    prompt: Prompt
    row: dict[str, Any]
    draw: int
    logprobs: bool


def _transport(judge: Judge, complete: AnyComplete | None) -> tuple[str, Complete]:
    return connect(judge.model, judge.base_url) if complete is None else wrap(complete)


def _body(judge: Judge, messages: list[dict[str, str]], most_tokens: int, *, logprobs: bool) -> dict[str, Any]:
    body: dict[str, Any] = {"model": judge.model, "messages": messages, "temperature": judge.temperature}
    body["max_tokens"] = most_tokens
    if judge.base_url is not None:
        body["top_p"] = 1  # hosted models have it as default, and some refuse it beside a temperature
    return body | ({"logprobs": True, "top_logprobs": judge.top_logprobs} if logprobs else {})


def _seeded(judge: Judge, body: dict[str, Any], draw: int) -> dict[str, Any]:
    """Draws get seeds that are hashes: servers may count up from a seed, so neighbours would overlap."""
    if judge.seed is None and judge.model != "offline":
        return body
    raw = f"{judge.seed or 0}/{draw}".encode()
    return body | {"seed": int.from_bytes(hashlib.blake2b(raw, digest_size=4).digest(), "big") >> 1}


def _request(line: _Line, call: _Call) -> dict[str, Any]:
    return _seeded(line.judge, _question(line.judge, call.prompt, call.row, logprobs=call.logprobs), call.draw)


def _question(judge: Judge, prompt: Prompt, row: dict[str, Any], *, logprobs: bool) -> dict[str, Any]:
    most = judge.max_tokens or _MAX_TOKENS[prompt.reasoning]
    return _body(judge, prompt.render(row), most, logprobs=logprobs)


def _digest(values: list[Any]) -> hashlib.blake2b:
    return hashlib.blake2b(json.dumps(values).encode(), digest_size=16)


def _calls(line: _Line, prompt: Prompt, row: dict[str, Any], method: str) -> Iterator[_Call]:
    judge, logprobs = line.judge, method == "logprob"
    draws = judge.draws or _DRAWS[method]
    if logprobs and prompt.reasoning == "form":
        draws = 1  # without a chain of reasoning each reply would tell the same probabilities
    body = _question(judge, prompt, row, logprobs=logprobs)
    base = _digest([line.name, judge.base_url, judge.seed, body])
    for draw in range(draws):
        digest = base.copy()
        digest.update(str(draw).encode())
        yield _Call(digest.hexdigest(), prompt, row, draw, logprobs)


# --- many calls, in one event loop ------------------------------------------------------------------------------


async def _all_calls(line: _Line, prompts: list[Prompt], rows: list[dict[str, Any]]) -> tuple[list[_Call], str]:
    """All calls of a run, made, and the words that record how its method came about."""
    written = [await _with_steps(line, prompt) for prompt in prompts]
    method, run = await _pin(line, written[0], rows[0])
    calls = [call for prompt in written for row in rows for call in _calls(line, prompt, row, method)]
    await _fetch(line, calls)
    return calls, run


async def _closing(work: Awaitable[T]) -> T:
    try:
        return await work
    finally:
        await hang_up()


async def _with_steps(line: _Line, prompt: Prompt) -> Prompt:
    if prompt.steps is not None:
        return prompt
    most = max(_STEPS_TOKENS, line.judge.max_tokens or 0)
    body = _seeded(line.judge, _body(line.judge, prompt.render_steps_request(), most, logprobs=False), 0)
    key = _digest([line.name, line.judge.base_url, body]).hexdigest()
    if line.store.missing([key]):
        reply = await _ask(line, f"the evaluation steps of {prompt.criterion!r}", body)
        if not parse_steps(reply_text(reply)):
            what = f"numbered evaluation steps for {prompt.criterion!r}; give `steps`"
            raise JudgeError(f"{line.judge.model} wrote no {what}.")
        line.store.put(key, body, reply)
    return prompt.with_steps(parse_steps(reply_text(line.store.get(key))))


async def _pin(line: _Line, prompt: Prompt, row: dict[str, Any]) -> tuple[str, str]:
    """The one method of this run, and the words that record how it came about."""
    judge = line.judge
    where = f"{line.name}@{public(judge.base_url)}" if judge.base_url else line.name
    if judge.method != "auto":
        return judge.method, where
    method = "logprob" if await _gives_logprobs(line, next(_calls(line, prompt, row, "logprob"))) else "sample"
    return method, f"{where}|auto:{method}"


async def _gives_logprobs(line: _Line, call: _Call) -> bool:
    """Ask once whether there is a distribution: not mere certainty, nor a list that lacks the token emitted."""
    try:
        await _fetch(line._replace(progress=False), [call])
    except LogprobsError:
        return False
    rows = extract(line.store.get(call.key), call.prompt.scale, call.prompt.answer, logprobs=True)
    return any(0 < row.weight < 1 for row in rows)


async def _fetch(line: _Line, calls: list[_Call]) -> None:
    """Make the calls whose replies are not in the store yet; after a failure let those under way finish."""
    missing = set(line.store.missing(call.key for call in calls))
    wanted = list({call.key: call for call in calls if call.key in missing}.values())
    if not wanted:
        return
    waiting, failures = iter(wanted), []
    bar = tqdm(total=len(wanted), desc=f"rate with {line.judge.model}", unit="call", disable=not line.progress)

    async def worker() -> None:
        for call in waiting:
            try:
                request = _request(line, call)
                line.store.put(call.key, request, await _ask(line, f"item {call.row['item']!r}", request))
            except JudgeError as error:
                failures.append(error)
            if failures:
                return
            bar.update()
            await asyncio.sleep(0)  # a transport that never waits would leave no moment for an interrupt

    try:
        await asyncio.gather(*(worker() for _ in range(min(line.judge.concurrency, len(wanted)))))
    finally:
        bar.close()
    if failures:
        raise failures[0]


async def _ask(line: _Line, what: str, request: dict[str, Any]) -> Mapping[str, Any]:
    try:
        return decode(await line.complete(request))
    except LogprobsError:
        raise
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise  # the run itself was stopped
        raise _failure(line, what, "the transport cancelled it") from None
    except Exception as error:  # noqa: BLE001 - whatever a transport raises, the run says which item it was
        name = "" if isinstance(error, JudgeError) else f"{type(error).__name__}: "
        raise _failure(line, what, f"{name}{error}") from None


def _failure(line: _Line, what: str, reason: str) -> JudgeError:
    kept = f" ({len(line.store)} replies are kept in {line.store.path}; run again to go on)" if line.store.path else ""
    return JudgeError(f"the call for {what} failed: {redact(reason)}{kept}")


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end, also where an event loop is running already, as in Jupyter."""
    if not _in_a_loop():
        return asyncio.run(work)
    tasks: list[asyncio.Task[T]] = []

    async def main() -> T:
        tasks.append(asyncio.create_task(work))
        return await tasks[0]

    with ThreadPoolExecutor(1) as thread:
        done = thread.submit(asyncio.run, main())
        try:
            return done.result()
        except KeyboardInterrupt:
            # the calls run in another thread, which does not hear of the interrupt by itself
            for task in tasks:
                with suppress(RuntimeError):  # the loop has ended by itself
                    task.get_loop().call_soon_threadsafe(task.cancel)
            raise


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


# --- the table --------------------------------------------------------------------------------------------------


def _ratings(line: _Line, calls: list[_Call], run: str, replies: bool) -> pd.DataFrame:
    rows = [row for call in calls for row in _rows(line, call, replies)]
    names = ["item", "criterion", "prompt", "scale", "method", "draw", *Row._fields, "reply"]
    frame = pd.DataFrame(rows, columns=names, dtype=object)
    frame.insert(2, "rater", line.judge.model)
    frame.insert(6, "temperature", float(line.judge.temperature))
    frame.insert(7, "run", run)
    return check_ratings(frame if replies else frame.drop(columns="reply"))


def _rows(line: _Line, call: _Call, replies: bool) -> Iterator[tuple[Any, ...]]:
    reply, prompt = line.store.get(call.key), call.prompt
    method = "sample" if not call.logprobs else "logprob" if prompt.reasoning == "form" else "chain"
    head = (call.row["item"], prompt.criterion, prompt.id, str(prompt.scale), method, call.draw)
    text = reply_text(reply) if replies else ""
    for row in extract(reply, prompt.scale, prompt.answer, logprobs=call.logprobs):
        yield (*head, *row, text)
