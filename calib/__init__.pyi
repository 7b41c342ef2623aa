# Every public name of `calib`, once: what is loaded on first use, and what editors and type checkers see.

from . import datasets as datasets
from . import plot as plot
from . import stats as stats
from . import table as table
from ._version import __version__ as __version__
from .analysis.agreement.verbs import (
    agreement as agreement,
)
from .analysis.agreement.verbs import (
    alternative_annotator_test as alternative_annotator_test,
)
from .analysis.agreement.verbs import (
    compare as compare,
)
from .analysis.agreement.verbs import (
    rank_judges as rank_judges,
)
from .analysis.agreement.verbs import (
    reliability as reliability,
)
from .analysis.draws.verbs import (
    chain_components as chain_components,
)
from .analysis.draws.verbs import (
    convergence as convergence,
)
from .analysis.draws.verbs import (
    distribution_fit as distribution_fit,
)
from .analysis.draws.verbs import (
    fit_temperature as fit_temperature,
)
from .analysis.draws.verbs import (
    point_scores as point_scores,
)
from .analysis.draws.verbs import (
    temperature_curve as temperature_curve,
)
from .analysis.draws.verbs import (
    variance_components as variance_components,
)
from .analysis.means.verbs import (
    difference as difference,
)
from .analysis.means.verbs import (
    interval as interval,
)
from .analysis.planning.verbs import (
    choose_items as choose_items,
)
from .analysis.planning.verbs import (
    labels_needed as labels_needed,
)
from .analysis.planning.verbs import (
    plan as plan,
)
from .analysis.planning.verbs import (
    transport_test as transport_test,
)
from .analysis.planning.verbs import (
    will_it_help as will_it_help,
)
from .analysis.prompts.verbs import (
    averaging as averaging,
)
from .analysis.prompts.verbs import (
    prompt_difference as prompt_difference,
)
from .analysis.prompts.verbs import (
    prompt_mean as prompt_mean,
)
from .analysis.prompts.verbs import (
    rank_stability as rank_stability,
)
from .analysis.prompts.verbs import (
    sensitivity as sensitivity,
)
from .datasets import (
    load_ballots as load_ballots,
)
from .datasets import (
    load_cje_arena as load_cje_arena,
)
from .datasets import (
    load_composo as load_composo,
)
from .datasets import (
    load_forest_badmodel as load_forest_badmodel,
)
from .datasets import (
    load_hanna as load_hanna,
)
from .datasets import (
    load_lesion as load_lesion,
)
from .datasets import (
    load_llm_rubric as load_llm_rubric,
)
from .datasets import (
    load_llm_summeval as load_llm_summeval,
)
from .datasets import (
    load_planted as load_planted,
)
from .datasets import (
    load_summeval as load_summeval,
)
from .datasets import (
    load_summeval_judges as load_summeval_judges,
)
from .datasets import (
    load_topical_chat as load_topical_chat,
)
from .datasets import (
    load_triviaqa_judges as load_triviaqa_judges,
)
from .datasets import (
    load_unieval as load_unieval,
)
from .datasets import (
    load_wax as load_wax,
)
from .judge.calls.batch import (
    from_jsonl as from_jsonl,
)
from .judge.calls.batch import (
    to_batch as to_batch,
)
from .judge.calls.rate import (
    rate as rate,
)
from .judge.calls.rate import (
    write_steps as write_steps,
)
from .judge.calls.rate import (
    write_variants as write_variants,
)
from .judge.calls.transport import (
    JudgeError as JudgeError,
)
from .judge.calls.transport import (
    LogprobsError as LogprobsError,
)
from .judge.judge import Judge as Judge
from .judge.prompt import (
    Prompt as Prompt,
)
from .judge.prompt import (
    Scale as Scale,
)
from .judge.prompt import (
    geval_prompt as geval_prompt,
)
from .report.report import (
    conclusions as conclusions,
)
from .report.report import (
    report as report,
)
from .tables.results import Results as Results
from .tables.scores import (
    scores_from as scores_from,
)
from .tables.scores import (
    summarize as summarize,
)
