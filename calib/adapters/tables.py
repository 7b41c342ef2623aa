"""Tables from the rows of a log: whose output each is, which repeats are draws, what the judge was asked."""

from __future__ import annotations

import hashlib
import math
import re
import shlex
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
import pandas as pd

from calib.adapters.messages import messages_text
from calib.adapters.row import Row, field, number_or_nan
from calib.core.check import ArgumentError
from calib.core.text import printable
from calib.inputs.cells import folded, known_order, loosely, word_values
from calib.judge.replies.extract import RatingRow, extract
from calib.judge.replies.reply import decode
from calib.judge.scale import Scale
from calib.table import SCHEMAS, TableError, check_items, check_ratings, check_scores, parse_scale, scale_words
from calib.table.messages import MessageError

_TEXTS = ("source", "output", "reference")
_NOT_RATINGS = ("group", "system", "answer", "shares", "file", "is_own", "reading", "about", "trace", "task", "trial")
_TAKEN = {name for schema in SCHEMAS.values() for name in schema}  # columns of calib's tables
_LONGEST_NOTE = 80  # characters of a sample's metadata; what is longer is a text
_READING = ("item", "criterion", "rater", "prompt", "method", "temperature")
_NAMES = ("item", "system", "criterion", "rater", "prompt", "scale", "run", "trace")
_WRONG_SHAPE = (AttributeError, LookupError, TypeError, ValueError, ArithmeticError, BadZipFile, zlib.error)
_VERSION = re.compile(r"\d\.\d")  # a name such as gpt-4.1
_MANY_PROMPTS = 0.5  # of the items: so many wordings are one that held texts of the items


class LogOptions(NamedTuple):
    """What the user says of a log; `system`, `item` and `rater` are dotted paths or names, None says nothing."""

    system: str | None = None
    item: str | None = None
    rater: str | None = None
    scale: str | Mapping[str, str] | None = None
    texts: bool = False
    tool: str = "auto"


def readings_of(files: Sequence[tuple[Path, Iterator[Row]]], options: LogOptions) -> pd.DataFrame:
    """All rows of the files in one frame, each with the id of its item and what tells it from others."""
    names, n_unread, readings, scale_of = list[str](), 0, [], options.scale
    words: dict[tuple[str, str], Counter[str]] = {}  # those that no scale names
    file_of: dict[str, str] = {}  # by the scores' ids
    no_conversations: dict[str, str] = {}  # by item, what is wrong with its messages
    for file, (path, rows) in enumerate(files):
        # told apart where folders hold files of one name: else their rows were of one run
        names.append(path.name)
        name = path.name if names.count(path.name) == 1 else f"{path.name}#{names.count(path.name)}"
        try:
            for row in _once_each(rows, name, file_of):
                scale = scale_of if isinstance(scale_of, str) else (scale_of or {}).get(row.criterion, row.scale)
                if row.completion is not None and row.method == "logprob" and not scale:
                    n_unread += 1  # the tool's own reading of this reply is a row of its own
                else:
                    reading = _table_reading(row, path, options, scale)
                    readings.append({**reading, "file": file, "run": f"{name}|{row.run}"})
                    if options.texts:
                        readings[-1]["messages"] = _conversation(row, reading["item"], no_conversations)
                    if isinstance(row.score, str) and reading["status"] == "unread":
                        words.setdefault((row.criterion, row.method), Counter())[row.score] += 1
        except (TableError, ArgumentError):
            raise
        except _WRONG_SHAPE as error:
            shape = f"has not the shape that its tool writes ({type(error).__name__}: {printable(str(error))[:80]})"
            raise TableError(f"{path.name}: {shape}: is it of another version, or was it edited?") from None
    if n_unread:
        message = f"{n_unread} replies have token probabilities, which are read on a scale that you name by scale="
        warnings.warn(f"probabilities_unread: {message}.", stacklevel=4)
    _warn_of_words(words, readings)
    if no_conversations:
        first, why = next(iter(no_conversations.items()))
        message = f"the messages of {len(no_conversations)} items are no conversation (first: {first!r}, {why})"
        warnings.warn(f"messages_unread: {printable(message)}.", stacklevel=3)
    if not readings:
        raise TableError("the log holds no scores: nothing was graded, or the run was broken off.")
    # texts stay Python strings: they may hold what Arrow cannot, such as half a character, which names do without
    columns = {name: [reading[name] for reading in readings] for name in readings[0]}
    for name in _NAMES:
        texts = [None if text is None else str(text) for text in columns[name]]
        columns[name] = [text and text.encode("utf-8", "replace").decode("utf-8") for text in texts]
    kinds = dict.fromkeys(("score", "draw", "temperature", "is_own", "reading"))
    frame = pd.DataFrame({name: pd.Series(cells, dtype=kinds.get(name, object)) for name, cells in columns.items()})
    frame = _with_raters_and_prompts(frame, options)
    frame["scale"] = _scales(frame, options.scale)
    _refuse_run_twice(frame)
    frame = _with_ids(frame, named=options.item is not None)
    frame = _on_scales(frame, options.scale)
    # draws by the tool's numbers, or in the order of the rows; the same number twice is refused
    cells = frame.groupby([*_READING, "run"], dropna=False, sort=False)
    numbers = frame["draw"] * (cells["reading"].transform("max") + 1) + frame["reading"]
    frame = frame.assign(draw=np.where(frame["draw"] >= 0, numbers, cells.cumcount()))
    again = frame[frame.duplicated([*_READING, "run", "draw"])]
    if len(again):
        row = again.iloc[0]
        which = f"criterion {row['criterion']!r} of item {row['item']!r} by {row['rater']!r}, repeat {row['draw']}"
        raise TableError(f"{row['run'].split('|')[0]}: {which}, is there twice: does item= name each output?")
    return frame


def _once_each(rows: Iterator[Row], name: str, file_of: dict[str, str]) -> Iterator[Row]:
    """The rows of a file; an id that was there before is refused, as two exports may hold one score."""
    for row in rows:
        if row.id is not None:
            if row.id in file_of:
                files = " and ".join(dict.fromkeys([file_of[row.id], name]))
                raise TableError(f"{files}: the score with the id {row.id!r} is there twice.")
            file_of[row.id] = name
        yield row


def _table_reading(row: Row, path: Path, options: LogOptions, scale: str) -> dict[str, Any]:
    """A row with what the user said of the log looked up in it; of its texts only digests unless they are wanted."""
    record = {**row.record, "file": path.stem} if isinstance(row.record, dict) else row.record
    item = _looked_up(options.item, record, "item", must=True) or row.item
    system = _looked_up(options.system, record, "system") or row.system
    if row.completion is not None:  # as the scores that it shows
        if not scale:
            problem = f"the log does not name that of {row.criterion!r}"
            raise ArgumentError("scale", "must be given to read token probabilities", problem)
        if ".." in scale:
            rule = "must list its labels to read token probabilities, 1|2|3|4|5"
            raise ArgumentError("scale", rule, f"got {scale!r}")
        choice = decode(row.completion).choices[0]
        exact = choice.has_logprobs
        shares = tuple(extract(choice, Scale.parse(scale), "label", row.criterion, logprobs=exact).rows)
        row = row._replace(shares=shares, status="ok", method="logprob" if exact else "sample")
    values = word_values(scale) if isinstance(row.score, str) or row.label else {}
    status, score = row.status, row.label if row.label and values else row.score
    if isinstance(score, str):  # a label, where the scale names words
        score = values[folded(score)][1] if folded(score) in values else math.nan if values else number_or_nan(score)
        status = "ok" if math.isfinite(score) else "unread"
    is_read = status == "ok" and (bool(row.shares) or math.isfinite(score))
    prompt, texts = row.question or "", {name: getattr(row, name) or "" for name in _TEXTS}
    is_own = row.is_check or row.method == "human"  # the log says who it was, and the user of the judge alone
    # what was asked, without the item's own texts, as a short digest; empty where the log does not keep it
    for name in sorted(filter(texts.get, texts), key=lambda name: -len(texts[name])):
        prompt = prompt.replace(texts[name].strip() or "\0", f"{{{name}}}")
    template = _hashed_id(row.criterion, prompt)[: len(row.criterion) + 7] if prompt else ""
    draw = row.draw if isinstance(row.draw, int) and row.draw >= 0 else -1
    return {  # the task is the tool's own id, before the system's name or the number of a repeat joins it
        "item": item or _hashed_id("item", row.source, row.output), "task": item or "", "trial": draw,
        "group": _hashed_id("input", row.task or row.source) if row.task or row.source else None,
        "system": system or "", "criterion": row.criterion,
        "rater": (not is_own and _looked_up(options.rater, record, "rater")) or row.rater, "is_own": is_own,
        "prompt": row.prompt or template, "method": row.method, "temperature": row.temperature, "draw": draw,
        "reading": row.reading, "scale": row.scale, "score": score if is_read else math.nan,
        "status": "unread" if status == "ok" and not is_read else status, "trace": row.trace,
        "answer": (row.trace or "") if row.output is None else _hashed_id("", row.output),
        "shares": row.shares, "about": row.about, **(texts | {"reply": row.reply or ""} if options.texts else {}),
    }  # fmt: skip


def _conversation(row: Row, item: str, wrong: dict[str, str]) -> str:
    """The conversation of a row as a cell, empty where it has none; what is wrong with one is noted."""
    if row.messages is None:
        return ""
    try:
        return messages_text(row.messages)
    except MessageError as error:
        wrong.setdefault(item, str(error))
        return ""


def _warn_of_words(words: Mapping[tuple[str, str], Counter[str]], readings: Sequence[dict[str, Any]]) -> None:
    """Say which words no scale names, and how to name them; but for replies without a score among those with one."""
    read = Counter((one["criterion"], one["method"]) for one in readings if one["status"] == "ok")
    for (criterion, method), each in words.items():
        if each.total() >= read[criterion, method]:
            first = ", ".join(f"{printable(word)[:20]!r}" for word, _ in each.most_common(4))
            written = {loosely(word): word for word in each}
            order = sorted(known_order(written).items(), key=itemgetter(1))
            scale = "|".join(written.get(word, word) for word, _ in order) or "worst|better|best"
            message = f"{each.total()} rows of {criterion!r} hold words that its scale does not name ({first})"
            shell = shlex.quote(f"{criterion}={scale}")
            how = f"name them worst first, scale={{{criterion!r}: {scale!r}}} (--scale {shell})"
            warnings.warn(f"words_unread: {message}: {how}.", stacklevel=5)


def _looked_up(path: str | None, record: Any, argument: str, *, must: bool = False) -> str | None:
    """What the user's path leads to; a word that is no field of the log is a name, where a name makes sense."""
    if path is None:
        return None
    value = field(record, path)
    if value is not None and not isinstance(value, dict | list) and value == value:  # noqa: PLR0124
        return str(value)
    named = _VERSION.search(path) and field(record, path.partition(".")[0]) is None
    if must or ("." in path and not named):
        there = ", ".join(map(str, record)) if isinstance(record, dict) else "none"
        raise ArgumentError(argument, f"must be a field of each row of the log (there are {there})", f"got {path!r}")
    return path


def _hashed_id(kind: str, *texts: str | None) -> str:
    digest = hashlib.sha256("\0".join(text or "" for text in texts).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{kind}-{digest[:12]}"


# --- who and what -----------------------------------------------------------------------------------------------


def _with_raters_and_prompts(frame: pd.DataFrame, options: LogOptions) -> pd.DataFrame:
    """The frame with the rater, prompt, method and temperature that broken replies lost, from other rows.

    Prompts that differ by nearly every item hold the items' own texts: they become one, "<criterion>-varies", and a
    warning says so.
    """
    # a word that is a field of some rows is no name in the others: those do not say
    for name, word in (("rater", options.rater), ("system", options.system)):
        mute = (frame[name] == word) & ~frame["is_own"]
        if word is None or not mute.any() or mute[~frame["is_own"]].all():
            continue
        if name == "system":
            raise ArgumentError(name, "must be a field of each row of the log", f"{word!r} is one of some")
        frame[name] = frame[name].where(~mute, None)
    named = frame[frame["rater"].notna() & ~frame["is_own"]]  # people and checks are no judge's
    one = {name: rows.iloc[0] for name, rows in named.groupby("criterion")["rater"] if len(set(rows)) == 1}
    raters = frame["rater"].where(frame["rater"].notna(), frame["criterion"].map(one))
    if raters.isna().any():
        row = frame[raters.isna()].iloc[0]
        problem = f"the log ({row['run'].split('|')[0]}, criterion {row['criterion']!r}) does not name it"
        raise ArgumentError("rater", "must be given: the judge's name, or a field that holds it", problem)
    frame = frame.assign(rater=raters)
    # of a broken reply the log often lost what was asked and how: as of the others, where these agree
    whole, broken = frame[frame["status"] == "ok"], (frame["status"] != "ok").to_numpy()
    place = pd.MultiIndex.from_frame(frame[["criterion", "rater"]])
    for name in ("prompt", "method", "temperature"):
        different = whole.drop_duplicates(["criterion", "rater", name])
        alike = different[~different.duplicated(["criterion", "rater"], keep=False)]
        alike = alike.set_index(["criterion", "rater"])[name]
        fit = broken & place.isin(alike.index)
        frame[name] = frame[name].astype(object).where(~fit, alike.reindex(place).to_numpy())
    prompts = frame["prompt"].astype(object)
    for criterion, rows in frame.groupby("criterion"):
        wordings, items = rows["prompt"].nunique(), rows["item"].nunique()
        if wordings > max(2.0, _MANY_PROMPTS * items):
            prompts[rows.index] = f"{criterion}-varies"
        elif rows.groupby(["rater", "method"])["prompt"].nunique().max() > 1:
            message = f"the judge was asked about {criterion!r} in {wordings} wordings: each is a prompt of its own."
            warnings.warn(f"prompts_differ: {message}", stacklevel=5)
    return frame.astype({"temperature": float}).assign(prompt=prompts)


def _scales(frame: pd.DataFrame, scale: str | Mapping[str, str] | None) -> pd.Series:
    """The scale of each row's criterion: what the user says, or else the one that the tool documents."""
    if isinstance(scale, str):
        return pd.Series(_in_numbers(scale), index=frame.index)
    scale_of = {name: _in_numbers(text) for name, text in (scale or {}).items()}
    if unmatched := [name for name in scale_of if name not in set(frame["criterion"])]:
        there = ", ".join(sorted(set(frame["criterion"])))
        raise ArgumentError("scale", f"must name criteria of the log ({there})", f"got {unmatched[0]!r}")
    documented = frame["scale"].map(_in_numbers)
    scales = documented.where(~frame["criterion"].isin(list(scale_of)), frame["criterion"].map(scale_of))
    for criterion, rows in scales.groupby(frame["criterion"]):
        broken = (rows == "") & (frame.loc[rows.index, "status"] != "ok")
        if len(set(rows[~broken])) == 1:
            scales[rows.index] = rows[~broken].iloc[0]
        elif len(set(rows)) > 1:
            both = " and ".join(map(repr, rows.unique()[:2]))
            raise TableError(f"criterion {criterion!r} has two scales, {both}: read the logs apart, or give scale=.")
    return scales


def _in_numbers(scale: str) -> str:
    """A scale as tables write it: words by their numbers."""
    return "|".join(sorted({f"{value:g}" for _, value in scale_words(scale)}, key=float)) if "|" in scale else scale


def _on_scales(frame: pd.DataFrame, by_user: str | Mapping[str, str] | None) -> pd.DataFrame:
    """Drop a scale that the tool documents where scores are off it, with a warning; refuse such a one of the user's."""
    out = np.zeros(len(frame), dtype=bool)
    for scale, rows in frame.groupby("scale"):
        limits, scores = parse_scale(str(scale)), rows["score"].astype(float)
        if limits is not None:
            out[frame.index.get_indexer(rows.index)] = ~(limits.holds(scores) | scores.isna())
    for criterion, rows in frame[out].groupby("criterion"):
        row, several = rows.iloc[0], f" (and {len(rows) - 1} more)" if len(rows) > 1 else ""
        problem = f"item {row['item']!r} has {row['score']:.3g}{several}"
        if isinstance(by_user, str) or criterion in (by_user or {}):
            raise ArgumentError("scale", f"{row['scale']!r} must hold each score of {criterion!r}", problem)
        message = f"{problem} of {criterion!r}, outside the scale {row['scale']} that the tool documents"
        how = f"{criterion!r} is read without a scale: give its own by scale="
        warnings.warn(f"off_scale: {message}: {how}.", stacklevel=5)
        frame.loc[frame["criterion"] == criterion, "scale"] = ""
    return frame


def _refuse_run_twice(frame: pd.DataFrame) -> None:
    """Refuse one run in two files, as tools write it in two forms."""
    files = frame.drop_duplicates(["file", "run"])["run"].str.partition("|")
    twice = files[files[2].str.contains(r"\|.", regex=True)].duplicated(2, keep=False)  # where a run has an id
    if twice.any():
        both = " and ".join(files.loc[twice[twice].index, 0].head(2))
        raise TableError(f"{both} hold the same run: read one of them.")
    # nor files named alike but for the ending, with the same readings: not every form of a log names its run
    name_of = frame["run"].str.partition("|")[0]
    alike = name_of.drop_duplicates().groupby(name_of.map(lambda name: Path(name).stem))
    for names in ([one for one in each if "#" not in Path(one).suffix] for _, each in alike):
        held: dict[tuple[str, ...], str] = {}
        for name in names:
            with np.errstate(over="ignore"):
                rows = frame.loc[name_of == name, ["item", "system", "criterion", "rater", "status", "score"]].round(9)
            other = held.setdefault(tuple(sorted(map(repr, rows.itertuples(index=False, name=None)))), name)
            if other != name:
                raise TableError(f"{other} and {name} hold the same run: read one of them.")


def _with_ids(frame: pd.DataFrame, *, named: bool) -> pd.DataFrame:
    """Ids that tell outputs apart: the tool's id of a question is that of its group.

    Repeats with the same output are draws of the judge; with another, they are items of the same group, numbered as
    the tool numbers its repeats, or in their order.
    """
    for name, what in () if named else (("group", "inputs"), ("trace", "traces")):
        apart = frame.groupby(["item", "system"])[name].nunique()
        if (apart > 1).any():
            problem = f"the log's {apart[apart > 1].index[0][0]!r} is of two {what}"
            raise ArgumentError("item", "must name the field with the items' ids", problem)
    steps = frame.groupby("trace")["item"].transform("nunique") > 1
    frame["group"] = frame["group"].where(~steps, frame["trace"])
    shared = frame.groupby("item")["system"].transform("nunique") > 1
    joined, alone = [], frame["trace"].notna() | named  # ids that no other output has
    for item, system, several, is_alone in zip(frame["item"], frame["system"], shared, alone, strict=True):
        holds = re.search(rf"(?<![0-9A-Za-z]){re.escape(system)}(?![0-9A-Za-z])", item)  # the system's name as a word
        joined.append(item if not system or (not several and (is_alone or holds)) else f"{item}-{system}")
    frame = frame.assign(group=frame["group"].fillna(frame["item"]), was=frame["item"], item=joined)
    sources = frame.drop_duplicates(["item", "was", "system"])
    if (merged := sources["item"].duplicated(keep=False)).any():
        problem = f"{sources.loc[merged, 'item'].iloc[0]!r} is the id of two of the log's outputs"
        raise ArgumentError("item", "must name a field with an id for each output", problem)
    frame = frame.drop(columns="was")
    answers = frame[frame["answer"] != ""].sort_values(["file", "draw"], kind="stable")
    answers = answers.drop_duplicates(["item", "answer"])
    answers = answers[answers.groupby("item")["answer"].transform("size") > 1]
    if answers.empty:
        return frame
    # the number of a repeat is the tool's, after those of the files before; where it gives none, that of its place
    last = frame.groupby(["item", "file"])["draw"].max() + 1
    before = (last.groupby("item").cumsum() - last).rename("before")
    number = frame["draw"] + 1 + frame.join(before, on=["item", "file"])["before"]
    twice = answers.assign(number=number).duplicated(["item", "number"], keep=False)
    unnumbered = {*frame.loc[frame["draw"] < 0, "item"], *answers.loc[twice, "item"]}
    by_place = answers["item"].isin(unnumbered)
    place = number.loc[answers.index].where(~by_place, answers.groupby("item").cumcount() + 1)
    place_of = dict(zip(zip(answers["item"], answers["answer"], strict=True), place, strict=True))
    several = set(answers["item"])
    by_number, ids = several - unnumbered, list[str]()
    for item, answer, own in zip(frame["item"], frame["answer"], number, strict=True):
        # what left no output, such as a crash, is the repeat of its number
        k = own if answer == "" and item in by_number else place_of.get((item, answer))
        ids.append(item if k is None else f"{item}#{k}")
    if again := {one for one, item in zip(ids, frame["item"], strict=True) if one != item} & set(frame["item"]):
        message = f"{min(again)!r} is an id of the log and would be that of a repeat"
        raise ArgumentError("item", "must name a field of ids without '#'", message)
    message = f"{len(several)} inputs were answered in {len(answers)} ways"
    warnings.warn(f"repeated_outputs: {message}: each answer is an item, `id#k`, of its input's group.", stacklevel=5)
    return frame.assign(item=ids)


# --- tables -----------------------------------------------------------------------------------------------------


def items_of(readings: pd.DataFrame) -> pd.DataFrame:
    """The table of items, in their first order, with texts where these were asked for."""
    columns = ("item", "source", "output", "reference", "messages", "group", "system")
    names = [name for name in columns if name in readings]
    first = readings[names].replace("", np.nan).groupby("item", sort=False).first().reset_index()
    empty = [name for name in names if first[name].isna().all()]
    items = first.drop(columns=empty).fillna("")
    about = dict(zip(readings["item"][::-1], readings["about"][::-1], strict=True))  # of the first row of each
    cells: dict[str, list[Any]] = {}
    for place, item in enumerate(items["item"]):
        for name, cell in about[item].items():
            if isinstance(cell, str | int | float) and not name.startswith("_") and name not in ("item", "system"):
                column = f"metadata.{name}" if name in _TAKEN else name
                plain = cell.encode("utf-8", "replace").decode("utf-8") if isinstance(cell, str) else cell
                cells.setdefault(column, [None] * len(items))[place] = plain
    for name, column in cells.items():
        # texts, which are long, stay out of the tables unless they were asked for
        if "source" in readings or not any(isinstance(one, str) and len(one) > _LONGEST_NOTE for one in column):
            items[name.encode("utf-8", "replace").decode("utf-8")] = column
    return check_items(items)


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
    return check_ratings(frame.drop(columns=[*_NOT_RATINGS, *_TEXTS, "messages"], errors="ignore"))


def scores_of(readings: pd.DataFrame, step: float) -> pd.DataFrame:
    """The table of scores, of logs that keep a judge's expectation and not what it is one of.

    Scores that are no multiples of the judge's `step` were weighted by token probabilities.
    """
    exact = (readings["score"] / step).sub((readings["score"] / step).round()).abs() > 1e-6
    weighted = exact.groupby([readings["criterion"], readings["rater"]]).transform("any")
    human = readings["method"] == "human"
    weighted &= readings["method"] == "logprob"  # that the tool may weight the metric so
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
