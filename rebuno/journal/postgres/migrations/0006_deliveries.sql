-- How long nobody has been reached, counted in tries and since when (seconds since 1970), and what came of the last one.
-- A replica of an earlier version writes nothing there.
ALTER TABLE rebuno.dispatches
    ADD COLUMN unreached bigint,
    ADD COLUMN since     double precision,
    ADD COLUMN error     text;
