"""Scores from ratings: one number per item, criterion and rater, with its spread, bounds and counts."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd

from calib import stats
from calib.core.text import printable
from calib.table import SCORE_KEY, TableArgumentError, TableError, check_items, check_ratings, check_scores, parse_scale
from calib.table.checks import first_places
from calib.table.frames import without_categories
from calib.table.schema import ORDERS

_DENSE = 4  # cells that are counted for each rating, at most; beyond it only those that occur
_CONDITIONS = ["criterion", "rater", "prompt", "method", "temperature", "scale"]
_BY_ORDER = {f"score_{order}_first": order for order in ORDERS}


def scores_of_ratings(ratings: Any) -> pd.DataFrame:
    """Scores of one table of ratings, as `calib.summarize` makes them, with its warning."""
    scores, alone = summarized(ratings, None, None)
    warn_of_one_order(alone)
    return scores


def with_own_systems(scores: pd.DataFrame, ratings: pd.DataFrame, argument: str) -> pd.DataFrame:
    """Scores with the systems that their ratings name; an item is one output, of one system."""
    if "system" not in ratings or "system" in scores:
        return scores
    whose = ratings[["item", "system"]].astype(str).drop_duplicates()
    if (again := whose["item"].duplicated()).any():
        came = f"{whose['item'][again.idxmax()]!r} has several"
        raise TableArgumentError(argument, "must have one system for each item", came)
    return check_scores(scores.assign(system=scores["item"].astype(str).map(whose.set_index("item")["system"])))


def warn_of_one_order(alone: tuple[int, int]) -> None:
    """Of pairs that were judged in both orders and of which only one could be read."""
    if note := one_order_alone(*alone):
        warnings.warn(printable(note), stacklevel=3)


def summarized(ratings: Any, items: Any, pool: str | None, conditions: pd.DataFrame | None = None) -> tuple[Any, Any]:
    """Scores, and of how many pairs that were judged in both orders one alone could be read.

    `conditions` are the raters and prompts of the whole table, where this is a part of it.
    """
    table = check_ratings(ratings)
    if pool:
        conditions = conditions_in(table) if conditions is None else conditions
        # scores of different scales have no mean
        apart = ["criterion"] if pool == "rater" else ["criterion", "rater"]
        for (criterion, *_), texts in conditions.groupby(apart, sort=False)["scale"]:
            ends = {(scale.low, scale.high): text for text in texts.unique() if (scale := parse_scale(str(text)))}
            if len(ends) > 1:
                named = f"{criterion!r} is on {' and '.join(sorted(ends.values()))}"
                raise TableArgumentError("pool", f"{pool!r} needs one scale per criterion", named)
    scores = _scores_by_slot(table)
    alone = _orders(table, scores)
    if pool:
        scores = (_over_prompts if pool == "prompt" else _over_raters)(without_categories(scores), conditions)
    if items is not None:
        items = check_items(items)
        if (missing := ~scores["item"].isin(items["item"])).any():
            item = scores["item"][scores.index[missing][0]]
            raise TableError(f"items: column `item`: must hold every rated item, but {item!r} is missing.")
        names = [name for name in ("group", "system", "system_a", "system_b") if name in items]
        scores = scores.merge(items[["item", *names]].astype(object), on="item", how="left", validate="many_to_one")
    return check_scores(scores), alone


def conditions_in(table: pd.DataFrame) -> pd.DataFrame:
    """Who was asked what, and how: the rows of a table of ratings that differ in more than items and replies."""
    rows = table[_CONDITIONS].drop_duplicates()
    return rows.astype({name: object for name in _CONDITIONS if name != "temperature"})


def _over_raters(scores: pd.DataFrame, conditions: pd.DataFrame) -> pd.DataFrame:
    """Means over the raters of each item and criterion; each order of a pair is a mean of its own.

    Raters become draws of one pooled rater, each with one score however often it rated.
    """
    names, methods = sorted(conditions["rater"].unique()), set(conditions["method"])
    rater = names[0] if len(names) == 1 else f"mean of {len(names)} raters"
    method = methods.pop() if len(methods) == 1 else "sample"
    one = {"rater": rater, "prompt": "", "run": "", "method": method, "temperature": math.nan, "weight": 1.0}
    draws = scores.drop(columns=[*_BY_ORDER], errors="ignore").astype({"score": float})
    silent = draws.get("n_cannot_say", 0) > 0
    status = np.select([draws["score"].notna(), silent], ["ok", "cannot_say"], "unread")
    pooled = _scores_by_slot(
        draws.assign(**one, draw=np.arange(len(draws)), status=status, low=math.nan, high=math.nan)
    )
    if not (orders := [name for name in _BY_ORDER if name in scores]):
        return pooled
    each = scores.groupby(["item", "criterion"])[orders].mean().reset_index()
    return pooled.merge(each, on=["item", "criterion"], how="left", validate="one_to_one")


def _over_prompts(scores: pd.DataFrame, conditions: pd.DataFrame) -> pd.DataFrame:
    """Means over the prompts of each item, criterion and rater, however often each was asked."""
    key = [name for name in SCORE_KEY if name != "prompt"]
    who = [name for name in key if name != "item"]
    prompts = conditions.groupby(who, dropna=False)["prompt"].nunique().rename("n_prompts").reset_index()
    number = scores[who].merge(prompts, on=who, how="left")["n_prompts"]
    prompt = np.where(number > 1, "mean of " + number.astype(str) + " prompts", scores["prompt"])
    scores = scores.assign(n_prompts=number, prompt=prompt).astype({"score": float})
    each = scores.groupby([*key, "prompt"], dropna=False, sort=False)
    orders = [name for name in _BY_ORDER if name in scores]
    averaged = each[["score", "entropy", "mass", "low", "high", *orders]].mean()
    spread = each["sd"].agg(lambda sd: math.sqrt(float(np.mean(sd**2))))
    read = each["score"].count()
    first = each[["n_prompts", "scale"]].first()
    counts = {"n": read, "n_unread": first["n_prompts"] - read}
    return averaged.assign(sd=spread, mode=math.nan, **counts, scale=first["scale"]).reset_index()


def _scores_by_slot(table: pd.DataFrame) -> pd.DataFrame:
    key, first = first_places(table, SCORE_KEY)
    reply, begins = first_places(table.assign(key=key), ("key", "run", "draw"))
    heads = table[[*SCORE_KEY, "scale"]].iloc[first].reset_index(drop=True)
    heads = heads.astype({name: object for name in heads if name != "temperature" and not _all_used(heads[name])})
    columns = numbers_of(table, key, reply, key[begins])
    chains = (heads["method"] == "chain").to_numpy()
    for name in ("var_within", "var_between"):
        columns[name] = np.where(chains, columns[name], np.nan)
    return heads.assign(**columns)


def numbers_of(table: pd.DataFrame, key: Any, reply: Any, owner: Any) -> dict[str, Any]:
    """The score of each key, with its spread, bounds and counts, from rows that belong to a key and a reply.

    `owner` is the key that each reply belongs to; all of them count from 0 without a gap.
    """
    ok = (table["status"] == "ok").to_numpy()
    weight = table["weight"].to_numpy()
    mass = np.bincount(reply, np.where(ok, weight, 0.0))
    draws, read = np.bincount(owner), np.bincount(owner, mass > 0)
    cell, whose, order, counted = _cells_of(table, reply, owner, mass > 0)
    share = (weight / np.where(mass > 0, mass, 1.0)[reply]) * counted[reply]
    shares, levels = by_slot(key[ok], table["score"].to_numpy()[ok], share[ok], len(draws))
    low, high = _bounds(table, reply, owner, counted)
    mean, *spread = _chains(table, reply, cell)
    within, between = (_mean_by(whose, values, np.isfinite(values)) for values in spread)
    by_order = {name: _mean_by(whose, mean, (order == first) & np.isfinite(mean)) for name, first in _BY_ORDER.items()}
    silent = np.bincount(key, table["status"] == "cannot_say").astype(int)
    return {
        "score": stats.expectation(shares, levels),
        "entropy": stats.entropy(shares),
        "sd": np.sqrt(stats.variance(shares, levels)),
        "mode": stats.mode(shares, levels),
        "n": read.astype(int),
        "n_unread": (draws - read).astype(int),
        "mass": np.bincount(owner, mass) / draws,
        "low": low,
        "high": high,
        "var_within": within,
        "var_between": between,
        **({"n_cannot_say": silent} if silent.any() else {}),
        **(by_order if "shown_first" in table else {}),
    }


def _all_used(labels: pd.Series) -> bool:
    """Whether these are categories in their order, each of them there: then they can stay."""
    if not isinstance(labels.dtype, pd.CategoricalDtype):
        return False
    names = labels.cat.categories
    used = np.bincount(labels.cat.codes, minlength=len(names))
    return bool(used.all()) and names.is_monotonic_increasing


def _cells_of(table: pd.DataFrame, reply: Any, owner: Any, read: Any) -> tuple[Any, Any, Any, Any]:
    """The cell of each reply (its key, and of a pair which output was first); of each cell its key and the order.

    And what each reply counts: 0 where it was not read, 1, or of a pair so much that both orders count the same.
    """
    if "shown_first" not in table:
        return owner, np.arange(owner.max(initial=-1) + 1), np.array(""), read * 1.0
    first = table["shown_first"].astype(object).groupby(reply).first()
    cells = pd.DataFrame({"whose": owner, "first": first.to_numpy()})
    distinct = cells.drop_duplicates().sort_values(["whose", "first"])
    cell = cells.merge(distinct.assign(cell=np.arange(len(distinct))), how="left")["cell"].to_numpy()
    whose = distinct["whose"].to_numpy()
    n = np.maximum(np.bincount(cell, read), 1.0)
    all_orders = np.ones(whose.max(initial=-1) + 1)
    np.multiply.at(all_orders, whose, n)  # whole numbers: sums of them are exact, and a tie stays one
    alone = np.bincount(whose)[whose] == 1
    return cell, whose, distinct["first"].to_numpy(), read * np.where(alone, 1.0, all_orders[whose] / n)[cell]


def _orders(table: pd.DataFrame, scores: pd.DataFrame) -> tuple[int, int]:
    """How many pairs could be read in one order alone, and how many were judged in both; people may see one."""
    if "shown_first" not in table:
        return 0, 0
    by_key = table[table["shown_first"] != ""].groupby([*SCORE_KEY], dropna=False, observed=True)["shown_first"]
    counts = by_key.nunique().rename("orders").reset_index()
    orders = scores[[*SCORE_KEY]].merge(counts, on=[*SCORE_KEY], how="left")["orders"]
    most = orders.groupby([scores[name] for name in SCORE_KEY if name != "item"], dropna=False).transform("max")
    both = (orders == 2) | ((most == 2) & (scores["method"] != "human"))
    return int((both & (scores[[*_BY_ORDER]].notna().sum(axis=1) == 1)).sum()), int(both.sum())


def one_order_alone(alone: int, both: int) -> str:
    """What to know where a judge was asked in both orders and a score rests on one of them."""
    what = "have a verdict in one order alone, and their scores lean to where the judge leans"
    drop = f"leave them out by scores.dropna(subset={[*_BY_ORDER]})"
    return f"one_order: {alone} of {both} pairs {what}: {drop}." if alone else ""


def _chains(table: pd.DataFrame, reply: Any, owner: Any) -> tuple[Any, Any, Any]:
    """Means of the replies' scores; variance within a reply (mean over them) and of their expectations (ddof 1)."""
    ok = (table["status"] == "ok").to_numpy()
    weight, score = np.where(ok, table["weight"], 0.0), table["score"].fillna(0.0).to_numpy()
    mass = np.bincount(reply, weight)
    read = mass > 0
    mean, square = (np.bincount(reply, weight * score**k) / np.where(read, mass, 1.0) for k in (1, 2))
    within = _mean_by(owner, np.maximum(square - mean**2, 0.0), read)
    centre = _mean_by(owner, mean, read)
    n = np.bincount(owner, read)
    scatter = np.bincount(owner, np.where(read, (mean - np.nan_to_num(centre)[owner]) ** 2, 0.0))
    return centre, within, np.where(n > 1, scatter / np.maximum(n - 1, 1), np.nan)


def by_slot(key: Any, score: Any, share: Any, n: int) -> tuple[Any, Any]:
    """Shares and levels as (n, most distinct scores of any key); empty slots have share 0."""
    code, values = pd.factorize(score, sort=True)
    whole = key * max(len(values), 1) + code
    if n * len(values) <= _DENSE * len(key):
        cell = np.flatnonzero(np.bincount(whole, minlength=n * len(values)))
        total = np.bincount(whole, share, n * len(values))[cell]
    else:
        number, cell = pd.factorize(whole, sort=True)
        total = np.bincount(number, share)
    owner, level = cell // max(len(values), 1), cell % max(len(values), 1)
    ends = np.cumsum(np.bincount(owner, minlength=n))
    slot = np.arange(len(cell)) - np.append(0, ends[:-1])[owner]
    # numpy adds in eights: rows that are filled up to eights have the same sums, however wide the table is
    shape = (n, 8 << max(int(slot.max(initial=0)) // 8, 0).bit_length())
    shares, levels = np.zeros(shape), np.zeros(shape)
    shares[owner, slot], levels[owner, slot] = total, values[level]
    return shares, levels


def _bounds(table: pd.DataFrame, reply: Any, owner: Any, counted: Any) -> tuple[Any, Any]:
    """Bounds on each key's expectation: each piece of unclear mass at its end of the scale, or not on it at all.

    The least mean takes in the pieces in the order of their ends, as long as they lower it. A score with ends of
    its own is such a piece, too.
    """
    ok = (table["status"] == "ok").to_numpy()
    weight, score = table["weight"].to_numpy(), table["score"].fillna(0.0).to_numpy()
    read, total = np.bincount(reply, np.where(ok, weight, 0.0)), np.bincount(reply, np.where(ok, weight * score, 0.0))
    mean = np.divide(total, read, out=np.full(len(read), np.nan), where=read > 0)
    loose = ok & table["low"].notna().to_numpy() & table["high"].notna().to_numpy()
    sure = np.where(ok & ~loose, weight, 0.0)
    certain, sums = np.bincount(reply, sure), np.bincount(reply, sure * score)
    unclear = (loose | table["status"].isin(["ambiguous", "unseen"]).to_numpy()) & (read > 0)[reply]
    owners, pieces = reply[unclear], weight[unclear]
    ends = []
    for name, sign in (("low", 1.0), ("high", -1.0)):
        end = table[name].to_numpy()[unclear]
        order = np.lexsort((sign * end, owners))
        whose, mass, total = owners[order], pieces[order], (pieces * end)[order]
        reached = (sums[whose] + _running(total, whose)) / (certain[whose] + _running(mass, whose))
        best = sign * mean
        np.minimum.at(best, whose, sign * reached)
        ends.append(_mean_by(owner, sign * best, counted))
    return ends[0], ends[1]


def _running(values: Any, whose: Any) -> Any:
    """Sums up to each value within its owner; owners stand together."""
    place, total = np.arange(len(whose)) - np.searchsorted(whose, whose), values.copy()
    for k in range(1, int(place.max(initial=0)) + 1):  # one after the other: the sums of one owner know no other
        at = np.flatnonzero(place == k)
        total[at] += total[at - 1]
    return total


def _mean_by(owner: Any, values: Any, weight: Any) -> Any:
    count = np.bincount(owner, weight)
    total = np.bincount(owner, np.where(weight > 0, values, 0.0) * weight)
    return np.where(count > 0, total / np.where(count > 0, count, 1.0), np.nan)
