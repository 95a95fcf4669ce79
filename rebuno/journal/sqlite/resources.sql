-- name: put-resource
-- Adds a resource or changes it; its first number stays.
INSERT INTO resources (execution_id, key, driver_id, configuration, coverage_reuse, every_steps, on_completion,
                       registered_seq, generation, counted, binding, checkpoint_ref, writers)
VALUES (:execution_id, :key, :driver_id, :configuration, :coverage_reuse, :every_steps, :on_completion,
        :registered_seq, :generation, :counted, :binding, :checkpoint_ref, :writers)
ON CONFLICT (execution_id, key) DO UPDATE
SET every_steps = :every_steps, on_completion = :on_completion, generation = :generation, counted = :counted,
    binding = :binding, checkpoint_ref = :checkpoint_ref, writers = :writers

-- name: invalidate-checkpoints
-- What a step may have changed is covered no more.
UPDATE checkpoints SET invalidated_seq = :invalidated
WHERE execution_id = :execution_id AND key = :key AND invalidated_seq = 0

-- name: put-checkpoint
-- Adds a checkpoint; of two that cover the same event the newer stays.
INSERT INTO checkpoints (execution_id, key, covered_seq, generation, checkpoint_ref, invalidated_seq)
VALUES (:execution_id, :key, :covered_seq, :generation, :checkpoint_ref, :invalidated_seq)
ON CONFLICT (execution_id, key, covered_seq) DO UPDATE
SET generation = :generation, checkpoint_ref = :checkpoint_ref, invalidated_seq = :invalidated_seq

-- name: resources
-- An execution's resources in the order in which they were registered, and whether a checkpoint covers each.
SELECT execution_id, key, driver_id, configuration, coverage_reuse, every_steps, on_completion, registered_seq,
       generation, counted, binding, checkpoint_ref, writers,
       EXISTS (SELECT 1 FROM checkpoints AS c
               WHERE c.execution_id = r.execution_id AND c.key = r.key AND c.invalidated_seq = 0
                 AND c.generation = r.generation)
FROM resources AS r WHERE execution_id = ?1 ORDER BY registered_seq, key

-- name: checkpoints
-- An execution's checkpoints in the order of the events that they cover.
SELECT execution_id, key, covered_seq, generation, checkpoint_ref, invalidated_seq
FROM checkpoints WHERE execution_id = ?1 ORDER BY covered_seq, key
