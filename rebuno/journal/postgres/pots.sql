-- name: put-pot
-- Makes the pot of a limit, or keeps what was declared of it last.
INSERT INTO rebuno.pots AS p (key, bundle, name, measure, scope, owner, number, per, seconds, taken)
VALUES (%(key)s, %(bundle)s, %(name)s, %(measure)s, %(scope)s, %(owner)s, %(number)s, %(seconds)s::double precision, %(seconds)s::double precision, '')
ON CONFLICT (key) DO UPDATE
SET number = excluded.number, seconds = excluded.seconds,
    per = CASE WHEN p.per IS NOT NULL AND excluded.per IS NOT NULL THEN greatest(p.per, excluded.per) END

-- name: pot
-- What is taken from a pot since when, and for how long its places are kept.
SELECT taken, since, per FROM rebuno.pots WHERE key = %(key)s

-- name: set-pot
-- Keeps the sum of a pot.
UPDATE rebuno.pots SET taken = %(taken)s, since = %(since)s WHERE key = %(key)s

-- name: forget-amounts
-- Lets go of what no window will ever hold again.
DELETE FROM rebuno.amounts WHERE key = %(key)s AND at <= %(before)s

-- name: amounts-between
-- What was taken from a pot after one time and until another.
SELECT amount FROM rebuno.amounts WHERE key = %(key)s AND at > %(after)s AND at <= %(until)s AND returned_at = 0

-- name: amounts-since
-- What was taken from a pot after a time, the oldest first.
SELECT at, amount FROM rebuno.amounts WHERE key = %(key)s AND at > %(after)s AND returned_at = 0 ORDER BY at

-- name: amount
-- What a step has taken from a pot.
SELECT at, amount, returned_at FROM rebuno.amounts WHERE key = %(key)s AND step_id = %(step_id)s

-- name: take-amount
-- Gives a step what it takes from a pot.
INSERT INTO rebuno.amounts (key, step_id, execution_id, at, amount) VALUES (%(key)s, %(step_id)s, %(execution_id)s, %(at)s, %(amount)s)
ON CONFLICT (key, step_id) DO UPDATE SET at = excluded.at, amount = excluded.amount, returned_at = 0

-- name: settle-amounts
-- Marks what the steps have taken for good that are over or denied after a start. Of one that failed, its tool may say
-- that nothing was done.
UPDATE rebuno.amounts AS a SET sure = true
WHERE a.key = %(key)s AND NOT a.sure AND EXISTS (
    SELECT 1 FROM rebuno.steps AS s WHERE s.step_id = a.step_id AND (
        s.status IN ('succeeded', 'cancelled') OR (s.status = 'denied' AND s.started_seq > 0)
        OR (s.status = 'failed' AND NOT EXISTS (
            SELECT 1 FROM rebuno.events AS f WHERE f.execution_id = s.execution_id AND f.event_seq = s.outcome_seq
              AND f.payload LIKE '%%"nothing_done":true%%'
        ))
    )
)

-- name: unsure-amounts
-- What may be given back of a pot: by which steps, how these and their executions stand, and of one that failed and did
-- nothing the event that says so, and how often it was started.
SELECT a.step_id, a.at, a.amount, a.execution_id, s.status, coalesce(s.started_seq, 0), coalesce(e.ended_at, 0), f.payload,
       CASE WHEN f.payload IS NULL THEN 0 ELSE (
           SELECT count(*) FROM rebuno.events AS b
           WHERE b.execution_id = s.execution_id AND b.event_seq BETWEEN s.started_seq AND s.outcome_seq
             AND b.type = 'step.executing' AND b.payload LIKE '%%' || a.step_id || '%%'
       ) END
FROM rebuno.amounts AS a LEFT JOIN rebuno.steps AS s ON s.step_id = a.step_id
LEFT JOIN rebuno.executions AS e ON e.id = a.execution_id AND e.output_hash IS NULL
LEFT JOIN rebuno.events AS f ON s.status = 'failed' AND f.execution_id = s.execution_id AND f.event_seq = s.outcome_seq
    AND f.payload LIKE '%%"nothing_done":true%%'
WHERE a.key = %(key)s AND NOT a.sure AND a.returned_at = 0

-- name: set-sure
-- What a step has taken for good.
UPDATE rebuno.amounts SET sure = true WHERE key = %(key)s AND step_id = %(step_id)s

-- name: return-amount
-- Gives back what a step has taken from a pot.
UPDATE rebuno.amounts SET returned_at = %(at)s WHERE key = %(key)s AND step_id = %(step_id)s

-- name: pots
-- A page of pots with what was taken from each, in the order of their keys and of time.
SELECT p.key, p.bundle, p.name, p.measure, p.scope, p.owner, p.number, p.seconds, a.at, a.amount, a.sure,
       s.status, coalesce(s.started_seq, 0), coalesce(e.ended_at, 0), f.payload,
       CASE WHEN f.payload IS NULL THEN 0 ELSE (
           SELECT count(*) FROM rebuno.events AS b
           WHERE b.execution_id = s.execution_id AND b.event_seq BETWEEN s.started_seq AND s.outcome_seq
             AND b.type = 'step.executing' AND b.payload LIKE '%%' || a.step_id || '%%'
       ) END
FROM (SELECT * FROM rebuno.pots WHERE key > %(after)s ORDER BY key LIMIT %(limit)s) AS p
LEFT JOIN rebuno.amounts AS a ON a.key = p.key AND a.returned_at = 0
LEFT JOIN rebuno.steps AS s ON s.step_id = a.step_id
LEFT JOIN rebuno.executions AS e ON e.id = a.execution_id AND e.output_hash IS NULL
LEFT JOIN rebuno.events AS f ON s.status = 'failed' AND f.execution_id = s.execution_id AND f.event_seq = s.outcome_seq
    AND f.payload LIKE '%%"nothing_done":true%%'
ORDER BY p.key, a.at

-- name: session-tokens
-- What the model calls of a session have used, without those of one execution. What a fork has copied is not counted
-- twice: it is taken away from what that execution has used itself.
WITH RECURSIVE mine (id, forked_from, created_at) AS (
    SELECT id, forked_from, created_at FROM rebuno.executions WHERE agent_id = %(agent_id)s AND session = %(session)s
    UNION
    SELECT e.id, e.forked_from, e.created_at FROM rebuno.executions AS e JOIN mine AS m ON e.forked_from = m.id
    WHERE e.session = '' AND e.forked_from <> ''
)
SELECT (coalesce(sum((coalesce(s.input_tokens, 0) + coalesce(s.output_tokens, 0)) * CASE
    WHEN m.id = %(but)s THEN CASE WHEN s.decided_at < m.created_at AND m.forked_from IN (SELECT id FROM mine) THEN -1 ELSE 0 END
    WHEN s.decided_at < m.created_at AND m.forked_from IN (SELECT id FROM mine) THEN 0
    ELSE 1
END), 0))::bigint
FROM mine AS m JOIN rebuno.steps AS s ON s.execution_id = m.id WHERE s.input_tokens > 0 OR s.output_tokens > 0

-- name: lock-windows
-- Makes the limits' rows and locks them, always in the same order: who counts next sees what this one spends.
INSERT INTO rebuno.windows AS w (key)
SELECT key FROM unnest(%(keys)s::text[]) AS key ORDER BY key
ON CONFLICT (key) DO UPDATE SET key = w.key

-- name: forget-places
-- Lets go of the places that left a window.
DELETE FROM rebuno.spends WHERE key = %(key)s AND at <= %(before)s

-- name: place
-- Whether a step has its place, how many are taken, and when the one was taken that must leave before there is room.
SELECT EXISTS (SELECT 1 FROM rebuno.spends WHERE key = %(key)s AND step_id = %(step_id)s), w.taken,
       CASE
           WHEN w.taken < %(number)s OR %(number)s < 1 THEN NULL
           WHEN w.taken - %(number)s < %(number)s THEN
               (SELECT at FROM rebuno.spends WHERE key = %(key)s ORDER BY at OFFSET w.taken - %(number)s LIMIT 1)
           ELSE (SELECT at FROM rebuno.spends WHERE key = %(key)s ORDER BY at DESC OFFSET %(number)s - 1 LIMIT 1)
       END
FROM rebuno.windows AS w WHERE w.key = %(key)s

-- name: take-place
-- Takes a place for a step.
INSERT INTO rebuno.spends (key, step_id, at) VALUES (%(key)s, %(step_id)s, %(at)s)

-- name: free-place
-- Takes the place of a step from it.
DELETE FROM rebuno.spends WHERE key = %(key)s AND step_id = %(step_id)s

-- name: number-write
-- Takes the number of a write, as a role that nobody has twice: one row, or none where it was written before.
INSERT INTO rebuno.leaders (role, owner, until) VALUES (%(role)s, '', %(until)s)
ON CONFLICT (role) DO NOTHING
RETURNING role

-- name: answer-write
-- Keeps what a write came to.
UPDATE rebuno.leaders SET owner = %(answer)s WHERE role = %(role)s

-- name: numbered-write
-- What a write came to whose answer was lost.
SELECT owner FROM rebuno.leaders WHERE role = %(role)s

-- name: forget-writes
-- Forgets the numbers of writes that nobody sends again.
DELETE FROM rebuno.leaders WHERE starts_with(role, %(begins)s) AND until < %(now)s
