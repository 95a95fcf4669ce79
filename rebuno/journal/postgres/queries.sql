-- name: settings
-- What the server must be for a store on it, how long this connection waits for a lock, and how long the server waits
-- for this connection within a transaction, in milliseconds.
SELECT current_setting('server_version_num')::bigint, current_setting('server_encoding'),
       current_setting('synchronous_commit'), current_setting('transaction_read_only') = 'on',
       set_config('lock_timeout', %(patience)s::text, false),
       set_config('idle_in_transaction_session_timeout', %(idle)s::text, false),
       set_config('client_min_messages', 'warning', false)

-- name: plan-once
-- One plan for all values from the first on: those made for the values of the first five take longer than their work.
SELECT set_config('plan_cache_mode', 'force_generic_plan', false)

-- name: clock
-- The server's clock, in seconds since 1970.
SELECT extract(epoch FROM clock_timestamp())::double precision

-- name: server-process
-- Which of the server's processes answers.
SELECT pg_backend_pid()

-- name: confirm
-- Writes to the server's log and nowhere else. Its commit is answered as every other one, and so are those before it: on
-- the disk, and on a standby where the server waits for one.
SELECT pg_logical_emit_message(true, 'rebuno', '')

-- name: schema-exists
-- Whether a store was ever made here, and whether it has migrations that only add.
SELECT to_regclass('rebuno.schema_version') IS NOT NULL, to_regclass('rebuno.schema_additions') IS NOT NULL

-- name: schema-version
-- The newest migration that a version must know to work on the store.
SELECT max(number) FROM rebuno.schema_version

-- name: schema-added
-- The newest migration that only added.
SELECT max(number) FROM rebuno.schema_additions

-- name: schema-lock
-- One process migrates at a time; the lock goes with the transaction.
SELECT pg_advisory_xact_lock(8241972120017)

-- name: schema-quiet
-- Changes wait, before they have locked anything else, until the migration is done; reads go on.
LOCK TABLE rebuno.executions IN SHARE ROW EXCLUSIVE MODE

-- name: schema-make
-- Where the tables are, and which migrations made them. Earlier versions look at `schema_version` only, and refuse a
-- store where that has a number that they do not know.
CREATE SCHEMA IF NOT EXISTS rebuno;
CREATE TABLE IF NOT EXISTS rebuno.schema_version (
    number     bigint      NOT NULL PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE IF NOT EXISTS rebuno.schema_additions (
    number     bigint      NOT NULL PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now()
);

-- name: schema-applied
-- Notes a migration that a version must know.
INSERT INTO rebuno.schema_version (number) VALUES (%(number)s)

-- name: schema-added-to
-- Notes a migration that only adds.
INSERT INTO rebuno.schema_additions (number) VALUES (%(number)s) ON CONFLICT DO NOTHING

-- name: write
-- All that a change writes to one execution, in one statement that is its own transaction. One row comes back, or none
-- and nothing is written: the execution is not what the change was built on or, under a lease, not that attempt's.
-- Where a step or an approval has settled meanwhile, an approval has votes that the new row has not, or there is a turn
-- of the same number, its row is not put; then the division fails, and everything with it.
WITH given AS (
    SELECT * FROM json_to_record(%(change)s::json) AS given (
        id text, base_seq bigint, base_hash bytea, lease_attempt bigint, lease_owner text,
        head_seq bigint, head_hash bytea, at double precision, events json, steps json, approvals json,
        status text, failure_reason text, ended boolean, output text,
        attempt bigint, owner text, host text, pid bigint, lease_until double precision,
        dispatch json, continues text, state text, turns json, resources json, checkpoints json, sealed json,
        pieces json
    )
), moved AS (
    UPDATE rebuno.executions AS e
    SET head_seq = g.head_seq, head_hash = g.head_hash, updated_at = g.at,
        status = coalesce(g.status, e.status),
        failure_reason = coalesce(g.failure_reason, e.failure_reason),
        ended_at = CASE WHEN g.ended THEN g.at ELSE 0 END,
        attempt = coalesce(g.attempt, e.attempt),
        owner = CASE WHEN g.attempt IS NULL THEN e.owner ELSE g.owner END,
        host = CASE WHEN g.attempt IS NULL THEN e.host ELSE g.host END,
        pid = CASE WHEN g.attempt IS NULL THEN e.pid ELSE g.pid END,
        lease_until = CASE WHEN g.attempt IS NULL THEN e.lease_until ELSE g.lease_until END,
        continues = coalesce(g.continues, e.continues)
    FROM given AS g
    WHERE e.id = g.id AND e.head_seq = g.base_seq AND e.head_hash = g.base_hash AND e.ended_at = 0
      AND (g.lease_attempt IS NULL OR (e.attempt = g.lease_attempt AND e.owner = g.lease_owner))
    RETURNING g.id, g.output, g.events, g.steps, g.approvals, g.status, g.dispatch, g.state, g.turns, g.resources,
              g.checkpoints, g.sealed, g.pieces
), hidden AS (
    INSERT INTO rebuno.sealed_texts
    SELECT x.* FROM moved, json_populate_recordset(NULL::rebuno.sealed_texts, moved.sealed) AS x
    ON CONFLICT (execution_id, slot) DO UPDATE SET text = excluded.text
), told AS (
    INSERT INTO rebuno.events
    SELECT x.* FROM moved, json_populate_recordset(NULL::rebuno.events, moved.events) AS x
), come_to AS (
    UPDATE rebuno.contents AS c SET output = coalesce(moved.output, c.output), state = coalesce(moved.state, c.state)
    FROM moved WHERE c.execution_id = moved.id AND (moved.output IS NOT NULL OR moved.state IS NOT NULL)
), dispatched AS (
    INSERT INTO rebuno.dispatches
    SELECT x.* FROM moved, json_populate_record(NULL::rebuno.dispatches, moved.dispatch) AS x
    WHERE moved.dispatch IS NOT NULL
    ON CONFLICT (execution_id) DO UPDATE
    SET id = excluded.id, agent_id = excluded.agent_id, state = excluded.state, attempt = excluded.attempt,
        failures = excluded.failures, due_at = excluded.due_at, unreached = excluded.unreached,
        since = excluded.since, error = excluded.error
), over AS (
    DELETE FROM rebuno.dispatches AS d USING moved
    WHERE d.execution_id = moved.id AND moved.status IN ('blocked', 'completed', 'failed', 'cancelled')
), pieced AS (
    INSERT INTO rebuno.pieces
    SELECT x.* FROM moved, json_populate_recordset(NULL::rebuno.pieces, moved.pieces) AS x
), stepped AS (
    INSERT INTO rebuno.steps AS s
    SELECT x.* FROM moved, json_populate_recordset(NULL::rebuno.steps, moved.steps) AS x
    ON CONFLICT (step_id) DO UPDATE
    SET idempotency = excluded.idempotency, status = excluded.status, verdict = excluded.verdict,
        rule_id = excluded.rule_id, bundle = excluded.bundle, digest = excluded.digest, reason = excluded.reason,
        attempt = excluded.attempt, result = excluded.result, error = excluded.error,
        approval_id = excluded.approval_id,
        started_seq = coalesce(nullif(s.started_seq, 0), excluded.started_seq),
        started_at = coalesce(nullif(excluded.started_at, 0), s.started_at),
        outcome_seq = coalesce(nullif(excluded.outcome_seq, 0), s.outcome_seq),
        completed_at = coalesce(nullif(excluded.completed_at, 0), s.completed_at),
        input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens,
        visited = greatest(s.visited, excluded.visited),
        submission = CASE WHEN excluded.visited > s.visited THEN excluded.submission ELSE s.submission END
    WHERE s.execution_id = excluded.execution_id AND s.status NOT IN ('succeeded', 'failed', 'denied', 'cancelled')
    RETURNING 1
), asked AS (
    INSERT INTO rebuno.approvals AS a
           (id, execution_id, step_id, cause, status, message, rule_id, digest, scope, decided_by, rationale, created_at,
            decided_at, requested_seq, resolved_seq, bundle, approvers, quorum, votes, timeout_at, asserted_by,
            edits, edited, edited_by)
    SELECT x.id, x.execution_id, x.step_id, x.cause, x.status, x.message, x.rule_id, x.digest, x.scope, x.decided_by,
           x.rationale, x.created_at, x.decided_at, x.requested_seq, x.resolved_seq, x.bundle, x.approvers, x.quorum,
           x.votes, x.timeout_at, x.asserted_by, x.edits, x.edited, x.edited_by
    FROM moved, json_populate_recordset(NULL::rebuno.approvals, moved.approvals) AS x
    ON CONFLICT (id) DO UPDATE
    SET status = excluded.status, message = excluded.message, rule_id = excluded.rule_id, digest = excluded.digest,
        scope = excluded.scope, decided_by = excluded.decided_by, rationale = excluded.rationale,
        created_at = coalesce(nullif(excluded.created_at, 0), a.created_at),
        requested_seq = coalesce(nullif(excluded.requested_seq, 0), a.requested_seq),
        decided_at = excluded.decided_at, resolved_seq = excluded.resolved_seq, bundle = excluded.bundle,
        approvers = excluded.approvers, quorum = excluded.quorum, votes = excluded.votes,
        timeout_at = excluded.timeout_at, asserted_by = excluded.asserted_by, cause = excluded.cause,
        edits = excluded.edits, edited = excluded.edited, edited_by = excluded.edited_by
    WHERE a.execution_id = excluded.execution_id AND a.status = 'pending'
      AND left(excluded.votes, length(a.votes) - 1) = left(a.votes, length(a.votes) - 1)
    RETURNING 1
), said AS (
    INSERT INTO rebuno.turns
    SELECT x.* FROM moved, json_populate_recordset(NULL::rebuno.turns, moved.turns) AS x
    ON CONFLICT DO NOTHING
    RETURNING 1
), resourced AS (
    INSERT INTO rebuno.resources AS r
    SELECT x.* FROM moved, json_populate_recordset(NULL::rebuno.resources, moved.resources) AS x
    ON CONFLICT (execution_id, key) DO UPDATE
    SET every_steps = excluded.every_steps, on_completion = excluded.on_completion, generation = excluded.generation,
        counted = excluded.counted, binding = excluded.binding, checkpoint_ref = excluded.checkpoint_ref,
        writers = excluded.writers
), needed AS (
    -- Versions that do not know which steps end a checkpoint do not start on this store any more.
    INSERT INTO rebuno.schema_version (number)
    SELECT 7 FROM moved WHERE json_array_length(moved.resources) > 0
      AND NOT EXISTS (SELECT 1 FROM rebuno.schema_version WHERE number = 7)
    ON CONFLICT DO NOTHING
), invalidated AS (
    UPDATE rebuno.checkpoints AS c SET invalidated_seq = x.invalidated
    FROM moved, json_to_recordset(moved.resources) AS x (execution_id text, key text, invalidated bigint)
    WHERE c.execution_id = x.execution_id AND c.key = x.key AND c.invalidated_seq = 0 AND x.invalidated > 0
), covered AS (
    INSERT INTO rebuno.checkpoints AS c
    SELECT x.* FROM moved, json_populate_recordset(NULL::rebuno.checkpoints, moved.checkpoints) AS x
    ON CONFLICT (execution_id, key, covered_seq) DO UPDATE
    SET generation = excluded.generation, checkpoint_ref = excluded.checkpoint_ref,
        invalidated_seq = excluded.invalidated_seq
)
SELECT 1 / (
    CASE WHEN (SELECT count(*) FROM stepped) = json_array_length(moved.steps)
          AND (SELECT count(*) FROM asked) = json_array_length(moved.approvals)
          AND (SELECT count(*) FROM said) = json_array_length(moved.turns)
         THEN 1 ELSE 0 END)
FROM moved

-- name: write-steps
-- The same where neither the execution's own row nor an approval changes: nearly always, and it costs less.
WITH given AS (
    SELECT * FROM json_to_record(%(change)s::json) AS given (
        id text, base_seq bigint, base_hash bytea, lease_attempt bigint, lease_owner text,
        head_seq bigint, head_hash bytea, at double precision, events json, steps json, pieces json
    )
), moved AS (
    UPDATE rebuno.executions AS e
    SET head_seq = g.head_seq, head_hash = g.head_hash, updated_at = g.at
    FROM given AS g
    WHERE e.id = g.id AND e.head_seq = g.base_seq AND e.head_hash = g.base_hash AND e.ended_at = 0
      AND (g.lease_attempt IS NULL OR (e.attempt = g.lease_attempt AND e.owner = g.lease_owner))
    RETURNING g.events, g.steps, g.pieces
), told AS (
    INSERT INTO rebuno.events
    SELECT x.* FROM moved, json_populate_recordset(NULL::rebuno.events, moved.events) AS x
), pieced AS (
    INSERT INTO rebuno.pieces
    SELECT x.* FROM moved, json_populate_recordset(NULL::rebuno.pieces, moved.pieces) AS x
), stepped AS (
    INSERT INTO rebuno.steps AS s
    SELECT x.* FROM moved, json_populate_recordset(NULL::rebuno.steps, moved.steps) AS x
    ON CONFLICT (step_id) DO UPDATE
    SET idempotency = excluded.idempotency, status = excluded.status, verdict = excluded.verdict,
        rule_id = excluded.rule_id, bundle = excluded.bundle, digest = excluded.digest, reason = excluded.reason,
        attempt = excluded.attempt, result = excluded.result, error = excluded.error,
        approval_id = excluded.approval_id,
        started_seq = coalesce(nullif(s.started_seq, 0), excluded.started_seq),
        started_at = coalesce(nullif(excluded.started_at, 0), s.started_at),
        outcome_seq = coalesce(nullif(excluded.outcome_seq, 0), s.outcome_seq),
        completed_at = coalesce(nullif(excluded.completed_at, 0), s.completed_at),
        input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens,
        visited = greatest(s.visited, excluded.visited),
        submission = CASE WHEN excluded.visited > s.visited THEN excluded.submission ELSE s.submission END
    WHERE s.execution_id = excluded.execution_id AND s.status NOT IN ('succeeded', 'failed', 'denied', 'cancelled')
    RETURNING 1
)
SELECT 1 / (CASE WHEN (SELECT count(*) FROM stepped) = json_array_length(moved.steps) THEN 1 ELSE 0 END)
FROM moved

-- name: head
-- What `write` found changed.
SELECT head_seq, head_hash, status, attempt, owner
FROM rebuno.executions WHERE id = %(id)s AND output_hash IS NULL

-- name: event-hash
-- The hash of one event, or of the last one of an execution that retention took: whether a write whose answer was lost
-- is in the log.
SELECT hash FROM rebuno.events WHERE execution_id = %(id)s AND event_seq = %(seq)s
UNION ALL
SELECT head_hash FROM rebuno.executions WHERE id = %(id)s AND head_seq = %(seq)s AND output_hash IS NOT NULL

-- name: buried-since
-- Whether an execution of this moment was there, and retention took it.
SELECT 1 FROM rebuno.executions WHERE id = %(id)s AND created_at = %(at)s AND output_hash IS NOT NULL

-- name: renew
-- Extends a lease, if the attempt still has it and it is not over.
-- A statement that comes late does not shorten it.
UPDATE rebuno.executions SET lease_until = CASE WHEN %(until)s = 0 THEN 0 ELSE greatest(lease_until, %(until)s) END
WHERE id = %(id)s AND attempt = %(attempt)s AND owner = %(owner)s AND lease_until > 0 AND ended_at = 0

-- name: execution
-- One execution.
SELECT id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, seal
FROM rebuno.execution_rows WHERE id = %(id)s

-- name: execution-by-key
-- An agent's execution under the caller's own id.
SELECT id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, seal
FROM rebuno.execution_rows WHERE agent_id = %(agent_id)s AND key = %(key)s

-- name: executions-by-key
-- Every agent's execution under the caller's own id.
SELECT id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, seal
FROM rebuno.execution_rows WHERE key = %(key)s ORDER BY n

-- name: executions-by-prefix
-- The executions whose ids begin so; no character stands above U+10FFFF.
SELECT id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, seal
FROM rebuno.execution_rows WHERE id >= %(prefix)s AND id < %(prefix)s || chr(1114111) ORDER BY id LIMIT 10

-- name: executions
-- A page of executions, newest first; an empty filter takes all.
SELECT id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, seal
FROM rebuno.execution_rows
WHERE (%(agent_id)s::text IS NULL OR agent_id = %(agent_id)s) AND (%(status)s::text IS NULL OR status = %(status)s)
  AND (%(session)s::text IS NULL OR session = %(session)s)
  AND (%(before)s::text IS NULL OR n < (SELECT n FROM rebuno.executions WHERE id = %(before)s))
ORDER BY n DESC LIMIT %(limit)s

-- name: executions-due
-- The executions whose time is up, the most overdue first.
SELECT id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, seal
FROM rebuno.execution_rows
WHERE deadline_at > 0 AND deadline_at < %(before)s AND ended_at = 0
ORDER BY deadline_at, n LIMIT %(limit)s

-- name: executions-ended
-- The executions that ended before a time, oldest first.
SELECT id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, seal
FROM rebuno.execution_rows
WHERE ended_at > 0 AND ended_at < %(before)s
ORDER BY ended_at, n LIMIT %(limit)s

-- name: steps
-- A page of an execution's steps as they were decided.
SELECT * FROM rebuno.steps
WHERE execution_id = %(id)s AND decided_seq > %(after)s ORDER BY decided_seq LIMIT %(limit)s

-- name: successes
-- A page of an execution's steps, its successes in one text of seven lines for each, which takes a fraction of the time
-- of a row for each. Long texts are left out.
SELECT count(*), count(*) FILTER (WHERE short), max(decided_seq), min(digest), max(digest),
       sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0))::bigint,
       string_agg(concat_ws(%(end)s, step_id, parent_id, kind, target, args, occurrence, result), %(end)s)
       FILTER (WHERE short)
FROM (SELECT *, status = 'succeeded' AND octet_length(args) + octet_length(result) < 65536 AS short
      FROM rebuno.steps
      WHERE execution_id = %(id)s AND decided_seq > %(after)s ORDER BY decided_seq LIMIT %(limit)s) AS page

-- name: step
-- One step.
SELECT * FROM rebuno.steps WHERE step_id = %(id)s

-- name: events
-- A page of an execution's events.
SELECT * FROM rebuno.events
WHERE execution_id = %(id)s AND event_seq > %(after)s ORDER BY event_seq LIMIT %(limit)s

-- name: approval
-- One approval.
SELECT id, execution_id, step_id, cause, status, message, rule_id, digest, scope, decided_by, rationale, created_at,
       decided_at, requested_seq, resolved_seq, bundle, approvers, quorum, votes, timeout_at, asserted_by,
       edits, edited, edited_by
FROM rebuno.approvals WHERE id = %(id)s

-- name: approvals
-- Approvals as they were asked for; an empty filter takes all.
SELECT id, execution_id, step_id, cause, status, message, rule_id, digest, scope, decided_by, rationale, created_at,
       decided_at, requested_seq, resolved_seq, bundle, approvers, quorum, votes, timeout_at, asserted_by,
       edits, edited, edited_by
FROM rebuno.approvals
WHERE (%(id)s::text IS NULL OR execution_id = %(id)s) AND (%(status)s::text IS NULL OR status = %(status)s)
  AND (%(after)s::text IS NULL OR n > (SELECT n FROM rebuno.approvals WHERE id = %(after)s))
ORDER BY n LIMIT %(limit)s

-- name: approvals-due
-- Questions that nobody answered in time, the most overdue first.
SELECT id, execution_id, step_id, cause, status, message, rule_id, digest, scope, decided_by, rationale, created_at,
       decided_at, requested_seq, resolved_seq, bundle, approvers, quorum, votes, timeout_at, asserted_by,
       edits, edited, edited_by
FROM rebuno.approvals
WHERE status = 'pending' AND timeout_at > 0 AND timeout_at < %(before)s
ORDER BY timeout_at, n LIMIT %(limit)s

-- name: bury
-- Leaves of an execution that has ended only its row. One row comes back, or none where there is nothing to bury.
WITH gone AS (
    UPDATE rebuno.executions
    SET output_hash = %(output_hash)s, status = %(status)s, head_hash = %(head_hash)s, ended_at = %(ended_at)s
    WHERE id = %(id)s AND ended_at > 0 AND output_hash IS NULL
    RETURNING id
), contents AS (
    DELETE FROM rebuno.contents AS c USING gone WHERE c.execution_id = gone.id
), events AS (
    DELETE FROM rebuno.events AS e USING gone WHERE e.execution_id = gone.id
), steps AS (
    DELETE FROM rebuno.steps AS s USING gone WHERE s.execution_id = gone.id
), approvals AS (
    DELETE FROM rebuno.approvals AS a USING gone WHERE a.execution_id = gone.id
), spends AS (
    DELETE FROM rebuno.spends AS p USING gone WHERE p.key >= gone.id AND p.key < gone.id || chr(1114111)
), windows AS (
    DELETE FROM rebuno.windows AS w USING gone WHERE w.key >= gone.id AND w.key < gone.id || chr(1114111)
), own_amounts AS (
    DELETE FROM rebuno.amounts AS a USING gone WHERE a.key >= gone.id AND a.key < gone.id || chr(1114111)
), own_pots AS (
    DELETE FROM rebuno.pots AS p USING gone WHERE p.key >= gone.id AND p.key < gone.id || chr(1114111)
), returned AS (
    -- What its steps have taken from shared pots and never used.
    UPDATE rebuno.amounts AS a SET returned_at = %(ended_at)s FROM gone
    WHERE a.execution_id = gone.id AND NOT a.sure AND a.returned_at = 0
      AND NOT (a.key >= gone.id AND a.key < gone.id || chr(1114111))
      AND NOT EXISTS (
          SELECT 1 FROM rebuno.steps AS s WHERE s.step_id = a.step_id AND (s.status <> 'denied' OR s.started_seq > 0)
      )
    RETURNING a.key
), disturbed AS (
    UPDATE rebuno.pots AS p SET taken = '' FROM returned AS r WHERE p.key = r.key
)
SELECT id FROM gone

-- name: buried
-- Whether this very tombstone is there.
SELECT id FROM rebuno.executions
WHERE id = %(id)s AND output_hash = %(output_hash)s AND head_hash = %(head_hash)s AND ended_at = %(ended_at)s

-- name: tombstone
-- What is left of an agent's execution under this key, or else of any agent's with this id.
SELECT id, agent_id, key, status, output_hash, head_hash, ended_at
FROM rebuno.executions
WHERE output_hash IS NOT NULL AND ((agent_id = %(agent_id)s AND key = %(key)s) OR id = %(key)s)
ORDER BY (agent_id = %(agent_id)s AND key IS NOT DISTINCT FROM %(key)s) DESC LIMIT 1

-- name: removed
-- What is left of the executions whose ids begin so, or that any agent had under this key.
SELECT id, agent_id, key, status, output_hash, head_hash, ended_at
FROM rebuno.executions
WHERE output_hash IS NOT NULL AND ((id >= %(ref)s AND id < %(ref)s || chr(1114111)) OR key = %(ref)s)
ORDER BY key IS NOT DISTINCT FROM %(ref)s DESC, id LIMIT 10

-- name: lead
-- Takes a role that is nobody's, or keeps it: one row, or none where another has it.
INSERT INTO rebuno.leaders AS l (role, owner, until) VALUES (%(role)s, %(owner)s, %(until)s)
ON CONFLICT (role) DO UPDATE SET owner = excluded.owner, until = excluded.until
WHERE l.owner = excluded.owner OR l.until <= %(now)s
RETURNING role

-- name: resign
-- Gives up all roles of a store.
DELETE FROM rebuno.leaders WHERE owner = %(owner)s

-- name: add-sources
-- Keeps the files of a policy; a second time is no change.
INSERT INTO rebuno.bundle_sources (digest, position, path, text)
SELECT %(digest)s, number - 1, path, text
FROM unnest(%(paths)s::text[], %(texts)s::text[]) WITH ORDINALITY AS given (path, text, number)
ON CONFLICT DO NOTHING

-- name: sources
-- The files of a policy, in order.
SELECT path, text FROM rebuno.bundle_sources WHERE digest = %(digest)s ORDER BY position
