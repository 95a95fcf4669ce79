-- name: data-key
-- The data key of an execution.
SELECT execution_id, key_id, covers, wrapped, created_at, erased_at, erased_by, purged_at
FROM rebuno.data_keys WHERE execution_id = %(id)s

-- name: has-data-keys
-- Whether anything in the store is sealed.
SELECT EXISTS (SELECT 1 FROM rebuno.data_keys)

-- name: erase-data-key
-- Destroys the data key of an execution that has ended.
UPDATE rebuno.data_keys SET wrapped = NULL, erased_at = %(at)s, erased_by = %(by)s
WHERE execution_id = %(id)s AND wrapped IS NOT NULL
  AND EXISTS (SELECT 1 FROM rebuno.executions WHERE id = %(id)s AND ended_at > 0)

-- name: unpurged
-- How many data keys were erased that the files may still hold.
SELECT count(*) FROM rebuno.data_keys WHERE erased_at > 0 AND purged_at = 0

-- name: purged
-- Says that the files hold no data key any more that was erased until then.
UPDATE rebuno.data_keys SET purged_at = %(at)s WHERE erased_at > 0 AND purged_at = 0 AND erased_at <= %(until)s

-- name: of-person
-- The executions that belong to one person, oldest first.
SELECT id FROM rebuno.executions WHERE on_behalf_of = %(person)s AND on_behalf_of <> '' ORDER BY n

-- name: derived
-- The executions that hold copies of what stands in another: its forks, its subagents, and those that continue it.
SELECT id FROM rebuno.executions
WHERE forked_from = %(id)s OR spawned_execution_id = %(id)s OR (continues = %(id)s AND continues <> '') ORDER BY n

-- name: key-ids
-- How many executions are sealed under each key of a ring, and how many of them were erased.
SELECT key_id, count(*), count(*) FILTER (WHERE erased_at > 0) FROM rebuno.data_keys GROUP BY key_id ORDER BY key_id

-- name: rewrite-data-keys
-- Writes the table anew and gives its old files back; the server tells what it kept.
VACUUM (FULL, VERBOSE) rebuno.data_keys

-- name: server-time
-- The server's time, in seconds since 1970.
SELECT extract(epoch FROM clock_timestamp())::float8

-- name: older-transactions
-- Whether a transaction is open that began before a time: what it could see when it began is kept for it.
SELECT EXISTS (
    SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start <= to_timestamp(%(before)s)
) OR EXISTS (SELECT 1 FROM pg_prepared_xacts WHERE database = current_database())

-- name: sealed-texts
-- What is kept of an execution as ciphertext in these slots.
SELECT slot, text FROM rebuno.sealed_texts WHERE execution_id = %(id)s AND slot = ANY(%(slots)s)

-- name: sealed-beginning
-- The same in the slots that begin so.
SELECT slot, text FROM rebuno.sealed_texts WHERE execution_id = %(id)s AND starts_with(slot, %(beginning)s) ORDER BY slot
