-- name: run-lines
-- Executions without their large texts, newest first; an empty filter takes all.
SELECT e.id, e.agent_id, e.key, e.session, e.status, e.created_at, e.updated_at, e.ended_at, e.created_by,
       e.on_behalf_of, left(e.failure_reason, 300), e.head_seq, e.attempt, e.forked_from, e.spawned_execution_id,
       e.spawned_step_id, (SELECT left(c.input, 300) FROM rebuno.contents AS c WHERE c.execution_id = e.id),
       (SELECT count(*) FROM rebuno.approvals AS a WHERE a.execution_id = e.id AND a.status = 'pending')
FROM rebuno.executions AS e
WHERE (%(agents)s::text IS NULL OR e.agent_id IN (SELECT json_array_elements_text(%(agents)s::json)))
  AND (%(status)s::text IS NULL OR e.status = %(status)s) AND (%(session)s::text IS NULL OR e.session = %(session)s)
  AND (%(person)s::text IS NULL OR e.created_by = %(person)s OR e.on_behalf_of = %(person)s
       OR EXISTS (SELECT 1 FROM rebuno.approvals AS a WHERE a.execution_id = e.id AND a.decided_by = %(person)s))
  AND e.created_at >= %(since)s AND e.created_at < %(until)s
  AND ((%(verdict)s::text IS NULL AND %(rule_id)s::text IS NULL)
       OR EXISTS (SELECT 1 FROM rebuno.steps AS s WHERE s.execution_id = e.id
                  AND (%(verdict)s::text IS NULL OR s.verdict = %(verdict)s)
                  AND (%(rule_id)s::text IS NULL OR s.rule_id = %(rule_id)s)))
  AND (%(before)s::text IS NULL OR e.n < (SELECT n FROM rebuno.executions WHERE id = %(before)s))
  AND e.n > coalesce((SELECT n FROM rebuno.executions WHERE id = %(before)s),
                     (SELECT max(n) FROM rebuno.executions) + 1) - %(looked_at)s
ORDER BY e.n DESC LIMIT %(limit)s

-- name: child-lines
-- The subagents of an execution, oldest first.
SELECT e.id, e.agent_id, e.key, e.session, e.status, e.created_at, e.updated_at, e.ended_at, e.created_by,
       e.on_behalf_of, left(e.failure_reason, 300), e.head_seq, e.attempt, e.forked_from, e.spawned_execution_id,
       e.spawned_step_id, (SELECT left(c.input, 300) FROM rebuno.contents AS c WHERE c.execution_id = e.id),
       (SELECT count(*) FROM rebuno.approvals AS a WHERE a.execution_id = e.id AND a.status = 'pending')
FROM rebuno.executions AS e
WHERE e.spawned_step_id IN (SELECT step_id FROM rebuno.steps WHERE execution_id = %(id)s) AND e.spawned_step_id <> ''
ORDER BY e.n LIMIT %(limit)s

-- name: step-lines
-- A page of an execution's steps without their large texts, as they were decided.
SELECT step_id, parent_id, kind, target, status, verdict, rule_id, attempt, approval_id, decided_seq, started_seq,
       outcome_seq, decided_at, started_at, completed_at, input_tokens, output_tokens, left(args, 300),
       left(error, 300)
FROM rebuno.steps WHERE execution_id = %(id)s ORDER BY decided_seq LIMIT %(limit)s OFFSET %(offset)s

-- name: step-counts
-- How many steps of an execution there are of each sort.
SELECT status, verdict, count(*) FROM rebuno.steps WHERE execution_id = %(id)s
GROUP BY status, verdict ORDER BY status, verdict

-- name: steps-before
-- How many steps of an execution were decided before an event.
SELECT count(*) FROM rebuno.steps WHERE execution_id = %(id)s AND decided_seq < %(seq)s

-- name: attempt-events
-- The newest events of an execution itself; no character stands above `.` and below `/`.
SELECT execution_id, event_seq, type, payload, occurred_at, hash
FROM rebuno.events WHERE execution_id = %(id)s AND type LIKE 'execution.%%' ORDER BY event_seq DESC LIMIT %(limit)s

-- name: agent-counts
-- How many executions of each agent there are in each status.
SELECT agent_id, status, count(*), max(updated_at) FROM rebuno.executions GROUP BY agent_id, status ORDER BY agent_id, status

-- name: dispatch-lines
-- Dispatches, those first whose last delivery came to nothing.
SELECT id, execution_id, agent_id, state, attempt, failures, due_at, unreached, since, error
FROM rebuno.dispatches ORDER BY (error = ''), due_at LIMIT %(limit)s

-- name: answer-counts
-- What became of the questions that were asked since a time.
SELECT bundle, rule_id, status, decided_by, count(*) FROM rebuno.approvals WHERE created_at >= %(since)s
GROUP BY bundle, rule_id, status, decided_by ORDER BY count(*) DESC, bundle, rule_id LIMIT 1000

-- name: rule-counts
-- What rules have decided, in the steps of the newest executions.
SELECT s.bundle, s.rule_id, s.verdict, count(*)
FROM (SELECT id FROM rebuno.executions ORDER BY n DESC LIMIT %(looked_at)s) AS e
JOIN rebuno.steps AS s ON s.execution_id = e.id
WHERE s.decided_at >= %(since)s
GROUP BY s.bundle, s.rule_id, s.verdict ORDER BY s.bundle, s.rule_id, s.verdict LIMIT 2000

-- name: usage-counts
-- What model calls used, in the steps of the newest executions.
SELECT e.agent_id, s.target, floor(s.decided_at / 86400)::bigint, count(*), coalesce(sum(s.input_tokens), 0),
       coalesce(sum(s.output_tokens), 0)
FROM (SELECT id, agent_id FROM rebuno.executions ORDER BY n DESC LIMIT %(looked_at)s) AS e
JOIN rebuno.steps AS s ON s.execution_id = e.id
WHERE s.kind = 'llm_call' AND s.decided_at >= %(since)s
GROUP BY 1, 2, 3 ORDER BY 3, 1, 2 LIMIT 5000

-- name: answers-before
-- The newest questions of a rule that people have answered.
SELECT id, execution_id, step_id, cause, status, message, rule_id, digest, scope, decided_by, rationale, created_at,
       decided_at, requested_seq, resolved_seq, bundle, approvers, quorum, votes, timeout_at, asserted_by,
       edits, edited, edited_by
FROM rebuno.approvals WHERE bundle = %(bundle)s AND rule_id = %(rule_id)s AND status IN ('granted', 'denied')
ORDER BY n DESC LIMIT %(limit)s
