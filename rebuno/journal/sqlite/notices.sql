-- name: notices-owed
-- What a target is to be told and has no row yet: of questions that are open, or were asked or answered since it has seen
-- all. Those that a fork copied are older than it, and were told of already.
WITH seen AS (
    SELECT COALESCE((SELECT t.seen_at FROM notice_targets AS t WHERE t.target = ?1), ?2) AS at
), questions AS (
    SELECT a.id, a.created_at, a.decided_at, a.timeout_at, a.status FROM approvals AS a WHERE a.status = 'pending'
    UNION
    SELECT a.id, a.created_at, a.decided_at, a.timeout_at, a.status
    FROM approvals AS a JOIN executions AS e ON e.id = a.execution_id
    WHERE a.created_at >= (SELECT at FROM seen) AND a.created_at >= e.created_at
    UNION
    SELECT a.id, a.created_at, a.decided_at, a.timeout_at, a.status
    FROM approvals AS a JOIN executions AS e ON e.id = a.execution_id
    WHERE a.decided_at >= (SELECT at FROM seen) AND a.decided_at >= e.created_at
), owed AS (
    SELECT q.id, 0 AS stage FROM questions AS q WHERE q.status = 'pending' OR q.created_at >= (SELECT at FROM seen)
    UNION ALL
    SELECT q.id, 1 FROM questions AS q
    WHERE q.status = 'pending' AND q.timeout_at > 0 AND ?2 < q.timeout_at
      AND ?2 >= q.created_at + 0.5 * (q.timeout_at - q.created_at)
      AND ?2 < q.created_at + 0.9 * (q.timeout_at - q.created_at)
    UNION ALL
    SELECT q.id, 2 FROM questions AS q
    WHERE q.status = 'pending' AND q.timeout_at > 0 AND ?2 < q.timeout_at
      AND ?2 >= q.created_at + 0.9 * (q.timeout_at - q.created_at)
    UNION ALL
    SELECT q.id, 3 FROM questions AS q WHERE q.status <> 'pending'
)
SELECT o.id, ?1, o.stage, 0, ?2, ?2, 0.0
FROM owed AS o
WHERE NOT EXISTS (SELECT 1 FROM notices AS n WHERE n.approval_id = o.id AND n.target = ?1 AND n.stage = o.stage)
ORDER BY o.stage, o.id LIMIT 100

-- name: notices-due
-- The first notice that a target is to be told now; one of a question waits for those before it.
SELECT n.approval_id, n.target, n.stage, n.attempts, n.created_at, n.due_at, n.done_at
FROM notices AS n
WHERE n.target = ?1 AND n.done_at = 0.0 AND n.due_at <= ?2
  AND NOT EXISTS (
      SELECT 1 FROM notices AS b
      WHERE b.approval_id = n.approval_id AND b.target = n.target AND b.stage < n.stage AND b.done_at = 0.0
  )
ORDER BY n.due_at, n.stage, n.approval_id LIMIT 1

-- name: add-notice
-- Something that a target is to be told; a second time is no change, nor where retention took the question.
INSERT INTO notices (approval_id, target, stage, attempts, created_at, due_at, done_at)
SELECT ?1, ?2, ?3, 0, ?4, ?4, 0.0
WHERE EXISTS (SELECT 1 FROM approvals AS a WHERE a.id = ?1)
ON CONFLICT DO NOTHING

-- name: notices-seen
-- Up to when a target has its notices.
SELECT t.seen_at FROM notice_targets AS t WHERE t.target = ?1

-- name: see-notices
-- Up to when a target has its notices, from now on.
INSERT INTO notice_targets (target, seen_at) VALUES (?1, ?2)
ON CONFLICT (target) DO UPDATE SET seen_at = ?2 WHERE notice_targets.seen_at < ?2

-- name: settle-notice
-- What a try came to. What is done stays done.
UPDATE notices SET attempts = ?4, due_at = ?5, done_at = ?6
WHERE approval_id = ?1 AND target = ?2 AND stage = ?3 AND done_at = 0.0
