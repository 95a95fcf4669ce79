-- name: dispatch
-- The dispatch of an execution.
SELECT id, execution_id, agent_id, state, attempt, failures, due_at,
       coalesce(unreached, 0), coalesce(since, 0), coalesce(error, '')
FROM rebuno.dispatches WHERE execution_id = %(id)s

-- name: dispatches-due
-- Puts off the dispatches that nobody has to wait for any more, and those that this store put off to an `unsure` time
-- without hearing of it, and tells which they are. What another replica is about to take is left to it.
UPDATE rebuno.dispatches SET due_at = %(again)s
WHERE execution_id IN (
    SELECT d.execution_id FROM rebuno.dispatches AS d JOIN rebuno.executions AS e ON e.id = d.execution_id
    WHERE (d.due_at <= %(now)s OR d.due_at = ANY(%(unsure)s::double precision[])) AND e.status = 'running' AND e.lease_until <= %(now)s
    ORDER BY d.due_at LIMIT %(limit)s
    FOR UPDATE OF d SKIP LOCKED)
RETURNING id, execution_id, agent_id, state, attempt, failures, due_at,
       coalesce(unreached, 0), coalesce(since, 0), coalesce(error, '')

-- name: mark-step
-- Notes that an attempt has come to a step, unless it has already; nothing comes back where the execution is not this
-- attempt's.
WITH held AS (
    UPDATE rebuno.executions SET updated_at = %(now)s
    WHERE id = %(id)s AND attempt = %(attempt)s AND owner = %(owner)s AND ended_at = 0
    RETURNING id
), marked AS (
    UPDATE rebuno.steps AS s SET visited = %(attempt)s, submission = %(submission)s
    FROM held WHERE s.step_id = %(step_id)s AND s.execution_id = held.id
      AND (s.visited < %(attempt)s OR (s.visited = %(attempt)s AND s.submission = %(submission)s))
    RETURNING 1
)
SELECT (SELECT count(*) FROM marked) FROM held

-- name: session-live
-- The oldest execution of a session that has not ended.
SELECT id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, seal
FROM rebuno.execution_rows
WHERE agent_id = %(agent_id)s AND session = %(session)s AND session <> ''
  AND status IN ('pending', 'running', 'blocked')
ORDER BY n LIMIT 1

-- name: session-last
-- The newest execution of a session that has completed.
SELECT id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, seal
FROM rebuno.execution_rows
WHERE agent_id = %(agent_id)s AND session = %(session)s AND session <> '' AND status = 'completed'
ORDER BY n DESC LIMIT 1

-- name: sessions-free
-- The oldest pending execution of each session in which nothing runs or is blocked.
SELECT id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, seal
FROM rebuno.execution_rows AS p
WHERE p.status = 'pending' AND NOT EXISTS (
    SELECT 1 FROM rebuno.executions AS e
    WHERE e.agent_id = p.agent_id AND e.session = p.session AND e.session <> ''
      AND (e.status IN ('running', 'blocked') OR (e.status = 'pending' AND e.n < p.n)))
ORDER BY p.n LIMIT %(limit)s

-- name: child
-- The subagent of a step.
SELECT id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, seal
FROM rebuno.execution_rows WHERE spawned_step_id = %(id)s AND spawned_step_id <> ''

-- name: children
-- The subagents of an execution of whose end it does not know yet.
SELECT id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, seal
FROM rebuno.execution_rows WHERE spawned_execution_id = %(id)s AND spawned_execution_id <> '' AND NOT told ORDER BY n

-- name: children-ended
-- Subagents that have ended, whose parents do not know it yet.
SELECT id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, seal
FROM rebuno.execution_rows WHERE spawned_execution_id <> '' AND NOT told AND ended_at > 0 ORDER BY n LIMIT %(limit)s

-- name: orphans
-- Subagents that go on although their parents have ended, or the steps that began them failed.
SELECT c.id, c.agent_id, c.key, c.status, c.input, c.digest, c.output, c.failure_reason, c.attempt, c.owner, c.host,
       c.pid, c.lease_until, c.head_seq, c.head_hash, c.created_at, c.updated_at, c.deadline_at, c.pinned,
       c.forked_from, c.fork_seq, c.served, c.session, c.continues, c.spawned_execution_id, c.spawned_step_id,
       c.created_by, c.on_behalf_of, c.state, c.seal
FROM rebuno.execution_rows AS c LEFT JOIN rebuno.executions AS p ON p.id = c.spawned_execution_id
WHERE c.spawned_execution_id <> '' AND NOT c.told AND c.ended_at = 0 AND (p.id IS NULL OR p.ended_at > 0 OR EXISTS (
    SELECT 1 FROM rebuno.steps AS s WHERE s.step_id = c.spawned_step_id AND s.status IN ('failed', 'denied', 'cancelled')))
ORDER BY c.n LIMIT %(limit)s

-- name: tell
-- Notes that the parent of a subagent knows of its end.
UPDATE rebuno.executions SET told = true WHERE id = %(id)s

-- name: put-agent
-- Adds an agent, or changes where it is.
INSERT INTO rebuno.agents (id, webhook_url, secret, lease, registered_at)
VALUES (%(id)s, %(webhook_url)s, %(secret)s, %(lease)s, %(registered_at)s)
ON CONFLICT (id) DO UPDATE SET webhook_url = %(webhook_url)s, secret = %(secret)s, lease = %(lease)s

-- name: describe-agent
-- Keeps what an agent says of itself.
UPDATE rebuno.agents
SET description = %(description)s, input_schema = %(input_schema)s, output_schema = %(output_schema)s
WHERE id = %(id)s

-- name: agents
-- Every agent by its id.
SELECT id, webhook_url, secret, lease, registered_at, description, input_schema, output_schema
FROM rebuno.agents ORDER BY id

-- name: agent
-- One agent.
SELECT id, webhook_url, secret, lease, registered_at, description, input_schema, output_schema
FROM rebuno.agents WHERE id = %(id)s

-- name: drop-agent
-- Removes an agent.
DELETE FROM rebuno.agents WHERE id = %(id)s

-- name: put-policy
-- Keeps the text of an agent's bundle.
INSERT INTO rebuno.policies AS p (agent_id, version, text) VALUES (%(agent_id)s, 1, %(text)s)
ON CONFLICT (agent_id) DO UPDATE SET version = p.version + 1, text = %(text)s
RETURNING p.version

-- name: policy
-- An agent's bundle.
SELECT agent_id, version, text FROM rebuno.policies WHERE agent_id = %(agent_id)s

-- name: drop-policy
-- Removes an agent's bundle.
DELETE FROM rebuno.policies WHERE agent_id = %(agent_id)s

-- name: put-key
-- Adds an API key or changes it.
INSERT INTO rebuno.api_keys (id, name, scopes, token_hash, created_at, revoked_at)
VALUES (%(id)s, %(name)s, %(scopes)s, %(token_hash)s, %(created_at)s, %(revoked_at)s)
ON CONFLICT (id) DO UPDATE
SET name = %(name)s, scopes = %(scopes)s, token_hash = %(token_hash)s, revoked_at = %(revoked_at)s

-- name: keys
-- Every API key, oldest first.
SELECT id, name, scopes, token_hash, created_at, revoked_at FROM rebuno.api_keys ORDER BY n

-- name: key
-- The API key with a token.
SELECT id, name, scopes, token_hash, created_at, revoked_at FROM rebuno.api_keys WHERE token_hash = %(token_hash)s

-- name: count-executions
-- How many executions there are in each state.
SELECT status, count(*) FROM rebuno.executions WHERE output_hash IS NULL GROUP BY status ORDER BY status

-- name: count-dispatches
-- How many dispatches there are in each state.
SELECT state, count(*) FROM rebuno.dispatches GROUP BY state

-- name: notify
-- Passes a text to the listeners; a transaction of its own, since its commit takes a lock that all share.
SELECT pg_notify('rebuno_deltas', %(text)s)

-- name: listen
-- Hears what is handed over from now on.
LISTEN rebuno_deltas
