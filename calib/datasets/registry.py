"""The registry of data sets: their files, where these come from, and the check of what is read.

A file is looked for in the folder that the environment variable CALIB_DATA names, as
``<set>/<path>``, then in the cache; else it is downloaded from its repository at a fixed
commit and verified. The cards in the project's folder `datasets` say what each set holds,
under which licence, and how to cite it.
"""

import hashlib
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from calib import table
from calib.core.text import PrintableError, asset

Tables = tuple[pd.DataFrame, pd.DataFrame]
Record = dict[str, Any]

HOST = "https://raw.githubusercontent.com"


class DatasetError(PrintableError, RuntimeError):
    """A file of a set cannot be had, or is not the one that the registry names."""


@cache
def registered_sets() -> dict[str, Record]:
    """The entries of registry.json: about each set, its counts, its files."""
    entries: dict[str, Record] = json.loads(asset("datasets", "registry.json"))
    return entries


def available() -> pd.DataFrame:
    """What sets there are, and where their files would come from.

    One row per set: `set`, `loader`, `title`, `licence`, `citation`, and `where`: ``package`` (part of calib),
    ``CALIB_DATA``, ``cache`` or ``download`` (not here yet).

    Examples
    --------
    >>> frame = available()
    >>> frame.loc[frame["set"] == "planted", ["loader", "where"]].values.tolist()
    [['load_planted', 'package']]
    """
    rows = []
    for name, entry in registered_sets().items():
        elsewhere = [file for file in entry["files"] if _own_copy(name, file) is None]
        where = "CALIB_DATA" if entry["files"] else "package"
        if elsewhere:
            where = "cache" if all(_cache_path(name, file).is_file() for file in elsewhere) else "download"
        about = {key: entry[key] for key in ("loader", "title", "licence", "citation")}
        rows.append({"set": name, **about, "where": where})
    return pd.DataFrame(rows)


def checked_tables(name: str, items: Any, ratings: Any, /, **counts: int) -> Tables:
    """Both tables, checked, with the counts that the set is known to have: of the registry, and those given."""
    items, ratings = table.check_items(pd.DataFrame(items)), table.check_ratings(pd.DataFrame(ratings))
    numbers = {"items": len(items), "ratings": len(ratings)}
    numbers |= {f"{column}s": items[column].nunique() for column in ("group", "system") if column in items}
    for what, number in {**registered_sets()[name].get("counts", {}), **counts}.items():
        expect(name, what, numbers[what], number)
    return items, ratings


def expect(name: str, what: str, number: int, wanted: int) -> None:
    """Refuse files that hold another number of something."""
    if number != wanted:
        raise DatasetError(f"{name}: must have {wanted} {what}, but the files have {number}.")


# --- files ------------------------------------------------------------------------------------------------------


def read_json(name: str, path: str) -> Any:
    """A JSON file of a set."""
    return json.loads(read_file(name, path))


def read_jsonl(name: str, path: str) -> list[Record]:
    """A file of a set with one JSON record a line."""
    return [json.loads(line) for line in read_file(name, path).splitlines()]


def read_file(name: str, path: str) -> bytes:
    """The content of one file of a set, verified."""
    entry = registered_sets()[name]
    file = next(file for file in entry["files"] if file["path"] == path)
    if own := _own_copy(name, file):
        content = own.read_bytes()
        sha256, wanted = hashlib.sha256(content).hexdigest(), file.get("sha256") or file["own_sha256"]
        if sha256 != wanted and git_blob(content) != file.get("git_blob"):
            what = f"is not {path} of {entry['repository']} as the registry knows it"
            mend = "Replace it, or take it away to have it downloaded."
            raise DatasetError(f"{own}: {what}: its sha256 must be {wanted}, but is {sha256}. {mend}")
        return content
    import pooch

    cached = _cache_path(name, file)
    url = f"{HOST}/{entry['repository']}/{entry['commit']}/{file['path']}"
    expected = f"sha256:{file['sha256']}" if "sha256" in file else None
    try:
        downloader = pooch.HTTPDownloader(progressbar=True)
        pooch.retrieve(url, expected, fname=cached.name, path=cached.parent, downloader=downloader)
        content = cached.read_bytes()
    except (OSError, ValueError) as error:  # no connection, no such page; another hash
        problem = f"{type(error).__name__}: {error}"
    else:
        blob = git_blob(content)
        if file.get("git_blob") in (None, blob):
            return content
        cached.unlink()  # else the cache would have it the next time
        problem = f"ValueError: its git blob id must be {file['git_blob']}, but is {blob}"
    raise DatasetError(
        f"{name}: {file['path']} could not be downloaded from {url} ({problem}). To provide it, set the environment "
        f"variable CALIB_DATA to a folder that holds it as {_own_place(name, file)}."
    ) from None


def _own_copy(name: str, file: Record) -> Path | None:
    """The file in the folder CALIB_DATA, if it is there."""
    folder = os.environ.get("CALIB_DATA", "")
    if not folder:
        return None
    if not Path(folder).is_dir():
        raise DatasetError(f"`CALIB_DATA` must name a folder, but got {folder!r}.")
    path = Path(folder, _own_place(name, file))
    return path if path.is_file() else None


def _own_place(name: str, file: Record) -> str:
    return f"{name}/{file.get('place', file['path'])}"


def _cache_path(name: str, file: Record) -> Path:
    import pooch

    return Path(pooch.os_cache("calib"), name, registered_sets()[name]["commit"], file["path"])


def git_blob(content: bytes) -> str:
    """The id that git gives a file of this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
