"""A store of raw replies in SQLite: every paid reply is kept before it is read."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from calib.judge._reply import Choice, decode, to_json

# what was asked, what came (one call may bring several choices), and the draws that the choices are
_SCHEMA = """
CREATE TABLE IF NOT EXISTS requests (
    id   TEXT PRIMARY KEY,
    body TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS replies (
    id      INTEGER PRIMARY KEY,
    request TEXT NOT NULL REFERENCES requests (id),
    seed    INTEGER,
    body    BLOB NOT NULL,
    arrived REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS draws (
    key    TEXT PRIMARY KEY,
    reply  INTEGER NOT NULL REFERENCES replies (id),
    choice INTEGER NOT NULL
) WITHOUT ROWID;
"""
_AT_ONCE = 2000  # draws fetched by one query


class Store:
    """Replies by the keys of their draws; a file, or memory for None. Use it as a context manager.

    Examples
    --------
    >>> with Store(None) as store:
    ...     store.put(["k"], {"model": "offline"}, b'{"choices": [{"message": {"content": "4"}}]}')
    ...     "k" in store, "l" in store, store.get("k").text
    (True, False, '4')
    """

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else Path(path)
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        # calls may run in a helper thread (inside Jupyter), one at a time
        self._db = sqlite3.connect(self.path or ":memory:", isolation_level=None, check_same_thread=False)
        try:
            self._prepare()
        except sqlite3.DatabaseError as error:
            self._db.close()
            raise ValueError(f"`store` must be a new file or a store of calib, but {path} is not: {error}.") from None

    def _prepare(self) -> None:
        self._db.execute("PRAGMA busy_timeout = 30000")  # another process may be writing
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.executescript(_SCHEMA)
        self._db.execute("SELECT id, request, seed, body, arrived FROM replies LIMIT 0")

    def put(self, keys: Sequence[str], request: Mapping[str, Any], body: bytes) -> None:
        """Take one reply, whose choices are the draws under these keys; a key that is there keeps its first.

        It is safe on disk after `commit`, and with many replies in one commit it costs less.
        """
        # draws of one item differ in their seed alone: the request itself is kept once
        asked = to_json({name: value for name, value in request.items() if name != "seed"})
        name = hashlib.blake2b(asked, digest_size=16).hexdigest()
        run = self._db.execute
        if not self._db.in_transaction:
            run("BEGIN IMMEDIATE")
        run("INSERT OR IGNORE INTO requests VALUES (?, ?)", (name, asked.decode()))
        row = (name, request.get("seed"), body, time.time())
        reply = run("INSERT INTO replies (request, seed, body, arrived) VALUES (?, ?, ?, ?)", row).lastrowid
        for choice, key in enumerate(keys):
            run("INSERT OR IGNORE INTO draws VALUES (?, ?, ?)", (key, reply, choice))

    def commit(self) -> None:
        """Write what was put."""
        if self._db.in_transaction:
            self._db.execute("COMMIT")

    def get(self, key: str) -> Choice:
        """The choice under a key.

        Raises
        ------
        KeyError
        """
        for _, choice in self.read([key]):
            return choice
        raise KeyError(key)

    def read(self, keys: Iterable[str]) -> Iterator[tuple[str, Choice]]:
        """Those of the keys that are there, each with its choice, in the order in which they arrived."""
        wanted = list(dict.fromkeys(keys))
        for start in range(0, len(wanted), _AT_ONCE):
            query = (
                "SELECT key, choice, body FROM draws JOIN replies ON reply = id "
                "WHERE key IN (SELECT value FROM json_each(?)) ORDER BY id, choice"
            )
            for key, choice, body in self._db.execute(query, (json.dumps(wanted[start : start + _AT_ONCE]),)):
                yield key, decode(body).choices[choice]

    def save(self, path: str | Path) -> None:
        """Copy everything into a file."""
        self.commit()
        copy = sqlite3.connect(path)
        with copy:
            self._db.backup(copy)
        copy.close()

    def __contains__(self, key: str) -> bool:
        return self._db.execute("SELECT 1 FROM draws WHERE key = ?", (key,)).fetchone() is not None

    def __len__(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM draws").fetchone()[0])

    def __repr__(self) -> str:
        return f"<Store {self.path or 'in memory'}: {len(self)} replies>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.commit()
        self._db.close()
