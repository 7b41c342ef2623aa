"""Prompts in words: what the wording is seen to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calib.analysis.prompts.g_study import GStudy
from calib.analysis.prompts.prompt_mean import PromptMean
from calib.tables.text import number_span

if TYPE_CHECKING:
    from calib.tables.results import Results


def variance_fact(results: Results[GStudy]) -> str:
    """What share of the variance the item and the prompt make."""
    shares = {
        name: [100 * part.share for result in results for part in result.components if part.name == name]
        for name in ("item", "prompt")
    }
    parts = [f"the {name} makes {number_span(values)} %" for name, values in shares.items() if values]
    return f"{', '.join(parts)} of the variance" if parts else ""


def prompts_fact(results: Results[PromptMean]) -> str:
    """How far apart the prompts put the mean."""
    return f"the means under the prompts span {number_span([result.range for result in results])} points"
