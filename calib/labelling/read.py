"""Labels as they come back from people: read, joined, checked, and described by annotator."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from calib import stats
from calib.analysis.agreement.frames import reliability
from calib.analysis.planning.frames import labels_needed
from calib.core import check
from calib.core.check import ArgumentError, check_types
from calib.core.numeric import adjusted_p_values
from calib.core.result import short
from calib.core.text import printable
from calib.inputs.names import Data
from calib.inputs.resolve import resolve_inputs
from calib.labelling.answers import ENDINGS, answers_in, counted, joined_answers
from calib.labelling.record import CANNOT_SAY
from calib.table import check_ratings, parse_scale
from calib.table.files import within_limit
from calib.table.labelled import NAMES, ends_of, label_pairs, mean_of_annotators
from calib.table.labels import Labels, Progress
from calib.table.pairs import DESIGN, Pair, chosen_in
from calib.table.results import Results
from calib.table.validate import ValidatedTable, renamed_errors, scores_in

_MIN_COMMON = 3  # items in common for reliability
_MIN_LABELS = 10  # before the first look of a confidence sequence
_MIN_ALIKE = 10  # labels below which the same one each time says nothing
_MIN_STRICTNESS = 5  # items in common below which no difference of annotators can be told
_ALPHA = 0.05
_PAUSE = 10  # medians: a page that was left open
_COLUMNS = ("item", "criterion", "spread", "comments")  # of the disagreements, before the annotators' own


def read_labels(
    files: str | Path | Sequence[str | Path],
    *,
    drawn: Data = None,
    page: str | Path | None = None,
    half_width: float | None = None,
) -> Labels:
    r"""Labels of people, from the files that a label page exported or that another tool wrote.

    The files are joined: what an annotator answered again counts as it was answered last, by its time. Every verb
    takes the result for people's labels, and `interval` the path of a single file, too.

    Parameters
    ----------
    files : path or sequence of paths
        Exports (CSV, JSONL) of one page, by one annotator or several; what came back of an .xlsx sheet or from Label
        Studio; or a folder of such files.
    drawn : table, path or frame, optional
        What `choose` returned: the items are checked against it, and `progress` says how far the labels are.
    page : path or str, optional
        The page that was labelled, or its hash: files of another page are refused.
    half_width : float, optional
        Half of the interval that is wanted, in points of the scale; with `drawn`.

    Examples
    --------
    >>> import tempfile
    >>> head = "item,criterion,rater,scale,method,score,status,seconds,time,comment,position,swapped,page"
    >>> rows = [f"{item},tone,{who},1|2|3|4|5,human,{score},ok,9,2026-03-01T09:0{place}:00Z,,{place},false,3e90d600b322"
    ...         for who, scores in (("ann", "5342"), ("bob", "5312"))
    ...         for place, (item, score) in enumerate(zip("abcd", scores), start=1)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "labels.csv")
    ...     _ = path.write_text("\n".join([head, *rows]))
    ...     labels = read_labels(path)
    >>> labels
    <8 labels of 4 items by 2 annotators, 4 items in common, page 3e90d600b322>
    >>> labels.disagreements[["item", "spread", "ann", "bob"]].to_dict("records")
    [{'item': 'c', 'spread': 3.0, 'ann': 4.0, 'bob': 1.0}]
    """
    check_types(read_labels, locals())
    if half_width is not None and not half_width > 0:
        raise ArgumentError("half_width", "must be above 0", f"got {half_width!r}")
    if half_width is not None and drawn is None:
        raise ArgumentError("half_width", "needs {0}, the items that were drawn", mentions=("drawn",))
    exports = [answers_in(path) for path in _paths(files)]
    names = [file.name for file in exports]
    for place, name in enumerate(names):
        if names.count(name) > 1:
            exports[place] = exports[place]._replace(name=f"{name} (file {place + 1})")
    answers, of_page, notes = joined_answers(exports, page)
    for note in notes:
        check.warn(note)
    pool = None
    if drawn is not None:
        scores = resolve_inputs(drawn, None, {}, names=("scores",), needs=()).scores
        if scores is None:
            raise ArgumentError("drawn", "must be what `choose` returned", "got a table without a judge's scores")
        pool = scores_in(scores, "drawn")
        notes += against_drawn(answers, pool)
    ratings = check_ratings(answers.drop(columns="when"))
    pooled = mean_of_annotators(scores_in(ratings, "files"))
    agreed, reasons = _reliability_by_criterion(ratings, pool)
    annotators, alike = annotators_of(answers)
    price, cut = price_of(answers)
    labels = answers[answers["score"].notna()]
    return Labels(
        ratings=ratings, pooled=pooled.frame, page=of_page, annotators=annotators,
        disagreements=disagreements_of(answers), overlap=int(labels.groupby("item")["rater"].nunique().gt(1).sum()),
        reliability=agreed, seconds_per_label=price,
        progress=None if pool is None else progress_of(answers, pooled, pool, half_width),
        notes=(*notes, *alike, *strictness_of(answers), *cut, *reasons),
    )  # fmt: skip


def _paths(files: str | Path | Sequence[str | Path]) -> list[Path]:
    """The files, those of a folder in the order of their names."""
    names = list(files) if isinstance(files, Sequence) and not isinstance(files, str) else [files]
    if odd := [name for name in names if not isinstance(name, str | os.PathLike)]:
        raise ArgumentError("files", "must be paths of files of labels", f"got {type(odd[0]).__name__}")
    paths: list[Path] = []
    for name in names:
        path = Path(name).expanduser()
        if path.is_dir():
            # without hidden files and the locks of open spreadsheets
            visible = (one for one in path.iterdir() if not one.name.startswith((".", "~$")))
            inside = sorted(one for one in visible if one.suffix.lower() in ENDINGS)
            if not inside:
                raise ArgumentError("files", f"must be files ({', '.join(ENDINGS)})", f"{str(path)!r} holds none")
            paths += inside
        elif path.exists():
            paths.append(path)
        else:
            raise FileNotFoundError(printable(f"there is no file {str(path)!r}."))
    if not paths:
        raise ArgumentError("files", "must name a file at least", "got none")
    return list(dict.fromkeys(within_limit(path).resolve() for path in paths))


def _reliability_by_criterion(
    ratings: pd.DataFrame, drawn: ValidatedTable | None
) -> tuple[Results[Any] | None, list[str]]:
    """How far annotators agree on each criterion that two of them labelled; why not, of the others."""
    scores = scores_in(ratings, "files").frame
    if drawn is not None and "group" in drawn.frame:
        first = drawn.frame.drop_duplicates("item")
        groups = scores["item"].astype(object).map(dict(zip(first["item"], first["group"], strict=True)))
        scores = scores.assign(group=groups) if groups.notna().all() else scores
    results: Results[Any] = Results((), ())
    reasons = []
    for criterion, rows in scores[scores["score"].notna()].groupby("criterion", observed=True, sort=False):
        if rows["rater"].nunique() < 2:
            continue
        common = int(rows.groupby("item", observed=True)["rater"].nunique().gt(1).sum())
        if common < _MIN_COMMON:
            needs = f"reliability needs {_MIN_COMMON} items that two annotators labelled"
            reasons.append(f"{criterion}: {needs}, but there are {common}.")
            continue
        try:
            results += reliability(rows)
        except ValueError as error:
            reasons.append(f"{criterion}: no reliability: {error}")
    return results if len(results) else None, reasons


# --- annotators -------------------------------------------------------------------------------------------------------


def annotators_of(answers: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """A row per annotator and criterion: counts, times of the first and last answer, median seconds, mean.

    And a note on each whose labels are all the same.
    """
    rows, notes = [], []
    for (rater, criterion), part in answers.groupby(["rater", "criterion"], sort=False):
        labels = part["score"].dropna()
        rows.append({
            "annotator": str(rater), "criterion": str(criterion), "n_items": part["item"].nunique(),
            "n_labels": len(labels), "n_cannot_say": int((part["status"] == CANNOT_SAY).sum()),
            "n_comments": int((part["comment"].str.strip() != "").sum()), "first": part["when"].min(),
            "last": part["when"].max(), "seconds": part.loc[labels.index, "seconds"].median(), "mean": labels.mean(),
        })  # fmt: skip
        if len(labels) >= _MIN_ALIKE and labels.min() == labels.max():
            alike = f"all {len(labels)} labels are {short(labels.iloc[0])}, which says nothing about agreement"
            notes.append(f"{str(rater)!r} on {criterion}: {alike}.")
    return pd.DataFrame(rows), notes


def disagreements_of(answers: pd.DataFrame) -> pd.DataFrame:
    """Items that two or more annotators scored differently, the farthest apart first, with what each gave."""
    labels = answers[answers["score"].notna()]
    names = {name: f"{name} (annotator)" if name in _COLUMNS else name for name in labels["rater"].unique().tolist()}
    scores = labels.groupby(["item", "criterion"], sort=False)["score"]
    apart = answers[answers["item"].isin(labels.loc[scores.transform("max") > scores.transform("min"), "item"])]
    differences = []
    for (item, criterion), rows in apart.groupby(["item", "criterion"], sort=False):
        labelled = rows[rows["score"].notna()]
        spread = labelled["score"].max() - labelled["score"].min()
        if spread > 0:
            pairs = zip(rows["rater"], rows["comment"], strict=True)
            comments = "; ".join(f"{rater}: {comment}" for rater, comment in pairs if comment.strip())
            scores_of = {names[rater]: score for rater, score in zip(labelled["rater"], labelled["score"], strict=True)}
            row = {"item": item, "criterion": criterion, "spread": spread, "comments": comments}
            scale = parse_scale(rows["scale"].iloc[0])
            width = 1.0 if scale is None else scale.high - scale.low
            differences.append((spread / width, row | scores_of))
    differences.sort(key=lambda pair: -pair[0])  # of several scales each by its share
    return pd.DataFrame([row for _, row in differences], columns=[*_COLUMNS, *names.values()])


def strictness_of(answers: pd.DataFrame) -> list[str]:
    """A sentence for each criterion of which annotators differ on the items in common by more than chance.

    If they do not differ, any exchange of an item's labels among those who gave them is as likely as what came: under
    these exchanges each annotator's sum of deviations from the items' means has a known variance. p-values by the
    chi-squared law, adjusted (Holm) over criteria.
    """
    labels = answers[answers["score"].notna()]
    results = [(str(name), *_strictness(rows)) for name, rows in labels.groupby("criterion", sort=False)]
    if not results:
        return []
    adjusted_p = adjusted_p_values([p for _, p, _ in results], "holm")
    notes = []
    for (criterion, _, mean), p in zip(results, adjusted_p, strict=True):
        if p < _ALPHA:
            means = ", ".join(f"{name!r} {value:+.2g}" for name, value in mean.sort_values().items())
            apart = f"annotators differ on the items in common ({means} from the items' means, p {short(p)})"
            what = "an interval of their labels is one for these annotators; others may give another mean"
            notes.append(f"{criterion}: {apart}: {what}.")
    return notes


def _strictness(rows: pd.DataFrame) -> tuple[float, pd.Series]:
    """The p-value of "no annotator is stricter", and how far each is from the mean of an item on average."""
    table = rows.pivot_table(index="item", columns="rater", values="score", sort=False)
    common = table[table.count(axis=1) > 1].dropna(axis=1, how="all")
    scores, there = common.to_numpy(dtype=float), common.notna().to_numpy()
    if len(common) < _MIN_STRICTNESS:
        return math.nan, pd.Series(dtype=float)
    m = there.sum(axis=1)
    off = np.where(there, common.sub(common.mean(axis=1), axis=0).to_numpy(), 0.0)
    variance = np.nanvar(scores, axis=1, ddof=1)
    spread = np.diag(there.T @ variance) - (there.T * (variance / m)) @ there
    total = off.sum(axis=0)
    rank = int(np.linalg.matrix_rank(spread, hermitian=True))
    p = float(special.chdtrc(rank, total @ np.linalg.pinv(spread, hermitian=True) @ total)) if rank else math.nan
    return p, pd.Series(total / there.sum(axis=0), index=common.columns)


def price_of(answers: pd.DataFrame) -> tuple[float, list[str]]:
    """Active seconds that a label takes on average, "cannot say" paid for too; NaN where no time is known.

    No item counts for more than ten times its annotator's median: a page was left open. Items, not answers: of several
    criteria the first answer takes the reading, too.
    """
    timed = answers[answers["seconds"].notna()]
    labels = int(timed["score"].notna().sum())
    if not labels:
        return math.nan, []
    spent = timed.groupby(["rater", "item"], sort=False)["seconds"].sum()
    most = _PAUSE * spent.groupby("rater").transform("median")
    long = (spent > most) & (most > 0)
    total = float(spent.where(~long, most).sum())
    longest = spent[long].max()
    cut = f"{counted(int(long.sum()), 'item')} took more than ten times the median (the longest {longest:.0f} s)"
    return total / labels, [f"{cut} and count as ten times it in the seconds per label."] * bool(long.any())


# --- how far the labelling is -----------------------------------------------------------------------------------------


def against_drawn(answers: pd.DataFrame, drawn: ValidatedTable) -> list[str]:
    """Notes on answers that do not fit the drawing, and on items that wait for a label."""
    items, pool, chosen = set(answers["item"]), set(drawn.frame["item"].astype(str)), chosen_of(drawn.frame)
    unmatched = sorted(items - pool)
    if len(unmatched) == len(items):
        rule = "must have the items that were labelled"
        cut = {one.lstrip("0") or "0" for one in pool} & items
        hint = " (a spreadsheet took the zeros in front of their ids: export from the page again)" * bool(cut)
        raise ArgumentError("drawn", rule, f"has none of {counted(len(items), 'item')}, such as {unmatched[0]!r}{hint}")
    notes = []
    if unmatched:
        notes.append(f"{counted(len(unmatched), 'labelled item')} not among the drawn ones, such as {unmatched[0]!r}.")
    if chosen is None:
        return notes
    if others := sorted(items & pool - chosen):
        notes.append(f"{counted(len(others), 'labelled item')} not chosen by the drawing, such as {others[0]!r}.")
    if waiting := chosen - items:
        notes.append(f"{len(waiting)} of {len(chosen)} chosen items have no answer yet.")
    if unjudged := items & chosen - set(answers.loc[answers["score"].notna(), "item"]):
        notes.append(f"{len(unjudged)} of {len(chosen)} chosen items could not be judged, and count as unlabelled.")
    return notes


def chosen_of(frame: pd.DataFrame) -> set[str] | None:
    """The items that were chosen; None where nobody chose any."""
    return set(frame.loc[chosen_in(frame), "item"].astype(str)) if "chosen" in frame else None


def progress_of(
    answers: pd.DataFrame, pooled: ValidatedTable, drawn: ValidatedTable, half_width: float | None
) -> Progress:
    """What the labels say so far, and how many more a half-width asks for."""
    notes: list[str] = []
    chosen, labelled = chosen_of(drawn.frame) or set(), set(answers.loc[answers["score"].notna(), "item"])
    by_people, by_judge = (set(frame["criterion"].astype(str)) for frame in (pooled.frame, drawn.frame))
    if not by_people & by_judge:
        which = f"people were asked for {', '.join(sorted(by_people))} and the judge for {', '.join(sorted(by_judge))}"
        return Progress(chosen=len(chosen), left=len(chosen - labelled), notes=(f"{which}: there is no interval.",))
    pairs = list(label_pairs(drawn, pooled))
    # the rank of each criterion and item in the order in which they were first labelled; NaN where nothing tells it:
    # where times are missing or alike by the place that an annotator's page gave the item, which is random, and where
    # places are alike, too, by a hash: never the order of the pool, in which the items of one system may stand together
    labels = answers[answers["score"].notna()]
    mixed = pd.util.hash_array(labels["item"].astype(str).to_numpy(dtype=object), categorize=False)
    ordered = labels.assign(mixed=mixed).sort_values(["when", "position", "mixed"], kind="stable")
    timed = ordered["when"].notna() | ordered["position"].notna()
    ranks = pd.Series(np.arange(len(ordered)), index=ordered.index).where(timed)
    first = ranks.groupby([ordered["criterion"], ordered["item"]]).min()
    looks = [look for pair in pairs if (look := _so_far(pair, first, notes)) is not None]
    needed = None
    if half_width is not None:
        try:
            needed = labels_needed(drawn, pooled, half_width=half_width)
        except ValueError as error:
            notes.append(f"how many labels an interval of +/- {short(half_width)} needs is not known: {error}")
        else:
            for pair, result in zip(pairs, needed, strict=True):
                there = int(pair.frame["y"].notna().sum())
                more = min(result.n_labels, result.n_labels_alone) - there
                notes.append(
                    f"{pair.label['criterion']}: {counted(there, 'item')} labelled so far; "
                    f"{'no more' if more <= 0 else f'{more} more'} needed for +/- {short(half_width)} "
                    f"({result.n_labels} with the judge, {result.n_labels_alone} without), looked at once."
                )
    return Progress(
        chosen=len(chosen),
        left=len(chosen - labelled),
        half_width=half_width,
        needed=needed,
        so_far=Results.of(looks) if looks else None,
        notes=tuple(notes),
    )


def _so_far(pair: Pair, first: pd.Series, notes: list[str]) -> tuple[dict[str, Any], Any] | None:
    """The interval that may be looked at after every label, in the order in which they came."""
    criterion, frame = pair.label["criterion"], pair.frame
    rows = frame[frame["y"].notna() & frame["x"].notna()]
    came = first.reindex(pd.MultiIndex.from_product([[criterion], rows["item"].astype(str)])).to_numpy(dtype=float)
    # why labels are no simple random sample in the order in which they came
    why = "no time or place says when each label came" * bool(np.isnan(came).any())
    if not set(DESIGN) <= set(frame) or frame["design"].isna().all():
        why = "nothing says how the items were drawn (`choose` writes it)"
    else:
        chosen = frame[frame["design"].notna()]
        if set(chosen["design"].astype(str)) != {"simple"} or len(chosen["stratum"].unique()) > 1:
            why = "the items were not drawn simply"
        elif not set(rows["item"].astype(str)) <= (chosen_of(chosen) or set()):
            why = "some labelled items were not drawn"
    if why:
        notes.append(f"{criterion}: no interval that may be looked at after every label, as {why}; `interval` has one.")
        return None
    if len(rows) < _MIN_LABELS:
        missing = counted(_MIN_LABELS - len(rows), "label")
        notes.append(f"{criterion}: {missing} short of the first interval, which needs {_MIN_LABELS}.")
        return None
    ordered = rows.iloc[np.argsort(came, kind="stable")]
    pool = frame.loc[frame["x"].notna(), "x"].astype(float)
    y, x = (ordered[name].astype(float).to_numpy() for name in "yx")
    with renamed_errors(pair.label, **NAMES, f_pool="drawn"):
        bounds = ends_of(frame, pair.label).get("bounds")
        return pair.label, stats.confidence_sequence(y, x, pool, bounds=bounds)
