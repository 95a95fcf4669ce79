-- What a served kernel keeps: agents, their bundles and dispatches, sessions, subagents, API keys.

DROP VIEW execution_rows;

ALTER TABLE executions ADD COLUMN served               INTEGER NOT NULL DEFAULT 0;
ALTER TABLE executions ADD COLUMN session              TEXT    NOT NULL DEFAULT '';
ALTER TABLE executions ADD COLUMN continues            TEXT    NOT NULL DEFAULT '';
ALTER TABLE executions ADD COLUMN spawned_execution_id TEXT    NOT NULL DEFAULT '';
ALTER TABLE executions ADD COLUMN spawned_step_id      TEXT    NOT NULL DEFAULT '';
ALTER TABLE executions ADD COLUMN created_by           TEXT    NOT NULL DEFAULT '';
ALTER TABLE executions ADD COLUMN on_behalf_of         TEXT    NOT NULL DEFAULT '';
-- Whether the parent of a subagent knows of its end.
ALTER TABLE executions ADD COLUMN told                 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE contents   ADD COLUMN state                TEXT;

-- One execution of a session runs at a time, and a step has one subagent.
CREATE UNIQUE INDEX executions_in_session ON executions (agent_id, session)
WHERE session <> '' AND status IN ('running', 'blocked');
CREATE UNIQUE INDEX executions_by_spawn ON executions (spawned_step_id) WHERE spawned_step_id <> '';
CREATE INDEX executions_by_session ON executions (agent_id, session, n) WHERE session <> '';
CREATE INDEX executions_pending ON executions (n) WHERE status = 'pending';
CREATE INDEX executions_untold ON executions (spawned_execution_id) WHERE spawned_execution_id <> '' AND told = 0;

CREATE VIEW execution_rows AS
SELECT n, id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, ended_at, told
FROM executions JOIN contents USING (n);

ALTER TABLE steps ADD COLUMN visited    INTEGER NOT NULL DEFAULT 0;
ALTER TABLE steps ADD COLUMN submission INTEGER NOT NULL DEFAULT 0;

CREATE TABLE dispatches (
    id           TEXT    NOT NULL,
    execution_id TEXT    NOT NULL PRIMARY KEY REFERENCES executions (id),
    agent_id     TEXT    NOT NULL,
    state        TEXT    NOT NULL,
    attempt      INTEGER NOT NULL,
    failures     INTEGER NOT NULL,
    due_at       REAL    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX dispatches_by_due ON dispatches (due_at);

CREATE TABLE agents (
    id            TEXT NOT NULL PRIMARY KEY,
    webhook_url   TEXT NOT NULL,
    secret        TEXT NOT NULL,
    lease         REAL NOT NULL,
    registered_at REAL NOT NULL,
    description   TEXT,
    input_schema  TEXT,
    output_schema TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE policies (
    agent_id TEXT    NOT NULL PRIMARY KEY,
    version  INTEGER NOT NULL,
    text     TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE api_keys (
    n          INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    name       TEXT NOT NULL,
    scopes     TEXT NOT NULL,
    token_hash BLOB NOT NULL UNIQUE,
    created_at REAL NOT NULL,
    revoked_at REAL NOT NULL
) STRICT;
