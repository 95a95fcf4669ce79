-- name: put-pot
-- Makes the pot of a limit, or keeps what was declared of it last.
INSERT INTO pots (key, bundle, name, measure, scope, owner, number, per, seconds, taken)
VALUES (:key, :bundle, :name, :measure, :scope, :owner, :number, :seconds, :seconds, '')
ON CONFLICT (key) DO UPDATE
SET number = excluded.number, seconds = excluded.seconds,
    per = iif(per IS NULL OR excluded.per IS NULL, NULL, max(per, excluded.per))

-- name: pot
-- What is taken from a pot since when, and for how long its places are kept.
SELECT taken, since, per FROM pots WHERE key = :key

-- name: set-pot
-- Keeps the sum of a pot.
UPDATE pots SET taken = :taken, since = :since WHERE key = :key

-- name: forget-amounts
-- Lets go of what no window will ever hold again.
DELETE FROM amounts WHERE key = :key AND at <= :before

-- name: amounts-between
-- What was taken from a pot after one time and until another.
SELECT amount FROM amounts WHERE key = :key AND at > :after AND at <= :until AND returned_at = 0.0

-- name: amounts-since
-- What was taken from a pot after a time, the oldest first.
SELECT at, amount FROM amounts WHERE key = :key AND at > :after AND returned_at = 0.0 ORDER BY at

-- name: amount
-- What a step has taken from a pot.
SELECT at, amount, returned_at FROM amounts WHERE key = :key AND step_id = :step_id

-- name: take-amount
-- Gives a step what it takes from a pot.
INSERT INTO amounts (key, step_id, execution_id, at, amount) VALUES (:key, :step_id, :execution_id, :at, :amount)
ON CONFLICT (key, step_id) DO UPDATE SET at = excluded.at, amount = excluded.amount, returned_at = 0.0

-- name: settle-amounts
-- Marks what the steps have taken for good that are over or denied after a start. Of one that failed, its tool may say
-- that nothing was done.
UPDATE amounts SET sure = 1
WHERE key = :key AND sure = 0 AND EXISTS (
    SELECT 1 FROM steps AS s WHERE s.step_id = amounts.step_id AND (
        s.status IN ('succeeded', 'cancelled') OR (s.status = 'denied' AND s.started_seq > 0)
        OR (s.status = 'failed' AND NOT EXISTS (
            SELECT 1 FROM events AS f WHERE f.execution_id = s.execution_id AND f.event_seq = s.outcome_seq
              AND f.payload LIKE '%"nothing_done":true%'
        ))
    )
)

-- name: unsure-amounts
-- What may be given back of a pot: by which steps, how these and their executions stand, and of one that failed and did
-- nothing the event that says so, and how often it was started.
SELECT a.step_id, a.at, a.amount, a.execution_id, s.status, coalesce(s.started_seq, 0), coalesce(e.ended_at, 0.0), f.payload,
       CASE WHEN f.payload IS NULL THEN 0 ELSE (
           SELECT count(*) FROM events AS b
           WHERE b.execution_id = s.execution_id AND b.event_seq BETWEEN s.started_seq AND s.outcome_seq
             AND b.type = 'step.executing' AND b.payload LIKE '%' || a.step_id || '%'
       ) END
FROM amounts AS a LEFT JOIN steps AS s ON s.step_id = a.step_id
LEFT JOIN executions AS e ON e.id = a.execution_id
LEFT JOIN events AS f ON s.status = 'failed' AND f.execution_id = s.execution_id AND f.event_seq = s.outcome_seq
    AND f.payload LIKE '%"nothing_done":true%'
WHERE a.key = :key AND a.sure = 0 AND a.returned_at = 0.0

-- name: set-sure
-- What a step has taken for good.
UPDATE amounts SET sure = 1 WHERE key = :key AND step_id = :step_id

-- name: return-amount
-- Gives back what a step has taken from a pot.
UPDATE amounts SET returned_at = :at WHERE key = :key AND step_id = :step_id

-- name: copy-amount
-- Gives a copied step what it has taken from a pot, if it has nothing there.
INSERT INTO amounts (key, step_id, execution_id, at, amount) VALUES (:key, :step_id, :execution_id, :at, :amount)
ON CONFLICT DO NOTHING

-- name: disturb-pot
-- Has a pot added up anew.
UPDATE pots SET taken = '' WHERE key = :key

-- name: return-amounts
-- Before an execution is removed: what its steps have taken from shared pots and never used is given back.
UPDATE amounts SET returned_at = :at
WHERE execution_id = :id AND sure = 0 AND returned_at = 0.0 AND NOT EXISTS (
    SELECT 1 FROM steps AS s WHERE s.step_id = amounts.step_id AND (s.status <> 'denied' OR s.started_seq > 0)
)

-- name: disturb-pots
-- Has the pots added up anew that an execution has taken from.
UPDATE pots SET taken = '' WHERE key IN (SELECT key FROM amounts WHERE execution_id = :id)

-- name: drop-amounts
-- Removes what was taken from an execution's own pots.
DELETE FROM amounts WHERE key >= :id AND key < :id || char(1114111)

-- name: drop-pots
-- Removes an execution's own pots.
DELETE FROM pots WHERE key >= :id AND key < :id || char(1114111)

-- name: pots
-- A page of pots with what was taken from each, in the order of their keys and of time.
SELECT p.key, p.bundle, p.name, p.measure, p.scope, p.owner, p.number, p.seconds, a.at, a.amount, a.sure,
       s.status, coalesce(s.started_seq, 0), coalesce(e.ended_at, 0.0), f.payload,
       CASE WHEN f.payload IS NULL THEN 0 ELSE (
           SELECT count(*) FROM events AS b
           WHERE b.execution_id = s.execution_id AND b.event_seq BETWEEN s.started_seq AND s.outcome_seq
             AND b.type = 'step.executing' AND b.payload LIKE '%' || a.step_id || '%'
       ) END
FROM (SELECT * FROM pots WHERE key > ?1 ORDER BY key LIMIT ?2) AS p
LEFT JOIN amounts AS a ON a.key = p.key AND a.returned_at = 0.0
LEFT JOIN steps AS s ON s.step_id = a.step_id
LEFT JOIN executions AS e ON e.id = a.execution_id
LEFT JOIN events AS f ON s.status = 'failed' AND f.execution_id = s.execution_id AND f.event_seq = s.outcome_seq
    AND f.payload LIKE '%"nothing_done":true%'
ORDER BY p.key, a.at

-- name: session-tokens
-- What the model calls of a session have used, without those of one execution. What a fork has copied is not counted
-- twice: it is taken away from what that execution has used itself.
WITH RECURSIVE mine (id, forked_from, created_at) AS (
    SELECT id, forked_from, created_at FROM executions WHERE agent_id = ?1 AND session = ?2
    UNION
    SELECT e.id, e.forked_from, e.created_at FROM executions AS e JOIN mine AS m ON e.forked_from = m.id
    WHERE e.session = '' AND e.forked_from <> ''
)
SELECT coalesce(sum((coalesce(s.input_tokens, 0) + coalesce(s.output_tokens, 0)) * CASE
    WHEN m.id = ?3 THEN CASE WHEN s.decided_at < m.created_at AND m.forked_from IN (SELECT id FROM mine) THEN -1 ELSE 0 END
    WHEN s.decided_at < m.created_at AND m.forked_from IN (SELECT id FROM mine) THEN 0
    ELSE 1
END), 0)
FROM mine AS m JOIN steps AS s ON s.execution_id = m.id WHERE s.input_tokens > 0 OR s.output_tokens > 0
