"""The verbs on tables: align by key, count what does not match, call `calib.stats`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

import numpy as np
import pandas as pd

from calib import stats
from calib.stats import Result
from calib.stats._estimate import short
from calib.table import SCORE_KEY, TableError, check_items, check_ratings, check_scores, parse_scale

R = TypeVar("R", bound=Result)
_WHO = ("criterion", "rater", "prompt", "method", "temperature")


@dataclass(frozen=True, slots=True, eq=False)
class Results(Sequence[Result]):
    """Results in a row, one per criterion, rater, prompt, method (and what `by` names).

    Attributes
    ----------
    labels : tuple of dict
        For each result what it is about, and the counts of what did not match.
    results : tuple of Result

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> human = calib.summarize(people, items)
    >>> results = calib.agreement(human, human, level="group")
    >>> len(results), len(results.select(criterion="fluency", rater="simulated-1", against="simulated-2"))
    (24, 1)
    """

    labels: tuple[dict[str, Any], ...]
    results: tuple[Result, ...]

    @overload
    def __getitem__(self, place: int) -> Result: ...
    @overload
    def __getitem__(self, place: slice) -> Results: ...
    def __getitem__(self, place: int | slice) -> Result | Results:
        if isinstance(place, slice):
            return Results(self.labels[place], self.results[place])
        return self.results[place]

    def __len__(self) -> int:
        return len(self.results)

    def __add__(self, other: Results) -> Results:
        return Results(self.labels + other.labels, self.results + other.results)

    def select(self, **wanted: Any) -> Results:
        """Those whose labels have these values.

        Raises
        ------
        KeyError
            If no label has that name or that value.
        """
        for name, value in wanted.items():
            there = list(dict.fromkeys(label[name] for label in self.labels if name in label))
            if not there:
                raise KeyError(f"no label is called {name!r}; there are {self._names()}")
            if value not in there:
                raise KeyError(f"no {name} is {value!r}; there are {', '.join(map(repr, there))}")
        keep = [i for i, label in enumerate(self.labels) if all(label.get(k) == v for k, v in wanted.items())]
        return Results(tuple(self.labels[i] for i in keep), tuple(self.results[i] for i in keep))

    def one(self) -> Result:
        """The single result.

        Raises
        ------
        ValueError
            If there is none or more than one; names what there is.
        """
        if len(self) == 1:
            return self.results[0]
        there = "; ".join(_words(label) for label in self.labels[:12]) or "none"
        raise ValueError(f"one result was asked for, but there are {len(self)}: {there}{' ...' * (len(self) > 12)}")

    def to_frame(self) -> pd.DataFrame:
        """All numbers in one frame, unrounded: labels first, then the results, counts and signatures."""
        pairs = zip(self.labels, self.results, strict=True)
        frames = [result.to_frame().assign(**label, signature=result.signature) for label, result in pairs]
        if not frames:
            return pd.DataFrame()
        names = list(dict.fromkeys(name for label in self.labels for name in label))
        counts = [name for name in names if name.startswith("n_")]
        first, last = [name for name in names if name not in counts], [*counts, "signature"]
        frame = pd.concat(frames, ignore_index=True)
        return frame[[*first, *(name for name in frame if name not in {*first, *last}), *last]]

    def _names(self) -> str:
        return ", ".join(dict.fromkeys(name for label in self.labels for name in label))

    def __str__(self) -> str:
        pairs = zip(self.labels, self.results, strict=True)
        return "\n".join(f"{_words(label)}: {result}{_left_out(label)}" for label, result in pairs)

    def __repr__(self) -> str:
        return f"<{len(self)} results>\n{self}"

    def _repr_html_(self) -> str:
        frame = self.to_frame()
        said = [name for name in frame if not (frame[name].isna() | (frame[name].astype(object) == "")).all()]
        return str(frame[said].to_html(index=False, float_format=short, na_rep="", escape=True))


def _left_out(label: dict[str, Any]) -> str:
    counts = {"n_unmatched": "unmatched", "n_unread": "unread"}
    parts = [f"{label[name]} {word}" for name, word in counts.items() if label.get(name)]
    return f" [left out: {', '.join(parts)}]" if parts else ""


def _words(label: dict[str, Any]) -> str:
    shown = [
        str(value)
        for name, value in label.items()
        if not name.startswith("n_") and name != "temperature" and value != ""
    ]
    # draws at another temperature have another expectation: that has to be seen
    temperature = label.get("temperature", math.nan)
    tempered = label.get("method") in ("sample", "chain") and not math.isnan(temperature) and temperature != 1
    return ", ".join([*shown, f"temperature {temperature:g}"] if tempered else shown)


# --- ratings -> scores ------------------------------------------------------------------------------------------


def summarize(ratings: pd.DataFrame, items: pd.DataFrame | None = None, *, pool: str | None = None) -> pd.DataFrame:
    r"""One score per item, criterion and rater: the expectation of its score distribution.

    Within a draw the reported probabilities are normalised over the scale; draws are
    averaged. So a sampled judge gets the mean of its draws, token probabilities give
    the G-Eval expectation, chains the mean of theirs, and a person the label.

    Parameters
    ----------
    ratings : DataFrame
    items : DataFrame, optional
        Adds `group` and `system` to the scores, where the items have them.
    pool : {"rater"}, optional
        Average all raters of an item and criterion, each with equal weight.

    Returns
    -------
    DataFrame
        A table of scores: `score` (expectation; NaN if nothing could be read),
        `entropy` (nats), `sd` (of a single draw), `mode`, `n` (draws read, or raters
        pooled), `n_unread`, `mass` (captured on-scale probability), `low`, `high`
        (bounds on the expectation from mass that was not reported or not told apart). For
        chains also `var_within`, the score's variance within a chain of reasoning, and
        `var_between`, that of the chains' expectations (needs two or more chains).

    Raises
    ------
    TableError
        If a table breaks its schema, or `items` lacks an item of the ratings.

    References
    ----------
    Liu et al. (2023), G-Eval, equation 1, arXiv:2303.16634.

    Examples
    --------
    >>> rows = [("a", 3, 0.42), ("a", 4, 0.40), ("a", 5, 0.10), ("b", 3, 0.10), ("b", 4, 0.55), ("b", 5, 0.25)]
    >>> ratings = pd.DataFrame(rows, columns=["item", "score", "weight"])
    >>> ratings = ratings.assign(criterion="coherence", rater="judge", method="logprob", scale="1|2|3|4|5")
    >>> summarize(ratings)[["item", "score", "mass"]].round(3).to_dict("records")
    [{'item': 'a', 'score': 3.652, 'mass': 0.92}, {'item': 'b', 'score': 4.167, 'mass': 0.9}]
    """
    if pool not in (None, "rater"):
        raise ValueError(f"`pool` must be None or 'rater', but got {pool!r}.")
    table = check_ratings(ratings)
    table = table.astype({name: object for name in (*SCORE_KEY, "run", "scale", "status") if name != "temperature"})
    scores = _scores(_pooled(table) if pool else table)
    if items is not None:
        scores = _with_design(scores, check_items(items))
    return check_scores(scores)


def _pooled(table: pd.DataFrame) -> pd.DataFrame:
    """Raters as draws of one pooled rater, each with one score however often it rated."""
    alone = _scores(table).astype({"score": float})
    names, methods = sorted(alone["rater"].unique()), set(alone["method"])
    rater = names[0] if len(names) == 1 else f"mean of {len(names)} raters"
    method = methods.pop() if len(methods) == 1 else "sample"
    pooled = alone.assign(
        rater=rater, prompt="", run="", method=method, temperature=math.nan, draw=np.arange(len(alone))
    )
    status = np.where(alone["score"].notna(), "ok", "unread")
    return pooled.assign(weight=1.0, status=status, low=math.nan, high=math.nan)


def _scores(table: pd.DataFrame) -> pd.DataFrame:
    key = table.groupby(list(SCORE_KEY), dropna=False, sort=False).ngroup().to_numpy()
    reply = table.groupby([*SCORE_KEY, "run", "draw"], dropna=False, sort=False).ngroup().to_numpy()
    owner = pd.Series(key).groupby(reply).first().to_numpy()  # the key that each reply belongs to
    heads = table.groupby(key, sort=True)[[*SCORE_KEY, "scale"]].first()
    ok = (table["status"] == "ok").to_numpy()
    weight = table["weight"].to_numpy()
    mass = np.bincount(reply, np.where(ok, weight, 0.0))
    draws, read = np.bincount(owner), np.bincount(owner, mass > 0)
    shares, levels = _dense(
        key[ok], table["score"].to_numpy()[ok], (weight / np.where(mass > 0, mass, 1.0)[reply])[ok], len(heads)
    )
    low, high = _bounds(table, reply, owner)
    within, between = _chains(table, reply, owner)
    chains = (heads["method"] == "chain").to_numpy()
    return heads.reset_index(drop=True).assign(
        score=stats.expectation(shares, levels),
        entropy=stats.entropy(shares),
        sd=np.sqrt(stats.variance(shares, levels)),
        mode=stats.mode(shares, levels),
        n=read.astype(int),
        n_unread=(draws - read).astype(int),
        mass=np.bincount(owner, mass) / draws,
        low=low,
        high=high,
        var_within=np.where(chains, within, np.nan),
        var_between=np.where(chains, between, np.nan),
    )


def _chains(table: pd.DataFrame, reply: Any, owner: Any) -> tuple[Any, Any]:
    """Variance of the score within a chain of reasoning (mean over chains), and of their expectations (ddof 1)."""
    ok = (table["status"] == "ok").to_numpy()
    weight, score = np.where(ok, table["weight"], 0.0), table["score"].fillna(0.0).to_numpy()
    mass = np.bincount(reply, weight)
    read = mass > 0
    mean, square = (np.bincount(reply, weight * score**k) / np.where(read, mass, 1.0) for k in (1, 2))
    within = _mean_by(owner, np.maximum(square - mean**2, 0.0), read)
    centre = _mean_by(owner, mean, read)
    n = np.bincount(owner, read)
    scatter = np.bincount(owner, np.where(read, (mean - np.nan_to_num(centre)[owner]) ** 2, 0.0))
    return within, np.where(n > 1, scatter / np.maximum(n - 1, 1), np.nan)


def _dense(key: Any, score: Any, share: Any, n: int) -> tuple[Any, Any]:
    """Shares and levels as (n, most distinct scores of any key); empty slots have share 0."""
    cells = (
        pd.DataFrame({"key": key, "score": score, "share": share})
        .groupby(["key", "score"])["share"]
        .sum()
        .reset_index()
    )
    slot = cells.groupby("key").cumcount().to_numpy()
    shape = (n, int(slot.max(initial=0)) + 1)
    shares, levels = np.zeros(shape), np.zeros(shape)
    shares[cells["key"], slot], levels[cells["key"], slot] = cells["share"], cells["score"]
    return shares, levels


def _bounds(table: pd.DataFrame, reply: Any, owner: Any) -> tuple[Any, Any]:
    """Bounds on each key's expectation: each piece of unclear mass at its end of the scale, or not on it at all.

    The least mean takes in the pieces in the order of their ends, as long as they lower it.
    """
    ok = (table["status"] == "ok").to_numpy()
    weight, score = table["weight"].to_numpy(), table["score"].fillna(0.0).to_numpy()
    known, sums = np.bincount(reply, np.where(ok, weight, 0.0)), np.bincount(reply, np.where(ok, weight * score, 0.0))
    mean = np.divide(sums, known, out=np.full(len(known), np.nan), where=known > 0)
    unclear = table["status"].isin(["ambiguous", "unseen"]).to_numpy() & (known > 0)[reply]
    owners, pieces = reply[unclear], weight[unclear]
    ends = []
    for name, sign in (("low", 1.0), ("high", -1.0)):
        end = table[name].to_numpy()[unclear]
        order = np.lexsort((sign * end, owners))
        whose, mass, total = owners[order], pieces[order], (pieces * end)[order]
        reached = (sums[whose] + _running(total, whose)) / (known[whose] + _running(mass, whose))
        best = sign * mean
        np.minimum.at(best, whose, sign * reached)
        ends.append(_mean_by(owner, sign * best, known > 0))
    return ends[0], ends[1]


def _running(values: Any, whose: Any) -> Any:
    """Sums up to each value within its owner; owners stand together."""
    total = np.cumsum(values)
    first = np.searchsorted(whose, whose)
    return total - (total - values)[first]


def _mean_by(owner: Any, values: Any, use: Any) -> Any:
    count = np.bincount(owner, use)
    total = np.bincount(owner, np.where(use, values, 0.0))
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _with_design(scores: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    strangers = ~scores["item"].isin(items["item"])
    if strangers.any():
        row = scores.index[strangers][0]
        raise TableError(f"items: column `item`: must hold every rated item, but {scores['item'][row]!r} is missing.")
    names = [name for name in ("group", "system") if name in items]
    return scores.merge(items[["item", *names]].astype(object), on="item", how="left", validate="many_to_one")


def scores_from(
    frame: pd.DataFrame,
    *,
    item: str = "item",
    score: str = "score",
    criterion: str | None = None,
    rater: str | None = None,
    scale: str = "",
    group: str | None = None,
    system: str | None = None,
) -> pd.DataFrame:
    """A table of scores from your own columns.

    Parameters
    ----------
    frame : DataFrame
    item, score : str
        Names of the columns with the ids and with the scores; an empty score is an
        item without a label and is left out.
    criterion, rater : str, optional
        The name of a column, or, where there is none of that name, a value for all rows.
        Default: all rows are of criterion "quality" and of rater "human".
    scale : str, optional
        ``"1|2|3|4|5"`` or ``"lo..hi"``.
    group, system : str, optional
        Names of columns.

    Returns
    -------
    DataFrame

    Raises
    ------
    TableError
        If a named column is missing or a score is not a number on the scale.

    Examples
    --------
    >>> mine = pd.DataFrame({"id": ["a", "b"], "rating": [4, 2]})
    >>> scores_from(mine, item="id", score="rating", criterion="fluency", scale="1|2|3|4|5")[["item", "score", "rater"]]
      item  score  rater
    0    a    4.0  human
    1    b    2.0  human
    """
    taken = {"item": item, "score": score} | {k: v for k, v in (("group", group), ("system", system)) if v}
    for argument, name in taken.items():
        if name not in frame:
            there = ", ".join(repr(str(c)) for c in frame.columns)
            raise TableError(f"`{argument}` must be a column of the frame, but got {name!r}; there are {there}.")
    out = pd.DataFrame({column: frame[name] for column, name in taken.items()})
    for column, given, default in (("criterion", criterion, "quality"), ("rater", rater, "human")):
        out[column] = default if given is None else frame.get(given, given)
    labelled = out["score"].notna() & (out["score"].astype(object) != "")
    return check_scores(out[labelled].assign(scale=scale))


# --- pairs of scores --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Pair:
    """Scores of one rater beside another's, aligned by item; NaN where the other has none."""

    label: dict[str, Any]
    frame: pd.DataFrame


def _slices(scores: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    for key, rows in scores.groupby(list(_WHO), observed=True, dropna=False, sort=False):
        yield dict(zip(_WHO, key, strict=True)), rows


def _pairs(scores: pd.DataFrame, human: pd.DataFrame) -> Iterator[_Pair]:
    """Every rater of `scores` beside every other rater of `human` on the same criterion."""
    first, second = _ready(scores, "scores"), _ready(human, "human")
    found = False
    for label, mine in _slices(first):
        for other, theirs in _slices(second[second["criterion"] == label["criterion"]]):
            if str(label) == str(other):  # as text, where a missing temperature equals itself
                continue
            found = True
            against = f"{other['rater']} ({other['prompt']})" if other["prompt"] else other["rater"]
            yield _Pair(label | {"against": against}, _aligned(mine, theirs))
    if not found:
        raise TableError(
            f"scores and human must share a criterion and differ in the rater (give `scores_from` a `rater`), "
            f"but scores have {_seen(first)} and human {_seen(second)}."
        )


def _seen(scores: pd.DataFrame) -> str:
    pairs = scores[["criterion", "rater"]].drop_duplicates().astype(str)
    return "; ".join(f"{c} by {r}" for c, r in pairs.itertuples(index=False)) or "nothing"


def _ready(scores: pd.DataFrame, name: str) -> pd.DataFrame:
    """Checked scores; ratings are summarised on the way, since that is free."""
    if isinstance(scores, pd.DataFrame) and "weight" in scores and "draw" in scores:
        scores = summarize(scores)
    try:
        return check_scores(scores)
    except TableError as error:
        raise TableError(f"`{name}`: {error}") from None


def _aligned(mine: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """All items of both, with `x`, `y`, and group and system from whichever side has them."""
    sides = []
    for frame, value in ((mine, "x"), (theirs, "y")):
        names = [n for n in ("group", "system", "scale") if n in frame]
        plain = frame[["item", "score", *names]].astype(dict.fromkeys(["item", *names], object))
        sides.append(plain.rename(columns={"score": value}))
    both = sides[0].merge(sides[1], on="item", how="outer", suffixes=("", "_y"), indicator=True, sort=False)
    for name in ("group", "system", "scale"):
        if f"{name}_y" in both:
            both[name] = both[name].where(both[name].notna(), both[f"{name}_y"])
    return both


def _labels(frame: pd.DataFrame, name: str) -> Any:
    return frame[name].to_numpy() if name in frame and frame[name].notna().all() and len(frame) else None


def agreement(
    scores: pd.DataFrame,
    human: pd.DataFrame,
    *,
    level: str = "item",
    method: str = "spearman",
    interval: str = "auto",
    constant: str = "skip",
    confidence_level: float = 0.95,
) -> Results:
    """Correlation of every rater in `scores` with every rater in `human`, per criterion.

    Parameters
    ----------
    scores, human : DataFrame
        Tables of scores (or of ratings). Judge-human, human-human and judge-judge are
        the same: a rater is not compared with itself.
    level : {"item", "group", "system"}
    method : {"spearman", "pearson", "kendall", "kendall_c"}
    interval : {"auto", "none"}
    constant : {"skip", "zero"}
    confidence_level : float
        As for `calib.stats.agreement`, which see for the formulas.

    Returns
    -------
    Results
        Labelled by criterion, rater, prompt, method, temperature, `against` (the other
        rater) and `n_unmatched` (items that only one of the two scored).

    Raises
    ------
    TableError
        If nothing matches, or the level needs a column that is not there.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> human = calib.summarize(people, items)
    >>> pair = calib.agreement(human[human["rater"] == "simulated-1"], human[human["rater"] == "simulated-2"])
    >>> [round(result.estimate, 2) for result in pair.select(criterion="coherence")]
    [0.63]
    """
    labels, results = [], []
    for pair in _pairs(scores, human):
        both = pair.frame[pair.frame["_merge"] == "both"]
        _need(level, both)
        result = stats.agreement(
            both["x"],
            both["y"],
            groups=_labels(both, "group"),
            systems=_labels(both, "system"),
            level=level,
            method=method,
            interval=interval,
            constant=constant,
            confidence_level=confidence_level,
        )
        labels.append(pair.label | {"n_unmatched": len(pair.frame) - len(both)})
        results.append(result)
    return Results(tuple(labels), tuple(results))


def _need(level: str, frame: pd.DataFrame) -> None:
    if not len(frame):
        raise TableError("scores and human must share items, but no item is in both.")
    if level in ("group", "system") and _labels(frame, level) is None:
        raise TableError(
            f"level {level!r} needs a column `{level}`: give the items to `summarize`, or name it in `scores_from`."
        )


# --- aggregates -------------------------------------------------------------------------------------------------


def interval(
    scores: pd.DataFrame,
    gold: pd.DataFrame,
    *,
    by: str | None = None,
    method: str = "auto",
    confidence_level: float = 0.95,
) -> Results:
    """Mean human score of items like those in `scores`, from the few that `gold` labels, with an interval.

    The mean is that of the population which the items are a sample of: the documents to come.

    Parameters
    ----------
    scores : DataFrame
        A judge's scores (or ratings) of all items.
    gold : DataFrame
        Human scores of a random sample of these items, one rater (pool several first).
    by : str, optional
        A column of the scores, such as "system": one result for each of its values.
    method : {"auto", "ppi++", "ppi", "classical", "judge_only"}
        As for `calib.stats.ppi_mean`. "classical" uses the gold labels alone,
        "judge_only" the judge alone, which gives no interval for the human mean.
    confidence_level : float

    Returns
    -------
    Results
        Labelled by criterion, rater, prompt, method, temperature, `by`, `n_unmatched`
        (gold labels of items that the judge did not score, left out) and `n_unread`
        (items whose judge score is missing, left out).
        Where a `group` repeats within a result, its items are not taken as independent.

    Raises
    ------
    TableError
        If nothing matches, `by` is no column, or `gold` has several raters.
    ValueError
        If a result has fewer than two gold labels.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> human = calib.summarize(people, items, pool="rater")
    >>> judge = calib.Judge("offline", method="logprob")
    >>> ratings = calib.rate(items, calib.geval_prompt("coherence"), judge, progress=False)
    >>> gold = human[human["group"].isin(sorted(set(human["group"]))[:12])]
    >>> results = calib.interval(calib.summarize(ratings, items), gold, by="system")
    >>> print(results.select(system="clean").one())
    human mean = 4.729, 95 % CI [4.608, 4.85], from 12 human labels and 24 judge scores (PPI++)
    """
    labels, results = [], []
    for pair in _gold_pairs(scores, gold):
        judged = pair.frame[pair.frame["_merge"] != "right_only"]
        _need_gold(judged, method, by, pair.label)
        strangers = len(pair.frame) - len(judged)
        for label, part in _parts(judged, by):
            whole = pair.label | label
            read = part[part["x"].notna()]
            results.append(_mean_of(read, method, confidence_level, whole))
            labels.append(whole | {"n_unmatched": strangers, "n_unread": len(part) - len(read)})
    return Results(tuple(labels), tuple(results))


def _need_gold(judged: pd.DataFrame, method: str, by: str | None, label: dict[str, Any]) -> None:
    """Say at once what is short of labels, before the arrays are asked."""
    scales = {f"{scale.low:g} to {scale.high:g}" for text in _scales(judged) if (scale := parse_scale(text))}
    if len(scales) > 1:
        raise TableError(
            f"{_words(label)}: scores and gold must be on one scale, but are on {' and '.join(sorted(scales))}."
        )
    if method == "judge_only" or (by is not None and by not in judged):
        return
    labelled = judged["y"].notna()
    if not labelled.any():
        raise TableError(
            f"{_words(label)}: scores and gold must share items, but no gold item was scored by the judge."
        )
    if by is not None:
        counts = labelled.groupby(judged[by], sort=False).sum()
        short = [f"{name!r} ({n})" for name, n in counts.items() if n < 2]
        if short:
            raise ValueError(
                f"{_words(label)}: each {by} must have two gold labels at least, but not: {', '.join(short)}."
            )


def _scales(judged: pd.DataFrame) -> set[str]:
    columns = [judged[name] for name in ("scale", "scale_y") if name in judged]
    return {str(text) for column in columns for text in column.dropna().unique()}


def _gold_pairs(scores: pd.DataFrame, gold: pd.DataFrame) -> Iterator[_Pair]:
    people = _ready(gold, "gold")
    for criterion, rows in people.groupby("criterion", observed=True):
        raters = [label["rater"] for label, _ in _slices(rows)]
        if len(raters) > 1:
            known = ", ".join(map(repr, raters))
            raise TableError(
                f"`gold` must have one rater per criterion, but {criterion!r} has {known}; pool them first."
            )
    yield from _pairs(scores, people)


def _parts(frame: pd.DataFrame, by: str | None) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    if by is None:
        yield {}, frame
        return
    if by not in frame:
        there = ", ".join(repr(name) for name in ("group", "system") if name in frame) or "neither group nor system"
        raise TableError(f"`by` must be a column of the scores, but got {by!r}; there are {there}.")
    if frame[by].isna().any():
        raise TableError(f"`by` must be a column without gaps, but {by!r} has {int(frame[by].isna().sum())}.")
    for value, rows in frame.groupby(by, sort=False):
        yield {by: value}, rows


def _mean_of(part: pd.DataFrame, method: str, confidence_level: float, label: dict[str, Any]) -> Result:
    if "group" in part and part["group"].isna().any() and not part["group"].isna().all():
        raise TableError("some scores have a `group` and some have none: give the items to `summarize` on both sides.")
    group = _labels(part, "group")
    repeated = group is not None and len(set(group)) < len(group)
    try:
        return stats.ppi_mean(
            part["y"], part["x"], groups=group if repeated else None, method=method, confidence_level=confidence_level
        )
    except ValueError as error:
        raise ValueError(f"{_words(label)}: {error}") from None


def difference(
    scores: pd.DataFrame,
    gold: pd.DataFrame,
    a: str,
    b: str,
    *,
    method: str = "auto",
    confidence_level: float = 0.95,
) -> Results:
    """Mean human score of system `a` less that of system `b`, paired by group.

    Parameters
    ----------
    scores, gold : DataFrame
        As for `interval`, with columns `group` and `system`; both systems answer the same groups.
    a, b : str
        Names of the systems.
    method, confidence_level
        As for `interval`.

    Returns
    -------
    Results
        With `p_value` for "no difference".

    Raises
    ------
    TableError
        If a system is unknown, or the columns are not there.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> human = calib.summarize(people, items, pool="rater")
    >>> judge = calib.summarize(people[people["rater"] == "simulated-1"], items)
    >>> result = calib.difference(judge, human.head(600), "clean", "coherence-2").select(criterion="coherence").one()
    >>> result.interval.low > 0
    True
    """
    if a == b:
        raise TableError(f"`a` and `b` must be two systems, but both are {a!r}.")
    labels, results = [], []
    for pair in _gold_pairs(scores, gold):
        sides = [_system(pair.frame, name).add_suffix(end) for name, end in ((a, "_a"), (b, "_b"))]
        both = sides[0].join(sides[1], how="inner").dropna(subset=["x_a", "x_b"])
        result = stats.ppi_difference(
            both["y_a"], both["y_b"], both["x_a"], both["x_b"], method=method, confidence_level=confidence_level
        )
        unmatched = max(len(side) for side in sides) - len(both)
        labels.append(pair.label | {"system": f"{a} - {b}", "n_unmatched": unmatched})
        results.append(result)
    return Results(tuple(labels), tuple(results))


def _system(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    for column in ("group", "system"):
        if column not in frame:
            raise TableError(f"a difference of systems needs a column `{column}`: give the items to `summarize`.")
    rows = frame[frame["system"] == name]
    if not len(rows):
        there = ", ".join(sorted(map(repr, frame["system"].dropna().unique())))
        raise TableError(f"no scores of system {name!r}; there are {there}.")
    if rows["group"].duplicated().any():
        raise TableError(f"system {name!r} must have one item per group, but has several in some.")
    return rows.set_index("group")[["x", "y"]]


# --- draws ------------------------------------------------------------------------------------------------------


def convergence(
    sampled: pd.DataFrame,
    exact: pd.DataFrame | None = None,
    *,
    human: pd.DataFrame | None = None,
    method: str = "spearman",
    sizes: Sequence[int] | None = None,
    n_subsets: int = 100,
    unlike: bool = False,
    rng: np.random.Generator | int | None = None,
) -> Results:
    """Means of N sampled draws against the logprob expectation, and against people.

    Parameters
    ----------
    sampled : DataFrame
        Ratings with several draws per item (method "sample").
    exact : DataFrame, optional
        Scores (or ratings) of the same rater and criterion from token probabilities.
        Default: the mean of all draws is the reference.
    human : DataFrame, optional
        Human scores of the same items, one rater (pool several first).
    method, sizes, n_subsets, rng
        As for `calib.stats.convergence`.
    unlike : bool, default False
        Compare the samples with a reference that estimates something else: of another
        prompt or temperature, or after a single chain of reasoning. The results are then
        labelled with what it is.

    Returns
    -------
    Results
        Labelled by criterion, rater, prompt, method, temperature and `n_unmatched`
        (items of the sampled ratings without an exact score, left out).

    Raises
    ------
    TableError
        If there are no sampled draws, `exact` or `human` do not cover them, or `exact`
        does not estimate what the samples do.

    Notes
    -----
    Samples at temperature 1 have the expectation of the token probabilities only where
    the label comes first. After reasoning the probabilities are those given one chain;
    their mean over several chains has the same target as samples of whole replies.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> prompt = calib.geval_prompt("coherence")
    >>> sampled, exact = [calib.rate(items.head(60), prompt, calib.Judge("offline", method=m), progress=False)
    ...                   for m in ("sample", "logprob")]
    >>> result = calib.convergence(sampled, exact, rng=1).one()
    >>> result.sizes[-1], result.rmse[0] > 3 * result.rmse[-1]
    (20, True)
    """
    table = check_ratings(sampled)
    table = table[table["method"] == "sample"]
    if not len(table):
        raise TableError("`sampled` must hold ratings of method 'sample', but has none.")
    target = None if exact is None else _ready(exact, "exact")
    people = None if human is None else _ready(human, "human")
    source = np.random.default_rng(rng)
    labels, results = [], []
    for label, rows in _slices(table):
        number = rows.groupby(["run", "draw"], observed=True).ngroup()
        cells = rows.assign(number=number, item=rows["item"].astype(object)).set_index(["item", "number"])
        draws = cells["score"].unstack("number")  # noqa: PD010 - nothing is to be averaged here
        draws = draws.reindex(pd.unique(rows["item"].astype(object)))
        reference = None if target is None else _reference(target, label, unlike=unlike)
        kept = draws if reference is None else draws[draws.index.isin(reference.index)]
        result = stats.convergence(
            kept.to_numpy(),
            exact=None if reference is None else reference.reindex(kept.index),
            human=None if people is None else _column(people, label, ("criterion",), "human").reindex(kept.index),
            method=method,
            sizes=sizes,
            n_subsets=n_subsets,
            rng=source,
        )
        against = {"reference": _kind(target, label)} if unlike and target is not None else {}
        labels.append(label | against | {"n_unmatched": len(draws) - len(kept)})
        results.append(result)
    return Results(tuple(labels), tuple(results))


def _reference(exact: pd.DataFrame, label: dict[str, Any], *, unlike: bool) -> pd.Series:
    """What the means of the samples are compared with, if they have the same target."""
    if unlike:
        return _column(exact, label, ("criterion", "rater"), "exact")
    found = _column(exact, label, ("criterion", "rater", "prompt"), "exact")
    trouble = _unlike(_rows_of(exact, label, ("criterion", "rater", "prompt")), label["temperature"])
    if trouble:
        raise TableError(f"`exact` must estimate what the samples do, but {trouble}. `unlike=True` compares anyway.")
    return found


def _unlike(rows: pd.DataFrame, drawn_at: float) -> str:
    """Why these scores of the same prompt have another target than samples at a temperature; empty if not."""
    known = not math.isnan(drawn_at)
    samples = f"the samples were drawn at temperature {drawn_at:g}"
    if known and drawn_at != 1 and (rows["method"] != "sample").any():
        return f"{samples}, token probabilities are those of temperature 1"
    others = rows.loc[rows["method"] != "logprob", "temperature"].dropna()
    if known and (others != drawn_at).any():
        return f"{samples}, the reference at {others[others != drawn_at].iloc[0]:g}"
    if ((rows["method"] == "chain") & (rows["n"] < 2)).any():
        return "after one chain of reasoning it is the expectation given that chain; read several (`draws`)"
    return ""


def _kind(exact: pd.DataFrame, label: dict[str, Any]) -> str:
    """What a reference is, in words."""
    rows = _rows_of(exact, label, ("criterion", "rater"))
    return "; ".join(f"{m} of {p} at temperature {t:g}" for m, p, t in sorted(set(_told(rows))))


def _told(rows: pd.DataFrame) -> Iterator[tuple[str, str, float]]:
    return zip(rows["method"].astype(str), rows["prompt"].astype(str), rows["temperature"], strict=True)


def _rows_of(scores: pd.DataFrame, label: dict[str, Any], names: tuple[str, ...]) -> pd.DataFrame:
    return scores[np.logical_and.reduce([scores[name] == label[name] for name in names])]


def _column(scores: pd.DataFrame, label: dict[str, Any], names: tuple[str, ...], argument: str) -> pd.Series:
    """The scores under a label by item; one rater of them."""
    rows = _rows_of(scores, label, names)
    if not len(rows):
        wanted = ", ".join(f"{name} {label[name]!r}" for name in names)
        raise TableError(f"`{argument}` must have scores of {wanted}, but has {_seen(scores)}.")
    if rows["item"].duplicated().any():
        raise TableError(
            f"`{argument}` must have one score per item of {label['criterion']!r}; pool or select the raters."
        )
    return rows.set_index(rows["item"].astype(object))["score"]
