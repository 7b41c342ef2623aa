"""Draws in words: how far the mean of some of them is from where it would end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calib.analysis.draws.convergence import Convergence
from calib.tables.text import number_span, span_of

if TYPE_CHECKING:
    from calib.tables.results import Results


def error_fact(results: Results[Convergence]) -> str:
    """The distance of the most draws and of one."""
    where = " or ".join(dict.fromkeys(_reference(result) for result in results))
    # of all draws beside themselves nothing is seen
    places = [-1 if result.reference == "exact" or len(result.sizes) < 2 else -2 for result in results]
    number = span_of([result.sizes[place] for place, result in zip(places, results, strict=True)])
    most = number_span([result.rmse[place] for place, result in zip(places, results, strict=True)])
    first = number_span([result.rmse[0] for result in results])
    return f"the mean of {number} draws is {most} points from {where}, one draw {first}"


def people_fact(results: Results[Convergence]) -> str:
    """Agreement with people of the most draws and of the reference."""
    number, most = span_of([result.sizes[-1] for result in results]), number_span([r.human[-1] for r in results])
    where = " or ".join(dict.fromkeys(_reference(result) for result in results))
    reference = number_span([result.human_reference for result in results])
    return f"the mean of {number} draws agrees with people to {most}, {where} to {reference}"


def _reference(result: Convergence) -> str:
    return "the exact expectation" if result.reference == "exact" else "the mean of all draws"
