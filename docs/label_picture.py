"""The picture of the page to label with, in README.md and on the site: `python docs/label_picture.py`.

It needs Chromium and Pillow. An item of the planted set, as an annotator sees it after a few answers.
"""

import asyncio
import io
import sys
import tempfile
from base64 import b64decode
from pathlib import Path
from typing import Any

from PIL import Image

import calib

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "surface"))
from chromium import visited

PICTURE = Path(__file__).with_name("label.png")
WIDTH, HEIGHT = 1200, 760
GUIDELINE = "Read the text first, then its summary. Judge the summary alone."
WORDS = "incoherent|hard to follow|in places|mostly coherent|coherent"
SLOW = "{ const real = performance.now.bind(performance); performance.now = () => 40 * real(); }"


async def answered(visit: Any) -> bytes:
    """The window after eleven answers, at the clock of somebody who reads."""
    await visit.read(SLOW)
    await visit.click("#begin")
    for key in "44352443544":
        await visit.press(key)
        await asyncio.sleep(0.4)
    return b64decode((await visit.call("Page.captureScreenshot"))["data"])


def main() -> None:
    """Make the page in a folder that goes, and keep what a window shows of it."""
    items, people = calib.load_planted()
    scores = calib.summarize(people[people["rater"] == "simulated-1"], items)
    drawn = calib.choose(scores[scores["criterion"] == "coherence"], 40, rng=1)
    with tempfile.TemporaryDirectory() as name:
        page = Path(name) / "label.html"
        asked = {"coherence": "Does the summary hang together, from sentence to sentence?"}
        calib.label(
            items, drawn, criteria=asked, scale=WORDS, rater="ann", guideline=GUIDELINE, title="Summaries", path=page
        )
        shot = visited(page, answered, width=WIDTH, height=HEIGHT)
    Image.open(io.BytesIO(shot)).convert("RGB").quantize(64).save(PICTURE, optimize=True)
    print(f"{PICTURE}: {PICTURE.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
