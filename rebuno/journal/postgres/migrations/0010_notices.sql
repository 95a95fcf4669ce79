-- Who is told of questions, and since when: `seen_at` is the time up to which every question has its notices.
CREATE TABLE rebuno.notice_targets (
    target  text COLLATE "C" NOT NULL PRIMARY KEY,
    seen_at double precision NOT NULL
);

-- A target is to be told of a question at a `stage`: 0 it was asked, 1 half of its time is over, 2 nine tenths are, 3 it
-- is answered. Not tried before `due_at`; `done_at` is 0 until the target has taken it, or nobody tries any more.
CREATE TABLE rebuno.notices (
    approval_id text COLLATE "C" NOT NULL REFERENCES rebuno.approvals (id) ON DELETE CASCADE,
    target      text COLLATE "C" NOT NULL,
    stage       bigint           NOT NULL,
    attempts    bigint           NOT NULL,
    created_at  double precision NOT NULL,
    due_at      double precision NOT NULL,
    done_at     double precision NOT NULL,
    PRIMARY KEY (approval_id, target, stage)
);

CREATE INDEX notices_due ON rebuno.notices (target, due_at) WHERE done_at = 0;

-- Questions by the times at which they were asked and answered.
CREATE INDEX approvals_by_creation ON rebuno.approvals (created_at);
CREATE INDEX approvals_by_decision ON rebuno.approvals (decided_at);
