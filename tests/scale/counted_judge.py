"""A judge of a few milliseconds whose calls are counted in a file, so that what other processes ask counts, too."""

import asyncio
import math
import os
from pathlib import Path

import pandas as pd

CALLS = "CALIB_TEST_CALLS"  # the file, as an environment variable that processes inherit
PAUSE = 0.01


async def complete(body):
    """Token probabilities of five labels, by what is asked; steps where steps are asked for."""
    text = body["messages"][-1]["content"]
    _count()
    await asyncio.sleep(PAUSE)
    if "logprobs" not in body:
        return {"choices": [{"message": {"content": "1. Read it.\n2. Judge it."}, "finish_reason": "stop"}]}
    share = sum(map(ord, text)) % 97 / 97
    weights = dict(zip("12345", (0.1, 0.1, 0.2 + 0.1 * share, 0.3 - 0.1 * share, 0.25), strict=True))
    top = [{"token": label, "logprob": math.log(weight)} for label, weight in weights.items()]
    first = {"token": "4", "logprob": math.log(weights["4"]), "top_logprobs": top}
    choice = {"message": {"content": "4"}, "finish_reason": "stop", "logprobs": {"content": [first]}}
    return {"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 1}}


def _count():
    with Path(os.environ[CALLS]).open("a", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\n")


def calls() -> int:
    """So many were made."""
    path = Path(os.environ[CALLS])
    return len(path.read_text(encoding="utf-8").splitlines()) if path.exists() else 0


def made_items(n):
    names = {"item": "i{}", "source": "A source of {} words.", "output": "Output {}.", "group": "g{}", "system": "s{}"}
    values = {"group": lambda k: k // 4, "system": lambda k: k % 4}
    return pd.DataFrame(
        {name: [text.format(values.get(name, int)(k)) for k in range(n)] for name, text in names.items()}
    )
