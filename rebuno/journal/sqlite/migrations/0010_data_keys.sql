-- Encryption at rest. Each execution that is sealed has one data key, wrapped under a key of a ring that lies outside the
-- store. `seal` is the name of that key of the ring, empty where the execution has no data key.
DROP VIEW execution_rows;

ALTER TABLE executions ADD COLUMN seal TEXT NOT NULL DEFAULT '';

CREATE VIEW execution_rows AS
SELECT n, id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, ended_at, told, seal
FROM executions JOIN contents USING (n);

-- For the erasure of what belongs to one person.
CREATE INDEX executions_by_person ON executions (on_behalf_of) WHERE on_behalf_of <> '';

-- `covers` is `all` where every payload is sealed, `secrets` where only single values are. `wrapped` is NULL once the
-- execution was erased, at `erased_at`; from `purged_at` on no byte of the file or of its log holds the key (0: not yet).
-- Times are seconds since 1970.
CREATE TABLE data_keys (
    execution_id TEXT NOT NULL PRIMARY KEY REFERENCES executions (id) ON DELETE CASCADE,
    key_id       TEXT NOT NULL,
    covers       TEXT NOT NULL,
    wrapped      BLOB,
    created_at   REAL NOT NULL,
    erased_at    REAL NOT NULL DEFAULT 0.0,
    erased_by    TEXT NOT NULL DEFAULT '',
    purged_at    REAL NOT NULL DEFAULT 0.0
) STRICT, WITHOUT ROWID;

CREATE INDEX data_keys_unpurged ON data_keys (erased_at) WHERE erased_at > 0 AND purged_at = 0;

-- The texts of an execution in which single values are sealed, whole: what stands elsewhere has marks in their place.
CREATE TABLE sealed_texts (
    execution_id TEXT NOT NULL REFERENCES executions (id) ON DELETE CASCADE,
    slot         TEXT NOT NULL,
    text         BLOB NOT NULL,
    PRIMARY KEY (execution_id, slot)
) STRICT, WITHOUT ROWID;
