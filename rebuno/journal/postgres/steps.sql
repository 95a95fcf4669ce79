-- The statements for nearly every change: `single_statement.py` says what they are given.

-- name: write-next
-- As `write-steps`, for what nearly every change is: the outcome of a step that is there (`old_…`), the start of another one
-- (`new_…`), or one of the two, with an event each; what there is none of is NULL. Nothing has to be taken out of JSON.
-- It fails where a new step is there already: `write-steps` finds out, and takes longer to look for one first.
WITH moved AS (
    UPDATE rebuno.executions
    SET head_seq = %(head_seq)s::bigint, head_hash = %(head_hash)s::bytea, updated_at = %(at)s::double precision
    WHERE id = %(id)s::text AND head_seq = %(base_seq)s::bigint AND head_hash = %(base_hash)s::bytea AND ended_at = 0
      AND (%(lease_attempt)s::bigint IS NULL OR (attempt = %(lease_attempt)s AND owner = %(lease_owner)s::text))
    RETURNING 1
), told AS (
    INSERT INTO rebuno.events
    SELECT %(id)s, x.* FROM moved, (VALUES
        (%(seq_1)s::bigint, %(type_1)s::text, %(payload_1)s::text, %(time_1)s::text, %(hash_1)s::bytea),
        (%(seq_2)s::bigint, %(type_2)s::text, %(payload_2)s::text, %(time_2)s::text, %(hash_2)s::bytea)
    ) AS x (seq) WHERE x.seq IS NOT NULL
), ended AS (
    UPDATE rebuno.steps AS s
    SET idempotency = %(old_idempotency)s, status = %(old_status)s, verdict = %(old_verdict)s,
        rule_id = %(old_rule_id)s, bundle = %(old_bundle)s, digest = %(old_digest)s, reason = %(old_reason)s,
        attempt = %(old_attempt)s, result = %(old_result)s, error = %(old_error)s, approval_id = %(old_approval_id)s,
        started_seq = coalesce(nullif(s.started_seq, 0), %(old_started_seq)s::bigint),
        started_at = coalesce(nullif(%(old_started_at)s::double precision, 0), s.started_at),
        outcome_seq = coalesce(nullif(%(old_outcome_seq)s::bigint, 0), s.outcome_seq),
        completed_at = coalesce(nullif(%(old_completed_at)s::double precision, 0), s.completed_at),
        input_tokens = %(old_input_tokens)s, output_tokens = %(old_output_tokens)s,
        visited = greatest(s.visited, %(old_visited)s::bigint),
        submission = CASE WHEN %(old_visited)s > s.visited THEN %(old_submission)s ELSE s.submission END
    FROM moved
    WHERE s.step_id = %(old_step_id)s AND s.status NOT IN ('succeeded', 'failed', 'denied', 'cancelled')
    RETURNING s.execution_id
), begun AS (
    INSERT INTO rebuno.steps
    SELECT %(new_step_id)s::text, %(id)s, %(new_parent_id)s, %(new_kind)s, %(new_target)s, %(new_args)s,
           %(new_args_hash)s, %(new_occurrence)s::bigint, %(new_idempotency)s, %(new_status)s, %(new_verdict)s,
           %(new_rule_id)s, %(new_bundle)s, %(new_digest)s, %(new_reason)s, %(new_attempt)s::bigint, %(new_result)s,
           %(new_error)s, %(new_approval_id)s, %(new_decided_seq)s::bigint, %(new_started_seq)s::bigint,
           %(new_outcome_seq)s::bigint, %(new_decided_at)s::double precision, %(new_started_at)s::double precision,
           %(new_completed_at)s::double precision, %(new_input_tokens)s::bigint, %(new_output_tokens)s::bigint,
           %(new_visited)s::bigint, %(new_submission)s::bigint
    FROM moved WHERE %(new_step_id)s IS NOT NULL
)
-- Looked at only here: a server that knows nothing of the tables yet would look for the step in the execution's index.
SELECT 1 / (CASE WHEN %(old_step_id)s IS NULL OR (SELECT execution_id FROM ended) = %(id)s THEN 1 ELSE 0 END)
FROM moved

-- name: write-begun
-- The same for one event and a step that begins: most of what an agent submits.
WITH moved AS (
    UPDATE rebuno.executions
    SET head_seq = %(head_seq)s::bigint, head_hash = %(head_hash)s::bytea, updated_at = %(at)s::double precision
    WHERE id = %(id)s::text AND head_seq = %(base_seq)s::bigint AND head_hash = %(base_hash)s::bytea AND ended_at = 0
      AND (%(lease_attempt)s::bigint IS NULL OR (attempt = %(lease_attempt)s AND owner = %(lease_owner)s::text))
    RETURNING 1
), told AS (
    INSERT INTO rebuno.events
    SELECT %(id)s, %(seq_1)s::bigint, %(type_1)s::text, %(payload_1)s::text, %(time_1)s::text, %(hash_1)s::bytea
    FROM moved
), begun AS (
    INSERT INTO rebuno.steps
    SELECT %(new_step_id)s::text, %(id)s, %(new_parent_id)s, %(new_kind)s, %(new_target)s, %(new_args)s,
           %(new_args_hash)s, %(new_occurrence)s::bigint, %(new_idempotency)s, %(new_status)s, %(new_verdict)s,
           %(new_rule_id)s, %(new_bundle)s, %(new_digest)s, %(new_reason)s, %(new_attempt)s::bigint, %(new_result)s,
           %(new_error)s, %(new_approval_id)s, %(new_decided_seq)s::bigint, %(new_started_seq)s::bigint,
           %(new_outcome_seq)s::bigint, %(new_decided_at)s::double precision, %(new_started_at)s::double precision,
           %(new_completed_at)s::double precision, %(new_input_tokens)s::bigint, %(new_output_tokens)s::bigint,
           %(new_visited)s::bigint, %(new_submission)s::bigint
    FROM moved
)
SELECT 1 FROM moved

-- name: write-ended
-- The same for one event and the outcome of a step that is there: what an agent reports.
WITH moved AS (
    UPDATE rebuno.executions
    SET head_seq = %(head_seq)s::bigint, head_hash = %(head_hash)s::bytea, updated_at = %(at)s::double precision
    WHERE id = %(id)s::text AND head_seq = %(base_seq)s::bigint AND head_hash = %(base_hash)s::bytea AND ended_at = 0
      AND (%(lease_attempt)s::bigint IS NULL OR (attempt = %(lease_attempt)s AND owner = %(lease_owner)s::text))
    RETURNING 1
), told AS (
    INSERT INTO rebuno.events
    SELECT %(id)s, %(seq_1)s::bigint, %(type_1)s::text, %(payload_1)s::text, %(time_1)s::text, %(hash_1)s::bytea
    FROM moved
), ended AS (
    UPDATE rebuno.steps AS s
    SET idempotency = %(old_idempotency)s, status = %(old_status)s, verdict = %(old_verdict)s,
        rule_id = %(old_rule_id)s, bundle = %(old_bundle)s, digest = %(old_digest)s, reason = %(old_reason)s,
        attempt = %(old_attempt)s, result = %(old_result)s, error = %(old_error)s, approval_id = %(old_approval_id)s,
        started_seq = coalesce(nullif(s.started_seq, 0), %(old_started_seq)s::bigint),
        started_at = coalesce(nullif(%(old_started_at)s::double precision, 0), s.started_at),
        outcome_seq = coalesce(nullif(%(old_outcome_seq)s::bigint, 0), s.outcome_seq),
        completed_at = coalesce(nullif(%(old_completed_at)s::double precision, 0), s.completed_at),
        input_tokens = %(old_input_tokens)s, output_tokens = %(old_output_tokens)s,
        visited = greatest(s.visited, %(old_visited)s::bigint),
        submission = CASE WHEN %(old_visited)s > s.visited THEN %(old_submission)s ELSE s.submission END
    FROM moved
    WHERE s.step_id = %(old_step_id)s AND s.status NOT IN ('succeeded', 'failed', 'denied', 'cancelled')
    RETURNING s.execution_id
)
SELECT 1 / (CASE WHEN (SELECT execution_id FROM ended) = %(id)s THEN 1 ELSE 0 END)
FROM moved
