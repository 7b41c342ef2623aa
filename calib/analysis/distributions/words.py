"""A judge's own page in words: what it does with its scale, what came back of it, the items that deserve a look."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from calib.analysis.distributions.profile import FlaggedItem, Profile
from calib.core.result import short
from calib.tables.block import Block
from calib.tables.text import number_span, telling, visible

if TYPE_CHECKING:
    import pandas as pd

    from calib.tables.results import Results

_LEAST, _MOST = 200, 2000  # characters of a text
_ROWS = 600  # items of a section
_ALL = 400_000  # characters of all texts of a section, so that a page stays one that can be sent
_NUMBERS = ("judge", "people", "apart", "entropy")
_WHY = {
    "people": "people differ", "entropy": "unsure", "prompts": "prompts differ", "draws": "replies differ",
    "unread": "not read",
}  # fmt: skip


def profile_sentences(labels: Sequence[Mapping[str, Any]], results: Sequence[Profile]) -> list[str]:
    """A sentence or two on each judge."""
    told = telling(labels)
    heads = [", ".join(str(label[name]) for name in told if label.get(name, "") != "") for label in labels]
    return [f"{head}{': ' * bool(head)}{_sentence(result)}" for head, result in zip(heads, results, strict=True)]


def _sentence(result: Profile) -> str:
    parts = [result.shares.most]
    if result.n_human:
        way = "above" if result.difference > 0 else "below"
        by = f"{abs(result.difference):.2g} {way}" if result.difference else "as high as"
        parts.append(f"on average it is {by} people and {result.distance:.2g} away from them")
    if result.entropy is not None:
        parts.append(f"half of the items have {result.entropy.half}")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def profile_fact(results: Results[Profile]) -> str:
    """What is seen in several: how far they are from people."""
    if len(results) == 1:
        return results[0].shares.most
    gaps = [result.difference for result in results if result.n_human]
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
    if len(frame):
        says = "Each item once for a judge, with the reasons to look at it; long texts open on a click."
        yield Block("Items that deserve a look", _clipped(frame), [says])


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
            _add(rows.setdefault((place, look.item), whose | _known(look)), look)
    frame = pd.DataFrame(list(rows.values()), dtype=object)  # Python strings may hold what Arrow cannot
    numbers = {name: float for name in _NUMBERS if name in frame}
    frame = frame.fillna(dict.fromkeys(set(frame) - set(numbers), "")).astype(numbers)
    return frame.loc[:, [not (frame[name].isna() | (frame[name] == "")).all() for name in frame]]


def _reasons(result: Profile) -> dict[str, list[FlaggedItem]]:
    found: dict[str, list[FlaggedItem]] = {}
    for look in result.looks:
        found.setdefault(look.why, []).append(look)
    return found


def _known(look: FlaggedItem) -> dict[str, Any]:
    """What is known of an item, whatever the reason to look at it; its output before its source."""
    texts = {name: text for name, text in look.texts if name not in ("detail", "reply")}
    numbers = {"judge": look.score, "people": look.human, "apart": look.score - look.human}
    first = {"output": texts["output"]} if "output" in texts else {}
    said = first | {"judge's words": ""} | texts
    return {"item": look.item, "because": ""} | numbers | said | {"entropy": look.entropy}


def _add(row: dict[str, Any], look: FlaggedItem) -> None:
    """One more reason; of the judge's words those that belong to a contradiction."""
    said = dict(look.texts)
    detail = f": {said['detail']}" if said.get("detail") else ""
    row["because"] += f"{'; ' * bool(row['because'])}{_WHY.get(look.why, look.why)} ({_size(look)}){detail}"
    if look.why == "prompts" or not row["judge's words"]:
        row["judge's words"] = said.get("reply", "")


def look_lines(result: Profile, most: int) -> Iterator[str]:
    """For each reason a line with the first few items."""
    for why, looks in _reasons(result).items():
        named = [f"{visible(look.item, 60)} ({_size(look)})" for look in looks[:most]]
        more = f", and {len(looks) - most} more" * (len(looks) > most)
        yield f"- {_WHY.get(why, why)}: {', '.join(named)}{more}"


def _size(look: FlaggedItem) -> str:
    return f"{look.value:{'+' if look.why == 'people' else ''}.3g}"


def _clipped(frame: pd.DataFrame) -> pd.DataFrame:
    """Texts cut where they are long, and the shorter the more of them there are."""
    texts = [name for name in frame if name not in _NUMBERS]
    most = max(_LEAST, min(_MOST, _ALL // max(len(frame) * len(texts), 1)))
    return frame.assign(**{name: frame[name].map(partial(_cut, most=most)) for name in texts})


def _cut(text: Any, most: int) -> str:
    text = str(text)
    return visible(text if len(text) <= most else f"{text[:most]} … ({len(text):,} characters)")
