# Every public name of `calib.stats`, once: what is loaded on first use, and what editors and type checkers see.

from calib.analysis.agreement.agreement import (
    CONVENTIONS as CONVENTIONS,
    Agreement as Agreement,
    agreement as agreement,
)
from calib.analysis.agreement.alpha import (
    Alpha as Alpha,
    ChanceCorrected as ChanceCorrected,
    gwet_ac as gwet_ac,
    krippendorff_alpha as krippendorff_alpha,
)
from calib.analysis.agreement.annotator import (
    AltTest as AltTest,
    alternative_annotator_test as alternative_annotator_test,
)
from calib.analysis.agreement.ceiling import Ceiling as Ceiling, label_ceiling as label_ceiling
from calib.analysis.agreement.compare import (
    Comparison as Comparison,
    Ranking as Ranking,
    compare as compare,
    rank_judges as rank_judges,
)
from calib.analysis.agreement.reliability import (
    ICC as ICC,
    Disattenuated as Disattenuated,
    Reliability as Reliability,
    disattenuated as disattenuated,
    icc as icc,
    reliability as reliability,
)
from calib.analysis.bias.instrumented import (
    Effect as Effect,
    Instrumented as Instrumented,
    instrumented as instrumented,
)
from calib.analysis.bias.rater_effects import (
    RaterEffect as RaterEffect,
    RaterEffects as RaterEffects,
    rater_effects as rater_effects,
)
from calib.analysis.calibration.accept_threshold import (
    AcceptPoint as AcceptPoint,
    AcceptThreshold as AcceptThreshold,
    Rival as Rival,
    accept_threshold as accept_threshold,
)
from calib.analysis.calibration.annotator_logit import (
    AnnotatorLogit as AnnotatorLogit,
    Forecaster as Forecaster,
    Shift as Shift,
    annotator_logit as annotator_logit,
)
from calib.analysis.calibration.calibration_map import (
    CalibrationMap as CalibrationMap,
    calibration_map as calibration_map,
)
from calib.analysis.calibration.conformal import (
    ScoreSets as ScoreSets,
    full_conformal as full_conformal,
    split_conformal as split_conformal,
)
from calib.analysis.calibration.corp import Corp as Corp, ReliabilityCurve as ReliabilityCurve, corp as corp
from calib.analysis.calibration.escalation import Escalation as Escalation
from calib.analysis.calibration.forecast_quality import (
    ForecastQuality as ForecastQuality,
    forecast_quality as forecast_quality,
)
from calib.analysis.calibration.ordered_logit import OrderedLogit as OrderedLogit, ordered_logit as ordered_logit
from calib.analysis.calibration.proportional_odds import RidgeCandidate as RidgeCandidate
from calib.analysis.distributions.distribution import (
    Forecast as Forecast,
    Temperature as Temperature,
    entropy as entropy,
    expectation as expectation,
    expectation_bounds as expectation_bounds,
    expected_entropy as expected_entropy,
    median as median,
    mode as mode,
    ranked_probability_score as ranked_probability_score,
    temper as temper,
    temperature_curve as temperature_curve,
    variance as variance,
)
from calib.analysis.distributions.profile import (
    FlaggedItem as FlaggedItem,
    Histogram as Histogram,
    Profile as Profile,
    Shares as Shares,
    profile as profile,
)
from calib.analysis.draws.components import (
    VarianceComponents as VarianceComponents,
    attenuation as attenuation,
    draws_needed as draws_needed,
    precision_gain as precision_gain,
    spearman_brown as spearman_brown,
    variance_components as variance_components,
)
from calib.analysis.draws.convergence import Convergence as Convergence, convergence as convergence
from calib.analysis.drift.reading_change import ReadingChange as ReadingChange, reading_change as reading_change
from calib.analysis.means.bootstrap import BootstrapEstimate as BootstrapEstimate, ppi_bootstrap as ppi_bootstrap
from calib.analysis.means.contrast import DifferenceEstimate as DifferenceEstimate, ppi_difference as ppi_difference
from calib.analysis.means.design import Design as Design
from calib.analysis.means.mean import MeanEstimate as MeanEstimate, mean_interval as mean_interval, ppi_mean as ppi_mean
from calib.analysis.means.moments import Moments as Moments
from calib.analysis.means.proportion import ppi_proportion as ppi_proportion, ppi_ratio as ppi_ratio
from calib.analysis.means.quantile import QuantileEstimate as QuantileEstimate, ppi_quantile as ppi_quantile
from calib.analysis.means.rates import RoganGladen as RoganGladen, rogan_gladen as rogan_gladen
from calib.analysis.means.regression import (
    RegressionEstimate as RegressionEstimate,
    ppi_logistic as ppi_logistic,
    ppi_ols as ppi_ols,
)
from calib.analysis.means.sequence import (
    ConfidenceSequence as ConfidenceSequence,
    confidence_sequence as confidence_sequence,
)
from calib.analysis.pairs.bradley_terry import (
    BradleyTerry as BradleyTerry,
    RankSets as RankSets,
    bradley_terry as bradley_terry,
    rank_sets as rank_sets,
)
from calib.analysis.pairs.length_controlled import (
    LengthControlled as LengthControlled,
    length_controlled as length_controlled,
)
from calib.analysis.pairs.pair_shares import (
    PairShare as PairShare,
    PairwiseAgreement as PairwiseAgreement,
    PositionBias as PositionBias,
    pairwise_agreement as pairwise_agreement,
    position_bias as position_bias,
)
from calib.analysis.pairs.ppi_bradley_terry import ppi_bradley_terry as ppi_bradley_terry
from calib.analysis.planning.budget_plan import BudgetPlan as BudgetPlan, budget_plan as budget_plan
from calib.analysis.planning.choose import Choice as Choice, choose as choose
from calib.analysis.planning.judge_correlation import (
    JudgeHelp as JudgeHelp,
    Transport as Transport,
    judge_correlation as judge_correlation,
    shift_weights as shift_weights,
    transport_test as transport_test,
    will_it_help as will_it_help,
)
from calib.analysis.planning.labels import LabelsNeeded as LabelsNeeded, labels_needed as labels_needed
from calib.analysis.prompts.crossed import Component as Component
from calib.analysis.prompts.g_study import DStudy as DStudy, GStudy as GStudy, g_study as g_study
from calib.analysis.prompts.prompt_mean import PromptMean as PromptMean, prompt_mean as prompt_mean
from calib.analysis.verdicts.confusion import Figure as Figure, Roc as Roc, roc as roc
from calib.analysis.verdicts.pass_fail import PassFail as PassFail, pass_fail as pass_fail
from calib.core.check import ArgumentError as ArgumentError, CalibWarning as CalibWarning
from calib.core.result import Interval as Interval, Result as Result
from calib.gate.judge_bars import JudgeCheck as JudgeCheck, judge_bar as judge_bar
from calib.gate.outcomes import (
    GateCheck as GateCheck,
    GateOutcomes as GateOutcomes,
    GatePlan as GatePlan,
    gate_outcomes as gate_outcomes,
    gate_plan as gate_plan,
)
from calib.runs.attempts import (
    PassAtK as PassAtK,
    flip_rate as flip_rate,
    pass_at_k as pass_at_k,
    pass_hat_k as pass_hat_k,
)
from calib.runs.changes import TaskChanges as TaskChanges
from calib.runs.comparison import RunComparison as RunComparison, compare_runs as compare_runs
from calib.runs.nested import NestedComponents as NestedComponents, nested_components as nested_components
from calib.runs.power import RunPlan as RunPlan, cheapest_runs as cheapest_runs, run_power as run_power
from calib.runs.ranks import RunRanks as RunRanks, rank_runs as rank_runs
