"""`calib.label`: the files that people label in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd

from calib.core import check
from calib.core.check import ArgumentError, check_types
from calib.core.progress import stoppable
from calib.core.text import printable
from calib.inputs.tables import checked_options
from calib.labelling.page import page_of
from calib.labelling.pool import annotator_names, drawn_of, file_names, sheets_of, source_in, texts_of_items, to_ask
from calib.labelling.question import criteria_of
from calib.labelling.read import read_labels
from calib.labelling.record import Criterion, Task, page_id
from calib.table import TableArgumentError, TableError
from calib.table.files import whole_or_not, within_limit
from calib.table.labels import Labels


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelPages:
    """Files in which people label.

    Attributes
    ----------
    paths : tuple of Path
        One for each annotator, or one for a tool.
    page : str
        What the files are known by: a hash of items, criteria and scales.
    n_items : int
        Items to label, by all annotators together.
    annotators : tuple of str
        Who labels; empty where the page asks.
    overlap : int
        Items that all annotators have in common.
    criteria : tuple of str
    parts : tuple of str
        The texts that are shown of each item.
    n_labels : int
        Answers that all annotators together give.
    n_words : int
        Words that all annotators together read, as far as blanks part them.

    Examples
    --------
    >>> pages = LabelPages(paths=(Path("label.html"),), page="3e90d600b322", n_items=40, annotators=(), overlap=40,
    ...                    criteria=("fluency",), parts=("source", "output"), n_labels=40, n_words=4200)
    >>> print(pages)
    label.html: 40 items to label (fluency)
    """

    paths: tuple[Path, ...]
    page: str
    n_items: int
    annotators: tuple[str, ...]
    overlap: int
    criteria: tuple[str, ...]
    parts: tuple[str, ...]
    n_labels: int
    n_words: int

    def __str__(self) -> str:
        return f"{printable(', '.join(map(str, self.paths)))}: {self._counts}"

    @property
    def _counts(self) -> str:
        who = len(self.annotators)
        shared = f", {self.overlap} of them by {'both' if who == 2 else f'all {who}'} annotators" if who > 1 else ""
        items = f"{self.n_items} item{'s' * (self.n_items != 1)}"
        return printable(f"{items} to label ({', '.join(self.criteria)}){shared}")

    def _repr_html_(self) -> str:
        links = (f'<a href="{quote(path.as_posix())}" target="_blank">{escape(path.name)}</a>' for path in self.paths)
        return f"<p>{', '.join(links)}: {escape(self._counts)}</p>"


_ENDINGS = {"html": (".html", ".htm"), "xlsx": (".xlsx",), "label-studio": (".json",)}
_GUIDES = (".md", ".markdown", ".txt")


def label(
    items: Any,
    drawn: Any = None,
    *,
    criteria: str | Sequence[str] | Mapping[str, str | None] | None = None,
    scale: Any = None,
    rater: str | None = None,
    annotators: Sequence[str] | None = None,
    overlap: int | None = None,
    guideline: str | Path | None = None,
    inputs: Sequence[str] | None = None,
    pair: Sequence[str] | None = None,
    labelled: Any = None,
    title: str | None = None,
    words: Mapping[str, str] | None = None,
    to: str = "html",
    seed: int = 0,
    item: str | None = None,
    system: str | None = None,
    path: str | Path,
) -> LabelPages:
    """A page to label chosen items with: one file that needs no server and no network, and sends nothing anywhere.

    Items are shown one by one, blind: without scores, systems and ids, in an order of its own for each annotator. What
    is labelled is kept in the browser, and exported as a file that `interval` and `reliability` read as it is, and
    `read_labels` reports on.

    Parameters
    ----------
    items : table, path or frame
        The texts: calib's table of items, or your own file.
    drawn : table, path, frame or sequence of ids, optional
        What `choose` returned; rows of your own, or ids. Default: all items, or those that are chosen in `items`.
    criteria : str, sequence or mapping, optional
        What is asked of each item: a name, several, or names with what they mean. Default: the criterion of `drawn`.
    scale : str, Scale or mapping, optional
        ``"1|2|3|4|5"``, ``"poor|fair|good"`` (worst first), ``"no=0|yes=1"`` or ``"0..100"``; words for values,
        ``{1: "poor", 2: "good"}``; or one of these for each criterion. Words alone take the values of the judge's scale
        where there are as many. Default: the scale that `drawn` states, if it has seven values at most; one that
        `choose` guessed is not stated.
    rater : str, optional
        Who labels. Default: the page asks.
    annotators : sequence of str, optional
        Several who label: one file for each, ``label-ann.html`` beside ``label.html``.
    overlap : int, optional
        How many items all annotators have in common; the rest is split evenly, item by item, in each stratum too.
        Default: all of them.
    guideline : str or Path, optional
        What annotators shall keep to: a text, or a .md or .txt file.
    inputs : sequence of str, optional
        The columns that are shown. Default: those that are called source, output, reference and the like, and
        `messages`, a conversation; of that a column `turn` may name the message that is judged.
    pair : sequence of str, optional
        Two columns of outputs to compare; half of the pairs are shown in the reverse order.
    labelled : Labels, ratings, path or sequence of paths, optional
        Labels that are there already; what has all of its labels is left out.
    title : str, optional
    words : mapping, optional
        The words of the page in another language, by those of ``calib/labelling/words.json``.
    to : {"html", "xlsx", "label-studio"}
        A page, a workbook with drop-downs, or what Label Studio imports.
    seed : int, default 0
        Seed of the order of items, the common items and each annotator's share.
    item : str, optional
        Column of ids in your own file.
    system : str, optional
        Column of who wrote the output, where ids repeat over systems.
    path : str or Path
        Where to write. A file that is read, and a workbook that somebody has filled in, are not written over.

    Examples
    --------
    >>> import calib, tempfile
    >>> items, people = calib.load_planted()
    >>> judge = calib.summarize(people[people["rater"] == "simulated-1"], items)
    >>> drawn = calib.choose(judge[judge["criterion"] == "fluency"], 40, rng=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pages = calib.label(items, drawn, annotators=["ann", "bo"], overlap=10, path=f"{folder}/label.html")
    >>> [path.name for path in pages.paths], pages.n_items, pages.overlap, pages.n_labels
    (['label-ann.html', 'label-bo.html'], 40, 10, 50)
    """
    check_types(label, locals())
    check.choice(to, "to", tuple(_ENDINGS))
    path, endings = Path(path).expanduser(), _ENDINGS[to]
    if path.suffix.lower() not in endings:
        raise ArgumentError("path", f"must end in {' or '.join(endings)} for {to!r}", f"got {str(path)!r}")
    if path.is_dir():
        raise ArgumentError("path", "must be a file", f"{str(path)!r} is a folder")
    if words and to != "html":
        raise ArgumentError("words", "must be left out unless {0} is 'html'", f"that is {to!r}", mentions=("to",))
    guide = _guideline(guideline)
    columns = checked_options({"item": item, "system": system})  # type: ignore[typeddict-item]
    texts = items if drawn is not None else source_in(items, "items")  # which may say themselves which are chosen
    picked = drawn_of(texts if drawn is None and "chosen" in texts.frame else drawn, columns)
    pool = texts_of_items(texts, columns, inputs, pair, picked)
    questions = criteria_of(criteria, scale, picked, paired=pair is not None)
    page = page_id([(one, *texts) for one, texts in pool.texts.items()], questions)
    chosen = to_ask(pool, picked, page, questions)
    if labelled is not None:
        done = _done(labelled, page, questions, set(pool.texts) | {one.item for one in chosen})
        left = [one for one in chosen if one.item not in done]
        if not left:
            problem = f"has all {len(chosen)} chosen items"
            raise ArgumentError("labelled", "must leave something to label", problem)
        chosen = left
    names, paired = annotator_names(annotators, rater, overlap, len(chosen)), pair is not None
    sheets = sheets_of(chosen, names, overlap=overlap, strata=picked.strata, seed=seed, page=page, paired=paired)
    title = title or ", ".join(one.name for one in questions)
    task = Task(title, page, pool.parts, paired, questions, guide, sheets)
    targets = [path]  # the file of a single sheet has the name that was given
    if to != "label-studio" and len(names) > 1:
        targets = [path.with_name(f"{path.stem}-{name}{path.suffix}") for name in file_names(names)]
    _refuse_writing_over(targets, [items, drawn, *(labelled if isinstance(labelled, list | tuple) else [labelled])], to)
    return LabelPages(
        paths=_write_files(task, targets, to, words), page=page, n_items=len(chosen),
        annotators=tuple(filter(None, names)), overlap=len(chosen) if overlap is None else overlap,
        criteria=tuple(one.name for one in questions), parts=pool.parts,
        n_labels=sum(len(sheet.records) for sheet in sheets) * len(questions),
        n_words=sum(len(text.split()) for sheet in sheets for one in sheet.records for text in one.texts),
    )  # fmt: skip


def _guideline(guideline: str | Path | None) -> str:
    """A text as it is, or that of a file."""
    text = str(guideline or "")
    if not isinstance(guideline, Path) and not ("\n" not in text and text.lower().endswith(_GUIDES)):
        return text
    path = Path(text).expanduser()
    if path.suffix.lower() not in _GUIDES:
        rule = f"must be a text, or a file that ends in {', '.join(_GUIDES)}"
        raise ArgumentError("guideline", rule, f"got {text!r}")
    if not path.is_file():
        raise ArgumentError("guideline", "must be a text, or a file", f"there is no file {text!r}")
    try:
        return within_limit(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ArgumentError("guideline", "must be a file in UTF-8", f"{text!r} is not") from None


def _done(labelled: Any, page: str, questions: Sequence[Criterion], items: set[str]) -> set[str]:
    """The items that have all their answers, "cannot say" included; labels of another page are refused."""
    frame = labelled.ratings if isinstance(labelled, Labels) else labelled
    if not isinstance(frame, pd.DataFrame):
        is_one = isinstance(labelled, str | Path) or not isinstance(labelled, Iterable)
        paths = [labelled] if is_one else list(labelled)
        if not paths or not all(isinstance(path, str | Path) for path in paths):
            rule = "must be what `read_labels` gave, a table of ratings, or files of labels"
            raise ArgumentError("labelled", rule, f"got {labelled!r}")
        for path in map(Path, paths):
            if not path.expanduser().exists():
                raise ArgumentError("labelled", "must be files of labels", f"there is no file {str(path)!r}")
        frame = read_labels([Path(path) for path in paths]).ratings
    if missing := {"item", "criterion"} - set(frame):
        raise TableArgumentError("labelled", "must be labels of such a page", f"there is no column {min(missing)!r}")
    if pages := (set(frame["page"].astype(str)) - {page} if "page" in frame else set()):
        rule = "must be labels of a page with the same items and texts, criteria, meanings of these, and scales"
        raise ArgumentError("labelled", rule, f"these are of page {min(pages)}, and this is {page}")
    answered = frame[["item", "criterion"]].astype(str).groupby("item")["criterion"].agg(set)
    if not items & set(answered.index):
        rule = "must be labels of these items (a spreadsheet may have changed their ids)"
        raise ArgumentError("labelled", rule, f"has none of them, but {min(answered.index, default='')!r}")
    wanted = {one.name for one in questions}
    return {item for item, criteria in answered.items() if wanted <= criteria}


# --- the files: what they must not write over, and each form's writer -------------------------------------------------


def _refuse_writing_over(targets: Sequence[Path], read: Sequence[Any], to: str) -> None:
    """Refuse to write over a file that is read, or over a workbook that somebody may have filled in."""
    there = [path for path in targets if path.is_file()]
    sources = [path for thing in read if isinstance(thing, str | Path) and (path := Path(thing).expanduser()).is_file()]
    for path, source in product(there, sources):
        if path.samefile(source):
            raise ArgumentError("path", "must lead to other files than those that are read", f"{str(path)!r} is one")
    for path in there if to == "xlsx" else ():
        from calib.labelling.workbook import workbook_answers

        with suppress(TableError):  # of another kind, or with a slip in it
            if workbook_answers(path).empty:
                continue
        problem = f"{str(path)!r} is there: move it, or write elsewhere"
        raise ArgumentError("path", "must not lead to a workbook that somebody may have filled in", problem)


def _write_files(task: Task, targets: Sequence[Path], to: str, words: Mapping[str, str] | None) -> tuple[Path, ...]:
    if to == "label-studio":
        from calib.labelling.label_studio import write_label_studio

        return (write_label_studio(task, targets[0]), targets[0].with_suffix(".xml"))
    if to == "xlsx":
        from calib.labelling.workbook import write_workbook

        return tuple(write_workbook(task, sheet, path) for sheet, path in zip(task.sheets, targets, strict=True))
    pages = [page_of(task, sheet, words) for sheet in task.sheets]  # all of them before the first file
    for text, path in zip(pages, targets, strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        with stoppable(), whole_or_not(path) as part:
            part.write_text(text, encoding="utf-8", newline="")
    return tuple(targets)
