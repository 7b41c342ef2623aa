"""The built-in criteria, of summaries and of conversations; their texts are those of criteria.toml."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

_TEXTS: dict[str, Any] = tomllib.loads(resources.files("calib.judge").joinpath("criteria.toml").read_text("utf-8"))
_BY_NAME = _TEXTS["summaries"] | _TEXTS["conversations"]
CRITERIA, CONVERSATION_CRITERIA = tuple(_TEXTS["summaries"]), tuple(_TEXTS["conversations"])
LEVELS = {name: tuple(texts["levels"]) for name, texts in _TEXTS["conversations"].items()}  # from worst to best
TASKS: dict[str, str] = _TEXTS["tasks"]  # of a conversation, and of a turn of one


def meaning_of(criterion: str) -> str:
    """What one of the built-in criteria means, in the words that a judge is given."""
    return str(_BY_NAME[criterion]["meaning"])


def steps_of(criterion: str) -> tuple[str, ...]:
    """The evaluation steps of a built-in criterion."""
    return tuple(_BY_NAME[criterion]["steps"])
