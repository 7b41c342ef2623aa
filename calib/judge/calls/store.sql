-- What was asked, what came (one call may bring several choices), and the draws that the choices are; which draws a run
-- is asking for, so that others leave them to it, and when each run was last seen.
CREATE TABLE IF NOT EXISTS requests (
    id   TEXT PRIMARY KEY,
    body TEXT NOT NULL
);
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
CREATE TABLE IF NOT EXISTS claims (
    key TEXT PRIMARY KEY,
    run TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS runs (
    id   TEXT PRIMARY KEY,
    seen REAL NOT NULL
) WITHOUT ROWID;
