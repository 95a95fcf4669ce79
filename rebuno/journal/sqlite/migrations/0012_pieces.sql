-- What kernels of older versions cannot read is written only once it stands here: in a store that was made by a kernel
-- that knows it, or of which nobody else has it open. `since` is seconds since 1970.
CREATE TABLE features (
    name  TEXT NOT NULL PRIMARY KEY,
    since REAL NOT NULL
) STRICT, WITHOUT ROWID;

-- Long arguments of steps, in pieces: what the calls of an execution repeat is stored once. The row of such a step has
-- `/pieces` behind its `kind`, and in the place of `args` their length and which pieces they are. The pieces of an
-- execution are numbered from 1, never changed, and go with it.
CREATE TABLE pieces (
    n           INTEGER PRIMARY KEY,
    execution_n INTEGER NOT NULL REFERENCES executions (n) ON DELETE CASCADE,
    number      INTEGER NOT NULL,
    text        TEXT    NOT NULL
) STRICT;

CREATE UNIQUE INDEX pieces_in_order ON pieces (execution_n, number);
