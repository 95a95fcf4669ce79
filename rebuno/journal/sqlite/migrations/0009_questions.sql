-- What approvers may change: `edits` are the paths of the arguments (a JSON array), `edited` the arguments as `edited_by`
-- has changed them (canonical JSON, or empty).
ALTER TABLE approvals ADD COLUMN edits     TEXT NOT NULL DEFAULT '[]';
ALTER TABLE approvals ADD COLUMN edited    TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN edited_by TEXT NOT NULL DEFAULT '';

-- Grants that outlive the execution whose question they answered. `rule_text` is the digest of the rule and of what it
-- uses, `matches` what the arguments of a step must be (JSON). Times are seconds since 1970, `revoked_at` 0 while it
-- stands.
CREATE TABLE standing_grants (
    id          TEXT NOT NULL PRIMARY KEY,
    agent_id    TEXT NOT NULL,
    kind        TEXT NOT NULL,
    target      TEXT NOT NULL,
    bundle      TEXT NOT NULL,
    rule_id     TEXT NOT NULL,
    rule_text   TEXT NOT NULL,
    matches     TEXT NOT NULL,
    approval_id TEXT NOT NULL,
    granted_by  TEXT NOT NULL,
    asserted_by TEXT NOT NULL,
    rationale   TEXT NOT NULL,
    created_at  REAL NOT NULL,
    expires_at  REAL NOT NULL,
    revoked_by  TEXT NOT NULL DEFAULT '',
    revoked_at  REAL NOT NULL DEFAULT 0.0
) STRICT, WITHOUT ROWID;

CREATE INDEX standing_grants_by_agent ON standing_grants (agent_id, expires_at) WHERE revoked_at = 0.0;

-- What the same rule was answered before.
CREATE INDEX approvals_by_rule ON approvals (rule_id, decided_at) WHERE status IN ('granted', 'denied');
