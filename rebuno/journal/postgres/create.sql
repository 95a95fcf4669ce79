-- name: create
-- Adds an execution and what comes with it, unless the agent has one under this key, or there is one with this id;
-- those that retention took count too. No step waits for the fork of a subagent. A step that takes a place at the same
-- time takes it before these places or sees them.
WITH given AS (
    SELECT * FROM json_to_record(%(change)s::json) AS given (
        execution json, input text, output text, state text, events json, steps json, approvals json, dispatch json,
        places json, turns json, root json, pots json, takes json, resources json, checkpoints json, data_key json,
        sealed json, pieces json
    )
), added AS (
    INSERT INTO rebuno.executions
           (id, agent_id, key, status, digest, failure_reason, attempt, owner, host, pid, lease_until, head_seq,
            head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session, continues,
            spawned_execution_id, spawned_step_id, created_by, on_behalf_of, seal, told, ended_at)
    SELECT x.id, x.agent_id, x.key, x.status, x.digest, x.failure_reason, x.attempt, x.owner, x.host, x.pid,
           x.lease_until, x.head_seq, x.head_hash, x.created_at, x.updated_at, x.deadline_at, x.pinned, x.forked_from,
           x.fork_seq, x.served, x.session, x.continues, x.spawned_execution_id, x.spawned_step_id, x.created_by,
           x.on_behalf_of, x.seal,
           x.spawned_execution_id <> '' AND x.spawned_step_id = '', x.ended_at
    FROM given AS g, json_populate_record(NULL::rebuno.executions, g.execution) AS x
    ON CONFLICT DO NOTHING
    RETURNING id
), held AS (
    INSERT INTO rebuno.contents SELECT added.id, g.input, g.output, g.state FROM added, given AS g
), dispatched AS (
    INSERT INTO rebuno.dispatches
    SELECT x.* FROM added, given AS g, json_populate_record(NULL::rebuno.dispatches, g.dispatch) AS x
    WHERE g.dispatch IS NOT NULL
), told AS (
    INSERT INTO rebuno.events
    SELECT x.* FROM added, given AS g, json_populate_recordset(NULL::rebuno.events, g.events) AS x
), pieced AS (
    INSERT INTO rebuno.pieces
    SELECT x.* FROM added, given AS g, json_populate_recordset(NULL::rebuno.pieces, g.pieces) AS x
), stepped AS (
    INSERT INTO rebuno.steps
    SELECT x.* FROM added, given AS g, json_populate_recordset(NULL::rebuno.steps, g.steps) AS x
), asked AS (
    INSERT INTO rebuno.approvals
           (id, execution_id, step_id, cause, status, message, rule_id, digest, scope, decided_by, rationale, created_at,
            decided_at, requested_seq, resolved_seq, bundle, approvers, quorum, votes, timeout_at, asserted_by,
            edits, edited, edited_by)
    SELECT x.id, x.execution_id, x.step_id, x.cause, x.status, x.message, x.rule_id, x.digest, x.scope, x.decided_by,
           x.rationale, x.created_at, x.decided_at, x.requested_seq, x.resolved_seq, x.bundle, x.approvers, x.quorum,
           x.votes, x.timeout_at, x.asserted_by, x.edits, x.edited, x.edited_by
    FROM added, given AS g, json_populate_recordset(NULL::rebuno.approvals, g.approvals) AS x
), placed AS (
    INSERT INTO rebuno.spends (key, step_id, at)
    SELECT x.key, x.step_id, x.at
    FROM added, given AS g, json_populate_recordset(NULL::rebuno.spends, g.places) AS x
    ON CONFLICT DO NOTHING
), windowed AS (
    INSERT INTO rebuno.windows AS w (key)
    SELECT DISTINCT x.key FROM added, given AS g, json_populate_recordset(NULL::rebuno.spends, g.places) AS x
    ORDER BY x.key
    ON CONFLICT (key) DO UPDATE SET key = w.key
), said AS (
    INSERT INTO rebuno.turns
    SELECT x.* FROM added, given AS g, json_populate_recordset(NULL::rebuno.turns, g.turns) AS x
), rooted AS (
    INSERT INTO rebuno.roots
    SELECT x.* FROM added, given AS g, json_populate_record(NULL::rebuno.roots, g.root) AS x WHERE g.root IS NOT NULL
), hidden AS (
    INSERT INTO rebuno.sealed_texts
    SELECT x.* FROM added, given AS g, json_populate_recordset(NULL::rebuno.sealed_texts, g.sealed) AS x
), keyed AS (
    INSERT INTO rebuno.data_keys (execution_id, key_id, covers, wrapped, created_at, erased_at, erased_by)
    SELECT x.execution_id, x.key_id, x.covers, x.wrapped, x.created_at, x.erased_at, x.erased_by
    FROM added, given AS g, json_populate_record(NULL::rebuno.data_keys, g.data_key) AS x
    WHERE g.data_key IS NOT NULL
), potted AS (
    INSERT INTO rebuno.pots AS p (key, bundle, name, measure, scope, owner, number, per, seconds, taken)
    SELECT DISTINCT ON (x.key) x.key, x.bundle, x.name, x.measure, x.scope, x.owner, x.number, x.seconds, x.seconds, ''
    FROM added, given AS g, json_populate_recordset(NULL::rebuno.pots, g.pots) AS x
    ORDER BY x.key
    ON CONFLICT (key) DO UPDATE SET taken = ''
), took AS (
    INSERT INTO rebuno.amounts (key, step_id, execution_id, at, amount)
    SELECT x.key, x.step_id, x.execution_id, x.at, x.amount
    FROM added, given AS g, json_populate_recordset(NULL::rebuno.amounts, g.takes) AS x
    ON CONFLICT DO NOTHING
), resourced AS (
    INSERT INTO rebuno.resources
    SELECT x.* FROM added, given AS g, json_populate_recordset(NULL::rebuno.resources, g.resources) AS x
), needed AS (
    -- Versions that do not know which steps end a checkpoint do not start on this store any more.
    INSERT INTO rebuno.schema_version (number)
    SELECT 7 FROM added, given AS g WHERE json_array_length(g.resources) > 0 ON CONFLICT DO NOTHING
), covered AS (
    INSERT INTO rebuno.checkpoints
    SELECT x.* FROM added, given AS g, json_populate_recordset(NULL::rebuno.checkpoints, g.checkpoints) AS x
)
SELECT count(*) FROM added
