"""How closely a judge's averaged score follows people, and how far labels then go."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calib.analysis.planning.labels import error_with_judge
from calib.analysis.planning.pilot import not_negative, positive
from calib.core import check
from calib.core.check import ArgumentError, Floats


def judge_correlation(
    rho_inf: ArrayLike, item: float, item_prompt: float, draw: float, *, prompts: ArrayLike, draws: ArrayLike
) -> Any:
    r"""Correlation with people of a judge's score that is averaged over prompts and draws.

    .. math:: \rho(P, K)^2 = \rho_\infty^2 \,
              \frac{\sigma^2_{item}}{\sigma^2_{item} + \sigma^2_{item \times prompt} / P + \sigma^2_{draw} / (P K)}

    What a prompt does to all items alike is not in it: the same prompts score the labelled items
    and the others, so it cancels in a gold-corrected mean.

    `rho_inf` is that of the score over endless prompts and draws. Where one prompt is taken as
    given, its own score over endless draws takes that place: with `item` the variance over items
    under this prompt (that of item and of item by prompt together), `item_prompt` 0 and
    :math:`r = \sigma^2_{draw} / \sigma^2_{item}`, it is :math:`\rho_N^2 = \rho_\infty^2 / (1 + r / N)`.

    Parameters
    ----------
    rho_inf : array_like
        Correlation with people once everything is averaged.
    item, item_prompt, draw : float
        Variance components, as `g_study` gives them.
    prompts, draws : array_like
        Prompts, and draws under each; ``inf`` for exact token probabilities.

    Returns
    -------
    float or ndarray

    Raises
    ------
    ValueError
        If a component is negative, that of items is 0, or there is less than one prompt or draw.

    References
    ----------
    Brennan (2001), Generalizability Theory, for the decision study; Spearman (1904)
    for what error takes from a correlation.

    Examples
    --------
    >>> judge_correlation(0.6, 0.5, 0.2, 0.4, prompts=[1, 4, 1], draws=[1, 1, 4]).round(3)
    array([0.405, 0.526, 0.474])
    """
    check_components(item, item_prompt, draw)
    times, reads = (_averaged(value, name) for value, name in ((prompts, "prompts"), (draws, "draws")))
    endless = np.asarray(rho_inf, dtype=float)
    if not np.all(np.abs(endless) <= 1):
        raise ArgumentError("rho_inf", "must be between -1 and 1", f"got {rho_inf!r}")
    out = endless * np.sqrt(item / (item + item_prompt / times + draw / (times * reads)))
    return float(out) if np.ndim(out) == 0 else out


def label_multiplier(rho: ArrayLike, *, n_gold: int | None = None, n_items: int | None = None) -> Any:
    r"""How many times as far labels go with a judge of this correlation.

    For endless items with a judge's score :math:`1 / (1 - \rho^2)`; with `n_gold` and `n_items`
    at these numbers, the slope that has to be learned from the same labels included (the V of
    `labels_needed`). Times `n_gold` it is the effective sample size.

    Parameters
    ----------
    rho : array_like
        Correlation of judge and labels, such as `judge_correlation` gives.
    n_gold, n_items : int, optional
        Labels, and items with a judge score (labelled ones included).

    Returns
    -------
    float or ndarray

    Raises
    ------
    ValueError
        If only one of `n_gold` and `n_items` is given, or fewer items than labels.

    Examples
    --------
    >>> round(label_multiplier(0.8), 3), round(label_multiplier(0.8, n_gold=50, n_items=1000), 3)
    (2.778, 2.505)
    """
    rhos = np.asarray(rho, dtype=float)
    if not np.all(np.abs(rhos) < 1):
        raise ArgumentError("rho", "must be between -1 and 1", f"got {rho!r}")
    if (n_gold is None) != (n_items is None):
        raise ArgumentError("n_gold", "and {0} must be given together", "only one came", mentions=("n_items",))
    if n_gold is None or n_items is None:
        out = np.asarray(1 / (1 - rhos**2))
    else:
        check.whole(n_gold, "n_gold", least=4)
        check.whole(n_items, "n_items", least=n_gold)
        out = np.asarray([1 / (n_gold * error_with_judge(n_gold, n_items, r, 1.0) ** 2) for r in rhos.flat])
        out = out.reshape(rhos.shape)
    return float(out) if np.ndim(out) == 0 else out


def check_components(item: float, item_prompt: float, draw: float) -> None:
    positive(item, "item")
    not_negative(item_prompt, "item_prompt")
    not_negative(draw, "draw")


def _averaged(value: ArrayLike, name: str) -> Floats:
    out = np.asarray(value, dtype=float)
    if not np.all(out >= 1):
        raise ArgumentError(name, "must be 1 or more", f"got {value!r}")
    return out
