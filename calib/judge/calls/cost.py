"""What calls cost: tokens always, money where the price is known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """What a run would ask for, before its first call.

    Attributes
    ----------
    calls : int
        Calls to make; `stored` draws are in the store already.
    input_tokens : int
        An estimate: a token of English text has about four characters.
    output_tokens : int
        The most that the replies can hold.
    cost : float or None
        US dollars at most; None where the price is not known.

    Examples
    --------
    >>> print(DryRun(calls=2, stored=0, input_tokens=900, output_tokens=16, cost=None))
    2 calls (0 draws in the store): about 900 tokens in, at most 16 tokens out, price not known
    """

    calls: int
    stored: int
    input_tokens: int
    output_tokens: int
    cost: float | None

    def __str__(self) -> str:
        tokens = f"about {self.input_tokens:,} tokens in, at most {self.output_tokens:,} tokens out"
        price = "price not known" if self.cost is None else f"at most ${self.cost:,.4f}"
        return f"{self.calls:,} calls ({self.stored:,} draws in the store): {tokens}, {price}"


def input_tokens(body: Mapping[str, Any]) -> int:
    """Tokens of a request, estimated: four characters of English text each, about."""
    return sum(len(message["content"]) for message in body["messages"]) // 4 + 1


def most_output_tokens(body: Mapping[str, Any]) -> int:
    """The most that the replies to a request can hold."""
    return int(body["max_tokens"]) * int(body.get("n", 1))


@lru_cache
def list_price(model: str) -> tuple[float, float] | None:
    """US dollars per million tokens in and out by LiteLLM's price list; None where it has none.

    Examples
    --------
    >>> list_price("openai/gpt-4o-mini")
    (0.15, 0.6)
    """
    prices, model = _price_list(), model.removeprefix("litellm/")
    if (entry := prices.get(model)) is None:
        provider, _, name = model.partition("/")
        entry = prices.get(name, {})
        # "bedrock" stands for "bedrock_converse" too; another provider may charge something else
        if not str(entry.get("litellm_provider")).startswith(provider):
            return None
    try:
        return round(entry["input_cost_per_token"] * 1e6, 9), round(entry["output_cost_per_token"] * 1e6, 9)
    except (KeyError, TypeError):
        return None


def _price_list() -> dict[str, dict[str, Any]]:
    # the list is read from the installed package without importing it, which takes seconds
    found = find_spec("litellm")
    for folder in (found.submodule_search_locations if found else None) or ():
        path = Path(folder) / "model_prices_and_context_window_backup.json"
        if path.is_file():
            prices: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
            return prices
    return {}
