-- name: events-at
-- The events of an execution that have these numbers.
SELECT execution_id, event_seq, type, payload, occurred_at, hash
FROM events WHERE execution_id = ?1 AND event_seq IN (SELECT value FROM json_each(?2)) ORDER BY event_seq

-- name: add-definition
-- Keeps what a server says of a tool; a second time is no change.
INSERT INTO definitions (digest, text) VALUES (?1, ?2) ON CONFLICT DO NOTHING

-- name: definition
-- What a server says of a tool.
SELECT digest, text FROM definitions WHERE digest = ?1

-- name: definitions
-- A page of what servers say of tools.
SELECT digest, text FROM definitions WHERE digest > ?1 ORDER BY digest LIMIT ?2

-- name: add-stop
-- A standing denial.
INSERT INTO stops (id, agent, tool, reason, created_by, created_at, lifted_by, lifted_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, '', 0.0)

-- name: lift-stop
-- Ends one that stands.
UPDATE stops SET lifted_by = ?2, lifted_at = ?3 WHERE id = ?1 AND lifted_at = 0.0

-- name: stops
-- Those that stand, or all; oldest first, for their ids grow with time.
SELECT id, agent, tool, reason, created_by, created_at, lifted_by, lifted_at FROM stops WHERE ?1 OR lifted_at = 0.0 ORDER BY id

-- name: add-restoration
-- This is a copy.
INSERT INTO restorations (restored_at, restored_by) VALUES (?1, ?2)

-- name: accept-restorations
-- Somebody has seen to what the copy does not know.
UPDATE restorations SET accepted_at = ?1, accepted_by = ?2 WHERE accepted_at = 0.0

-- name: restorations
-- When it was restored, and by whom, as far as nobody has accepted that; the newest first.
SELECT restored_at, restored_by FROM restorations WHERE accepted_at = 0.0 ORDER BY n DESC

-- name: copied
-- How many executions there are, and when the newest change was made.
SELECT (SELECT count(*) FROM executions), (SELECT max(updated_at) FROM executions)

-- name: add-standing-grant
-- A grant that outlives its execution.
INSERT INTO standing_grants (id, agent_id, kind, target, bundle, rule_id, rule_text, matches, approval_id, granted_by, asserted_by, rationale,
       created_at, expires_at, revoked_by, revoked_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)

-- name: revoke-standing-grant
-- Ends one that stands.
UPDATE standing_grants SET revoked_by = ?2, revoked_at = ?3 WHERE id = ?1 AND revoked_at = 0.0

-- name: standing-grants
-- Those of an agent for a step, or all of all agents; oldest first, for their ids grow with time.
SELECT id, agent_id, kind, target, bundle, rule_id, rule_text, matches, approval_id, granted_by, asserted_by, rationale,
       created_at, expires_at, revoked_by, revoked_at
FROM standing_grants
WHERE (?1 IS NULL OR agent_id = ?1) AND (?2 IS NULL OR (kind = ?2 AND target = ?3))
  AND (?4 IS NULL OR (revoked_at = 0.0 AND expires_at > ?4))
ORDER BY id

-- name: last-answer
-- What the same rule was answered last, in executions of one agent.
SELECT a.id, a.execution_id, a.step_id, a.cause, a.status, a.message, a.rule_id, a.digest, a.scope,
       a.decided_by, a.rationale, a.created_at, a.decided_at, a.requested_seq, a.resolved_seq, a.bundle,
       a.approvers, a.quorum, a.votes, a.timeout_at, a.asserted_by, a.edits, a.edited, a.edited_by
FROM approvals AS a JOIN executions AS e ON e.id = a.execution_id
WHERE a.rule_id = ?1 AND a.status IN ('granted', 'denied') AND a.bundle = ?2 AND a.id <> ?3 AND e.agent_id = ?4
ORDER BY a.decided_at DESC LIMIT 1
