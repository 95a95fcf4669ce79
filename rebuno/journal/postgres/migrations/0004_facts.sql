-- What a policy may ask about besides the steps. Old replicas go on beside new ones: no table that they know has
-- changed, since they read and write whole rows. What is recorded in an event (who let a step in, its definition's
-- digest, `nothing_done`) has no column here.

-- What the user wrote into a run after it began. The event `execution.said`, number `event_seq`, holds `number`, the
-- text's hash and who said it. An old replica that removes an execution knows only its contents: the rest goes along.
CREATE TABLE rebuno.turns (
    execution_id text COLLATE "C"  NOT NULL REFERENCES rebuno.contents (execution_id) ON DELETE CASCADE,
    number       bigint            NOT NULL,
    event_seq    bigint            NOT NULL,
    said_at      double precision  NOT NULL,
    said_by      text              NOT NULL,
    text         text              NOT NULL,
    PRIMARY KEY (execution_id, number)
);

-- Of an execution that another one began: what the user wrote to the root of them, as it stood at the delegating step.
-- `turns` is a list of texts; `read_args` are the arguments of that step if a person read and granted it. All are
-- canonical JSON; their hashes stand in the event `execution.created`.
CREATE TABLE rebuno.roots (
    execution_id text COLLATE "C" NOT NULL PRIMARY KEY REFERENCES rebuno.contents (execution_id) ON DELETE CASCADE,
    root_id      text             NOT NULL,
    input        text             NOT NULL,
    turns        text             NOT NULL,
    read_args    text
);

-- What servers said of their tools: canonical JSON, under its SHA-256 in hex digits.
CREATE TABLE rebuno.definitions (
    digest text COLLATE "C" NOT NULL PRIMARY KEY,
    text   text             NOT NULL
);

-- What people have changed in a call that they were asked about: the arguments that ran.
CREATE TABLE rebuno.ran_args (
    step_id      text COLLATE "C" NOT NULL PRIMARY KEY,
    execution_id text COLLATE "C" NOT NULL REFERENCES rebuno.contents (execution_id) ON DELETE CASCADE,
    approval_id  text             NOT NULL,
    args         text             NOT NULL
);

CREATE INDEX ran_args_by_execution ON rebuno.ran_args (execution_id);

-- The pots of limits by amount, and of those that have a name. `key` begins with the execution's id where it is of one
-- execution. `owner` is the execution, session or agent that it is of, or the digest of the value; empty for all.
-- `per` is the longest window ever declared in seconds, NULL for none, and `seconds` the one declared last; `number` and
-- `taken` are decimal numbers. `taken` is the sum of what was taken after `since` and not given back, or empty where it
-- must be added up anew.
CREATE TABLE rebuno.pots (
    key     text COLLATE "C" NOT NULL PRIMARY KEY,
    bundle  text             NOT NULL,
    name    text             NOT NULL,
    measure text             NOT NULL,
    scope   text             NOT NULL,
    owner   text             NOT NULL,
    number  text             NOT NULL,
    per     double precision,
    seconds double precision,
    since   double precision NOT NULL DEFAULT 0,
    taken   text             NOT NULL
);

-- What a step took from a pot: a decimal number of at most 40 digits. `returned_at` is 0 unless it was given back;
-- `sure` says that the step has started, so that no denial gives it back.
CREATE TABLE rebuno.amounts (
    key          text COLLATE "C" NOT NULL,
    step_id      text COLLATE "C" NOT NULL,
    execution_id text COLLATE "C" NOT NULL,
    at           double precision NOT NULL,
    amount       text             NOT NULL,
    returned_at  double precision NOT NULL DEFAULT 0,
    sure         boolean          NOT NULL DEFAULT false,
    PRIMARY KEY (key, step_id)
);

CREATE INDEX amounts_in_order ON rebuno.amounts (key, at);
CREATE INDEX amounts_by_step ON rebuno.amounts (step_id);
CREATE INDEX amounts_by_execution ON rebuno.amounts (execution_id);
CREATE INDEX amounts_unsure ON rebuno.amounts (key) WHERE NOT sure AND returned_at = 0;

-- For the forks that belong to the session of their source.
CREATE INDEX executions_by_source ON rebuno.executions (forked_from) WHERE forked_from <> '';
