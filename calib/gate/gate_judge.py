"""The gate for a judge on tables: whether it agrees with people's labels beyond a bar, in every segment."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pandas as pd

from calib.core.check import ArgumentError, Floats
from calib.core.result import short
from calib.gate.baseline import digest_of
from calib.gate.certificate import Anchors, Certificate
from calib.gate.judge_bars import FIGURES, JudgeCheck, open_bar, settled_bars
from calib.gate.judge_tables import NO_SEGMENT, JudgeTables, refuse_mixed, tables_of_judge, why_not_drawn
from calib.gate.matching import refuse_nameless
from calib.gate.outcomes import MUCH_UNREAD
from calib.gate.sure_labels import require_sure_labels
from calib.gate.verdict import Verdict
from calib.inputs.names import Columns, Data
from calib.inputs.resolve import resolve_inputs
from calib.table import parse_scale
from calib.table.driver import verb
from calib.table.labelled import Labelled, copies, groups_of, labelled_pairs, parts_of
from calib.table.results import Results
from calib.table.text import visible

_NAMED = 5  # items that a message names
_LOOKS = (
    "looks: fix how many labels there will be before you look again, and divide `error` by the number of looks: asking "
    "after each batch trusts a judge at the bar in 7 to 9 %, with an error of 2.5 %"
)
_RATES = {"tpr": ("passes", "TPR", "tnr"), "tnr": ("fails", "TNR", "tpr")}


@dataclass(frozen=True, slots=True, eq=False)
class JudgeVerdict(Verdict):
    """One judge, one verdict: `system` is the judge, and each check is a bar on a criterion and a segment.

    Attributes
    ----------
    outcome : {"trusted", "untrusted", "inconclusive"}
        Untrusted if a bar is missed, else inconclusive if one is open, else trusted.
    annotators : str
        Whose labels: "3 annotators", or the name of the one.
    anchors : tuple of Anchors
        Of each criterion the judge's readings of the labelled items, and the labels.

    Examples
    --------
    >>> import calib
    >>> mine = {"id": range(60), "judge": [1] * 40 + [0] * 20, "label": [1] * 38 + [0] * 22}
    >>> calib.gate_judge(mine, judge="judge", label="label", scale="0|1", kappa=0.6).exit_code
    0
    """

    annotators: str = ""
    anchors: tuple[Anchors, ...] = ()

    @property
    def headline(self) -> str:
        """What may be claimed of which judge, and whose labels it was compared with."""
        claim = {
            "trusted": f"{self.system} agrees with the labels of {self.annotators}",
            "untrusted": f"{self.system} does not agree enough with the labels of {self.annotators}",
            "inconclusive": f"whether {self.system} agrees with the labels of {self.annotators} is not known",
        }
        return f"{self.outcome.upper()}: {claim[self.outcome]}"

    @property
    def next_steps(self) -> tuple[str, ...]:
        """How many labels would decide each open check."""
        steps = []
        for label, one in zip(self.checks.labels, self.checks, strict=True):
            if np.isnan(one.labels_to_decide):
                continue
            groups = int(np.ceil(one.n_groups * one.labels_to_decide / one.n_labels))
            drawn = "of a random sample" if one.n_groups == one.n else f"in about {groups:,} groups of a random sample"
            steps.append(f"{label['check']}: about {int(one.labels_to_decide):,} labels {drawn} (has {one.n_labels})")
        return tuple(steps)

    def certificate(self, path: str | Path, *, days: int = 90, on: date | None = None) -> Path:
        """Write what `calib gate --certificate` asks for: judge, prompt, scale, anchors, figures, and when it ends.

        Parameters
        ----------
        path : path
            A .json file.
        days : int, default 90
            How long it holds.
        on : date, optional
            From when; default: today.
        """
        if self.outcome != "trusted":
            raise ArgumentError("path", "must be of a judge that is trusted", f"this one is {self.outcome}")
        checks = [
            {"check": label["check"], "figure": one.estimand, "bar": one.threshold, "estimate": one.estimate,
             "low": one.interval.low, "high": one.interval.high, "n_labels": one.n_labels, "n": one.n,
             "n_unread": one.n_unread, "n_unmatched": one.n_unmatched}
            for label, one in zip(self.checks.labels, self.checks, strict=True)
        ]  # fmt: skip
        return Certificate.of(self.anchors, dict(self.asked), checks, self.annotators, days, on).write(path)


@verb
def gate_judge(
    scores: Data,
    labels: Data = None,
    *,
    kappa: float | None = None,
    weighted_kappa: float | None = None,
    spearman: float | None = None,
    tpr: float | None = None,
    tnr: float | None = None,
    cut: float | None = None,
    judge_cut: float | None = None,
    by: str | None = None,
    groups: str | None = "group",
    error: float = 0.025,
    min_labels: int = 20,
    max_unread: float = 0.05,
    certificate: str | Path | None = None,
    **columns: Unpack[Columns],
) -> JudgeVerdict:
    """Whether a judge agrees with people's labels beyond a bar: trusted, untrusted, or not known.

    Every bar is a check on every criterion (and on each segment), with an interval at confidence 1 - 2 `error`. A
    judge is trusted if each of them lies above its bar, untrusted if one lies below and that holds by Holm over all,
    and else the verdict is inconclusive, with the labels that would decide. So a false trust and a false distrust have
    a chance of `error` at most each, however many checks there are.

    Parameters
    ----------
    scores : table, path or frame
        One judge's scores (or ratings); or your own file, which may hold the labels, too.
    {labels}
    kappa : float, optional
        The bar for Cohen's kappa; with a `cut` that of pass and fail.
    weighted_kappa : float, optional
        The bar for kappa with quadratic weights.
    spearman : float, optional
        The bar for Spearman's rho.
    tpr : float, optional
        The bar for the share of what people pass that the judge passes.
    tnr : float, optional
        The bar for the share of what people fail that the judge fails.
    cut : float, optional
        A label or score of this or more is a pass. If several people labelled an item, their median counts.
    judge_cut : float, optional
        The cut of the scores, if the judge is on another scale than people.
    by : str, optional
        A column of the scores or the labels (in a shell also of --items): each of its values must hold, and so must
        labelled items without one.
    {groups}
    error : float, default .025
        Probability of a false trust, and of a false distrust.
    min_labels : int, default 20
        Labels below which a check is inconclusive.
    max_unread : float, default .05
        Share of the labels above which a check is inconclusive if they have no score, unread or unmatched.
    certificate : path, optional
        An earlier certificate; the notes say whether the judge or the anchors changed since.
    {columns}

    Notes
    -----
    A constant judge, and labels that are all the same, are never trusted. The judge is compared with these annotators,
    as they are: whether they agree among themselves is for `calib.reliability`.

    Examples
    --------
    >>> mine = {"id": range(60), "judge": [1] * 40 + [0] * 20, "label": [1] * 38 + [0] * 22}
    >>> print(gate_judge(mine, judge="judge", label="label", scale="0|1", kappa=0.6, rater="gpt"))
    TRUSTED: gpt agrees with the labels of 1 annotator (not named)
    trusted  quality, kappa: Cohen's kappa 0.9268, 95 % CI [0.7688, 0.991], bar 0.6; labels agree in 96.7 %, with one
    constant verdict in 63.3 % (60 labels)
    """
    wanted = {"kappa": kappa, "weighted_kappa": weighted_kappa, "spearman": spearman, "tpr": tpr, "tnr": tnr}
    bars = {name: float(bar) for name, bar in wanted.items() if bar is not None}
    if not bars:
        raise ArgumentError("kappa", f"or another bar ({', '.join(list(FIGURES)[1:])}) must be given", "none came")
    if not 0 <= max_unread <= 1:
        raise ArgumentError("max_unread", "must be a share, from 0 to 1", f"got {max_unread!r}")
    if judge_cut is not None and cut is None:
        raise ArgumentError("judge_cut", "must come with {0}", "came alone", mentions=("cut",))
    before = None if certificate is None else Certificate.read(certificate)
    files = resolve_inputs(scores, labels, columns, names=("scores", "labels"), any_scale=True)
    of_inputs = []
    if files.inferred is not None:
        refuse_nameless(files.inferred)
        of_inputs = require_sure_labels(files.inferred, max_unread)
    tables = tables_of_judge(files, by, groups)
    judged, people, by, groups = tables.judged, tables.people, tables.by, tables.groups
    checks: list[tuple[dict[str, Any], JudgeCheck]] = []
    anchors, cuts = [], (cut, cut if judge_cut is None else judge_cut)
    each = list(labelled_pairs(judged, people, (by, groups, "sd")))
    refuse_mixed(each, judged.frame)
    for one in each:
        bars_of, who = _checks_of(one, tables, bars, cuts, (error, min_labels, max_unread))
        checks += bars_of
        scored = judged.frame[judged.frame["criterion"].astype(str) == str(one.label["criterion"])]
        anchors.append(Anchors.of(one, scored, by, groups, who))
    if max_unread > MUCH_UNREAD:
        of_inputs.append(f"much_unread: up to {100 * max_unread:g} % of the labels may have no score and not count")
    settled = settled_bars([check for _, check in checks])
    outcomes = [one.outcome for one in settled]
    bare = sorted(set(judged.frame["criterion"].astype(str)) - {str(one.label["criterion"]) for one in each})
    notes = [*of_inputs, *tables.notes]
    notes += [f"unlabelled: no label is of {', '.join(bare)}: nothing was checked there"] * bool(bare)
    if files.guessed:
        text = f"the scale, {files.guessed}, was guessed from the scores: give it (scale=, --scale)"
        notes.append(f"scale_guessed: {text}")
    for name, (does, called, other) in _RATES.items():
        if name in bars and other not in bars:
            text = f"a judge that {does} every item has a {called} of 1: set a bar on {other.upper()}, too"
            notes.append(f"one_sided: {text}")
    looks = any(not math.isnan(one.labels_to_decide) for one in settled)
    return JudgeVerdict(
        outcome=next((kind for kind in ("untrusted", "inconclusive") if kind in outcomes), "trusted"),
        system=", ".join(dict.fromkeys(str(one.label["rater"]) for one in each)),
        checks=Results.of(zip([label for label, _ in checks], settled, strict=True)),
        asked={**bars, "cut": cut, "judge_cut": judge_cut, "by": by, "error": error, "min_labels": min_labels,
               "max_unread": max_unread},
        digests={"scores": digest_of(judged.frame, ("item", "criterion", "rater", "prompt", "method", "score", "n")),
                 "labels": digest_of(people.frame, ("item", "criterion", "rater", "score"))},
        notes=(*notes, *(() if before is None else before.changes(anchors)), *(_LOOKS,) * looks),
        assumptions=tables.assumptions,
        annotators=" and ".join(dict.fromkeys(one.annotators for one in anchors)),
        anchors=tuple(anchors),
    )  # fmt: skip


def _checks_of(
    judged: Labelled, tables: JudgeTables, bars: Mapping[str, float], cuts: tuple[float | None, float | None],
    options: tuple[float, int, float],
) -> tuple[list[tuple[dict[str, Any], JudgeCheck]], str]:  # fmt: skip
    """Each bar on each segment of one criterion, open; and whose labels these are."""
    error, least, most = options
    by, groups, people = tables.by, tables.groups, tables.people.frame
    criterion, frame = str(judged.label["criterion"]), judged.frame
    labels = people[(people["criterion"].astype(str) == criterion) & people["score"].notna()]
    items = labels["item"].astype(object)
    without = items[~items.isin(frame["item"].astype(object))].unique().astype(str).tolist()
    parts = list(parts_of(frame, by))
    blocked = why_not_drawn(judged, labels, [rows for _, rows in parts], groups, most)
    n_others, of_others = tables.left_out.get(criterion, (0, ""))
    if n_others > most * (n_others + len(items)):  # a name that is misspelled would drop them
        blocked = f"{of_others}: correct their system, or take them out of the labels"
    checks = []
    for segment, rows in parts:
        part = rows[rows["y"].notna()]
        if not len(part) and NO_SEGMENT in segment.values():  # of another segment without labels nothing is known
            continue
        place = f"{criterion} ({by}: {visible(next(iter(segment.values())))})" if segment else criterion
        unit = None if groups is None else groups_of(part, groups)
        copied, like_scores = copies(part.dropna(subset=["x"]))
        lacking, without_score = _scores_lacking(part, without, most)
        warnings = (*judged.warnings, *without_score, *(like_scores,) * bool(like_scores))
        for figure, bar in bars.items():
            x, y = _as_asked(part, judged, figure, cuts)
            one = open_bar(x, y, figure, bar, groups=unit, error=error, min_labels=least)
            reason = blocked or lacking or copied or one.reason
            one = replace(one, reason=reason, n_unmatched=len(without), warnings=(*warnings, *one.warnings))
            checks.append(({**judged.label, **segment, "check": f"{place}, {figure}"}, one))
    # how many annotators, also where labels came as a mean of several
    names = [str(name) for name in judged.labels["annotator"].unique()] or ["nobody"]
    pooled = re.fullmatch(r"mean of (\d+) (?:annotators|raters)", names[0])
    n = int(pooled[1]) if pooled and len(names) == 1 else len(names)
    who = "not named" if names[0] == "human" else visible(names[0], 40)
    return checks, f"{n} annotators" if n > 1 else f"1 annotator ({who})"


def _scores_lacking(part: pd.DataFrame, unmatched: list[str], most: float) -> tuple[str, list[str]]:
    """Why scores are no basis: too many labels have none, or too many replies were unread; and warnings of such."""
    # of each labelled item the share of its replies that could not be read, 1 where it has no score
    nothing = pd.Series(0.0, part.index)
    read, unread = (part.get(name, nothing).astype(float).fillna(0) for name in ("n", "n_unread"))
    share = (unread / (read + unread).where(read + unread > 0, 1.0)).to_numpy(float)
    lost = np.where(part["x"].isna(), 1.0, share)
    none, some = int((lost == 1).sum()), int(((lost > 0) & (lost < 1)).sum())
    texts = [f"{none} of {len(part)} labelled items have no score and do not count"] * (none > 0)
    texts += [f"{some} of {len(part)} labelled items have a score from some of their replies only"] * (some > 0)
    warnings, of = [f"unread: {'; '.join(texts)}"] * bool(texts), len(part) + len(unmatched)
    if unmatched:
        such = ", ".join(repr(visible(one, 40)) for one in unmatched[:_NAMED]) + ", ..." * (len(unmatched) > _NAMED)
        warnings.append(f"unmatched: {len(unmatched)} of {of} labelled items match no score: {such}")
    n_unread, n_lost, reason = int(part["x"].isna().sum()), lost.sum() + len(unmatched), ""
    if n_unread + len(unmatched) > most * of:
        which = f"{n_unread} unread, {len(unmatched)} unmatched"
        reason = f"{n_unread + len(unmatched)} of {of} labels have no score ({which})"
    elif n_lost > most * of:
        reason = f"of the replies about {of} labelled items {100 * n_lost / of:.2g} % gave no score"
    return reason, warnings


def _as_asked(
    part: pd.DataFrame, judged: Labelled, figure: str, cuts: tuple[float | None, float | None]
) -> tuple[Floats, Floats]:
    """Scores and labels as a figure compares them: pass and fail by the cut, or the values of one scale."""
    x, y = part["x"].to_numpy(float), part["y"].to_numpy(float)
    low, high, few = judged.levels[0], judged.levels[-1], len(judged.levels) == 2
    of_pass = figure in _RATES or (figure == "kappa" and (cuts[0] is not None or few))
    if figure == "spearman":
        return x, y
    if of_pass and cuts[0] is not None:
        if not low < cuts[0] <= high:
            rule = f"must be above {short(low)} and up to {short(high)}, as labels are"
            raise ArgumentError("cut", rule, f"got {cuts[0]:g}")
        return np.where(np.isnan(x), np.nan, x >= cuts[1]), (y >= cuts[0]).astype(float)
    if figure in _RATES and not few:
        rule = f"must say what passes, since labels have {len(judged.levels)} values"
        raise ArgumentError("cut", rule, "came without")
    scale = parse_scale(judged.scale) if judged.scale else None
    if figure == "weighted_kappa":
        ends = (low, high) if scale is None else (scale.low, scale.high)
        if ends != (low, high) or (x < low).any() or (x > high).any():
            rule = f"needs scores on the scale of the labels, {short(low)} to {short(high)}"
            came = f"has {short(float(np.nanmax(x)))} on {judged.scale or 'a scale not stated'}"
            raise ArgumentError(figure, rule, came)
        return x, y
    odd = x[~np.isnan(x) & ~np.isin(x, judged.levels)]
    if len(odd):
        rule = "needs scores that are values of the labels' scale; else say what passes with {0}"
        raise ArgumentError(figure, rule, f"has {short(odd[0])}", mentions=("cut",))
    return ((x - low) / (high - low), (y - low) / (high - low)) if of_pass else (x, y)
