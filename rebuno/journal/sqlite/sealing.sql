-- name: add-data-key
-- Keeps the wrapped data key of an execution.
INSERT INTO data_keys (execution_id, key_id, covers, wrapped, created_at, erased_at, erased_by)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)

-- name: data-key
-- The data key of an execution.
SELECT execution_id, key_id, covers, wrapped, created_at, erased_at, erased_by, purged_at
FROM data_keys WHERE execution_id = ?1

-- name: has-data-keys
-- Whether anything in the store is sealed.
SELECT EXISTS (SELECT 1 FROM data_keys)

-- name: erase-data-key
-- Destroys the data key of an execution that has ended.
UPDATE data_keys SET wrapped = NULL, erased_at = ?2, erased_by = ?3
WHERE execution_id = ?1 AND wrapped IS NOT NULL
  AND EXISTS (SELECT 1 FROM executions WHERE id = ?1 AND ended_at > 0)

-- name: unpurged
-- How many data keys were erased that the files may still hold.
SELECT count(*) FROM data_keys WHERE erased_at > 0 AND purged_at = 0

-- name: purged
-- Says that the files hold no data key any more that was erased until then.
UPDATE data_keys SET purged_at = ?1 WHERE erased_at > 0 AND purged_at = 0 AND erased_at <= ?2

-- name: of-person
-- The executions that belong to one person, oldest first.
SELECT id FROM executions WHERE on_behalf_of = ?1 AND on_behalf_of <> '' ORDER BY n

-- name: derived
-- The executions that hold copies of what stands in another: its forks, its subagents, and those that continue it.
SELECT id FROM executions
WHERE forked_from = ?1 OR spawned_execution_id = ?1 OR (continues = ?1 AND continues <> '') ORDER BY n

-- name: key-ids
-- How many executions are sealed under each key of a ring, and how many of them were erased.
SELECT key_id, count(*), sum(erased_at > 0) FROM data_keys GROUP BY key_id ORDER BY key_id

-- name: put-sealed-text
-- Keeps a text of an execution as ciphertext.
INSERT INTO sealed_texts (execution_id, slot, text) VALUES (?1, ?2, ?3)
ON CONFLICT (execution_id, slot) DO UPDATE SET text = excluded.text

-- name: sealed-texts
-- Those of an execution in these slots.
SELECT slot, text FROM sealed_texts WHERE execution_id = ?1 AND slot IN (SELECT value FROM json_each(?2))

-- name: sealed-beginning
-- Those whose slots begin so; no character stands above U+10FFFF.
SELECT slot, text FROM sealed_texts WHERE execution_id = ?1 AND slot >= ?2 AND slot < ?2 || char(1114111) ORDER BY slot
