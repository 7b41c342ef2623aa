"""Arrays in, frozen results out: the statistics alone, with numpy and scipy.

The functions of the same names in `calib` take tables, align them by item and call these.
"""

from calib.stats._agreement import CONVENTIONS, Agreement, agreement
from calib.stats._alpha import ICC, Alpha, icc, krippendorff_alpha
from calib.stats._annotator import AltTest, alternative_annotator_test
from calib.stats._check import CalibWarning
from calib.stats._compare import Comparison, Ranking, compare, rank_judges
from calib.stats._convergence import Convergence, convergence
from calib.stats._distribution import entropy, expectation, expectation_bounds, mode, variance
from calib.stats._estimate import Interval, Result
from calib.stats._interval import MeanEstimate, mean_interval, ppi_difference, ppi_mean
from calib.stats._moments import Moments
from calib.stats._reliability import Ceiling, Disattenuated, Reliability, disattenuated, human_ceiling, reliability
from calib.stats._ties import TieCalibration, tie_calibration

__all__ = [
    "CONVENTIONS",
    "ICC",
    "Agreement",
    "Alpha",
    "AltTest",
    "CalibWarning",
    "Ceiling",
    "Comparison",
    "Convergence",
    "Disattenuated",
    "Interval",
    "MeanEstimate",
    "Moments",
    "Ranking",
    "Reliability",
    "Result",
    "TieCalibration",
    "agreement",
    "alternative_annotator_test",
    "compare",
    "convergence",
    "disattenuated",
    "entropy",
    "expectation",
    "expectation_bounds",
    "human_ceiling",
    "icc",
    "krippendorff_alpha",
    "mean_interval",
    "mode",
    "ppi_difference",
    "ppi_mean",
    "rank_judges",
    "reliability",
    "tie_calibration",
    "variance",
]
