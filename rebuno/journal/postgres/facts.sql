-- name: events-at
-- The events of an execution that have these numbers.
SELECT * FROM rebuno.events
WHERE execution_id = %(id)s AND event_seq = ANY(%(numbers)s::bigint[]) ORDER BY event_seq

-- name: add-definition
-- Keeps what a server says of a tool; a second time is no change.
INSERT INTO rebuno.definitions (digest, text) VALUES (%(digest)s, %(text)s) ON CONFLICT DO NOTHING

-- name: definition
-- What a server says of a tool.
SELECT digest, text FROM rebuno.definitions WHERE digest = %(digest)s

-- name: definitions
-- A page of what servers say of tools.
SELECT digest, text FROM rebuno.definitions WHERE digest > %(after)s ORDER BY digest LIMIT %(limit)s

-- name: turns
-- What the user wrote into an execution.
SELECT execution_id, number, event_seq, said_at, said_by, text
FROM rebuno.turns WHERE execution_id = %(id)s ORDER BY number

-- name: root
-- What the user wrote to the root of an execution.
SELECT execution_id, root_id, input, turns, read_args FROM rebuno.roots WHERE execution_id = %(id)s

-- name: add-stop
-- A standing denial. Versions that know none do not start on this store any more.
WITH needed AS (INSERT INTO rebuno.schema_version (number) VALUES (5) ON CONFLICT DO NOTHING)
INSERT INTO rebuno.stops (id, agent, tool, reason, created_by, created_at, lifted_by, lifted_at)
VALUES (%(id)s, %(agent)s, %(tool)s, %(reason)s, %(created_by)s, %(created_at)s, '', 0) ON CONFLICT DO NOTHING

-- name: lift-stop
-- Ends one that stands.
UPDATE rebuno.stops SET lifted_by = %(by)s, lifted_at = %(at)s WHERE id = %(id)s AND lifted_at = 0

-- name: stops
-- Those that stand, or all; oldest first, for their ids grow with time.
SELECT id, agent, tool, reason, created_by, created_at, lifted_by, lifted_at FROM rebuno.stops WHERE %(lifted)s OR lifted_at = 0 ORDER BY id

-- name: add-restoration
-- This is a copy. Versions that ask nobody about one do not start on it any more.
WITH needed AS (INSERT INTO rebuno.schema_version (number) VALUES (5) ON CONFLICT DO NOTHING)
INSERT INTO rebuno.restorations (restored_at, restored_by) VALUES (%(at)s, %(by)s)

-- name: accept-restorations
-- Somebody has seen to what the copy does not know.
UPDATE rebuno.restorations SET accepted_at = %(at)s, accepted_by = %(by)s WHERE accepted_at = 0

-- name: restorations
-- When it was restored, and by whom, as far as nobody has accepted that; the newest first.
SELECT restored_at, restored_by FROM rebuno.restorations WHERE accepted_at = 0 ORDER BY n DESC

-- name: add-standing-grant
-- A grant that outlives its execution.
INSERT INTO rebuno.standing_grants (id, agent_id, kind, target, bundle, rule_id, rule_text, matches, approval_id, granted_by, asserted_by, rationale,
       created_at, expires_at, revoked_by, revoked_at)
VALUES (%(id)s, %(agent_id)s, %(kind)s, %(target)s, %(bundle)s, %(rule_id)s, %(rule_text)s, %(matches)s, %(approval_id)s, %(granted_by)s, %(asserted_by)s, %(rationale)s, %(created_at)s, %(expires_at)s, %(revoked_by)s, %(revoked_at)s) ON CONFLICT DO NOTHING

-- name: revoke-standing-grant
-- Ends one that stands.
UPDATE rebuno.standing_grants SET revoked_by = %(by)s, revoked_at = %(at)s WHERE id = %(id)s AND revoked_at = 0

-- name: standing-grants
-- Those of an agent for a step, or all of all agents; oldest first, for their ids grow with time.
SELECT id, agent_id, kind, target, bundle, rule_id, rule_text, matches, approval_id, granted_by, asserted_by, rationale,
       created_at, expires_at, revoked_by, revoked_at
FROM rebuno.standing_grants
WHERE (%(agent_id)s::text IS NULL OR agent_id = %(agent_id)s)
  AND (%(kind)s::text IS NULL OR (kind = %(kind)s AND target = %(target)s))
  AND (%(now)s::double precision IS NULL OR (revoked_at = 0 AND expires_at > %(now)s))
ORDER BY id

-- name: last-answer
-- What the same rule was answered last, in executions of one agent.
SELECT a.id, a.execution_id, a.step_id, a.cause, a.status, a.message, a.rule_id, a.digest, a.scope,
       a.decided_by, a.rationale, a.created_at, a.decided_at, a.requested_seq, a.resolved_seq, a.bundle,
       a.approvers, a.quorum, a.votes, a.timeout_at, a.asserted_by, a.edits, a.edited, a.edited_by
FROM rebuno.approvals AS a JOIN rebuno.executions AS e ON e.id = a.execution_id
WHERE a.rule_id = %(rule_id)s AND a.status IN ('granted', 'denied') AND a.bundle = %(bundle)s AND a.id <> %(id)s
  AND e.agent_id = %(agent_id)s
ORDER BY a.decided_at DESC LIMIT 1
