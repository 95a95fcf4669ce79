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
