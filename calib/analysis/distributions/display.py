"""Sentences, tables and pictures of a profile: scores beside labels, what came back, the items that deserve a look."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.analysis.distributions.profile import FlaggedItem, Profile
from calib.core.check import ArgumentError
from calib.core.result import short
from calib.stats import Histogram, Shares
from calib.table import figure
from calib.table.results import Results
from calib.table.text import Block, number_span, telling, title_of, visible

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


_LEAST, _MOST = 200, 2000  # characters of a text
_ROWS = 600  # items of a section
_ALL = 400_000  # characters of all texts of a section, so that a page stays one that can be sent
_NUMBERS = ("judge", "label", "apart", "entropy")
_WHY = {
    "labels": "people differ", "entropy": "unsure", "prompts": "prompts differ", "draws": "replies differ",
    "unread": "not read",
}  # fmt: skip


def profile_sentences(labels: Sequence[Mapping[str, Any]], results: Sequence[Profile]) -> list[str]:
    """A sentence or two on each judge."""
    names, sentences = telling(labels), []
    for label, result in zip(labels, results, strict=True):
        parts = [result.shares.most]
        if result.n_labels:
            way = "above" if result.difference > 0 else "below"
            by = f"{abs(result.difference):.2g} {way}" if result.difference else "as high as"
            parts.append(f"on average it is {by} people and {result.distance:.2g} away from them")
        if result.entropy is not None:
            parts.append(f"half of the items have {result.entropy.half}")
        text = "; ".join(parts)
        head = ", ".join(str(label[name]) for name in names if label.get(name, "") != "")
        sentences.append(f"{head}{': ' * bool(head)}{text[:1].upper()}{text[1:]}.")
    return sentences


def profile_fact(results: Results[Profile]) -> str:
    """Which scores one judge uses most, or how far several are from people."""
    if len(results) == 1:
        return results[0].shares.most
    gaps = [result.difference for result in results if result.n_labels]
    if not gaps:
        return f"the judge's mean score is {number_span([result.mean for result in results])}"
    if min(gaps) < 0 < max(gaps):
        return f"the judge's mean is from {-min(gaps):.3g} below people's to {max(gaps):.3g} above"
    way = "below" if min(gaps) < 0 else "above"
    return f"the judge's mean is {number_span(list(map(abs, gaps)))} {way} people's"


def blocks(results: Results[Profile]) -> Iterator[Block]:
    """What came back from the judge, and the items that deserve a look."""
    yield Block("What came back", came_back(results))
    frame = looked_at(results)
    texts = [name for name in frame if name not in _NUMBERS]
    # texts are cut where they are long, and the shorter the more of them there are
    most = max(_LEAST, min(_MOST, _ALL // max(len(frame) * len(texts), 1)))

    def cut(cell: Any) -> str:
        text = str(cell)
        return visible(text if len(text) <= most else f"{text[:most]} … ({len(text):,} characters)")

    if len(frame):
        note = "Each item once for a judge, with the reasons to look at it; long texts open on a click."
        yield Block("Items that deserve a look", frame.assign(**{name: frame[name].map(cut) for name in texts}), [note])


def came_back(results: Results[Profile]) -> pd.DataFrame:
    """How many replies have each status, and how much of their probability was on the scale."""
    import pandas as pd

    rows, names = [], telling(results.labels)
    for label, result in zip(results.labels, results, strict=True):
        row = {name: label.get(name, "") for name in names}
        row |= {"replies": result.n_replies, "not read": result.n_unread, "items without a score": result.n_missing}
        row |= {name.replace("_", " "): count for name, count in result.statuses}
        if result.mass is not None:
            least, low, *_ = result.mass.quantiles
            row |= {"least mass": least, "mass, 5 %": low, "median mass": result.mass.median}
            row["mass below half"] = f"{100 * result.little:.1f} %"
        row["hardly used"] = ", ".join(map(short, result.unused))
        rows.append(row)
    frame = pd.DataFrame(rows)
    counts = [name for name in frame if name not in (*names, "hardly used") and "mass" not in name]
    frame = frame.assign(**{name: frame[name].fillna(0).astype(int) for name in counts})
    return frame.drop(columns=[name for name in ("items without a score", "hardly used") if not frame[name].any()])


def looked_at(results: Results[Profile]) -> pd.DataFrame:
    """The items that deserve a look, each once for a judge: why, its numbers, the judge's words, its texts.

    What prompts contradict each other about stands with the first of them. Of many judges each has fewer items.
    """
    import pandas as pd

    names, most = telling(results.labels), max(1, _ROWS // max(sum(len(_reasons(result)) for result in results), 1))
    rows: dict[tuple[int, str], dict[str, Any]] = {}
    across: set[tuple[str, ...]] = set()
    for place, (label, result) in enumerate(zip(results.labels, results, strict=True)):
        whose = {name: label.get(name, "") for name in names}
        judge = [str(label.get(name, "")) for name in ("criterion", "rater", "method", "temperature")]
        for look in (look for looks in _reasons(result).values() for look in looks[:most]):
            if look.why == "prompts" and (*judge, look.item) in across:
                continue
            if look.why == "prompts":
                across.add((*judge, look.item))
            texts = dict(look.texts)
            detail, reply = texts.pop("detail", ""), texts.pop("reply", "")
            if (place, look.item) not in rows:  # its output before its source
                numbers = {"judge": look.score, "label": look.label, "apart": look.score - look.label}
                output = {"output": texts["output"]} if "output" in texts else {}
                head = whose | {"item": look.item, "because": ""} | numbers | output | {"judge's words": ""}
                rows[place, look.item] = head | texts | {"entropy": look.entropy}
            row, why = rows[place, look.item], f"{_WHY.get(look.why, look.why)} ({_size(look)})"
            row["because"] += f"{'; ' * bool(row['because'])}{why}{': ' * bool(detail)}{detail}"
            if look.why == "prompts" or not row["judge's words"]:  # those that belong to a contradiction
                row["judge's words"] = reply
    frame = pd.DataFrame(list(rows.values()), dtype=object)  # Python strings may hold what Arrow cannot
    types = {name: float for name in _NUMBERS if name in frame}
    frame = frame.fillna(dict.fromkeys(set(frame) - set(types), "")).astype(types)
    return frame.loc[:, [not (frame[name].isna() | (frame[name] == "")).all() for name in frame]]


def _reasons(result: Profile) -> dict[str, list[FlaggedItem]]:
    by_reason: dict[str, list[FlaggedItem]] = {}
    for look in result.looks:
        by_reason.setdefault(look.why, []).append(look)
    return by_reason


def look_lines(result: Profile, most: int) -> Iterator[str]:
    """For each reason a line with the first few items."""
    for why, looks in _reasons(result).items():
        named = [f"{visible(look.item, 60)} ({_size(look)})" for look in looks[:most]]
        more = f", and {len(looks) - most} more" * (len(looks) > most)
        yield f"- {_WHY.get(why, why)}: {', '.join(named)}{more}"


def _size(look: FlaggedItem) -> str:
    return f"{look.value:{'+' if look.why == 'labels' else ''}.3g}"


_IN_NATS = "entropy of the scores of an item, in nats (0: the judge is sure)"
_FEW = 7  # values that a legend names one by one


def profile(results: Results[Any] | Profile, *, show: str = "scores", ax: Axes | None = None) -> Axes:
    """How a judge uses its scale, beside people; or how sure it is of each item.

    One result is drawn as bars, several as a row each.

    Parameters
    ----------
    show : {"scores", "entropy"}, default "scores"

    Examples
    --------
    >>> from calib.stats import profile as profiled
    >>> ax = profile(profiled([1, 2, 3, 3, 3, 3], [1, 1, 2, 3, 3, 3], scale=[1, 2, 3]))
    >>> ax.get_title(loc="left")
    "67 % of the judge's scores are 3 (people's: 50 %)"
    """
    if show not in ("scores", "entropy"):
        raise ArgumentError("show", "must be 'scores' or 'entropy'", f"got {show!r}")
    results = figure.checked(Profile, results)
    if show == "scores" and len(results) > 1:
        return _rows_of_scores(results, ax)
    entropies = [(label, r.entropy) for label, r in zip(results.labels, results, strict=True) if r.entropy is not None]
    if show == "entropy" and not entropies:
        raise ArgumentError("show", "'entropy' needs distributions of scores", "these results have none")
    if show == "entropy" and len(entropies) > 1:
        return _rows_of_entropy(entropies, ax)
    drawn = figure.axes_of(ax)
    if show == "scores":
        label, result = results.labels[0], results[0]
        shares = result.shares
        levels = np.array(shares.levels)
        sides = {"judge": shares.judge, "people": shares.labels} if shares.labels else {"judge": shares.judge}
        pitch = float(np.diff(levels).min()) if len(levels) > 1 else 1.0
        wide = (0.96 if shares.width else 0.8) * pitch / len(sides)
        for place, (name, part) in enumerate(sides.items()):
            at = levels + wide * (place - (len(sides) - 1) / 2)
            drawn.bar(at, part, wide, color=figure.COLOURS[place], label=name)
        if not shares.width:
            drawn.set_xticks(levels, list(map(short, levels)))
        figure.per_cent(drawn.yaxis)
        labelled = f", {result.n_labels} with labels" * bool(shares.labels)
        drawn.set_xlabel(f"score   (n = {result.n - result.n_missing} items{labelled})")
        drawn.set_ylabel("share of the scores")
        if shares.labels:
            drawn.legend(frameon=False, fontsize="small")
        seen = shares.most
    else:
        label, entropy = entropies[0]
        seen = f"half of the items have {entropy.half}"
        drawn.stairs(entropy.counts, np.array(entropy.edges), fill=True, color=figure.COLOURS[0])
        drawn.axvline(entropy.median, color=figure.GREY, linestyle="--", linewidth=1)
        drawn.set_xlim(0, entropy.edges[-1])
        drawn.set_ylabel("items")
        drawn.set_xlabel(_IN_NATS)
    figure.say_title(drawn, title_of([label], []), seen)
    figure.plain_frame(drawn, "y")
    return drawn


def _rows_of_scores(results: Results[Profile], ax: Axes | None) -> Axes:
    """Each judge a row, piece by piece the values of its scale from the lowest up, and people below it."""
    facts: list[dict[str, Any]] = []
    parts: list[tuple[Shares, tuple[float, ...]]] = []
    pairs = [(label, result.shares) for label, result in zip(results.labels, results, strict=True)]
    for criterion in dict.fromkeys(label.get("criterion") for label in results.labels):
        of = [(label, shares) for label, shares in pairs if label.get("criterion") == criterion]
        facts += [label for label, _ in of]
        parts += [(shares, shares.judge) for _, shares in of]
        labelled = next(((label, shares) for label, shares in of if shares.labels), None)
        if labelled is not None:
            facts.append({**labelled[0], "rater": "people", "prompt": "labels", "method": "human", "temperature": ""})
            parts.append((labelled[1], labelled[1].labels))
    rows = figure.rows_of(ax, facts, parts, pitch=1.2)
    for mark in rows.marks:
        shares, pieces = mark.result
        drawn = figure.shaded_pieces(pieces, figure.shades(len(shares.levels)))
        figure.draw_pieces(rows.ax, rows.heights[mark.place], drawn, 0.6, edgecolor="white", linewidth=0.8)
    figure.per_cent(rows.ax.xaxis)
    rows.ax.set_xlabel("share of the scores, from the lowest value to the highest")
    scales = list(dict.fromkeys(result.shares.levels for result in results))
    same = len(scales) == 1 and 2 <= len(scales[0]) <= _FEW
    named = [*map(short, scales[0])] if same else ["the lowest value", "the highest"]
    handles, title = figure.patches(named, figure.shades(len(named))), title_of(results.labels, rows.names)
    return rows.finished(profile_fact(results), handles, title=title, columns=len(handles))


def _rows_of_entropy(pairs: list[tuple[dict[str, Any], Histogram]], ax: Axes | None) -> Axes:
    """Each judge a row: the middle half of its items thick, nine tenths of them thin, the median as a dot."""
    facts, entropies = zip(*pairs, strict=True)
    rows = figure.rows_of(ax, facts, entropies, pitch=1.2)
    for mark in rows.marks:
        height, (_, low, first, middle, third, high, _) = rows.heights[mark.place], mark.result.quantiles
        rows.ax.hlines(height, low, high, colors=figure.COLOURS[0], linewidth=1.2)
        rows.ax.hlines(height, first, third, colors=figure.COLOURS[0], linewidth=5)
        rows.ax.plot([middle], [height], "o", color=figure.COLOURS[0], mec="white", markersize=8)
    rows.ax.set_xlim(left=0)
    rows.ax.set_xlabel(_IN_NATS)
    looks: dict[str, dict[str, Any]] = {
        "median": {"marker": "o", "linestyle": ""}, "half of the items": {"linewidth": 5}, "nine tenths": {},
    }  # fmt: skip
    handles = [figure.handle(words, color=figure.COLOURS[0], **look) for words, look in looks.items()]
    half = number_span([entropy.median for entropy in entropies])
    return rows.finished(f"half of the items have an entropy above {half} nats", handles, columns=len(handles))


def profile_pictures(results: Results[Any]) -> Iterator[Callable[..., Axes]]:
    """The scores, and where it is known the entropy."""
    yield partial(profile, results)
    if any(result.entropy is not None for result in results):
        yield partial(profile, results, show="entropy")
