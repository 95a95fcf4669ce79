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
INSERT INTO "approvals" VALUES(1,'01a2323b-6136-717c-a3a6-83e8cfaac384','01a2323b-6126-7231-ae78-fbd0109e3f66','e6a1920bb44821ba3f5e5d5994e9f052cbcd5cf7ccdb0e2e6894d965a3e7ae10','policy','pending','','send','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','once','','',1.79613908203878307342e+09,0.0,7,0,'upgrade','[]',1,'[]',0.0,'','[]','','');
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
INSERT INTO "events" VALUES(1,'01a2323b-584f-74fa-9972-4224e46df630',1,'execution.created','{"agent_id":"ends","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"ends"}','2026-12-01T15:31:19.760136Z',X'26959F7C514A835FFF6377BCE8B574B11586E35F38651175BE57C1C948030257');
INSERT INTO "events" VALUES(2,'01a2323b-584f-74fa-9972-4224e46df630',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":25707}','2026-12-01T15:31:19.760136Z',X'FCE299F2ABD18F429259D4A2D82FCA02E2773439A56D10894753E6BB91CEAFF1');
INSERT INTO "events" VALUES(3,'01a2323b-584f-74fa-9972-4224e46df630',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"ce18ece382ad4168b3f92ce2463f65c55a66f43bae4bfc64e0d803eec39593a4","step_type":"tool_call","target":"look"}','2026-12-01T15:31:19.772420Z',X'6450177DD239E9CE1812ED5E3D053FE6CFF6407AC7FCDF8FEC4C1AD262881F2D');
INSERT INTO "events" VALUES(4,'01a2323b-584f-74fa-9972-4224e46df630',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"ce18ece382ad4168b3f92ce2463f65c55a66f43bae4bfc64e0d803eec39593a4","step_type":"tool_call","target":"look"}','2026-12-01T15:31:19.773981Z',X'894A4F8B8B42A99B9C258B1B9F504A3ACDD3B5211FFD08DEF94438A118C1B70E');
INSERT INTO "events" VALUES(5,'01a2323b-584f-74fa-9972-4224e46df630',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","definition":{"digest":"a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b","name":"pay","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"4df2ea90c76009094b8a8cb5f9f4ad942859a20005de9c9bdbf60cdbe889180e","step_type":"tool_call","target":"pay"}','2026-12-01T15:31:19.773981Z',X'240906EE3597B92E0B41E3AB8DB6F3B894B13C71DC3109E7F06C7F1D8A66FF4A');
INSERT INTO "events" VALUES(6,'01a2323b-584f-74fa-9972-4224e46df630',6,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"4df2ea90c76009094b8a8cb5f9f4ad942859a20005de9c9bdbf60cdbe889180e","step_type":"tool_call","target":"pay"}','2026-12-01T15:31:19.774621Z',X'94E27CDF0C6B31C8B325E804B460D44613CFC8E4D747316AD99CDBBA6EF49F86');
INSERT INTO "events" VALUES(7,'01a2323b-584f-74fa-9972-4224e46df630',7,'execution.completed','{"attempt":1,"output_hash":"0b7e3760a72454291280c43ba895191b50a5d861eef27b1f48b5597159cff63a","replayed":0}','2026-12-01T15:31:19.775408Z',X'D382B6CD3CC352004C22A830F46AC6D7FED093B2F382168F278A93DB53C3FD23');
INSERT INTO "events" VALUES(8,'01a2323b-5c27-7387-b674-4eda9f90d0e7',1,'execution.created','{"agent_id":"fails","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"fails"}','2026-12-01T15:31:20.745941Z',X'AE2CF3D908BE768B900B45B8A32B8A77544DBC8A5546FB2A364E61661655BA1A');
INSERT INTO "events" VALUES(9,'01a2323b-5c27-7387-b674-4eda9f90d0e7',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":25711}','2026-12-01T15:31:20.745941Z',X'5072E7C51BB88342DF6F4BFC1CF1321FFF471CCEDB3053244BA92CD33B850319');
INSERT INTO "events" VALUES(10,'01a2323b-5c27-7387-b674-4eda9f90d0e7',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"97656f99642f391c562a515a21e5322fcfd80c4c01849ba5de6d9d9134cdad22","step_type":"tool_call","target":"look"}','2026-12-01T15:31:20.760212Z',X'432702D855AFC0C42573F810A57B400367799EC1D36D8A0C5E510ABD4C972886');
INSERT INTO "events" VALUES(11,'01a2323b-5c27-7387-b674-4eda9f90d0e7',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"97656f99642f391c562a515a21e5322fcfd80c4c01849ba5de6d9d9134cdad22","step_type":"tool_call","target":"look"}','2026-12-01T15:31:20.762979Z',X'64028974258FF951C9C8F150E2BD7B16AC2F757EB1EBBB787914720C7ADC177A');
INSERT INTO "events" VALUES(12,'01a2323b-5c27-7387-b674-4eda9f90d0e7',5,'execution.failed','{"attempt":1,"raised":{"file":"/tmp/mainsrc9/tests/journal/old_runs.py","function":"fails","line":69,"message":"look 1 done","traceback":[{"file":"/tmp/mainsrc9/tests/journal/old_runs.py","function":"fails","line":69,"source":"raise ValueError(await look(1))"}],"type":"ValueError"},"reason":"agent_error: ValueError: look 1 done","replayed":0}','2026-12-01T15:31:20.762979Z',X'DBAC8715107FC3250A04CE23B5109F5B6D45874B87833235D769D7E921B6321B');
INSERT INTO "events" VALUES(13,'01a2323b-6126-7231-ae78-fbd0109e3f66',1,'execution.created','{"agent_id":"asks","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"asks"}','2026-12-01T15:31:22.026613Z',X'02C19893F4DBE76A39374FC8CC4DD0C5076DD82866E1D357582231CBD9D79C4C');
INSERT INTO "events" VALUES(14,'01a2323b-6126-7231-ae78-fbd0109e3f66',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":25727}','2026-12-01T15:31:22.026613Z',X'75921BDC4D5787AD4A49D47E8E25509E2C702EF650B3A02192B412179C20AF66');
INSERT INTO "events" VALUES(15,'01a2323b-6126-7231-ae78-fbd0109e3f66',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"5d49d9b44012ee1f493644fdc5d822119dc5ba1b3b91945355335b1a7b59320a","step_type":"tool_call","target":"look"}','2026-12-01T15:31:22.035155Z',X'0AE38C429BAC6B77BCD02D75597814C26151034384283104D695E3D63D5E30EE');
INSERT INTO "events" VALUES(16,'01a2323b-6126-7231-ae78-fbd0109e3f66',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"5d49d9b44012ee1f493644fdc5d822119dc5ba1b3b91945355335b1a7b59320a","step_type":"tool_call","target":"look"}','2026-12-01T15:31:22.037555Z',X'438C15B29358DA14B04D9B69827646D6CF0AAE49C9D25063B2F34821CCD50DC5');
INSERT INTO "events" VALUES(17,'01a2323b-6126-7231-ae78-fbd0109e3f66',5,'step.proposed','{"args_hash":"02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5","definition":{"digest":"4375aa8a41384975538f24db9c4cd3a53bfe94298252efb6dba426dd62e8ff1b","name":"send","server":""},"idempotency":"at_most_once","occurrence":0,"step_id":"e6a1920bb44821ba3f5e5d5994e9f052cbcd5cf7ccdb0e2e6894d965a3e7ae10","step_type":"tool_call","target":"send"}','2026-12-01T15:31:22.038783Z',X'713444DED835D43DD9F57ED1871B961FE714B05DD9266D5BCE85A54253FBC8C8');
INSERT INTO "events" VALUES(18,'01a2323b-6126-7231-ae78-fbd0109e3f66',6,'step.awaiting_approval','{"approval_id":"01a2323b-6136-717c-a3a6-83e8cfaac384","bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","reason":"somebody must look","rule_id":"send","step_id":"e6a1920bb44821ba3f5e5d5994e9f052cbcd5cf7ccdb0e2e6894d965a3e7ae10","step_type":"tool_call","target":"send"}','2026-12-01T15:31:22.038783Z',X'E9F183B24223C7601C79A17AFF9E066BF1B2457A0741F5990ABA2631E79CC4F0');
INSERT INTO "events" VALUES(19,'01a2323b-6126-7231-ae78-fbd0109e3f66',7,'approval.requested','{"approval_id":"01a2323b-6136-717c-a3a6-83e8cfaac384","cause":"policy","message":"","quorum":1,"step_id":"e6a1920bb44821ba3f5e5d5994e9f052cbcd5cf7ccdb0e2e6894d965a3e7ae10"}','2026-12-01T15:31:22.038783Z',X'16026454F96A0DDBF37E7045764C072DDD34414CC3985B9D2DB725E04E542934');
INSERT INTO "events" VALUES(20,'01a2323b-6126-7231-ae78-fbd0109e3f66',8,'execution.blocked','{"attempt":1,"reason":"awaiting_steps","replayed":0}','2026-12-01T15:31:22.039873Z',X'F9AA8D04E2E8758D5527424F4217D066491FCCFE79FBA5CB2025A81938A62059');
INSERT INTO "events" VALUES(21,'01a2323b-6740-77a6-8650-f1f2faac2793',1,'execution.created','{"agent_id":"pays","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"pays"}','2026-12-01T15:31:23.590216Z',X'84C31984F1C8C6DFCCE1BC61E514B13D1053FDF5BF47E1860E0F83CE483105EB');
INSERT INTO "events" VALUES(22,'01a2323b-6740-77a6-8650-f1f2faac2793',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":25746}','2026-12-01T15:31:23.590216Z',X'0A2270872BB2672B27FD59B82F54BCEEF33A1E2D6CE6A4B60762948AAD74E726');
INSERT INTO "events" VALUES(23,'01a2323b-6740-77a6-8650-f1f2faac2793',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"86bea3dd59cd6bcd9e59b3b9f1c57b361fe32fd761fbf10b628a9ca061bfb079","step_type":"tool_call","target":"look"}','2026-12-01T15:31:23.599813Z',X'58ED1A914C2E697F5E3907411D3850875AE22C61A29643F860E060F67B1A8665');
INSERT INTO "events" VALUES(24,'01a2323b-6740-77a6-8650-f1f2faac2793',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"86bea3dd59cd6bcd9e59b3b9f1c57b361fe32fd761fbf10b628a9ca061bfb079","step_type":"tool_call","target":"look"}','2026-12-01T15:31:23.605424Z',X'E1AD02A975C7CF32C4E80B40E8CCF4D6244999C3B203C1EB859B5FA570B39FBC');
INSERT INTO "events" VALUES(25,'01a2323b-6740-77a6-8650-f1f2faac2793',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","definition":{"digest":"a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b","name":"pay","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"23609935bed0349277b5c8cdf1942691d0ca562e1e5bd91eb19bd39136d6dec7","step_type":"tool_call","target":"pay"}','2026-12-01T15:31:23.605424Z',X'92D95D400A6ECCA795A9A3CEE92EAD19BF50FE4785A2372A0E2EEA59551F38E2');
INSERT INTO "events" VALUES(26,'01a2323b-6c11-7591-8022-0e1261afcde3',1,'execution.created','{"agent_id":"reads","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"reads"}','2026-12-01T15:31:24.819696Z',X'CD0A3F14A1017649B6B9065D6275457A5AEA3EF24BE136F1A302DC2138A19885');
INSERT INTO "events" VALUES(27,'01a2323b-6c11-7591-8022-0e1261afcde3',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":25788}','2026-12-01T15:31:24.819696Z',X'0ADB5E2EF7D079AE129313B10F0DEA4A7E51630B17B863D1CEBCE28367986DFA');
INSERT INTO "events" VALUES(28,'01a2323b-6c11-7591-8022-0e1261afcde3',3,'step.executing','{"args_hash":"9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301","attempt":1,"bundle":"upgrade","definition":{"digest":"a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b","name":"pay","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"745dcd5feadd7c7950a348e80724e2a6f3697c11a64c0300c0087067d289d27a","step_type":"tool_call","target":"pay"}','2026-12-01T15:31:24.825690Z',X'D8782B95E21AB96ED192F1BF44F785D644B2B1CAE52988DD461060F826009D3B');
INSERT INTO "events" VALUES(29,'01a2323b-6c11-7591-8022-0e1261afcde3',4,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"745dcd5feadd7c7950a348e80724e2a6f3697c11a64c0300c0087067d289d27a","step_type":"tool_call","target":"pay"}','2026-12-01T15:31:24.827391Z',X'9211F3CEB86FCD8588B6A2DDEFC0A385A3FECC5630EAEEDEADF316657FBD1284');
INSERT INTO "events" VALUES(30,'01a2323b-6c11-7591-8022-0e1261afcde3',5,'step.executing','{"args_hash":"363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"9c76ed36cdefe3c44ffc35f723f93a08bfe6ffd52da87839ad707318f34fda77","step_type":"tool_call","target":"look"}','2026-12-01T15:31:24.829753Z',X'6F704D695F713A6E668B41B1A4C409CEED3DD787BE50631F906E845F4B795170');
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
INSERT INTO "executions" VALUES(1,'01a2323b-584f-74fa-9972-4224e46df630','ends','ends','completed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,7,X'D382B6CD3CC352004C22A830F46AC6D7FED093B2F382168F278A93DB53C3FD23',1.79613907976013588907e+09,1.79613907977540802948e+09,0.0,0,'',0,1.79613907977540802948e+09,0,'','','','','','',0);
INSERT INTO "executions" VALUES(2,'01a2323b-5c27-7387-b674-4eda9f90d0e7','fails','fails','failed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','agent_error: ValueError: look 1 done',1,NULL,NULL,NULL,0.0,5,X'DBAC8715107FC3250A04CE23B5109F5B6D45874B87833235D769D7E921B6321B',1.79613908074594092367e+09,1.79613908076297903058e+09,0.0,0,'',0,1.79613908076297903058e+09,0,'','','','','','',0);
INSERT INTO "executions" VALUES(3,'01a2323b-6126-7231-ae78-fbd0109e3f66','asks','asks','blocked','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,8,X'F9AA8D04E2E8758D5527424F4217D066491FCCFE79FBA5CB2025A81938A62059',1.79613908202661299706e+09,1.79613908203987288469e+09,0.0,0,'',0,0.0,0,'','','','','','',0);
INSERT INTO "executions" VALUES(4,'01a2323b-6740-77a6-8650-f1f2faac2793','pays','pays','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'86452400f46c4fdea222d78b2e3cac52','elsewhere/00000000',25746,1.7961391135849645138e+09,5,X'92D95D400A6ECCA795A9A3CEE92EAD19BF50FE4785A2372A0E2EEA59551F38E2',1.79613908359021592136e+09,1.79613908360542392735e+09,0.0,0,'',0,0.0,0,'','','','','','',0);
INSERT INTO "executions" VALUES(5,'01a2323b-6c11-7591-8022-0e1261afcde3','reads','reads','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'26307000761242d09fdfc5dfcd6ebf9f','elsewhere/00000000',25788,1.79613911481736397745e+09,5,X'6F704D695F713A6E668B41B1A4C409CEED3DD787BE50631F906E845F4B795170',1.79613908481969594957e+09,1.79613908482975292209e+09,0.0,0,'',0,0.0,0,'','','','','','',0);
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
INSERT INTO "log_mark" VALUES(1,X'72626E6F2D6C6F676594A9BF4AFB8DB27670EE4CFC9D5E0100000059000000000098EF34000000000098EF3B18ED2AFA9049460E00F29E5FCE');
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
INSERT INTO "steps" VALUES(1,'ce18ece382ad4168b3f92ce2463f65c55a66f43bae4bfc64e0d803eec39593a4','01a2323b-584f-74fa-9972-4224e46df630','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1796139079.77242,1796139079.77242,1.79613907977398109434e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(2,'4df2ea90c76009094b8a8cb5f9f4ad942859a20005de9c9bdbf60cdbe889180e','01a2323b-584f-74fa-9972-4224e46df630','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',5,5,6,1.79613907977398109434e+09,1.79613907977398109434e+09,1.79613907977462100985e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(3,'97656f99642f391c562a515a21e5322fcfd80c4c01849ba5de6d9d9134cdad22','01a2323b-5c27-7387-b674-4eda9f90d0e7','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79613908076021194454e+09,1.79613908076021194454e+09,1.79613908076297903058e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(4,'5d49d9b44012ee1f493644fdc5d822119dc5ba1b3b91945355335b1a7b59320a','01a2323b-6126-7231-ae78-fbd0109e3f66','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79613908203515505786e+09,1.79613908203515505786e+09,1.79613908203755497927e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(5,'e6a1920bb44821ba3f5e5d5994e9f052cbcd5cf7ccdb0e2e6894d965a3e7ae10','01a2323b-6126-7231-ae78-fbd0109e3f66','','tool_call','send','{"to":"böb"}','02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5',0,'at_most_once','awaiting_approval','require_approval','send','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','somebody must look',0,NULL,NULL,'01a2323b-6136-717c-a3a6-83e8cfaac384',5,0,0,1.79613908203878307342e+09,0.0,0.0,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(6,'86bea3dd59cd6bcd9e59b3b9f1c57b361fe32fd761fbf10b628a9ca061bfb079','01a2323b-6740-77a6-8650-f1f2faac2793','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79613908359981298444e+09,1.79613908359981298444e+09,1.79613908360542392735e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(7,'23609935bed0349277b5c8cdf1942691d0ca562e1e5bd91eb19bd39136d6dec7','01a2323b-6740-77a6-8650-f1f2faac2793','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','executing','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1.79613908360542392735e+09,1.79613908360542392735e+09,0.0,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(8,'745dcd5feadd7c7950a348e80724e2a6f3697c11a64c0300c0087067d289d27a','01a2323b-6c11-7591-8022-0e1261afcde3','','tool_call','pay','{"amount":1.5}','9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',3,3,4,1796139084.82569,1796139084.82569,1.79613908482739090917e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(9,'9c76ed36cdefe3c44ffc35f723f93a08bfe6ffd52da87839ad707318f34fda77','01a2323b-6c11-7591-8022-0e1261afcde3','','tool_call','look','{"n":2}','363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8',0,'safe_to_retry','executing','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1.79613908482975292209e+09,1.79613908482975292209e+09,0.0,NULL,NULL,0,0);
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
CREATE INDEX checkpoints_open ON checkpoints (execution_id, key) WHERE invalidated_seq = 0;
CREATE INDEX standing_grants_by_agent ON standing_grants (agent_id, expires_at) WHERE revoked_at = 0.0;
CREATE INDEX approvals_by_rule ON approvals (rule_id, decided_at) WHERE status IN ('granted', 'denied');
COMMIT;
PRAGMA application_id=1919053423;
PRAGMA user_version=9;
