-- State outside of the store that executions work on. `configuration` and `binding` are canonical JSON (`binding` NULL:
-- not bound yet), `writers` is a JSON array of the steps that execute and have declared the resource. `generation`
-- counts the steps that may have changed it, `counted` those that ended and had declared it.
CREATE TABLE rebuno.resources (
    execution_id   text COLLATE "C" NOT NULL REFERENCES rebuno.contents (execution_id) ON DELETE CASCADE,
    key            text COLLATE "C" NOT NULL,
    driver_id      text             NOT NULL,
    configuration  text             NOT NULL,
    coverage_reuse boolean          NOT NULL,
    every_steps    bigint           NOT NULL,
    on_completion  boolean          NOT NULL,
    registered_seq bigint           NOT NULL,
    generation     bigint           NOT NULL,
    counted        bigint           NOT NULL,
    binding        text,
    checkpoint_ref text             NOT NULL,
    writers        text             NOT NULL,
    PRIMARY KEY (execution_id, key)
);

-- What holds the state of a resource as of event `covered_seq` until event `invalidated_seq` (0: it still does).
CREATE TABLE rebuno.checkpoints (
    execution_id    text COLLATE "C" NOT NULL REFERENCES rebuno.contents (execution_id) ON DELETE CASCADE,
    key             text COLLATE "C" NOT NULL,
    covered_seq     bigint           NOT NULL,
    generation      bigint           NOT NULL,
    checkpoint_ref  text             NOT NULL,
    invalidated_seq bigint           NOT NULL DEFAULT 0,
    PRIMARY KEY (execution_id, key, covered_seq)
);

CREATE INDEX checkpoints_open ON rebuno.checkpoints (execution_id, key) WHERE invalidated_seq = 0;
