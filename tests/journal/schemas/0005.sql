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
CREATE TABLE amounts (
    key          TEXT NOT NULL,
    step_id      TEXT NOT NULL,
    execution_id TEXT NOT NULL,
    at           REAL NOT NULL,
    amount       TEXT NOT NULL,
    returned_at  REAL NOT NULL DEFAULT 0.0,
    sure         INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (key, step_id)
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
INSERT INTO "approvals" VALUES(1,'01a22f5d-02f4-73cc-93f5-0da97ea511d9','01a22f5d-02e2-741f-a567-684d6ccfdc91','0ef119572ac7607a96c228a02acbba4204fe5bc0e0eda0369071d62e11c81a3d','policy','pending','','send','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','once','','',1.79609095448601794242e+09,0.0,7,0,'upgrade','[]',1,'[]',0.0,'');
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
CREATE TABLE definitions (
    digest TEXT NOT NULL PRIMARY KEY,
    text   TEXT NOT NULL
) STRICT, WITHOUT ROWID;
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
INSERT INTO "events" VALUES(1,'01a22f5c-f353-7374-9c18-fa1b9c400972',1,'execution.created','{"agent_id":"ends","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"ends"}','2026-12-01T02:09:10.485792Z',X'DD904D51AC2729E397785C2C2891D8C4B3981924BC4C03DEF65C1ACA90BD052C');
INSERT INTO "events" VALUES(2,'01a22f5c-f353-7374-9c18-fa1b9c400972',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":17166}','2026-12-01T02:09:10.485792Z',X'6CC6D671D72EF24390403A4EB11362970E031D9012C3513AE317E1178BB611AE');
INSERT INTO "events" VALUES(3,'01a22f5c-f353-7374-9c18-fa1b9c400972',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"9697a6aff5ec1e34add615464990212ee8ac21684008192d49f352097d04fcac","step_type":"tool_call","target":"look"}','2026-12-01T02:09:10.496860Z',X'942DD0AA24E28C265A1386A6BB2C682D0FDB922C1812C696B8220ACFAED5BC1C');
INSERT INTO "events" VALUES(4,'01a22f5c-f353-7374-9c18-fa1b9c400972',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"9697a6aff5ec1e34add615464990212ee8ac21684008192d49f352097d04fcac","step_type":"tool_call","target":"look"}','2026-12-01T02:09:10.505064Z',X'A929BF68331AA943761465542CCE5C1DDEE72E2F477CBD3C0F5B21E243F1258F');
INSERT INTO "events" VALUES(5,'01a22f5c-f353-7374-9c18-fa1b9c400972',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"6d628d6f743b9cc6f8a056d52ade8ca557746b9c87787f562e0bb4ca5efc5aec","step_type":"tool_call","target":"pay"}','2026-12-01T02:09:10.505064Z',X'8CFDFD863665C77C3833FD2863BAC5BC9C586EA24A1B8B8C6446D4403EEA09C1');
INSERT INTO "events" VALUES(6,'01a22f5c-f353-7374-9c18-fa1b9c400972',6,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"6d628d6f743b9cc6f8a056d52ade8ca557746b9c87787f562e0bb4ca5efc5aec","step_type":"tool_call","target":"pay"}','2026-12-01T02:09:10.506449Z',X'D8E5F43A7FC903304446C7C023CF72B643ABF3B18B0823C06D39BCE2127C2E92');
INSERT INTO "events" VALUES(7,'01a22f5c-f353-7374-9c18-fa1b9c400972',7,'execution.completed','{"attempt":1,"output_hash":"0b7e3760a72454291280c43ba895191b50a5d861eef27b1f48b5597159cff63a","replayed":0}','2026-12-01T02:09:10.507155Z',X'357DC17960E4138844EFB5F60235A758E3DE75E7E6003D7118865CD7654A02B7');
INSERT INTO "events" VALUES(8,'01a22f5c-f8c6-7575-a6c5-a721e70dc42d',1,'execution.created','{"agent_id":"fails","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"fails"}','2026-12-01T02:09:11.880753Z',X'3AFA1F42DC5E6A24F4EB22A9C213C4D6B40D11BBD15720913DDB9DDDE24F0BD1');
INSERT INTO "events" VALUES(9,'01a22f5c-f8c6-7575-a6c5-a721e70dc42d',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":18003}','2026-12-01T02:09:11.880753Z',X'76A39E66799CF48F2EF10037393BB4953096F56E92B2452C93AD0CC793D3E403');
INSERT INTO "events" VALUES(10,'01a22f5c-f8c6-7575-a6c5-a721e70dc42d',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"d4d83bee7ed279ff5a84a895facea0e38e7b2a41d5819139cf3306392b780eba","step_type":"tool_call","target":"look"}','2026-12-01T02:09:11.893064Z',X'6F6B5372E95C0A08227E8327AE3CBE8A30B681915D95CFFB5A1D153D790B2C27');
INSERT INTO "events" VALUES(11,'01a22f5c-f8c6-7575-a6c5-a721e70dc42d',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"d4d83bee7ed279ff5a84a895facea0e38e7b2a41d5819139cf3306392b780eba","step_type":"tool_call","target":"look"}','2026-12-01T02:09:11.900004Z',X'01A916AF241E276CFD943F66E6553141356499A4DEDC2756907A3775872BC472');
INSERT INTO "events" VALUES(12,'01a22f5c-f8c6-7575-a6c5-a721e70dc42d',5,'execution.failed','{"attempt":1,"raised":{"file":"/srv/rebuno/tests/journal/old_runs.py","function":"fails","line":69,"message":"look 1 done","traceback":[{"file":"/srv/rebuno/tests/journal/old_runs.py","function":"fails","line":69,"source":"raise ValueError(await look(1))"}],"type":"ValueError"},"reason":"agent_error: ValueError: look 1 done","replayed":0}','2026-12-01T02:09:11.900004Z',X'A65744D4F638B6E5E0FF998CF000447EC15190E0F7347393A47A01601853BBE5');
INSERT INTO "events" VALUES(13,'01a22f5d-02e2-741f-a567-684d6ccfdc91',1,'execution.created','{"agent_id":"asks","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"asks"}','2026-12-01T02:09:14.470281Z',X'53440468A748A530D7D25A83F2E6963391E9289E65582343F90D4C1F46415D50');
INSERT INTO "events" VALUES(14,'01a22f5d-02e2-741f-a567-684d6ccfdc91',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":18456}','2026-12-01T02:09:14.470281Z',X'D054044F83E44F6C282F20D00C572A1B52391E04902EBC8CF8484D18B71B740F');
INSERT INTO "events" VALUES(15,'01a22f5d-02e2-741f-a567-684d6ccfdc91',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"422bffedd93c189cfda615d1ff32c41a0bc82880a20266d3d2f502abe5e1e8d6","step_type":"tool_call","target":"look"}','2026-12-01T02:09:14.482076Z',X'4FF987AA61E9DED159F0CC8FC56A5321C362D70DBB7AC2B99C3E0A55B7F13822');
INSERT INTO "events" VALUES(16,'01a22f5d-02e2-741f-a567-684d6ccfdc91',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"422bffedd93c189cfda615d1ff32c41a0bc82880a20266d3d2f502abe5e1e8d6","step_type":"tool_call","target":"look"}','2026-12-01T02:09:14.486018Z',X'C1F4939EE3759F376B0F5A31FEB96D89F41188E6B1097B359946F1B81ADA83D3');
INSERT INTO "events" VALUES(17,'01a22f5d-02e2-741f-a567-684d6ccfdc91',5,'step.proposed','{"args_hash":"02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5","idempotency":"at_most_once","occurrence":0,"step_id":"0ef119572ac7607a96c228a02acbba4204fe5bc0e0eda0369071d62e11c81a3d","step_type":"tool_call","target":"send"}','2026-12-01T02:09:14.486018Z',X'1C05B5A852DC5E7E2F6BFCB8DE87F18A971DA3E179A1ACE352A6A687BC01FFC1');
INSERT INTO "events" VALUES(18,'01a22f5d-02e2-741f-a567-684d6ccfdc91',6,'step.awaiting_approval','{"approval_id":"01a22f5d-02f4-73cc-93f5-0da97ea511d9","bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","reason":"somebody must look","rule_id":"send","step_id":"0ef119572ac7607a96c228a02acbba4204fe5bc0e0eda0369071d62e11c81a3d","step_type":"tool_call","target":"send"}','2026-12-01T02:09:14.486018Z',X'585142C61F6367996E6DEC3C0B9348E0260872AEEDE5D39C083E16FFC41E58DA');
INSERT INTO "events" VALUES(19,'01a22f5d-02e2-741f-a567-684d6ccfdc91',7,'approval.requested','{"approval_id":"01a22f5d-02f4-73cc-93f5-0da97ea511d9","cause":"policy","message":"","quorum":1,"step_id":"0ef119572ac7607a96c228a02acbba4204fe5bc0e0eda0369071d62e11c81a3d"}','2026-12-01T02:09:14.486018Z',X'A70525224C0B588003658A402C498115F1D95A8028FB0C5F16E3D91100A64919');
INSERT INTO "events" VALUES(20,'01a22f5d-02e2-741f-a567-684d6ccfdc91',8,'execution.blocked','{"attempt":1,"reason":"awaiting_steps","replayed":0}','2026-12-01T02:09:14.494758Z',X'5234CA45C3F6D767D7EDC90E5DA2E1839B98741F42CBA69E94AA3554351091A4');
INSERT INTO "events" VALUES(21,'01a22f5d-0c99-75b6-9b1f-d433a47d6096',1,'execution.created','{"agent_id":"pays","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"pays"}','2026-12-01T02:09:16.958861Z',X'045A5A2C819B95E7CA3CDF8AA8E36D38F5802FD8BE130C37ACE0EA7042E46BB9');
INSERT INTO "events" VALUES(22,'01a22f5d-0c99-75b6-9b1f-d433a47d6096',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":19277}','2026-12-01T02:09:16.958861Z',X'FE1D07F64D9C528DC09EB03611898B5C9F0D46DD457BEC1D6AD7B2567E4BCD09');
INSERT INTO "events" VALUES(23,'01a22f5d-0c99-75b6-9b1f-d433a47d6096',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"ebc8d135b24afa9b7ecbfee55a5ce3c6d22ae980dc71269497b02b2fb9d1d8d7","step_type":"tool_call","target":"look"}','2026-12-01T02:09:16.965464Z',X'9C2F4AFFEE1F3132A3918F60D9C5A215EC1FCED70FCDB5D53FA6D1318C6F4E8E');
INSERT INTO "events" VALUES(24,'01a22f5d-0c99-75b6-9b1f-d433a47d6096',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"ebc8d135b24afa9b7ecbfee55a5ce3c6d22ae980dc71269497b02b2fb9d1d8d7","step_type":"tool_call","target":"look"}','2026-12-01T02:09:16.966423Z',X'B029F8DAFF9769857C63AD10CDE3682A6801BBF09062F688B47068544B9F0D76');
INSERT INTO "events" VALUES(25,'01a22f5d-0c99-75b6-9b1f-d433a47d6096',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"8b0397d6bc272d05474d305d474cd71447cb5c83ea2417caac4dc48c4adb48b5","step_type":"tool_call","target":"pay"}','2026-12-01T02:09:16.966423Z',X'AEB54FB39A305C2963BD408C0367BA493B944EEE35159D6846AE9E8BC761CEA2');
INSERT INTO "events" VALUES(26,'01a22f5d-14cc-73bf-b98c-58348686723a',1,'execution.created','{"agent_id":"reads","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"reads"}','2026-12-01T02:09:19.053065Z',X'2BC401C367E9C1ED617587601831900B3D0D292156DEC2E3147BF3B261D10A5D');
INSERT INTO "events" VALUES(27,'01a22f5d-14cc-73bf-b98c-58348686723a',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":19718}','2026-12-01T02:09:19.053065Z',X'BBFA3A918F95239FB8C11EFE0DF0192A4A5CE80CE2B5B7666E9C4A07D8DAC921');
INSERT INTO "events" VALUES(28,'01a22f5d-14cc-73bf-b98c-58348686723a',3,'step.executing','{"args_hash":"9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"1c2b9215fa47f2e48edc801a69b8b0e8d85815f5293f44c9856671bae50fdc20","step_type":"tool_call","target":"pay"}','2026-12-01T02:09:19.061686Z',X'E8A395F3E9E459BA736E3F7B60EB57EA0FC212B38BEE189E1F669DD9F0C9B1FB');
INSERT INTO "events" VALUES(29,'01a22f5d-14cc-73bf-b98c-58348686723a',4,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"1c2b9215fa47f2e48edc801a69b8b0e8d85815f5293f44c9856671bae50fdc20","step_type":"tool_call","target":"pay"}','2026-12-01T02:09:19.062468Z',X'B814E6C0AD95F56BCD491FB036D6D094E4B1CD41F495C59619CC9FDA67ADBDBC');
INSERT INTO "events" VALUES(30,'01a22f5d-14cc-73bf-b98c-58348686723a',5,'step.executing','{"args_hash":"363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"7ab8984b947dcb5b355c9aa21d1d2d74b2902a6d6293e5d755046a0a43f388b1","step_type":"tool_call","target":"look"}','2026-12-01T02:09:19.068793Z',X'592800193EA44EDD716EA7533722A5AC32BDF1D8004AD6DA5FABA0661DDDE453');
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
INSERT INTO "executions" VALUES(1,'01a22f5c-f353-7374-9c18-fa1b9c400972','ends','ends','completed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,7,X'357DC17960E4138844EFB5F60235A758E3DE75E7E6003D7118865CD7654A02B7',1.79609095048579192168e+09,1.79609095050715494154e+09,0.0,0,'',0,1.79609095050715494154e+09,0,'','','','','','',0);
INSERT INTO "executions" VALUES(2,'01a22f5c-f8c6-7575-a6c5-a721e70dc42d','fails','fails','failed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','agent_error: ValueError: look 1 done',1,NULL,NULL,NULL,0.0,5,X'A65744D4F638B6E5E0FF998CF000447EC15190E0F7347393A47A01601853BBE5',1.79609095188075304026e+09,1.79609095190000391008e+09,0.0,0,'',0,1.79609095190000391008e+09,0,'','','','','','',0);
INSERT INTO "executions" VALUES(3,'01a22f5d-02e2-741f-a567-684d6ccfdc91','asks','asks','blocked','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,8,X'5234CA45C3F6D767D7EDC90E5DA2E1839B98741F42CBA69E94AA3554351091A4',1.79609095447028088571e+09,1.79609095449475789077e+09,0.0,0,'',0,0.0,0,'','','','','','',0);
INSERT INTO "executions" VALUES(4,'01a22f5d-0c99-75b6-9b1f-d433a47d6096','pays','pays','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'0d683d34f6d84f268a809cebe726371b','elsewhere/00000000',19277,1.79609098695387172693e+09,5,X'AEB54FB39A305C2963BD408C0367BA493B944EEE35159D6846AE9E8BC761CEA2',1.79609095695886111258e+09,1.79609095696642303468e+09,0.0,0,'',0,0.0,0,'','','','','','',0);
INSERT INTO "executions" VALUES(5,'01a22f5d-14cc-73bf-b98c-58348686723a','reads','reads','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'4ec5473bf2da4006ac286da51fa7de12','elsewhere/00000000',19718,1.79609098905240678785e+09,5,X'592800193EA44EDD716EA7533722A5AC32BDF1D8004AD6DA5FABA0661DDDE453',1.79609095905306506159e+09,1.79609095906879305841e+09,0.0,0,'',0,0.0,0,'','','','','','',0);
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
INSERT INTO "log_mark" VALUES(1,X'72626E6F2D6C6F6791253A76FF49F68A3F82522BBE3286BE0000002F0000000000984254000000000098425518ED1CB3A0F314AB019724896B');
CREATE TABLE place_counts (
    key   TEXT    NOT NULL PRIMARY KEY,
    taken INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE policies (
    agent_id TEXT    NOT NULL PRIMARY KEY,
    version  INTEGER NOT NULL,
    text     TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE pots (
    key     TEXT NOT NULL PRIMARY KEY,
    bundle  TEXT NOT NULL,
    name    TEXT NOT NULL,
    measure TEXT NOT NULL,
    scope   TEXT NOT NULL,
    owner   TEXT NOT NULL,
    number  TEXT NOT NULL,
    per     REAL,
    seconds REAL,
    since   REAL NOT NULL DEFAULT 0.0,
    taken   TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE ran_args (
    step_id      TEXT NOT NULL PRIMARY KEY REFERENCES steps (step_id) ON DELETE CASCADE,
    execution_id TEXT NOT NULL,
    approval_id  TEXT NOT NULL,
    args         TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE roots (
    execution_id TEXT NOT NULL PRIMARY KEY REFERENCES executions (id) ON DELETE CASCADE,
    root_id      TEXT NOT NULL,
    input        TEXT NOT NULL,
    turns        TEXT NOT NULL,
    read_args    TEXT
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
INSERT INTO "steps" VALUES(1,'9697a6aff5ec1e34add615464990212ee8ac21684008192d49f352097d04fcac','01a22f5c-f353-7374-9c18-fa1b9c400972','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1796090950.49686,1796090950.49686,1.79609095050506401055e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(2,'6d628d6f743b9cc6f8a056d52ade8ca557746b9c87787f562e0bb4ca5efc5aec','01a22f5c-f353-7374-9c18-fa1b9c400972','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',5,5,6,1.79609095050506401055e+09,1.79609095050506401055e+09,1.79609095050644898411e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(3,'d4d83bee7ed279ff5a84a895facea0e38e7b2a41d5819139cf3306392b780eba','01a22f5c-f8c6-7575-a6c5-a721e70dc42d','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79609095189306402205e+09,1.79609095189306402205e+09,1.79609095190000391008e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(4,'422bffedd93c189cfda615d1ff32c41a0bc82880a20266d3d2f502abe5e1e8d6','01a22f5d-02e2-741f-a567-684d6ccfdc91','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79609095448207592969e+09,1.79609095448207592969e+09,1.79609095448601794242e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(5,'0ef119572ac7607a96c228a02acbba4204fe5bc0e0eda0369071d62e11c81a3d','01a22f5d-02e2-741f-a567-684d6ccfdc91','','tool_call','send','{"to":"böb"}','02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5',0,'at_most_once','awaiting_approval','require_approval','send','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','somebody must look',0,NULL,NULL,'01a22f5d-02f4-73cc-93f5-0da97ea511d9',5,0,0,1.79609095448601794242e+09,0.0,0.0,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(6,'ebc8d135b24afa9b7ecbfee55a5ce3c6d22ae980dc71269497b02b2fb9d1d8d7','01a22f5d-0c99-75b6-9b1f-d433a47d6096','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.7960909569654641151e+09,1.7960909569654641151e+09,1.79609095696642303468e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(7,'8b0397d6bc272d05474d305d474cd71447cb5c83ea2417caac4dc48c4adb48b5','01a22f5d-0c99-75b6-9b1f-d433a47d6096','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','executing','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1.79609095696642303468e+09,1.79609095696642303468e+09,0.0,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(8,'1c2b9215fa47f2e48edc801a69b8b0e8d85815f5293f44c9856671bae50fdc20','01a22f5d-14cc-73bf-b98c-58348686723a','','tool_call','pay','{"amount":1.5}','9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',3,3,4,1.79609095906168603901e+09,1.79609095906168603901e+09,1.79609095906246805192e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(9,'7ab8984b947dcb5b355c9aa21d1d2d74b2902a6d6293e5d755046a0a43f388b1','01a22f5d-14cc-73bf-b98c-58348686723a','','tool_call','look','{"n":2}','363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8',0,'safe_to_retry','executing','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1.79609095906879305841e+09,1.79609095906879305841e+09,0.0,NULL,NULL,0,0);
CREATE TABLE tombstones (
    id          TEXT NOT NULL PRIMARY KEY,
    agent_id    TEXT NOT NULL,
    key         TEXT,
    status      TEXT NOT NULL,
    output_hash TEXT NOT NULL,
    head_hash   BLOB NOT NULL,
    ended_at    REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE turns (
    execution_id TEXT    NOT NULL REFERENCES executions (id) ON DELETE CASCADE,
    number       INTEGER NOT NULL,
    event_seq    INTEGER NOT NULL,
    said_at      REAL    NOT NULL,
    said_by      TEXT    NOT NULL,
    text         TEXT    NOT NULL,
    PRIMARY KEY (execution_id, number)
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
CREATE INDEX amounts_in_order ON amounts (key, at);
CREATE INDEX amounts_by_step ON amounts (step_id);
CREATE INDEX amounts_by_execution ON amounts (execution_id);
CREATE INDEX amounts_unsure ON amounts (key) WHERE sure = 0 AND returned_at = 0.0;
CREATE INDEX executions_by_source ON executions (forked_from) WHERE forked_from <> '';
COMMIT;
PRAGMA application_id=1919053423;
PRAGMA user_version=5;
