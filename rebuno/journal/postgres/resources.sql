-- name: resources
-- An execution's resources in the order in which they were registered, and whether a checkpoint covers each.
SELECT execution_id, key, driver_id, configuration, coverage_reuse, every_steps, on_completion, registered_seq,
       generation, counted, binding, checkpoint_ref, writers,
       EXISTS (SELECT 1 FROM rebuno.checkpoints AS c
               WHERE c.execution_id = r.execution_id AND c.key = r.key AND c.invalidated_seq = 0
                 AND c.generation = r.generation)
FROM rebuno.resources AS r WHERE execution_id = %(id)s ORDER BY registered_seq, key

-- name: checkpoints
-- An execution's checkpoints in the order of the events that they cover.
SELECT execution_id, key, covered_seq, generation, checkpoint_ref, invalidated_seq
FROM rebuno.checkpoints WHERE execution_id = %(id)s ORDER BY covered_seq, key
