-- name: identity
-- Whose file it is, in one statement: another process may be making the schema meanwhile.
SELECT application_id, user_version, schema_version
FROM pragma_application_id, pragma_user_version, pragma_schema_version

-- name: has-mark
-- Whether the file is of a version that marks its logs.
SELECT 1 FROM sqlite_schema WHERE name = 'log_mark'

-- name: mark
-- The mark of the log.
SELECT mark FROM log_mark WHERE n = 1

-- name: put-mark
-- Puts it in the place of the one that is there.
INSERT INTO log_mark (n, mark) VALUES (1, ?1) ON CONFLICT (n) DO UPDATE SET mark = ?1

-- name: begin
-- Takes the write lock at once: a transaction that reads first may be refused it later.
BEGIN IMMEDIATE

-- name: commit
-- Makes the group durable.
COMMIT

-- name: rollback
-- Gives the whole group up.
ROLLBACK

-- name: savepoint
-- Opens one member of a group.
SAVEPOINT member

-- name: release
-- Keeps a member's rows.
RELEASE member

-- name: undo
-- Takes a member's rows back; the group goes on.
ROLLBACK TO member

-- name: advance
-- Moves an execution's head, if the row still is what the batch was built on and, under a lease, still that attempt's.
UPDATE executions
SET head_seq = ?1, head_hash = ?2, updated_at = ?3
WHERE id = ?4 AND head_seq = ?5 AND head_hash = ?6
  AND status NOT IN ('completed', 'failed', 'cancelled')
  AND (?7 IS NULL OR (attempt = ?7 AND owner = ?8))

-- name: head
-- What `advance` found changed.
SELECT head_seq, head_hash, status, attempt, owner FROM executions WHERE id = ?1

-- name: add-execution
-- Adds an execution, unless one with this id, or of this agent under this key, is there or was. No step waits for the
-- fork of a subagent.
INSERT INTO executions (id, agent_id, key, status, digest, failure_reason, attempt, owner, host, pid, lease_until,
                        head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq,
                        served, session, continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of,
                        seal, ended_at, told)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24,
       ?25, ?26, ?27,
       iif(?4 IN ('completed', 'failed', 'cancelled'), ?15, 0.0),
       ?23 <> '' AND ?24 = ''
WHERE NOT EXISTS (SELECT 1 FROM tombstones WHERE id = ?1 OR (agent_id = ?2 AND key = ?3))
ON CONFLICT DO NOTHING

-- name: add-contents
-- Adds the input of the execution added last.
INSERT INTO contents (n, input, output, state) VALUES (last_insert_rowid(), ?1, ?2, ?3)

-- name: add-event
-- Adds one event.
INSERT INTO events (execution_id, event_seq, type, payload, occurred_at, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6)

-- name: put-step
-- Adds a step or changes it, unless it has settled; 0 leaves a number or a time; its first decision and first start stay.
INSERT INTO steps (step_id, execution_id, parent_id, kind, target, args, args_hash, occurrence, idempotency, status,
                   verdict, rule_id, bundle, digest, reason, attempt, result, error, approval_id, decided_seq,
                   started_seq, outcome_seq, decided_at, started_at, completed_at, input_tokens, output_tokens,
                   visited, submission)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24,
        ?25, ?26, ?27, ?28, ?29)
ON CONFLICT (step_id) DO UPDATE
SET idempotency = ?9, status = ?10, verdict = ?11, rule_id = ?12, bundle = ?13, digest = ?14, reason = ?15,
    attempt = ?16, result = ?17, error = ?18, approval_id = ?19,
    started_seq = coalesce(nullif(started_seq, 0), ?21), started_at = coalesce(nullif(?24, 0.0), started_at),
    outcome_seq = coalesce(nullif(?22, 0), outcome_seq), completed_at = coalesce(nullif(?25, 0.0), completed_at),
    input_tokens = ?26, output_tokens = ?27, visited = max(visited, ?28),
    submission = iif(?28 > visited, ?29, submission)
WHERE execution_id = ?2 AND status NOT IN ('succeeded', 'failed', 'denied', 'cancelled')

-- name: put-approval
-- Adds an approval or changes it, unless it is resolved or has votes that the new row has not; a number or a time of 0
-- leaves the one that stands.
INSERT INTO approvals (id, execution_id, step_id, cause, status, message, rule_id, digest, scope, decided_by, rationale,
                       created_at, decided_at, requested_seq, resolved_seq, bundle, approvers, quorum, votes,
                       timeout_at, asserted_by, edits, edited, edited_by)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24)
ON CONFLICT (id) DO UPDATE
SET status = ?5, message = ?6, rule_id = ?7, digest = ?8, scope = ?9, decided_by = ?10, rationale = ?11,
    created_at = coalesce(nullif(?12, 0.0), created_at), requested_seq = coalesce(nullif(?14, 0), requested_seq),
    decided_at = ?13, resolved_seq = ?15, bundle = ?16, approvers = ?17, quorum = ?18, votes = ?19, timeout_at = ?20,
    asserted_by = ?21, cause = ?4, edits = ?22, edited = ?23, edited_by = ?24
WHERE execution_id = ?2 AND status = 'pending'
  AND substr(?19, 1, length(votes) - 1) = substr(votes, 1, length(votes) - 1)

-- name: add-turn
-- Adds what the user wrote, unless there is a turn of this number.
INSERT INTO turns (execution_id, number, event_seq, said_at, said_by, text) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT DO NOTHING

-- name: turns
-- What the user wrote into an execution.
SELECT execution_id, number, event_seq, said_at, said_by, text FROM turns WHERE execution_id = ?1 ORDER BY number

-- name: add-root
-- Keeps what the user wrote to the root of an execution.
INSERT INTO roots (execution_id, root_id, input, turns, read_args) VALUES (?1, ?2, ?3, ?4, ?5)

-- name: root
-- What the user wrote to the root of an execution.
SELECT execution_id, root_id, input, turns, read_args FROM roots WHERE execution_id = ?1

-- name: set-status
-- Changes an execution's state; `advance` has made sure that it has not ended.
UPDATE executions
SET status = ?2, failure_reason = ?3, ended_at = iif(?2 IN ('completed', 'failed', 'cancelled'), updated_at, 0.0)
WHERE id = ?1

-- name: set-output
-- Keeps what an execution came to.
UPDATE contents SET output = ?2 WHERE n = (SELECT n FROM executions WHERE id = ?1)

-- name: set-lease
-- Gives an execution to an attempt and its holder, or to nobody.
UPDATE executions SET attempt = ?2, owner = ?3, host = ?4, pid = ?5, lease_until = ?6 WHERE id = ?1

-- name: renew
-- Extends a lease, if the attempt still has it and it is not over.
UPDATE executions SET lease_until = ?4
WHERE id = ?1 AND attempt = ?2 AND owner = ?3 AND lease_until > 0 AND status NOT IN ('completed', 'failed', 'cancelled')

-- name: execution
-- One execution.
SELECT id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, seal
FROM execution_rows WHERE id = ?1

-- name: execution-by-key
-- An agent's execution under the caller's own id.
SELECT id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, seal
FROM execution_rows WHERE agent_id = ?1 AND key = ?2

-- name: executions-by-key
-- Every agent's execution under the caller's own id.
SELECT id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, seal
FROM execution_rows WHERE key = ?1 ORDER BY n

-- name: executions-by-prefix
-- The executions whose ids begin so; no character stands above U+10FFFF.
SELECT id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, seal
FROM execution_rows WHERE id >= ?1 AND id < ?1 || char(1114111) ORDER BY id LIMIT 10

-- name: executions
-- A page of executions, newest first; an empty filter takes all.
SELECT id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, seal
FROM execution_rows
WHERE (?1 IS NULL OR agent_id = ?1) AND (?2 IS NULL OR session = ?2) AND (?3 IS NULL OR status = ?3)
  AND (?4 IS NULL OR n < (SELECT n FROM executions WHERE id = ?4))
ORDER BY n DESC LIMIT ?5

-- name: executions-due
-- The executions whose deadline has passed, the most overdue first.
SELECT id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, seal
FROM execution_rows
WHERE deadline_at > 0 AND ended_at = 0 AND deadline_at < ?1 ORDER BY deadline_at LIMIT ?2

-- name: executions-ended
-- The executions that ended before a time, oldest first.
SELECT id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, seal
FROM execution_rows
WHERE ended_at > 0 AND ended_at < ?1 ORDER BY ended_at LIMIT ?2

-- name: steps
-- A page of an execution's steps as they were decided.
SELECT step_id, execution_id, parent_id, kind, target, args, args_hash, occurrence, idempotency, status, verdict,
       rule_id, bundle, digest, reason, attempt, result, error, approval_id, decided_seq, started_seq, outcome_seq,
       decided_at, started_at, completed_at, input_tokens, output_tokens, visited,
       submission
FROM steps WHERE execution_id = ?1 AND decided_seq > ?2 ORDER BY decided_seq LIMIT ?3

-- name: successes
-- A page of an execution's steps, its successes in one text of seven lines for each, in the order of the index, which
-- takes a fraction of the time of a row for each. Long texts are left out.
SELECT count(*), count(*) FILTER (WHERE status = 'succeeded' AND octet_length(args) + octet_length(result) < 65536),
       max(decided_seq), min(digest), max(digest), sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)),
       group_concat(concat_ws(?4, step_id, parent_id, kind, target, args, occurrence, result), ?4)
       FILTER (WHERE status = 'succeeded' AND octet_length(args) + octet_length(result) < 65536)
FROM steps INDEXED BY steps_in_order
WHERE execution_id = ?1 AND decided_seq > ?2 AND decided_seq <= coalesce(
  (SELECT decided_seq FROM steps WHERE execution_id = ?1 AND decided_seq > ?2 ORDER BY decided_seq LIMIT 1 OFFSET ?3 - 1),
  9223372036854775807)

-- name: step
-- One step.
SELECT step_id, execution_id, parent_id, kind, target, args, args_hash, occurrence, idempotency, status, verdict,
       rule_id, bundle, digest, reason, attempt, result, error, approval_id, decided_seq, started_seq, outcome_seq,
       decided_at, started_at, completed_at, input_tokens, output_tokens, visited,
       submission
FROM steps WHERE step_id = ?1

-- name: events
-- A page of an execution's events.
SELECT execution_id, event_seq, type, payload, occurred_at, hash
FROM events WHERE execution_id = ?1 AND event_seq > ?2 ORDER BY event_seq LIMIT ?3

-- name: approval
-- One approval.
SELECT id, execution_id, step_id, cause, status, message, rule_id, digest, scope, decided_by, rationale, created_at,
       decided_at, requested_seq, resolved_seq, bundle, approvers, quorum, votes, timeout_at, asserted_by,
       edits, edited, edited_by
FROM approvals WHERE id = ?1

-- name: approvals
-- All approvals.
SELECT id, execution_id, step_id, cause, status, message, rule_id, digest, scope, decided_by, rationale, created_at,
       decided_at, requested_seq, resolved_seq, bundle, approvers, quorum, votes, timeout_at, asserted_by,
       edits, edited, edited_by
FROM approvals WHERE (?2 IS NULL OR n > (SELECT n FROM approvals WHERE id = ?2)) ORDER BY n LIMIT ?1

-- name: approvals-by-status
-- The approvals in one state.
SELECT id, execution_id, step_id, cause, status, message, rule_id, digest, scope, decided_by, rationale, created_at,
       decided_at, requested_seq, resolved_seq, bundle, approvers, quorum, votes, timeout_at, asserted_by,
       edits, edited, edited_by
FROM approvals WHERE status = ?1 AND (?3 IS NULL OR n > (SELECT n FROM approvals WHERE id = ?3))
ORDER BY n LIMIT ?2

-- name: approvals-by-execution
-- The approvals of one execution; an empty state takes all.
SELECT id, execution_id, step_id, cause, status, message, rule_id, digest, scope, decided_by, rationale, created_at,
       decided_at, requested_seq, resolved_seq, bundle, approvers, quorum, votes, timeout_at, asserted_by,
       edits, edited, edited_by
FROM approvals
WHERE execution_id = ?1 AND (?2 IS NULL OR status = ?2) AND (?4 IS NULL OR n > (SELECT n FROM approvals WHERE id = ?4))
ORDER BY n LIMIT ?3

-- name: approvals-due
-- The questions that nobody answered in time, the most overdue first.
SELECT id, execution_id, step_id, cause, status, message, rule_id, digest, scope, decided_by, rationale, created_at,
       decided_at, requested_seq, resolved_seq, bundle, approvers, quorum, votes, timeout_at, asserted_by,
       edits, edited, edited_by
FROM approvals INDEXED BY approvals_by_timeout
WHERE status = 'pending' AND timeout_at > 0 AND timeout_at < ?1 ORDER BY timeout_at LIMIT ?2

-- name: add-source
-- Keeps one file of a policy; a second time is no change.
INSERT INTO bundle_sources (digest, position, path, text) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING

-- name: sources
-- The files of a policy, in order.
SELECT path, text FROM bundle_sources WHERE digest = ?1 ORDER BY position

-- name: forget-places
-- Frees the places of a limit that have left its window.
DELETE FROM spends WHERE key = ?1 AND at <= ?2

-- name: place
-- Whether a step has a place in a limit.
SELECT 1 FROM spends WHERE key = ?1 AND step_id = ?2

-- name: places
-- How many places of a limit are taken.
SELECT taken FROM place_counts WHERE key = ?1

-- name: oldest-place
-- When the place was taken that so many older ones precede.
SELECT at FROM spends WHERE key = ?1 ORDER BY at LIMIT 1 OFFSET ?2

-- name: newest-place
-- When the place was taken that so many newer ones follow.
SELECT at FROM spends WHERE key = ?1 ORDER BY at DESC LIMIT 1 OFFSET ?2

-- name: take-place
-- Gives a step a place in a limit.
INSERT INTO spends (key, step_id, at) VALUES (?1, ?2, ?3)

-- name: free-place
-- Takes the place of a step in a limit from it.
DELETE FROM spends WHERE key = ?1 AND step_id = ?2

-- name: copy-place
-- Gives a copied step its place in a limit, if it has none.
INSERT INTO spends (key, step_id, at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING

-- name: ended
-- Whether an execution is there and has ended.
SELECT 1 FROM executions WHERE id = ?1 AND ended_at > 0

-- name: add-tombstone
-- Leaves what is to be known of an execution that is removed.
INSERT INTO tombstones (id, agent_id, key, status, output_hash, head_hash, ended_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)

-- name: drop-places
-- Removes an execution's own places in limits; no character stands above U+10FFFF.
DELETE FROM spends WHERE key >= ?1 AND key < ?1 || char(1114111)

-- name: drop-approvals
-- Removes an execution's approvals.
DELETE FROM approvals WHERE execution_id = ?1

-- name: drop-steps
-- Removes an execution's steps.
DELETE FROM steps WHERE execution_id = ?1

-- name: drop-events
-- Removes an execution's events.
DELETE FROM events WHERE execution_id = ?1

-- name: drop-contents
-- Removes an execution's input and output.
DELETE FROM contents WHERE n = (SELECT n FROM executions WHERE id = ?1)

-- name: drop-execution
-- Removes an execution, once nothing of it is left.
DELETE FROM executions WHERE id = ?1

-- name: tombstone
-- What is left of an agent's execution under a key, or else of the one with this id.
SELECT id, agent_id, key, status, output_hash, head_hash, ended_at
FROM tombstones WHERE (agent_id = ?1 AND key = ?2) OR id = ?2 ORDER BY id = ?2 LIMIT 1

-- name: removed
-- What is left of the executions whose ids begin so, or that any agent had under this key.
SELECT id, agent_id, key, status, output_hash, head_hash, ended_at
FROM tombstones WHERE (id >= ?1 AND id < ?1 || char(1114111)) OR key = ?1 ORDER BY key IS ?1 DESC, id LIMIT 10

-- name: leader
-- Who does the work of a role, and until when.
SELECT owner, host, pid, until FROM leaders WHERE role = ?1

-- name: lead
-- Gives a role to an open store.
INSERT INTO leaders (role, owner, host, pid, until) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT DO UPDATE SET owner = ?2, host = ?3, pid = ?4, until = ?5

-- name: add-piece
-- Adds a piece of an execution's long arguments.
INSERT INTO pieces (execution_n, number, text) VALUES ((SELECT n FROM executions WHERE id = ?1), ?2, ?3)

-- name: pieces-from
-- The pieces of an execution from a number on.
SELECT number, text FROM pieces
WHERE execution_n = (SELECT n FROM executions WHERE id = ?1) AND number >= ?2 ORDER BY number

-- name: pieces
-- The pieces of an execution from a number to another.
SELECT number, text FROM pieces
WHERE execution_n = (SELECT n FROM executions WHERE id = ?1) AND number BETWEEN ?2 AND ?3

-- name: has-feature
-- Whether something is written here that older kernels cannot read.
SELECT 1 FROM features WHERE name = ?1

-- name: add-feature
-- From now on it is.
INSERT INTO features (name, since) VALUES (?1, ?2) ON CONFLICT DO NOTHING
