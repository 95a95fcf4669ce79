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
