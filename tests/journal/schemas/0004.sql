BEGIN TRANSACTION;
CREATE TABLE agents (
    id            TEXT NOT NULL PRIMARY KEY,
    webhook_url   TEXT NOT NULL,
    secret        TEXT NOT NULL,
    lease         REAL NOT NULL,
    registered_at REAL NOT NULL,
    description   TEXT,
    input_schema  TEXT,
    output_schema TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE api_keys (
    n          INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    name       TEXT NOT NULL,
    scopes     TEXT NOT NULL,
    token_hash BLOB NOT NULL UNIQUE,
    created_at REAL NOT NULL,
    revoked_at REAL NOT NULL
) STRICT;
CREATE TABLE approvals (
    n             INTEGER PRIMARY KEY,
    id            TEXT    NOT NULL UNIQUE,
    execution_id  TEXT    NOT NULL REFERENCES executions (id),
    step_id       TEXT    NOT NULL REFERENCES steps (step_id),
    cause         TEXT    NOT NULL,
    status        TEXT    NOT NULL,
    message       TEXT    NOT NULL,
    rule_id       TEXT    NOT NULL,
    digest        TEXT    NOT NULL,
    scope         TEXT    NOT NULL,
    decided_by    TEXT    NOT NULL,
    rationale     TEXT    NOT NULL,
    created_at    REAL    NOT NULL,
    decided_at    REAL    NOT NULL,
    requested_seq INTEGER NOT NULL,
    resolved_seq  INTEGER NOT NULL
, bundle      TEXT    NOT NULL DEFAULT '', approvers   TEXT    NOT NULL DEFAULT '[]', quorum      INTEGER NOT NULL DEFAULT 1, votes       TEXT    NOT NULL DEFAULT '[]', timeout_at  REAL    NOT NULL DEFAULT 0.0, asserted_by TEXT    NOT NULL DEFAULT '') STRICT;
INSERT INTO "approvals" VALUES(1,'01a22f38-a047-72e3-901f-c2033b7dd278','01a22f38-a041-73a6-9b2a-535e1dd5a929','9ef3828ba36e4f16fa35b7feac8ee05f7509cbf9fc971f29ed1dd29c6b7fe17e','policy','pending','','send','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','once','','',1.79608856992776298525e+09,0.0,7,0,'upgrade','[]',1,'[]',0.0,'');
CREATE TABLE bundle_sources (
    digest   TEXT    NOT NULL,
    position INTEGER NOT NULL,
    path     TEXT    NOT NULL,
    text     TEXT    NOT NULL,
    PRIMARY KEY (digest, position)
) STRICT, WITHOUT ROWID;
INSERT INTO "bundle_sources" VALUES('270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca',0,'<text>','bundle upgrade
default deny because "no rule allows it"
rule look { allow tool "look" }
rule pay { allow tool "pay" }
rule send { require approval for tool "send" because "somebody must look" }
');
CREATE TABLE contents (
    n      INTEGER PRIMARY KEY REFERENCES executions (n),
    input  TEXT NOT NULL,
    output TEXT
, state                TEXT) STRICT;
INSERT INTO "contents" VALUES(1,'null','["look 1 done","pay done"]',NULL);
INSERT INTO "contents" VALUES(2,'null',NULL,NULL);
INSERT INTO "contents" VALUES(3,'null',NULL,NULL);
INSERT INTO "contents" VALUES(4,'null',NULL,NULL);
INSERT INTO "contents" VALUES(5,'null',NULL,NULL);
CREATE TABLE dispatches (
    id           TEXT    NOT NULL,
    execution_id TEXT    NOT NULL PRIMARY KEY REFERENCES executions (id),
    agent_id     TEXT    NOT NULL,
    state        TEXT    NOT NULL,
    attempt      INTEGER NOT NULL,
    failures     INTEGER NOT NULL,
    due_at       REAL    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE events (
    n            INTEGER PRIMARY KEY,
    execution_id TEXT    NOT NULL REFERENCES executions (id),
    event_seq    INTEGER NOT NULL,
    type         TEXT    NOT NULL,
    payload      TEXT    NOT NULL,
    occurred_at  TEXT    NOT NULL,
    hash         BLOB    NOT NULL
) STRICT;
INSERT INTO "events" VALUES(1,'01a22f38-9c55-74a2-a02a-fa61114214a4',1,'execution.created','{"agent_id":"ends","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"ends"}','2026-12-01T01:29:28.917899Z',X'2EDAAA3F03F65118AD9F24E611661BBA04ADEAFC285D84362738B2C59786048E');
INSERT INTO "events" VALUES(2,'01a22f38-9c55-74a2-a02a-fa61114214a4',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":18925}','2026-12-01T01:29:28.917899Z',X'B981DED6FB3DFD8802FBECBDB27144D8463EE17069ED585982B08F60D775E944');
INSERT INTO "events" VALUES(3,'01a22f38-9c55-74a2-a02a-fa61114214a4',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"ddef3fc17625cb9d88e038ee312238cce73d35a2c8ec36694a3d0996b6a4384c","step_type":"tool_call","target":"look"}','2026-12-01T01:29:28.924632Z',X'0382CB3982B14C155E7F11C45E0128C24331D025FF1913459E680ADB5D975C4B');
INSERT INTO "events" VALUES(4,'01a22f38-9c55-74a2-a02a-fa61114214a4',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"ddef3fc17625cb9d88e038ee312238cce73d35a2c8ec36694a3d0996b6a4384c","step_type":"tool_call","target":"look"}','2026-12-01T01:29:28.926227Z',X'AA5B20D5AB8C9408CADFFC08F2C7F560EDF880A68DDC1B390D73C9E178AEC353');
INSERT INTO "events" VALUES(5,'01a22f38-9c55-74a2-a02a-fa61114214a4',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"c95db71ef5a9156f40a5ddd9b79433e08c488132fbe13a8b0f323b53818e95f3","step_type":"tool_call","target":"pay"}','2026-12-01T01:29:28.926227Z',X'3C12630B02C06AD0575BF72746E4CFAB63EEF56738D1A82BBC30A189E14ED881');
INSERT INTO "events" VALUES(6,'01a22f38-9c55-74a2-a02a-fa61114214a4',6,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"c95db71ef5a9156f40a5ddd9b79433e08c488132fbe13a8b0f323b53818e95f3","step_type":"tool_call","target":"pay"}','2026-12-01T01:29:28.933151Z',X'DD53093D3D6FA45330ABA14A0FBAD8FE30C4D4BB594EE7FC1C1B6DC6B95CF37B');
INSERT INTO "events" VALUES(7,'01a22f38-9c55-74a2-a02a-fa61114214a4',7,'execution.completed','{"attempt":1,"output_hash":"0b7e3760a72454291280c43ba895191b50a5d861eef27b1f48b5597159cff63a","replayed":0}','2026-12-01T01:29:28.935487Z',X'C03A26C2A8CA28899810CE6F96FFDD427D99318424338B9AC8BC3F92042A54D0');
INSERT INTO "events" VALUES(8,'01a22f38-9e63-712b-ae4d-f5b102bbd812',1,'execution.created','{"agent_id":"fails","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"fails"}','2026-12-01T01:29:29.444711Z',X'BA5338A4D2A06A6F503CA437B4620C68AE214B7BBBB66495D475C41B60528D06');
INSERT INTO "events" VALUES(9,'01a22f38-9e63-712b-ae4d-f5b102bbd812',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":19016}','2026-12-01T01:29:29.444711Z',X'826FC8B75FCE49E2F01C5B6F9A3D49FE5AE893FAFB2528C2DBC8A6A81D441D54');
INSERT INTO "events" VALUES(10,'01a22f38-9e63-712b-ae4d-f5b102bbd812',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"544a14f863bb8ebf993645d21a82f2bc555f17003c9544fd1f1f2ed2bac6f8dc","step_type":"tool_call","target":"look"}','2026-12-01T01:29:29.446816Z',X'9C123FD78A149F363DEA1A65A4656B9B4B45B558C677F64A6B9E41C2351802F7');
INSERT INTO "events" VALUES(11,'01a22f38-9e63-712b-ae4d-f5b102bbd812',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"544a14f863bb8ebf993645d21a82f2bc555f17003c9544fd1f1f2ed2bac6f8dc","step_type":"tool_call","target":"look"}','2026-12-01T01:29:29.448734Z',X'AFDC080E438F0F352B60894A5917A3E9EE7EFF348EA146ECA4C8B428C0530A26');
INSERT INTO "events" VALUES(12,'01a22f38-9e63-712b-ae4d-f5b102bbd812',5,'execution.failed','{"attempt":1,"raised":{"file":"/work/wt/factsa/tests/journal/old_runs.py","function":"fails","line":69,"message":"look 1 done","traceback":[{"file":"/work/wt/factsa/tests/journal/old_runs.py","function":"fails","line":69,"source":"raise ValueError(await look(1))"}],"type":"ValueError"},"reason":"agent_error: ValueError: look 1 done","replayed":0}','2026-12-01T01:29:29.448734Z',X'3D5E46AA4576A326E5D86E11BE265AD02097B17109DA12FF5B1A2033153AD9FD');
INSERT INTO "events" VALUES(13,'01a22f38-a041-73a6-9b2a-535e1dd5a929',1,'execution.created','{"agent_id":"asks","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"asks"}','2026-12-01T01:29:29.921831Z',X'43E9F8D838709D0D5B7EBE19F942EDA735AB7A895EB65CC5441ECB727701E948');
INSERT INTO "events" VALUES(14,'01a22f38-a041-73a6-9b2a-535e1dd5a929',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":19055}','2026-12-01T01:29:29.921831Z',X'B0291BA52DABB35151535BB504343D9A1C0E0ABC5A82988E6228437E79AA08DB');
INSERT INTO "events" VALUES(15,'01a22f38-a041-73a6-9b2a-535e1dd5a929',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"a11b89b832278310237005c11542ec62d4bab51ca1d204ef2b6fd316ba164b3f","step_type":"tool_call","target":"look"}','2026-12-01T01:29:29.926036Z',X'382126C6BFC31A0C3505EE2453462DF9F3409BD40DF217B16E2078936AADA9E7');
INSERT INTO "events" VALUES(16,'01a22f38-a041-73a6-9b2a-535e1dd5a929',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"a11b89b832278310237005c11542ec62d4bab51ca1d204ef2b6fd316ba164b3f","step_type":"tool_call","target":"look"}','2026-12-01T01:29:29.927763Z',X'DF84FEAC478D5B7D0395A2AD2892DA0FAD9CE1501B2DAA729321242513390093');
INSERT INTO "events" VALUES(17,'01a22f38-a041-73a6-9b2a-535e1dd5a929',5,'step.proposed','{"args_hash":"02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5","idempotency":"at_most_once","occurrence":0,"step_id":"9ef3828ba36e4f16fa35b7feac8ee05f7509cbf9fc971f29ed1dd29c6b7fe17e","step_type":"tool_call","target":"send"}','2026-12-01T01:29:29.927763Z',X'32842B09100D80C58836CC3B7AD91D450A15FEE67AE28762B27490321A3E2178');
INSERT INTO "events" VALUES(18,'01a22f38-a041-73a6-9b2a-535e1dd5a929',6,'step.awaiting_approval','{"approval_id":"01a22f38-a047-72e3-901f-c2033b7dd278","bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","reason":"somebody must look","rule_id":"send","step_id":"9ef3828ba36e4f16fa35b7feac8ee05f7509cbf9fc971f29ed1dd29c6b7fe17e","step_type":"tool_call","target":"send"}','2026-12-01T01:29:29.927763Z',X'244CDFBCAB7C6AE6EDC1D7A640D6FD930A111E5F4D242ACA3E285FA2B6EE60F8');
INSERT INTO "events" VALUES(19,'01a22f38-a041-73a6-9b2a-535e1dd5a929',7,'approval.requested','{"approval_id":"01a22f38-a047-72e3-901f-c2033b7dd278","cause":"policy","message":"","quorum":1,"step_id":"9ef3828ba36e4f16fa35b7feac8ee05f7509cbf9fc971f29ed1dd29c6b7fe17e"}','2026-12-01T01:29:29.927763Z',X'770D11D0090D1380DF60FE4786EA92EBCB79F8569261D206CC8FDE068E59DEBF');
INSERT INTO "events" VALUES(20,'01a22f38-a041-73a6-9b2a-535e1dd5a929',8,'execution.blocked','{"attempt":1,"reason":"awaiting_steps","replayed":0}','2026-12-01T01:29:29.932663Z',X'488CD555471F262EDA016144A323FE3FF81EA93BD335A09F8D4AFE4694758115');
INSERT INTO "events" VALUES(21,'01a22f38-a238-7243-b346-3b58af43ba83',1,'execution.created','{"agent_id":"pays","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"pays"}','2026-12-01T01:29:30.425492Z',X'3A63E1675BA6C916664FF2D5F74EBD7B9284871E91CBAB40FA83F5CD3E4A12D0');
INSERT INTO "events" VALUES(22,'01a22f38-a238-7243-b346-3b58af43ba83',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":19098}','2026-12-01T01:29:30.425492Z',X'C8D2A9C4F8A776DB8287644417A2D547C1A69196C694A996AB62217211EF4217');
INSERT INTO "events" VALUES(23,'01a22f38-a238-7243-b346-3b58af43ba83',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"e67c0301f62c701768b6893904279d0e549b1122b39bb059ff76bf392d15d71d","step_type":"tool_call","target":"look"}','2026-12-01T01:29:30.427324Z',X'1B65DB976A2672FAEE1703416939951ECBB95CFF5CEA0525410538DB7D6737A3');
INSERT INTO "events" VALUES(24,'01a22f38-a238-7243-b346-3b58af43ba83',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"e67c0301f62c701768b6893904279d0e549b1122b39bb059ff76bf392d15d71d","step_type":"tool_call","target":"look"}','2026-12-01T01:29:30.428306Z',X'96BE19B87D1A41443ADB90541730F7C44EF9DE9AB625E385F53E5480D0005CFF');
INSERT INTO "events" VALUES(25,'01a22f38-a238-7243-b346-3b58af43ba83',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"02df6a1c313d9eee8db6c70a63968f9390f22257b7917816c54197e4aee7f158","step_type":"tool_call","target":"pay"}','2026-12-01T01:29:30.428306Z',X'90FE45FDBACD4CF13EC0AD2AF51AD6E769A1048E4562A4E5F7EA90EB16C3D04E');
INSERT INTO "events" VALUES(26,'01a22f38-a3e6-7039-b15d-c55f92713a8d',1,'execution.created','{"agent_id":"reads","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"reads"}','2026-12-01T01:29:30.855673Z',X'B72FBCD1679D52C78CE2966EB6C1C99A43DD862D576638FD95C6C8BFCCC63DDA');
INSERT INTO "events" VALUES(27,'01a22f38-a3e6-7039-b15d-c55f92713a8d',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":19122}','2026-12-01T01:29:30.855673Z',X'0FD67E63CCFE2F67706AF4F590FD16C13F32C4569B32D00D202B9FE5E1BA6036');
INSERT INTO "events" VALUES(28,'01a22f38-a3e6-7039-b15d-c55f92713a8d',3,'step.executing','{"args_hash":"9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"70891f76da123a4efff83aa62f16714ecca8b477472f08d5817c8e70af370d8e","step_type":"tool_call","target":"pay"}','2026-12-01T01:29:30.859793Z',X'0C58FFD5B384E12B2BA03660D407083CF87452628D524F7B0F5BEDF53F9B35E4');
INSERT INTO "events" VALUES(29,'01a22f38-a3e6-7039-b15d-c55f92713a8d',4,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"70891f76da123a4efff83aa62f16714ecca8b477472f08d5817c8e70af370d8e","step_type":"tool_call","target":"pay"}','2026-12-01T01:29:30.861182Z',X'40DE40E012F7CC3012EEABC2CEC22D6C88E4F4E65B39429540BA9D061586E67A');
INSERT INTO "events" VALUES(30,'01a22f38-a3e6-7039-b15d-c55f92713a8d',5,'step.executing','{"args_hash":"363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"ed8a6dddf5b5f6cbdc8dc18dc3b94f97e861d1139b75565c84a9404a3269b7cc","step_type":"tool_call","target":"look"}','2026-12-01T01:29:30.863344Z',X'E30FE29622F30ED99AACB35E2A51B5C155B08175653C8B7C127951C5661A0EE0');
CREATE TABLE executions (
    n              INTEGER PRIMARY KEY,
    id             TEXT    NOT NULL UNIQUE,
    agent_id       TEXT    NOT NULL,
    key            TEXT,
    status         TEXT    NOT NULL,
    digest         TEXT    NOT NULL,
    failure_reason TEXT    NOT NULL,
    attempt        INTEGER NOT NULL,
    owner          TEXT,
    host           TEXT,
    pid            INTEGER,
    lease_until    REAL    NOT NULL,
    head_seq       INTEGER NOT NULL,
    head_hash      BLOB    NOT NULL,
    created_at     REAL    NOT NULL,
    updated_at     REAL    NOT NULL
, deadline_at REAL    NOT NULL DEFAULT 0.0, pinned      INTEGER NOT NULL DEFAULT 0, forked_from TEXT    NOT NULL DEFAULT '', fork_seq    INTEGER NOT NULL DEFAULT 0, ended_at    REAL    NOT NULL DEFAULT 0.0, served               INTEGER NOT NULL DEFAULT 0, session              TEXT    NOT NULL DEFAULT '', continues            TEXT    NOT NULL DEFAULT '', spawned_execution_id TEXT    NOT NULL DEFAULT '', spawned_step_id      TEXT    NOT NULL DEFAULT '', created_by           TEXT    NOT NULL DEFAULT '', on_behalf_of         TEXT    NOT NULL DEFAULT '', told                 INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "executions" VALUES(1,'01a22f38-9c55-74a2-a02a-fa61114214a4','ends','ends','completed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,7,X'C03A26C2A8CA28899810CE6F96FFDD427D99318424338B9AC8BC3F92042A54D0',1.79608856891789889342e+09,1.79608856893548703191e+09,0.0,0,'',0,1.79608856893548703191e+09,0,'','','','','','',0);
INSERT INTO "executions" VALUES(2,'01a22f38-9e63-712b-ae4d-f5b102bbd812','fails','fails','failed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','agent_error: ValueError: look 1 done',1,NULL,NULL,NULL,0.0,5,X'3D5E46AA4576A326E5D86E11BE265AD02097B17109DA12FF5B1A2033153AD9FD',1.79608856944471096989e+09,1.79608856944873404503e+09,0.0,0,'',0,1.79608856944873404503e+09,0,'','','','','','',0);
INSERT INTO "executions" VALUES(3,'01a22f38-a041-73a6-9b2a-535e1dd5a929','asks','asks','blocked','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,8,X'488CD555471F262EDA016144A323FE3FF81EA93BD335A09F8D4AFE4694758115',1.79608856992183089258e+09,1.79608856993266296393e+09,0.0,0,'',0,0.0,0,'','','','','','',0);
INSERT INTO "executions" VALUES(4,'01a22f38-a238-7243-b346-3b58af43ba83','pays','pays','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'90e5419dcf264f48b44696f8a727baf8','elsewhere/00000000',19098,1.79608860042486858364e+09,5,X'90FE45FDBACD4CF13EC0AD2AF51AD6E769A1048E4562A4E5F7EA90EB16C3D04E',1.79608857042549204833e+09,1.79608857042830610275e+09,0.0,0,'',0,0.0,0,'','','','','','',0);
INSERT INTO "executions" VALUES(5,'01a22f38-a3e6-7039-b15d-c55f92713a8d','reads','reads','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'3d6de81708f84e38aaddd31ffbe89aff','elsewhere/00000000',19122,1.79608860085496664042e+09,5,X'E30FE29622F30ED99AACB35E2A51B5C155B08175653C8B7C127951C5661A0EE0',1.79608857085567307472e+09,1.79608857086334395411e+09,0.0,0,'',0,0.0,0,'','','','','','',0);
CREATE TABLE leaders (
    role  TEXT    NOT NULL PRIMARY KEY,
    owner TEXT    NOT NULL,
    host  TEXT    NOT NULL,
    pid   INTEGER NOT NULL,
    until REAL    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE log_mark (
    n    INTEGER PRIMARY KEY CHECK (n = 1),
    mark BLOB    NOT NULL
) STRICT;
INSERT INTO "log_mark" VALUES(1,X'72626E6F2D6C6F67AD677A24135E390B2E09B6746F52C31D000000400000000000984044000000000098415B18ECFD09CC546921003D4F5C17');
CREATE TABLE place_counts (
    key   TEXT    NOT NULL PRIMARY KEY,
    taken INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE policies (
    agent_id TEXT    NOT NULL PRIMARY KEY,
    version  INTEGER NOT NULL,
    text     TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE spends (
    key     TEXT NOT NULL,
    step_id TEXT NOT NULL,
    at      REAL NOT NULL,
    PRIMARY KEY (key, step_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE steps (
    n            INTEGER PRIMARY KEY,
    step_id      TEXT    NOT NULL UNIQUE,
    execution_id TEXT    NOT NULL REFERENCES executions (id),
    parent_id    TEXT    NOT NULL,
    kind         TEXT    NOT NULL,
    target       TEXT    NOT NULL,
    args         TEXT    NOT NULL,
    args_hash    TEXT    NOT NULL,
    occurrence   INTEGER NOT NULL,
    idempotency  TEXT    NOT NULL,
    status       TEXT    NOT NULL,
    verdict      TEXT    NOT NULL,
    rule_id      TEXT    NOT NULL,
    bundle       TEXT    NOT NULL,
    digest       TEXT    NOT NULL,
    reason       TEXT    NOT NULL,
    attempt      INTEGER NOT NULL,
    result       TEXT,
    error        TEXT,
    approval_id  TEXT    NOT NULL,
    decided_seq  INTEGER NOT NULL,
    started_seq  INTEGER NOT NULL,
    outcome_seq  INTEGER NOT NULL,
    decided_at   REAL    NOT NULL,
    started_at   REAL    NOT NULL,
    completed_at REAL    NOT NULL
, input_tokens  INTEGER, output_tokens INTEGER, visited    INTEGER NOT NULL DEFAULT 0, submission INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "steps" VALUES(1,'ddef3fc17625cb9d88e038ee312238cce73d35a2c8ec36694a3d0996b6a4384c','01a22f38-9c55-74a2-a02a-fa61114214a4','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79608856892463207241e+09,1.79608856892463207241e+09,1.79608856892622709275e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(2,'c95db71ef5a9156f40a5ddd9b79433e08c488132fbe13a8b0f323b53818e95f3','01a22f38-9c55-74a2-a02a-fa61114214a4','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',5,5,6,1.79608856892622709275e+09,1.79608856892622709275e+09,1.79608856893315100666e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(3,'544a14f863bb8ebf993645d21a82f2bc555f17003c9544fd1f1f2ed2bac6f8dc','01a22f38-9e63-712b-ae4d-f5b102bbd812','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79608856944681596762e+09,1.79608856944681596762e+09,1.79608856944873404503e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(4,'a11b89b832278310237005c11542ec62d4bab51ca1d204ef2b6fd316ba164b3f','01a22f38-a041-73a6-9b2a-535e1dd5a929','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79608856992603588102e+09,1.79608856992603588102e+09,1.79608856992776298525e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(5,'9ef3828ba36e4f16fa35b7feac8ee05f7509cbf9fc971f29ed1dd29c6b7fe17e','01a22f38-a041-73a6-9b2a-535e1dd5a929','','tool_call','send','{"to":"böb"}','02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5',0,'at_most_once','awaiting_approval','require_approval','send','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','somebody must look',0,NULL,NULL,'01a22f38-a047-72e3-901f-c2033b7dd278',5,0,0,1.79608856992776298525e+09,0.0,0.0,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(6,'e67c0301f62c701768b6893904279d0e549b1122b39bb059ff76bf392d15d71d','01a22f38-a238-7243-b346-3b58af43ba83','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79608857042732405658e+09,1.79608857042732405658e+09,1.79608857042830610275e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(7,'02df6a1c313d9eee8db6c70a63968f9390f22257b7917816c54197e4aee7f158','01a22f38-a238-7243-b346-3b58af43ba83','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','executing','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1.79608857042830610275e+09,1.79608857042830610275e+09,0.0,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(8,'70891f76da123a4efff83aa62f16714ecca8b477472f08d5817c8e70af370d8e','01a22f38-a3e6-7039-b15d-c55f92713a8d','','tool_call','pay','{"amount":1.5}','9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',3,3,4,1.79608857085979294783e+09,1.79608857085979294783e+09,1.7960885708611819744e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(9,'ed8a6dddf5b5f6cbdc8dc18dc3b94f97e861d1139b75565c84a9404a3269b7cc','01a22f38-a3e6-7039-b15d-c55f92713a8d','','tool_call','look','{"n":2}','363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8',0,'safe_to_retry','executing','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1.79608857086334395411e+09,1.79608857086334395411e+09,0.0,NULL,NULL,0,0);
CREATE TABLE tombstones (
    id          TEXT NOT NULL PRIMARY KEY,
    agent_id    TEXT NOT NULL,
    key         TEXT,
    status      TEXT NOT NULL,
    output_hash TEXT NOT NULL,
    head_hash   BLOB NOT NULL,
    ended_at    REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX executions_by_key ON executions (agent_id, key) WHERE key IS NOT NULL;
CREATE INDEX executions_by_name ON executions (key) WHERE key IS NOT NULL;
CREATE UNIQUE INDEX events_in_order ON events (execution_id, event_seq);
CREATE INDEX steps_in_order ON steps (execution_id, decided_seq);
CREATE INDEX approvals_by_status ON approvals (status);
CREATE INDEX approvals_by_execution ON approvals (execution_id);
CREATE INDEX executions_by_end ON executions (ended_at) WHERE ended_at > 0;
CREATE INDEX executions_by_deadline ON executions (deadline_at) WHERE deadline_at > 0 AND ended_at = 0;
CREATE INDEX approvals_by_timeout ON approvals (timeout_at) WHERE status = 'pending' AND timeout_at > 0;
CREATE INDEX approvals_by_step ON approvals (step_id);
CREATE INDEX spends_in_order ON spends (key, at);
CREATE UNIQUE INDEX tombstones_by_key ON tombstones (agent_id, key) WHERE key IS NOT NULL;
CREATE UNIQUE INDEX executions_in_session ON executions (agent_id, session)
WHERE session <> '' AND status IN ('running', 'blocked');
CREATE UNIQUE INDEX executions_by_spawn ON executions (spawned_step_id) WHERE spawned_step_id <> '';
CREATE INDEX executions_by_session ON executions (agent_id, session, n) WHERE session <> '';
CREATE INDEX executions_pending ON executions (n) WHERE status = 'pending';
CREATE INDEX executions_untold ON executions (spawned_execution_id) WHERE spawned_execution_id <> '' AND told = 0;
CREATE VIEW execution_rows AS
SELECT n, id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, ended_at, told
FROM executions JOIN contents USING (n);
CREATE INDEX dispatches_by_due ON dispatches (due_at);
CREATE TRIGGER place_taken AFTER INSERT ON spends
BEGIN
    INSERT INTO place_counts (key, taken) VALUES (new.key, 1) ON CONFLICT (key) DO UPDATE SET taken = taken + 1;
END;
CREATE TRIGGER place_freed AFTER DELETE ON spends
BEGIN
    UPDATE place_counts SET taken = taken - 1 WHERE key = old.key;
    DELETE FROM place_counts WHERE key = old.key AND taken = 0;
END;
COMMIT;
PRAGMA application_id=1919053423;
PRAGMA user_version=4;
