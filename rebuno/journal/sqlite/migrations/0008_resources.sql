-- State outside of the store that executions work on. `configuration` and `binding` are canonical JSON (`binding` NULL:
-- not bound yet), `writers` is a JSON array of the steps that execute and have declared the resource. `generation`
-- counts the steps that may have changed it, `counted` those that ended and had declared it.
CREATE TABLE resources (
    execution_id   TEXT    NOT NULL REFERENCES executions (id) ON DELETE CASCADE,
    key            TEXT    NOT NULL,
    driver_id      TEXT    NOT NULL,
    configuration  TEXT    NOT NULL,
    coverage_reuse INTEGER NOT NULL,
    every_steps    INTEGER NOT NULL,
    on_completion  INTEGER NOT NULL,
    registered_seq INTEGER NOT NULL,
    generation     INTEGER NOT NULL,
    counted        INTEGER NOT NULL,
    binding        TEXT,
    checkpoint_ref TEXT    NOT NULL,
    writers        TEXT    NOT NULL,
    PRIMARY KEY (execution_id, key)
) STRICT, WITHOUT ROWID;

-- What holds the state of a resource as of event `covered_seq` until event `invalidated_seq` (0: it still does).
CREATE TABLE checkpoints (
    execution_id    TEXT    NOT NULL REFERENCES executions (id) ON DELETE CASCADE,
    key             TEXT    NOT NULL,
    covered_seq     INTEGER NOT NULL,
    generation      INTEGER NOT NULL,
    checkpoint_ref  TEXT    NOT NULL,
    invalidated_seq INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (execution_id, key, covered_seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX checkpoints_open ON checkpoints (execution_id, key) WHERE invalidated_seq = 0;
