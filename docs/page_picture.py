"""The picture of a report in README.md and on the site: `python docs/page_picture.py` (needs Chromium and Pillow).

The page is that of `calib demo`: simulated people, the embedded judge.
"""

import subprocess
import tempfile
from pathlib import Path

from PIL import Image

from calib.console.commands import demo

PICTURE = Path(__file__).with_name("page.png")
WIDTH, HEIGHT, SHOWN = 1000, 960, 720  # of the window, and the width of the picture, in pixels
QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--hide-scrollbars")


def main() -> None:
    """Make the page in a folder that goes, and keep what a window shows of it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        demo(folder)
        window = f"--window-size={WIDTH},{HEIGHT}", f"--user-data-dir={folder / 'profile'}"
        scale, shot = "--force-device-scale-factor=1.44", folder / "shot.png"
        page = (folder / "report.html").as_uri()
        subprocess.run(
            ["chromium", *QUIET, *window, scale, f"--screenshot={shot}", page], check=True, capture_output=True
        )
        picture = Image.open(shot).convert("RGB").resize((2 * SHOWN, 2 * SHOWN * HEIGHT // WIDTH))
        picture.quantize(64).save(PICTURE, optimize=True)
    print(f"{PICTURE}: {PICTURE.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
