-- Standing denials: nothing of an agent, of tools, or of all starts any more until they are lifted. Empty columns name
-- nothing: where both are empty, all is stopped. Times are seconds since 1970, `lifted_at` 0 while it stands.
CREATE TABLE rebuno.stops (
    id         text COLLATE "C" NOT NULL PRIMARY KEY,
    agent      text             NOT NULL,
    tool       text             NOT NULL,
    reason     text             NOT NULL,
    created_by text             NOT NULL,
    created_at double precision NOT NULL,
    lifted_by  text             NOT NULL DEFAULT '',
    lifted_at  double precision NOT NULL DEFAULT 0
);

-- That this store was restored from a copy, each time: what came after the copy is not known here. While one was not
-- accepted (`accepted_at` 0), a person is asked before anything runs that may not run twice.
CREATE TABLE rebuno.restorations (
    n           bigint           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    restored_at double precision NOT NULL,
    restored_by text             NOT NULL,
    accepted_at double precision NOT NULL DEFAULT 0,
    accepted_by text             NOT NULL DEFAULT ''
);
