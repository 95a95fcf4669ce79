-- How many places of each limit are taken: to count them at each step took the longer the more there were. Triggers keep
-- it, so that it is right anyone who writes a place.

-- INVARIANT: first the windows, then the spends: anyone who takes a place locks them in this order.
ALTER TABLE rebuno.windows ADD COLUMN taken bigint NOT NULL DEFAULT 0;

CREATE FUNCTION rebuno.places_taken() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO rebuno.windows AS w (key, taken)
    SELECT key, count(*) FROM added GROUP BY key ORDER BY key
    ON CONFLICT (key) DO UPDATE SET taken = w.taken + excluded.taken;
    RETURN NULL;
END
$$;

CREATE FUNCTION rebuno.places_freed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE rebuno.windows AS w SET taken = w.taken - f.freed
    FROM (SELECT key, count(*) AS freed FROM removed GROUP BY key) AS f WHERE w.key = f.key;
    RETURN NULL;
END
$$;

CREATE TRIGGER places_taken AFTER INSERT ON rebuno.spends
REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION rebuno.places_taken();

CREATE TRIGGER places_freed AFTER DELETE ON rebuno.spends
REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION rebuno.places_freed();

INSERT INTO rebuno.windows AS w (key, taken)
SELECT key, count(*) FROM rebuno.spends GROUP BY key ORDER BY key
ON CONFLICT (key) DO UPDATE SET taken = excluded.taken;
