"""Agreement in words: what may be concluded from a coefficient, a comparison of judges, a test."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from calib.analysis.agreement.agreement import Agreement
from calib.analysis.agreement.coefficients import COEFFICIENTS, SHARES
from calib.core.result import bracket, short
from calib.tables.text import each_once, number_span, told_apart, visible

if TYPE_CHECKING:
    import pandas as pd

    from calib.analysis.agreement.compare import Comparison
    from calib.analysis.agreement.rank import Ranking
    from calib.analysis.agreement.reliability import Reliability
    from calib.tables.results import Results


def highest_agreement(labels: Sequence[Mapping[str, Any]], results: Sequence[Agreement]) -> list[str]:
    """One sentence about the highest, of one coefficient only: the highest of unlike ones means nothing."""
    kinds = [(result.coefficient, result.level) for result in results]
    known = [i for i, r in enumerate(results) if kinds[i] == kinds[0] and not math.isnan(r.estimate)]
    if not known:
        return ["No coefficient could be computed, so nothing can be concluded."]
    best = max(known, key=lambda i: results[i].estimate)
    name = told_apart(labels)[best]
    words = f"{COEFFICIENTS[results[best].coefficient]} = {short(results[best].estimate)}, {_claim(results[best])}"
    if len(known) == 1:
        return [f"{name}{': ' * bool(name)}{words}."]
    return [f"The highest of {len(known)} ({name}): {words}; the highest of several looks better than it is."]


def _claim(result: Agreement) -> str:
    """What the interval of an agreement says, and no more."""
    low, high = result.interval
    words = bracket(result.interval, result.confidence_level)
    if math.isnan(low):
        why = f" ({result.reason})" if result.reason else ""
        return f"{words}{why}: it says nothing beyond these data"
    about = f"{words}, which speaks about {result.generalises_to}"
    if result.coefficient in SHARES:
        return f"{about}; chance alone gives a share above 0, too"
    return f"{about}, and {'does not exclude 0' if low <= 0 <= high else 'excludes 0'}"


def agreement_fact(results: Results[Agreement]) -> str:
    """How far they agree: one coefficient, or the lowest and the highest of several alike."""
    known = [i for i, r in enumerate(results) if not math.isnan(r.estimate)]
    kinds = {(results[i].coefficient, results[i].level) for i in known}
    if len(kinds) != 1:
        return ""
    symbol, names = COEFFICIENTS[results[known[0]].coefficient], told_apart(results.labels)
    low, high = (choose(known, key=lambda i: results[i].estimate) for choose in (min, max))
    if low == high:
        return f"{symbol} {results[low].estimate:.2f}{_beside_zero(results[low])}"
    ends = " to ".join(f"{results[i].estimate:.2f} ({visible(names[i], 30)})" for i in (low, high))
    sure = [i for i in known if _beside_zero(results[i]) == _NOT_ZERO]
    said = f"; {len(sure)} of {len(known)} intervals exclude 0" if any(_beside_zero(results[i]) for i in known) else ""
    return f"{symbol} from {ends}{said}"


_NOT_ZERO = ", the interval excludes 0"


def _beside_zero(result: Agreement) -> str:
    low, high = result.interval
    if math.isnan(low) or result.coefficient in SHARES:
        return ""
    return ", the interval includes 0" if low <= 0 <= high else _NOT_ZERO


def comparison_fact(results: Results[Comparison]) -> str:
    """Which judge is ahead, or how many differences are told apart from none."""
    if len(results) == 1:
        where, says = told_apart_from_zero({}, results[0])
        return f"{' and '.join(results[0].names)} are not told apart" if where == "open" else says
    ahead = sum(told_apart_from_zero({"n_beside": len(results)}, result)[0] != "open" for result in results)
    return f"{ahead} of {len(results)} differences are told apart from 0"


def ranking_fact(results: Results[Ranking]) -> str:
    """Who leads, and who is not told apart from that judge."""
    facts = [_lead(result) for result in results]
    if len(set(facts)) == 1:
        return facts[0]
    return "; ".join(f"{name}: {fact}" for name, fact in zip(told_apart(results.labels), facts, strict=True))


def _lead(result: Ranking) -> str:
    if not result.clusters[0]:
        return "no coefficient could be computed"
    if not result.distinct.any():
        return "these data do not tell the judges apart"
    known = [place for place, cluster in enumerate(result.clusters) if cluster and place]
    alike = [result.names[place] for place in known if not result.distinct[0, place]]
    return f"{result.names[0]} leads, {f'not told apart from {_all_of(alike)}' if alike else 'ahead of all others'}"


def _all_of(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def reliability_fact(results: Results[Reliability]) -> str:
    """What one person reaches, and the judge beside."""
    fact = f"one person reaches {number_span([r.ceiling.ceiling for r in results])} with the other people"
    judged = [r.ceiling.judge for r in results if r.ceiling.judge_by_rater]
    return fact + (f", the judge {number_span(judged)}" if judged else "")


def compared(labels: Sequence[Mapping[str, Any]], results: Sequence[Any]) -> list[str]:
    """Each conclusion once, and how many tests that makes."""
    number = f"These are {len(results)} tests; their p-values are not adjusted for that number."
    return each_once(labels, results, lambda result: [result.conclusion]) + [number] * (len(results) > 1)


def verdicts(labels: Sequence[Mapping[str, Any]], results: Sequence[Any]) -> list[str]:
    """Whether the judge may stand in for a person."""
    return each_once(labels, results, lambda result: [result.verdict])


def told_apart_from_zero(label: Mapping[str, Any], result: Comparison) -> tuple[str, str]:
    """Whether the test tells the two judges apart, and which agrees more; of several, by Bonferroni's rule."""
    if not result.p_value * label.get("n_beside", 1) <= 1 - result.confidence_level:
        return "open", "not decided"
    return ("above", f"{result.names[0]} is ahead") if result.estimate > 0 else ("below", f"{result.names[1]} is ahead")


def against_one_person(_label: Mapping[str, Any], result: Reliability) -> tuple[str, str] | None:
    """The judge against what one person reaches; None without a judge."""
    low, high = result.ceiling.difference_interval
    if not result.ceiling.judge_by_rater:
        return None
    if low > 0:
        return "above", "above one person"
    return ("below", "below one person") if high < 0 else ("open", "not decided: judge or one person")


def told_once(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame that names no judge both by label and by name, and has another rule only where it changes something."""
    pairs = (("rater", "first"), ("versus", "second"))
    twice = [a for a, b in pairs if {a, b} <= set(frame.columns) and (frame[a].astype(str) == frame[b]).all()]
    other = [name for name in ("estimate_other", "estimate_other_missing") if name in frame]
    return frame.drop(columns=[*twice, *(name for name in other if frame[name].equals(frame["estimate"]))])
