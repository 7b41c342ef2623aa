# Every public name of `calib`, once: what is loaded on first use, and what editors and type checkers see.

from . import datasets as datasets, plot as plot, stats as stats, table as table
from ._version import __version__ as __version__
from .adapters.harness import (
    to_deepeval_metric as to_deepeval_metric,
    to_inspect_scorer as to_inspect_scorer,
    to_opik_metric as to_opik_metric,
)
from .adapters.read_log import read_log as read_log
from .analysis.agreement.frames import (
    agreement as agreement,
    alternative_annotator_test as alternative_annotator_test,
    compare as compare,
    rank_judges as rank_judges,
    reliability as reliability,
)
from .analysis.bias.frames import bias as bias, rater_effects as rater_effects
from .analysis.calibration.frames import (
    calibrate as calibrate,
    forecast_quality as forecast_quality,
    score_sets as score_sets,
)
from .analysis.calibration.frames_calibration import Calibration as Calibration
from .analysis.calibration.frames_escalation import escalate as escalate
from .analysis.distributions.frames import profile as profile, temperature_curve as temperature_curve
from .analysis.draws.frames import convergence as convergence, variance_components as variance_components
from .analysis.drift.frames import drift as drift
from .analysis.means.frames import difference as difference, interval as interval
from .analysis.pairs.frames import (
    leaderboard as leaderboard,
    length_controlled as length_controlled,
    pairwise_agreement as pairwise_agreement,
    position_bias as position_bias,
)
from .analysis.pairs.frames_preferences import pair_items as pair_items
from .analysis.planning.frames import (
    choose as choose,
    labels_needed as labels_needed,
    plan as plan,
    transport_test as transport_test,
    will_it_help as will_it_help,
)
from .analysis.prompts.frames import prompt_mean as prompt_mean, sensitivity as sensitivity
from .analysis.verdicts.frames import pass_fail as pass_fail
from .core.check import ArgumentError as ArgumentError
from .core.text import show_versions as show_versions
from .datasets.pairs import (
    load_alpaca_eval as load_alpaca_eval,
    load_composo as load_composo,
    load_llmbar as load_llmbar,
)
from .datasets.planted import load_planted as load_planted
from .datasets.texts import (
    load_hanna as load_hanna,
    load_llm_rubric as load_llm_rubric,
    load_llm_summeval as load_llm_summeval,
    load_summeval as load_summeval,
    load_summeval_judges as load_summeval_judges,
    load_topical_chat as load_topical_chat,
    load_triviaqa_judges as load_triviaqa_judges,
    load_unieval as load_unieval,
)
from .gate.baseline import Baseline as Baseline
from .gate.gate import gate as gate, gate_plan as gate_plan
from .gate.gate_judge import JudgeVerdict as JudgeVerdict, gate_judge as gate_judge
from .gate.verdict import GateFailed as GateFailed, GateInconclusive as GateInconclusive, Verdict as Verdict
from .inputs.look import look as look
from .inputs.resolve import scores_from as scores_from
from .judge.calls.batch import from_jsonl as from_jsonl, to_batch as to_batch
from .judge.calls.rate import rate as rate, write_steps as write_steps, write_variants as write_variants
from .judge.calls.transport import JudgeError as JudgeError, LogprobsError as LogprobsError
from .judge.conversation import shorten_messages as shorten_messages
from .judge.judge import Judge as Judge
from .judge.prompt import Prompt as Prompt, geval_prompt as geval_prompt
from .judge.scale import Scale as Scale
from .labelling.read import read_labels as read_labels
from .labelling.verbs import label as label
from .report.report import report as report
from .runs.compare import compare_runs as compare_runs
from .scale.partitions import Partitions as Partitions
from .scale.summarize import summarize as summarize
from .table.labels import Labels as Labels
from .table.results import Results as Results, conclusions as conclusions
from .table.sessions import to_sessions as to_sessions
from .view.view import view as view
