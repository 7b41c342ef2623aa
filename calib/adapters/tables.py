"""Rows of a log as calib's tables: whose output each is, which repeats are draws, what the judge was asked."""

from __future__ import annotations

import hashlib
import math
import re
import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
import pandas as pd

from calib.adapters.row import Row, field
from calib.core.check import ArgumentError
from calib.core.text import printable
from calib.judge.replies.extract import RatingRow, extract, has_logprobs
from calib.judge.replies.reply import decode
from calib.judge.scale import Scale
from calib.table import TableError, check_items, check_ratings, check_scores

_TEXTS = ("source", "output", "reference")
_READING = ("item", "criterion", "rater", "prompt", "method", "temperature")
_NAMES = ("item", "system", "criterion", "rater", "prompt", "scale", "run")
_STRANGE = (AttributeError, LookupError, TypeError, ValueError, ArithmeticError, BadZipFile, zlib.error)
_VERSION = re.compile(r"\d\.\d")  # a name such as gpt-4.1
_MANY_PROMPTS = 0.5  # of the items: so many wordings are one that held texts of the items


class Asked(NamedTuple):
    """What the user says of a log; `system`, `item` and `rater` are dotted paths or names, None says nothing."""

    system: str | None
    item: str | None
    rater: str | None
    scale: str | Mapping[str, str] | None
    texts: bool


def readings_of(files: Iterable[tuple[Path, Iterator[Row]]], asked: Asked) -> pd.DataFrame:
    """All rows of the files in one frame, each with the id of its item and what tells it from others."""
    found, n_left = [], 0
    files = list(files)
    names = _names_of([path for path, _ in files], asked.system)
    for file, (path, rows) in enumerate(files):
        for row, reading in _of_file(path, rows, asked):
            if reading is None:
                n_left += 1  # the tool's own reading of this reply is a row of its own
            else:
                found.append({**reading, "file": file, "run": f"{names[file]}|{row.run}"})
    if n_left:
        told = f"{n_left} replies have token probabilities, which are read on a scale that you name by scale="
        warnings.warn(f"probabilities_unread: {told}.", stacklevel=3)
    if not found:
        raise TableError("the log holds no scores: nothing was graded, or the run was broken off.")
    # texts stay Python strings: they may hold what Arrow cannot, such as half a character
    numbers = ("score", "draw", "temperature")
    columns = {name: [row[name] for row in found] for name in found[0]}
    for name in _NAMES:
        columns[name] = [None if text is None else _whole_characters(str(text)) for text in columns[name]]
    frame = pd.DataFrame({name: pd.Series(c, dtype=None if name in numbers else object) for name, c in columns.items()})
    frame["rater"] = _raters(_words_are_paths(frame, asked))
    frame = _broken_as_whole(frame)
    frame["prompt"] = _prompts(frame)
    frame["scale"] = _scales(frame, asked.scale)
    _refuse_run_twice(frame)
    return _drawn(_outputs_told_apart(_ids(frame, named=asked.item is not None)))


def _whole_characters(text: str) -> str:
    """A name without half a character, which few programs can take."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _names_of(paths: list[Path], system: str | None) -> list[str]:
    """Names of the files, told apart where folders hold files of one name: else their rows were of one run."""
    names = [path.name for path in paths]
    if system == "file" and len({path.stem for path in paths}) < len(paths):
        twice = next(path.stem for path in paths if [other.stem for other in paths].count(path.stem) > 1)
        raise ArgumentError("system", "'file' must tell the files apart", f"two of them are called {twice!r}")
    places = [names[:at].count(name) + 1 for at, name in enumerate(names)]
    return [name if place == 1 else f"{name}#{place}" for name, place in zip(names, places, strict=True)]


def _of_file(path: Path, rows: Iterator[Row], asked: Asked) -> Iterator[tuple[Row, dict[str, Any] | None]]:
    """The readings of a file, None for one that needs a scale; what has another shape than the tool's is no log."""
    try:
        for row in rows:
            left = row.completion is not None and row.method == "logprob" and not _scale_said(row, asked.scale)
            yield row, None if left else _reading(row, path, asked)
    except (TableError, ArgumentError):
        raise
    except _STRANGE as error:
        told = f"has not the shape that its tool writes ({type(error).__name__}: {printable(str(error))[:80]})"
        raise TableError(f"{path.name}: {told}: is it of another version, or was it edited?") from None


def _reading(row: Row, path: Path, asked: Asked) -> dict[str, Any]:
    """A row with what the user said of the log looked up in it; of its texts only prints unless they are asked for."""
    record = {**row.record, "file": path.stem} if isinstance(row.record, dict) else row.record
    item, system = _said(asked.item, record, "item", must=True) or row.item, _said(asked.system, record, "system")
    if row.completion is not None:
        row = _read_completion(row, asked.scale)
    read = row.status == "ok" and (bool(row.shares) or math.isfinite(row.score))
    return {
        "item": item or _print("item", row.source, row.output),
        "group": _print("input", row.source) if row.source else None,
        "system": system or row.system or "",
        "criterion": row.criterion,
        "rater": row.rater if row.method == "human" else _said(asked.rater, record, "rater") or row.rater,
        "prompt": row.prompt or _template(row),
        "method": row.method,
        "temperature": row.temperature,
        "draw": row.draw if isinstance(row.draw, int) and row.draw >= 0 else -1,
        "scale": row.scale,
        "score": row.score if read else math.nan,
        "status": "unread" if row.status == "ok" and not read else row.status,
        "answer": "" if row.output is None else _print("", row.output),
        "shares": row.shares,
        **({name: getattr(row, name) or "" for name in (*_TEXTS, "reply")} if asked.texts else {}),
    }


def _scale_said(row: Row, said: str | Mapping[str, str] | None) -> str:
    return said if isinstance(said, str) else (said or {}).get(row.criterion) or row.scale


def _read_completion(row: Row, said: str | Mapping[str, str] | None) -> Row:
    """A chat completion as the scores that it shows, on the scale that the user says."""
    text = _scale_said(row, said)
    if not text:
        told = f"the log does not name that of {row.criterion!r}"
        raise ArgumentError("scale", "must be given to read token probabilities", told)
    if ".." in text:
        raise ArgumentError("scale", "must list its labels to read token probabilities, 1|2|3|4|5", f"got {text!r}")
    choice = decode(row.completion).choices[0]
    exact = has_logprobs(choice)
    found = extract(choice, Scale.parse(text), "label", logprobs=exact)
    return row._replace(shares=tuple(found.rows), status="ok", method="logprob" if exact else "sample")


def _said(said: str | None, record: Any, argument: str, *, must: bool = False) -> str | None:
    """What the user's path leads to; a word that is no field of the log is a name, where a name makes sense."""
    if said is None:
        return None
    found = field(record, said)
    if found is not None and not isinstance(found, dict | list) and found == found:  # noqa: PLR0124
        return str(found)
    named = _VERSION.search(said) and field(record, said.partition(".")[0]) is None
    if must or ("." in said and not named):
        there = ", ".join(map(str, record)) if isinstance(record, dict) else "none"
        raise ArgumentError(argument, f"must be a field of each row of the log (there are {there})", f"got {said!r}")
    return said


def _print(kind: str, *texts: str | None) -> str:
    digest = hashlib.sha256("\0".join(text or "" for text in texts).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{kind}-{digest[:12]}"


def _template(row: Row) -> str:
    """What was asked, without the item's own texts, as a short print; empty where the log does not keep it."""
    if not row.asked:
        return ""
    text, own = row.asked, {name: getattr(row, name) for name in _TEXTS}
    for name in sorted((name for name in own if own[name]), key=lambda name: -len(own[name])):
        text = text.replace(own[name].strip() or "\0", f"{{{name}}}")
    return _print(row.criterion, text)[: len(row.criterion) + 7]


# --- who and what -----------------------------------------------------------------------------------------------


def _words_are_paths(frame: pd.DataFrame, asked: Asked) -> pd.DataFrame:
    """A word that is a field of some rows is no name in the others: those do not say."""
    for name, said in (("rater", asked.rater), ("system", asked.system)):
        mute = (frame[name] == said) & (frame["method"] != "human")
        if said is None or not mute.any() or mute[frame["method"] != "human"].all():
            continue
        if name == "system":
            raise ArgumentError(name, "must be a field of each row of the log", f"{said!r} is one of some")
        frame[name] = frame[name].where(~mute, None)
    return frame


def _raters(frame: pd.DataFrame) -> pd.Series:
    """The judge of each row; a broken reply often lost its name, which the other rows of the criterion have."""
    known = frame[frame["rater"].notna()]
    one = {name: rows.iloc[0] for name, rows in known.groupby("criterion")["rater"] if len(set(rows)) == 1}
    raters = frame["rater"].where(frame["rater"].notna(), frame["criterion"].map(one))
    if raters.isna().any():
        row = frame[raters.isna()].iloc[0]
        told = f"the log ({row['run'].split('|')[0]}, criterion {row['criterion']!r}) does not name it"
        raise ArgumentError("rater", "must be given: the judge's name, or a field that holds it", told)
    return raters


def _prompts(frame: pd.DataFrame) -> pd.Series:
    """Names of what was asked; where nearly each item has its own, its texts could not be told from the rest."""
    prompts = frame["prompt"].astype(object)
    for criterion, rows in frame.groupby("criterion"):
        wordings, items = rows["prompt"].nunique(), rows["item"].nunique()
        if wordings > max(2.0, _MANY_PROMPTS * items):
            prompts[rows.index] = f"{criterion}-varies"
        elif rows.groupby(["rater", "method"])["prompt"].nunique().max() > 1:
            told = f"the judge was asked about {criterion!r} in {wordings} wordings: each is a prompt of its own."
            warnings.warn(f"prompts_differ: {told}", stacklevel=6)
    return prompts


def _broken_as_whole(frame: pd.DataFrame) -> pd.DataFrame:
    """Of a broken reply the log often lost what was asked and how: as of the others, where these agree."""
    whole, broken = frame[frame["status"] == "ok"], (frame["status"] != "ok").to_numpy()
    place = pd.MultiIndex.from_frame(frame[["criterion", "rater"]])
    for name in ("prompt", "method", "temperature"):
        known = whole.drop_duplicates(["criterion", "rater", name])
        one = known[~known.duplicated(["criterion", "rater"], keep=False)].set_index(["criterion", "rater"])[name]
        fit = broken & place.isin(one.index)
        frame[name] = frame[name].astype(object).where(~fit, one.reindex(place).to_numpy())
    return frame.astype({"temperature": float})


def _scales(frame: pd.DataFrame, said: str | Mapping[str, str] | None) -> pd.Series:
    """The scale of each row's criterion: what the user says, or else the one that the tool documents."""
    if isinstance(said, str):
        return pd.Series(said, index=frame.index)
    told = dict(said or {})
    if strangers := [name for name in told if name not in set(frame["criterion"])]:
        there = ", ".join(sorted(set(frame["criterion"])))
        raise ArgumentError("scale", f"must name criteria of the log ({there})", f"got {strangers[0]!r}")
    scales = frame["scale"].where(~frame["criterion"].isin(list(told)), frame["criterion"].map(told))
    for criterion, rows in scales.groupby(frame["criterion"]):
        broken = (rows == "") & (frame.loc[rows.index, "status"] != "ok")
        if len(set(rows[~broken])) == 1:
            scales[rows.index] = rows[~broken].iloc[0]
        elif len(set(rows)) > 1:
            both = " and ".join(map(repr, rows.unique()[:2]))
            raise TableError(f"criterion {criterion!r} has two scales, {both}: read the logs apart, or give scale=.")
    return scales


def _refuse_run_twice(frame: pd.DataFrame) -> None:
    """One run in two files, as tools write it in two forms, is no second measurement."""
    files = frame.drop_duplicates(["file", "run"])["run"].str.partition("|")
    twice = files[files[2].str.contains(r"\|.", regex=True)].duplicated(2, keep=False)  # where a run has an id
    if twice.any():
        names = " and ".join(files.loc[twice[twice].index, 0].head(2))
        raise TableError(f"{names} hold the same run: read one of them.")
    _refuse_two_forms(frame)


def _refuse_two_forms(frame: pd.DataFrame) -> None:
    """Files named alike but for the ending, with the same readings: not every form of a log names its run."""
    files = frame["run"].str.partition("|")[0]
    alike = files.drop_duplicates().groupby(files.map(lambda name: Path(name).stem))  # of one name: `_names_of`
    for names in ([one for one in names if "#" not in Path(one).suffix] for _, names in alike):
        held: dict[tuple[str, ...], str] = {}
        for name in names:
            rows = frame.loc[files == name, ["item", "system", "criterion", "rater", "status", "score"]].round(9)
            other = held.setdefault(tuple(sorted(map(repr, rows.itertuples(index=False, name=None)))), name)
            if other != name:
                raise TableError(f"{other} and {name} hold the same run: read one of them.")


# --- items ------------------------------------------------------------------------------------------------------


def _ids(frame: pd.DataFrame, *, named: bool) -> pd.DataFrame:
    """Ids that tell the outputs of systems apart: the tool's id of a question is that of its group."""
    inputs = frame.groupby(["item", "system"])["group"].nunique()
    if not named and (inputs > 1).any():
        which = inputs[inputs > 1].index[0][0]
        raise ArgumentError("item", "must name the field with the items' ids", f"the log's {which!r} is of two inputs")
    shared = frame.groupby("item")["system"].transform("nunique") > 1
    joined = [
        item if not system or (not several and (named or _holds(item, system))) else f"{item}-{system}"
        for item, system, several in zip(frame["item"], frame["system"], shared, strict=True)
    ]
    frame = frame.assign(group=frame["group"].fillna(frame["item"]), was=frame["item"], item=joined)
    sources = frame.drop_duplicates(["item", "was", "system"])
    if (merged := sources["item"].duplicated(keep=False)).any():
        told = f"{sources.loc[merged, 'item'].iloc[0]!r} is the id of two of the log's outputs"
        raise ArgumentError("item", "must name a field of ids that tell the outputs apart", told)
    return frame.drop(columns="was")


def _holds(item: str, system: str) -> bool:
    return re.search(rf"(?<![0-9A-Za-z]){re.escape(system)}(?![0-9A-Za-z])", item) is not None


def _outputs_told_apart(frame: pd.DataFrame) -> pd.DataFrame:
    """Repeats with the same output are draws of the judge; with another, they are items of the same group."""
    answers = frame[frame["answer"] != ""].drop_duplicates(["item", "answer"])
    several = answers.groupby("item")["answer"].transform("size") > 1
    if not several.any():
        return frame
    place = (answers.groupby("item").cumcount() + 1).astype(str)
    names = (answers["item"] + "#" + place)[several]
    if taken := set(names) & set(frame["item"]):
        told = f"{min(taken)!r} is an id of the log and would be that of a repeat"
        raise ArgumentError("item", "must name a field of ids without '#'", told)
    new = dict(zip(zip(answers["item"][several], answers["answer"][several], strict=True), names, strict=True))
    told = f"{answers['item'][several].nunique()} inputs were answered in {len(new)} ways"
    warnings.warn(f"repeated_outputs: {told}: each answer is an item, `id#k`, of its input's group.", stacklevel=5)
    key = zip(frame["item"], frame["answer"], strict=True)
    return frame.assign(item=[new.get(one, one[0]) for one in key])


def _drawn(frame: pd.DataFrame) -> pd.DataFrame:
    """Draws numbered: by the tool, or in the order of the rows; the same number twice is refused."""
    counted = frame.groupby([*_READING, "run"], dropna=False, sort=False).cumcount()
    frame = frame.assign(draw=np.where(frame["draw"] >= 0, frame["draw"], counted))
    again = frame.duplicated([*_READING, "run", "draw"])
    if again.any():
        row = frame[again].iloc[0]
        told = f"criterion {row['criterion']!r} of item {row['item']!r} by {row['rater']!r}, repeat {row['draw']}"
        raise TableError(f"{row['run'].split('|')[0]}: {told}, is there twice: does item= name each output?")
    return frame


# --- tables -----------------------------------------------------------------------------------------------------


def items_of(readings: pd.DataFrame) -> pd.DataFrame:
    """The table of items, in their first order, with texts where these were asked for."""
    names = [name for name in ("item", "source", "output", "reference", "group", "system") if name in readings]
    first = readings[names].replace("", np.nan).groupby("item", sort=False).first().reset_index()
    empty = [name for name in names if first[name].isna().all()]
    return check_items(first.drop(columns=empty).fillna(""))


def ratings_of(readings: pd.DataFrame) -> pd.DataFrame:
    """The table of ratings: one row per reading, or per score of its distribution where the log kept that."""
    drawn = [tuple(shares) or (RatingRow(math.nan, 1.0, "ok"),) for shares in readings["shares"]]
    lengths = [len(rows) for rows in drawn]
    frame = readings.loc[readings.index.repeat(lengths)].reset_index(drop=True)
    spread = pd.DataFrame([row for rows in drawn for row in rows], columns=RatingRow._fields)
    held = np.repeat([bool(shares) for shares in readings["shares"]], lengths)
    for name in ("score", "status"):
        frame[name] = spread[name].where(held, frame[name])
    frame = frame.assign(weight=spread["weight"], low=spread["low"], high=spread["high"])
    return check_ratings(frame.drop(columns=["group", "system", "answer", "shares", "file", *_TEXTS], errors="ignore"))


def scores_of(readings: pd.DataFrame, step: float) -> pd.DataFrame:
    """The table of scores, of logs that keep a judge's expectation and not what it is one of.

    Scores that are no multiples of the judge's `step` were weighted by token probabilities.
    """
    exact = (readings["score"] / step).sub((readings["score"] / step).round()).abs() > 1e-6
    weighted = exact.groupby([readings["criterion"], readings["rater"]]).transform("any")
    human = readings["method"] == "human"
    readings = readings.assign(method=np.where(human, "human", np.where(weighted, "logprob", "sample")))
    key = list(_READING)
    if readings.groupby(key, dropna=False)["run"].nunique().gt(1).any():
        raise TableError("two of the files hold scores of the same items: read each alone, or name systems by system=.")
    read = readings["status"] == "ok"
    readings = readings.assign(n=read.astype(int), n_unread=(~read).astype(int), order=(~read).astype(int))
    kept = {"score": "mean", "n": "sum", "n_unread": "sum", "scale": "first", "group": "first", "system": "first"}
    cells = readings.sort_values("order", kind="stable").groupby(key, dropna=False, sort=False)
    table = cells.agg({**kept, "status": "first", "run": "first"}).reset_index()
    place = {item: at for at, item in enumerate(readings["item"].drop_duplicates())}
    table = table.sort_values("item", key=lambda items: items.map(place), kind="stable").reset_index(drop=True)
    return check_scores(table.drop(columns=["system"] * bool((table["system"] == "").all())))
