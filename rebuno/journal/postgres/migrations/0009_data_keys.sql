-- Encryption at rest. Each execution that is sealed has one data key, wrapped under a key of a ring that lies outside the
-- store. `seal` is the name of that key of the ring, empty where the execution has no data key.
ALTER TABLE rebuno.executions ADD COLUMN seal text COLLATE "C" NOT NULL DEFAULT '';

CREATE OR REPLACE VIEW rebuno.execution_rows AS
SELECT n, id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, ended_at, told, seal
FROM rebuno.executions JOIN rebuno.contents ON execution_id = id
WHERE output_hash IS NULL;

-- For the erasure of what belongs to one person.
CREATE INDEX executions_by_person ON rebuno.executions (on_behalf_of) WHERE on_behalf_of <> '';

-- `covers` is `all` where every payload is sealed, `secrets` where only single values are. `wrapped` is NULL once the
-- execution was erased, at `erased_at`; from `purged_at` on no byte of the table's files holds the key (0: not yet).
-- An old replica that removes an execution knows only its contents: the rest goes along.
CREATE TABLE rebuno.data_keys (
    execution_id text COLLATE "C"  NOT NULL PRIMARY KEY REFERENCES rebuno.contents (execution_id) ON DELETE CASCADE,
    key_id       text COLLATE "C"  NOT NULL,
    covers       text COLLATE "C"  NOT NULL,
    wrapped      bytea,
    created_at   double precision  NOT NULL,
    erased_at    double precision  NOT NULL DEFAULT 0,
    erased_by    text              NOT NULL DEFAULT '',
    purged_at    double precision  NOT NULL DEFAULT 0
);

-- The server keeps samples of columns elsewhere: none of the keys.
ALTER TABLE rebuno.data_keys ALTER COLUMN wrapped SET STATISTICS 0;

CREATE INDEX data_keys_unpurged ON rebuno.data_keys (erased_at) WHERE erased_at > 0 AND purged_at = 0;

-- The texts of an execution in which single values are sealed, whole: what stands elsewhere has marks in their place.
CREATE TABLE rebuno.sealed_texts (
    execution_id text COLLATE "C" NOT NULL REFERENCES rebuno.contents (execution_id) ON DELETE CASCADE,
    slot         text COLLATE "C" NOT NULL,
    text         bytea            NOT NULL,
    PRIMARY KEY (execution_id, slot)
);
