-- What approvers may change: `edits` are the paths of the arguments (a JSON array), `edited` the arguments as `edited_by`
-- has changed them (canonical JSON, or empty).
ALTER TABLE rebuno.approvals
    ADD COLUMN edits     text NOT NULL DEFAULT '[]',
    ADD COLUMN edited    text NOT NULL DEFAULT '',
    ADD COLUMN edited_by text NOT NULL DEFAULT '';

-- Grants that outlive the execution whose question they answered. `rule_text` is the digest of the rule and of what it
-- uses, `matches` what the arguments of a step must be (JSON). Times are seconds since 1970, `revoked_at` 0 while it
-- stands.
CREATE TABLE rebuno.standing_grants (
    id          text COLLATE "C" NOT NULL PRIMARY KEY,
    agent_id    text             NOT NULL,
    kind        text             NOT NULL,
    target      text             NOT NULL,
    bundle      text             NOT NULL,
    rule_id     text             NOT NULL,
    rule_text   text             NOT NULL,
    matches     text             NOT NULL,
    approval_id text             NOT NULL,
    granted_by  text             NOT NULL,
    asserted_by text             NOT NULL,
    rationale   text             NOT NULL,
    created_at  double precision NOT NULL,
    expires_at  double precision NOT NULL,
    revoked_by  text             NOT NULL DEFAULT '',
    revoked_at  double precision NOT NULL DEFAULT 0
);

CREATE INDEX standing_grants_by_agent ON rebuno.standing_grants (agent_id, expires_at) WHERE revoked_at = 0;

-- What the same rule was answered before.
CREATE INDEX approvals_by_rule ON rebuno.approvals (rule_id, decided_at) WHERE status IN ('granted', 'denied');
