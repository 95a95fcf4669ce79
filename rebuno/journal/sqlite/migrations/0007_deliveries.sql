-- How long nobody has been reached, counted in tries and since when (seconds since 1970), and what came of the last one.
ALTER TABLE dispatches ADD COLUMN unreached INTEGER NOT NULL DEFAULT 0;
ALTER TABLE dispatches ADD COLUMN since     REAL    NOT NULL DEFAULT 0.0;
ALTER TABLE dispatches ADD COLUMN error     TEXT    NOT NULL DEFAULT '';
