"""Proportional odds with a random shift per person: forecasts for a new person, for one who has labels, their skill."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calib.analysis.calibration import ordered_logit as logits, proportional_odds as odds
from calib.analysis.calibration.ordered_logit import LogitSample, warned
from calib.analysis.calibration.proportional_odds import Persons, Tabled, chances, fitted, losses_of
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.numeric import ratio
from calib.core.result import Result, short

_TAUS = np.geomspace(0.05, 6.4, 10)  # spreads that are tried; the least of them is none
_REPEATS = 10  # labels beyond the first of each person, below which no spread of persons is seen
_PARTS, _DEALS = 10, 5  # of groups, and how often they are dealt anew
_NODES, _MASSES = np.polynomial.hermite_e.hermegauss(31)  # of a standard normal
_SHOWN = 10  # persons that an error names
_SOURCES = (  # of a forecast: its name, whether it has the judge's score, whether it has who rates
    ("shares", False, False),
    ("judge", True, False),
    ("annotators", False, True),
    ("judge and annotators", True, True),
)


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
        Cross-validated over groups: ranked probability score; 1 - RPS / RPS of the shares of all these labels, NaN
        where all are alike; mean of -log(probability of the label that came), in nats.
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
    tau, shifts : float, tuple of Shift
        Spread of the persons' shifts, in log-odds, 0 where the labels show none; and of each person, in order.
    forecasters : tuple of Forecaster
        What the labels' shares, the judge, the annotators and both forecast of documents that the fit did not see.
        Empty where there are fewer than two groups.
    ridge, pseudo, inputs_used : float, float, tuple of int
        Penalty, pseudo-labels, places of the inputs that were taken.
    n, n_groups, n_missing : int
        Labels; independent groups of them; rows without a label or an input, left out.
    warnings : tuple of str
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
    warnings: tuple[str, ...] = ()

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
        """
        at = logits.log_odds_at(x, self.slopes, self.inputs_used)
        one = annotator is None or isinstance(annotator, str | bytes) or not hasattr(annotator, "__iter__")
        who = [annotator] * len(at) if one else list(annotator)
        check.same_length(x=at, annotator=who)
        laws = {one.annotator: (one.shift, one.std_error) for one in self.shifts} | {None: (0.0, self.tau)}
        if unknown := [name for name in who if not isinstance(name, Hashable) or name not in laws]:
            names = ", ".join(repr(one.annotator) for one in self.shifts[:_SHOWN])
            names += f", ... ({len(self.shifts)} people)" * (len(self.shifts) > _SHOWN)
            rule = f"must be one of {names}, or None for a new person"
            raise ArgumentError("annotator", rule, f"got {unknown[0]!r}")
        mean, spread = np.array([laws[name] for name in who]).reshape(-1, 2).T
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
    as restricted likelihood does for normal data), among the persons with two labels or more. `forecasters` says what
    is forecast of other documents by who rated alone: only what is beyond that comes from the judge.

    Parameters
    ----------
    x, y, levels, ridge, pseudo, groups, weights
        As for `ordered_logit`. With ``ridge=None`` inputs and penalty are chosen without the persons' shifts.
    annotators : sequence, shape (n,)

    References
    ----------
    Hedeker and Gibbons (1994), Biometrics 50. Tierney and Kadane (1986), JASA 81, for Laplace's approximation.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> score, who = rng.integers(1, 6, 200), np.arange(200) % 8
    >>> latent = score + 2 * np.linspace(-1, 1, 8)[who] + rng.logistic(size=200)
    >>> fit = annotator_logit(score, np.digitize(latent, [1, 3, 5]), [f"person {one}" for one in who])
    >>> round(fit.tau, 1), fit.shifts[7].annotator, round(fit.shifts[7].shift, 1)
    (1.3, 'person 7', 1.7)
    >>> fit.predict([3]).round(2), fit.predict([3], annotator="person 7").round(2)
    (array([[0.2 , 0.32, 0.27, 0.2 ]]), array([[0.03, 0.15, 0.34, 0.48]]))
    """
    alone = logits.ordered_logit(x, y, levels=levels, ridge=ridge, pseudo=pseudo, groups=groups, weights=weights)
    sample = alone.sample
    names, person = persons_of(annotators, sample)
    n_labels = np.bincount(person)
    repeats = len(person) - len(names) >= _REPEATS
    table = odds.counted_rows(np.column_stack([sample.x, person]), sample.place, len(sample.levels), sample.weight)
    z, centre, spread = odds.standardised(table.x[:, :-1], table.counts.sum(axis=1))
    who, used = table.x[:, -1].astype(np.intp), list(alone.inputs_used)
    repeated = np.where((n_labels > 1)[who] & repeats, 1.0, 0.0)
    people = _People(z[:, used], who, len(names), repeated, alone.ridge, float(pseudo))
    tau = people.tau(table.counts)
    a, b, shift, error = people.fit(table.counts, tau)
    forecasters = _forecasters(people, Tabled(z, table, sample.place, sample.unit, sample.each_weight), person)
    skill = {one.forecast: one.skill for one in forecasters}
    adds_nothing = bool(skill) and not skill["judge and annotators"] > skill["annotators"]
    texts = {
        "few_repeats: people have hardly more than one label each, so that the labels do not show how they differ; "
        "tau stands as 0. Ask some for more labels.": not repeats,
        f"judge_adds_nothing: annotators alone predict labels as well (skill {skill.get('annotators', 0):.3f}) as "
        f"with the judge ({skill.get('judge and annotators', 0):.3f}).": (repeats and adds_nothing),
    }
    slopes = np.zeros(len(spread))
    slopes[used] = b / spread[used]
    return AnnotatorLogit(
        levels=sample.levels, thresholds=a + slopes @ centre, slopes=slopes, tau=float(tau),
        shifts=tuple(map(Shift, names, shift.tolist(), error.tolist(), n_labels.tolist())), forecasters=forecasters,
        ridge=alone.ridge, pseudo=float(pseudo), inputs_used=alone.inputs_used, n=alone.n, n_groups=alone.n_groups,
        n_missing=alone.n_missing, warnings=(*alone.warnings, *warned(texts)),
    )  # fmt: skip


def persons_of(annotators: Labels, sample: LogitSample) -> tuple[list[Hashable], Codes]:
    """Names of the persons with a label in use, in order of appearance, and whose each label is."""
    check.codes(annotators, "annotators")
    check.same_length(y=sample.used, annotators=annotators)
    values = annotators.tolist() if hasattr(annotators, "tolist") else list(annotators)
    names = [name for name, used in zip(values, sample.used, strict=True) if used]
    return list(dict.fromkeys(names)), check.codes(names, "annotators")


class _People(NamedTuple):
    """Standardised inputs (R, p) and who of `n` people rates, of each row of a table of counts (R, K).

    `repeated` is 1 for rows of persons whose labels tell of tau.
    """

    z: Floats
    who: Codes
    n: int
    repeated: Floats
    ridge: float
    pseudo: float

    def fit(self, counts: Floats, tau: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Thresholds, slopes, shifts (..., J) and their standard errors, of tables (..., R, K) with tau (...)."""
        problem, persons = self._problem(counts), Persons(self.who, tau)
        a, b, _ = fitted(*problem, None, persons)
        information = odds.derivatives(a, b, *problem, persons)[1]
        error = np.sqrt(np.clip(information.variances, 0.0, 1.0))
        p = self.z.shape[1]
        return a, b[..., :p], tau[..., None] * b[..., p:], tau[..., None] * error

    def _problem(self, counts: Floats) -> tuple[Floats, Floats, Floats]:
        penalty = np.concatenate([np.full(self.z.shape[1], self.ridge), np.ones(self.n)])
        return (*odds.with_pseudo(self.z, counts, self.pseudo), penalty)

    def tau(self, counts: Floats) -> Floats:
        """Spread of persons with the highest restricted likelihood, for each table (..., R, K)."""
        shape = counts.shape[:-2]
        if not self.repeated.any():
            return np.zeros(shape)
        problem, at = self._problem(counts * self.repeated[:, None]), None
        heights = []
        for tau in _TAUS:
            persons = Persons(self.who, np.full(shape, tau))
            a, b, height = fitted(*problem, at, persons)
            at = a, b
            heights.append(height - odds.derivatives(a, b, *problem, persons)[1].log_determinant / 2)
        # the top of a parabola through the highest of `_TAUS` and its neighbours; 0 below them
        top = np.array(heights)
        best = top.argmax(axis=0)
        at = np.clip(best, 1, len(_TAUS) - 2)
        left, middle, right = (np.take_along_axis(top, (at + step)[None], axis=0)[0] for step in (-1, 0, 1))
        bend = np.minimum(left - 2 * middle + right, -1e-12)
        peak = _TAUS[at] * (_TAUS[1] / _TAUS[0]) ** np.clip((left - right) / bend / 2, -1.0, 1.0)
        return np.where(best == 0, 0.0, peak)


def averaged(a: Floats, at: Floats, spread: Floats) -> Floats:
    """Probability of each level (n, K) where the log-odds of a higher label are normal around `at` (n,)."""
    if not spread.any():
        return chances(a, at)
    masses = _MASSES / _MASSES.sum()
    return np.asarray(sum(mass * chances(a, at + spread * node) for node, mass in zip(_NODES, masses, strict=True)))


def _forecasters(people: _People, labels: Tabled, person: Codes) -> tuple[Forecaster, ...]:
    """Shares, judge, annotators and both, each fitted without the fold that it forecasts."""
    if not labels.unit.max():
        return ()
    w = labels.weight / labels.weight.sum()
    shares = np.bincount(labels.place, w, minlength=labels.table.counts.shape[-1])
    reference = w @ losses_of(np.tile(shares, (len(w), 1)), labels.place)[1]
    rows = []
    for name, by_judge, by_person in _SOURCES:
        part = people._replace(z=people.z[:, : None if by_judge else 0], repeated=people.repeated * by_person)
        losses = np.zeros((2, len(w)))
        for deal in range(_DEALS):
            # forecast of each label by the fit to the other folds; of a person whom these do not have, as a new one's
            fold = odds.dealt(labels, _PARTS, deal)
            train = labels.table.counts - labels.held_out(fold)
            a, slopes, shift, error = part.fit(train, part.tau(train))
            at = np.einsum("ij,ij->i", part.z[labels.table.row], slopes[fold]) + shift[fold, person]
            losses += losses_of(averaged(a[fold], at, error[fold, person]), labels.place)
        log, rps = losses / _DEALS @ w
        rows.append(Forecaster(name, float(rps), float(1 - ratio(rps, reference)), float(log)))
    return tuple(rows)
