"""Arrays in, frozen results out: the statistics alone, with numpy and scipy.

The functions of the same names in `calib` take tables, align them by item and call these.
"""

from calib.stats._agreement import CONVENTIONS, Agreement, agreement
from calib.stats._alpha import ICC, Alpha, icc, krippendorff_alpha
from calib.stats._annotator import AltTest, alternative_annotator_test
from calib.stats._bootstrap import BootstrapEstimate, ppi_bootstrap
from calib.stats._check import CalibWarning
from calib.stats._choose import Choice, Transport, choose_items, shift_weights, transport_test
from calib.stats._compare import Comparison, Ranking, compare, rank_judges
from calib.stats._convergence import Convergence, convergence
from calib.stats._distribution import entropy, expectation, expectation_bounds, mode, variance
from calib.stats._estimands import ppi_proportion, ppi_ratio, ppi_win_rate
from calib.stats._estimate import Interval, Result
from calib.stats._interval import MeanEstimate, mean_interval, ppi_difference, ppi_mean
from calib.stats._moments import Moments
from calib.stats._monitor import ConfidenceSequence, confidence_sequence
from calib.stats._plan import (
    CostOptimal,
    DetectableDifference,
    JudgeHelp,
    LabelsNeeded,
    cost_optimal,
    detectable_difference,
    labels_needed,
    will_it_help,
)
from calib.stats._proportion import RoganGladen, rogan_gladen
from calib.stats._quantile import QuantileEstimate, ppi_quantile
from calib.stats._regression import RegressionEstimate, ppi_logistic, ppi_ols
from calib.stats._reliability import Ceiling, Disattenuated, Reliability, disattenuated, human_ceiling, reliability
from calib.stats._systems import MeanEstimates, ppi_means
from calib.stats._ties import TieCalibration, tie_calibration

__all__ = [
    "CONVENTIONS",
    "ICC",
    "Agreement",
    "Alpha",
    "AltTest",
    "BootstrapEstimate",
    "CalibWarning",
    "Ceiling",
    "Choice",
    "Comparison",
    "ConfidenceSequence",
    "Convergence",
    "CostOptimal",
    "DetectableDifference",
    "Disattenuated",
    "Interval",
    "JudgeHelp",
    "LabelsNeeded",
    "MeanEstimate",
    "MeanEstimates",
    "Moments",
    "QuantileEstimate",
    "Ranking",
    "RegressionEstimate",
    "Reliability",
    "Result",
    "RoganGladen",
    "TieCalibration",
    "Transport",
    "agreement",
    "alternative_annotator_test",
    "choose_items",
    "compare",
    "confidence_sequence",
    "convergence",
    "cost_optimal",
    "detectable_difference",
    "disattenuated",
    "entropy",
    "expectation",
    "expectation_bounds",
    "human_ceiling",
    "icc",
    "krippendorff_alpha",
    "labels_needed",
    "mean_interval",
    "mode",
    "ppi_bootstrap",
    "ppi_difference",
    "ppi_logistic",
    "ppi_mean",
    "ppi_means",
    "ppi_ols",
    "ppi_proportion",
    "ppi_quantile",
    "ppi_ratio",
    "ppi_win_rate",
    "rank_judges",
    "reliability",
    "rogan_gladen",
    "shift_weights",
    "tie_calibration",
    "transport_test",
    "variance",
    "will_it_help",
]
