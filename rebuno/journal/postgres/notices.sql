-- name: notices-owed
-- What a target is to be told and has no row yet: of questions that are open, or were asked or answered since it has seen
-- all. Those that a fork copied are older than it, and were told of already.
WITH seen AS (
    SELECT COALESCE((SELECT t.seen_at FROM rebuno.notice_targets AS t WHERE t.target = %(target)s), %(now)s::double precision) AS at
), questions AS (
    SELECT a.id, a.created_at, a.decided_at, a.timeout_at, a.status FROM rebuno.approvals AS a WHERE a.status = 'pending'
    UNION
    SELECT a.id, a.created_at, a.decided_at, a.timeout_at, a.status
    FROM rebuno.approvals AS a JOIN rebuno.executions AS e ON e.id = a.execution_id
    WHERE a.created_at >= (SELECT at FROM seen) AND a.created_at >= e.created_at
    UNION
    SELECT a.id, a.created_at, a.decided_at, a.timeout_at, a.status
    FROM rebuno.approvals AS a JOIN rebuno.executions AS e ON e.id = a.execution_id
    WHERE a.decided_at >= (SELECT at FROM seen) AND a.decided_at >= e.created_at
), owed AS (
    SELECT q.id, 0 AS stage FROM questions AS q WHERE q.status = 'pending' OR q.created_at >= (SELECT at FROM seen)
    UNION ALL
    SELECT q.id, 1 FROM questions AS q
    WHERE q.status = 'pending' AND q.timeout_at > 0 AND %(now)s::double precision < q.timeout_at
      AND %(now)s::double precision >= q.created_at + 0.5 * (q.timeout_at - q.created_at)
      AND %(now)s::double precision < q.created_at + 0.9 * (q.timeout_at - q.created_at)
    UNION ALL
    SELECT q.id, 2 FROM questions AS q
    WHERE q.status = 'pending' AND q.timeout_at > 0 AND %(now)s::double precision < q.timeout_at
      AND %(now)s::double precision >= q.created_at + 0.9 * (q.timeout_at - q.created_at)
    UNION ALL
    SELECT q.id, 3 FROM questions AS q WHERE q.status <> 'pending'
)
SELECT o.id, %(target)s::text, o.stage, 0, %(now)s::double precision, %(now)s::double precision, 0
FROM owed AS o
WHERE NOT EXISTS (SELECT 1 FROM rebuno.notices AS n WHERE n.approval_id = o.id AND n.target = %(target)s AND n.stage = o.stage)
ORDER BY o.stage, o.id LIMIT 100

-- name: notices-due
-- The first notice that a target is to be told now; one of a question waits for those before it.
SELECT n.approval_id, n.target, n.stage, n.attempts, n.created_at, n.due_at, n.done_at
FROM rebuno.notices AS n
WHERE n.target = %(target)s AND n.done_at = 0 AND n.due_at <= %(now)s::double precision
  AND NOT EXISTS (
      SELECT 1 FROM rebuno.notices AS b
      WHERE b.approval_id = n.approval_id AND b.target = n.target AND b.stage < n.stage AND b.done_at = 0
  )
ORDER BY n.due_at, n.stage, n.approval_id LIMIT 1

-- name: add-notice
-- Something that a target is to be told; a second time is no change, nor where retention took the question.
INSERT INTO rebuno.notices (approval_id, target, stage, attempts, created_at, due_at, done_at)
SELECT %(approval_id)s::text, %(target)s::text, %(stage)s::bigint, 0, %(now)s::double precision, %(now)s::double precision, 0
WHERE EXISTS (SELECT 1 FROM rebuno.approvals AS a WHERE a.id = %(approval_id)s)
ON CONFLICT DO NOTHING

-- name: notices-seen
-- Up to when a target has its notices.
SELECT t.seen_at FROM rebuno.notice_targets AS t WHERE t.target = %(target)s

-- name: see-notices
-- Up to when a target has its notices, from now on.
INSERT INTO rebuno.notice_targets AS t (target, seen_at) VALUES (%(target)s, %(at)s::double precision)
ON CONFLICT (target) DO UPDATE SET seen_at = %(at)s::double precision WHERE t.seen_at < %(at)s::double precision

-- name: settle-notice
-- What a try came to. What is done stays done.
UPDATE rebuno.notices SET attempts = %(attempts)s, due_at = %(due_at)s::double precision, done_at = %(done_at)s::double precision
WHERE approval_id = %(approval_id)s AND target = %(target)s AND stage = %(stage)s AND done_at = 0
