"""The gate for a judge on tables: whether it agrees with people's labels beyond a bar, in every segment."""

from __future__ import annotations

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
from calib.gate.matching import matched_tables, refuse_nameless
from calib.gate.sure_labels import require_sure_labels
from calib.gate.verdict import Verdict
from calib.inputs.names import Columns, Data
from calib.inputs.resolve import Inputs, resolve_inputs
from calib.table import TableArgumentError, parse_scale
from calib.table.driver import verb
from calib.table.labelled import Labelled, groups_of, labelled_pairs, parts_of
from calib.table.results import Results
from calib.table.text import visible
from calib.table.validate import ValidatedTable, scores_in

_NAMED = 5  # items that a message names
_NO_SEGMENT = "(none)"
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
             "low": one.interval.low, "high": one.interval.high, "n_labels": one.n_labels, "n": one.n}
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
        One judge's scores (or ratings); or a file of your own, which may hold the labels, too.
    {labels}
    kappa, weighted_kappa, spearman : float, optional
        Bars: Cohen's kappa (of pass and fail where there is a `cut`), with quadratic weights, Spearman's rho.
    tpr, tnr : float, optional
        Bars: the share that the judge passes of what people pass, and that it fails of what people fail.
    cut : float, optional
        An item passes if its label, and its score, is this or more. Of several persons the median counts.
    judge_cut : float, optional
        That of the scores, where the judge has a scale of its own.
    by : str, optional
        A column of the scores or the labels (in a shell also of --items): each of its values must hold, and so must
        labelled items without one.
    {groups}
    error : float, default .025
        Of a false trust, and of a false distrust.
    min_labels : int, default 20
        Labels below which a check is inconclusive.
    max_unread : float, default .05
        Share of the labels above which a check is inconclusive if they have no score, unread or unmatched.
    certificate : path, optional
        An earlier one: whether the judge or the anchors changed since is said in the notes.
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
    trusted  quality, kappa: Cohen's kappa 0.9268, 95 % CI [0.7721, 0.991], bar 0.6; labels agree in 96.7 %, with one
    constant verdict in 63.3 % (60 labels)
    """
    given = {"kappa": kappa, "weighted_kappa": weighted_kappa, "spearman": spearman, "tpr": tpr, "tnr": tnr}
    bars = {name: float(bar) for name, bar in given.items() if bar is not None}
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
    named = "system" in scores_in(files.scores, "scores").frame
    labelled = scores_in(files.annotations, "labels").frame
    own = matched_tables(
        files.scores, labelled if named else labelled.drop(columns="system", errors="ignore"), None, None
    )
    people = scores_in(own.labels, "labels")
    judged, by = _with_segments(own.scores, files, by, people.frame)
    groups = files.named(groups, "groups")
    checks: list[tuple[dict[str, Any], JudgeCheck]] = []
    anchors, cuts = [], (cut, cut if judge_cut is None else judge_cut)
    each = list(labelled_pairs(judged, people, (by, groups, "sd")))
    _refuse_several(each)
    for one in each:
        bars_of, who = _checks_of(one, people, bars, cuts, by, groups, (error, min_labels, max_unread))
        checks += bars_of
        anchors.append(Anchors.of(one, by, groups, who))
    settled = settled_bars([check for _, check in checks])
    outcomes = [one.outcome for one in settled]
    asked: dict[str, Any] = {**bars, "cut": cut, "judge_cut": judge_cut, "by": by, "error": error,
                             "min_labels": min_labels, "max_unread": max_unread}  # fmt: skip
    bare = sorted(set(judged.frame["criterion"].astype(str)) - {str(one.label["criterion"]) for one in each})
    notes = [*of_inputs, *own.notes]
    notes += [f"unlabelled: no label is of {', '.join(bare)}: nothing was checked there"] * bool(bare)
    if files.guessed:
        notes.append(
            f"scale_guessed: the scale, {files.guessed}, was guessed from the scores: say it (scale=, --scale)"
        )
    for name, (does, called, other) in _RATES.items():
        if name in bars and other not in bars:
            notes.append(
                f"one_sided: a judge that {does} every item has a {called} of 1: set a bar on {other.upper()}, too"
            )
    return JudgeVerdict(
        outcome=next((kind for kind in ("untrusted", "inconclusive") if kind in outcomes), "trusted"),
        system=", ".join(dict.fromkeys(str(one.label["rater"]) for one in each)),
        checks=Results.of(zip([label for label, _ in checks], settled, strict=True)),
        asked=asked,
        digests={"scores": digest_of(judged.frame, ("item", "criterion", "rater", "prompt", "method", "score", "n")),
                 "labels": digest_of(people.frame, ("item", "criterion", "rater", "score"))},
        notes=(*notes, *(() if before is None else before.changes(anchors))),
        annotators=" and ".join(dict.fromkeys(one.annotators for one in anchors)),
        anchors=tuple(anchors),
    )  # fmt: skip


def _with_segments(
    judged: ValidatedTable, files: Inputs, by: str | None, labels: pd.DataFrame
) -> tuple[ValidatedTable, str | None]:
    """The scores with the column of segments, from the labels where they have none; no item is without one."""
    if by is None:
        return judged, None
    own = None if files.inferred is None else files.inferred.rows.get("label")
    if own is not None and own.ids in own.source.frame:  # columns of a user's own file of labels
        labels = own.source.frame.rename(columns={own.ids: "item"})
    if by in judged.frame or by not in labels:
        by = files.named(by, "by")
        column = judged.frame.get(by)
    else:
        values = labels.loc[labels[by].notna(), ["item", by]].astype(object).astype({"item": str}).drop_duplicates()
        if values["item"].duplicated().any():
            raise TableArgumentError("by", "must be a column with one value an item", f"{by!r} has several")
        column = judged.frame["item"].astype(str).map(values.set_index("item")[by])
    if column is None:
        return judged, by  # which is refused where the parts are made
    column = column.astype(object).where(column.notna() & (column.astype(str).str.strip() != ""), _NO_SEGMENT)
    return scores_in(judged.frame.assign(**{str(by): column}), "scores"), by


def _refuse_several(each: list[Labelled]) -> None:
    """A verdict is on one judge: of a criterion there must be one rater, prompt and method."""
    whose: dict[str, list[str]] = {}
    for one in each:
        who = " / ".join(filter(None, (str(one.label[name]) for name in ("rater", "prompt", "method"))))
        whose.setdefault(str(one.label["criterion"]), []).append(who)
    for criterion, several in whose.items():
        if len(several) > 1:
            rule = "must hold one judge, prompt and method for each criterion of a gate: select one"
            raise TableArgumentError("scores", rule, f"{criterion!r} has {', '.join(several)}")


def _checks_of(
    judged: Labelled, people: ValidatedTable, bars: Mapping[str, float], cuts: tuple[float | None, float | None],
    by: str | None, groups: str | None, options: tuple[float, int, float],
) -> tuple[list[tuple[dict[str, Any], JudgeCheck]], str]:  # fmt: skip
    """Each bar on each segment of one criterion, open; and whose labels these are."""
    error, least, most = options
    criterion, frame = str(judged.label["criterion"]), judged.frame
    labelled = people.frame[(people.frame["criterion"].astype(str) == criterion) & people.frame["score"].notna()]
    items = labelled["item"].astype(object)
    without = items[~items.isin(frame["item"].astype(object))].unique().astype(str).tolist()
    warnings, n_labels = list(judged.warnings), int(frame["y"].notna().sum()) + len(without)
    if without:
        some = ", ".join(repr(visible(one, 40)) for one in without[:_NAMED]) + ", ..." * (len(without) > _NAMED)
        warnings.append(f"unmatched: {len(without)} of {n_labels} labelled items match no score: {some}")
    checks = []
    for segment, rows in parts_of(frame, by):
        part = rows[rows["y"].notna()]
        if not len(part) and _NO_SEGMENT in segment.values():  # of another segment without labels nothing is known
            continue
        place = f"{criterion} ({by}: {visible(next(iter(segment.values())))})" if segment else criterion
        unit = None if groups is None else groups_of(part, groups)
        unread = int(part["x"].isna().sum())
        for figure, bar in bars.items():
            x, y = _as_asked(part, judged, figure, cuts)
            one = open_bar(x, y, figure, bar, groups=unit, error=error, min_labels=least)
            lacking, of = unread + len(without), len(part) + len(without)
            if lacking > most * of:
                why = f"{lacking} of {of} labels have no score ({unread} unread, {len(without)} unmatched)"
                one = replace(one, reason=why)
            one = replace(one, n_unmatched=len(without), warnings=tuple(warnings))
            checks.append(({**judged.label, **segment, "check": f"{place}, {figure}"}, one))
    return checks, _whose(judged)


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
            raise ArgumentError("cut", f"must be above {short(low)} and up to {short(high)}, as labels are",
                                f"got {cuts[0]:g}")  # fmt: skip
        return np.where(np.isnan(x), np.nan, x >= cuts[1]), (y >= cuts[0]).astype(float)
    if figure in _RATES and not few:
        raise ArgumentError(
            "cut", f"must say what passes, since labels have {len(judged.levels)} values", "came without"
        )
    scale = parse_scale(judged.scale) if judged.scale else None
    if figure == "weighted_kappa":
        ends = (low, high) if scale is None else (scale.low, scale.high)
        if ends != (low, high) or (x < low).any() or (x > high).any():
            rule = f"needs scores on the scale of the labels, {short(low)} to {short(high)}"
            raise ArgumentError(
                figure, rule, f"has {short(float(np.nanmax(x)))} on {judged.scale or 'a scale not stated'}"
            )
        return x, y
    odd = x[~np.isnan(x) & ~np.isin(x, judged.levels)]
    if len(odd):
        rule = "needs scores that are values of the labels' scale; else say what passes with {0}"
        raise ArgumentError(figure, rule, f"has {short(odd[0])}", mentions=("cut",))
    return ((x - low) / (high - low), (y - low) / (high - low)) if of_pass else (x, y)


def _whose(judged: Labelled) -> str:
    """Whose labels: how many annotators, also where they came as a mean of several."""
    names = [str(name) for name in judged.labels["annotator"].unique()] or ["nobody"]
    pooled = re.fullmatch(r"mean of (\d+) (?:annotators|raters)", names[0])
    n = int(pooled[1]) if pooled and len(names) == 1 else len(names)
    who = "not named" if names[0] == "human" else visible(names[0], 40)
    return f"{n} annotators" if n > 1 else f"1 annotator ({who})"
