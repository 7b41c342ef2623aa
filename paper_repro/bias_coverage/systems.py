"""One of many systems: how often one is called favoured by Holm where none is, and where one is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from covered import Row
from effects import RELIABILITY, SLOPE
from scipy import special

from calib.core.numeric import adjusted_p_values
from calib.stats import Instrumented, instrumented

ALARM, FAVOUR = 0.05, 0.5


def cells(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Rows of each number of labels and of systems; half as many sets, as each is of many regressions."""
    for n in (100, 200, 400):
        for systems in (4, 16):
            yield from _alarms(n, systems, runs // 2, rng)


def _alarms(n: int, systems: int, runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """How often one of the systems is called favoured by Holm: none is, and one is by half a point."""
    laws: dict[str, Callable[[Instrumented], float]] = {
        "instrument": lambda one: one.p_value,
        "instrument, t of groups less one": _p_of_groups,
    }
    for quantity, favour in (("alarms, no system favoured", 0.0), ("power, one system favoured by .5", FAVOUR)):
        counts = dict.fromkeys(laws, 0)
        for _ in range(runs):
            system = rng.permutation(np.arange(n) % systems)
            quality = 0.7 * np.linspace(1, -1, systems)[system] + 0.8 * rng.normal(size=n)
            people = quality[:, None] + math.sqrt(1 / RELIABILITY - 1) * rng.normal(size=(n, 2))
            judge = SLOPE * quality + favour * (system == systems // 2) + 0.5 * rng.normal(size=n)
            effects = [instrumented(judge, people, (system == k).astype(float)) for k in range(systems)]
            for law, p_value in laws.items():
                holm = adjusted_p_values([p_value(one) for one in effects], "holm")
                counts[law] += int((holm[systems // 2] if favour else np.nanmin(holm)) <= ALARM)
        for law, count in counts.items():
            row = {"quantity": quantity, "estimator": law, "design": f"{systems} systems", "n": n, "runs": runs}
            row |= {"coverage": count / runs, "mc_error": math.sqrt(ALARM * (1 - ALARM) / runs), "width": math.nan}
            yield row | {"nominal": math.nan if favour else ALARM}


def _p_of_groups(one: Instrumented) -> float:
    """The p-value as if all groups told of x, with the error of the interval."""
    half = (one.interval.high - one.interval.low) / 2
    error = half / float(special.stdtrit(one.df, (1 + one.confidence_level) / 2))
    return float(2 * special.stdtr(one.n_groups - 1, -abs(one.estimate) / error))
