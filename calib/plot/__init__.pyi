# Every plot, once: what is loaded on first use, and what editors and type checkers see.

from calib.analysis.agreement.display import (
    agreement as agreement,
    compare as compare,
    forest as forest,
    heatmap as heatmap,
    ranking as ranking,
    reliability as reliability,
    scatter as scatter,
    ties as ties,
)
from calib.analysis.bias.display import bias as bias, rater_effects as rater_effects
from calib.analysis.calibration.display import (
    accept_risk as accept_risk,
    calibration as calibration,
    corp as corp,
    pit as pit,
    score_sets as score_sets,
)
from calib.analysis.distributions.display import profile as profile
from calib.analysis.draws.display import convergence as convergence, gain as gain
from calib.analysis.drift.display import drift as drift
from calib.analysis.means.display import difference as difference, interval as interval
from calib.analysis.pairs.display import (
    leaderboard as leaderboard,
    length_controlled as length_controlled,
    pairwise_agreement as pairwise_agreement,
    position_bias as position_bias,
)
from calib.analysis.planning.display import labels_needed as labels_needed, plan as plan
from calib.analysis.prompts.display import components as components, d_study as d_study, prompt_means as prompt_means
from calib.analysis.verdicts.display import confusion as confusion, roc as roc
from calib.gate.display import gate as gate, gate_plan as gate_plan
from calib.runs.display import task_changes as task_changes
