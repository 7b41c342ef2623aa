"""How sure an unpenalised ordered logit is: statsmodels' covariance, clustered by documents where these are given."""

from __future__ import annotations

import warnings

import numpy as np

from calib.analysis.calibration.proportional_odds import standardised
from calib.core.check import Codes, Floats


def covariance_of(x: Floats, place: Codes, thresholds: Floats, slopes: Floats, unit: Codes | None) -> Floats:
    """Of thresholds and slopes, at the maximum of the likelihood; `unit` is the cluster of each label.

    statsmodels differentiates by steps in its parameters, so that it is given inputs of size 1.
    """
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    z, centre, spread = standardised(x, np.ones(len(x)))
    gaps = np.diff(thresholds)
    best = np.concatenate([slopes * spread, thresholds[:1] - slopes @ centre, np.log(gaps)])
    clustered = {} if unit is None else {"cov_type": "cluster", "cov_kwds": {"groups": unit}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that no step was made
        found = OrderedModel(place, z, distr="logit").fit(
            start_params=best, method="bfgs", maxiter=0, disp=0, **clustered
        )
    turn = _turned(gaps, centre, spread)
    return np.asarray(turn @ found.cov_params() @ turn.T)


def _turned(gaps: Floats, centre: Floats, spread: Floats) -> Floats:
    """Derivatives of thresholds and slopes in statsmodels' (standardised slopes, first threshold, log gaps)."""
    p, last = len(centre), len(gaps) + 1
    turn = np.zeros((last + p, p + last))
    turn[:last, :p] = centre / spread
    turn[:last, p] = 1.0
    turn[:last, p + 1 :] = np.tril(np.ones((last, last - 1)), -1) * gaps
    turn[last:, :p] = np.diag(1 / spread)
    return turn
