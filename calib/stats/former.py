"""Names of the release before: they still resolve, and warn; they are not listed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numpy.typing import ArrayLike

from calib.analysis.distributions.distribution import temper
from calib.analysis.distributions.temperature import Temperature
from calib.analysis.draws.components import VarianceComponents, variance_components
from calib.core.check import Floats, warn

ChainComponents, TemperatureCurve = VarianceComponents, Temperature


def _warned(name: str, now: str, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    warn(f"`{name}` is {now} now, and goes with the next release.", FutureWarning)
    return call(*args, **options)


def _tempered(counts: ArrayLike, *, source: float, target: float, pseudocount: float = 0.1) -> Floats:
    return temper(counts, target, source=source, pseudocount=pseudocount)


_SWAPPED = "`variance_components` (its `between`, `within`, `label` were `item`, `between`, `within`)"
exact_components = partial(_warned, "exact_components", "`variance_components`", variance_components)
chain_components = partial(_warned, "chain_components", _SWAPPED, variance_components)
retemper = partial(_warned, "retemper", "`temper` with `source`", _tempered)
