-- What a policy may ask about besides the steps. Old code goes on with the file: no table that it knows has changed.
-- What is recorded in an event (who let a step in, its definition's digest, `nothing_done`) has no column here.

-- What the user wrote into a run after it began. The event `execution.said`, number `event_seq`, holds `number`, the
-- text's hash and who said it.
CREATE TABLE turns (
    execution_id TEXT    NOT NULL REFERENCES executions (id) ON DELETE CASCADE,
    number       INTEGER NOT NULL,
    event_seq    INTEGER NOT NULL,
    said_at      REAL    NOT NULL,
    said_by      TEXT    NOT NULL,
    text         TEXT    NOT NULL,
    PRIMARY KEY (execution_id, number)
) STRICT, WITHOUT ROWID;

-- Of an execution that another one began: what the user wrote to the root of them, as it stood at the delegating step.
-- `turns` is a list of texts; `read_args` are the arguments of that step if a person read and granted it. All are
-- canonical JSON; their hashes stand in the event `execution.created`.
CREATE TABLE roots (
    execution_id TEXT NOT NULL PRIMARY KEY REFERENCES executions (id) ON DELETE CASCADE,
    root_id      TEXT NOT NULL,
    input        TEXT NOT NULL,
    turns        TEXT NOT NULL,
    read_args    TEXT
) STRICT, WITHOUT ROWID;

-- What servers said of their tools: canonical JSON, under its SHA-256 in hex digits.
CREATE TABLE definitions (
    digest TEXT NOT NULL PRIMARY KEY,
    text   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What people have changed in a call that they were asked about: the arguments that ran.
CREATE TABLE ran_args (
    step_id      TEXT NOT NULL PRIMARY KEY REFERENCES steps (step_id) ON DELETE CASCADE,
    execution_id TEXT NOT NULL,
    approval_id  TEXT NOT NULL,
    args         TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The pots of limits by amount, and of those that have a name. `key` begins with the execution's id where it is of one
-- execution. `owner` is the execution, session or agent that it is of, or the digest of the value; empty for all.
-- `per` is the longest window ever declared in seconds, NULL for none, and `seconds` the one declared last; `number` and
-- `taken` are decimal numbers. `taken` is the sum of what was taken after `since` and not given back, or empty where it
-- must be added up anew.
CREATE TABLE pots (
    key     TEXT NOT NULL PRIMARY KEY,
    bundle  TEXT NOT NULL,
    name    TEXT NOT NULL,
    measure TEXT NOT NULL,
    scope   TEXT NOT NULL,
    owner   TEXT NOT NULL,
    number  TEXT NOT NULL,
    per     REAL,
    seconds REAL,
    since   REAL NOT NULL DEFAULT 0.0,
    taken   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What a step took from a pot: a decimal number of at most 40 digits. `returned_at` is 0 unless it was given back;
-- `sure` says that the step has started, so that no denial gives it back.
CREATE TABLE amounts (
    key          TEXT NOT NULL,
    step_id      TEXT NOT NULL,
    execution_id TEXT NOT NULL,
    at           REAL NOT NULL,
    amount       TEXT NOT NULL,
    returned_at  REAL NOT NULL DEFAULT 0.0,
    sure         INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (key, step_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX amounts_in_order ON amounts (key, at);
CREATE INDEX amounts_by_step ON amounts (step_id);
CREATE INDEX amounts_by_execution ON amounts (execution_id);
CREATE INDEX amounts_unsure ON amounts (key) WHERE sure = 0 AND returned_at = 0.0;

-- For the forks that belong to the session of their source.
CREATE INDEX executions_by_source ON executions (forked_from) WHERE forked_from <> '';
