"""Watching a judge: evidence for a shift that may be looked at after every reading."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.result import ColumnarResult, short

_BETS = np.array([-0.6, -0.3, -0.15, 0.15, 0.3, 0.6])  # up and down, on shifts of several sizes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SignEProcess(ColumnarResult):
    """The evidence for a shift after each difference.

    Attributes
    ----------
    number : ndarray of int
        1, 2, ... of the differences as they came.
    log_evidence : ndarray of float
        Natural logarithm of the e-value after each difference. Without a shift no e-value is above 1 on average.
    alarm : bool
        Whether the e-value ever reached 1 / `error`.
    first : int or None
        The number of the difference at which it first did.
    p_value : float
        Valid at every look: 1 over the largest e-value so far; NaN with `restart`.
    up, down, ties, missing : int
        Differences above 0, below 0, of 0, and NaN.
    error : float
        Chance of ever raising a false alarm; with `restart` one over the mean time between false alarms, at least.
    restart : bool
    """

    _cells = "number log_evidence"
    number: Any = field(repr=False)
    log_evidence: Floats = field(repr=False)
    alarm: bool
    first: int | None
    p_value: float
    up: int
    down: int
    ties: int
    missing: int
    error: float
    restart: bool

    @property
    def evidence(self) -> Floats:
        """The e-value after each difference; infinite where it is too large to be written."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(self.log_evidence))

    def _terms(self) -> dict[str, Any]:
        name = "sign-e-detector" if self.restart else "sign-e-process"
        return {name: True, "error": self.error, "n": len(self.number), "ties": self.ties}

    def __str__(self) -> str:
        seen = f"{self.up} readings up, {self.down} down, {self.ties} as before"
        last = f"e-value {short(float(self.evidence[-1]))}"
        if self.first is None:
            return f"no alarm after {len(self.number)} readings ({seen}; {last} of {short(1 / self.error)})"
        way = "up" if self.up > self.down else "down"
        return f"alarm at reading {self.first}: the judge shifted, mostly {way} ({seen}; {last})"


def sign_e_process(differences: ArrayLike, *, error: float = 0.05, restart: bool = False) -> SignEProcess:
    r"""Whether a judge shifted, from one fresh reading after the other, with an alarm that may be looked at each time.

    Each difference d is that of a fresh reading of an anchor and a stored one. If nothing changed, up is as likely as
    down, whatever the judge's noise; ties are passed over. The evidence is the fortune of six players who bet on it:

    .. math:: E_t = \frac16 \sum_{\lambda \in \{\pm .15, \pm .3, \pm .6\}}
              \prod_{i \le t} \big(1 + \lambda\, \mathrm{sign}(d_i)\big)

    Without a shift none wins on average, so by Ville's inequality :math:`E_t` ever reaches 1 / error with a chance
    of `error` at most, however often one looks and whenever one stops.

    Parameters
    ----------
    differences : array_like, shape (n,)
        Fresh reading less stored reading, in the order in which they came; NaN is passed over. Each stored reading is
        to be used once: held against the same one twice, two fresh readings are not independent.
    error : float, default 0.05
    restart : bool, default False
        For watching without end: at each difference new players join the old ones (an e-detector), so that a long
        quiet time does not use up their fortune. False alarms then come, but not more often than once in
        1 / error differences that are no ties, on average: take a small `error`, such as .001.

    Returns
    -------
    SignEProcess

    Raises
    ------
    ValueError
        If there is no difference, or `error` is not between 0 and 1.

    Notes
    -----
    It sees shifts alone: a judge that became noisier or less noisy, or that moved up on some anchors and down on as
    many others, raises no alarm. `reading_change` sees these, at a single look.

    References
    ----------
    Ville (1939); Ramdas et al. (2023), Game-theoretic statistics and safe anytime-valid inference, Statistical Science
    38:576-601; Shin, Ramdas and Rinaldo (2024), E-detectors, New England Journal of Statistics in Data Science 2:229.

    Examples
    --------
    >>> print(sign_e_process([-1, 0, -1, -1, 0, -2, -1, -1, 1, -1] * 2))
    alarm at reading 17: the judge shifted, mostly down (2 readings up, 14 down, 4 as before; e-value 23.31)
    >>> sign_e_process([1, -1] * 200).alarm
    False
    """
    values = check.array(differences, "differences", ndim=1)
    level = check.probability(error, "error")
    if not np.isfinite(values).any():
        raise ArgumentError("differences", "must hold one difference at least", f"got {len(values)} without a value")
    signs = np.nan_to_num(np.sign(values))
    path = _path(signs, restart=restart)
    over = path >= -math.log(level) - 1e-12
    return SignEProcess(
        number=np.arange(1, len(values) + 1),
        log_evidence=path,
        alarm=bool(over.any()),
        first=int(over.argmax()) + 1 if over.any() else None,
        p_value=math.nan if restart else min(1.0, math.exp(-max(0.0, float(path.max())))),
        up=int((signs > 0).sum()),
        down=int((signs < 0).sum()),
        ties=int((values == 0).sum()),
        missing=int(np.isnan(values).sum()),
        error=level,
        restart=restart,
    )


def _path(signs: Floats, *, restart: bool) -> Floats:
    """Log of the players' mean fortune after each difference; a tie leaves it as it is."""
    moves = signs[signs != 0]
    fortunes = np.cumsum(np.log1p(_BETS[:, None] * moves), axis=1)
    if restart:  # those who joined at j have the fortune now over that before j
        before = np.concatenate([np.zeros((len(_BETS), 1)), fortunes[:, :-1]], axis=1)
        fortunes = fortunes + np.logaddexp.accumulate(-before, axis=1)
    mixed = special.logsumexp(fortunes, axis=0) - math.log(len(_BETS))
    start = -math.inf if restart else 0.0
    return np.asarray(np.concatenate([[start], mixed])[np.cumsum(signs != 0)])
