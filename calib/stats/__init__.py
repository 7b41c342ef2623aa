"""Arrays in, frozen results out: the statistics alone, with numpy and scipy.

The functions of the same names in `calib` take tables, align them by item and call these.
"""

from calib.stats._agreement import Agreement, agreement
from calib.stats._convergence import Convergence, convergence
from calib.stats._distribution import entropy, expectation, expectation_bounds, mode, variance
from calib.stats._estimate import Interval, Result
from calib.stats._interval import MeanEstimate, mean_interval, ppi_difference, ppi_mean

__all__ = [
    "Agreement",
    "Convergence",
    "Interval",
    "MeanEstimate",
    "Result",
    "agreement",
    "convergence",
    "entropy",
    "expectation",
    "expectation_bounds",
    "mean_interval",
    "mode",
    "ppi_difference",
    "ppi_mean",
    "variance",
]
