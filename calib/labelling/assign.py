"""Who is asked what, in which order: drawn by seed, page and annotator, the same on every machine."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from unicodedata import normalize

import numpy as np

from calib.core import check
from calib.core.check import ArgumentError
from calib.labelling.task import Asked, Sheet

_LONGEST = 40  # characters of a name in that of a file


def rng_of(*words: object) -> np.random.Generator:
    """A source of draws from words.

    Examples
    --------
    >>> int(rng_of(0, "3e90d600b322", "ann").integers(1000))
    421
    """
    told = "\0".join(map(str, words)).encode("utf-8", "surrogatepass")
    return np.random.Generator(np.random.PCG64(int.from_bytes(hashlib.sha256(told).digest()[:16])))


def sheets_of(
    asked: Sequence[Asked],
    annotators: Sequence[str],
    *,
    overlap: int | None = None,
    strata: Mapping[str, object],
    seed: int,
    page: str,
    paired: bool,
) -> tuple[Sheet, ...]:
    """A sheet for each annotator: the common items and a share of the others, shuffled.

    Common items are drawn with the same chance each, spread over the strata, and the others are dealt out stratum by
    stratum, so that shares differ by one item at most, in each stratum too. Of a pair two annotators who share it see
    the two orders, and each annotator sees half of the pairs in either.
    """
    count = len(asked) if overlap is None else overlap
    dealt = _by_stratum(asked, strata, rng_of(seed, page, "deal"))
    common = _spread(len(dealt), count, rng_of(seed, page, "common"))
    shared = [dealt[place] for place in common]
    rest = [one for place, one in enumerate(dealt) if place not in set(common)]
    sheets = []
    for place, name in enumerate(annotators):
        own = rest[place :: len(annotators)]
        if paired:
            base = _half(len(shared), rng_of(seed, page, "swap"))
            flags = [flag != bool(place % 2) for flag in base]
            more = (len(shared) + len(own)) // 2 - sum(flags)
            flags += _some(len(own), min(max(more, 0), len(own)), rng_of(seed, page, name, "swap"))
            mine = [replace(one, swapped=flag) for one, flag in zip([*shared, *own], flags, strict=True)]
        else:
            mine = [*shared, *own]
        order = rng_of(seed, page, name, "order").permutation(len(mine))
        sheets.append(Sheet(name, tuple(mine[at] for at in order)))
    return tuple(sheets)


def _by_stratum(asked: Sequence[Asked], strata: Mapping[str, object], source: np.random.Generator) -> list[Asked]:
    """In random order within each stratum; the order in which items came says nothing."""
    ordered = sorted(asked, key=lambda one: one.item)
    mixed = [ordered[at] for at in source.permutation(len(ordered))]
    return sorted(mixed, key=lambda one: str(strata.get(one.item, "")))


def _spread(n: int, count: int, source: np.random.Generator) -> list[int]:
    """Places at one distance from a random start: each place has the same chance."""
    start = source.random()
    return [int((start + k) * n / count) for k in range(count)]


def _half(n: int, source: np.random.Generator) -> list[bool]:
    return _some(n, n // 2 + int(source.integers(2)) * (n % 2), source)


def _some(n: int, count: int, source: np.random.Generator) -> list[bool]:
    """Which of n, as many as `count` at random."""
    picked = set(source.permutation(n)[:count].tolist())
    return [place in picked for place in range(n)]


# --- who ------------------------------------------------------------------------------------------------------------


def annotators_of(annotators: Sequence[str] | None, rater: str | None, overlap: int | None, n: int) -> tuple[str, ...]:
    """The names of those who label; one that is empty where the page shall ask."""
    if annotators is None:
        if overlap is not None:
            raise ArgumentError("overlap", "needs {0}, two or more", f"got {overlap!r}", mentions=("annotators",))
        return (_name(rater, "rater") if rater is not None else "",)
    if rater is not None:
        rule = "must be left out where {0} are given"
        raise ArgumentError("rater", rule, f"got {rater!r}", mentions=("annotators",))
    names = tuple(_name(name, "annotators") for name in annotators)
    if not names or len(set(names)) < len(names):
        again = next((f"{name!r} twice" for name in names if names.count(name) > 1), "none")
        raise ArgumentError("annotators", "must be different names, one at least", f"got {again}")
    if overlap is not None:
        _fitting(check.whole(overlap, "overlap", least=0), names, n)
    return names


def _name(text: str, argument: str) -> str:
    name = normalize("NFC", text.strip())
    if not name or not name.isprintable():
        raise ArgumentError(argument, "must be a name of characters that can be printed", f"got {text!r}")
    return name


def _fitting(overlap: int, names: Sequence[str], n: int) -> None:
    if len(names) < 2:
        raise ArgumentError(
            "overlap", "needs {0}, two or more", f"there is {names[0]!r} alone", mentions=("annotators",)
        )
    if overlap > n:
        raise ArgumentError("overlap", f"must be at most the number of items to label ({n})", f"got {overlap}")
    if overlap == 0 and n < len(names):
        raise ArgumentError("annotators", f"must be at most the number of items to label ({n})", f"are {len(names)}")


def file_names(names: Sequence[str]) -> list[str]:
    """The names of annotators as parts of names of files, each another, also where case does not count.

    Examples
    --------
    >>> file_names(["Ann", "ann", "../x", "J. Doe", "?"])
    ['Ann', 'ann-2', 'x', 'J.-Doe', 'annotator']
    """
    found: list[str] = []
    for name in names:
        plain = re.sub(r"[^\w.]+", "-", name).strip("-.")[:_LONGEST].strip("-.") or "annotator"
        tried, number = plain, 1
        while tried.casefold() in map(str.casefold, found):
            number += 1
            tried = f"{plain}-{number}"
        found.append(tried)
    return found
