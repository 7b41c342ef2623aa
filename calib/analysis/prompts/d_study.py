"""What scores averaged over other numbers of prompts, judges and draws would be worth."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calib.core.check import ArgumentError
from calib.core.result import Result, short

Cost = Callable[[int, float], float]
_SHIFTS = ("prompt", "judge", "prompt_judge")  # they move all items alike: they matter for values, not for the order


@dataclass(frozen=True, slots=True, kw_only=True)
class DStudy(Result):
    r"""What scores averaged over other numbers of prompts and draws are worth.

    Attributes
    ----------
    prompts, judges : tuple of int
    draws : tuple of float
        Replies under each prompt; infinite for exact token probabilities.
    relative_error, absolute_error : tuple of float
        Variance that the order of items, and that their values, have from prompts, judges and draws.
    e_rho2, phi : tuple of float
        Share of the variance that the items themselves have: generalizability coefficient
        (for ranking) and index of dependability (for the value itself, as a gate needs it).
    coefficient : str
        Which of the two the line of text tells.
    """

    prompts: tuple[int, ...]
    judges: tuple[int, ...]
    draws: tuple[float, ...]
    relative_error: tuple[float, ...]
    absolute_error: tuple[float, ...]
    e_rho2: tuple[float, ...]
    phi: tuple[float, ...]
    coefficient: str = "phi"

    def _rows(self) -> list[dict[str, Any]]:
        names = ("prompts", "judges", "draws", "relative_error", "absolute_error", "e_rho2", "phi")
        rows = zip(*(getattr(self, name) for name in names), strict=True)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _terms(self) -> dict[str, Any]:
        return {"d-study": True, "designs": len(self.phi)}

    def __str__(self) -> str:
        name, values = {"phi": ("Phi", self.phi), "e_rho2": ("E(rho^2)", self.e_rho2)}[self.coefficient]
        draws = ("exact probabilities" if math.isinf(k) else counted(int(k), "draw") for k in self.draws)
        return "; ".join(
            f"{counted(p, 'prompt')} x {k}{'' if j == 1 else f' x {j} judges'}: {name} {short(value)}"
            for p, j, k, value in zip(self.prompts, self.judges, draws, values, strict=True)
        )


def d_study_of(estimates: Mapping[str, float], sizes: Sequence[tuple[float, float, float]]) -> DStudy:
    """Of averages over these numbers of prompts, judges and draws, from the components."""
    item = estimates["item"]
    errors = [_error_variances(estimates, *size) for size in sizes]
    prompts, judges, draws = zip(*sizes, strict=True)
    return DStudy(
        prompts=tuple(map(int, prompts)),
        judges=tuple(map(int, judges)),
        draws=tuple(map(float, draws)),
        relative_error=tuple(relative for relative, _ in errors),
        absolute_error=tuple(absolute for _, absolute in errors),
        e_rho2=tuple(_items_share(item, relative) for relative, _ in errors),
        phi=tuple(_items_share(item, absolute) for _, absolute in errors),
    )


def _error_variances(parts: Mapping[str, float], prompts: float, judges: float, draws: float) -> tuple[float, float]:
    """Relative and absolute."""
    relative = shift = 0.0
    for name, estimate in parts.items():
        words = {*name.split("_")}
        over = prompts if words & {"prompt", "residual", "draw"} else 1
        over *= judges if words & {"judge", "residual", "draw"} else 1
        over *= draws if name == "draw" else 1
        if name in _SHIFTS:
            shift += estimate / over
        elif name != "item":
            relative += estimate / over
    return relative, relative + shift


def cheapest_size(
    estimates: Mapping[str, float], target: float, coefficient: str, judges: int, *, exact: bool, cost: Cost
) -> tuple[float, float, float]:
    """Prompts, judges and draws that reach the target at the least cost, which prompts and draws have."""
    item = estimates["item"]
    if item <= 0:
        raise ArgumentError("target", "cannot be reached: the items do not differ (their component is 0)")
    stays, per_prompt, per_draw = _fixed_and_falling(estimates, coefficient, judges)
    allowed = item * (1 / target - 1) - stays
    if allowed <= 0:
        text = f"must be below {short(item / (item + stays))}, what {counted(judges, 'judge')} and endless prompts give"
        raise ArgumentError("target", text, f"got {target!r}")
    most = max(1, math.ceil((per_prompt + per_draw) / allowed - 1e-9))
    spare = 1e-9 * per_prompt  # a target that is met exactly is met
    each = 0.0 if exact else per_draw
    pairs = [(p, _draws_for(each, p * allowed - per_prompt + spare)) for p in range(1, most + 1)]
    finite = [(p, k) for p, k in pairs if math.isfinite(k)]
    prompts, draws = min(finite, key=lambda pair: cost(*pair))
    return prompts, judges, math.inf if exact else draws


def _fixed_and_falling(parts: Mapping[str, float], coefficient: str, judges: int) -> tuple[float, float, float]:
    """Error variance that stays whatever the prompts, that falls with prompts alone, and with all replies."""
    out = {"stays": 0.0, "prompt": 0.0, "draw": 0.0}
    for name, estimate in parts.items():
        words = {*name.split("_")}
        if name == "item" or (coefficient != "phi" and name in _SHIFTS):
            continue
        falls = "draw" if "draw" in words else "prompt" if words & {"prompt", "residual"} else "stays"
        out[falls] += estimate / (judges if words & {"judge", "residual", "draw"} else 1)
    return out["stays"], out["prompt"], out["draw"]


def _items_share(item: float, error: float) -> float:
    return item / (item + error) if item + error else math.nan


def _draws_for(per_draw: float, room: float) -> float:
    """Draws per prompt that bring their share of the error into what the prompts left of it."""
    if not per_draw:
        return 1 if room >= 0 else math.inf
    return max(1, math.ceil(per_draw / room - 1e-9)) if room > 0 else math.inf


def whole_numbers(value: Any, name: str) -> list[float]:
    given = list(value) if hasattr(value, "__len__") and not isinstance(value, str) else [value]
    for number in given:
        endless = name == "draws" and number == math.inf
        if isinstance(number, str) or not (endless or (number >= 1 and number % 1 == 0)):
            raise ArgumentError(name, "must be whole numbers of 1 or more", f"got {value!r}")
    if not given:
        raise ArgumentError(name, "must be one number at least", "got none")
    return [float(number) for number in given]


def counted(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"
