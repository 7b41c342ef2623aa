"""How one asks for some of several results: by a value of their labels."""

from __future__ import annotations

from typing import Any

from calib.core.text import printable
from calib.tables.text import Tags, telling, visible

_LISTED, _LONGEST = 12, 60  # values that a message names, and characters of each
_EMPTY = ("", "nan", "None")


class LabelError(KeyError):
    """No label, or more than one, is what was asked for; the message is a sentence, not a key."""

    def __str__(self) -> str:
        return printable(str(self.args[0]))


def label_with(labels: Tags, value: Any) -> str:
    """The name of the label that has this value.

    Examples
    --------
    >>> label_with([{"rater": "gpt-4o", "criterion": "fluency"}, {"rater": "o3", "criterion": "fluency"}], "o3")
    'rater'
    """
    places: dict[str, tuple[int, ...]] = {}
    for name in _names(labels):
        if those := tuple(place for place, label in enumerate(labels) if name in label and label[name] == value):
            places[name] = those
    if not places:
        raise LabelError(f"no label is {value!r}; there are {_there(labels)}")
    if len(set(places.values())) > 1:
        ways = " or ".join(f".select({name}={value!r})" for name in places)
        raise LabelError(f"{value!r} is the {' of some and the '.join(places)} of others: say which by {ways}")
    return next(iter(places))


def way_to_one(labels: Tags) -> str:
    """What is written behind the name of these results for the first of them.

    Examples
    --------
    >>> way_to_one([{"criterion": "fluency", "rater": "a"}, {"criterion": "fluency", "rater": "b"}])
    "['a']"
    >>> way_to_one([{"rater": "a", "against": "b"}, {"rater": "b", "against": "a"}])
    ".select(rater='a').one()"
    """
    named = {name: labels[0][name] for name in telling(labels) if labels[0].get(name, "") != ""}
    those = [label for label in labels if all(label.get(name) == value for name, value in named.items())]
    if not named or len(those) > 1:
        return "[0]"
    narrowed = list(labels)
    for name, value in named.items():
        if len({key for label in narrowed for key, there in label.items() if there == value}) > 1:
            return f".select({', '.join(f'{name}={value!r}' for name, value in named.items())}).one()"
        narrowed = [label for label in narrowed if label.get(name) == value]
    return f"[{', '.join(map(repr, named.values()))}]"


def keys_of(labels: Tags) -> list[str]:
    """The texts that stand in brackets: values in which the labels differ, if each is of one label only."""
    homes: dict[str, set[str]] = {}
    for name in telling(labels):
        for label in labels:
            if isinstance(label.get(name), str):
                homes.setdefault(label[name], set()).add(name)
    return [value for value, names in homes.items() if len(names) == 1]


def _names(labels: Tags) -> list[str]:
    return list(dict.fromkeys(name for label in labels for name in label if not name.startswith("n_")))


def _there(labels: Tags) -> str:
    """The values of each label, the first few."""
    parts = []
    for name in _names(labels):
        values = list(
            dict.fromkeys(
                visible(repr(label[name]), _LONGEST) for label in labels if str(label.get(name, "")) not in _EMPTY
            )
        )
        more = f" and {len(values) - _LISTED} more" * (len(values) > _LISTED)
        parts += [f"{name} {', '.join(values[:_LISTED])}{more}"] * bool(values)
    return "; ".join(parts) or "no labels"
