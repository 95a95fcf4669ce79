-- The journal. `n` orders rows by when they were added; times are seconds since 1970; texts of JSON are canonical.
-- Nothing is jsonb, which would change numbers and the order of keys. No foreign keys: every row of an execution is
-- written by a statement that holds the lock on the execution's own row, so there is nothing for them to find.
-- Names are compared byte by byte, whatever the database's language.

CREATE TABLE rebuno.executions (
    n              bigint           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id             text COLLATE "C" NOT NULL UNIQUE,
    agent_id       text COLLATE "C" NOT NULL,
    key            text COLLATE "C",
    status         text COLLATE "C" NOT NULL,
    digest         text COLLATE "C" NOT NULL,
    failure_reason text             NOT NULL,
    attempt        bigint           NOT NULL,
    owner          text,
    host           text,
    pid            bigint,
    lease_until    double precision NOT NULL,
    head_seq       bigint           NOT NULL,
    head_hash      bytea            NOT NULL,
    created_at     double precision NOT NULL,
    updated_at     double precision NOT NULL,
    deadline_at    double precision NOT NULL,
    pinned         boolean          NOT NULL,
    forked_from    text             NOT NULL,
    fork_seq       bigint           NOT NULL,
    -- When it ended, 0 before: apart from `updated_at`, so that moving an execution's head moves no index.
    ended_at       double precision NOT NULL DEFAULT 0,
    -- Of an execution that retention took, what is left is this row; its name stays taken.
    output_hash    text
) WITH (fillfactor = 50);

CREATE UNIQUE INDEX executions_by_key ON rebuno.executions (agent_id, key) WHERE key IS NOT NULL;
CREATE INDEX executions_by_name ON rebuno.executions (key) WHERE key IS NOT NULL;
CREATE INDEX executions_by_agent ON rebuno.executions (agent_id, n);
CREATE INDEX executions_by_status ON rebuno.executions (status, n);
CREATE INDEX executions_by_end ON rebuno.executions (ended_at) WHERE ended_at > 0 AND output_hash IS NULL;
CREATE INDEX executions_by_deadline ON rebuno.executions (deadline_at) WHERE deadline_at > 0 AND ended_at = 0;

-- Input and output stand apart, so that moving an execution's head never copies them.
CREATE TABLE rebuno.contents (
    execution_id text COLLATE "C" NOT NULL PRIMARY KEY,
    input        text NOT NULL,
    output       text
);

CREATE VIEW rebuno.execution_rows AS
SELECT n, id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, ended_at
FROM rebuno.executions JOIN rebuno.contents ON execution_id = id
WHERE output_hash IS NULL;

CREATE TABLE rebuno.events (
    execution_id text COLLATE "C" NOT NULL,
    event_seq    bigint NOT NULL,
    type         text   NOT NULL,
    payload      text   NOT NULL,
    occurred_at  text   NOT NULL,
    hash         bytea  NOT NULL,
    PRIMARY KEY (execution_id, event_seq)
);

CREATE TABLE rebuno.steps (
    step_id       text COLLATE "C" NOT NULL PRIMARY KEY,
    execution_id  text COLLATE "C" NOT NULL,
    parent_id     text             NOT NULL,
    kind          text             NOT NULL,
    target        text             NOT NULL,
    args          text             NOT NULL,
    args_hash     text             NOT NULL,
    occurrence    bigint           NOT NULL,
    idempotency   text             NOT NULL,
    status        text COLLATE "C" NOT NULL,
    verdict       text             NOT NULL,
    rule_id       text             NOT NULL,
    bundle        text             NOT NULL,
    digest        text COLLATE "C" NOT NULL,
    reason        text             NOT NULL,
    attempt       bigint           NOT NULL,
    result        text,
    error         text,
    approval_id   text             NOT NULL,
    decided_seq   bigint           NOT NULL,
    started_seq   bigint           NOT NULL,
    outcome_seq   bigint           NOT NULL,
    decided_at    double precision NOT NULL,
    started_at    double precision NOT NULL,
    completed_at  double precision NOT NULL,
    input_tokens  bigint,
    output_tokens bigint
) WITH (fillfactor = 80);

CREATE INDEX steps_in_order ON rebuno.steps (execution_id, decided_seq);

CREATE TABLE rebuno.approvals (
    n             bigint           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id            text COLLATE "C" NOT NULL UNIQUE,
    execution_id  text COLLATE "C" NOT NULL,
    step_id       text COLLATE "C" NOT NULL,
    cause         text             NOT NULL,
    status        text COLLATE "C" NOT NULL,
    message       text             NOT NULL,
    rule_id       text             NOT NULL,
    digest        text COLLATE "C" NOT NULL,
    scope         text             NOT NULL,
    decided_by    text             NOT NULL,
    rationale     text             NOT NULL,
    created_at    double precision NOT NULL,
    decided_at    double precision NOT NULL,
    requested_seq bigint           NOT NULL,
    resolved_seq  bigint           NOT NULL,
    bundle        text             NOT NULL,
    approvers     text             NOT NULL,
    quorum        bigint           NOT NULL,
    votes         text             NOT NULL,
    timeout_at    double precision NOT NULL,
    asserted_by   text             NOT NULL
);

CREATE INDEX approvals_by_status ON rebuno.approvals (status, n);
CREATE INDEX approvals_by_execution ON rebuno.approvals (execution_id, n);
CREATE INDEX approvals_by_timeout ON rebuno.approvals (timeout_at) WHERE status = 'pending' AND timeout_at > 0;

CREATE TABLE rebuno.bundle_sources (
    digest   text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    path     text   NOT NULL,
    text     text   NOT NULL,
    PRIMARY KEY (digest, position)
);

-- One row a limit, locked while places in it are counted.
CREATE TABLE rebuno.windows (
    key text COLLATE "C" NOT NULL PRIMARY KEY
);

-- Who took a place in a limit, and when.
CREATE TABLE rebuno.spends (
    key     text COLLATE "C" NOT NULL,
    step_id text COLLATE "C" NOT NULL,
    at      double precision NOT NULL,
    PRIMARY KEY (key, step_id)
);

CREATE INDEX spends_in_order ON rebuno.spends (key, at);

CREATE TABLE rebuno.leaders (
    role  text COLLATE "C" NOT NULL PRIMARY KEY,
    owner text             NOT NULL,
    until double precision NOT NULL
);
