"""Names of the release before: they still resolve, and warn; they are not listed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numpy.typing import ArrayLike

from calib.analysis.distributions.distribution import temper
from calib.analysis.distributions.temperature import Temperature
from calib.analysis.draws.components import VarianceComponents, variance_components
from calib.analysis.planning.budget import BudgetPlan, budget_plan
from calib.core.check import Floats, warn

ChainComponents = VarianceComponents
TemperatureCurve = Temperature
CostOptimal = BudgetPlan


def _warned(name: str, now: str, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    warn(f"`{name}` is {now} now, and goes with the next release.", FutureWarning)
    return call(*args, **options)


def _tempered(counts: ArrayLike, *, source: float, target: float, pseudocount: float = 0.1) -> Floats:
    return temper(counts, target, source=source, pseudocount=pseudocount)


def _cheapest(
    rho: float, *, cost_label: float, cost_judge: float, cost_item: float = 0.0, n_max: int | None = None, **aim: Any
) -> BudgetPlan:
    prices = {"label": cost_label, "judge": cost_judge, "item": cost_item}
    return budget_plan(rho=abs(rho), prices=prices, max_items=n_max, **aim)


_SWAPPED = "`variance_components` (its `between`, `within`, `label` were `item`, `between`, `within`)"
exact_components = partial(_warned, "exact_components", "`variance_components`", variance_components)
chain_components = partial(_warned, "chain_components", _SWAPPED, variance_components)
retemper = partial(_warned, "retemper", "`temper` with `source`", _tempered)
cost_optimal = partial(_warned, "cost_optimal", "`budget_plan`", _cheapest)
