-- What ties the file to its log of writes, see `log_mark.py`. Its row is put by the program, which knows the file.

CREATE TABLE log_mark (
    n    INTEGER PRIMARY KEY CHECK (n = 1),
    mark BLOB    NOT NULL
) STRICT;

-- How many places of each limit are taken: to count them at each step took the longer the more there were. Triggers keep
-- it, so that it is right anyone who writes a place.
CREATE TABLE place_counts (
    key   TEXT    NOT NULL PRIMARY KEY,
    taken INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO place_counts (key, taken) SELECT key, count(*) FROM spends GROUP BY key;

CREATE TRIGGER place_taken AFTER INSERT ON spends
BEGIN
    INSERT INTO place_counts (key, taken) VALUES (new.key, 1) ON CONFLICT (key) DO UPDATE SET taken = taken + 1;
END;

CREATE TRIGGER place_freed AFTER DELETE ON spends
BEGIN
    UPDATE place_counts SET taken = taken - 1 WHERE key = old.key;
    DELETE FROM place_counts WHERE key = old.key AND taken = 0;
END;
