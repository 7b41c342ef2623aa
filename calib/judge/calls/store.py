"""A store of raw replies in SQLite: every paid reply is kept before it is read."""

from __future__ import annotations

import hashlib
import sqlite3
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from importlib import resources
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Self

from calib.core.check import ArgumentError
from calib.core.text import printable
from calib.judge.replies.reply import ReplyChoice, decode, to_json

_PATIENCE = 30.0  # seconds in which whoever else writes may come to an end
_RULE = "must not be locked by another program"
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_UNWRITABLE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
# disks on which SQLite's write-ahead log does not work
_NETWORK = (
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "glusterfs", "lustre", "beegfs", "gpfs", "fuse.sshfs",
)  # fmt: skip
_LAPSE = 10.0  # seconds without a sign of life after which what a run claimed is free

_SCHEMA = resources.files("calib.judge.calls").joinpath("store.sql").read_text("utf-8")
_REPLY = """
SELECT replies.id, replies.request, replies.seed, replies.body, replies.arrived, requests.body FROM draws
JOIN replies ON replies.id = draws.reply JOIN requests ON requests.id = replies.request
"""
_CLAIM = """
INSERT INTO claims SELECT :key, :run WHERE NOT EXISTS (SELECT 1 FROM draws WHERE key = :key)
ON CONFLICT (key) DO UPDATE SET run = :run WHERE run = :run OR run NOT IN (SELECT id FROM runs WHERE seen > :alive)
"""


class Store:
    """Replies by the keys of their draws, in a file, for None in a temporary one. Use it as a context manager.

    Examples
    --------
    >>> with Store(None) as store:
    ...     store.put(["k"], {"model": "offline"}, b'{"choices": [{"message": {"content": "4"}}]}')
    ...     "k" in store, "l" in store, store.get("k").text
    True
    (True, False, '4')
    """

    def __init__(self, path: str | Path | None, others: Sequence[Path] = ()) -> None:
        self.path = None if path is None or str(path) == ":memory:" else Path(path)
        self._run_id, self._seen = uuid.uuid4().hex, False  # as others know this run; whether it showed itself
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            # without a path a temporary file: memory would grow with the replies
            self._db = _connection(self.path or "")
        except sqlite3.DatabaseError as error:
            if _code(error) in _LOCKED:
                raise ArgumentError("store", _RULE, f"{path} {_locked()}") from None
            kind = "a new file or a store of calib" if _code(error) not in _UNWRITABLE else "a file that can be written"
            raise ArgumentError("store", f"must be {kind}", f"{path} is not: {error}") from None

        self._others: list[sqlite3.Connection] = []
        try:
            for other in others:
                path = other
                self._others.append(_connection(other))
        except sqlite3.DatabaseError as error:
            for db in (self._db, *self._others):
                db.close()
            raise ArgumentError("store", "must be a store of calib", f"{path} is not: {error}") from None

    def marked(self, mark: str) -> str:
        """The file's mark of the run that it belongs to: the first one that it was given."""
        self._begin()
        self._db.execute("CREATE TABLE IF NOT EXISTS marks (mark TEXT NOT NULL)")
        self._db.execute("INSERT INTO marks SELECT ? WHERE NOT EXISTS (SELECT 1 FROM marks)", (mark,))
        self.commit()
        return str(self._db.execute("SELECT mark FROM marks").fetchone()[0])

    def put(self, keys: Sequence[str], request: Mapping[str, Any], body: bytes) -> bool:
        """Take one reply, whose choices are the draws under these keys; a key that is there keeps its first.

        It is safe on disk after `commit`, and with many replies in one commit it costs
        less. False says that some of the keys were there.
        """
        # draws of one item differ in their seed alone: the request itself is kept once
        frame = to_json({field: value for field, value in request.items() if field != "seed"})
        name = hashlib.blake2b(frame, digest_size=16).hexdigest()
        draws = [(key, choice) for choice, key in enumerate(keys)]
        new = self._insert((name, frame.decode()), (name, request.get("seed"), body, time.time()), draws)
        self.release(keys)
        return new

    def _insert(
        self, request: tuple[str, str], reply: tuple[str, int | None, bytes, float], draws: list[tuple[str, int]]
    ) -> bool:
        """A row of requests, one of replies and one for each draw; whether none of the draws was there."""
        self._begin()
        self._db.execute("INSERT OR IGNORE INTO requests VALUES (?, ?)", request)
        put = "INSERT INTO replies (request, seed, body, arrived) VALUES (?, ?, ?, ?)"
        new = self._db.execute(put, reply).lastrowid
        rows = [(key, new, choice) for key, choice in draws]
        return self._db.executemany("INSERT OR IGNORE INTO draws VALUES (?, ?, ?)", rows).rowcount == len(rows)

    def commit(self) -> None:
        """Write what was put."""
        if self._db.in_transaction:
            self._execute("COMMIT")

    # --- shared with others -------------------------------------------------------------------------------------

    def claim(self, keys: Sequence[str]) -> bool:
        """Claim these draws for this run, all or none; False where one is there, or another run asks for it.

        The file is locked until `commit`, from which on others see the claim. It ends with the run, and some seconds
        after the last `beat`.
        """
        if self.path is None:
            return True
        self._begin()
        alive, mine = time.time() - _LAPSE, list[str]()
        for key in keys:
            if not self._db.execute(_CLAIM, {"key": key, "run": self._run_id, "alive": alive}).rowcount:
                self.release(mine)
                return False
            mine.append(key)
        return True

    def release(self, keys: Iterable[str]) -> None:
        """Give up the claims to these draws."""
        if self.path is not None:
            self._begin()
            self._db.executemany("DELETE FROM claims WHERE key = ? AND run = ?", [(key, self._run_id) for key in keys])

    def beat(self) -> None:
        """Show that this run lives."""
        self._seen = True
        self._begin()
        self._db.execute("INSERT OR REPLACE INTO runs VALUES (?, ?)", (self._run_id, time.time()))
        self.commit()

    def _begin(self) -> None:
        if not self._db.in_transaction:
            self._execute("BEGIN IMMEDIATE")

    def _execute(self, sql: str) -> None:
        """Run a statement that may find the file locked."""
        try:
            self._db.execute(sql)
        except sqlite3.OperationalError as error:
            if _code(error) not in _LOCKED:
                raise
            raise sqlite3.OperationalError(f"{printable(str(self.path))} {_RULE}, but {_locked()}") from None

    def get(self, key: str) -> ReplyChoice:
        """The choice under a key; a KeyError where there is none."""
        for _, choice in self.read([key]):
            return choice
        raise KeyError(key)

    def read(self, keys: Iterable[str]) -> Iterator[tuple[str, ReplyChoice]]:
        """Those of the keys that are there, each with its choice, in the order in which they arrived."""
        keys = list(keys)
        self._take_over(keys)
        draw = "SELECT reply, choice, key FROM draws WHERE key = ?"
        rows = sorted(row for key in dict.fromkeys(keys) for row in self._db.execute(draw, (key,)))
        for reply, draws in groupby(rows, key=itemgetter(0)):
            try:
                (body,) = self._db.execute("SELECT body FROM replies WHERE id = ?", (reply,)).fetchone()
                choices = decode(body).choices
            except (TypeError, ValueError) as error:
                where = f"reply {reply} in {printable(str(self.path))}"
                raise sqlite3.DatabaseError(f"{where} cannot be read, it was damaged: {error}") from None
            for _, choice, key in draws:
                yield key, choices[choice]

    def _take_over(self, keys: Iterable[str]) -> None:
        """What other stores have of these draws and this one has not, each reply with all of its draws."""
        for other in self._others:
            for key in keys:
                theirs = other.execute(f"{_REPLY} WHERE draws.key = ?", (key,)).fetchone()
                if theirs is None or self._has(key):
                    continue
                reply, name, seed, body, arrived, request = theirs
                draws = other.execute("SELECT key, choice FROM draws WHERE reply = ?", (reply,)).fetchall()
                self._insert((name, request), (name, seed, body, arrived), draws)
            self.commit()

    def _has(self, key: str) -> bool:
        return self._db.execute("SELECT 1 FROM draws WHERE key = ?", (key,)).fetchone() is not None

    def save(self, path: str | Path) -> None:
        """Copy every reply into a file."""
        self.commit()
        with closing(sqlite3.connect(path)) as copy:
            self._db.backup(copy)

    def __contains__(self, key: str) -> bool:
        if not self._has(key):
            self._take_over([key])
        return self._has(key)

    def __len__(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM draws").fetchone()[0])

    def __repr__(self) -> str:
        try:
            holds = f"{len(self)} replies"
        except sqlite3.ProgrammingError:
            holds = "closed"
        return f"<Store {'in memory' if self.path is None else printable(str(self.path))}: {holds}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self.commit()
            if self._seen:
                # release the claims of this run and of those that died; in a locked file they lapse
                with suppress(sqlite3.OperationalError):
                    self._db.execute("PRAGMA busy_timeout = 1000")
                    self._begin()
                    self._db.execute("DELETE FROM runs WHERE id = ? OR seen < ?", (self._run_id, time.time() - _LAPSE))
                    self._db.execute("DELETE FROM claims WHERE run NOT IN (SELECT id FROM runs)")
                    self.commit()
        finally:
            for db in (self._db, *self._others):
                db.close()


def _connection(path: str | Path) -> sqlite3.Connection:
    disk = network_disk(path)
    head = b""
    if disk:
        with suppress(OSError), Path(path).open("rb") as file:
            head = file.read(20)
    if head[18:] == b"\x02\x02":  # so it says of itself
        rule = "must not be in WAL mode on a network disk, where SQLite's files break"
        mend = f"{path} is on {disk}: on the disk where it was made, sqlite3 FILE 'PRAGMA journal_mode = DELETE'"
        raise ArgumentError("store", rule, mend)
    # calls may run in a helper thread (inside Jupyter), one at a time
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        db.execute(f"PRAGMA busy_timeout = {_PATIENCE * 1000:.0f}")  # another process may be writing
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        if tables and "draws" not in tables:
            raise sqlite3.DatabaseError(f"it has other tables: {', '.join(tables)}")  # noqa: TRY301
        if tables:  # one that has another form is not to get tables of ours
            db.execute("SELECT key, reply, choice FROM draws LIMIT 0")
        db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
        db.execute("SELECT id, request, seed, body, arrived FROM replies LIMIT 0")
        with suppress(sqlite3.OperationalError):  # a matter of speed, and another process may be at it
            db.execute(f"PRAGMA journal_mode = {'DELETE' if disk else 'WAL'}")
        db.execute(f"PRAGMA synchronous = {'FULL' if disk else 'NORMAL'}")
    except sqlite3.DatabaseError:
        db.close()
        raise
    return db


def network_disk(path: str | Path) -> str:
    """The kind of network disk that a path lies on, as far as the system says; empty of a local one.

    Examples
    --------
    >>> network_disk(":memory:")
    ''
    """
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # not Linux
        return ""
    where = Path(path).absolute().resolve()
    kinds = {}  # the mount that is deepest holds the path
    for line in mounts if str(path) != ":memory:" else ():
        place, _, device = line.partition(" - ")
        point = Path(place.split()[4].replace("\\040", " "))
        if where.is_relative_to(point):
            kinds[len(point.parts)] = device.split()[0]
    kind = kinds[max(kinds)] if kinds else ""
    return kind if kind in _NETWORK else ""


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _locked() -> str:
    """How long, and what to do about it."""
    what = "a database browser, a copy or a backup, a process that was suspended: end it and run again to go on"
    return f"was for {_PATIENCE:g} s ({what})"
