-- What a served kernel keeps: agents, their bundles and dispatches, sessions, subagents, API keys.

DROP VIEW rebuno.execution_rows;

ALTER TABLE rebuno.executions
    ADD COLUMN served               boolean          NOT NULL DEFAULT false,
    ADD COLUMN session              text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN continues            text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN spawned_execution_id text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN spawned_step_id      text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN created_by           text             NOT NULL DEFAULT '',
    ADD COLUMN on_behalf_of         text             NOT NULL DEFAULT '',
    -- Whether the parent of a subagent knows of its end.
    ADD COLUMN told                 boolean          NOT NULL DEFAULT false;
ALTER TABLE rebuno.contents ADD COLUMN state text;

-- One execution of a session runs at a time, and a step has one subagent.
CREATE UNIQUE INDEX executions_in_session ON rebuno.executions (agent_id, session)
WHERE session <> '' AND status IN ('running', 'blocked');
CREATE UNIQUE INDEX executions_by_spawn ON rebuno.executions (spawned_step_id) WHERE spawned_step_id <> '';
CREATE INDEX executions_by_session ON rebuno.executions (agent_id, session, n) WHERE session <> '';
CREATE INDEX executions_pending ON rebuno.executions (n) WHERE status = 'pending';
CREATE INDEX executions_untold ON rebuno.executions (spawned_execution_id)
WHERE spawned_execution_id <> '' AND NOT told;

CREATE VIEW rebuno.execution_rows AS
SELECT n, id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, ended_at, told
FROM rebuno.executions JOIN rebuno.contents ON execution_id = id
WHERE output_hash IS NULL;

ALTER TABLE rebuno.steps
    ADD COLUMN visited    bigint NOT NULL DEFAULT 0,
    ADD COLUMN submission bigint NOT NULL DEFAULT 0;

CREATE TABLE rebuno.dispatches (
    id           text COLLATE "C"  NOT NULL,
    execution_id text COLLATE "C"  NOT NULL PRIMARY KEY,
    agent_id     text COLLATE "C"  NOT NULL,
    state        text COLLATE "C"  NOT NULL,
    attempt      bigint            NOT NULL,
    failures     bigint            NOT NULL,
    due_at       double precision  NOT NULL
);

CREATE INDEX dispatches_by_due ON rebuno.dispatches (due_at);

CREATE TABLE rebuno.agents (
    id            text COLLATE "C" NOT NULL PRIMARY KEY,
    webhook_url   text             NOT NULL,
    secret        text             NOT NULL,
    lease         double precision NOT NULL,
    registered_at double precision NOT NULL,
    description   text,
    input_schema  text,
    output_schema text
);

CREATE TABLE rebuno.policies (
    agent_id text COLLATE "C" NOT NULL PRIMARY KEY,
    version  bigint           NOT NULL,
    text     text             NOT NULL
);

CREATE TABLE rebuno.api_keys (
    n          bigint           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id         text COLLATE "C" NOT NULL UNIQUE,
    name       text             NOT NULL,
    scopes     text             NOT NULL,
    token_hash bytea            NOT NULL UNIQUE,
    created_at double precision NOT NULL,
    revoked_at double precision NOT NULL
);
