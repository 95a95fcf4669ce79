-- Standing denials: nothing of an agent, of tools, or of all starts any more until they are lifted. Empty columns name
-- nothing: where both are empty, all is stopped. Times are seconds since 1970, `lifted_at` 0 while it stands.
CREATE TABLE stops (
    id         TEXT NOT NULL PRIMARY KEY,
    agent      TEXT NOT NULL,
    tool       TEXT NOT NULL,
    reason     TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at REAL NOT NULL,
    lifted_by  TEXT NOT NULL DEFAULT '',
    lifted_at  REAL NOT NULL DEFAULT 0.0
) STRICT, WITHOUT ROWID;

-- That this store was restored from a copy, each time: what came after the copy is not known here. While one was not
-- accepted (`accepted_at` 0), a person is asked before anything runs that may not run twice.
CREATE TABLE restorations (
    n           INTEGER PRIMARY KEY,
    restored_at REAL    NOT NULL,
    restored_by TEXT    NOT NULL,
    accepted_at REAL    NOT NULL DEFAULT 0.0,
    accepted_by TEXT    NOT NULL DEFAULT ''
) STRICT;
