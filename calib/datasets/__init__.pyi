# Every public name of `calib.datasets`, once: what is loaded on first use, and what editors and type checkers see.

from .pairs import (
    COMPOSO_PROMPTS as COMPOSO_PROMPTS,
    load_alpaca_eval as load_alpaca_eval,
    load_composo as load_composo,
    load_llmbar as load_llmbar,
)
from .planted import CRITERIA as CRITERIA, load_planted as load_planted
from .registry import DatasetError as DatasetError, available as available
from .texts import (
    LLM_SUMMEVAL_PROMPTS as LLM_SUMMEVAL_PROMPTS,
    TOPICAL_CHAT_PROMPTS as TOPICAL_CHAT_PROMPTS,
    load_hanna as load_hanna,
    load_llm_rubric as load_llm_rubric,
    load_llm_summeval as load_llm_summeval,
    load_summeval as load_summeval,
    load_summeval_judges as load_summeval_judges,
    load_topical_chat as load_topical_chat,
    load_triviaqa_judges as load_triviaqa_judges,
    load_unieval as load_unieval,
    read_chiang_lee as read_chiang_lee,
)
