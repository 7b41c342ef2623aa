"""What `calib.label_page` returns: the files to label in."""

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
from calib.core.check import ArgumentError, as_typed
from calib.core.progress import stoppable
from calib.core.text import printable
from calib.inputs.tables import checked_options
from calib.labelling.page import Asked, Criterion, Sheet, Task, page_id
from calib.labelling.pool import annotators_of, drawn_of, file_names, pool_of, sheets_of, source_in, to_ask
from calib.labelling.question import criteria_of
from calib.labelling.read import read_labels
from calib.table import TableArgumentError, TableError
from calib.table.files import whole_or_not
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
        """Where the pages are, and how much there is to label."""
        return f"{printable(', '.join(map(str, self.paths)))}: {self._counts}"

    @property
    def _counts(self) -> str:
        who = len(self.annotators)
        shared = f", {self.overlap} of them by {'both' if who == 2 else f'all {who}'} annotators" if who > 1 else ""
        items = f"{self.n_items} item{'s' * (self.n_items != 1)}"
        return printable(f"{items} to label ({', '.join(self.criteria)}){shared}")

    def _repr_html_(self) -> str:
        """Links, for a notebook."""
        links = (f'<a href="{quote(path.as_posix())}" target="_blank">{escape(path.name)}</a>' for path in self.paths)
        return f"<p>{', '.join(links)}: {escape(self._counts)}</p>"


_ENDINGS = {"html": (".html", ".htm"), "xlsx": (".xlsx",), "label-studio": (".json",)}
_GUIDES = (".md", ".markdown", ".txt")


def label_page(
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
        The texts: calib's table of items, or a file of your own.
    drawn : table, path, frame or sequence of ids, optional
        What `choose_items` returned; rows of your own, or ids. Default: all items, or those that are chosen in `items`.
    criteria : str, sequence or mapping, optional
        What is asked of each item: a name, several, or names with what they mean. Default: the criterion of `drawn`.
    scale : str, Scale or mapping, optional
        ``"1|2|3|4|5"``, ``"poor|fair|good"`` (worst first), ``"no=0|yes=1"`` or ``"0..100"``; words for values,
        ``{1: "poor", 2: "good"}``; or one of these for each criterion. Words alone take the values of the judge's scale
        where there are as many. Default: the scale of `drawn`.
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
        The columns that are shown. Default: those that are called source, output, reference and the like.
    pair : sequence of str, optional
        Two columns of outputs that are held against each other; half of the pairs are shown the other way round.
    labelled : Labels, ratings, path or sequence of paths, optional
        Labels that are there already; what has all of its labels is left out.
    title : str, optional
    words : mapping, optional
        The words of the page in another language, by those of ``calib/labelling/words.json``.
    to : {"html", "xlsx", "label-studio"}
        A page, a workbook with drop-downs, or what Label Studio imports.
    seed : int, default 0
        Of orders, common items and shares.
    item : str, optional
        Column of ids in a file of your own.
    system : str, optional
        Column of who wrote the output, where ids repeat over systems.
    path : str or Path
        Where to write. A file that is read, and a workbook that somebody has filled in, are not written over.

    Examples
    --------
    >>> import calib, tempfile
    >>> items, people = calib.load_planted()
    >>> judge = calib.summarize(people[people["rater"] == "simulated-1"], items)
    >>> drawn = calib.choose_items(judge[judge["criterion"] == "fluency"], 40, rng=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pages = calib.label_page(items, drawn, annotators=["ann", "bo"], overlap=10, path=f"{folder}/label.html")
    >>> [path.name for path in pages.paths], pages.n_items, pages.overlap, pages.n_labels
    (['label-ann.html', 'label-bo.html'], 40, 10, 50)
    """
    as_typed(label_page, locals())
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
    pool = pool_of(texts, columns, inputs, pair, picked)
    questions = criteria_of(criteria, scale, picked, paired=pair is not None)
    page = page_id([(one, *texts) for one, texts in pool.texts.items()], questions)
    chosen = _still_to_label(to_ask(pool, picked), labelled, page, questions, set(pool.texts))
    names = annotators_of(annotators, rater, overlap, len(chosen))
    strata = {spelled: picked.strata.get(one, "") for one, (spelled, _) in chosen.items()}
    sheets = sheets_of(
        [Asked(spelled, texts) for spelled, texts in chosen.values()],
        names,
        overlap=overlap,
        strata=strata,
        seed=seed,
        page=page,
        paired=pair is not None,
    )
    title = title or ", ".join(one.name for one in questions)
    task = Task(title, page, pool.parts, pair is not None, questions, guide, sheets)
    read = [items, drawn, *(labelled if isinstance(labelled, list | tuple) else [labelled])]
    files = _files(task, path, to, read)
    return LabelPages(
        paths=_written(task, files, to, words),
        page=page,
        n_items=len(chosen),
        annotators=tuple(filter(None, names)),
        overlap=len(chosen) if overlap is None else overlap,
        criteria=tuple(one.name for one in questions),
        parts=pool.parts,
        n_labels=sum(len(sheet.asked) for sheet in sheets) * len(questions),
        n_words=sum(len(text.split()) for sheet in sheets for one in sheet.asked for text in one.texts),
    )


def _guideline(guideline: str | Path | None) -> str:
    """A text as it is, or that of a file."""
    if guideline is None:
        return ""
    text = str(guideline)
    if not isinstance(guideline, Path) and not ("\n" not in text and text.lower().endswith(_GUIDES)):
        return text
    path = Path(guideline).expanduser()
    if path.suffix.lower() not in _GUIDES:
        raise ArgumentError(
            "guideline", f"must be a text, or a file that ends in {', '.join(_GUIDES)}", f"got {text!r}"
        )
    if not path.is_file():
        raise ArgumentError("guideline", "must be a text, or a file", f"there is no file {text!r}")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ArgumentError("guideline", "must be a file in UTF-8", f"{text!r} is not") from None


def _still_to_label(
    chosen: dict[str, tuple[str, tuple[str, ...]]],
    labelled: Any,
    page: str,
    questions: Sequence[Criterion],
    items: set[str],
) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Those of which a label is missing."""
    if labelled is None:
        return chosen
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
    pages = set(frame["page"].astype(str)) - {page} if "page" in frame else set()
    if pages:
        rule = "must be labels of a page with the same items and texts, criteria, meanings of these, and scales"
        raise ArgumentError("labelled", rule, f"these are of page {min(pages)}, and this is {page}")
    answered = frame[["item", "criterion"]].astype(str).drop_duplicates()
    done = answered.groupby("item")["criterion"].agg(set)
    if not (items | {spelled for spelled, _ in chosen.values()}) & set(done.index):
        rule = "must be labels of these items (a spreadsheet may have changed their ids)"
        raise ArgumentError("labelled", rule, f"has none of them, but {min(done.index, default='')!r}")
    wanted = {one.name for one in questions}
    left = {one: shown for one, shown in chosen.items() if not wanted <= done.get(shown[0], set())}
    if not left:
        raise ArgumentError("labelled", "must leave something to label", f"has all {len(chosen)} chosen items")
    return left


# --- the files: where they go, and what they must not write over ------------------------------------------------------


def _files(task: Task, path: Path, to: str, read: Sequence[Any]) -> list[tuple[Sheet, Path]]:
    """A file for each annotator: none that is read is written over, nor a workbook that somebody may have filled in."""
    sheets = task.sheets[:1] if to == "label-studio" else task.sheets
    targets = [path]  # the one of a single sheet is called as was said
    if len(sheets) > 1:
        names = file_names([sheet.annotator for sheet in sheets])
        targets = [path.with_name(f"{path.stem}-{name}{path.suffix}") for name in names]
    there = [one for one in targets if one.is_file()]
    for one, other in product(there, (Path(thing).expanduser() for thing in read if isinstance(thing, str | Path))):
        if other.is_file() and one.samefile(other):
            raise ArgumentError("path", "must lead to other files than those that are read", f"{str(one)!r} is one")
    for one in there if to == "xlsx" else ():
        from calib.labelling.workbook import workbook_answers

        with suppress(TableError):  # of another kind, or with a slip in it
            if workbook_answers(one).empty:
                continue
        given = f"{str(one)!r} is there: move it, or write elsewhere"
        raise ArgumentError("path", "must not lead to a workbook that somebody may have filled in", given)
    return list(zip(sheets, targets, strict=True))


def _written(
    task: Task, files: Sequence[tuple[Sheet, Path]], to: str, words: Mapping[str, str] | None
) -> tuple[Path, ...]:
    if to == "label-studio":
        from calib.labelling.label_studio import write_label_studio

        path = files[0][1]
        return (write_label_studio(task, path), path.with_suffix(".xml"))
    if to == "xlsx":
        from calib.labelling.workbook import write_workbook

        return tuple(write_workbook(task, sheet, target) for sheet, target in files)
    from calib.labelling.page import page_of

    texts = [page_of(task, sheet, words) for sheet, _ in files]  # all of them before the first file
    for text, (_, target) in zip(texts, files, strict=True):
        target.parent.mkdir(parents=True, exist_ok=True)
        with stoppable(), whole_or_not(target) as part:
            part.write_text(text, encoding="utf-8", newline="")
    return tuple(target for _, target in files)
