"""Arrays in, frozen results out: the statistics alone, with numpy and scipy.

The functions of the same names in `calib` take tables, align them by item and call these.
"""

from calib.stats._agreement import CONVENTIONS, Agreement, agreement
from calib.stats._alpha import ICC, Alpha, icc, krippendorff_alpha
from calib.stats._annotator import AltTest, alternative_annotator_test
from calib.stats._averaging import Averaging, averaging
from calib.stats._bootstrap import BootstrapEstimate, ppi_bootstrap
from calib.stats._budget import BudgetPlan, budget_plan, judge_correlation, label_multiplier
from calib.stats._chains import ChainComponents, ChainPlan, chain_components, chain_plan
from calib.stats._check import CalibWarning
from calib.stats._choose import Choice, Transport, choose_items, shift_weights, transport_test
from calib.stats._compare import Comparison, Ranking, compare, rank_judges
from calib.stats._convergence import Convergence, convergence
from calib.stats._distribution import entropy, expectation, expectation_bounds, median, mode, temper, variance
from calib.stats._distribution_fit import DistributionFit, distribution_fit
from calib.stats._draws import VarianceComponents, exact_components, variance_components
from calib.stats._entropy import expected_entropy, sampled_entropy
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
from calib.stats._prompts import PromptMean, prompt_difference, prompt_mean
from calib.stats._proportion import RoganGladen, rogan_gladen
from calib.stats._quantile import QuantileEstimate, ppi_quantile
from calib.stats._readout import PointScores, point_scores
from calib.stats._regression import RegressionEstimate, ppi_logistic, ppi_ols
from calib.stats._reliability import Ceiling, Disattenuated, Reliability, disattenuated, human_ceiling, reliability
from calib.stats._retemper import TemperatureCurve, retemper, temperature_curve
from calib.stats._sensitivity import Component, DStudy, GStudy, g_study
from calib.stats._spearman_brown import attenuation, draws_needed, precision_gain, spearman_brown
from calib.stats._stability import RankStability, rank_stability
from calib.stats._systems import MeanEstimates, ppi_means
from calib.stats._temperature import Temperature, fit_temperature, ranked_probability_score
from calib.stats._ties import TieCalibration, tie_calibration

__all__ = [
    "CONVENTIONS",
    "ICC",
    "Agreement",
    "Alpha",
    "AltTest",
    "Averaging",
    "BootstrapEstimate",
    "BudgetPlan",
    "CalibWarning",
    "Ceiling",
    "ChainComponents",
    "ChainPlan",
    "Choice",
    "Comparison",
    "Component",
    "ConfidenceSequence",
    "Convergence",
    "CostOptimal",
    "DStudy",
    "DetectableDifference",
    "Disattenuated",
    "DistributionFit",
    "GStudy",
    "Interval",
    "JudgeHelp",
    "LabelsNeeded",
    "MeanEstimate",
    "MeanEstimates",
    "Moments",
    "PointScores",
    "PromptMean",
    "QuantileEstimate",
    "RankStability",
    "Ranking",
    "RegressionEstimate",
    "Reliability",
    "Result",
    "RoganGladen",
    "Temperature",
    "TemperatureCurve",
    "TieCalibration",
    "Transport",
    "VarianceComponents",
    "agreement",
    "alternative_annotator_test",
    "attenuation",
    "averaging",
    "budget_plan",
    "chain_components",
    "chain_plan",
    "choose_items",
    "compare",
    "confidence_sequence",
    "convergence",
    "cost_optimal",
    "detectable_difference",
    "disattenuated",
    "distribution_fit",
    "draws_needed",
    "entropy",
    "exact_components",
    "expectation",
    "expectation_bounds",
    "expected_entropy",
    "fit_temperature",
    "g_study",
    "human_ceiling",
    "icc",
    "judge_correlation",
    "krippendorff_alpha",
    "label_multiplier",
    "labels_needed",
    "mean_interval",
    "median",
    "mode",
    "point_scores",
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
    "precision_gain",
    "prompt_difference",
    "prompt_mean",
    "rank_judges",
    "rank_stability",
    "ranked_probability_score",
    "reliability",
    "retemper",
    "rogan_gladen",
    "sampled_entropy",
    "shift_weights",
    "spearman_brown",
    "temper",
    "temperature_curve",
    "tie_calibration",
    "transport_test",
    "variance",
    "variance_components",
    "will_it_help",
]
