-- Who is told of questions, and since when: `seen_at` is the time up to which every question has its notices.
CREATE TABLE notice_targets (
    target  TEXT NOT NULL PRIMARY KEY,
    seen_at REAL NOT NULL
) STRICT, WITHOUT ROWID;

-- A target is to be told of a question at a `stage`: 0 it was asked, 1 half of its time is over, 2 nine tenths are, 3 it
-- is answered. Not tried before `due_at`; `done_at` is 0 until the target has taken it, or nobody tries any more.
CREATE TABLE notices (
    approval_id TEXT    NOT NULL REFERENCES approvals (id) ON DELETE CASCADE,
    target      TEXT    NOT NULL,
    stage       INTEGER NOT NULL,
    attempts    INTEGER NOT NULL,
    created_at  REAL    NOT NULL,
    due_at      REAL    NOT NULL,
    done_at     REAL    NOT NULL,
    PRIMARY KEY (approval_id, target, stage)
) STRICT, WITHOUT ROWID;

CREATE INDEX notices_due ON notices (target, due_at) WHERE done_at = 0.0;

-- Questions by the times at which they were asked and answered.
CREATE INDEX approvals_by_creation ON approvals (created_at);
CREATE INDEX approvals_by_decision ON approvals (decided_at);
