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
INSERT INTO "approvals" VALUES(1,'01a23263-3cbe-7761-b7a2-919e86fb2afb','01a23263-3cba-74df-8e05-1eac800e8138','02b28340e8415588ae2f7a916d49e1c7d99766d67a4ab8a5da8272c76cf77d22','policy','pending','','send','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','once','','',1.79614169414331388474e+09,0.0,7,0,'upgrade','[]',1,'[]',0.0,'','[]','','');
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
INSERT INTO "events" VALUES(1,'01a23263-396f-7162-883d-e903c9c8c208',1,'execution.created','{"agent_id":"ends","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"ends"}','2026-12-01T16:14:53.296126Z',X'5DAF427622766A98C3FFF45F89C111B38E627C829680C2223ED647A1A286F5C0');
INSERT INTO "events" VALUES(2,'01a23263-396f-7162-883d-e903c9c8c208',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":4992}','2026-12-01T16:14:53.296126Z',X'C80E340ABBB7066B1179C352F8A2AF70414B98FA0391DCBD0B2AB5F00A06535D');
INSERT INTO "events" VALUES(3,'01a23263-396f-7162-883d-e903c9c8c208',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"fcbf1bc4d1b51d4c809b090e7ab855eda0aa3da21326e9a41693652c3d52ed01","step_type":"tool_call","target":"look"}','2026-12-01T16:14:53.298561Z',X'451DB5D4DF4BB830025E05EA1B048C0904FE6830B41FB6D5975B829B65AF7863');
INSERT INTO "events" VALUES(4,'01a23263-396f-7162-883d-e903c9c8c208',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"fcbf1bc4d1b51d4c809b090e7ab855eda0aa3da21326e9a41693652c3d52ed01","step_type":"tool_call","target":"look"}','2026-12-01T16:14:53.299727Z',X'06D3B0ACAB09F3B945B308ACB78CAD4E9577DF7BE1BD7EE66867B1E56C375312');
INSERT INTO "events" VALUES(5,'01a23263-396f-7162-883d-e903c9c8c208',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","definition":{"digest":"a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b","name":"pay","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"fdffcf18c98b8c5cb1bb8859d17d672970d9549795bbc71d94884ac760a66ac2","step_type":"tool_call","target":"pay"}','2026-12-01T16:14:53.299727Z',X'442B1EC481F862D81C8F17947FDB265A91D9B7652166EAC075E4EFBA72CC213B');
INSERT INTO "events" VALUES(6,'01a23263-396f-7162-883d-e903c9c8c208',6,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"fdffcf18c98b8c5cb1bb8859d17d672970d9549795bbc71d94884ac760a66ac2","step_type":"tool_call","target":"pay"}','2026-12-01T16:14:53.300186Z',X'4AFD5DD29A412A531DF50FDB0A83B5E1934319ACD41BC7A85E770C7B286A0638');
INSERT INTO "events" VALUES(7,'01a23263-396f-7162-883d-e903c9c8c208',7,'execution.completed','{"attempt":1,"output_hash":"0b7e3760a72454291280c43ba895191b50a5d861eef27b1f48b5597159cff63a","replayed":0}','2026-12-01T16:14:53.300812Z',X'6840FBA0FD2007A177A4F6E641C8A8F376C49C052CA3F4EEDEA37B34C905041C');
INSERT INTO "events" VALUES(8,'01a23263-3b1a-700b-b326-db0efbadf8b9',1,'execution.created','{"agent_id":"fails","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"fails"}','2026-12-01T16:14:53.723537Z',X'723DB878643144B597D9BD9806D9E9D891FCD94555AC8E6A03CA8E9678F6890A');
INSERT INTO "events" VALUES(9,'01a23263-3b1a-700b-b326-db0efbadf8b9',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":4996}','2026-12-01T16:14:53.723537Z',X'611F0EA49E1BCE953CBCDA6719A0F5974BBA567A46C0F1ECBA7BB41F51DCA190');
INSERT INTO "events" VALUES(10,'01a23263-3b1a-700b-b326-db0efbadf8b9',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"14a538fee3f85d416b86397a25b90a0ad1a67093f25dac8e85cc362db70226f2","step_type":"tool_call","target":"look"}','2026-12-01T16:14:53.725844Z',X'A3024FA82F4FE9A511EE4037638F8E518083C6707B04D8640381456475C58EEF');
INSERT INTO "events" VALUES(11,'01a23263-3b1a-700b-b326-db0efbadf8b9',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"14a538fee3f85d416b86397a25b90a0ad1a67093f25dac8e85cc362db70226f2","step_type":"tool_call","target":"look"}','2026-12-01T16:14:53.727352Z',X'07D1BA024414E4CE7E977597536D7227CBF6BEAAFAAEF74F8595F9227E8D3E72');
INSERT INTO "events" VALUES(12,'01a23263-3b1a-700b-b326-db0efbadf8b9',5,'execution.failed','{"attempt":1,"raised":{"file":"/work/main/tests/journal/old_runs.py","function":"fails","line":69,"message":"look 1 done","traceback":[{"file":"/work/main/tests/journal/old_runs.py","function":"fails","line":69,"source":"raise ValueError(await look(1))"}],"type":"ValueError"},"reason":"agent_error: ValueError: look 1 done","replayed":0}','2026-12-01T16:14:53.727352Z',X'3723ED9E90D6C5ED90D10FDD5B2BDF00F6A98ED7C8CE64AB4C175D3080D655DB');
INSERT INTO "events" VALUES(13,'01a23263-3cba-74df-8e05-1eac800e8138',1,'execution.created','{"agent_id":"asks","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"asks"}','2026-12-01T16:14:54.138980Z',X'1998F1E109542968B6019FD001F98B39487FB90B7A8555B022B7921A188CACB8');
INSERT INTO "events" VALUES(14,'01a23263-3cba-74df-8e05-1eac800e8138',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":5000}','2026-12-01T16:14:54.138980Z',X'7E99F14594CA46B8C178F89897E426536A6BF74C6011670FDB12EEFD8DFD0E56');
INSERT INTO "events" VALUES(15,'01a23263-3cba-74df-8e05-1eac800e8138',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"01090d832dfee39fb074dd1b5c62dd2ca0ab54829e43a0ca9ad37f859c372caa","step_type":"tool_call","target":"look"}','2026-12-01T16:14:54.141552Z',X'4427EF42FC8EB5014867FAAEAAC6BD134F2D0F8DB322B1373040BEB585D2A73B');
INSERT INTO "events" VALUES(16,'01a23263-3cba-74df-8e05-1eac800e8138',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"01090d832dfee39fb074dd1b5c62dd2ca0ab54829e43a0ca9ad37f859c372caa","step_type":"tool_call","target":"look"}','2026-12-01T16:14:54.143314Z',X'0FEF8642025463FDEF6983796010ADF51B87EC329AD6CA60DEEB00DD848DD2AA');
INSERT INTO "events" VALUES(17,'01a23263-3cba-74df-8e05-1eac800e8138',5,'step.proposed','{"args_hash":"02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5","definition":{"digest":"4375aa8a41384975538f24db9c4cd3a53bfe94298252efb6dba426dd62e8ff1b","name":"send","server":""},"idempotency":"at_most_once","occurrence":0,"step_id":"02b28340e8415588ae2f7a916d49e1c7d99766d67a4ab8a5da8272c76cf77d22","step_type":"tool_call","target":"send"}','2026-12-01T16:14:54.143314Z',X'9974B68600839717D749BAE29120AD242E74097777D5E258EE87161E885C5EAF');
INSERT INTO "events" VALUES(18,'01a23263-3cba-74df-8e05-1eac800e8138',6,'step.awaiting_approval','{"approval_id":"01a23263-3cbe-7761-b7a2-919e86fb2afb","bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","reason":"somebody must look","rule_id":"send","step_id":"02b28340e8415588ae2f7a916d49e1c7d99766d67a4ab8a5da8272c76cf77d22","step_type":"tool_call","target":"send"}','2026-12-01T16:14:54.143314Z',X'8191B87F2FC443F56CF5175BCC4AD9B8E8749095AC2CB1F53CC614381C10CCB8');
INSERT INTO "events" VALUES(19,'01a23263-3cba-74df-8e05-1eac800e8138',7,'approval.requested','{"approval_id":"01a23263-3cbe-7761-b7a2-919e86fb2afb","cause":"policy","message":"","quorum":1,"step_id":"02b28340e8415588ae2f7a916d49e1c7d99766d67a4ab8a5da8272c76cf77d22"}','2026-12-01T16:14:54.143314Z',X'0A78F6D34C04153B16BEA62317D1F57F017E2CAF0BACA0BC025E63CCB787B27F');
INSERT INTO "events" VALUES(20,'01a23263-3cba-74df-8e05-1eac800e8138',8,'execution.blocked','{"attempt":1,"reason":"awaiting_steps","replayed":0}','2026-12-01T16:14:54.144393Z',X'35864921F718C0E0D30E61008D6F070203A1A6E240D3553C871E715593929894');
INSERT INTO "events" VALUES(21,'01a23263-3e5f-743e-836f-b5fc061ebf44',1,'execution.created','{"agent_id":"pays","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"pays"}','2026-12-01T16:14:54.560372Z',X'C9E71E5FD37B30EDC82EF6AAC3E078388B3DC73B0E9370EA908E03CA544C4D48');
INSERT INTO "events" VALUES(22,'01a23263-3e5f-743e-836f-b5fc061ebf44',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":5004}','2026-12-01T16:14:54.560372Z',X'05943D99BEC25DD92639E5910B1C822389F4329C9597A0CA302B40FE78855B95');
INSERT INTO "events" VALUES(23,'01a23263-3e5f-743e-836f-b5fc061ebf44',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"2ec053f9bdb4c751c727fcba1c37f986f05bf71b2c91f023d64f0e2e505f80bf","step_type":"tool_call","target":"look"}','2026-12-01T16:14:54.562915Z',X'A64E18623991B1B10C37AB051737701208F09900E4E7B06BBDC690AB2EDD6D96');
INSERT INTO "events" VALUES(24,'01a23263-3e5f-743e-836f-b5fc061ebf44',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"2ec053f9bdb4c751c727fcba1c37f986f05bf71b2c91f023d64f0e2e505f80bf","step_type":"tool_call","target":"look"}','2026-12-01T16:14:54.563898Z',X'19B4928307AC1A7794470B23F5296D4C9F32735854B9F9CE17C4B6CCF14C181A');
INSERT INTO "events" VALUES(25,'01a23263-3e5f-743e-836f-b5fc061ebf44',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","definition":{"digest":"a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b","name":"pay","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"780b1487affc97f8e295dafa6012b5a9e3f7839373ffec4b2ba51d256116e1fd","step_type":"tool_call","target":"pay"}','2026-12-01T16:14:54.563898Z',X'FAFC73E89BE710565114EA5A6FEA0866CD3163F9323B9379294F469369123655');
INSERT INTO "events" VALUES(26,'01a23263-3fb7-725d-991f-af13d66934d2',1,'execution.created','{"agent_id":"reads","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"reads"}','2026-12-01T16:14:54.904188Z',X'ACE9A63F36BD84A559D509892F2E25305F37F68AE837040AF9BB423B77178BE1');
INSERT INTO "events" VALUES(27,'01a23263-3fb7-725d-991f-af13d66934d2',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":5007}','2026-12-01T16:14:54.904188Z',X'4995635D834E67FFAF7072DC8F58E80DF1E8ABA3711BFC686FD6E72C1129EECD');
INSERT INTO "events" VALUES(28,'01a23263-3fb7-725d-991f-af13d66934d2',3,'step.executing','{"args_hash":"9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301","attempt":1,"bundle":"upgrade","definition":{"digest":"a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b","name":"pay","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"412def6ddab7a2fa0879cdbb5ae1a8fbfe1c54ab49719aac4fbbdd9a867e881f","step_type":"tool_call","target":"pay"}','2026-12-01T16:14:54.906462Z',X'C96D7B313954B85E232E859D58A91EBDA9B0E9554DE537D7E14904B992C5D870');
INSERT INTO "events" VALUES(29,'01a23263-3fb7-725d-991f-af13d66934d2',4,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"412def6ddab7a2fa0879cdbb5ae1a8fbfe1c54ab49719aac4fbbdd9a867e881f","step_type":"tool_call","target":"pay"}','2026-12-01T16:14:54.907117Z',X'62062E4D2C420803675C0D90EE2EB898A85736C7A27B0259A9F5BADD157F6825');
INSERT INTO "events" VALUES(30,'01a23263-3fb7-725d-991f-af13d66934d2',5,'step.executing','{"args_hash":"363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"71444d809e173c056603856b951a18bebaf293af1955b1dc77763bf37046dbca","step_type":"tool_call","target":"look"}','2026-12-01T16:14:54.907703Z',X'3BBE3D3E63E20EB5D6A16A77F0231CA018ED8EA8978BFBA0320AD131A377E029');
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
INSERT INTO "executions" VALUES(1,'01a23263-396f-7162-883d-e903c9c8c208','ends','ends','completed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,7,X'6840FBA0FD2007A177A4F6E641C8A8F376C49C052CA3F4EEDEA37B34C905041C',1.79614169329612588877e+09,1.79614169330081200597e+09,0.0,0,'',0,1.79614169330081200597e+09,0,'','','','','','',0,'');
INSERT INTO "executions" VALUES(2,'01a23263-3b1a-700b-b326-db0efbadf8b9','fails','fails','failed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','agent_error: ValueError: look 1 done',1,NULL,NULL,NULL,0.0,5,X'3723ED9E90D6C5ED90D10FDD5B2BDF00F6A98ED7C8CE64AB4C175D3080D655DB',1.79614169372353696821e+09,1.79614169372735190386e+09,0.0,0,'',0,1.79614169372735190386e+09,0,'','','','','','',0,'');
INSERT INTO "executions" VALUES(3,'01a23263-3cba-74df-8e05-1eac800e8138','asks','asks','blocked','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,8,X'35864921F718C0E0D30E61008D6F070203A1A6E240D3553C871E715593929894',1796141694.13898,1.79614169414439296722e+09,0.0,0,'',0,0.0,0,'','','','','','',0,'');
INSERT INTO "executions" VALUES(4,'01a23263-3e5f-743e-836f-b5fc061ebf44','pays','pays','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'b050e6953a4540f9adf181b28fd742a6','elsewhere/00000000',5004,1.79614172455968475346e+09,5,X'FAFC73E89BE710565114EA5A6FEA0866CD3163F9323B9379294F469369123655',1.79614169456037211418e+09,1.79614169456389808658e+09,0.0,0,'',0,0.0,0,'','','','','','',0,'');
INSERT INTO "executions" VALUES(5,'01a23263-3fb7-725d-991f-af13d66934d2','reads','reads','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'5fc05e38381340b685d3d988c4a9dd35','elsewhere/00000000',5007,1.79614172490358328824e+09,5,X'3BBE3D3E63E20EB5D6A16A77F0231CA018ED8EA8978BFBA0320AD131A377E029',1.7961416949041879177e+09,1.79614169490770292283e+09,0.0,0,'',0,0.0,0,'','','','','','',0,'');
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
INSERT INTO "log_mark" VALUES(1,X'72626E6F2D6C6F678BBF7EBAB39472AE54E5165F8536246700000065000000000098423B00000000009841F718ED2D5ABDD3B18C0044EA55ED');
CREATE TABLE notice_targets (
    target  TEXT NOT NULL PRIMARY KEY,
    seen_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
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
INSERT INTO "steps" VALUES(1,'fcbf1bc4d1b51d4c809b090e7ab855eda0aa3da21326e9a41693652c3d52ed01','01a23263-396f-7162-883d-e903c9c8c208','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79614169329856109618e+09,1.79614169329856109618e+09,1.79614169329972696307e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(2,'fdffcf18c98b8c5cb1bb8859d17d672970d9549795bbc71d94884ac760a66ac2','01a23263-396f-7162-883d-e903c9c8c208','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',5,5,6,1.79614169329972696307e+09,1.79614169329972696307e+09,1.79614169330018591877e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(3,'14a538fee3f85d416b86397a25b90a0ad1a67093f25dac8e85cc362db70226f2','01a23263-3b1a-700b-b326-db0efbadf8b9','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79614169372584390636e+09,1.79614169372584390636e+09,1.79614169372735190386e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(4,'01090d832dfee39fb074dd1b5c62dd2ca0ab54829e43a0ca9ad37f859c372caa','01a23263-3cba-74df-8e05-1eac800e8138','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79614169414155197147e+09,1.79614169414155197147e+09,1.79614169414331388474e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(5,'02b28340e8415588ae2f7a916d49e1c7d99766d67a4ab8a5da8272c76cf77d22','01a23263-3cba-74df-8e05-1eac800e8138','','tool_call','send','{"to":"böb"}','02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5',0,'at_most_once','awaiting_approval','require_approval','send','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','somebody must look',0,NULL,NULL,'01a23263-3cbe-7761-b7a2-919e86fb2afb',5,0,0,1.79614169414331388474e+09,0.0,0.0,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(6,'2ec053f9bdb4c751c727fcba1c37f986f05bf71b2c91f023d64f0e2e505f80bf','01a23263-3e5f-743e-836f-b5fc061ebf44','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79614169456291508674e+09,1.79614169456291508674e+09,1.79614169456389808658e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(7,'780b1487affc97f8e295dafa6012b5a9e3f7839373ffec4b2ba51d256116e1fd','01a23263-3e5f-743e-836f-b5fc061ebf44','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','executing','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1.79614169456389808658e+09,1.79614169456389808658e+09,0.0,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(8,'412def6ddab7a2fa0879cdbb5ae1a8fbfe1c54ab49719aac4fbbdd9a867e881f','01a23263-3fb7-725d-991f-af13d66934d2','','tool_call','pay','{"amount":1.5}','9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',3,3,4,1.79614169490646195413e+09,1.79614169490646195413e+09,1.79614169490711688996e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(9,'71444d809e173c056603856b951a18bebaf293af1955b1dc77763bf37046dbca','01a23263-3fb7-725d-991f-af13d66934d2','','tool_call','look','{"n":2}','363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8',0,'safe_to_retry','executing','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1.79614169490770292283e+09,1.79614169490770292283e+09,0.0,NULL,NULL,0,0);
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
CREATE INDEX notices_due ON notices (target, due_at) WHERE done_at = 0.0;
CREATE INDEX approvals_by_creation ON approvals (created_at);
CREATE INDEX approvals_by_decision ON approvals (decided_at);
COMMIT;
PRAGMA application_id=1919053423;
PRAGMA user_version=11;
