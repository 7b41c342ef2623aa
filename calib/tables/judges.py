"""Several judges beside each other: what each is called, and what is known of the items of all."""

from __future__ import annotations

from typing import Any

import pandas as pd

from calib.tables.door import Who


def all_known(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Each item once, with the human score and the design from whichever frame has them."""
    return pd.concat(frames).drop(columns="x").groupby("item", sort=False).first()


def identity(label: dict[str, Any]) -> tuple[Who, str]:
    """Who was compared with whom: labels themselves differ where a temperature is missing."""
    return Who.of(label), label["against"]


def names_of_judges(labels: list[dict[str, Any]]) -> dict[tuple[Who, str], str]:
    """A name for each label, which tells it from all others of its criterion."""
    names: dict[tuple[Who, str], str] = {}
    for key in {(label["criterion"], label["against"]) for label in labels}:
        those = {identity(label): label for label in labels if (label["criterion"], label["against"]) == key}
        names |= dict(zip(those, short_names(list(those.values())), strict=True))
    return names


def short_names(labels: list[dict[str, Any]]) -> list[str]:
    """What tells these judges apart: the rater, and as much of prompt, method and temperature as it takes."""
    names = [str(label["rater"]) for label in labels]
    for key in ("prompt", "method", "temperature"):
        if len(set(names)) == len(names):
            break
        if len({str(label[key]) for label in labels}) > 1:
            names = [f"{name} ({label[key]})" for name, label in zip(names, labels, strict=True)]
    return names
