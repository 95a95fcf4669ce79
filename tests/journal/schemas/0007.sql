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
INSERT INTO "approvals" VALUES(1,'01a2320b-4cfe-7776-8705-14bfee63d81e','01a2320b-4cf5-7120-a371-175e06078a1e','0e677492c262036628a65f7bbcff9213e8567314f45a7411f579a505f49267c4','policy','pending','','send','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','once','','',1.79613593113524603848e+09,0.0,7,0,'upgrade','[]',1,'[]',0.0,'');
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
INSERT INTO "events" VALUES(1,'01a2320b-3e26-72c4-9ca8-fb4bf31df73b',1,'execution.created','{"agent_id":"ends","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"ends"}','2026-12-01T14:38:47.337999Z',X'907B5BAFC038256809D5C4B4915EA8DAAE9743C6E22B21F494BC71C93760AA68');
INSERT INTO "events" VALUES(2,'01a2320b-3e26-72c4-9ca8-fb4bf31df73b',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":21157}','2026-12-01T14:38:47.337999Z',X'9A9148F6D0D4241EE86454CFE933633D9CD2DF6B4E5D33FCC1C50E180B483206');
INSERT INTO "events" VALUES(3,'01a2320b-3e26-72c4-9ca8-fb4bf31df73b',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"41d4a4b876ef9518864121ce6a324bca4cadf64cdd154d8ca44bb65640ebacc2","step_type":"tool_call","target":"look"}','2026-12-01T14:38:47.355150Z',X'3D89B65FDCE5031FF215A434FAB10BF5084D5A7EE322F90CD11F197FECF0FBED');
INSERT INTO "events" VALUES(4,'01a2320b-3e26-72c4-9ca8-fb4bf31df73b',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"41d4a4b876ef9518864121ce6a324bca4cadf64cdd154d8ca44bb65640ebacc2","step_type":"tool_call","target":"look"}','2026-12-01T14:38:47.358127Z',X'3E67A300895F31BB7EFA0B07CB7284648BCE217210788626FA62B21C5D20D087');
INSERT INTO "events" VALUES(5,'01a2320b-3e26-72c4-9ca8-fb4bf31df73b',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","definition":{"digest":"a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b","name":"pay","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"8559ff94ff0b557fe4000713b51a3115bb6a7cc6db3170859bf93185e6fcd4db","step_type":"tool_call","target":"pay"}','2026-12-01T14:38:47.358127Z',X'8BF7FB368609CE4DCAFD300217F5C89A6642C3B963E53118669BD50284138CE3');
INSERT INTO "events" VALUES(6,'01a2320b-3e26-72c4-9ca8-fb4bf31df73b',6,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"8559ff94ff0b557fe4000713b51a3115bb6a7cc6db3170859bf93185e6fcd4db","step_type":"tool_call","target":"pay"}','2026-12-01T14:38:47.362059Z',X'354B3C54F2ED7F48572143133D12BDCC78CED7E61CDCB08AAB5E1A0B7B14AD47');
INSERT INTO "events" VALUES(7,'01a2320b-3e26-72c4-9ca8-fb4bf31df73b',7,'execution.completed','{"attempt":1,"output_hash":"0b7e3760a72454291280c43ba895191b50a5d861eef27b1f48b5597159cff63a","replayed":0}','2026-12-01T14:38:47.389032Z',X'220B4762AD71AFEA0515F28C877C98C6904D1A0178BCEE85AE8721F11755EC58');
INSERT INTO "events" VALUES(8,'01a2320b-47df-7405-a052-b974209d1de2',1,'execution.created','{"agent_id":"fails","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"fails"}','2026-12-01T14:38:49.827813Z',X'C1F707D0C91AB6BCB07E2EB8E18DE8B382D52D0C3CA6C432DCDE8D13E34B5974');
INSERT INTO "events" VALUES(9,'01a2320b-47df-7405-a052-b974209d1de2',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":21312}','2026-12-01T14:38:49.827813Z',X'6835DEC541DE4FDEF0D1EE14E3239EE06AB6A44C4E7CB714935154601FA57A4A');
INSERT INTO "events" VALUES(10,'01a2320b-47df-7405-a052-b974209d1de2',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"f830dd2d7e5fa107f2ae794125289717286b6e43e3fa50376e884269cd7bd04e","step_type":"tool_call","target":"look"}','2026-12-01T14:38:49.837160Z',X'F7D19C263678EC6CCA7CB12AC380EA7348B00108F33D29D4C0E76A1B8F4B37F1');
INSERT INTO "events" VALUES(11,'01a2320b-47df-7405-a052-b974209d1de2',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"f830dd2d7e5fa107f2ae794125289717286b6e43e3fa50376e884269cd7bd04e","step_type":"tool_call","target":"look"}','2026-12-01T14:38:49.840654Z',X'9E41C7358B2D750B7D2235EA577E687AD46C8DF0CC51A0A374F4348722CF00FC');
INSERT INTO "events" VALUES(12,'01a2320b-47df-7405-a052-b974209d1de2',5,'execution.failed','{"attempt":1,"raised":{"file":"/srv/rebuno/tests/journal/old_runs.py","function":"fails","line":69,"message":"look 1 done","traceback":[{"file":"/srv/rebuno/tests/journal/old_runs.py","function":"fails","line":69,"source":"raise ValueError(await look(1))"}],"type":"ValueError"},"reason":"agent_error: ValueError: look 1 done","replayed":0}','2026-12-01T14:38:49.840654Z',X'871AB2D9A57B4D1C053C0C224A5F2734829EDD8CDE59F25BE317EBA9ABB4BFFC');
INSERT INTO "events" VALUES(13,'01a2320b-4cf5-7120-a371-175e06078a1e',1,'execution.created','{"agent_id":"asks","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"asks"}','2026-12-01T14:38:51.129894Z',X'CC26356F9918B5506393939E29D83DEB6D74C0651254BBB867D37E3C9D0CA775');
INSERT INTO "events" VALUES(14,'01a2320b-4cf5-7120-a371-175e06078a1e',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":21581}','2026-12-01T14:38:51.129894Z',X'A8DEE7EBA39B8B11DD60AE9EE6CA3998D09AD3FBFFA44B8230AED93EB84480D8');
INSERT INTO "events" VALUES(15,'01a2320b-4cf5-7120-a371-175e06078a1e',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"582a1ae7992fef5142de70820bd712c396a305c515b247739c26ca7ee34728a9","step_type":"tool_call","target":"look"}','2026-12-01T14:38:51.132491Z',X'FBDF7FD6276B2A159BAB90A058CDE4C2A6CF218D3F7DA0ADC8F9D626A5F7F640');
INSERT INTO "events" VALUES(16,'01a2320b-4cf5-7120-a371-175e06078a1e',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"582a1ae7992fef5142de70820bd712c396a305c515b247739c26ca7ee34728a9","step_type":"tool_call","target":"look"}','2026-12-01T14:38:51.135246Z',X'3A0833503352E69B242ADE8AFD4604B784B1A92D52DC6C516AF705B016144A6F');
INSERT INTO "events" VALUES(17,'01a2320b-4cf5-7120-a371-175e06078a1e',5,'step.proposed','{"args_hash":"02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5","definition":{"digest":"4375aa8a41384975538f24db9c4cd3a53bfe94298252efb6dba426dd62e8ff1b","name":"send","server":""},"idempotency":"at_most_once","occurrence":0,"step_id":"0e677492c262036628a65f7bbcff9213e8567314f45a7411f579a505f49267c4","step_type":"tool_call","target":"send"}','2026-12-01T14:38:51.135246Z',X'B3F402816A5D44A86036FA31F44874F4C696C3F80BE2A0379C9E6CFBE80E1CEA');
INSERT INTO "events" VALUES(18,'01a2320b-4cf5-7120-a371-175e06078a1e',6,'step.awaiting_approval','{"approval_id":"01a2320b-4cfe-7776-8705-14bfee63d81e","bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","reason":"somebody must look","rule_id":"send","step_id":"0e677492c262036628a65f7bbcff9213e8567314f45a7411f579a505f49267c4","step_type":"tool_call","target":"send"}','2026-12-01T14:38:51.135246Z',X'00E666AF5EA2AB0CF44F197156D6A72998D760D57FE6E207A8B005A3AF4CC086');
INSERT INTO "events" VALUES(19,'01a2320b-4cf5-7120-a371-175e06078a1e',7,'approval.requested','{"approval_id":"01a2320b-4cfe-7776-8705-14bfee63d81e","cause":"policy","message":"","quorum":1,"step_id":"0e677492c262036628a65f7bbcff9213e8567314f45a7411f579a505f49267c4"}','2026-12-01T14:38:51.135246Z',X'A71383E47C0107E9DEF12456AC8CFD1ACBABC81CB469D04993C67F02060F5C87');
INSERT INTO "events" VALUES(20,'01a2320b-4cf5-7120-a371-175e06078a1e',8,'execution.blocked','{"attempt":1,"reason":"awaiting_steps","replayed":0}','2026-12-01T14:38:51.137071Z',X'A1A0A21B86A1B678BE23EFFB6DC8110DE2DB3B297D45A256EB4C48B0613B8D3E');
INSERT INTO "events" VALUES(21,'01a2320b-571a-77da-9e2b-4abc83333c86',1,'execution.created','{"agent_id":"pays","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"pays"}','2026-12-01T14:38:53.725919Z',X'7D7B1A28CF602A8CC93BB081E65B920C00E91C3BEA021EFC265B52DE932C2E91');
INSERT INTO "events" VALUES(22,'01a2320b-571a-77da-9e2b-4abc83333c86',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":21632}','2026-12-01T14:38:53.725919Z',X'826EEFCA218E30DFD67AE42971AA27E97F735FEC0FE64F6494285394372C725F');
INSERT INTO "events" VALUES(23,'01a2320b-571a-77da-9e2b-4abc83333c86',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"a4861a9ccb18012d8bf28a5c6a348bd54cc2209ea6e62e68d3fa5240488b8791","step_type":"tool_call","target":"look"}','2026-12-01T14:38:53.743719Z',X'832C05E3CAF335D827A6E15510D91040C05EE694F27482D3EA22111C503212C1');
INSERT INTO "events" VALUES(24,'01a2320b-571a-77da-9e2b-4abc83333c86',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"a4861a9ccb18012d8bf28a5c6a348bd54cc2209ea6e62e68d3fa5240488b8791","step_type":"tool_call","target":"look"}','2026-12-01T14:38:53.758772Z',X'A007A501F4669426A15D7EA193BF5E8B16E5FBCFBEF85DD06893479D1EF7C0DB');
INSERT INTO "events" VALUES(25,'01a2320b-571a-77da-9e2b-4abc83333c86',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","definition":{"digest":"a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b","name":"pay","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"7804db965e6eb6deb79ccc4fa8150aa4636122460ebd0d8dc0f74412bd2fabd1","step_type":"tool_call","target":"pay"}','2026-12-01T14:38:53.758772Z',X'99CB36618C638C9CBC9FB23564AA892778D665BD8A9B2D2F666481AE9AC59020');
INSERT INTO "events" VALUES(26,'01a2320b-61e2-743a-955e-0cede6c0becd',1,'execution.created','{"agent_id":"reads","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"reads"}','2026-12-01T14:38:56.483833Z',X'6D8B5A86D7C01DE21E1091B82E336077B1B331B4C23322210C170997E7F15D53');
INSERT INTO "events" VALUES(27,'01a2320b-61e2-743a-955e-0cede6c0becd',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":21875}','2026-12-01T14:38:56.483833Z',X'3323C28E52BDC037AFB75DC296249FA606FCECCDD51790903FC50F21F8D2BA44');
INSERT INTO "events" VALUES(28,'01a2320b-61e2-743a-955e-0cede6c0becd',3,'step.executing','{"args_hash":"9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301","attempt":1,"bundle":"upgrade","definition":{"digest":"a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b","name":"pay","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"cd4878a1ea26f03df0d80fffeb857cd494e6592b0a17f13ca2bf898c70eea987","step_type":"tool_call","target":"pay"}','2026-12-01T14:38:56.512621Z',X'C85DCA2DB6F42E009F2A580777B60A3A9693316D69B789209EFFF45B6CC56256');
INSERT INTO "events" VALUES(29,'01a2320b-61e2-743a-955e-0cede6c0becd',4,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"cd4878a1ea26f03df0d80fffeb857cd494e6592b0a17f13ca2bf898c70eea987","step_type":"tool_call","target":"pay"}','2026-12-01T14:38:56.518712Z',X'5B316E508254F4C2A961CA3D6B25C2E142A5FEAED16607B3C051DD32233802B9');
INSERT INTO "events" VALUES(30,'01a2320b-61e2-743a-955e-0cede6c0becd',5,'step.executing','{"args_hash":"363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"01ac9e17ee44e5f2fb7d893db60ec54cb0f79794ccdd049b7712dfde71b0b3f9","step_type":"tool_call","target":"look"}','2026-12-01T14:38:56.524176Z',X'F11266C2836D128AEE0ED40E87C7FA38D6CDC75A1C6C68EC98FDB6D78B57BA0B');
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
INSERT INTO "executions" VALUES(1,'01a2320b-3e26-72c4-9ca8-fb4bf31df73b','ends','ends','completed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,7,X'220B4762AD71AFEA0515F28C877C98C6904D1A0178BCEE85AE8721F11755EC58',1.79613592733799910545e+09,1.79613592738903188709e+09,0.0,0,'',0,1.79613592738903188709e+09,0,'','','','','','',0);
INSERT INTO "executions" VALUES(2,'01a2320b-47df-7405-a052-b974209d1de2','fails','fails','failed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','agent_error: ValueError: look 1 done',1,NULL,NULL,NULL,0.0,5,X'871AB2D9A57B4D1C053C0C224A5F2734829EDD8CDE59F25BE317EBA9ABB4BFFC',1.79613592982781291014e+09,1.79613592984065389632e+09,0.0,0,'',0,1.79613592984065389632e+09,0,'','','','','','',0);
INSERT INTO "executions" VALUES(3,'01a2320b-4cf5-7120-a371-175e06078a1e','asks','asks','blocked','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,8,X'A1A0A21B86A1B678BE23EFFB6DC8110DE2DB3B297D45A256EB4C48B0613B8D3E',1.79613593112989401818e+09,1.79613593113707089429e+09,0.0,0,'',0,0.0,0,'','','','','','',0);
INSERT INTO "executions" VALUES(4,'01a2320b-571a-77da-9e2b-4abc83333c86','pays','pays','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'caacb8400879409693dc5435e09d78fa','elsewhere/00000000',21632,1.79613596372240638728e+09,5,X'99CB36618C638C9CBC9FB23564AA892778D665BD8A9B2D2F666481AE9AC59020',1.79613593372591900821e+09,1.79613593375877189642e+09,0.0,0,'',0,0.0,0,'','','','','','',0);
INSERT INTO "executions" VALUES(5,'01a2320b-61e2-743a-955e-0cede6c0becd','reads','reads','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'3f286dbbc4874c75826c914e48502cb1','elsewhere/00000000',21875,1.79613596648281359678e+09,5,X'F11266C2836D128AEE0ED40E87C7FA38D6CDC75A1C6C68EC98FDB6D78B57BA0B',1.79613593648383307451e+09,1.79613593652417588238e+09,0.0,0,'',0,0.0,0,'','','','','','',0);
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
INSERT INTO "log_mark" VALUES(1,X'72626E6F2D6C6F6723AB00C495A013093DBECFCA9A79AEE80000005000000000000C635900000000000C643218ED281CEFA765E8006E4F4338');
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
INSERT INTO "steps" VALUES(1,'41d4a4b876ef9518864121ce6a324bca4cadf64cdd154d8ca44bb65640ebacc2','01a2320b-3e26-72c4-9ca8-fb4bf31df73b','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1796135927.35515,1796135927.35515,1.79613592735812711712e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(2,'8559ff94ff0b557fe4000713b51a3115bb6a7cc6db3170859bf93185e6fcd4db','01a2320b-3e26-72c4-9ca8-fb4bf31df73b','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',5,5,6,1.79613592735812711712e+09,1.79613592735812711712e+09,1.79613592736205911638e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(3,'f830dd2d7e5fa107f2ae794125289717286b6e43e3fa50376e884269cd7bd04e','01a2320b-47df-7405-a052-b974209d1de2','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1796135929.83716,1796135929.83716,1.79613592984065389632e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(4,'582a1ae7992fef5142de70820bd712c396a305c515b247739c26ca7ee34728a9','01a2320b-4cf5-7120-a371-175e06078a1e','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79613593113249111173e+09,1.79613593113249111173e+09,1.79613593113524603848e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(5,'0e677492c262036628a65f7bbcff9213e8567314f45a7411f579a505f49267c4','01a2320b-4cf5-7120-a371-175e06078a1e','','tool_call','send','{"to":"böb"}','02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5',0,'at_most_once','awaiting_approval','require_approval','send','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','somebody must look',0,NULL,NULL,'01a2320b-4cfe-7776-8705-14bfee63d81e',5,0,0,1.79613593113524603848e+09,0.0,0.0,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(6,'a4861a9ccb18012d8bf28a5c6a348bd54cc2209ea6e62e68d3fa5240488b8791','01a2320b-571a-77da-9e2b-4abc83333c86','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.7961359337437191009e+09,1.7961359337437191009e+09,1.79613593375877189642e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(7,'7804db965e6eb6deb79ccc4fa8150aa4636122460ebd0d8dc0f74412bd2fabd1','01a2320b-571a-77da-9e2b-4abc83333c86','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','executing','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1.79613593375877189642e+09,1.79613593375877189642e+09,0.0,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(8,'cd4878a1ea26f03df0d80fffeb857cd494e6592b0a17f13ca2bf898c70eea987','01a2320b-61e2-743a-955e-0cede6c0becd','','tool_call','pay','{"amount":1.5}','9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',3,3,4,1.79613593651262092587e+09,1.79613593651262092587e+09,1.7961359365187120438e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(9,'01ac9e17ee44e5f2fb7d893db60ec54cb0f79794ccdd049b7712dfde71b0b3f9','01a2320b-61e2-743a-955e-0cede6c0becd','','tool_call','look','{"n":2}','363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8',0,'safe_to_retry','executing','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1.79613593652417588238e+09,1.79613593652417588238e+09,0.0,NULL,NULL,0,0);
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
PRAGMA user_version=7;
