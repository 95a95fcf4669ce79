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
INSERT INTO "approvals" VALUES(1,'01a23286-d99a-775e-93eb-37e47f00d420','01a23286-d996-7709-8d7c-795ac7a74b37','1151b9a206169da454a29105929ef2b51fe084e08057f4d89f82f6ee4b50a161','policy','pending','','send','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','once','','',1.7961440280590929985e+09,0.0,7,0,'upgrade','[]',1,'[]',0.0,'','[]','','');
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
INSERT INTO "events" VALUES(1,'01a23286-d518-70a1-a8ba-a32a32877d91',1,'execution.created','{"agent_id":"ends","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"ends"}','2026-12-01T16:53:46.905612Z',X'54D8FECB2F051426F0DF76E9FD3FDF0BABE4F503E7CFEE3FE4EA2A395F7D2A49');
INSERT INTO "events" VALUES(2,'01a23286-d518-70a1-a8ba-a32a32877d91',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":27160}','2026-12-01T16:53:46.905612Z',X'10BB608CFF220D52FA83F4E4157D70C394A8FFAFC3CE09F7D93DBA0DDD8FB667');
INSERT INTO "events" VALUES(3,'01a23286-d518-70a1-a8ba-a32a32877d91',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"9126c1c8abc5c7236b26da1ca09801965b604e907dad9f86abec89d5060eaa7c","step_type":"tool_call","target":"look"}','2026-12-01T16:53:46.908113Z',X'C1A27347DCC819880E8767F982387A601E36A7A83C2451CBA011F717446BB0C9');
INSERT INTO "events" VALUES(4,'01a23286-d518-70a1-a8ba-a32a32877d91',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"9126c1c8abc5c7236b26da1ca09801965b604e907dad9f86abec89d5060eaa7c","step_type":"tool_call","target":"look"}','2026-12-01T16:53:46.909307Z',X'743FFD23286451F908A2413D36D89936885EF6A67437A9E30F5AB2731FBD00D2');
INSERT INTO "events" VALUES(5,'01a23286-d518-70a1-a8ba-a32a32877d91',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","definition":{"digest":"a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b","name":"pay","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"ac859268d0da6e2dd3c94f59726adc117e4149e358c2e3d9625d873ea33dbb49","step_type":"tool_call","target":"pay"}','2026-12-01T16:53:46.909307Z',X'CD9E808F65A5ECDBD4D7BD12D6346998BF94E5FAACA3A9BFF5320EF00D4C3427');
INSERT INTO "events" VALUES(6,'01a23286-d518-70a1-a8ba-a32a32877d91',6,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"ac859268d0da6e2dd3c94f59726adc117e4149e358c2e3d9625d873ea33dbb49","step_type":"tool_call","target":"pay"}','2026-12-01T16:53:46.909830Z',X'9ABD95E7D6770CA76E092FA6732E5862ACFDF0DBCE129E63F7F52143B4D3C2C8');
INSERT INTO "events" VALUES(7,'01a23286-d518-70a1-a8ba-a32a32877d91',7,'execution.completed','{"attempt":1,"output_hash":"0b7e3760a72454291280c43ba895191b50a5d861eef27b1f48b5597159cff63a","replayed":0}','2026-12-01T16:53:46.910558Z',X'DF11A50794F6D6D24063A62E9BBD2C684701D08ED65CBBCDC6567D0C124DA2A6');
INSERT INTO "events" VALUES(8,'01a23286-d750-7691-963d-53a05238e0fb',1,'execution.created','{"agent_id":"fails","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"fails"}','2026-12-01T16:53:47.473153Z',X'A814D0AA221DC641CD148B4FD36190682D11B9466800299DB3A3EC0D14385B91');
INSERT INTO "events" VALUES(9,'01a23286-d750-7691-963d-53a05238e0fb',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":27164}','2026-12-01T16:53:47.473153Z',X'BE3509A2ABF72D9A720B79DEB656A7B199E5934C32FFE082D519B3068369B446');
INSERT INTO "events" VALUES(10,'01a23286-d750-7691-963d-53a05238e0fb',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"f80a71c1610aad87b5903ef720c5faa049604c8f939f0b3d5940a8c16025d6f9","step_type":"tool_call","target":"look"}','2026-12-01T16:53:47.475581Z',X'7AB2806961D126AE02E8FB721F30623DF7592A5FDE92DC22C6272ABBACAFB571');
INSERT INTO "events" VALUES(11,'01a23286-d750-7691-963d-53a05238e0fb',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"f80a71c1610aad87b5903ef720c5faa049604c8f939f0b3d5940a8c16025d6f9","step_type":"tool_call","target":"look"}','2026-12-01T16:53:47.477305Z',X'76DA57FA31F33669FEEA75FBAD0C130618D17B47EABF7F27D72F2B0EB2072D83');
INSERT INTO "events" VALUES(12,'01a23286-d750-7691-963d-53a05238e0fb',5,'execution.failed','{"attempt":1,"raised":{"file":"/tmp/rebuno/tests/journal/old_runs.py","function":"fails","line":69,"message":"look 1 done","traceback":[{"file":"/tmp/rebuno/tests/journal/old_runs.py","function":"fails","line":69,"source":"raise ValueError(await look(1))"}],"type":"ValueError"},"reason":"agent_error: ValueError: look 1 done","replayed":0}','2026-12-01T16:53:47.477305Z',X'4247AD0D03E2D91C03A277F11E84D1C0BE7F403296DF121FDEFF6FF1EDEB8241');
INSERT INTO "events" VALUES(13,'01a23286-d996-7709-8d7c-795ac7a74b37',1,'execution.created','{"agent_id":"asks","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"asks"}','2026-12-01T16:53:48.054787Z',X'4B5E88E556186F9A7CD4C38DBDE5788A609FAA45EC5C8E7AC5E0D9C46218E5BB');
INSERT INTO "events" VALUES(14,'01a23286-d996-7709-8d7c-795ac7a74b37',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":27168}','2026-12-01T16:53:48.054787Z',X'DFF2A98CC8F0112367F0685991F1DDE02E2A97BCE842C87FADD73AA67019FB86');
INSERT INTO "events" VALUES(15,'01a23286-d996-7709-8d7c-795ac7a74b37',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"b65b71fa185752dd66412862ab59182f534d6826b8098a59c4cca41109d7a2b0","step_type":"tool_call","target":"look"}','2026-12-01T16:53:48.056798Z',X'CAB8AC5869D724E529B54D7C78480D986F13918DB7114DBD0D5BD9877305A611');
INSERT INTO "events" VALUES(16,'01a23286-d996-7709-8d7c-795ac7a74b37',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"b65b71fa185752dd66412862ab59182f534d6826b8098a59c4cca41109d7a2b0","step_type":"tool_call","target":"look"}','2026-12-01T16:53:48.057901Z',X'3FC15BBEC11DD4CCD5427D4D38E89240658751717C7157104B592D7D60E83B3A');
INSERT INTO "events" VALUES(17,'01a23286-d996-7709-8d7c-795ac7a74b37',5,'step.proposed','{"args_hash":"02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5","definition":{"digest":"4375aa8a41384975538f24db9c4cd3a53bfe94298252efb6dba426dd62e8ff1b","name":"send","server":""},"idempotency":"at_most_once","occurrence":0,"step_id":"1151b9a206169da454a29105929ef2b51fe084e08057f4d89f82f6ee4b50a161","step_type":"tool_call","target":"send"}','2026-12-01T16:53:48.059093Z',X'87B8293E0711D54E14C3AD0865E31E30BBA7CB1BE20927749FB16DF7A6C51852');
INSERT INTO "events" VALUES(18,'01a23286-d996-7709-8d7c-795ac7a74b37',6,'step.awaiting_approval','{"approval_id":"01a23286-d99a-775e-93eb-37e47f00d420","bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","reason":"somebody must look","rule_id":"send","step_id":"1151b9a206169da454a29105929ef2b51fe084e08057f4d89f82f6ee4b50a161","step_type":"tool_call","target":"send"}','2026-12-01T16:53:48.059093Z',X'4018A190C9D02ABDC16AE3905BD75E1BB37B809B952897CE8DF7DB40739B542A');
INSERT INTO "events" VALUES(19,'01a23286-d996-7709-8d7c-795ac7a74b37',7,'approval.requested','{"approval_id":"01a23286-d99a-775e-93eb-37e47f00d420","cause":"policy","message":"","quorum":1,"step_id":"1151b9a206169da454a29105929ef2b51fe084e08057f4d89f82f6ee4b50a161"}','2026-12-01T16:53:48.059093Z',X'2EEEAB5B63420567696AB446B31A1DC4DF78D4EC0B454BE8E5BBA0DA2327EE55');
INSERT INTO "events" VALUES(20,'01a23286-d996-7709-8d7c-795ac7a74b37',8,'execution.blocked','{"attempt":1,"reason":"awaiting_steps","replayed":0}','2026-12-01T16:53:48.060126Z',X'B64B84F9617AE44AD47CA6E4FED73E888234B9BAD7CB8A0BB6751DBB9E24CA3B');
INSERT INTO "events" VALUES(21,'01a23286-dbb9-7604-ad43-3efa9440f262',1,'execution.created','{"agent_id":"pays","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"pays"}','2026-12-01T16:53:48.601968Z',X'179E43614C9FC4F3928C3E3542A966C4F0084D549886771D7D5D8DDAA5C0749D');
INSERT INTO "events" VALUES(22,'01a23286-dbb9-7604-ad43-3efa9440f262',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":27172}','2026-12-01T16:53:48.601968Z',X'6F2F11C78F355C45ACE490D6F32F046008FABDB9255A68BAA3A786248C9D46DE');
INSERT INTO "events" VALUES(23,'01a23286-dbb9-7604-ad43-3efa9440f262',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"e3f92f16cb2b5604b41f541c008606289321fdd4053f389312ecb05f5a7fcd4b","step_type":"tool_call","target":"look"}','2026-12-01T16:53:48.604102Z',X'80432CCE7C58173CCBFCBF418CE2287ECFC70226584C2290F0F549BDA5C9C046');
INSERT INTO "events" VALUES(24,'01a23286-dbb9-7604-ad43-3efa9440f262',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"e3f92f16cb2b5604b41f541c008606289321fdd4053f389312ecb05f5a7fcd4b","step_type":"tool_call","target":"look"}','2026-12-01T16:53:48.604955Z',X'4BD098A0CDB2CA84099F39BC88386CB3AC051D1A020BAD6EE84405229E6D3E1E');
INSERT INTO "events" VALUES(25,'01a23286-dbb9-7604-ad43-3efa9440f262',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","definition":{"digest":"a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b","name":"pay","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"aebd9230139b34238ecd117682c5cc2a6d866b64aadb3718bc63b89426c2059d","step_type":"tool_call","target":"pay"}','2026-12-01T16:53:48.604955Z',X'0B023BCFEB162BDAA75E18F4EAD3AE4970E2E6988F3DCBAEE0936BEA1679073D');
INSERT INTO "events" VALUES(26,'01a23286-dd93-7166-b877-0640076ba648',1,'execution.created','{"agent_id":"reads","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"reads"}','2026-12-01T16:53:49.075750Z',X'CEB98DD2B0C9DA46652C91193D793BC07CBAD687CE1588BAE68EB55599E3D5D5');
INSERT INTO "events" VALUES(27,'01a23286-dd93-7166-b877-0640076ba648',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":27175}','2026-12-01T16:53:49.075750Z',X'09FD2D21D21C0DDAC57719D959035C5B7A3FB22D16F123321AAA223A12BBE781');
INSERT INTO "events" VALUES(28,'01a23286-dd93-7166-b877-0640076ba648',3,'step.executing','{"args_hash":"9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301","attempt":1,"bundle":"upgrade","definition":{"digest":"a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b","name":"pay","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"fef8125bae599c2eb47d67156ecd5d1966782a89ab0a7a19c621c7570fc66a61","step_type":"tool_call","target":"pay"}','2026-12-01T16:53:49.077908Z',X'66C55496B87C4B429AA0B1FD7FC5BC445751C769B8E0A50531A997B4EC6B6350');
INSERT INTO "events" VALUES(29,'01a23286-dd93-7166-b877-0640076ba648',4,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"fef8125bae599c2eb47d67156ecd5d1966782a89ab0a7a19c621c7570fc66a61","step_type":"tool_call","target":"pay"}','2026-12-01T16:53:49.078568Z',X'34475657574DC9859806EEF30C216D8932C385A2A8FE9D11BC3F20C2A3AD8C93');
INSERT INTO "events" VALUES(30,'01a23286-dd93-7166-b877-0640076ba648',5,'step.executing','{"args_hash":"363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"f4d45c86ad47daa7b04f555b66bd30920ed9f7b1919358fef7d8c419d096d004","step_type":"tool_call","target":"look"}','2026-12-01T16:53:49.079291Z',X'CE601D6906077789617DCB156973AB0E7B713552D9875BBB359E7DEBD921D09F');
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
INSERT INTO "executions" VALUES(1,'01a23286-d518-70a1-a8ba-a32a32877d91','ends','ends','completed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,7,X'DF11A50794F6D6D24063A62E9BBD2C684701D08ED65CBBCDC6567D0C124DA2A6',1.79614402690561199187e+09,1.79614402691055798531e+09,0.0,0,'',0,1.79614402691055798531e+09,0,'','','','','','',0,'');
INSERT INTO "executions" VALUES(2,'01a23286-d750-7691-963d-53a05238e0fb','fails','fails','failed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','agent_error: ValueError: look 1 done',1,NULL,NULL,NULL,0.0,5,X'4247AD0D03E2D91C03A277F11E84D1C0BE7F403296DF121FDEFF6FF1EDEB8241',1.79614402747315311434e+09,1.79614402747730493546e+09,0.0,0,'',0,1.79614402747730493546e+09,0,'','','','','','',0,'');
INSERT INTO "executions" VALUES(3,'01a23286-d996-7709-8d7c-795ac7a74b37','asks','asks','blocked','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,8,X'B64B84F9617AE44AD47CA6E4FED73E888234B9BAD7CB8A0BB6751DBB9E24CA3B',1.79614402805478692057e+09,1.79614402806012606623e+09,0.0,0,'',0,0.0,0,'','','','','','',0,'');
INSERT INTO "executions" VALUES(4,'01a23286-dbb9-7604-ad43-3efa9440f262','pays','pays','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'efdbb30a20e24d94a10d53dc64dfd21e','elsewhere/00000000',27172,1.79614405860121059419e+09,5,X'0B023BCFEB162BDAA75E18F4EAD3AE4970E2E6988F3DCBAEE0936BEA1679073D',1.79614402860196804997e+09,1.796144028604954958e+09,0.0,0,'',0,0.0,0,'','','','','','',0,'');
INSERT INTO "executions" VALUES(5,'01a23286-dd93-7166-b877-0640076ba648','reads','reads','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'f259603f633544beb83bf55f4cf94d0d','elsewhere/00000000',27175,1.79614405907505202296e+09,5,X'CE601D6906077789617DCB156973AB0E7B713552D9875BBB359E7DEBD921D09F',1796144029.07575,1.79614402907929110531e+09,0.0,0,'',0,0.0,0,'','','','','','',0,'');
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
INSERT INTO "log_mark" VALUES(1,X'72626E6F2D6C6F6777004492DC4ECD5F780BA70D477A0E270000006000000000009841F7000000000098426618ED2F7A260B88F700D411E7AF');
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
INSERT INTO "steps" VALUES(1,'9126c1c8abc5c7236b26da1ca09801965b604e907dad9f86abec89d5060eaa7c','01a23286-d518-70a1-a8ba-a32a32877d91','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79614402690811300273e+09,1.79614402690811300273e+09,1.79614402690930700305e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(2,'ac859268d0da6e2dd3c94f59726adc117e4149e358c2e3d9625d873ea33dbb49','01a23286-d518-70a1-a8ba-a32a32877d91','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',5,5,6,1.79614402690930700305e+09,1.79614402690930700305e+09,1796144026.90983,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(3,'f80a71c1610aad87b5903ef720c5faa049604c8f939f0b3d5940a8c16025d6f9','01a23286-d750-7691-963d-53a05238e0fb','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79614402747558093076e+09,1.79614402747558093076e+09,1.79614402747730493546e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(4,'b65b71fa185752dd66412862ab59182f534d6826b8098a59c4cca41109d7a2b0','01a23286-d996-7709-8d7c-795ac7a74b37','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79614402805679798129e+09,1.79614402805679798129e+09,1.79614402805790090563e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(5,'1151b9a206169da454a29105929ef2b51fe084e08057f4d89f82f6ee4b50a161','01a23286-d996-7709-8d7c-795ac7a74b37','','tool_call','send','{"to":"böb"}','02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5',0,'at_most_once','awaiting_approval','require_approval','send','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','somebody must look',0,NULL,NULL,'01a23286-d99a-775e-93eb-37e47f00d420',5,0,0,1.7961440280590929985e+09,0.0,0.0,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(6,'e3f92f16cb2b5604b41f541c008606289321fdd4053f389312ecb05f5a7fcd4b','01a23286-dbb9-7604-ad43-3efa9440f262','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79614402860410189623e+09,1.79614402860410189623e+09,1.796144028604954958e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(7,'aebd9230139b34238ecd117682c5cc2a6d866b64aadb3718bc63b89426c2059d','01a23286-dbb9-7604-ad43-3efa9440f262','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','executing','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1.796144028604954958e+09,1.796144028604954958e+09,0.0,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(8,'fef8125bae599c2eb47d67156ecd5d1966782a89ab0a7a19c621c7570fc66a61','01a23286-dd93-7166-b877-0640076ba648','','tool_call','pay','{"amount":1.5}','9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',3,3,4,1.79614402907790803908e+09,1.79614402907790803908e+09,1.79614402907856798166e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(9,'f4d45c86ad47daa7b04f555b66bd30920ed9f7b1919358fef7d8c419d096d004','01a23286-dd93-7166-b877-0640076ba648','','tool_call','look','{"n":2}','363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8',0,'safe_to_retry','executing','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1.79614402907929110531e+09,1.79614402907929110531e+09,0.0,NULL,NULL,0,0);
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
