"""What a gate can tell with so many labels, before there are any."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from calib.analysis.means.guards import bounds_of
from calib.analysis.means.mean import ppi_mean
from calib.analysis.planning.half_width import HalfWidth, half_width_on
from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.result import Result, short
from calib.gate.outcomes import error_of

_GAPS = 60  # places of a mean beside the line that are looked at
_LEAST = 10  # labels
_EVEN = 0.29  # standard deviation of scores that are even on their scale, in parts of its length


@dataclass(frozen=True, slots=True, kw_only=True)
class GatePlan(Result):
    """Which means a gate tells from its line.

    Attributes
    ----------
    line : float
    passes_at, fails_at : float
        True mean (or difference) at which it passes, or fails, with probability `power`; NaN where none does.
    best_low : float
        Lower end of the interval if every label were the best there is; NaN without a scale.
    half_width : float
        Of the interval at the line, at confidence 1 - 2 `error`.
    n_labels, n_items : int
    rho, sd : float
        Correlation of judge and people, standard deviation of people's scores.
    error, power : float
    curve : tuple of (float, float, float)
        True mean, chance of a pass, chance of a fail.
    """

    _cells = "line passes_at fails_at best_low half_width n_labels n_items rho sd error power"
    line: float
    passes_at: float
    fails_at: float
    best_low: float
    half_width: float
    n_labels: int
    n_items: int
    rho: float
    sd: float
    error: float
    power: float
    curve: tuple[tuple[float, float, float], ...]

    @property
    def can_pass(self) -> bool:
        """Whether any result would pass."""
        return not self.best_low <= self.line

    def chances(self, mean: float) -> tuple[float, float]:
        """Chance of a pass and of a fail at a true mean, between the points of `curve` by straight lines."""
        at, passed, failed = np.transpose(self.curve)
        return float(np.interp(mean, at, passed)), float(np.interp(mean, at, failed))

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"gate-plan": True, "line": self.line, "error": self.error, "power": self.power}
        return terms | {"gold": self.n_labels, "n": self.n_items, "rho": self.rho, "sd": self.sd}

    def __str__(self) -> str:
        made = f"{self.n_labels} labels and {self.n_items} judge scores (r = {short(self.rho)}, sd {short(self.sd)})"
        if not self.can_pass:
            best = f"even if every label were the best there is, the interval would begin at {short(self.best_low)}"
            return f"cannot pass: with {made} {best}, not above {short(self.line)}"
        chance = f"{100 * self.power:g} %"
        told = [f"passes with {chance} a true mean of {short(self.passes_at)}"] * math.isfinite(self.passes_at)
        told += [f"fails with {chance} one of {short(self.fails_at)}"] * math.isfinite(self.fails_at)
        never = f"neither passes nor fails any mean with {chance}"
        return f"a gate at {short(self.line)} {' and '.join(told) or never}, from {made}"


class _Ends(NamedTuple):
    """The scale of what is compared with the line, and how far apart its values are."""

    bounds: tuple[float, float] | None
    step: float | None


def gate_plan(
    line: float,
    *,
    n_labels: int,
    n_items: int,
    rho: float = 0.5,
    sd: float | None = None,
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
    difference: bool = False,
    error: float = 0.05,
    power: float = 0.8,
) -> GatePlan:
    r"""Which true means a gate passes and fails with probability `power`, and whether it can pass at all.

    With h the half-width that `ppi_mean` makes on the average at confidence 1 - 2 `error`, and s the standard error,

    .. math:: P(\text{pass} \mid \theta) = \Phi\Big(\frac{\theta - \text{line} - h}{s}\Big), \qquad
              P(\text{fail} \mid \theta) = \Phi\Big(\frac{\text{line} - h - \theta}{s}\Big), \qquad
              s^2 = \sigma^2 \Big[\frac{1 - \rho^2}{n} \Big(1 + \frac{1 - n/N}{n - 3}\Big) + \frac{\rho^2}{N}\Big]

    Parameters
    ----------
    line : float
        What the mean has to exceed; of a difference minus the margin.
    n_labels, n_items : int
        Items with a label, and with a judge score, of the build (of a difference: pairs).
    rho : float, default 0.5
        Correlation of judge and people (of a difference: of both's differences).
    sd : float, optional
        Standard deviation of people's scores (of a difference: of the differences). Default: that of scores that
        are even on their scale.
    bounds, step
        People's scale, as for `ppi_mean`.
    difference : bool, default False
        Whether a difference of two builds is compared.
    error, power : float

    Returns
    -------
    GatePlan

    Raises
    ------
    ValueError
        If there are fewer than 10 labels, more labels than items, a line beyond the scale, or neither `sd` nor a scale.

    Examples
    --------
    >>> plan = gate_plan(3.7, n_labels=40, n_items=100, rho=0.5, sd=0.99, bounds=(1, 5), step=1)
    >>> print(plan)
    a gate at 3.7 passes with 80 % a true mean of 4.084 and fails with 80 % one of 3.319, from 40 labels and 100 judge
    scores (r = 0.5, sd 0.99)
    >>> gate_plan(4.9, n_labels=10, n_items=100, sd=0.9, bounds=(1, 5), step=1).can_pass
    False
    """
    level = error_of(error)
    wanted = check.probability(power, "power")
    for name, value, least in (("n_labels", n_labels, _LEAST), ("n_items", n_items, _LEAST)):
        check.whole(value, name, least=least)
    if n_labels > n_items:
        raise ArgumentError("n_labels", "must not be more than {0}", f"got {n_labels}", mentions=("n_items",))
    if not -1 <= rho <= 1:
        raise ArgumentError("rho", "must lie between -1 and 1", f"got {rho!r}")
    ends = _ends(bounds, step, difference=difference)
    spread = _spread(sd, ends)
    if ends.bounds is not None and not ends.bounds[0] <= line < ends.bounds[1]:
        told = f"{ends.bounds[0]:g} to {ends.bounds[1]:g}"
        raise ArgumentError("line", f"must lie on the scale and below its top ({told})", f"got {line!r}")
    means, half = _means_and_halves(float(line), ends, spread, (n_labels, n_items, abs(float(rho))), 1 - 2 * level)
    error_at = _standard_error(spread, n_labels, n_items, float(rho))
    passed, failed = special.ndtr((means - line - half) / error_at), special.ndtr((line - half - means) / error_at)
    return GatePlan(
        line=float(line),
        passes_at=_where(means, passed, wanted),
        fails_at=_where(means[::-1], failed[::-1], wanted),
        best_low=_best_low(ends, n_labels, n_items, level),
        half_width=float(np.interp(line, means, half)),
        n_labels=n_labels,
        n_items=n_items,
        rho=float(rho),
        sd=spread,
        error=level,
        power=wanted,
        curve=tuple(zip(means.tolist(), passed.tolist(), failed.tolist(), strict=True)),
    )


def _ends(bounds: tuple[float, float] | None, step: float | None, *, difference: bool) -> _Ends:
    ends = bounds_of(bounds, step)
    if ends is None or not difference:
        return _Ends(ends, step)
    return _Ends((ends[0] - ends[1], ends[1] - ends[0]), step)


def _spread(sd: float | None, ends: _Ends) -> float:
    if sd is None:
        if ends.bounds is None:
            raise ArgumentError("sd", "must be given where no scale is", mentions=("bounds",))
        return _EVEN * (ends.bounds[1] - ends.bounds[0])
    if not 0 < float(sd) < math.inf:
        raise ArgumentError("sd", "must be above 0", f"got {sd!r}")
    return float(sd)


def _means_and_halves(
    line: float, ends: _Ends, sd: float, sizes: tuple[int, int, float], confidence: float
) -> tuple[Floats, Floats]:
    """True means around the line, and the half-width of the interval at each."""
    low, high = ends.bounds or (line - 4 * sd, line + 4 * sd)
    means = np.unique(np.concatenate([np.linspace(low, high, _GAPS), [line]]))
    halves = [_half_width(mean, ends, sd, sizes, confidence) for mean in means]
    return means, np.array(halves)


def _half_width(mean: float, ends: _Ends, sd: float, sizes: tuple[int, int, float], confidence: float) -> float:
    n, items, rho = sizes
    here = sd
    if ends.bounds is not None:  # near an end scores cannot scatter as far
        room = math.sqrt(max((mean - ends.bounds[0]) * (ends.bounds[1] - mean), 0.0))
        here = min(sd, 0.99 * room)
    if here <= 0:
        return 0.0
    law: HalfWidth = half_width_on(ends.bounds, ends.step, mean, here, confidence)
    found = law.alone(n) if n == items else law.judged(n, items, rho, here)
    return float(found)


def _standard_error(sd: float, n: int, items: int, rho: float) -> float:
    learned = 1 + (1 - n / items) / (n - 3)
    return sd * math.sqrt((1 - rho**2) / n * learned + rho**2 / items)


def _where(means: Floats, chance: Floats, power: float) -> float:
    """The mean at which a chance that grows reaches the power; NaN where it never does."""
    reached = np.flatnonzero(chance >= power)
    if not len(reached):
        return math.nan
    k = int(reached[0])
    if k == 0:
        return float(means[0])
    share = (power - chance[k - 1]) / (chance[k] - chance[k - 1])
    return float(means[k - 1] + share * (means[k] - means[k - 1]))


def _best_low(ends: _Ends, n: int, items: int, error: float) -> float:
    """Where the interval begins if people and judge give each item the best score."""
    if ends.bounds is None:
        return math.nan
    top: ArrayLike = np.full(n, ends.bounds[1])
    rest = np.full(items - n, ends.bounds[1])
    best = ppi_mean(top, top, rest, bounds=ends.bounds, step=ends.step, confidence_level=1 - 2 * error)
    return float(best.interval.low)
