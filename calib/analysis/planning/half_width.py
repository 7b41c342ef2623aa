"""The half-width that labels, items and a judge of some correlation will give."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from calib.analysis.means.mean import posterior_error
from calib.analysis.means.ridge import Rule
from calib.core.check import Floats


@dataclass(frozen=True, slots=True)
class HalfWidth:
    """What `ppi_mean` gives on the average at its default, for normal labels and judge scores."""

    sd: float
    confidence: float
    rule: Rule
    mean: float

    def judged(self, n: Floats, items: Floats, rho: Floats, spread: Floats) -> Floats:
        """With n of the items labelled; `spread` is the standard deviation of the judge's scores."""
        if self._yes_or_no:
            return self._counted(n, items, rho)
        rest, pull = 1 - n / items, self.rule.prior / (n - 1 + self.rule.prior)
        left, own = self.sd**2 * (1 - rho**2), rho * self.sd
        off = self.rule.slope * spread - own  # by what the slope believed in misses, per sd of the judge
        squares = (n - 2) * left + pull**2 * (off**2 * (n - 1) + left)
        learned = (1 - pull) ** 2 / (n - 3)  # what the slope costs that the labels have to show
        judge = ((own + pull * off) ** 2 + learned * left) / items
        robust = (0.85 + 0.75 * np.sqrt(rest)) / (n - 2.5)
        return self._half(n, squares, 2 - pull, 1 + learned * rest, robust, judge, items)

    def alone(self, n: ArrayLike) -> Floats:
        labels = np.asarray(n, dtype=float)
        if self._yes_or_no:
            return np.asarray(special.ndtri((1 + self.confidence) / 2) * self.sd / np.sqrt(labels + 2.5))
        return self._half(labels, (labels - 1) * self.sd**2, 1.0, 1.0, 0.0, 0.0, labels + 1)

    @property
    def _yes_or_no(self) -> bool:
        return self.rule.bounds is not None and self.rule.step == self.rule.bounds[1] - self.rule.bounds[0]

    def _counted(self, n: Floats, items: Floats, rho: Floats) -> Floats:
        """From Jeffreys' posterior of both rates, for a judge that says yes as often as people do."""
        low, high = self.rule.bounds or (0.0, 1.0)
        share = (self.mean - low) / (high - low)
        yes, no = n * share, n * (1 - share)
        agreed = yes * (share + rho * (1 - share)), no * share * (1 - rho)
        rest = items - n
        error = posterior_error(agreed[0], yes, agreed[1], no, rest * share, rest * (1 - share), finite=False)
        return np.asarray((high - low) * special.ndtri((1 + self.confidence) / 2) * error * (1 - 1 / (4 * n)))

    def _half(self, n: Floats, squares: Floats, p: Any, slope: Any, robust: Any, judge: Any, items: Floats) -> Floats:
        # of normal errors n 2 / pi count as having shown how far off they are (Kish)
        unseen = self.rule.unseen(np.asarray(self.mean), n * 2 / math.pi)
        one = np.where(unseen > 0, 1.0, 0.0)
        plain = squares / (n - p)
        usual = (squares + unseen) / (n - p + one)
        # the larger of two variances: the further the unseen label lifts the one, the less the other passes it
        lifted = np.maximum(usual / np.maximum(plain, 1e-300) - 1, 0)
        passed = plain * robust * np.exp(-lifted / robust) if np.any(robust) else 0.0
        residual = (usual * slope + passed) / n
        variance = residual + judge
        df = variance**2 / (residual**2 / (n - p) + judge**2 / (items - 1))
        # the mean of a root is below the root of the mean
        reach = special.stdtrit(df, (1 + self.confidence) / 2) * np.sqrt(variance) * (1 - 1 / (4 * df))
        if self.rule.bounds is None:
            return np.asarray(reach)
        low, high = self.rule.bounds
        x = (self.mean - low) / (high - low)
        inner = (n * x + 0.5) / (n + 1)
        worth = (reach / (high - low)) ** 2 / (inner * (1 - inner))  # Wilson's interval, as the law `Score` has it
        return np.asarray((high - low) * np.sqrt(worth * (x * (1 - x) + worth / 4)) / (1 + worth))
