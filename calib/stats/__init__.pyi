# Every public name of `calib.stats`, once: what is loaded on first use, and what editors and type checkers see.

from calib.analysis.agreement.agreement import (
    CONVENTIONS as CONVENTIONS,
)
from calib.analysis.agreement.agreement import (
    Agreement as Agreement,
)
from calib.analysis.agreement.agreement import (
    agreement as agreement,
)
from calib.analysis.agreement.alpha import (
    ICC as ICC,
)
from calib.analysis.agreement.alpha import (
    Alpha as Alpha,
)
from calib.analysis.agreement.alpha import (
    icc as icc,
)
from calib.analysis.agreement.alpha import (
    krippendorff_alpha as krippendorff_alpha,
)
from calib.analysis.agreement.annotator import (
    AltTest as AltTest,
)
from calib.analysis.agreement.annotator import (
    alternative_annotator_test as alternative_annotator_test,
)
from calib.analysis.agreement.compare import (
    Comparison as Comparison,
)
from calib.analysis.agreement.compare import (
    Ranking as Ranking,
)
from calib.analysis.agreement.compare import (
    compare as compare,
)
from calib.analysis.agreement.compare import (
    rank_judges as rank_judges,
)
from calib.analysis.agreement.reliability import (
    Ceiling as Ceiling,
)
from calib.analysis.agreement.reliability import (
    Disattenuated as Disattenuated,
)
from calib.analysis.agreement.reliability import (
    Reliability as Reliability,
)
from calib.analysis.agreement.reliability import (
    disattenuated as disattenuated,
)
from calib.analysis.agreement.reliability import (
    human_ceiling as human_ceiling,
)
from calib.analysis.agreement.reliability import (
    reliability as reliability,
)
from calib.analysis.agreement.ties import (
    TieCalibration as TieCalibration,
)
from calib.analysis.agreement.ties import (
    tie_calibration as tie_calibration,
)
from calib.analysis.distributions.distribution import (
    entropy as entropy,
)
from calib.analysis.distributions.distribution import (
    expectation as expectation,
)
from calib.analysis.distributions.distribution import (
    expectation_bounds as expectation_bounds,
)
from calib.analysis.distributions.distribution import (
    median as median,
)
from calib.analysis.distributions.distribution import (
    mode as mode,
)
from calib.analysis.distributions.distribution import (
    temper as temper,
)
from calib.analysis.distributions.distribution import (
    variance as variance,
)
from calib.analysis.distributions.entropy import (
    expected_entropy as expected_entropy,
)
from calib.analysis.distributions.entropy import (
    sampled_entropy as sampled_entropy,
)
from calib.analysis.distributions.fit import (
    DistributionFit as DistributionFit,
)
from calib.analysis.distributions.fit import (
    distribution_fit as distribution_fit,
)
from calib.analysis.distributions.point_scores import (
    PointScores as PointScores,
)
from calib.analysis.distributions.point_scores import (
    point_scores as point_scores,
)
from calib.analysis.distributions.retemper import (
    TemperatureCurve as TemperatureCurve,
)
from calib.analysis.distributions.retemper import (
    retemper as retemper,
)
from calib.analysis.distributions.retemper import (
    temperature_curve as temperature_curve,
)
from calib.analysis.distributions.temperature import (
    Temperature as Temperature,
)
from calib.analysis.distributions.temperature import (
    fit_temperature as fit_temperature,
)
from calib.analysis.distributions.temperature import (
    ranked_probability_score as ranked_probability_score,
)
from calib.analysis.draws.chains import (
    ChainComponents as ChainComponents,
)
from calib.analysis.draws.chains import (
    ChainPlan as ChainPlan,
)
from calib.analysis.draws.chains import (
    chain_components as chain_components,
)
from calib.analysis.draws.chains import (
    chain_plan as chain_plan,
)
from calib.analysis.draws.components import (
    VarianceComponents as VarianceComponents,
)
from calib.analysis.draws.components import (
    exact_components as exact_components,
)
from calib.analysis.draws.components import (
    variance_components as variance_components,
)
from calib.analysis.draws.convergence import (
    Convergence as Convergence,
)
from calib.analysis.draws.convergence import (
    convergence as convergence,
)
from calib.analysis.draws.spearman_brown import (
    attenuation as attenuation,
)
from calib.analysis.draws.spearman_brown import (
    draws_needed as draws_needed,
)
from calib.analysis.draws.spearman_brown import (
    precision_gain as precision_gain,
)
from calib.analysis.draws.spearman_brown import (
    spearman_brown as spearman_brown,
)
from calib.analysis.means.bootstrap import (
    BootstrapEstimate as BootstrapEstimate,
)
from calib.analysis.means.bootstrap import (
    ppi_bootstrap as ppi_bootstrap,
)
from calib.analysis.means.estimands import (
    ppi_proportion as ppi_proportion,
)
from calib.analysis.means.estimands import (
    ppi_ratio as ppi_ratio,
)
from calib.analysis.means.estimands import (
    ppi_win_rate as ppi_win_rate,
)
from calib.analysis.means.mean import (
    MeanEstimate as MeanEstimate,
)
from calib.analysis.means.mean import (
    mean_interval as mean_interval,
)
from calib.analysis.means.mean import (
    ppi_difference as ppi_difference,
)
from calib.analysis.means.mean import (
    ppi_mean as ppi_mean,
)
from calib.analysis.means.moments import Moments as Moments
from calib.analysis.means.proportion import (
    RoganGladen as RoganGladen,
)
from calib.analysis.means.proportion import (
    rogan_gladen as rogan_gladen,
)
from calib.analysis.means.quantile import (
    QuantileEstimate as QuantileEstimate,
)
from calib.analysis.means.quantile import (
    ppi_quantile as ppi_quantile,
)
from calib.analysis.means.regression import (
    RegressionEstimate as RegressionEstimate,
)
from calib.analysis.means.regression import (
    ppi_logistic as ppi_logistic,
)
from calib.analysis.means.regression import (
    ppi_ols as ppi_ols,
)
from calib.analysis.means.sequence import (
    ConfidenceSequence as ConfidenceSequence,
)
from calib.analysis.means.sequence import (
    confidence_sequence as confidence_sequence,
)
from calib.analysis.means.systems import (
    MeanEstimates as MeanEstimates,
)
from calib.analysis.means.systems import (
    ppi_means as ppi_means,
)
from calib.analysis.planning.budget import (
    BudgetPlan as BudgetPlan,
)
from calib.analysis.planning.budget import (
    budget_plan as budget_plan,
)
from calib.analysis.planning.budget import (
    judge_correlation as judge_correlation,
)
from calib.analysis.planning.budget import (
    label_multiplier as label_multiplier,
)
from calib.analysis.planning.choose import (
    Choice as Choice,
)
from calib.analysis.planning.choose import (
    Transport as Transport,
)
from calib.analysis.planning.choose import (
    choose_items as choose_items,
)
from calib.analysis.planning.choose import (
    shift_weights as shift_weights,
)
from calib.analysis.planning.choose import (
    transport_test as transport_test,
)
from calib.analysis.planning.labels import (
    CostOptimal as CostOptimal,
)
from calib.analysis.planning.labels import (
    DetectableDifference as DetectableDifference,
)
from calib.analysis.planning.labels import (
    JudgeHelp as JudgeHelp,
)
from calib.analysis.planning.labels import (
    LabelsNeeded as LabelsNeeded,
)
from calib.analysis.planning.labels import (
    cost_optimal as cost_optimal,
)
from calib.analysis.planning.labels import (
    detectable_difference as detectable_difference,
)
from calib.analysis.planning.labels import (
    labels_needed as labels_needed,
)
from calib.analysis.planning.labels import (
    will_it_help as will_it_help,
)
from calib.analysis.prompts.averaging import (
    Averaging as Averaging,
)
from calib.analysis.prompts.averaging import (
    averaging as averaging,
)
from calib.analysis.prompts.g_study import (
    Component as Component,
)
from calib.analysis.prompts.g_study import (
    DStudy as DStudy,
)
from calib.analysis.prompts.g_study import (
    GStudy as GStudy,
)
from calib.analysis.prompts.g_study import (
    g_study as g_study,
)
from calib.analysis.prompts.prompt_mean import (
    PromptMean as PromptMean,
)
from calib.analysis.prompts.prompt_mean import (
    prompt_difference as prompt_difference,
)
from calib.analysis.prompts.prompt_mean import (
    prompt_mean as prompt_mean,
)
from calib.analysis.prompts.rank_stability import (
    RankStability as RankStability,
)
from calib.analysis.prompts.rank_stability import (
    rank_stability as rank_stability,
)
from calib.core.check import CalibWarning as CalibWarning
from calib.core.result import (
    Interval as Interval,
)
from calib.core.result import (
    Result as Result,
)
