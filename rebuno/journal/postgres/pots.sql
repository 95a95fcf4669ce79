-- name: put-pot
-- Makes the pot of a limit, or keeps what was declared of it last.
INSERT INTO rebuno.pots AS p (key, bundle, name, measure, scope, owner, number, per, seconds, taken)
VALUES (%(key)s, %(bundle)s, %(name)s, %(measure)s, %(scope)s, %(owner)s, %(number)s, %(seconds)s::double precision, %(seconds)s::double precision, '')
ON CONFLICT (key) DO UPDATE
SET number = excluded.number, seconds = excluded.seconds,
    per = CASE WHEN p.per IS NOT NULL AND excluded.per IS NOT NULL THEN greatest(p.per, excluded.per) END

-- name: lock-pots
-- Locks pots, always in the same order: who counts next sees what this one takes.
SELECT key FROM rebuno.pots WHERE key = ANY(%(keys)s) ORDER BY key FOR UPDATE

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

-- name: unsure-amounts
-- The steps that have taken from a pot and are not known to have started, and how they and their executions stand.
SELECT a.step_id, a.at, a.amount, a.execution_id, s.status, coalesce(s.started_seq, 0), coalesce(e.ended_at, 0)
FROM rebuno.amounts AS a LEFT JOIN rebuno.steps AS s ON s.step_id = a.step_id LEFT JOIN rebuno.executions AS e ON e.id = a.execution_id AND e.output_hash IS NULL
WHERE a.key = %(key)s AND NOT a.sure AND a.returned_at = 0

-- name: set-sure
-- A step has started.
UPDATE rebuno.amounts SET sure = true WHERE key = %(key)s AND step_id = %(step_id)s

-- name: return-amount
-- Gives back what a step has taken from a pot.
UPDATE rebuno.amounts SET returned_at = %(at)s WHERE key = %(key)s AND step_id = %(step_id)s

-- name: amounts-of-step
-- What a step has taken and not given back.
SELECT key FROM rebuno.amounts WHERE step_id = %(step_id)s AND returned_at = 0 ORDER BY key

-- name: pots
-- A page of pots with what was taken from each, in the order of their keys and of time.
SELECT p.key, p.bundle, p.name, p.measure, p.scope, p.owner, p.number, p.seconds, a.at, a.amount, a.sure, s.status,
       coalesce(s.started_seq, 0), coalesce(e.ended_at, 0)
FROM (SELECT * FROM rebuno.pots WHERE key > %(after)s ORDER BY key LIMIT %(limit)s) AS p
LEFT JOIN rebuno.amounts AS a ON a.key = p.key AND a.returned_at = 0
LEFT JOIN rebuno.steps AS s ON s.step_id = a.step_id LEFT JOIN rebuno.executions AS e ON e.id = a.execution_id AND e.output_hash IS NULL
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
