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
, bundle      TEXT    NOT NULL DEFAULT '', approvers   TEXT    NOT NULL DEFAULT '[]', quorum      INTEGER NOT NULL DEFAULT 1, votes       TEXT    NOT NULL DEFAULT '[]', timeout_at  REAL    NOT NULL DEFAULT 0.0, asserted_by TEXT    NOT NULL DEFAULT '', edits     TEXT NOT NULL DEFAULT '[]', edited    TEXT NOT NULL DEFAULT '', edited_by TEXT NOT NULL DEFAULT '') STRICT;
INSERT INTO "approvals" VALUES(1,'01a23255-ef20-7437-98ad-26c8eaa86995','01a23255-ef1a-747a-b6e7-132550256310','b33ecbe70c50d79cffd240e6f4947d7480e48688a4d0fa2a14bdeba950c6cd14','policy','pending','','send','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','once','','',1.7961408223053460121e+09,0.0,7,0,'upgrade','[]',1,'[]',0.0,'','[]','','');
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
CREATE TABLE checkpoints (
    execution_id    TEXT    NOT NULL REFERENCES executions (id) ON DELETE CASCADE,
    key             TEXT    NOT NULL,
    covered_seq     INTEGER NOT NULL,
    generation      INTEGER NOT NULL,
    checkpoint_ref  TEXT    NOT NULL,
    invalidated_seq INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (execution_id, key, covered_seq)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE data_keys (
    execution_id TEXT NOT NULL PRIMARY KEY REFERENCES executions (id) ON DELETE CASCADE,
    key_id       TEXT NOT NULL,
    covers       TEXT NOT NULL,
    wrapped      BLOB,
    created_at   REAL NOT NULL,
    erased_at    REAL NOT NULL DEFAULT 0.0,
    erased_by    TEXT NOT NULL DEFAULT '',
    purged_at    REAL NOT NULL DEFAULT 0.0
) STRICT, WITHOUT ROWID;
CREATE TABLE definitions (
    digest TEXT NOT NULL PRIMARY KEY,
    text   TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "definitions" VALUES('07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e','{"description":"","input_schema":{"properties":{"n":{"python_type":"int"}},"required":["n"],"type":"object"},"name":"look","output_schema":null,"server":""}');
INSERT INTO "definitions" VALUES('4375aa8a41384975538f24db9c4cd3a53bfe94298252efb6dba426dd62e8ff1b','{"description":"","input_schema":{"properties":{"to":{"python_type":"str"}},"required":["to"],"type":"object"},"name":"send","output_schema":null,"server":""}');
INSERT INTO "definitions" VALUES('a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b','{"description":"","input_schema":{"properties":{"amount":{"python_type":"float"}},"required":["amount"],"type":"object"},"name":"pay","output_schema":null,"server":""}');
CREATE TABLE dispatches (
    id           TEXT    NOT NULL,
    execution_id TEXT    NOT NULL PRIMARY KEY REFERENCES executions (id),
    agent_id     TEXT    NOT NULL,
    state        TEXT    NOT NULL,
    attempt      INTEGER NOT NULL,
    failures     INTEGER NOT NULL,
    due_at       REAL    NOT NULL
, unreached INTEGER NOT NULL DEFAULT 0, since     REAL    NOT NULL DEFAULT 0.0, error     TEXT    NOT NULL DEFAULT '') STRICT, WITHOUT ROWID;
CREATE TABLE events (
    n            INTEGER PRIMARY KEY,
    execution_id TEXT    NOT NULL REFERENCES executions (id),
    event_seq    INTEGER NOT NULL,
    type         TEXT    NOT NULL,
    payload      TEXT    NOT NULL,
    occurred_at  TEXT    NOT NULL,
    hash         BLOB    NOT NULL
) STRICT;
INSERT INTO "events" VALUES(1,'01a23255-e958-727b-932e-9a88828eb838',1,'execution.created','{"agent_id":"ends","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"ends"}','2026-12-01T16:00:20.824913Z',X'A3058092EBDECF1EC04525B8946E1DAEAB69001F207CC7EBD154564DE41E2FF5');
INSERT INTO "events" VALUES(2,'01a23255-e958-727b-932e-9a88828eb838',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":4395}','2026-12-01T16:00:20.824913Z',X'5EADB4A31EE5A713A34A11F1C0E7474B12FFC4B924E99D2E0296850BE50CA7EB');
INSERT INTO "events" VALUES(3,'01a23255-e958-727b-932e-9a88828eb838',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"3327cad46e213b152ae30fe0c0a67a59a0aa26a14cb1fd216d4d9770090ddce6","step_type":"tool_call","target":"look"}','2026-12-01T16:00:20.827708Z',X'3E3B340F5AF5D75B8A224E77EE799F86FC2CBE75ACBD1D119AE2DD195388F84F');
INSERT INTO "events" VALUES(4,'01a23255-e958-727b-932e-9a88828eb838',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"3327cad46e213b152ae30fe0c0a67a59a0aa26a14cb1fd216d4d9770090ddce6","step_type":"tool_call","target":"look"}','2026-12-01T16:00:20.829125Z',X'11B9FF7F673DD88B040E97F27E3C306D92E882A4318A1A4524041F2F1C5008C3');
INSERT INTO "events" VALUES(5,'01a23255-e958-727b-932e-9a88828eb838',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","definition":{"digest":"a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b","name":"pay","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"f2fe516329f3591da46387178410d5ec2549b02f664a3aa69634a9c3f9758cf2","step_type":"tool_call","target":"pay"}','2026-12-01T16:00:20.829125Z',X'3A1F08D0C484E957EB7CE1C562A4700570D5629AE141C6DAB3627ACF9CE2BCC3');
INSERT INTO "events" VALUES(6,'01a23255-e958-727b-932e-9a88828eb838',6,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"f2fe516329f3591da46387178410d5ec2549b02f664a3aa69634a9c3f9758cf2","step_type":"tool_call","target":"pay"}','2026-12-01T16:00:20.829672Z',X'9BCABEF6741EE8B4D953B27A97CB175F26FB3DA3AE990793702827D1CB45CA4B');
INSERT INTO "events" VALUES(7,'01a23255-e958-727b-932e-9a88828eb838',7,'execution.completed','{"attempt":1,"output_hash":"0b7e3760a72454291280c43ba895191b50a5d861eef27b1f48b5597159cff63a","replayed":0}','2026-12-01T16:00:20.830434Z',X'7D81AE22AAC490024460A4CBB501E89AF1743E25EEAADA069EBF30669045BD94');
INSERT INTO "events" VALUES(8,'01a23255-ec64-7673-8871-d3705955bec2',1,'execution.created','{"agent_id":"fails","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"fails"}','2026-12-01T16:00:21.605569Z',X'47E941DDD52BDA35029DC592322BE8EBE65EE8B12618C97219C3A12924FEC140');
INSERT INTO "events" VALUES(9,'01a23255-ec64-7673-8871-d3705955bec2',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":4399}','2026-12-01T16:00:21.605569Z',X'B30FCA1E8239CF4A4252A3F9F3042363CC6D1600C93CE1A0BD837483B7F75956');
INSERT INTO "events" VALUES(10,'01a23255-ec64-7673-8871-d3705955bec2',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"0229d0873752e7b4a036dd5d44cf5574343e934f7eb5e7c07d1c79cf4448866b","step_type":"tool_call","target":"look"}','2026-12-01T16:00:21.608939Z',X'E5AA1A614D90B2490D653FED078E1B18A3758A90628A85A1D6DCACCC8DBFE5DE');
INSERT INTO "events" VALUES(11,'01a23255-ec64-7673-8871-d3705955bec2',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"0229d0873752e7b4a036dd5d44cf5574343e934f7eb5e7c07d1c79cf4448866b","step_type":"tool_call","target":"look"}','2026-12-01T16:00:21.611362Z',X'F2C4EBD184D8D83140EE1CCAA9095EF77958576B628E4FA79B2D819528BD97E0');
INSERT INTO "events" VALUES(12,'01a23255-ec64-7673-8871-d3705955bec2',5,'execution.failed','{"attempt":1,"raised":{"file":"/tmp/oldnotices/tests/journal/old_runs.py","function":"fails","line":69,"message":"look 1 done","traceback":[{"file":"/tmp/oldnotices/tests/journal/old_runs.py","function":"fails","line":69,"source":"raise ValueError(await look(1))"}],"type":"ValueError"},"reason":"agent_error: ValueError: look 1 done","replayed":0}','2026-12-01T16:00:21.611362Z',X'EF4780296E1B6D6A0ADF91C9CCAE0CF473ADBC3958A9751A6F63857B8C3B455A');
INSERT INTO "events" VALUES(13,'01a23255-ef1a-747a-b6e7-132550256310',1,'execution.created','{"agent_id":"asks","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"asks"}','2026-12-01T16:00:22.299014Z',X'FF175AFAC7BC18FBEB5A955ADD6BF7F7BF83DEC41D47D24D9C9CA4A3A87FEC1F');
INSERT INTO "events" VALUES(14,'01a23255-ef1a-747a-b6e7-132550256310',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":4403}','2026-12-01T16:00:22.299014Z',X'ABCD75581B9CA61B193C13578A1732DCD3F8811052195F6EE86B6DB9097B3F0B');
INSERT INTO "events" VALUES(15,'01a23255-ef1a-747a-b6e7-132550256310',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"9396b348f5403d3dfba9ed92fd1128da21a05b88e18c9cc5d001b7a070f24828","step_type":"tool_call","target":"look"}','2026-12-01T16:00:22.302038Z',X'F075447D60839A79EEE08280CB2BC89925A1A27E499A7BBA39354D9E17D2693F');
INSERT INTO "events" VALUES(16,'01a23255-ef1a-747a-b6e7-132550256310',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"9396b348f5403d3dfba9ed92fd1128da21a05b88e18c9cc5d001b7a070f24828","step_type":"tool_call","target":"look"}','2026-12-01T16:00:22.303886Z',X'965CA3F76AB4F2126C220C8C9103F147E16FFE0ECEBBA918E11E76AA91279B5E');
INSERT INTO "events" VALUES(17,'01a23255-ef1a-747a-b6e7-132550256310',5,'step.proposed','{"args_hash":"02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5","definition":{"digest":"4375aa8a41384975538f24db9c4cd3a53bfe94298252efb6dba426dd62e8ff1b","name":"send","server":""},"idempotency":"at_most_once","occurrence":0,"step_id":"b33ecbe70c50d79cffd240e6f4947d7480e48688a4d0fa2a14bdeba950c6cd14","step_type":"tool_call","target":"send"}','2026-12-01T16:00:22.305346Z',X'582E445561DB7AEA6F48F725AD1AEC414E60F4B9D840D3928F4C93CAB948CA9B');
INSERT INTO "events" VALUES(18,'01a23255-ef1a-747a-b6e7-132550256310',6,'step.awaiting_approval','{"approval_id":"01a23255-ef20-7437-98ad-26c8eaa86995","bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","reason":"somebody must look","rule_id":"send","step_id":"b33ecbe70c50d79cffd240e6f4947d7480e48688a4d0fa2a14bdeba950c6cd14","step_type":"tool_call","target":"send"}','2026-12-01T16:00:22.305346Z',X'7F3F4AC8ACD9DD58438B36DE8BA82857EB2DC1E156024DC8E012853616794550');
INSERT INTO "events" VALUES(19,'01a23255-ef1a-747a-b6e7-132550256310',7,'approval.requested','{"approval_id":"01a23255-ef20-7437-98ad-26c8eaa86995","cause":"policy","message":"","quorum":1,"step_id":"b33ecbe70c50d79cffd240e6f4947d7480e48688a4d0fa2a14bdeba950c6cd14"}','2026-12-01T16:00:22.305346Z',X'EF9D5D65EDB2EC2D1F2F4975CC7007464962539D30E68EB97838A063F3E4AA4B');
INSERT INTO "events" VALUES(20,'01a23255-ef1a-747a-b6e7-132550256310',8,'execution.blocked','{"attempt":1,"reason":"awaiting_steps","replayed":0}','2026-12-01T16:00:22.306652Z',X'6A60AC36198C93A2D085E9C5FBC745852D2EEFA16597AE840ED2453DD18F06C3');
INSERT INTO "events" VALUES(21,'01a23255-f1d0-7271-bfa2-4e1460f4f8f8',1,'execution.created','{"agent_id":"pays","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"pays"}','2026-12-01T16:00:22.993220Z',X'117C84047B892DC3A9EF3E09DDB85A95D69BADED1BA786ED0047F0DAFDC476B8');
INSERT INTO "events" VALUES(22,'01a23255-f1d0-7271-bfa2-4e1460f4f8f8',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":4407}','2026-12-01T16:00:22.993220Z',X'B875A61D3E7436387DC89733CE22A857DAEB139E4F508CFC06053083AA7D460C');
INSERT INTO "events" VALUES(23,'01a23255-f1d0-7271-bfa2-4e1460f4f8f8',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"3a00fe1d061923f9811bafa9498bc11c7af9a4dac098bae34fabcb6c14a761e1","step_type":"tool_call","target":"look"}','2026-12-01T16:00:22.996173Z',X'902AF6BB0AC9560AFF47028B1B79A5A2B83190AB3C2EE50B891F2AB2288C0F8B');
INSERT INTO "events" VALUES(24,'01a23255-f1d0-7271-bfa2-4e1460f4f8f8',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"3a00fe1d061923f9811bafa9498bc11c7af9a4dac098bae34fabcb6c14a761e1","step_type":"tool_call","target":"look"}','2026-12-01T16:00:22.997592Z',X'8BC9BA2818B0D483CF6808462A1CD671B2E87FE43850B5EF3EFB64EB4198E5FB');
INSERT INTO "events" VALUES(25,'01a23255-f1d0-7271-bfa2-4e1460f4f8f8',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","definition":{"digest":"a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b","name":"pay","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"9ce2534320d009b493c4e1385d1eabc6e81bee4cbed2d3acdbc512fd73c3a4c9","step_type":"tool_call","target":"pay"}','2026-12-01T16:00:22.997592Z',X'3824F02AEE7778C4DD1CEFCA0B18E18C2400DE4A2D776F23321174B45F485CB6');
INSERT INTO "events" VALUES(26,'01a23255-f3f8-7204-9c80-58fc44927e9e',1,'execution.created','{"agent_id":"reads","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"reads"}','2026-12-01T16:00:23.545110Z',X'65BC99092A668943C12E0F9DA21EA350542658E420C9B815990D900FD3748070');
INSERT INTO "events" VALUES(27,'01a23255-f3f8-7204-9c80-58fc44927e9e',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":4410}','2026-12-01T16:00:23.545110Z',X'5ADE71ADFDA7427E84085CD225F247373F54B35415BBA05897CFA02FB0421DE3');
INSERT INTO "events" VALUES(28,'01a23255-f3f8-7204-9c80-58fc44927e9e',3,'step.executing','{"args_hash":"9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301","attempt":1,"bundle":"upgrade","definition":{"digest":"a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b","name":"pay","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"05341a2d2e73fabdd40852086168905c4f6c82a1fffafc645ed3fe54b8fc707d","step_type":"tool_call","target":"pay"}','2026-12-01T16:00:23.547939Z',X'61199EE5CD70BBDB51F585E0F24423C226CF6FFAE024A8CED3AED8666B615B23');
INSERT INTO "events" VALUES(29,'01a23255-f3f8-7204-9c80-58fc44927e9e',4,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"05341a2d2e73fabdd40852086168905c4f6c82a1fffafc645ed3fe54b8fc707d","step_type":"tool_call","target":"pay"}','2026-12-01T16:00:23.548817Z',X'580E9453895CF7877D2FDC73293BBC67DDBA12E35B960DB090C64D1D0932AF70');
INSERT INTO "events" VALUES(30,'01a23255-f3f8-7204-9c80-58fc44927e9e',5,'step.executing','{"args_hash":"363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"4fe5808e42a5e2f7b4df538a116cc15618ce08f31218e71315fb31f1c1f9c577","step_type":"tool_call","target":"look"}','2026-12-01T16:00:23.549452Z',X'413BF26822D84B5F9E1031C873F81B23AAE89B4F182143AA8BFD51C2C44E34B6');
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
, deadline_at REAL    NOT NULL DEFAULT 0.0, pinned      INTEGER NOT NULL DEFAULT 0, forked_from TEXT    NOT NULL DEFAULT '', fork_seq    INTEGER NOT NULL DEFAULT 0, ended_at    REAL    NOT NULL DEFAULT 0.0, served               INTEGER NOT NULL DEFAULT 0, session              TEXT    NOT NULL DEFAULT '', continues            TEXT    NOT NULL DEFAULT '', spawned_execution_id TEXT    NOT NULL DEFAULT '', spawned_step_id      TEXT    NOT NULL DEFAULT '', created_by           TEXT    NOT NULL DEFAULT '', on_behalf_of         TEXT    NOT NULL DEFAULT '', told                 INTEGER NOT NULL DEFAULT 0, seal TEXT NOT NULL DEFAULT '') STRICT;
INSERT INTO "executions" VALUES(1,'01a23255-e958-727b-932e-9a88828eb838','ends','ends','completed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,7,X'7D81AE22AAC490024460A4CBB501E89AF1743E25EEAADA069EBF30669045BD94',1.79614082082491302487e+09,1.79614082083043408392e+09,0.0,0,'',0,1.79614082083043408392e+09,0,'','','','','','',0,'');
INSERT INTO "executions" VALUES(2,'01a23255-ec64-7673-8871-d3705955bec2','fails','fails','failed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','agent_error: ValueError: look 1 done',1,NULL,NULL,NULL,0.0,5,X'EF4780296E1B6D6A0ADF91C9CCAE0CF473ADBC3958A9751A6F63857B8C3B455A',1.79614082160556888575e+09,1.7961408216113619804e+09,0.0,0,'',0,1.7961408216113619804e+09,0,'','','','','','',0,'');
INSERT INTO "executions" VALUES(3,'01a23255-ef1a-747a-b6e7-132550256310','asks','asks','blocked','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,8,X'6A60AC36198C93A2D085E9C5FBC745852D2EEFA16597AE840ED2453DD18F06C3',1.79614082229901409143e+09,1.79614082230665206914e+09,0.0,0,'',0,0.0,0,'','','','','','',0,'');
INSERT INTO "executions" VALUES(4,'01a23255-f1d0-7271-bfa2-4e1460f4f8f8','pays','pays','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'9d2182d646ad46848fffba60f59b2870','elsewhere/00000000',4407,1.79614085299223709109e+09,5,X'3824F02AEE7778C4DD1CEFCA0B18E18C2400DE4A2D776F23321174B45F485CB6',1796140822.99322,1.7961408229975919723e+09,0.0,0,'',0,0.0,0,'','','','','','',0,'');
INSERT INTO "executions" VALUES(5,'01a23255-f3f8-7204-9c80-58fc44927e9e','reads','reads','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'44512496dd3d4dc0872f430c701fdd70','elsewhere/00000000',4410,1.79614085354427361488e+09,5,X'413BF26822D84B5F9E1031C873F81B23AAE89B4F182143AA8BFD51C2C44E34B6',1796140823.54511,1.79614082354945206639e+09,0.0,0,'',0,0.0,0,'','','','','','',0,'');
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
INSERT INTO "log_mark" VALUES(1,X'72626E6F2D6C6F672A0521076CAF7B733E394EFF93A02C2000000060000000000098412100000000009841B818ED2C8FC0481DE80091571728');
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
CREATE TABLE resources (
    execution_id   TEXT    NOT NULL REFERENCES executions (id) ON DELETE CASCADE,
    key            TEXT    NOT NULL,
    driver_id      TEXT    NOT NULL,
    configuration  TEXT    NOT NULL,
    coverage_reuse INTEGER NOT NULL,
    every_steps    INTEGER NOT NULL,
    on_completion  INTEGER NOT NULL,
    registered_seq INTEGER NOT NULL,
    generation     INTEGER NOT NULL,
    counted        INTEGER NOT NULL,
    binding        TEXT,
    checkpoint_ref TEXT    NOT NULL,
    writers        TEXT    NOT NULL,
    PRIMARY KEY (execution_id, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE restorations (
    n           INTEGER PRIMARY KEY,
    restored_at REAL    NOT NULL,
    restored_by TEXT    NOT NULL,
    accepted_at REAL    NOT NULL DEFAULT 0.0,
    accepted_by TEXT    NOT NULL DEFAULT ''
) STRICT;
CREATE TABLE roots (
    execution_id TEXT NOT NULL PRIMARY KEY REFERENCES executions (id) ON DELETE CASCADE,
    root_id      TEXT NOT NULL,
    input        TEXT NOT NULL,
    turns        TEXT NOT NULL,
    read_args    TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE sealed_texts (
    execution_id TEXT NOT NULL REFERENCES executions (id) ON DELETE CASCADE,
    slot         TEXT NOT NULL,
    text         BLOB NOT NULL,
    PRIMARY KEY (execution_id, slot)
) STRICT, WITHOUT ROWID;
CREATE TABLE spends (
    key     TEXT NOT NULL,
    step_id TEXT NOT NULL,
    at      REAL NOT NULL,
    PRIMARY KEY (key, step_id)
) STRICT, WITHOUT ROWID;
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
INSERT INTO "steps" VALUES(1,'3327cad46e213b152ae30fe0c0a67a59a0aa26a14cb1fd216d4d9770090ddce6','01a23255-e958-727b-932e-9a88828eb838','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79614082082770800587e+09,1.79614082082770800587e+09,1.79614082082912492749e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(2,'f2fe516329f3591da46387178410d5ec2549b02f664a3aa69634a9c3f9758cf2','01a23255-e958-727b-932e-9a88828eb838','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',5,5,6,1.79614082082912492749e+09,1.79614082082912492749e+09,1.79614082082967209822e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(3,'0229d0873752e7b4a036dd5d44cf5574343e934f7eb5e7c07d1c79cf4448866b','01a23255-ec64-7673-8871-d3705955bec2','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79614082160893893244e+09,1.79614082160893893244e+09,1.7961408216113619804e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(4,'9396b348f5403d3dfba9ed92fd1128da21a05b88e18c9cc5d001b7a070f24828','01a23255-ef1a-747a-b6e7-132550256310','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79614082230203795428e+09,1.79614082230203795428e+09,1.79614082230388593676e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(5,'b33ecbe70c50d79cffd240e6f4947d7480e48688a4d0fa2a14bdeba950c6cd14','01a23255-ef1a-747a-b6e7-132550256310','','tool_call','send','{"to":"böb"}','02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5',0,'at_most_once','awaiting_approval','require_approval','send','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','somebody must look',0,NULL,NULL,'01a23255-ef20-7437-98ad-26c8eaa86995',5,0,0,1.7961408223053460121e+09,0.0,0.0,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(6,'3a00fe1d061923f9811bafa9498bc11c7af9a4dac098bae34fabcb6c14a761e1','01a23255-f1d0-7271-bfa2-4e1460f4f8f8','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79614082299617290497e+09,1.79614082299617290497e+09,1.7961408229975919723e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(7,'9ce2534320d009b493c4e1385d1eabc6e81bee4cbed2d3acdbc512fd73c3a4c9','01a23255-f1d0-7271-bfa2-4e1460f4f8f8','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','executing','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1.7961408229975919723e+09,1.7961408229975919723e+09,0.0,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(8,'05341a2d2e73fabdd40852086168905c4f6c82a1fffafc645ed3fe54b8fc707d','01a23255-f3f8-7204-9c80-58fc44927e9e','','tool_call','pay','{"amount":1.5}','9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',3,3,4,1.79614082354793906217e+09,1.79614082354793906217e+09,1.79614082354881691929e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(9,'4fe5808e42a5e2f7b4df538a116cc15618ce08f31218e71315fb31f1c1f9c577','01a23255-f3f8-7204-9c80-58fc44927e9e','','tool_call','look','{"n":2}','363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8',0,'safe_to_retry','executing','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1.79614082354945206639e+09,1.79614082354945206639e+09,0.0,NULL,NULL,0,0);
CREATE TABLE stops (
    id         TEXT NOT NULL PRIMARY KEY,
    agent      TEXT NOT NULL,
    tool       TEXT NOT NULL,
    reason     TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at REAL NOT NULL,
    lifted_by  TEXT NOT NULL DEFAULT '',
    lifted_at  REAL NOT NULL DEFAULT 0.0
) STRICT, WITHOUT ROWID;
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
CREATE INDEX checkpoints_open ON checkpoints (execution_id, key) WHERE invalidated_seq = 0;
CREATE INDEX standing_grants_by_agent ON standing_grants (agent_id, expires_at) WHERE revoked_at = 0.0;
CREATE INDEX approvals_by_rule ON approvals (rule_id, decided_at) WHERE status IN ('granted', 'denied');
CREATE VIEW execution_rows AS
SELECT n, id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, served, session,
       continues, spawned_execution_id, spawned_step_id, created_by, on_behalf_of, state, ended_at, told, seal
FROM executions JOIN contents USING (n);
CREATE INDEX executions_by_person ON executions (on_behalf_of) WHERE on_behalf_of <> '';
CREATE INDEX data_keys_unpurged ON data_keys (erased_at) WHERE erased_at > 0 AND purged_at = 0;
COMMIT;
PRAGMA application_id=1919053423;
PRAGMA user_version=10;
