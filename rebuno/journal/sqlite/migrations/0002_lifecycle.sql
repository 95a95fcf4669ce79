-- Deadlines and forks, the use of models, votes; places in limits, tombstones, and who leads.

DROP VIEW execution_rows;

ALTER TABLE executions ADD COLUMN deadline_at REAL    NOT NULL DEFAULT 0.0;
ALTER TABLE executions ADD COLUMN pinned      INTEGER NOT NULL DEFAULT 0;
ALTER TABLE executions ADD COLUMN forked_from TEXT    NOT NULL DEFAULT '';
ALTER TABLE executions ADD COLUMN fork_seq    INTEGER NOT NULL DEFAULT 0;
-- When it ended, 0 before: apart from `updated_at`, so that moving an execution's head moves no index.
ALTER TABLE executions ADD COLUMN ended_at    REAL    NOT NULL DEFAULT 0.0;

UPDATE executions SET ended_at = updated_at WHERE status IN ('completed', 'failed', 'cancelled');

CREATE INDEX executions_by_end ON executions (ended_at) WHERE ended_at > 0;
CREATE INDEX executions_by_deadline ON executions (deadline_at) WHERE deadline_at > 0 AND ended_at = 0;

CREATE VIEW execution_rows AS
SELECT n, id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, ended_at
FROM executions JOIN contents USING (n);

ALTER TABLE steps ADD COLUMN input_tokens  INTEGER;
ALTER TABLE steps ADD COLUMN output_tokens INTEGER;

ALTER TABLE approvals ADD COLUMN bundle      TEXT    NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN approvers   TEXT    NOT NULL DEFAULT '[]';
ALTER TABLE approvals ADD COLUMN quorum      INTEGER NOT NULL DEFAULT 1;
ALTER TABLE approvals ADD COLUMN votes       TEXT    NOT NULL DEFAULT '[]';
ALTER TABLE approvals ADD COLUMN timeout_at  REAL    NOT NULL DEFAULT 0.0;
ALTER TABLE approvals ADD COLUMN asserted_by TEXT    NOT NULL DEFAULT '';

CREATE INDEX approvals_by_timeout ON approvals (timeout_at) WHERE status = 'pending' AND timeout_at > 0;
-- For the removal of steps, which asks for each whether an approval belongs to it.
CREATE INDEX approvals_by_step ON approvals (step_id);

-- Who took a place in a limit, and when.
CREATE TABLE spends (
    key     TEXT NOT NULL,
    step_id TEXT NOT NULL,
    at      REAL NOT NULL,
    PRIMARY KEY (key, step_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX spends_in_order ON spends (key, at);

CREATE TABLE tombstones (
    id          TEXT NOT NULL PRIMARY KEY,
    agent_id    TEXT NOT NULL,
    key         TEXT,
    status      TEXT NOT NULL,
    output_hash TEXT NOT NULL,
    head_hash   BLOB NOT NULL,
    ended_at    REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX tombstones_by_key ON tombstones (agent_id, key) WHERE key IS NOT NULL;

CREATE TABLE leaders (
    role  TEXT    NOT NULL PRIMARY KEY,
    owner TEXT    NOT NULL,
    host  TEXT    NOT NULL,
    pid   INTEGER NOT NULL,
    until REAL    NOT NULL
) STRICT, WITHOUT ROWID;
