"""What a judge is told and asked, from wording.toml, and the built-in criteria of summaries and of conversations."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

WORDING: dict[str, Any] = tomllib.loads(resources.files("calib.judge").joinpath("wording.toml").read_text("utf-8"))
_BY_NAME = WORDING["summaries"] | WORDING["conversations"]
CRITERIA, CONVERSATION_CRITERIA = tuple(WORDING["summaries"]), tuple(WORDING["conversations"])
LEVELS = {name: tuple(texts["levels"]) for name, texts in WORDING["conversations"].items()}  # from worst to best


def meaning_of(criterion: str) -> str:
    """What one of the built-in criteria means, in the words that a judge is given."""
    return str(_BY_NAME[criterion]["meaning"])


def steps_of(criterion: str) -> tuple[str, ...]:
    """The evaluation steps of a built-in criterion."""
    return tuple(_BY_NAME[criterion]["steps"])
