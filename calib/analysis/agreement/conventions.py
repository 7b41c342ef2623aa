"""What an agreement is of: one coefficient, several, or all those of a published convention."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from calib.analysis.agreement.agreement import CONVENTIONS
from calib.core.check import ArgumentError, choice

_DEFAULTS = {"level": "item", "method": "spearman", "coefficient": None, "constant": "skip", "missing": "drop"}


def rules_of(convention: str | None, rules: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The options of each coefficient: as they were given, or as a published convention has them.

    Examples
    --------
    >>> [rule["coefficient"] for rule in rules_of("bartscore", {})]
    ['spearman', 'kendall']
    >>> [rule["coefficient"] for rule in rules_of(None, {"coefficient": ("kendall", "gamma")})]
    ['kendall', 'gamma']
    """
    if convention is None:
        return list(_each(rules))
    choice(convention, "convention", tuple(CONVENTIONS))
    for name, value in rules.items():
        if value != _DEFAULTS[name]:
            rule, given = f"is set by {{0}} {convention!r}", f"got {value!r} beside it"
            raise ArgumentError(name, rule, given, mentions=("convention",))
    return [dict(rule) for rule in CONVENTIONS[convention]]


def _each(rules: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    named = rules["coefficient"]
    if named is None or isinstance(named, str):
        yield dict(rules)
        return
    if not named:
        raise ArgumentError("coefficient", "must name a coefficient", "is empty")
    yield from ({**rules, "coefficient": one} for one in dict.fromkeys(named))
