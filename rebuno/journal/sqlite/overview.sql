-- name: run-lines
-- Executions without their large texts, newest first; an empty filter takes all.
SELECT e.id, e.agent_id, e.key, e.session, e.status, e.created_at, e.updated_at, e.ended_at, e.created_by,
       e.on_behalf_of, substr(e.failure_reason, 1, 300), e.head_seq, e.attempt, e.forked_from, e.spawned_execution_id,
       e.spawned_step_id, (SELECT substr(c.input, 1, 300) FROM contents AS c WHERE c.n = e.n),
       (SELECT count(*) FROM approvals AS a WHERE a.execution_id = e.id AND a.status = 'pending')
FROM executions AS e
WHERE (?1 IS NULL OR e.agent_id IN (SELECT value FROM json_each(?1))) AND (?2 IS NULL OR e.status = ?2)
  AND (?3 IS NULL OR e.session = ?3)
  AND (?4 IS NULL OR e.created_by = ?4 OR e.on_behalf_of = ?4
       OR EXISTS (SELECT 1 FROM approvals AS a WHERE a.execution_id = e.id AND a.decided_by = ?4))
  AND e.created_at >= ?5 AND e.created_at < ?6
  AND ((?7 IS NULL AND ?8 IS NULL)
       OR EXISTS (SELECT 1 FROM steps AS s WHERE s.execution_id = e.id AND (?7 IS NULL OR s.verdict = ?7)
                  AND (?8 IS NULL OR s.rule_id = ?8)))
  AND (?9 IS NULL OR e.n < (SELECT n FROM executions WHERE id = ?9))
  AND e.n > coalesce((SELECT n FROM executions WHERE id = ?9), (SELECT max(n) FROM executions) + 1) - ?11
ORDER BY e.n DESC LIMIT ?10

-- name: child-lines
-- The subagents of an execution, oldest first.
SELECT e.id, e.agent_id, e.key, e.session, e.status, e.created_at, e.updated_at, e.ended_at, e.created_by,
       e.on_behalf_of, substr(e.failure_reason, 1, 300), e.head_seq, e.attempt, e.forked_from, e.spawned_execution_id,
       e.spawned_step_id, (SELECT substr(c.input, 1, 300) FROM contents AS c WHERE c.n = e.n),
       (SELECT count(*) FROM approvals AS a WHERE a.execution_id = e.id AND a.status = 'pending')
FROM executions AS e INDEXED BY executions_by_spawn
WHERE e.spawned_step_id IN (SELECT step_id FROM steps WHERE execution_id = ?1) AND e.spawned_step_id <> ''
ORDER BY e.n LIMIT ?2

-- name: step-lines
-- A page of an execution's steps without their large texts, as they were decided.
SELECT step_id, parent_id, kind, target, status, verdict, rule_id, attempt, approval_id, decided_seq, started_seq,
       outcome_seq, decided_at, started_at, completed_at, input_tokens, output_tokens, substr(args, 1, 300),
       substr(error, 1, 300)
FROM steps INDEXED BY steps_in_order WHERE execution_id = ?1 ORDER BY decided_seq LIMIT ?3 OFFSET ?2

-- name: step-counts
-- How many steps of an execution there are of each sort.
SELECT status, verdict, count(*) FROM steps WHERE execution_id = ?1 GROUP BY status, verdict ORDER BY status, verdict

-- name: steps-before
-- How many steps of an execution were decided before an event.
SELECT count(*) FROM steps INDEXED BY steps_in_order WHERE execution_id = ?1 AND decided_seq < ?2

-- name: attempt-events
-- The newest events of an execution itself; no character stands above `.` and below `/`.
SELECT execution_id, event_seq, type, payload, occurred_at, hash
FROM events WHERE execution_id = ?1 AND type >= 'execution.' AND type < 'execution/' ORDER BY event_seq DESC LIMIT ?2

-- name: agent-counts
-- How many executions of each agent there are in each status.
SELECT agent_id, status, count(*), max(updated_at) FROM executions GROUP BY agent_id, status ORDER BY agent_id, status

-- name: dispatch-lines
-- Dispatches, those first whose last delivery came to nothing.
SELECT id, execution_id, agent_id, state, attempt, failures, due_at, unreached, since, error
FROM dispatches ORDER BY error = '', due_at LIMIT ?1

-- name: answer-counts
-- What became of the questions that were asked since a time.
SELECT bundle, rule_id, status, decided_by, count(*) FROM approvals WHERE created_at >= ?1
GROUP BY bundle, rule_id, status, decided_by ORDER BY count(*) DESC, bundle, rule_id LIMIT 1000

-- name: rule-counts
-- What rules have decided, in the newest steps.
SELECT bundle, rule_id, verdict, count(*) FROM steps
WHERE n > (SELECT max(n) FROM steps) - ?2 AND decided_at >= ?1
GROUP BY bundle, rule_id, verdict ORDER BY bundle, rule_id, verdict LIMIT 2000

-- name: usage-counts
-- What model calls used, in the newest steps.
SELECT e.agent_id, s.target, CAST(s.decided_at / 86400 AS INTEGER), count(*), coalesce(sum(s.input_tokens), 0),
       coalesce(sum(s.output_tokens), 0)
FROM steps AS s JOIN executions AS e ON e.id = s.execution_id
WHERE s.n > (SELECT max(n) FROM steps) - ?2 AND s.kind = 'llm_call' AND s.decided_at >= ?1
GROUP BY 1, 2, 3 ORDER BY 3, 1, 2 LIMIT 5000

-- name: answers-before
-- The newest questions of a rule that people have answered.
SELECT id, execution_id, step_id, cause, status, message, rule_id, digest, scope, decided_by, rationale, created_at,
       decided_at, requested_seq, resolved_seq, bundle, approvers, quorum, votes, timeout_at, asserted_by,
       edits, edited, edited_by
FROM approvals WHERE bundle = ?1 AND rule_id = ?2 AND status IN ('granted', 'denied') ORDER BY n DESC LIMIT ?3
