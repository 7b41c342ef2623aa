"""From ratings to scores: of one table, or of parts for each of which there is a file."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path
from typing import Any

import pandas as pd

from calib.core.check import check_types, choice
from calib.core.text import printable
from calib.scale import partitions
from calib.scale.partitions import Load, Partitions
from calib.table import TableArgumentError, check_items, check_ratings, check_scores, write
from calib.table.scores import conditions_in, summarized, warn_of_one_order


def summarize(
    ratings: Any, items: Any = None, *, pool: str | None = None, out: str | Path | None = None, executor: Any = None
) -> Any:
    r"""One score per item, criterion and rater: the expectation of its score distribution.

    Within a draw the reported probabilities are normalised over the scale; draws are
    averaged. So a sampled judge gets the mean of its draws, token probabilities give
    the G-Eval expectation, chains the mean of theirs, and a person the label. Of a pair
    of outputs that was judged in both orders the two orders count the same, however many
    draws of each were read: the score is the share of A that wins.

    Parameters
    ----------
    ratings : DataFrame, path or partitions
        A table; or one in parts (`calib.Partitions`): a folder of Parquet files, a `pyarrow.dataset`, a dask
        DataFrame, or frames one after the other, where all ratings of an item stand in one part.
    items : DataFrame, path or partitions, optional
        Adds `group` and `system` (of pairs `system_a`, `system_b`) to the scores, where the items have them.
        Partitions are cut as those of the ratings are.
    pool : {"rater", "prompt"}, optional
        Average all raters of an item and criterion, or one rater's prompts, each with equal weight. Over
        prompts `entropy`, `mass` and the bounds are averages too, and there is no mode.
    out : path, optional
        Of partitions: a folder for the scores, a Parquet file for each part. Without it they come as one table.
    executor : Executor or Client, optional
        Of partitions: who works on them, by the `submit` of `concurrent.futures` (see `calib.Partitions`).

    Returns
    -------
    DataFrame, or Partitions with `out`
        A table of scores, of partitions the same as of one table: `score` (expectation; NaN if nothing could be read),
        `entropy` (nats), `sd` (of a single draw), `mode`, `n` (draws read, or raters or prompts
        pooled), `n_unread`, `mass` (captured on-scale probability), `low`, `high`
        (bounds on the expectation from mass that was not reported or not told apart). For
        chains also `var_within`, the score's variance within a chain of reasoning, and
        `var_between`, that of the chains' expectations (needs two or more chains; of a pair
        within each order). Where people
        could not say, `n_cannot_say` counts that. For pairs also `score_a_first` and
        `score_b_first`, the mean of each order (NaN where it was not asked or not read).

    Warns
    -----
    UserWarning
        If pairs were judged in both orders, and of some only one order could be read.

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
    check_types(summarize, locals())
    if pool is not None:
        choice(pool, "pool", ("rater", "prompt"))
    partitions.refuse_other_folders(ratings, "ratings")
    if partitions.is_partitioned(ratings):
        scores, alone = summarized_parts(Partitions(ratings, executor=executor), items, pool, out)
    else:
        for name, option in (("out", out), ("executor", executor)):
            if option is not None:
                raise TableArgumentError(name, "goes with ratings in partitions", "they came as one table")
        scores, alone = summarized(ratings, items, pool)
    warn_of_one_order(alone)
    return scores


def summarized_parts(
    ratings: Partitions, items: Any, pool: str | None, out: str | Path | None
) -> tuple[Any, tuple[int, int]]:
    """Scores of all parts, as one table or in a folder; and of how many pairs one order alone could be read."""
    conditions = None
    if pool is not None:  # a mean over the raters or prompts of one part would be another
        if not ratings.again:
            rule = "needs the raters of all parts first: give a folder or a list"
            raise TableArgumentError("pool", rule, "got an iterator, which can be gone through once")
        each = ratings.each(_conditions_in_part, what="parts looked at")
        conditions = pd.concat([*each], ignore_index=True).drop_duplicates()
    if items is not None:
        # without the texts
        design = ["item", "group", "system", "system_a", "system_b"]
        items = Partitions(items) if partitions.is_partitioned(items) else check_items(items).filter(design)
    inside = None  # a folder within the one that is to hold the scores, whose files move there when all are whole
    if out is not None:
        folder = Path(out)
        others = [path.name for path in folder.glob("*")] if folder.is_dir() else [folder.name] * folder.exists()
        if foreign := next((name for name in others if not name.startswith(("scores-", ".calib-"))), None):
            rule = "must be a new folder, or one that `summarize` wrote"
            raise TableArgumentError("out", rule, f"{printable(str(folder))} holds {printable(foreign)!r}")
        inside = folder / f".calib-{uuid.uuid4().hex}"
        inside.mkdir(parents=True)
    try:
        parts = list(ratings.each(_summarized_part, items, pool, conditions, inside, what="parts summarized"))
        partitions.refuse_shared([items for _, items, _ in parts], lambda k: ratings.part(k)["item"], "ratings")
        if inside is not None:
            for path in folder.glob("scores-*.parquet"):  # of an earlier run, which may have had more parts
                path.unlink()
            for path in inside.iterdir():
                path.replace(folder / path.name)
    finally:
        if inside is not None:
            shutil.rmtree(inside, ignore_errors=True)
    counts = [alone for *_, alone in parts]
    alone = sum(one for one, _ in counts), sum(both for _, both in counts)
    if out is not None:
        return Partitions(out), alone
    return check_scores(partitions.concatenated([scores for scores, *_ in parts if scores is not None])), alone


def _summarized_part(
    number: int, load: Load, items: Any, pool: str | None, conditions: Any, folder: Path | None
) -> tuple[pd.DataFrame | None, Any, tuple[int, int]]:
    """In whatever process: scores (None where they are in a file), the items, orders as `summarized` counts them."""
    table = check_ratings(load())
    if items is not None:  # those that were rated here; what is missing, `summarized` says by name
        items = items() if callable(items) else items[items["item"].isin(table["item"].cat.categories)]
    scores, alone = summarized(table, items, pool, conditions)
    if folder is not None:
        write(scores, folder / f"scores-{number:06d}.parquet")
    return scores if folder is None else None, partitions.items_hashed(table["item"]), alone


def _conditions_in_part(_number: int, load: Load) -> pd.DataFrame:
    return conditions_in(check_ratings(load()))
