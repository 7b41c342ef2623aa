"""A built site beside those of other versions, with the list that its switcher reads.

`python docs/publish.py build/docs PAGES /calib/`: PAGES is the folder that a server shows at /calib/. Each minor
version has a folder there.
"""

import argparse
import json
import re
import shutil
from pathlib import Path


def publish(built: Path, pages: Path, root: str) -> str:
    """Copy a site to the folder of its version, list all versions, let the root lead to the newest."""
    header = (built / "objects.inv").read_bytes().split(b"\n")[2].decode()
    found = re.fullmatch(r"# Version: (\d+\.\d+)(\.\d+)?", header)
    if not found:
        raise SystemExit(f"{built} says {header!r}: only released versions are published")
    own = found[1]
    if (pages / own).exists():
        shutil.rmtree(pages / own)
    shutil.copytree(built, pages / own, ignore=shutil.ignore_patterns(".doctrees", ".buildinfo"))
    names = [path.name for path in pages.iterdir() if path.is_dir() and re.fullmatch(r"\d+\.\d+", path.name)]
    names.sort(key=lambda name: [*map(int, name.split("."))], reverse=True)
    newest = names[0]
    root = f"/{root.strip('/')}/".replace("//", "/")
    listed = [{"version": name, "url": f"{root}{name}/", "preferred": name == newest} for name in names]
    (pages / "switcher.json").write_text(json.dumps(listed, indent=1), encoding="utf-8")
    leads = f'<meta http-equiv="refresh" content="0; url={newest}/"><title>calib</title><a href="{newest}/">calib</a>\n'
    (pages / "index.html").write_text(f'<!doctype html><meta charset="utf-8">{leads}', encoding="utf-8")
    text = (pages / newest / "llms.txt").read_text(encoding="utf-8")
    (pages / "llms.txt").write_text(text.replace("](", f"]({newest}/"), encoding="utf-8")
    (pages / ".nojekyll").touch()  # folders that begin with _ are shown, too
    return own


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("built", type=Path)
    parser.add_argument("pages", type=Path)
    parser.add_argument("root")
    print(publish(**vars(parser.parse_args())))
