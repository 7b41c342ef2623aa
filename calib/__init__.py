"""How far can we trust an LLM judge's number.

Three tables and one direction: `items` are rated into `ratings` (paid, kept),
`summarize` makes `scores` of them (free), and `agreement`, `convergence`, `interval`
and `difference` make results that print, tabulate, plot and report themselves.
`calib.stats` has the same statistics on arrays.
"""

from importlib import import_module
from typing import Any

from calib._version import __version__

# name -> module that holds it; resolved on first use, so that `import calib` stays cheap
_HOMES = {
    "Judge": "calib.judge._judge",
    "JudgeError": "calib.judge._transport",
    "LogprobsError": "calib.judge._transport",
    "Prompt": "calib.judge._prompt",
    "Results": "calib._results",
    "Scale": "calib.judge._prompt",
    "agreement": "calib._agree",
    "alternative_annotator_test": "calib._agree",
    "averaging": "calib._prompts",
    "chain_components": "calib._draws",
    "choose_items": "calib._plan",
    "compare": "calib._agree",
    "conclusions": "calib._report",
    "convergence": "calib._draws",
    "difference": "calib._analyze",
    "distribution_fit": "calib._draws",
    "fit_temperature": "calib._draws",
    "from_jsonl": "calib.judge._batch",
    "geval_prompt": "calib.judge._prompt",
    "interval": "calib._analyze",
    "labels_needed": "calib._plan",
    "load_ballots": "calib.datasets",
    "load_cje_arena": "calib.datasets",
    "load_composo": "calib.datasets",
    "load_forest_badmodel": "calib.datasets",
    "load_hanna": "calib.datasets",
    "load_lesion": "calib.datasets",
    "load_llm_rubric": "calib.datasets",
    "load_llm_summeval": "calib.datasets",
    "load_planted": "calib.datasets",
    "load_summeval": "calib.datasets",
    "load_summeval_judges": "calib.datasets",
    "load_topical_chat": "calib.datasets",
    "load_triviaqa_judges": "calib.datasets",
    "load_unieval": "calib.datasets",
    "load_wax": "calib.datasets",
    "plan": "calib._plan",
    "point_scores": "calib._draws",
    "prompt_difference": "calib._prompts",
    "prompt_mean": "calib._prompts",
    "rank_judges": "calib._agree",
    "rank_stability": "calib._prompts",
    "rate": "calib.judge._rate",
    "reliability": "calib._agree",
    "report": "calib._report",
    "scores_from": "calib._scores",
    "sensitivity": "calib._prompts",
    "summarize": "calib._scores",
    "temperature_curve": "calib._draws",
    "to_batch": "calib.judge._batch",
    "transport_test": "calib._plan",
    "variance_components": "calib._draws",
    "will_it_help": "calib._plan",
    "write_steps": "calib.judge._rate",
    "write_variants": "calib.judge._rate",
}
_MODULES = ("datasets", "plot", "stats", "table")

__all__ = [
    "Judge",
    "JudgeError",
    "LogprobsError",
    "Prompt",
    "Results",
    "Scale",
    "__version__",
    "agreement",
    "alternative_annotator_test",
    "averaging",
    "chain_components",
    "choose_items",
    "compare",
    "conclusions",
    "convergence",
    "datasets",
    "difference",
    "distribution_fit",
    "fit_temperature",
    "from_jsonl",
    "geval_prompt",
    "interval",
    "labels_needed",
    "load_ballots",
    "load_cje_arena",
    "load_composo",
    "load_forest_badmodel",
    "load_hanna",
    "load_lesion",
    "load_llm_rubric",
    "load_llm_summeval",
    "load_planted",
    "load_summeval",
    "load_summeval_judges",
    "load_topical_chat",
    "load_triviaqa_judges",
    "load_unieval",
    "load_wax",
    "plan",
    "plot",
    "point_scores",
    "prompt_difference",
    "prompt_mean",
    "rank_judges",
    "rank_stability",
    "rate",
    "reliability",
    "report",
    "scores_from",
    "sensitivity",
    "stats",
    "summarize",
    "table",
    "temperature_curve",
    "to_batch",
    "transport_test",
    "variance_components",
    "will_it_help",
    "write_steps",
    "write_variants",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = import_module(f"calib.{name}")
    else:
        raise AttributeError(f"module 'calib' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
