-- What kernels of older versions cannot read is written only once it stands here: in a store that was made by a kernel
-- that knows it, or of which somebody has said that none of them uses it any more. `since` is seconds since 1970.
CREATE TABLE rebuno.features (
    name  text COLLATE "C"  NOT NULL PRIMARY KEY,
    since double precision  NOT NULL
);

-- Long arguments of steps, in pieces: what the calls of an execution repeat is stored once. The row of such a step has
-- `/pieces` behind its `kind`, and in the place of `args` their length and which pieces they are. The pieces of an
-- execution are numbered from 1 and never changed; a row has those that one change brought, and the number of the last.
-- It is compressed, and stands in its page up to the page's size: what stands elsewhere takes more room. An old replica
-- that removes an execution knows only its contents: the rest goes along.
CREATE TABLE rebuno.pieces (
    execution_id text COLLATE "C" NOT NULL REFERENCES rebuno.contents (execution_id) ON DELETE CASCADE,
    number       bigint           NOT NULL,
    texts        text[]           NOT NULL,
    PRIMARY KEY (execution_id, number)
) WITH (toast_tuple_target = 512);

ALTER TABLE rebuno.pieces ALTER COLUMN texts SET STORAGE MAIN;
