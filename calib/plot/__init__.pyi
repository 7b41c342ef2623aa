# Every plot, once: what is loaded on first use, and what editors and type checkers see.

from calib.analysis.agreement.plots import (
    agreement as agreement,
    compare as compare,
    forest as forest,
    heatmap as heatmap,
    ranking as ranking,
    reliability as reliability,
    scatter as scatter,
    ties as ties,
)
from calib.analysis.bias.plots import bias as bias, rater_effects as rater_effects
from calib.analysis.calibration.plots import (
    accept_risk as accept_risk,
    calibration as calibration,
    corp as corp,
    pit as pit,
    score_sets as score_sets,
)
from calib.analysis.distributions.plots import profile as profile
from calib.analysis.draws.plots import convergence as convergence, gain as gain
from calib.analysis.drift.plots import drift as drift
from calib.analysis.gate.plots import gate as gate, gate_plan as gate_plan
from calib.analysis.means.plots import difference as difference, interval as interval
from calib.analysis.pairs.plots import (
    leaderboard as leaderboard,
    length_controlled as length_controlled,
    pairwise_agreement as pairwise_agreement,
    position_bias as position_bias,
)
from calib.analysis.planning.plots import labels_needed as labels_needed, plan as plan
from calib.analysis.prompts.plots import components as components, d_study as d_study, prompt_means as prompt_means
from calib.analysis.verdicts.plots import confusion as confusion, roc as roc
