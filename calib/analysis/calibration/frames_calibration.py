"""Calibrations of judges: applied to scores, kept in a file, and what they forecast of their own labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from calib import stats
from calib.analysis.calibration.calibration_map import sha
from calib.analysis.calibration.frames_file import Input, inputs_in, label_of, read_maps, scale_text, write_records
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats
from calib.core.result import short
from calib.inputs.names import Columns, Data
from calib.inputs.resolve import Inputs, resolve_inputs
from calib.stats import CalibrationMap
from calib.table import TableError, check_scores, parse_scale
from calib.table.labelled import Labelled, mean_of_raters, parts_of
from calib.table.results import Results, words
from calib.table.validate import SliceKey, ValidatedTable, scores_in

KINDS = ("score", "criteria", "raters")
CALIBRATED = " (calibrated)"
_MEAN_LABELS = (
    "mean_labels: the calibration keeps the mean of each item's labels, which is easier to foretell than what one "
    "person says; give `labels` to have each of them count"
)
_OWN_COLUMNS = ("var_within", "var_between", "low", "high", "mass", "against")  # of the judge's own scale


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Calibration(Results[CalibrationMap]):
    """What the scores of judges mean: one `CalibrationMap` per criterion, rater, prompt, method and temperature.

    `apply` turns their scores into scores on people's scale; ``calibration["fluency"]`` is the part that is about one
    criterion.

    Attributes
    ----------
    labels, results : tuple of dict, tuple of CalibrationMap
        For each map what it is about, with the counts of what did not match; the maps.
    scores : DataFrame, optional
        The judge's scores that came with the labels, for a report; none in what a file or a selection holds.

    Examples
    --------
    >>> import calib
    >>> files = {"judge": [1, 2, 3, 4] * 6, "people": [1, 1, 2, 4, 1, 2, 2, 3, 2, 1, 3, 4] * 2}
    >>> calibrated = calib.calibrate(files, scale="1|2|3|4").apply(files, scale="1|2|3|4")
    >>> calibrated[["rater", "scale"]].iloc[0].tolist()
    ['judge (calibrated)', '1|2|3|4']
    """

    scores: pd.DataFrame | None = field(default=None, repr=False)

    def apply(self, scores: Any, *, annotator: Any = None, allow_stale: bool = False, **columns: Any) -> pd.DataFrame:
        """Scores on people's scale: what people would say of each item, and how sure that is.

        An item of a document of which labels were used is scored by the map that was fitted without its fold of the
        documents, all others by the mean over the folds' maps.

        Parameters
        ----------
        scores : table, path or frame
            Scores (or ratings) of the judge that was calibrated, of any items. Criteria that no map is of are left
            out, with a warning.
        annotator : optional
            Who rates, of a calibration that knows who did (``annotators=True``). Default: a new person.
        allow_stale : bool, default False
            Go on, with a warning, where rater, prompt, method, temperature or scale are not those that the map was
            fitted to. How such a judge errs is not known.
        **columns
            What the columns of your own files are, as for `calib.look`.

        Returns
        -------
        DataFrame
            A table of scores: `judge` is the judge's own, `score` the mean of what people say, `sd` and `entropy` how
            far apart that is, `p_1` ... the chance of each of their values, `conf_low` and `conf_high` the interval of
            the map at this score (not of what a single person says), `fold` the fold whose labels the map did not see,
            `calibration` the first digits of the map's id. NaN where an input is missing.
        """
        check.check_types(Calibration.apply, {"allow_stale": allow_stale})
        own_columns: Any = columns
        files = resolve_inputs(scores, None, own_columns, names=("scores",), needs=("judge",), any_scale=True)
        # a scale that was guessed of other items says nothing: they are read on the scale of the map
        table = scores_in(files.scores.assign(scale="") if files.guessed else files.scores, "scores")
        if table.frame.empty:
            raise TableError("the scores have no rows.")
        parts, without_map = [], []
        kinds = [str(fit.record["summary"]["map"]["kind"]) for fit in self]
        for kind in dict.fromkeys(kinds):
            maps = [fit for fit, its_kind in zip(self, kinds, strict=True) if its_kind == kind]
            slices = [rows for _, rows in table.slices()]
            if kind == "raters":  # of several judges read together, their mean for each map
                slices = []
                for fit in maps:
                    first, *others = inputs_in(fit.record)
                    criteria, raters = table.frame["criterion"].astype(str), table.frame["rater"].astype(str)
                    read_by = raters.isin({one.who.rater for one in others})
                    mine = table.only((criteria == first.who.criterion) & read_by)
                    slices += [judges_of(mine, kind).frame] * bool(len(mine.frame))
            for rows, of_segment in _segments(slices, maps):
                nearest = _nearest(of_segment, rows)
                if nearest is None:
                    without_map.append(str(rows["criterion"].iloc[0]))
                    continue
                x, inputs = map_inputs(rows, table, kind, inputs_in(nearest.record))
                # a map is about the judge that it was fitted to, asked in the same way
                differs = []
                for had, has in zip(inputs_in(nearest.record), inputs, strict=True):
                    which = f" (input {had.who.criterion}, {had.who.rater})" if len(inputs) > 1 else ""
                    differs += [text + which for text in unlike(had, has)]
                changes = "; ".join(dict.fromkeys(differs))
                if differs and not allow_stale:
                    raise TableError(
                        f"{words(label_of(rows))}: the scores must be of the judge that was calibrated, but {changes}. "
                        "Calibrate this judge with labels of its own; allow_stale=True goes on all the same."
                    )
                if differs:
                    check.warn(f"stale: {words(label_of(rows))}: {changes}; how this judge errs is not known")
                parts.append(_applied(nearest, rows, x, annotator))
        if not parts and not without_map:
            segments = ", ".join(dict.fromkeys(repr(_segment_of(one)) for one in self))
            raise TableError(f"the scores must be of a part that was calibrated ({segments}), but none is.")
        if not parts:
            there = ", ".join(repr(str(name)) for name in table.frame["criterion"].unique())
            own = ", ".join(dict.fromkeys(repr(inputs_in(one.record)[0].who.criterion) for one in self))
            raise TableError(f"the scores must be of a criterion that was calibrated ({own}), but are of {there}.")
        if without_map:
            names = ", ".join(map(repr, dict.fromkeys(without_map)))
            check.warn(f"not_calibrated: no map is of {names}; these scores are left out")
        return check_scores(pd.concat(parts, ignore_index=True))

    def at(self, *scores: float, annotator: Any = None) -> pd.DataFrame:
        """What these scores of the judge mean for an item of a document that no label is of.

        A row for each map and score, with the columns that `apply` gives; of maps that read one score.

        Examples
        --------
        >>> import calib
        >>> files = {"judge": [1, 2, 3, 4] * 6, "people": [1, 1, 2, 4, 1, 2, 2, 3, 2, 1, 3, 4] * 2}
        >>> calib.calibrate(files, scale="1|2|3|4").at(1, 2.5)[["judge", "score", "sd", "p_1", "p_4"]].round(2)
           judge  score    sd   p_1   p_4
        0    1.0   1.26  0.52  0.77  0.01
        1    2.5   2.10  0.81  0.21  0.07
        """
        x = check.array(scores, "at")
        if x.ndim != 1 or not (len(x) and np.isfinite(x).all()):
            rule = "must be one or several finite numbers, each an argument such as in at(2, 3)"
            raise ArgumentError("at", rule, f"got {', '.join(map(repr, scores)) or 'none'}")
        parts = []
        for label, fit in zip(self.labels, self, strict=True):
            if len(fit.slopes) > 1:
                raise TableError(f"{words(label)}: the map reads {len(fit.slopes)} scores of an item: `apply` it.")
            who = {name: label[name] for name in ("criterion", "rater")} | {"judge": x}
            _warn_of_map(fit, who, x)
            parts.append(_columns_at(fit, x[:, None], np.full(len(x), -1), annotator).assign(**who))
        out = pd.concat(parts, ignore_index=True)
        first = ["criterion", "rater", "judge"]
        return out[[*first, *out.columns.difference(first, sort=False)]]

    def save(self, path: str | Path) -> Path:
        """Write the maps into a JSON file, with what they are bound to: judge, prompt, scale, labels; no texts.

        Items and groups stand in it as hashes. What `read` makes of it gives the same scores to the last digit.

        Examples
        --------
        >>> import calib
        >>> calibration = calib.calibrate({"judge": [1, 2, 3, 4] * 5, "people": [1, 3, 2, 4, 2] * 4}, scale="1|2|3|4")
        >>> path = calibration.save("/tmp/judge.calibration.json")
        >>> calib.Calibration.read(path).record["id"] == calibration.record["id"]
        True
        """
        return write_records([one.record for one in self], Path(path))

    @classmethod
    def read(cls, path: str | Path) -> Calibration:
        """The calibration of a file that `save` wrote; one that is damaged, edited or of a later calib is refused."""
        pairs = read_maps(Path(path))
        return cls(tuple(label for label, _ in pairs), tuple(fit for _, fit in pairs))


# --- the scores that a map reads --------------------------------------------------------------------------------------


def judges_and_labels(scores: Data, labels: Data, columns: Columns) -> tuple[Inputs, ValidatedTable, ValidatedTable]:
    """What a verb reads: its inputs, judges' scores (people are no judges of themselves), people's labels.

    Of scores that were calibrated before it warns.
    """
    files = resolve_inputs(scores, labels, columns, names=("scores", "labels"), any_scale=True)
    labelled, judges = scores_in(files.annotations, "labels"), scores_in(files.scores, "scores")
    people = {(label["criterion"], label["rater"]) for label, _ in labelled.slices()}
    own = [pair not in people for pair in zip(judges.frame["criterion"], judges.frame["rater"], strict=True)]
    if "calibration" in judges.frame and judges.frame["calibration"].notna().any():
        check.warn(
            "calibrated_again: these scores are calibrated already; labels that were used then say little now, and the "
            "folds of then are not those of now; give the judge's own scores"
        )
    return files, judges.only(own), labelled


def judges_of(table: ValidatedTable, kind: str) -> ValidatedTable:
    """The scores that are calibrated: of each judge, or of the mean of all of them."""
    return mean_of_raters(table) if kind == "raters" else table


def in_order(x: Floats, rows: pd.DataFrame, judged: Labelled) -> Floats:
    """The inputs of a slice in the order of the items beside their labels."""
    place = pd.Index(rows["item"].astype(object)).get_indexer(judged.frame["item"])
    return np.asarray(x[place])


def map_inputs(
    own: pd.DataFrame, table: ValidatedTable, kind: str, wanted: tuple[Input, ...] = ()
) -> tuple[Floats, tuple[Input, ...]]:
    """A slice of `judges_of` and what else is read for its items, (n, p): all there is, or what a map wants to have."""
    label, parts = label_of(own), []
    key = SliceKey.of(label)
    for other, rows in table.slices() if kind != "score" else ():
        who = SliceKey.of(other)
        same = (who.rater, who.method, who.temperature) == (key.rater, key.method, key.temperature)
        beside = same and who.criterion != key.criterion if kind == "criteria" else who.criterion == key.criterion
        if beside and len(rows):
            parts.append((str(who), rows))
    others = [rows for _, rows in sorted(parts, key=lambda pair: pair[0])]
    read = []
    for one in wanted[1:]:  # the slice that is, or is nearest to, what a map wants to have
        there = [rows for rows in others if str(rows["criterion"].iloc[0]) == one.who.criterion]
        if one.who.criterion == label["criterion"]:  # of several judges each is itself
            there = [rows for rows in there if str(rows["rater"].iloc[0]) == one.who.rater]
        if not there:
            lacks = f"those of {one.who.criterion!r} by {one.who.rater!r}"
            raise TableError(f"{words(label)}: the scores must hold all inputs of the calibration, but lack {lacks}.")
        differences = [len(unlike(one, Input.of(rows))) for rows in there]
        read.append(there[differences.index(min(differences))])
    if wanted:
        others = read
    elif kind == "criteria":  # of each other criterion the scores by the same prompt, or those by the only one
        by_criterion: dict[str, list[pd.DataFrame]] = {}
        for rows in others:
            by_criterion.setdefault(str(rows["criterion"].iloc[0]), []).append(rows)
        others = []
        for criterion, several in by_criterion.items():
            alike = [rows for rows in several if str(rows["prompt"].iloc[0]) == label["prompt"]]
            if len(several) > 1 and len(alike) != 1:
                prompts = ", ".join(repr(str(rows["prompt"].iloc[0])) for rows in several)
                raise TableError(
                    f"{words(label)}: inputs='criteria' must have one prompt for each other criterion, but "
                    f"{criterion!r} has {prompts}: keep one of them, or pool them (pool='prompt')."
                )
            others.append(several[0] if len(several) == 1 else alike[0])
    items = own["item"].astype(object)
    x = [rows.set_index(rows["item"].astype(object))["score"].reindex(items).to_numpy(float) for rows in others]
    return np.stack([own["score"].to_numpy(dtype=float), *x], axis=1), tuple(map(Input.of, (own, *others)))


def unlike(had: Input, has: Input) -> list[str]:
    """What differs between what a map was fitted to and what it is to be applied to.

    Where nobody said the scale of the scores they must lie on the map's.
    """
    pairs = [(name, getattr(had.who, name), getattr(has.who, name)) for name in ("rater", "prompt", "method")]
    differs = [f"{name} was {was!r} and is {now!r}" for name, was, now in pairs if was != now]
    if had.who.temperature != has.who.temperature:
        was, now = ("not known" if t is None else f"{t:g}" for t in (had.who.temperature, has.who.temperature))
        differs.append(f"temperature was {was} and is {now}")
    if had.scale and has.scale:
        return differs + [f"scale was {had.scale!r} and is {has.scale!r}"] * (had.scale != has.scale)
    width, ends = had.high - had.low, parse_scale(had.scale)
    low, high = (ends.low, ends.high) if ends is not None else (had.low - width, had.high + width)
    if has.low < low or has.high > high:
        differs.append(f"scores were {had.low:g} to {had.high:g} and are {has.low:g} to {has.high:g}")
    return differs


# --- which map, and its scores ----------------------------------------------------------------------------------------


def _segments(
    slices: list[pd.DataFrame], maps: list[CalibrationMap]
) -> Iterator[tuple[pd.DataFrame, list[CalibrationMap]]]:
    """Scores beside the maps that may be theirs: of maps by a column those of the same value."""
    by = maps[0].record["summary"]["map"].get("by")
    for rows in slices:
        for value, part in parts_of(rows, by):
            wanted = [*map(_plain, value.values())]
            own = [fit for fit in maps if not by or [_segment_of(fit)] == wanted]
            if own:
                yield part, own
            else:
                check.warn(f"not_calibrated: no map is of {by} {wanted[0]!r}; these scores are left out")


def _segment_of(fit: CalibrationMap) -> str:
    """The value of its column that a map is about."""
    held = fit.record["summary"]["map"]
    return _plain(dict(held["label"])[held["by"]])


def _plain(value: Any) -> str:
    """A value as a text, the same for 0 and 0.0: whole numbers beside a blank are floats."""
    return f"{value:.17g}" if isinstance(value, int | float | np.number) and not isinstance(value, bool) else str(value)


def _nearest(maps: list[CalibrationMap], rows: pd.DataFrame) -> CalibrationMap | None:
    """The single map of the criterion that differs in fewest things from what some scores are; None without any."""
    has, pairs = Input.of(rows), [(inputs_in(one.record)[0], one) for one in maps]
    pairs = [(had, one) for had, one in pairs if had.who.criterion == has.who.criterion]
    far = [len(unlike(had, has)) for had, _ in pairs]
    near = [pair for n, pair in zip(far, pairs, strict=True) if n == min(far)]
    if len(near) > 1:
        raters = ", ".join(dict.fromkeys(repr(had.who.rater) for had, _ in near))
        raise TableError(
            f"{words(label_of(rows))}: several maps are as near to these scores (of {raters}): take one first, such as "
            "calibration[name].apply(...)."
        )
    return near[0][1] if near else None


def _applied(fit: CalibrationMap, rows: pd.DataFrame, x: Floats, annotator: Any) -> pd.DataFrame:
    """The scores of one slice on people's scale."""
    label = label_of(rows)
    _warn_of_map(fit, label, x[:, 0])
    if x.shape[1] > 1 and (n := int((np.isnan(x).any(axis=1) & ~np.isnan(x[:, 0])).sum())):
        check.warn(f"inputs_missing: {words(label)}: {n} of {len(x)} items lack an input and have no calibrated score")
    # the fold of each item's document; -1 where no label of it was used
    held = fit.record["summary"]["map"]
    folds, name = held["folds"], held["groups"]
    units = rows["item"]
    if name is not None and name in rows and rows[name].notna().all():
        units = rows[name]
    elif name is not None:  # documents are not known here: what was labelled is
        folds = {pair["item"]: folds[pair["group"]] for pair in fit.record["pairs"] if pair["group"] in folds}
        check.warn(
            f"no_groups: the calibration has its folds by {name!r}, which these scores do not have; only items that "
            "were labelled themselves are cross-fitted"
        )
    code, names = pd.factorize(units.astype(object))
    fold = np.array([folds.get(sha(one), -1) for one in names], dtype=np.intp)[code]
    # only distinct inputs and folds are worked out
    values, place = np.unique(x[:, 0] if x.shape[1] == 1 else x, axis=0, return_inverse=True)
    n_folds = int(fold.max(initial=0)) + 2
    both, row = np.unique(place.ravel() * n_folds + fold + 1, return_inverse=True)
    at = values.reshape(-1, x.shape[1])[both // n_folds]
    columns = _columns_at(fit, at, both % n_folds - 1, annotator).iloc[row].set_axis(rows.index)
    kept = rows.drop(columns=[name for name in rows if name in _OWN_COLUMNS or name in columns])
    return kept.assign(
        **columns,
        rater=f"{rows['rater'].iloc[0]}{CALIBRATED}",
        scale=scale_text(fit.levels),
        judge=x[:, 0],
        fold=pd.array(np.where(fold >= 0, fold, np.nan), dtype="Int64"),  # whole in a CSV, too
        calibration=fit.record["id"].removeprefix("sha256:")[:12],
    )


def _columns_at(fit: CalibrationMap, at: Floats, fold: Codes, annotator: Any) -> pd.DataFrame:
    """What distinct inputs mean: columns of scores."""
    p = fit.predict(at, fold=fold, annotator=annotator)
    mean, whole = p @ fit.levels, np.asarray(np.isfinite(p[:, 0]))
    low, high = fit.band(at, mean, annotator=annotator)
    shares = dict(zip([f"p_{text}" for text in scale_text(fit.levels).split("|")], p.T, strict=True))
    columns = {
        "score": np.clip(mean, fit.levels[0], fit.levels[-1]), "entropy": stats.entropy(p),
        "sd": np.sqrt(np.maximum(p @ fit.levels**2 - mean**2, 0.0)),
        "mode": fit.levels[np.where(whole[:, None], p, 0.0).argmax(axis=1)], "conf_low": low, "conf_high": high,
    }  # fmt: skip
    frame = pd.DataFrame(columns | shares)
    frame.loc[~whole] = np.nan
    return frame


def _warn_of_map(fit: CalibrationMap, label: dict[str, Any], x: Floats) -> None:
    """Warn of a map that shows no skill, and of scores beyond those that it has seen, by more than a hair."""
    had, about = inputs_in(fit.record)[0], words({name: value for name, value in label.items() if name != "judge"})
    if fit.without_skill:
        shows = "these labels do not show that the judge predicts people's labels"
        check.warn(f"no_skill: {about}: {fit.skill_words}; {shows}")
    hair = 1e-9 * max(1.0, abs(had.low), abs(had.high))
    if n := int(((x < had.low - hair) | (x > had.high + hair)).sum()):
        span = f"{short(had.low)} to {short(had.high)}"
        check.warn(f"beyond_range: {about}: {n} of {len(x)} scores lie beyond those that the map has seen, {span}")


# --- its own forecasts ------------------------------------------------------------------------------------------------


def kept_forecasts(
    calibration: Calibration, labels: pd.DataFrame | None
) -> tuple[pd.DataFrame, pd.DataFrame, tuple[str, ...]]:
    """Forecasts of the items that a calibration was fitted to, their labels, and what to mind of these.

    Each labelled item is forecast by the map that has not seen its fold. The calibration keeps hashes of items, which
    `labels` name, and of each item the mean label, which does where there are none.
    """
    forecasts, means = [], []
    for label, fit in zip(calibration.labels, calibration, strict=True):
        if len(fit.slopes) > 1:
            raise TableError(
                f"{words(label)}: the calibration must read one score, but it reads {len(fit.slopes)}, which it does "
                "not keep; judge what it makes of scores: calib.forecast_quality(calibration.apply(scores), labels)."
            )
        pairs, folds = pd.DataFrame(fit.record["pairs"]), fit.record["summary"]["map"]["folds"]
        unit = pairs["group"].where(pairs["group"].notna(), pairs["item"])
        fold = unit.map(folds).fillna(-1).astype(int).to_numpy()
        p = fit.predict(pairs["f"].to_numpy(dtype=float), fold=fold)
        scale, who = scale_text(fit.levels), SliceKey.of(label).label
        shared = pd.DataFrame({"item": pairs["item"], "group": unit, "system": pairs["system"], "scale": scale})
        shared = shared[[name for name in shared if shared[name].notna().all()]]
        chances = {f"p_{text}": column for text, column in zip(scale.split("|"), p.T, strict=True)}
        rater = f"{who['rater']}{CALIBRATED}"
        forecasts.append(shared.assign(**who | {"rater": rater}, score=p @ fit.levels, fold=fold, **chances))
        means.append(shared.assign(criterion=who["criterion"], rater="people", method="human", score=pairs["y"]))
    own = pd.concat(forecasts, ignore_index=True)
    if labels is None:
        several = any(fit.n_labels > fit.n for fit in calibration)
        return check_scores(own), check_scores(pd.concat(means, ignore_index=True)), (_MEAN_LABELS,) * several
    names = {sha(item): item for item in labels["item"].unique()}
    if not own["item"].isin(names).any():
        raise TableError(
            "the labels must be of items that the calibration was fitted to, but none is; of other items judge what it "
            "makes of their scores: calib.forecast_quality(calibration.apply(scores), labels)."
        )
    return check_scores(own.assign(item=own["item"].map(lambda item: names.get(item, item)))), labels, ()
