-- name: put-dispatch
-- Gives an execution its dispatch, in the place of the one that it has.
INSERT INTO dispatches (id, execution_id, agent_id, state, attempt, failures, due_at, unreached, since, error)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT (execution_id) DO UPDATE
SET id = ?1, agent_id = ?3, state = ?4, attempt = ?5, failures = ?6, due_at = ?7, unreached = ?8, since = ?9,
    error = ?10

-- name: drop-dispatch
-- Takes an execution's dispatch away.
DELETE FROM dispatches WHERE execution_id = ?1

-- name: dispatch
-- The dispatch of an execution.
SELECT id, execution_id, agent_id, state, attempt, failures, due_at, unreached, since, error
FROM dispatches WHERE execution_id = ?1

-- name: dispatches-due
-- Puts off the dispatches that nobody has to wait for any more, and tells which they are.
UPDATE dispatches SET due_at = ?2
WHERE execution_id IN (
    SELECT d.execution_id FROM dispatches AS d JOIN executions AS e ON e.id = d.execution_id
    WHERE d.due_at <= ?1 AND e.status = 'running' AND e.lease_until <= ?1
    ORDER BY d.due_at LIMIT ?3)
RETURNING id, execution_id, agent_id, state, attempt, failures, due_at, unreached, since, error

-- name: mark-step
-- Notes that an attempt has come to a step, unless it has already.
UPDATE steps SET visited = ?3, submission = ?4
WHERE step_id = ?1 AND execution_id = ?2 AND (visited < ?3 OR (visited = ?3 AND submission = ?4))

-- name: set-continues
-- Notes which execution this one goes on from.
UPDATE executions SET continues = ?2 WHERE id = ?1

-- name: set-state
-- Keeps what an execution hands to the one that continues it.
UPDATE contents SET state = ?2 WHERE n = (SELECT n FROM executions WHERE id = ?1)

-- name: session-live
-- The oldest execution of a session that has not ended.
SELECT id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, seal
FROM execution_rows
WHERE agent_id = ?1 AND session = ?2 AND session <> '' AND status IN ('pending', 'running', 'blocked')
ORDER BY n LIMIT 1

-- name: session-last
-- The newest execution of a session that has completed.
SELECT id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, seal
FROM execution_rows
WHERE agent_id = ?1 AND session = ?2 AND session <> '' AND status = 'completed' ORDER BY n DESC LIMIT 1

-- name: sessions-free
-- The oldest pending execution of each session in which nothing runs or is blocked.
SELECT id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, seal
FROM execution_rows AS p
WHERE p.status = 'pending' AND NOT EXISTS (
    SELECT 1 FROM executions AS e
    WHERE e.agent_id = p.agent_id AND e.session = p.session AND e.session <> ''
      AND (e.status IN ('running', 'blocked') OR (e.status = 'pending' AND e.n < p.n)))
ORDER BY p.n LIMIT ?1

-- name: child
-- The subagent of a step.
SELECT id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, seal
FROM execution_rows WHERE spawned_step_id = ?1 AND spawned_step_id <> ''

-- name: children
-- The subagents of an execution of whose end it does not know yet.
SELECT id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, seal
FROM execution_rows WHERE spawned_execution_id = ?1 AND spawned_execution_id <> '' AND told = 0 ORDER BY n

-- name: children-ended
-- Subagents that have ended, whose parents do not know it yet.
SELECT id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, seal
FROM execution_rows WHERE spawned_execution_id <> '' AND told = 0 AND ended_at > 0 ORDER BY n LIMIT ?1

-- name: orphans
-- Subagents that go on although their parents have ended, or the steps that began them failed.
SELECT c.id, c.agent_id, c.key, c.status, c.input, c.digest, c.output, c.failure_reason, c.attempt, c.owner, c.host,
       c.pid, c.lease_until, c.head_seq, c.head_hash, c.created_at, c.updated_at, c.deadline_at, c.pinned,
       c.forked_from, c.fork_seq, c.served, c.session, c.continues, c.spawned_execution_id, c.spawned_step_id,
       c.created_by, c.on_behalf_of, c.state, c.seal
FROM execution_rows AS c LEFT JOIN executions AS p ON p.id = c.spawned_execution_id
WHERE c.spawned_execution_id <> '' AND c.told = 0 AND c.ended_at = 0 AND (p.id IS NULL OR p.ended_at > 0 OR EXISTS (
    SELECT 1 FROM steps AS s WHERE s.step_id = c.spawned_step_id AND s.status IN ('failed', 'denied', 'cancelled')))
ORDER BY c.n LIMIT ?1

-- name: tell
-- Notes that the parent of a subagent knows of its end.
UPDATE executions SET told = 1 WHERE id = ?1

-- name: put-agent
-- Adds an agent, or changes where it is.
INSERT INTO agents (id, webhook_url, secret, lease, registered_at) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (id) DO UPDATE SET webhook_url = ?2, secret = ?3, lease = ?4

-- name: describe-agent
-- Keeps what an agent says of itself.
UPDATE agents SET description = ?2, input_schema = ?3, output_schema = ?4 WHERE id = ?1

-- name: agents
-- Every agent by its id.
SELECT id, webhook_url, secret, lease, registered_at, description, input_schema, output_schema FROM agents ORDER BY id

-- name: agent
-- One agent.
SELECT id, webhook_url, secret, lease, registered_at, description, input_schema, output_schema
FROM agents WHERE id = ?1

-- name: drop-agent
-- Removes an agent.
DELETE FROM agents WHERE id = ?1

-- name: put-policy
-- Keeps the text of an agent's bundle.
INSERT INTO policies (agent_id, version, text) VALUES (?1, 1, ?2)
ON CONFLICT (agent_id) DO UPDATE SET version = version + 1, text = ?2
RETURNING version

-- name: policy
-- An agent's bundle.
SELECT agent_id, version, text FROM policies WHERE agent_id = ?1

-- name: drop-policy
-- Removes an agent's bundle.
DELETE FROM policies WHERE agent_id = ?1

-- name: put-key
-- Adds an API key or changes it.
INSERT INTO api_keys (id, name, scopes, token_hash, created_at, revoked_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (id) DO UPDATE SET name = ?2, scopes = ?3, token_hash = ?4, revoked_at = ?6

-- name: keys
-- Every API key, oldest first.
SELECT id, name, scopes, token_hash, created_at, revoked_at FROM api_keys ORDER BY n

-- name: key
-- The API key with a token.
SELECT id, name, scopes, token_hash, created_at, revoked_at FROM api_keys WHERE token_hash = ?1

-- name: count-executions
-- How many executions there are in each state.
SELECT status, count(*) FROM executions GROUP BY status ORDER BY status

-- name: count-dispatches
-- How many dispatches there are in each state.
SELECT state, count(*) FROM dispatches GROUP BY state
