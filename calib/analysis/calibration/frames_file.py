"""The JSON file of a calibration: its maps and what they are bound to, judge, prompt, scale and labels; no texts."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from calib import stats
from calib._version import __version__
from calib.analysis.calibration.calibration_map import sha
from calib.core.check import ArgumentError
from calib.core.result import Interval
from calib.core.text import printable
from calib.stats import CalibrationMap
from calib.table import TableError
from calib.table.files import from_json, within_limit
from calib.table.labelled import Labelled
from calib.table.pairs import DESIGN, chosen_in, labels_in
from calib.table.validate import SliceKey

ONE, SEVERAL = "calib/calibration/v1", "calib/calibrations/v1"
_ARRAYS = ("levels", "thresholds", "slopes", "fold_thresholds", "fold_slopes", "resampled_thresholds",
           "resampled_slopes", "x", "counts", "fold_shifts", "resampled_shifts")  # fmt: skip
_NUMBERS = ("own_only", "ridge", "pseudo", "n", "n_labels", "n_groups", "n_folds", "n_missing", "confidence_level",
            "tau")  # fmt: skip
_SETTINGS = ("model", "method", "draws", "temperature", "top_logprobs", "max_tokens", "seed", "noise_floor",
             "continuation")  # fmt: skip
_METHODS = ("sample", "logprob", "chain")  # that the file knows


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a map: whose scores, their scale where it is known, the lowest and highest that were seen."""

    who: SliceKey
    scale: str
    low: float
    high: float

    @classmethod
    def of(cls, rows: pd.DataFrame) -> Input:
        """From the scores of one slice."""
        texts = sorted({str(text) for text in rows["scale"].dropna().unique()} - {""})
        low, high = float(rows["score"].min()), float(rows["score"].max())
        return cls(SliceKey.of(label_of(rows)), texts[0] if texts else "", low, high)


def label_of(rows: pd.DataFrame) -> dict[str, Any]:
    """Whose scores on what a slice holds."""
    return {name: rows[name].iloc[0] for name in SliceKey._fields}


def record_of(
    fit: CalibrationMap, judged: Labelled, *, inputs: Sequence[Input], kind: str, groups: Any,
    group_column: str | None, by: str | None, annotations: Any, prompts: Sequence[Any], judge: Any,
) -> dict[str, Any]:  # fmt: skip
    """The entry of one map in the file, with its id.

    `groups` are those of each row of `judged.frame`, None where every item is on its own; `annotations` are the labels
    one by one, as they came.
    """
    frame, labels, who = judged.frame, judged.labels, inputs[0].who
    weight = np.bincount(labels["row"], labels["weight"], minlength=len(frame))
    total = np.bincount(labels["row"], labels["weight"] * labels["y"], minlength=len(frame))
    mean = total / np.where(weight > 0, weight, np.nan)
    unit = None if groups is None else [sha(group) for group in groups]
    rows = frame.assign(mean=mean, unit=unit)[(weight > 0) & frame["x"].notna()]
    builds = []
    if labels_in(rows, "system") is not None:
        for name, part in rows.groupby("system", sort=True):
            # how far labels are above the judge on the outputs of one system, with the error of that
            gap = (part["mean"] - part["x"].astype(float)).to_numpy()
            error = float(np.std(gap, ddof=1) / math.sqrt(len(gap))) if len(gap) > 1 else None
            builds.append({"system": str(name), "n": len(part), "bias": float(gap.mean()), "se": error})
    pairs = []
    for row in rows.to_dict("records"):
        pair: dict[str, Any] = {"item": sha(row["item"]), "group": row["unit"], "y": row["mean"], "f": row["x"]}
        system = row.get("system")
        pair["system"] = None if system is None or pd.isna(system) else str(system)
        if pd.notna(row.get("inclusion")):
            pair |= {"inclusion": float(row["inclusion"]), "stratum": str(row["stratum"])}
        pairs.append(pair)
    units = np.asarray(frame["item"].to_numpy() if groups is None else groups, dtype=object)[labels["row"]]
    values = (value.item() if isinstance(value, np.generic) else value for value in judged.label.values())
    label = [None if isinstance(value, float) and math.isnan(value) else value for value in values]
    the_map = {name: getattr(fit, name) for name in (*_ARRAYS, *_NUMBERS)} | {
        "label": list(zip(judged.label, label, strict=True)), "kind": kind,
        "inputs": [one.who._asdict() | {"scale": one.scale, "low": one.low, "high": one.high} for one in inputs],
        "groups": group_column if groups is not None else None, "by": by,
        "skill": None if math.isnan(fit.skill) else [fit.skill, *fit.skill_interval],
        "folds": {sha(unit): fold for unit, fold in zip(units, fit.fold.tolist(), strict=True) if fold >= 0},
        "shifts": [[sha(one.annotator), one.shift, one.std_error, one.n] for one in fit.shifts],
        "forecasters": fit.forecasters, "warnings": fit.warnings,
    }  # fmt: skip
    draws = frame.get("n", pd.Series([1])).astype(float).max()
    settings = {"rater": who.rater, "method": who.method, "temperature": who.temperature}
    if judge is not None:
        settings = {name: getattr(judge, name) for name in _SETTINGS}
    hashes = [one.sha256 for one in prompts if one.id == who.prompt]
    content = {
        "schema": ONE, "created": str(datetime.now(UTC).date()), "calib": __version__,
        "judge": {"model": judge.model if judge is not None else who.rater, "answered_as": [], "fingerprints": [],
            "endpoint": None, "method": who.method if who.method in _METHODS else "sample",
            "temperature": who.temperature, "draws": max(1, int(draws)) if draws >= 1 else 1,
            "settings_sha256": hashlib.sha256(_canonical(settings)).hexdigest(),
            "known_by": "settings" if judge is not None else "the table: rater, method, temperature",
            "read_by": who.method},
        "prompt": {"criterion": who.criterion, "id": who.prompt,
            "sha256": hashes[0] if hashes else sha(who.prompt).removeprefix("sha256:"),
            "known_by": "all that is sent but the items" if hashes else "the table: the id of the prompt"},
        "scale": {"judge": inputs[0].scale, "human": scale_text(fit.levels)},
        "labels": _labels_record(fit, judged, annotations, who.criterion), "builds": builds,
        "summary": _summary_of(rows, frame["x"], builds) | {"map": the_map}, "pairs": pairs,
        "valid": {"days": 90, "uses": 50},
    }  # fmt: skip
    plain: dict[str, Any] = json.loads(_canonical(content))
    return plain | {"id": id_of(plain)}


def id_of(record: Mapping[str, Any]) -> str:
    """The hash of what a record says, whenever it was made."""
    content = {name: value for name, value in record.items() if name not in ("id", "created")}
    return f"sha256:{hashlib.sha256(_canonical(content)).hexdigest()}"


def _canonical(value: Any) -> bytes:
    """The same JSON for the same content; arrays and numbers of numpy as Python has them."""
    texts = {"sort_keys": True, "separators": (",", ":"), "allow_nan": False}
    return json.dumps(value, default=lambda one: one.tolist(), **texts).encode()  # type: ignore[arg-type]


def scale_text(levels: Any) -> str:
    """A scale as the tables write it."""
    return "|".join(f"{level:.17g}" if float(f"{level:g}") != level else f"{level:g}" for level in levels)


def _labels_record(fit: CalibrationMap, judged: Labelled, annotations: Any, criterion: str) -> dict[str, Any]:
    """How many labels, how people agree, how the items were drawn, and when; today, where no times are known.

    Agreement is Krippendorff's alpha of ordinal labels; None where no two annotators labelled an item.
    """
    frame, labels = judged.frame, judged.labels
    first = last = str(datetime.now(UTC).date())
    if isinstance(annotations, pd.DataFrame) and "time" in annotations:
        times = annotations.loc[annotations["criterion"].astype(str) == criterion, "time"]
        when = pd.to_datetime(times, errors="coerce", utc=True, format="mixed").dropna()
        if len(when):
            first, last = str(when.min().date()), str(when.max().date())
    drawn = "unknown"
    if set(DESIGN) <= set(frame) and frame["design"].notna().any():
        labelled = frame[frame["y"].notna()]
        designs = set(labelled["design"].dropna().astype(str))
        if len(designs) == 1 and designs <= {"simple", "groups", "strata", "active"} and chosen_in(labelled).all():
            drawn = designs.pop()
    each = labels.assign(total=labels["y"] * labels["weight"]).groupby(["row", "annotator"])[["total", "weight"]].sum()
    table = (each["total"] / each["weight"]).unstack()  # noqa: PD010 - of a Series
    alpha = math.nan
    if table.shape[1] > 1 and (table.notna().sum(axis=1) > 1).any():
        with suppress(ValueError):
            alpha = float(stats.krippendorff_alpha(table.to_numpy(), metric="ordinal").estimate)
    return {
        "n": fit.n, "n_groups": fit.n_groups, "raters": max(1, labels["annotator"].nunique()),
        "alpha": alpha if math.isfinite(alpha) else None, "drawn": drawn, "first": first, "last": last,
        "guideline_sha256": None,
    }  # fmt: skip


def _summary_of(rows: pd.DataFrame, scores: pd.Series, builds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Labels less scores: mean and spread; how the two go together; how the judge's scores lie."""
    y, x = rows["mean"].to_numpy(float), rows["x"].to_numpy(float)
    gap, several = y - x, len(y) > 1
    varies = several and np.ptp(x) > 0
    both, judge = varies and np.ptp(y) > 0, scores.dropna().to_numpy(float)
    # spread of the builds' true biases: what is left when their errors are taken away
    measured = [(build["bias"], build["se"]) for build in builds if build["se"] is not None]
    between = None
    if len(measured) > 1:
        bias, error = np.transpose(measured)
        between = float(math.sqrt(max(0.0, np.var(bias, ddof=1) - np.mean(error**2))))
    return {
        "bias": float(gap.mean()), "sd_error": float(gap.std(ddof=1)) if several else 0.0,
        "r": float(np.corrcoef(x, y)[0, 1]) if both else None,
        "slope": float(np.cov(x, y)[0, 1] / x.var(ddof=1)) if varies else None, "between_builds_sd": between,
        "judge_mean": float(judge.mean()), "judge_sd": float(judge.std(ddof=1)) if len(judge) > 1 else 0.0,
        "judge_deciles": np.quantile(judge, np.arange(1, 10) / 10).tolist(),
    }  # fmt: skip


def inputs_in(record: Mapping[str, Any]) -> tuple[Input, ...]:
    """The inputs of the map of a record."""
    return tuple(
        Input(SliceKey(*(one[name] for name in SliceKey._fields)), one["scale"], one["low"], one["high"])
        for one in record["summary"]["map"]["inputs"]
    )


def read_maps(path: Path) -> list[tuple[dict[str, Any], CalibrationMap]]:
    """The labels and the maps of a file, whose parts must have the sizes that belong to each other."""
    maps = []
    for record in _records_in(path):
        unreadable = TableError(f"{path}: has a map that cannot be read: make it again with `calibrate`.")
        try:
            held = record["summary"]["map"]
            label = {name: math.nan if value is None else value for name, value in held["label"]}
            skill, *ends = held.get("skill") or (math.nan,) * 3
            k, p, folds = len(held["levels"]), len(inputs_in(record)), len(held["fold_slopes"])
            arrays: dict[str, Any] = {name: np.asarray(held[name], dtype=float) for name in _ARRAYS}
            r, rows = len(arrays["resampled_slopes"]), len(arrays["x"])
            # without resamples or persons a file has an empty list
            free = {"resampled_thresholds": (r, k - 1), "resampled_slopes": (r, p)}
            free |= {name: (len(held[name]), len(held["shifts"])) for name in ("fold_shifts", "resampled_shifts")}
            arrays |= {name: arrays[name].reshape(shape) for name, shape in free.items()}
            shapes = {"levels": (k,), "thresholds": (k - 1,), "slopes": (p,), "x": (rows, p), "counts": (rows, k)}
            shapes |= {"fold_thresholds": (folds, k - 1), "fold_slopes": (folds, p)}
            sized = all(arrays[name].shape == shape for name, shape in shapes.items())
            numbers = (*shapes, "resampled_thresholds", "resampled_slopes")
            finite = all(np.isfinite(arrays[one]).all() for one in numbers)
            whole = sized and finite and folds and rows and k > 1 and (np.diff(arrays["levels"]) > 0).all()
            fit = CalibrationMap(
                **arrays, **{name: held[name] for name in _NUMBERS},
                shifts=tuple(stats.Shift(*one) for one in held["shifts"]),
                forecasters=tuple(stats.Forecaster(*one) for one in held["forecasters"]),
                fold=np.empty(0, dtype=np.intp), skill=float(skill), skill_interval=Interval(*map(float, ends)),
                record=record, warnings=tuple(held["warnings"]),
            )  # fmt: skip
        except (KeyError, TypeError, ValueError, IndexError, AttributeError):
            raise unreadable from None
        if not whole:
            raise unreadable
        maps.append((label, fit))
    return maps


def write_records(records: Sequence[Mapping[str, Any]], path: Path) -> Path:
    """One record, or a list of several, as JSON."""
    if not records:
        raise TableError("a calibration must hold a map at least to be saved, but has none.")
    if path.is_dir():
        raise ArgumentError("path", "must be a file to write", f"{str(path)!r} is a folder")
    whole = records[0] if len(records) == 1 else {"schema": SEVERAL, "calibrations": list(records)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(whole, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return path


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


def is_calibration(path: Path) -> bool:
    """Whether a file says that it is a calibration."""
    if path.suffix != ".json" or not path.is_file():
        return False
    within_limit(path)
    try:
        whole = from_json(path.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return isinstance(whole, dict) and str(whole.get("schema")).startswith("calib/calibration")


def _records_in(path: Path) -> list[dict[str, Any]]:
    """The records of a file, each of which says what its id says it does."""
    within_limit(path)
    try:
        whole = from_json(path.read_text(encoding="utf-8"), parse_constant=_no_number)
    except ValueError as error:
        raise TableError(f"{path}: must be a calibration, as `.save` writes it, but is no JSON ({error}).") from None
    schema = whole.get("schema") if isinstance(whole, dict) else None
    if schema not in (ONE, SEVERAL):
        newer = isinstance(schema, str) and schema.startswith("calib/calibration")
        hint = "; a later calib wrote it: update calib (pip install -U calib)" if newer else ""
        raise TableError(printable(f"{path}: must have the schema {ONE!r} or {SEVERAL!r}, but has {schema!r}{hint}."))
    records = [whole] if schema == ONE else whole.get("calibrations")
    if not isinstance(records, list) or not all(isinstance(one, dict) and one.get("schema") == ONE for one in records):
        raise TableError(f"{path}: `calibrations` must be a list of calibrations of schema {ONE!r}.")
    for record in records:
        own, says = id_of(record), str(record.get("id"))
        if own != says:
            differ = f"its id is {says[:19]}..., but what it says has {own[:19]}..."
            hint = "make it again with `calibrate`, or take it from where it came from."
            raise TableError(printable(f"{path}: is damaged or was edited: {differ}; {hint}"))
        if not isinstance(record.get("summary"), dict) or "map" not in record["summary"]:
            text = f"{path}: has no `summary.map`, without which nothing can be calibrated: `calibrate` writes it."
            raise TableError(text)
    return records
