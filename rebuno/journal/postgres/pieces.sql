-- name: pieces
-- The pieces of an execution's long arguments from a number to another (NULL: to the last).
SELECT number, text
FROM (SELECT p.number - cardinality(p.texts) + t.place AS number, t.text
      FROM rebuno.pieces AS p, unnest(p.texts) WITH ORDINALITY AS t (text, place)
      WHERE p.execution_id = %(id)s AND p.number >= %(first)s
        AND (%(last)s::bigint IS NULL OR p.number - cardinality(p.texts) < %(last)s)) AS found
WHERE number >= %(first)s AND (%(last)s::bigint IS NULL OR number <= %(last)s)
ORDER BY number

-- name: has-feature
-- Whether something is written here that older kernels cannot read.
SELECT 1 FROM rebuno.features WHERE name = %(name)s

-- name: add-feature
-- From now on it is, and versions that do not know it do not start on this store any more.
WITH needed AS (INSERT INTO rebuno.schema_version (number) VALUES (%(needed)s) ON CONFLICT DO NOTHING)
INSERT INTO rebuno.features (name, since) VALUES (%(name)s, extract(epoch FROM clock_timestamp()))
ON CONFLICT DO NOTHING
