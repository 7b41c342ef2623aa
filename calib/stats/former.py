"""Names of the release before: they still work, and warn."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from calib.analysis.distributions.distribution import temper
from calib.analysis.distributions.temperature import Temperature
from calib.analysis.draws.components import VarianceComponents, variance_components
from calib.core.check import Floats, warn

ChainComponents, TemperatureCurve = VarianceComponents, Temperature


def exact_components(expectation: ArrayLike, variance: ArrayLike, **options: Any) -> VarianceComponents:
    """See `variance_components`.

    Examples
    --------
    >>> exact_components([1, 2, 4], [1, 1, 2])  # doctest: +SKIP
    """
    warn("`exact_components` is `variance_components` now, and goes with the next release.", FutureWarning)
    return variance_components(expectation, variance, **options)


def chain_components(means: ArrayLike, variances: ArrayLike, **options: Any) -> VarianceComponents:
    """See `variance_components`; `item`, `between`, `within` are `between`, `within`, `label` there.

    Examples
    --------
    >>> chain_components([[1, 2], [4, 6]], [[1, 1], [2, 2]])  # doctest: +SKIP
    """
    warn(
        "`chain_components` is `variance_components` now, with `between`, `within`, `label` for what was `item`, "
        "`between`, `within`; it goes with the next release.",
        FutureWarning,
    )
    return variance_components(means, variances, **options)


def retemper(counts: ArrayLike, *, source: float, target: float, pseudocount: float = 0.1) -> Floats:
    """See `temper`.

    Examples
    --------
    >>> retemper([0, 5, 15], source=1, target=2)  # doctest: +SKIP
    """
    warn("`retemper` is `temper` with `source` now, and goes with the next release.", FutureWarning)
    return temper(counts, target, source=source, pseudocount=pseudocount)
