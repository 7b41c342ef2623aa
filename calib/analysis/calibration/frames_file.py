"""What a calibration is bound to, as its file has it: judge, prompt, scale, labels, and the map; no texts."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from calib import stats
from calib._version import __version__
from calib.analysis.calibration.frames_inputs import Input
from calib.analysis.calibration.ordered_logit import sha
from calib.core.check import ArgumentError
from calib.core.text import printable
from calib.stats import CalibrationMap
from calib.table import TableError
from calib.table.labelled import Labelled, with_warnings
from calib.table.pairs import DESIGN, chosen_in, labels_in
from calib.table.results import words
from calib.table.validate import SliceKey, renamed_errors

ONE, SEVERAL = "calib/calibration/v1", "calib/calibrations/v1"
_ARRAYS = ("levels", "thresholds", "slopes", "fold_thresholds", "fold_slopes", "resampled_thresholds",
           "resampled_slopes", "x", "counts", "fold_shifts", "resampled_shifts")  # fmt: skip
_NUMBERS = ("own_only", "ridge", "pseudo", "n", "n_labels", "n_groups", "n_folds", "n_missing", "confidence_level",
            "tau")  # fmt: skip
_SETTINGS = ("model", "method", "draws", "temperature", "top_logprobs", "max_tokens", "seed", "noise_floor",
             "continuation")  # fmt: skip
_METHODS = ("sample", "logprob", "chain")  # that the file knows


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """What a record is made of, beside the map."""

    judged: Labelled
    inputs: tuple[Input, ...]
    kind: str
    groups: Any  # of each row of `judged.frame`; None where every item is on its own
    group_column: str | None
    people: Any  # their labels one by one, as they came
    prompt: Sequence[Any] = ()
    judge: Any = None

    @property
    def units(self) -> Any:
        """What is independent: the groups, or the items where there are none."""
        return self.judged.frame["item"].to_numpy() if self.groups is None else self.groups


def with_record(bound: Bound, x: Any, options: dict[str, Any]) -> tuple[dict[str, Any], stats.CalibrationMap]:
    """One map, what it is about, and its record."""
    judged, labels = bound.judged, bound.judged.labels
    row = labels["row"].to_numpy()
    persons = None
    if options["annotators"]:
        if labels["annotator"].nunique() < 2:
            rule = "must hold the labels of each of several annotators where {0} is True"
            alone = f"has those of {labels['annotator'].iloc[0]!r} alone"
            raise ArgumentError("gold", rule, alone, mentions=("annotators",), about=words(judged.label))
        persons = labels["annotator"].astype(str).to_numpy()
    with renamed_errors(judged.label, y="gold", x="scores"):
        fit = stats.calibration_map(
            x[row],
            labels["y"],
            levels=judged.levels,
            groups=np.asarray(bound.units, dtype=object)[row],
            weights=labels["weight"],
            **options | {"annotators": persons},
        )
    n_labels = int(labels.groupby(["row", "annotator"]).ngroups)
    fit = with_warnings(replace(fit, n_labels=n_labels), judged.warnings)
    counts = {"n_unmatched": judged.n_unmatched, "n_unread": int(judged.frame["x"].isna().sum())}
    about = replace(bound, judged=replace(judged, label=judged.label | counts))
    return about.judged.label, replace(fit, record=_record_of(fit, about))


def _record_of(fit: CalibrationMap, bound: Bound) -> dict[str, Any]:
    """The artifact of one map, with its id."""
    frame, labels, who = bound.judged.frame, bound.judged.labels, bound.inputs[0].who
    weight = np.bincount(labels["row"], labels["weight"], minlength=len(frame))
    total = np.bincount(labels["row"], labels["weight"] * labels["y"], minlength=len(frame))
    mean = total / np.where(weight > 0, weight, np.nan)
    unit = None if bound.groups is None else [sha(group) for group in bound.groups]
    pairs = frame.assign(mean=mean, unit=unit)[(weight > 0) & frame["x"].notna()]
    builds = []
    if labels_in(pairs, "system") is not None:
        for name, rows in pairs.groupby("system", sort=True):
            # how far people are above the judge on the outputs of one system, with the error of that
            gap = (rows["mean"] - rows["x"].astype(float)).to_numpy()
            error = float(np.std(gap, ddof=1) / math.sqrt(len(gap))) if len(gap) > 1 else None
            builds.append({"system": str(name), "n": len(rows), "bias": float(gap.mean()), "se": error})
    prompts = [one.sha256 for one in bound.prompt if one.id == who.prompt]
    content = {
        "schema": ONE,
        "created": str(datetime.now(UTC).date()),
        "calib": __version__,
        "judge": _judge_of(bound),
        "prompt": {
            "criterion": who.criterion,
            "id": who.prompt,
            "sha256": prompts[0] if prompts else sha(who.prompt).removeprefix("sha256:"),
            "known_by": "all that is sent but the items" if prompts else "the table: the id of the prompt",
        },
        "scale": {"judge": bound.inputs[0].scale, "human": scale_text(fit.levels)},
        "labels": _labels_of(fit, bound),
        "builds": builds,
        "summary": _summary_of(pairs, frame["x"], builds) | {"map": _map_of(fit, bound)},
        "pairs": [_pair_of(row) for row in pairs.to_dict("records")],
        "valid": {"days": 90, "uses": 50},
    }
    plain: dict[str, Any] = json.loads(_canonical(content))
    return plain | {"id": id_of(plain)}


def id_of(record: Mapping[str, Any]) -> str:
    """The hash of what a record says, whenever it was made."""
    content = {name: value for name, value in record.items() if name not in ("id", "created")}
    return f"sha256:{hashlib.sha256(_canonical(content)).hexdigest()}"


def _canonical(value: Any) -> bytes:
    def plain(one: Any) -> Any:
        """Numbers and arrays of numpy as Python has them."""
        if isinstance(one, np.ndarray | np.generic):
            return one.tolist()
        raise TypeError(f"{type(one).__name__} cannot be written as JSON")

    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, default=plain).encode()


def scale_text(levels: Any) -> str:
    """A scale as the tables write it."""
    return "|".join(f"{level:.17g}" if float(f"{level:g}") != level else f"{level:g}" for level in levels)


def _judge_of(bound: Bound) -> dict[str, Any]:
    who, judge = bound.inputs[0].who, bound.judge
    draws = bound.judged.frame.get("n", pd.Series([1])).astype(float).max()
    settings = {"rater": who.rater, "method": who.method, "temperature": who.temperature}
    if judge is not None:
        settings = {name: getattr(judge, name) for name in _SETTINGS}
    return {
        "model": judge.model if judge is not None else who.rater,
        "answered_as": [],
        "fingerprints": [],
        "endpoint": None,
        "method": who.method if who.method in _METHODS else "sample",
        "temperature": who.temperature,
        "draws": max(1, int(draws)) if draws >= 1 else 1,
        "settings_sha256": hashlib.sha256(_canonical(settings)).hexdigest(),
        "known_by": "settings" if judge is not None else "the table: rater, method, temperature",
        "read_by": who.method,
    }


def _labels_of(fit: CalibrationMap, bound: Bound) -> dict[str, Any]:
    """How many labels, how people agree, how the items were drawn, and when; today, where no times are known."""
    frame, labels, people = bound.judged.frame, bound.judged.labels, bound.people
    first = last = str(datetime.now(UTC).date())
    if isinstance(people, pd.DataFrame) and "time" in people:
        times = people.loc[people["criterion"].astype(str) == bound.inputs[0].who.criterion, "time"]
        when = pd.to_datetime(times, errors="coerce", utc=True, format="mixed").dropna()
        if len(when):
            first, last = str(when.min().date()), str(when.max().date())
    drawn = "unknown"
    if set(DESIGN) <= set(frame) and frame["design"].notna().any():
        labelled = frame[frame["y"].notna()]
        designs = set(labelled["design"].dropna().astype(str))
        if len(designs) == 1 and designs <= {"simple", "groups", "strata", "active"} and chosen_in(labelled).all():
            drawn = designs.pop()
    return {
        "n": fit.n,
        "n_groups": fit.n_groups,
        "raters": max(1, labels["annotator"].nunique()),
        "alpha": _alpha(labels),
        "drawn": drawn,
        "first": first,
        "last": last,
        "guideline_sha256": None,
    }


def _alpha(labels: pd.DataFrame) -> float | None:
    """Krippendorff's alpha between the annotators, of ordinal labels; None where there are no two on an item."""
    each = labels.assign(total=labels["y"] * labels["weight"]).groupby(["row", "annotator"])[["total", "weight"]].sum()
    table = (each["total"] / each["weight"]).unstack()  # noqa: PD010 - of a Series
    if table.shape[1] < 2 or not (table.notna().sum(axis=1) > 1).any():
        return None
    try:
        alpha = stats.krippendorff_alpha(table.to_numpy(), metric="ordinal").estimate
    except ValueError:
        return None
    return float(alpha) if math.isfinite(alpha) else None


def _summary_of(pairs: pd.DataFrame, scores: pd.Series, builds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """People less the judge: mean and spread; how the two go together; how the judge's scores lie."""
    y, x = pairs["mean"].to_numpy(float), pairs["x"].to_numpy(float)
    gap, several = y - x, len(y) > 1
    varies = several and np.ptp(x) > 0
    both = varies and np.ptp(y) > 0
    seen = scores.dropna().to_numpy(float)
    # spread of the builds' true biases: what is left when their errors are taken away
    measured = [(build["bias"], build["se"]) for build in builds if build["se"] is not None]
    between = None
    if len(measured) > 1:
        bias, error = np.transpose(measured)
        between = float(math.sqrt(max(0.0, np.var(bias, ddof=1) - np.mean(error**2))))
    return {
        "bias": float(gap.mean()),
        "sd_error": float(gap.std(ddof=1)) if several else 0.0,
        "r": float(np.corrcoef(x, y)[0, 1]) if both else None,
        "slope": float(np.cov(x, y)[0, 1] / x.var(ddof=1)) if varies else None,
        "between_builds_sd": between,
        "judge_mean": float(seen.mean()),
        "judge_sd": float(seen.std(ddof=1)) if len(seen) > 1 else 0.0,
        "judge_deciles": np.quantile(seen, np.arange(1, 10) / 10).tolist(),
    }


def _pair_of(row: Mapping[str, Any]) -> dict[str, Any]:
    pair: dict[str, Any] = {"item": sha(row["item"]), "group": row["unit"], "y": row["mean"], "f": row["x"]}
    system = row.get("system")
    pair["system"] = None if system is None or pd.isna(system) else str(system)
    if pd.notna(row.get("inclusion")):
        pair |= {"inclusion": float(row["inclusion"]), "stratum": str(row["stratum"])}
    return pair


def _map_of(fit: CalibrationMap, bound: Bound) -> dict[str, Any]:
    """The map itself, what it reads, and which fold each labelled document is in."""
    units = np.asarray(bound.units, dtype=object)[bound.judged.labels["row"]]
    values = (value.item() if isinstance(value, np.generic) else value for value in bound.judged.label.values())
    label = [None if isinstance(value, float) and math.isnan(value) else value for value in values]
    return {name: getattr(fit, name) for name in (*_ARRAYS, *_NUMBERS)} | {
        "label": list(zip(bound.judged.label, label, strict=True)),
        "kind": bound.kind,
        "inputs": [one.who._asdict() | {"scale": one.scale, "low": one.low, "high": one.high} for one in bound.inputs],
        "groups": bound.group_column if bound.groups is not None else None,
        "folds": {sha(unit): fold for unit, fold in zip(units, fit.fold.tolist(), strict=True) if fold >= 0},
        "shifts": [[sha(one.annotator), one.shift, one.std_error, one.n] for one in fit.shifts],
        "forecasters": fit.forecasters,
        "warnings": fit.warnings,
    }


def inputs_in(record: Mapping[str, Any]) -> tuple[Input, ...]:
    """What the map of a record reads."""
    return tuple(
        Input(SliceKey(*(one[name] for name in SliceKey._fields)), one["scale"], one["low"], one["high"])
        for one in record["summary"]["map"]["inputs"]
    )


def maps_in(path: Path) -> list[tuple[dict[str, Any], CalibrationMap]]:
    """The labels and the maps of a file, which hang together."""
    try:
        return [_map_in(record) for record in _records_in(path)]
    except TableError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise TableError(f"{path}: has a map that cannot be read: make it again with `calibrate`.") from None


def _map_in(record: Mapping[str, Any]) -> tuple[dict[str, Any], CalibrationMap]:
    """The label and the map of a record that was read, whose parts must have the sizes that belong to each other."""
    held = record["summary"]["map"]
    label = {name: math.nan if value is None else value for name, value in held["label"]}
    k, p, folds = len(held["levels"]), len(inputs_in(record)), len(held["fold_slopes"])
    arrays: dict[str, Any] = {name: np.asarray(held[name], dtype=float) for name in _ARRAYS}
    r, rows = len(arrays["resampled_slopes"]), len(arrays["x"])
    # of no resamples or persons a file has a plain []
    free = {"resampled_thresholds": (r, k - 1), "resampled_slopes": (r, p)}
    free |= {name: (len(held[name]), len(held["shifts"])) for name in ("fold_shifts", "resampled_shifts")}
    arrays |= {name: arrays[name].reshape(shape) for name, shape in free.items()}
    shapes = {"levels": (k,), "thresholds": (k - 1,), "slopes": (p,), "x": (rows, p), "counts": (rows, k)}
    shapes |= {"fold_thresholds": (folds, k - 1), "fold_slopes": (folds, p)}
    sized = all(arrays[name].shape == shape for name, shape in shapes.items())
    finite = all(np.isfinite(arrays[name]).all() for name in (*shapes, "resampled_thresholds", "resampled_slopes"))
    if not (sized and finite and folds and rows and k > 1 and (np.diff(arrays["levels"]) > 0).all()):
        raise ValueError("the parts of the map do not hang together")
    numbers: dict[str, Any] = {name: held[name] for name in _NUMBERS}
    return label, CalibrationMap(
        **arrays,
        **numbers,
        shifts=tuple(stats.Shift(*one) for one in held["shifts"]),
        forecasters=tuple(stats.Forecaster(*one) for one in held["forecasters"]),
        fold=np.empty(0, dtype=np.intp),
        record=record,
        warnings=tuple(held["warnings"]),
    )


def written(records: Sequence[Mapping[str, Any]], path: Path) -> Path:
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
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        return False
    return isinstance(whole, dict) and str(whole.get("schema")).startswith("calib/calibration")


def _records_in(path: Path) -> list[dict[str, Any]]:
    """The records of a file, each of which says what its id says it does."""
    try:
        whole = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_number)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
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
            text = (
                f"{path}: is damaged or was edited: its id is {says[:19]}..., but what it says has {own[:19]}...; "
                "make it again with `calibrate`, or take it from where it came from."
            )
            raise TableError(printable(text))
        if not isinstance(record.get("summary"), dict) or "map" not in record["summary"]:
            text = f"{path}: has no `summary.map`, without which nothing can be calibrated: `calibrate` writes it."
            raise TableError(text)
    return records
