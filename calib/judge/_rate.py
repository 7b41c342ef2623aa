"""rate(): render, call, store, extract. Paid work ends here, in a table."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import warnings
from collections.abc import Coroutine, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from tqdm import tqdm

from calib.judge._extract import Row, extract, has_logprobs, reply_text
from calib.judge._prompt import Prompt, parse_steps
from calib.judge._store import Store
from calib.judge._transport import AnyComplete, Complete, JudgeError, LogprobsError, connect, redact, wrap
from calib.table import check_items, check_ratings

METHODS = ("auto", "logprob", "sample")
_MAX_TOKENS = {"form": 8, "think": 1024}
_DRAWS = {"sample": 20, "logprob": 1}


@dataclass(frozen=True, slots=True)
class Judge:
    """A judge model and how it is read: a frozen value.

    Parameters
    ----------
    model : str
        ``"offline"`` for the embedded judge, else a LiteLLM model string such as
        ``"openai/gpt-4o-mini"``. API keys come from the environment.
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
    concurrency: int = 16

    def __post_init__(self) -> None:
        """Refuse what no call could be made from."""
        if not self.model:
            raise ValueError("`model` must be a model string, but got ''.")
        if self.method not in METHODS:
            raise ValueError(f"`method` must be one of {', '.join(METHODS)}, but got {self.method!r}.")
        if self.temperature < 0:
            raise ValueError(f"`temperature` must not be negative, but got {self.temperature!r}.")
        for name, value in {
            "draws": self.draws,
            "top_logprobs": self.top_logprobs,
            "concurrency": self.concurrency,
        }.items():
            if value is not None and value < 1:
                raise ValueError(f"`{name}` must be at least 1, but got {value!r}.")


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
        function), an OpenAI chat-completions body in, its response out.
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
    table = check_items(items)
    prompts = [prompt] if isinstance(prompt, Prompt) else list(prompt)
    if not prompts or not len(table):
        raise ValueError(f"`items` and `prompt` must not be empty, but got {len(table)} items, {len(prompts)} prompts.")
    with Store(store) as kept:
        line = _Line(judge, kept, *_transport(judge, complete), progress)
        prompts = [_with_steps(line, p) for p in prompts]
        rows = table.to_dict(orient="records")
        method, run = _pin(line, prompts[0], rows[0])
        calls = [call for p in prompts for row in rows for call in _calls(line, p, row, method)]
        _fetch(line, calls)
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
        return _with_steps(_Line(judge, kept, *_transport(judge, complete), False), prompt)


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


def _body(judge: Judge, messages: list[dict[str, str]], most_tokens: int, logprobs: bool) -> dict[str, Any]:
    body: dict[str, Any] = {"model": judge.model, "messages": messages, "temperature": judge.temperature, "top_p": 1}
    body["max_tokens"] = most_tokens
    return body | ({"logprobs": True, "top_logprobs": judge.top_logprobs} if logprobs else {})


def _seeded(judge: Judge, body: dict[str, Any], draw: int) -> dict[str, Any]:
    """Draws get seeds that are hashes: servers may count up from a seed, so neighbours would overlap."""
    if judge.seed is None and judge.model != "offline":
        return body
    raw = f"{judge.seed or 0}/{draw}".encode()
    return body | {"seed": int.from_bytes(hashlib.blake2b(raw, digest_size=4).digest(), "big") >> 1}


def _request(line: _Line, call: _Call) -> dict[str, Any]:
    most = _MAX_TOKENS[call.prompt.reasoning]
    return _seeded(line.judge, _body(line.judge, call.prompt.render(call.row), most, call.logprobs), call.draw)


def _calls(line: _Line, prompt: Prompt, row: dict[str, Any], method: str) -> Iterator[_Call]:
    judge, logprobs = line.judge, method == "logprob"
    draws = judge.draws or _DRAWS[method]
    if logprobs and prompt.reasoning == "form":
        draws = 1  # without a chain of reasoning each reply would tell the same probabilities
    body = _body(judge, prompt.render(row), _MAX_TOKENS[prompt.reasoning], logprobs)
    base = hashlib.blake2b(json.dumps([line.name, judge.base_url, judge.seed, body]).encode(), digest_size=16)
    for draw in range(draws):
        digest = base.copy()
        digest.update(str(draw).encode())
        yield _Call(digest.hexdigest(), prompt, row, draw, logprobs)


def _with_steps(line: _Line, prompt: Prompt) -> Prompt:
    if prompt.steps is not None:
        return prompt
    body = _seeded(line.judge, _body(line.judge, prompt.render_steps_request(), 512, False), 0)
    key = hashlib.blake2b(json.dumps([line.name, line.judge.base_url, body]).encode(), digest_size=16).hexdigest()
    if line.store.missing([key]):
        _run(_keep(line, key, body))
    steps = parse_steps(reply_text(line.store.get(key)))
    if not steps:
        raise JudgeError(
            f"{line.judge.model} wrote no numbered evaluation steps for {prompt.criterion!r}; give `steps`."
        )
    return prompt.with_steps(steps)


def _pin(line: _Line, prompt: Prompt, row: dict[str, Any]) -> tuple[str, str]:
    """The one method of this run, and the words that record how it came about."""
    judge = line.judge
    where = f"{line.name}@{judge.base_url}" if judge.base_url else line.name
    if judge.method != "auto":
        return judge.method, where
    method = "logprob" if _gives_logprobs(line, next(_calls(line, prompt, row, "logprob"))) else "sample"
    if method == "sample":
        note = f"{judge.model} gives no token probabilities: this run samples {judge.draws or 20} replies per item."
        warnings.warn(note, stacklevel=3)
    return method, f"{where}|auto:{method}"


def _gives_logprobs(line: _Line, call: _Call) -> bool:
    try:
        _fetch(line._replace(progress=False), [call])
    except LogprobsError:
        return False
    return has_logprobs(line.store.get(call.key))


# --- many calls -------------------------------------------------------------------------------------------------


def _fetch(line: _Line, calls: list[_Call]) -> None:
    """Make the calls whose replies are not in the store yet."""
    wanted = set(line.store.missing(call.key for call in calls))
    if wanted:
        _run(_work(line, [call for call in calls if call.key in wanted]))


async def _work(line: _Line, calls: list[_Call]) -> None:
    waiting = iter(calls)
    bar = tqdm(total=len(calls), desc=f"rate with {line.judge.model}", unit="call", disable=not line.progress)

    async def worker() -> None:
        for call in waiting:
            try:
                await _keep(line, call.key, _request(line, call))
            except LogprobsError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever a transport raises, the run says which item it was
                raise _failure(line, f"item {call.row['item']!r}", error) from None
            bar.update()

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(line.judge.concurrency, len(calls))):
                group.create_task(worker())
    except* JudgeError as failed:
        first: BaseException = failed
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        problem = first
    else:
        return
    finally:
        bar.close()
    raise problem


async def _keep(line: _Line, key: str, request: dict[str, Any]) -> None:
    reply = await line.complete(request)
    line.store.put(key, request, reply)


def _failure(line: _Line, what: str, error: Exception) -> JudgeError:
    kept = f"{len(line.store)} replies are kept in {line.store.path}; run again to go on" if line.store.path else ""
    reason = redact(f"{type(error).__name__}: {error}")
    return JudgeError(f"the call for {what} failed: {reason}" + (f" ({kept})" if kept else ""))


def _run(work: Coroutine[Any, Any, None]) -> None:
    """Run to the end, also where an event loop is running already, as in Jupyter."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    trouble: list[BaseException] = []

    def target() -> None:
        try:
            asyncio.run(work)
        except BaseException as error:  # noqa: BLE001 - handed over to the thread that waits
            trouble.append(error)

    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
    if trouble:
        raise trouble[0]
    return None


# --- the table --------------------------------------------------------------------------------------------------


def _ratings(line: _Line, calls: list[_Call], run: str, replies: bool) -> pd.DataFrame:
    rows = [row for call in calls for row in _rows(line, call, replies)]
    names = ["item", "criterion", "prompt", "scale", "method", "draw", *Row._fields, "reply"]
    frame = pd.DataFrame(rows, columns=names)
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
