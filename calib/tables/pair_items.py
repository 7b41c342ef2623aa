"""Pairs of systems' outputs, for a judge that says which of two is better."""

from __future__ import annotations

import warnings

import pandas as pd

from calib.core.check import as_typed
from calib.core.text import printable
from calib.table import TableArgumentError, TableError, check_items

_BETWEEN = " vs "
_OF_ONE = {"item", "output", "system"}  # columns of one output; a pair has two of each


def pair_items(items: pd.DataFrame, baseline: str | None = None) -> pd.DataFrame:
    """Pairs of systems' outputs on the same source, as items for a prompt that compares two.

    Two outputs make a pair where their `source` is the same (and their `group`, where there is
    one), or their `group` where there is no `source`. Each pair stands there once: `rate` asks
    in both orders by itself.

    Parameters
    ----------
    items : DataFrame
        With `item`, `system`, `output`, and `source` or `group`.
    baseline : str, optional
        A system to compare each other one with; it is `output_b`, so that scores are shares of
        wins against it. Default: each system with each other, in the order of the table.

    Returns
    -------
    DataFrame
        A table of items, one row per pair: `item` ("x vs y", of the two ids), `source` and `group`
        as they were (`group` is the source's number where there was none), `output_a`, `output_b`,
        `system_a`, `system_b`, `item_a`, `item_b` (the ids), and other columns that
        both outputs have alike everywhere.

    Raises
    ------
    TableError
        If a column is missing, there is no such system, or no two systems have the same source.

    Warns
    -----
    UserWarning
        If outputs are in no pair: no other system, or not the baseline, has their source.

    Examples
    --------
    >>> import calib
    >>> items, _ = calib.load_planted()
    >>> pairs = pair_items(items, baseline="clean")
    >>> pairs.loc[0, ["item", "system_a", "system_b"]].tolist()
    ['news-harbour/coherence-1 vs news-harbour/clean', 'coherence-1', 'clean']
    """
    as_typed(pair_items, locals())
    table = check_items(items)
    shared = _shared_columns(table)
    outputs = _numbered(table, shared)
    pairs = outputs.merge(outputs[_is_second(outputs, table, baseline)], on="place", suffixes=("_a", "_b"))
    pairs = pairs[pairs["rank_a"] < pairs["rank_b"] if baseline is None else pairs["rank_a"] != pairs["rank_b"]]
    if pairs.empty:
        among = " and ".join(f"`{name}`" for name in shared)
        raise TableError(f"items: column `system`: must have two or more systems with the same {among}, but has none.")
    _tell_unpaired(len(table) - len({*pairs["at_a"], *pairs["at_b"]}), len(table), baseline)
    return check_items(_as_items(pairs, table))


def _shared_columns(table: pd.DataFrame) -> list[str]:
    """What the two outputs of a pair have in common."""
    for name in ("system", "output"):
        if name not in table:
            there = ", ".join(repr(str(column)) for column in table)
            raise TableError(f"items: column `{name}` is missing, of which pairs are made; there are {there}.")
    shared = [name for name in ("group", "source") if name in table]
    if not shared:
        raise TableError("items: column `source` is missing (or `group`), which says what outputs are compared on.")
    return shared


def _numbered(table: pd.DataFrame, shared: list[str]) -> pd.DataFrame:
    """Each output by its row, its system's place in the table, and what it is an output on."""
    place = table.groupby(shared, sort=False, observed=True).ngroup()
    rank = pd.factorize(table["system"].astype(object))[0]
    return pd.DataFrame({"at": range(len(table)), "rank": rank, "place": place})


def _is_second(outputs: pd.DataFrame, table: pd.DataFrame, baseline: str | None) -> pd.Series:
    """Whether each may be the second of a pair: any, or the baseline's."""
    if baseline is None:
        return outputs["rank"] >= 0
    names = list(dict.fromkeys(table["system"].astype(object)))
    if str(baseline) not in names:
        known = ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
        raise TableArgumentError("baseline", f"must be one of the systems: {known}", f"got {baseline!r}")
    return outputs["rank"] == names.index(str(baseline))


def _tell_unpaired(left: int, n: int, baseline: str | None) -> None:
    if left:
        other = "no other system" if baseline is None else f"not the baseline {baseline!r}"
        note = f"unpaired: {left} of {n} outputs are in no pair, for {other} has an output on the same source."
        warnings.warn(printable(note), stacklevel=3)


def _as_items(pairs: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """The pairs as items, in the order of the table."""
    pairs = pairs.sort_values(["place", "at_a", "at_b"])
    plain = table.astype(object)
    first, second = (plain.iloc[pairs[at]].reset_index(drop=True) for at in ("at_a", "at_b"))
    names = [_quoted(a) + _BETWEEN + _quoted(b) for a, b in zip(first["item"], second["item"], strict=True)]
    out = pd.DataFrame({"item": pd.Series(names, dtype=object)})
    alike = [name for name in plain if name not in _OF_ONE and _same(first[name], second[name])]
    out = out.assign(**{name: first[name] for name in alike})
    if "group" not in table:
        out["group"] = "source " + (pairs["place"].to_numpy() + 1).astype(str).astype(object)
    for name in ("output", "system", "item"):
        out[f"{name}_a"], out[f"{name}_b"] = first[name], second[name]
    return out


def _quoted(name: str) -> str:
    """An id as it stands in that of a pair; quoted where it could be taken for two."""
    return repr(name) if _BETWEEN in name else name


def _same(first: pd.Series, second: pd.Series) -> bool:
    return bool(((first == second) | (first.isna() & second.isna())).all())
