"""How long a label page of 500 items takes to open, and an item with long texts to be shown: a benchmark, not a test.

Run: python tests/bench/label.py (with Chromium, and aiohttp)
"""

import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "surface"))

import chromium

from calib.labelling.page import page_of
from calib.labelling.record import Criterion, LabelSheet, Level, Record, Task

_OPENED = "performance.getEntriesByType('navigation')[0].domComplete"
_TOOK = "document.body.offsetHeight; return performance.now() - began;"


def page(folder: Path, texts: list[tuple[str, str]], criteria: int = 4) -> tuple[Path, int]:
    """A page with these texts, and how many bytes they have."""
    levels = tuple(Level(value, "") for value in range(1, 6))
    records = tuple(Record(f"item-{place}", pair) for place, pair in enumerate(texts))
    questions = tuple(Criterion(f"criterion {k}", "What is asked?", "1|2|3|4|5", levels) for k in range(criteria))
    sheet = LabelSheet("ana", records)
    task = Task("News", "0123456789ab", ("source", "output"), False, questions, "Read both.", (sheet,))
    path = folder / f"{len(texts)}.html"
    path.write_text(page_of(task, sheet), encoding="utf-8")
    return path, sum(len(text.encode()) for pair in texts for text in pair)


def measured(path: Path, act: str, repeats: int = 5) -> tuple[float, float]:
    """Milliseconds until the page is open, and of what is done on it; medians."""

    async def look(visit: chromium.Visit) -> tuple[float, float]:
        opened = await visit.read(_OPENED)
        await visit.read("begin()")
        return opened, await visit.read(f"(() => {{ const began = performance.now(); {act}; {_TOOK} }})()")

    found = [chromium.visited(path, look, width=1200) for _ in range(repeats)]
    return statistics.median(one for one, _ in found), statistics.median(other for _, other in found)


if __name__ == "__main__":
    words = "The harbour of the old town was closed after a storm. "
    with tempfile.TemporaryDirectory() as folder:
        for number, length in ((60, 2_000), (500, 2_000), (500, 10_000), (5_000, 2_000), (20, 200_000)):
            texts = [(f"{k} {words * (length // len(words))}", f"{k} {words * 8}") for k in range(number)]
            path, plain = page(Path(folder), texts)
            opened, answer = measured(path, "answer(0, 3)")
            _, item = measured(path, "go(7)")
            print(
                f"{number:5d} items of {length:7,d} characters: {path.stat().st_size / 1e6:6.2f} MB, "
                f"{path.stat().st_size / plain:.2f} times the texts; opens in {opened:5.0f} ms, "
                f"takes an answer in {answer:5.1f} ms, shows an item in {item:5.1f} ms"
            )
