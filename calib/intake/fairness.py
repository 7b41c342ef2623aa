"""Questions about verdicts, favour and boards that tables may answer: counted, not computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from calib.intake.question import Beside, Can, asked, few_labelled, no_spread, span
from calib.intake.taken import Intake

_LEAST_VERDICTS = 10
_LEAST_CLAIMS = 30  # items with labels, of which a regression has three coefficients
_MOST_SYSTEMS = 60  # of which each is held against all others


def of_fairness(taken: Intake, pairs: Sequence[Beside]) -> Iterator[Can]:
    """Pass and fail, favour; of preferences agreement and a board."""
    if taken.pairwise:
        yield _pairwise(pairs)
        yield _board(taken)
        return
    yield _verdicts(taken, pairs)
    yield _favour(taken, pairs)


def _of_people(taken: Intake, pair: Beside) -> pd.DataFrame:
    """People's labels one by one."""
    people = taken.gold if taken.people is None else taken.people
    assert people is not None
    return people[(people["criterion"].astype(str) == pair.criterion) & people["score"].notna()]


def _verdicts(taken: Intake, pairs: Sequence[Beside]) -> Can:
    def rule(pair: Beside) -> str:
        values = sorted(_of_people(taken, pair)["score"].unique())
        if len(values) != 2:
            return f"labels have {len(values)} values (--pass-mark says what passes)"
        passes = pair.labelled["y"] > sum(values) / 2
        one_side = f"people {'pass' if passes.all() else 'fail'} all" if passes.all() or not passes.any() else ""
        return few_labelled(pair, _LEAST_VERDICTS) or one_side or no_spread(pair)

    def say(good: Sequence[Beside]) -> str:
        return f"{span([len(pair.labelled) for pair in good])} labels, two values"

    return asked("pass and fail", "pass_fail", pairs, rule, say, some=True)


def _favour(taken: Intake, pairs: Sequence[Beside]) -> Can:
    texts = taken.items is not None and "output" in taken.items and bool(taken.items["output"].notna().any())

    def rule(pair: Beside) -> str:
        if few := few_labelled(pair, _LEAST_CLAIMS) or no_spread(pair):
            return few
        people = _of_people(taken, pair)
        each = people[people["item"].isin(pair.labelled["item"])].groupby("item", observed=True)["rater"].nunique()
        if len(people["rater"].unique()) > 1 and (each > 1).sum() < _LEAST_CLAIMS:
            return f"{int((each > 1).sum())} items with two annotators, {_LEAST_CLAIMS} are the least"
        return "" if texts or _systems(pair) else "neither texts nor systems"

    def say(good: Sequence[Beside]) -> str:
        of = ["length"] * texts + ["system"] * any(map(_systems, good))
        return f"{' and '.join(of)}, {span([len(pair.labelled) for pair in good])} items with a label"

    return asked("favour at equal quality", "bias", pairs, rule, say, some=True)


def _systems(pair: Beside) -> bool:
    return pair.has("system") and 1 < pair.labelled["system"].nunique() <= _MOST_SYSTEMS


def _pairwise(pairs: Sequence[Beside]) -> Can:
    def rule(pair: Beside) -> str:
        return few_labelled(pair, _LEAST_VERDICTS)

    def say(good: Sequence[Beside]) -> str:
        # of several systems a pair has two rows, one for each
        each = [len(pair.labelled) // min(len(pair.values("system")), 2) for pair in good]
        return f"{span(each)} verdicts of people"

    return asked("agreement on pairs", "pairwise_agreement", pairs, rule, say, some=True)


def _board(taken: Intake) -> Can:
    what, verb = "leaderboard", "leaderboard"
    frames = [frame for frame in (taken.scores, taken.gold) if frame is not None]
    systems = {str(name) for frame in frames if "system" in frame for name in frame["system"].dropna().unique()}
    named = any(one.role == "first" for one in taken.columns)
    if not frames or not named or len(systems) < 3:
        return Can(what, verb, False, "fewer than three systems are named (model_a, model_b)")
    criteria = tuple(dict.fromkeys(str(name) for name in frames[0]["criterion"].unique()))
    return Can(what, verb, True, f"{len(systems)} systems", criteria=criteria)
