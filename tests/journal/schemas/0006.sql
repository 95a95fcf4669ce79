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
INSERT INTO "approvals" VALUES(1,'01a231a4-dc20-755e-85e7-e5ffebce29c9','01a231a4-dc16-76a3-bcdf-86f4ff4cc58b','f2b81d1a63c4f385b45076030dee0adcdcd6018cf7c567d4ff5f79ee952bd643','policy','pending','','send','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','once','','',1.7961292175684990883e+09,0.0,7,0,'upgrade','[]',1,'[]',0.0,'');
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
INSERT INTO "events" VALUES(1,'01a231a4-d88a-74e1-9d44-5ae55dc1431b',1,'execution.created','{"agent_id":"ends","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"ends"}','2026-12-01T12:46:56.651016Z',X'8302AD6ABFD06CBB717604ADFED47FB6707D33E33DE6E4FA570E62B9E596259D');
INSERT INTO "events" VALUES(2,'01a231a4-d88a-74e1-9d44-5ae55dc1431b',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":5964}','2026-12-01T12:46:56.651016Z',X'4DA841AD2A2954B13F6D45C169FE2C277407D00FA5D671DCD9F25A9C80CC5F00');
INSERT INTO "events" VALUES(3,'01a231a4-d88a-74e1-9d44-5ae55dc1431b',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"f2b6e7cea31b2390427d15412d06453acb1182a75e5d729209f30f3fed915b81","step_type":"tool_call","target":"look"}','2026-12-01T12:46:56.655788Z',X'E1F3D5FD194A18A3E71724CECC4E4156D8B8DA55DA8691862878A5D42166B5B6');
INSERT INTO "events" VALUES(4,'01a231a4-d88a-74e1-9d44-5ae55dc1431b',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"f2b6e7cea31b2390427d15412d06453acb1182a75e5d729209f30f3fed915b81","step_type":"tool_call","target":"look"}','2026-12-01T12:46:56.656884Z',X'6322F3556A7185031ADEADD3A74A38C6DB7190A7F4EA417737EEDCC4A9A67328');
INSERT INTO "events" VALUES(5,'01a231a4-d88a-74e1-9d44-5ae55dc1431b',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","definition":{"digest":"a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b","name":"pay","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"c5ebd0759fcfeda7ec85e55b9ec35ba8156499dac47368e9cfa7fef78ca95a5e","step_type":"tool_call","target":"pay"}','2026-12-01T12:46:56.656884Z',X'CA36144D7E1AAA07EF879E6A48DDA1D2C19DE51455F0AB0714E6EB3E462C9055');
INSERT INTO "events" VALUES(6,'01a231a4-d88a-74e1-9d44-5ae55dc1431b',6,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"c5ebd0759fcfeda7ec85e55b9ec35ba8156499dac47368e9cfa7fef78ca95a5e","step_type":"tool_call","target":"pay"}','2026-12-01T12:46:56.657322Z',X'D2DC4DF78A08B157C2FECC7A7BC29E1A6D2BD155571C34D7B5A6087712DB2C81');
INSERT INTO "events" VALUES(7,'01a231a4-d88a-74e1-9d44-5ae55dc1431b',7,'execution.completed','{"attempt":1,"output_hash":"0b7e3760a72454291280c43ba895191b50a5d861eef27b1f48b5597159cff63a","replayed":0}','2026-12-01T12:46:56.658020Z',X'F863235468A5B800FBBD3E3C0F352E79E2F47500A8E3240F202E522B3961FD65');
INSERT INTO "events" VALUES(8,'01a231a4-da64-769d-992b-39eead71ac88',1,'execution.created','{"agent_id":"fails","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"fails"}','2026-12-01T12:46:57.124862Z',X'E350FDF52A0DA4BA0C6D2FAFDC46081E44A72F84683B88A5456654ECEFA38B8F');
INSERT INTO "events" VALUES(9,'01a231a4-da64-769d-992b-39eead71ac88',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":5968}','2026-12-01T12:46:57.124862Z',X'5E2BE904DD8AC00D2E34FE111F7C4B58EECD01054F7BE43EA8DDC35F666647FC');
INSERT INTO "events" VALUES(10,'01a231a4-da64-769d-992b-39eead71ac88',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"4ebb5866178e1d5bc5ecc5ffcfe6fdf8ea7cb507fe9df19338b1e09b3b16acfc","step_type":"tool_call","target":"look"}','2026-12-01T12:46:57.131080Z',X'DCCF20DADFDB5D49843B0294F3A28A3C5A51A2B209CB6E9BD80F5100CE9456B1');
INSERT INTO "events" VALUES(11,'01a231a4-da64-769d-992b-39eead71ac88',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"4ebb5866178e1d5bc5ecc5ffcfe6fdf8ea7cb507fe9df19338b1e09b3b16acfc","step_type":"tool_call","target":"look"}','2026-12-01T12:46:57.134741Z',X'52C6C849EE69308FCC963828F46F214D55D2B643019DF987C65C681755F83624');
INSERT INTO "events" VALUES(12,'01a231a4-da64-769d-992b-39eead71ac88',5,'execution.failed','{"attempt":1,"raised":{"file":"/srv/rebuno/tests/journal/old_runs.py","function":"fails","line":69,"message":"look 1 done","traceback":[{"file":"/srv/rebuno/tests/journal/old_runs.py","function":"fails","line":69,"source":"raise ValueError(await look(1))"}],"type":"ValueError"},"reason":"agent_error: ValueError: look 1 done","replayed":0}','2026-12-01T12:46:57.134741Z',X'E8BDE3E4CE24EFE95B5D5F0E6D37ADE31C0F499EB92CF925FCCF0D462A82CFEA');
INSERT INTO "events" VALUES(13,'01a231a4-dc16-76a3-bcdf-86f4ff4cc58b',1,'execution.created','{"agent_id":"asks","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"asks"}','2026-12-01T12:46:57.558627Z',X'C3C13F4748F66BA628E833D3DD2F2709C2CD2925483824CC0B8E6569872C9816');
INSERT INTO "events" VALUES(14,'01a231a4-dc16-76a3-bcdf-86f4ff4cc58b',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":5972}','2026-12-01T12:46:57.558627Z',X'00C8F8153A0C7664D0261DCB87942E3C8AA80DC24328BA8A6395BBD809C9A99E');
INSERT INTO "events" VALUES(15,'01a231a4-dc16-76a3-bcdf-86f4ff4cc58b',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"04d0f09d791518bc892815389ddbeb3ca3e43d6309b1d5382ec780dc85a3f67e","step_type":"tool_call","target":"look"}','2026-12-01T12:46:57.563130Z',X'81582B1685A529BFB81FB9943616A621B9FFA65D1BD7E990746DE9EEE02C096F');
INSERT INTO "events" VALUES(16,'01a231a4-dc16-76a3-bcdf-86f4ff4cc58b',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"04d0f09d791518bc892815389ddbeb3ca3e43d6309b1d5382ec780dc85a3f67e","step_type":"tool_call","target":"look"}','2026-12-01T12:46:57.568499Z',X'9E78F379FAD1D616A74644AD98264E399983644725F2F307BF1909A5063BBF56');
INSERT INTO "events" VALUES(17,'01a231a4-dc16-76a3-bcdf-86f4ff4cc58b',5,'step.proposed','{"args_hash":"02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5","definition":{"digest":"4375aa8a41384975538f24db9c4cd3a53bfe94298252efb6dba426dd62e8ff1b","name":"send","server":""},"idempotency":"at_most_once","occurrence":0,"step_id":"f2b81d1a63c4f385b45076030dee0adcdcd6018cf7c567d4ff5f79ee952bd643","step_type":"tool_call","target":"send"}','2026-12-01T12:46:57.568499Z',X'2BFE28FC92CA373DBC8EA2DF4ECDB063B55EB6AC5070DD8875B9A6C0F76CD1D3');
INSERT INTO "events" VALUES(18,'01a231a4-dc16-76a3-bcdf-86f4ff4cc58b',6,'step.awaiting_approval','{"approval_id":"01a231a4-dc20-755e-85e7-e5ffebce29c9","bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","reason":"somebody must look","rule_id":"send","step_id":"f2b81d1a63c4f385b45076030dee0adcdcd6018cf7c567d4ff5f79ee952bd643","step_type":"tool_call","target":"send"}','2026-12-01T12:46:57.568499Z',X'D228883BC7DBEE9E53DC1E0FFC64050A69992DB6A347DBF8D6BC5ACF8E2A0FFD');
INSERT INTO "events" VALUES(19,'01a231a4-dc16-76a3-bcdf-86f4ff4cc58b',7,'approval.requested','{"approval_id":"01a231a4-dc20-755e-85e7-e5ffebce29c9","cause":"policy","message":"","quorum":1,"step_id":"f2b81d1a63c4f385b45076030dee0adcdcd6018cf7c567d4ff5f79ee952bd643"}','2026-12-01T12:46:57.568499Z',X'452F88A93A8C82F55C77AD343245B8D88EFDA4B7CF4334BCC0FFF32841B9E44A');
INSERT INTO "events" VALUES(20,'01a231a4-dc16-76a3-bcdf-86f4ff4cc58b',8,'execution.blocked','{"attempt":1,"reason":"awaiting_steps","replayed":0}','2026-12-01T12:46:57.574382Z',X'7815780FEE8BE72F56F8DF3734FA9D7BDF04F326AD35DEE3A91272CBBEB00AEA');
INSERT INTO "events" VALUES(21,'01a231a4-ddd6-722c-8754-a1e19927cdb1',1,'execution.created','{"agent_id":"pays","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"pays"}','2026-12-01T12:46:58.006636Z',X'2F2C09CBD3192A39427E65D3AB1F8434A1C64E1F6E536DBCCE3FB3A9757F1057');
INSERT INTO "events" VALUES(22,'01a231a4-ddd6-722c-8754-a1e19927cdb1',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":5976}','2026-12-01T12:46:58.006636Z',X'818220C0D6C1F4D017626A8009BA2ECACACFDA1E6CA5AD1ADA1DF855AE0D8A39');
INSERT INTO "events" VALUES(23,'01a231a4-ddd6-722c-8754-a1e19927cdb1',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"942274f92ca1653ead2ef151e45b985cda994d2bd2ec73264ace214cac44b333","step_type":"tool_call","target":"look"}','2026-12-01T12:46:58.011107Z',X'27A687CE5A247F5532DAB8A302E9CECB03A0C12B66D1BEC6E8457D0EE10F6804');
INSERT INTO "events" VALUES(24,'01a231a4-ddd6-722c-8754-a1e19927cdb1',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"942274f92ca1653ead2ef151e45b985cda994d2bd2ec73264ace214cac44b333","step_type":"tool_call","target":"look"}','2026-12-01T12:46:58.014283Z',X'4AC3B0D389376BA68CDD015BEF25A9EB2D2F00F445255A747266BC6479346F2E');
INSERT INTO "events" VALUES(25,'01a231a4-ddd6-722c-8754-a1e19927cdb1',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","definition":{"digest":"a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b","name":"pay","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"d562c46a63e6365da178211acffb917c48adf57c9265ece85654e85996287957","step_type":"tool_call","target":"pay"}','2026-12-01T12:46:58.014283Z',X'9AB24B39F691840C16586C20658A56BD58B85E14E19AA2B692E9393CB4206986');
INSERT INTO "events" VALUES(26,'01a231a4-df66-7041-9f9d-a8a09399a87c',1,'execution.created','{"agent_id":"reads","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"reads"}','2026-12-01T12:46:58.407194Z',X'2A995A6AE9A7026FDA7E684716807E3ACE8D8E4EDB87915C94CF3D47B3BEABE1');
INSERT INTO "events" VALUES(27,'01a231a4-df66-7041-9f9d-a8a09399a87c',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":5979}','2026-12-01T12:46:58.407194Z',X'5840B8ED78BF5353AD15687FB6AF46B6E6CA64D42A1765623178F372EC3B15FA');
INSERT INTO "events" VALUES(28,'01a231a4-df66-7041-9f9d-a8a09399a87c',3,'step.executing','{"args_hash":"9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301","attempt":1,"bundle":"upgrade","definition":{"digest":"a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b","name":"pay","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"8b9f9db19d1ef10975ca0ed9d374c472e8bd3b5182bf7ff16ae7b6c89bb6b722","step_type":"tool_call","target":"pay"}','2026-12-01T12:46:58.411561Z',X'4ABC9A879C9EBDBA8BAAB6A5D41A012B5E0F2656E22EA5DFDA91B45F97CB0756');
INSERT INTO "events" VALUES(29,'01a231a4-df66-7041-9f9d-a8a09399a87c',4,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"8b9f9db19d1ef10975ca0ed9d374c472e8bd3b5182bf7ff16ae7b6c89bb6b722","step_type":"tool_call","target":"pay"}','2026-12-01T12:46:58.412199Z',X'3A42C21C51EF90A39B4FCEABD4EE265D0B13E392553707FFCFF9D44A8E0C7C2F');
INSERT INTO "events" VALUES(30,'01a231a4-df66-7041-9f9d-a8a09399a87c',5,'step.executing','{"args_hash":"363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"a5298204ec1cd9f0dcda873af74a26b5fe26007a4808103a402d907bc1bb03b4","step_type":"tool_call","target":"look"}','2026-12-01T12:46:58.414100Z',X'051DC68FCBF3839083FE03DB8AEE083CC358185E8CCA64E1F9E14955E51B3FBF');
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
INSERT INTO "executions" VALUES(1,'01a231a4-d88a-74e1-9d44-5ae55dc1431b','ends','ends','completed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,7,X'F863235468A5B800FBBD3E3C0F352E79E2F47500A8E3240F202E522B3961FD65',1.79612921665101599698e+09,1796129216.65802,0.0,0,'',0,1796129216.65802,0,'','','','','','',0);
INSERT INTO "executions" VALUES(2,'01a231a4-da64-769d-992b-39eead71ac88','fails','fails','failed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','agent_error: ValueError: look 1 done',1,NULL,NULL,NULL,0.0,5,X'E8BDE3E4CE24EFE95B5D5F0E6D37ADE31C0F499EB92CF925FCCF0D462A82CFEA',1.79612921712486195563e+09,1.79612921713474106783e+09,0.0,0,'',0,1.79612921713474106783e+09,0,'','','','','','',0);
INSERT INTO "executions" VALUES(3,'01a231a4-dc16-76a3-bcdf-86f4ff4cc58b','asks','asks','blocked','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,8,X'7815780FEE8BE72F56F8DF3734FA9D7BDF04F326AD35DEE3A91272CBBEB00AEA',1.79612921755862689019e+09,1.79612921757438206669e+09,0.0,0,'',0,0.0,0,'','','','','','',0);
INSERT INTO "executions" VALUES(4,'01a231a4-ddd6-722c-8754-a1e19927cdb1','pays','pays','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'84e413256741483a8f94e9d1860e649f','elsewhere/00000000',5976,1796129248.00612,5,X'9AB24B39F691840C16586C20658A56BD58B85E14E19AA2B692E9393CB4206986',1.79612921800663590432e+09,1.79612921801428294184e+09,0.0,0,'',0,0.0,0,'','','','','','',0);
INSERT INTO "executions" VALUES(5,'01a231a4-df66-7041-9f9d-a8a09399a87c','reads','reads','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'32f6ab8f81874788a7e179d9564753e2','elsewhere/00000000',5979,1.79612924840641283988e+09,5,X'051DC68FCBF3839083FE03DB8AEE083CC358185E8CCA64E1F9E14955E51B3FBF',1.79612921840719389921e+09,1796129218.4141,0.0,0,'',0,0.0,0,'','','','','','',0);
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
INSERT INTO "log_mark" VALUES(1,X'72626E6F2D6C6F67B74DA0457D9C4B8D1B095F8256AE16BC0000004D0000000000984226000000000098425118ED2201D08941610042F2BFDD');
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
INSERT INTO "steps" VALUES(1,'f2b6e7cea31b2390427d15412d06453acb1182a75e5d729209f30f3fed915b81','01a231a4-d88a-74e1-9d44-5ae55dc1431b','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79612921665578794479e+09,1.79612921665578794479e+09,1.79612921665688395501e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(2,'c5ebd0759fcfeda7ec85e55b9ec35ba8156499dac47368e9cfa7fef78ca95a5e','01a231a4-d88a-74e1-9d44-5ae55dc1431b','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',5,5,6,1.79612921665688395501e+09,1.79612921665688395501e+09,1.79612921665732192997e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(3,'4ebb5866178e1d5bc5ecc5ffcfe6fdf8ea7cb507fe9df19338b1e09b3b16acfc','01a231a4-da64-769d-992b-39eead71ac88','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1796129217.13108,1796129217.13108,1.79612921713474106783e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(4,'04d0f09d791518bc892815389ddbeb3ca3e43d6309b1d5382ec780dc85a3f67e','01a231a4-dc16-76a3-bcdf-86f4ff4cc58b','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1796129217.56313,1796129217.56313,1.7961292175684990883e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(5,'f2b81d1a63c4f385b45076030dee0adcdcd6018cf7c567d4ff5f79ee952bd643','01a231a4-dc16-76a3-bcdf-86f4ff4cc58b','','tool_call','send','{"to":"böb"}','02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5',0,'at_most_once','awaiting_approval','require_approval','send','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','somebody must look',0,NULL,NULL,'01a231a4-dc20-755e-85e7-e5ffebce29c9',5,0,0,1.7961292175684990883e+09,0.0,0.0,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(6,'942274f92ca1653ead2ef151e45b985cda994d2bd2ec73264ace214cac44b333','01a231a4-ddd6-722c-8754-a1e19927cdb1','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.7961292180111069679e+09,1.7961292180111069679e+09,1.79612921801428294184e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(7,'d562c46a63e6365da178211acffb917c48adf57c9265ece85654e85996287957','01a231a4-ddd6-722c-8754-a1e19927cdb1','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','executing','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1.79612921801428294184e+09,1.79612921801428294184e+09,0.0,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(8,'8b9f9db19d1ef10975ca0ed9d374c472e8bd3b5182bf7ff16ae7b6c89bb6b722','01a231a4-df66-7041-9f9d-a8a09399a87c','','tool_call','pay','{"amount":1.5}','9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',3,3,4,1.79612921841156101231e+09,1.79612921841156101231e+09,1.7961292184121990204e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(9,'a5298204ec1cd9f0dcda873af74a26b5fe26007a4808103a402d907bc1bb03b4','01a231a4-df66-7041-9f9d-a8a09399a87c','','tool_call','look','{"n":2}','363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8',0,'safe_to_retry','executing','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1796129218.4141,1796129218.4141,0.0,NULL,NULL,0,0);
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
PRAGMA user_version=6;
