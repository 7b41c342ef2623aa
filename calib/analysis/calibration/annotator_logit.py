"""Proportional odds with a shift per person: what a new person would say, what this one would, and who knew it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calib.analysis.calibration.ordered_logit import (
    OrderedLogit,
    Sample,
    every_level_has_an_end,
    inputs_of,
    ordered_logit,
    penalties_checked,
    sample_of,
)
from calib.analysis.calibration.proportional_odds import (
    chances,
    counted,
    derivatives,
    fitted,
    standardised,
    with_pseudo,
)
from calib.analysis.calibration.ridge_choice import Tabled, dealt, held_out, losses_of
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.result import Result, short

_TAUS = np.geomspace(0.05, 6.4, 16)  # spreads that are tried; the least of them is none
_FEW = 10  # labels beyond the first of each person, below which no spread of persons is seen
_FOLDS = 10
_NODES, _MASSES = np.polynomial.hermite_e.hermegauss(31)  # of a standard normal
_SHOWN = 10  # persons that an error names


class Shift(NamedTuple):
    """How much more lenient one person is than the average person.

    Attributes
    ----------
    annotator : hashable
    shift, std_error : float
        Log-odds of a higher label, above those of an average person; its spread given the labels.
    n : int
        Labels of this person.
    """

    annotator: Hashable
    shift: float
    std_error: float
    n: int


class Forecaster(NamedTuple):
    """How well labels of other documents are forecast by what is known of them.

    Attributes
    ----------
    forecast : str
        "shares", the labels' shares alone; "judge"; "annotators", who rated, alone; "judge and annotators".
    rps, skill, log_score : float
        Cross-validated over groups: ranked probability score; 1 - RPS / RPS of the shares of all these labels; mean
        of -log(probability of the label that came), in nats.
    """

    forecast: str
    rps: float
    skill: float
    log_score: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnnotatorLogit(Result):
    """The chance of each level, given the inputs and who rates.

    Attributes
    ----------
    levels, thresholds, slopes : ndarray
        As of `OrderedLogit`, for an average person.
    tau : float
        Spread of the persons' shifts, in log-odds; 0 where the labels show none.
    shifts : tuple of Shift
        Of each person, in order of appearance.
    forecasters : tuple of Forecaster
        What the labels' shares, the judge, the annotators and both forecast of documents that the fit did not see.
        Empty where there are fewer than two groups.
    ridge, pseudo : float
    inputs_used : tuple of int
        Places of the inputs that were taken.
    n, n_groups, n_missing : int
        Labels; independent groups of them; rows without a label or an input, left out.
    warnings : tuple of str
        ``few_repeats``, ``judge_adds_nothing``, and those of `OrderedLogit`, each as "name: text".
    """

    levels: Floats
    thresholds: Floats
    slopes: Floats
    tau: float
    shifts: tuple[Shift, ...]
    forecasters: tuple[Forecaster, ...]
    ridge: float
    pseudo: float
    inputs_used: tuple[int, ...]
    n: int
    n_groups: int
    n_missing: int = 0
    warnings: tuple[str, ...] = field(default=())

    def predict(self, x: ArrayLike, *, annotator: Any = None) -> Floats:
        r"""Probability of each level, shape (n, K), averaged over what is not known of the person's shift.

        A new person's shift is normal with spread tau, one who has labels has hers with its standard error:

        .. math:: P(Y \le k \mid x, a) = \int \sigma(a_k - b' x - s) \, \varphi(s; m_a, v_a) \, ds

        by Gauss-Hermite quadrature. So a forecast for a new person is wider, by as much as people differ.

        Parameters
        ----------
        x : array_like, shape (n,) or (n, p)
        annotator : hashable, or sequence of them, shape (n,), optional
            Who rates; one of those in `shifts`. None, there too: a new person.

        Returns
        -------
        ndarray, shape (n, K)

        Raises
        ------
        ValueError
            If there are not p inputs, or a person is unknown.
        """
        taken = list(self.inputs_used)
        with np.errstate(over="ignore", invalid="ignore"):  # a judge far off its own scale
            at = inputs_of(x, len(self.slopes))[:, taken] @ self.slopes[taken]
        known = {one.annotator: (one.shift, one.std_error) for one in self.shifts} | {None: (0.0, self.tau)}
        who = [annotator] * len(at) if _is_one(annotator) else list(annotator)
        check.same_length(x=at, annotator=who)
        mean, spread = np.array([known[one] for one in _known(who, known)]).reshape(-1, 2).T
        return averaged(self.thresholds, at + mean, spread)

    def _rows(self) -> list[dict[str, Any]]:
        return [one._asdict() for one in self.forecasters]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"annotator_logit": True, "ridge": self.ridge, "pseudo": self.pseudo, "n": self.n}
        terms |= {"annotators": len(self.shifts), "inputs": ",".join(str(place + 1) for place in self.inputs_used)}
        return terms | {"missing": self.n_missing or None, "groups": self.n_groups if self.n_groups != self.n else None}

    def __str__(self) -> str:
        line = f"ordered logit of {len(self.levels)} levels with a shift per person: tau {short(self.tau)} over"
        line += f" {len(self.shifts)} people, from {self.n} labels"
        skills = ", ".join(f"{one.forecast} {one.skill:.3f}" for one in self.forecasters)
        return line + f"; cross-validated skill: {skills}" * bool(skills) + self._bracketed_warnings


def annotator_logit(
    x: ArrayLike,
    y: ArrayLike,
    annotators: Labels,
    *,
    levels: ArrayLike | None = None,
    ridge: float | None = 1.0,
    pseudo: float = 1.0,
    groups: Labels | None = None,
    weights: ArrayLike | None = None,
) -> AnnotatorLogit:
    r"""Chance of each label, given what a judge said and who rates: proportional odds with a random shift per person.

    .. math:: P(Y \le k \mid x, a) = \frac{1}{1 + e^{-(a_k - b' x - s_a)}}, \qquad s_a \sim N(0, \tau^2)

    tau is where the marginal likelihood is highest, thresholds and slopes integrated out too (Laplace's approximation,
    as restricted likelihood does for normal data), among the persons with two labels or more. People differ in how
    lenient they are, often by more than a judge knows of the texts. So `forecasters` says what is forecast of other
    documents by who rated alone, without any judge: only what is beyond that comes from the judge.

    Parameters
    ----------
    x, y, levels, ridge, pseudo, groups, weights
        As for `ordered_logit`. With ``ridge=None`` inputs and penalty are chosen without the persons' shifts.
    annotators : sequence, shape (n,)
        Who gave each label.

    Returns
    -------
    AnnotatorLogit

    Raises
    ------
    ValueError
        As of `ordered_logit`; or if an annotator is missing.

    References
    ----------
    Hedeker and Gibbons (1994), A random-effects ordinal regression model for multilevel analysis, Biometrics 50.
    Tierney and Kadane (1986), Accurate approximations for posterior moments and marginal densities, JASA 81.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> score, who = rng.integers(1, 6, 200), np.arange(200) % 8
    >>> said = score + 2 * np.linspace(-1, 1, 8)[who] + rng.logistic(size=200)
    >>> fit = annotator_logit(score, np.digitize(said, [1, 3, 5]), [f"person {one}" for one in who])
    >>> round(fit.tau, 1), fit.shifts[7].annotator, round(fit.shifts[7].shift, 1)
    (1.2, 'person 7', 1.7)
    >>> fit.predict([3]).round(2), fit.predict([3], annotator="person 7").round(2)
    (array([[0.17, 0.36, 0.33, 0.15]]), array([[0.04, 0.18, 0.43, 0.36]]))
    """
    penalties_checked(annotator_logit, ridge=ridge, pseudo=pseudo)
    alone = ordered_logit(x, y, levels=levels, ridge=ridge, pseudo=pseudo, groups=groups, weights=weights)
    sample = sample_of(x, y, levels, groups, weights)
    names, person = _people(annotators, sample)
    people = _peopled(sample, person, alone)
    repeated = people.n_labels > 1
    known = int(people.n_labels.sum()) - len(names) >= _FEW
    tau = float(people.tau(people.counts)) if known else 0.0
    a, b, shift, error = people.fit(people.counts, tau)
    forecasters = _forecasters(people, sample, known=known)
    warned = _warnings(forecasters, known=known)
    ...
