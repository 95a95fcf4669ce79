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
