"""A store of raw replies in SQLite: every paid reply is kept before it is read."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_SCHEMA = """
CREATE TABLE IF NOT EXISTS requests (
    id   TEXT PRIMARY KEY,
    body TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS replies (
    key     TEXT PRIMARY KEY,
    request TEXT NOT NULL REFERENCES requests (id),
    seed    INTEGER,
    reply   BLOB NOT NULL,
    arrived REAL NOT NULL
) WITHOUT ROWID;
"""


class Store:
    """Replies by key; a file, or memory for None. Use it as a context manager.

    Examples
    --------
    >>> with Store(None) as store:
    ...     store.put("k", {"model": "offline"}, {"choices": []})
    ...     store.missing(["k", "l"]), store.get("k")
    (['l'], {'choices': []})
    """

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else Path(path)
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        # calls may run in a helper thread (inside Jupyter), one at a time; each statement commits itself
        self._db = sqlite3.connect(self.path or ":memory:", isolation_level=None, check_same_thread=False)
        try:
            self._prepare()
        except sqlite3.DatabaseError as error:
            self._db.close()
            raise ValueError(f"`store` must be a new file or a store of calib, but {path} is not: {error}.") from None

    def _prepare(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute("PRAGMA busy_timeout = 30000")
        self._db.executescript(_SCHEMA)
        self._db.execute("SELECT key, request, seed, reply, arrived FROM replies LIMIT 0")

    def put(self, key: str, request: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
        """Keep one reply; a key that is there already keeps its first."""
        # draws of one item differ in their seed alone: the request itself is kept once
        body = json.dumps({name: value for name, value in request.items() if name != "seed"})
        name = hashlib.blake2b(body.encode(), digest_size=16).hexdigest()
        self._db.execute("INSERT OR IGNORE INTO requests VALUES (?, ?)", (name, body))
        row = (key, name, request.get("seed"), json.dumps(reply).encode(), time.time())
        self._db.execute("INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?, ?)", row)

    def get(self, key: str) -> dict[str, Any]:
        """The reply under a key.

        Raises
        ------
        KeyError
        """
        row = self._db.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise KeyError(key)
        reply: dict[str, Any] = json.loads(row[0])
        return reply

    def missing(self, keys: Iterable[str]) -> list[str]:
        """Those of the keys that have no reply yet, in their order."""
        wanted = list(dict.fromkeys(keys))
        found = self._db.execute(
            "SELECT key FROM replies WHERE key IN (SELECT value FROM json_each(?))", (json.dumps(wanted),)
        )
        there = {row[0] for row in found}
        return [key for key in wanted if key not in there]

    def __len__(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM replies").fetchone()[0])

    def __repr__(self) -> str:
        return f"<Store {self.path or 'in memory'}: {len(self)} replies>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()
