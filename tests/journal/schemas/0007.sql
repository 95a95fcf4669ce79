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
INSERT INTO "approvals" VALUES(1,'01a2320a-7d16-707b-a049-41eb2f7915c3','01a2320a-7d0f-700f-b46f-575ca113d1c7','280d9ef02b6e1b35bbf3a5ef3641a0c62fed07284b69a13ab84275d17e7b029b','policy','pending','','send','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','once','','',1.79613587791085910802e+09,0.0,7,0,'upgrade','[]',1,'[]',0.0,'');
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
INSERT INTO "events" VALUES(1,'01a2320a-7836-715a-8253-0a4e55dc2585',1,'execution.created','{"agent_id":"ends","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"ends"}','2026-12-01T14:37:56.662841Z',X'4AEA7D65C414A703111829DA70B616928F454161E32C83E2CE9AF286C9AAB906');
INSERT INTO "events" VALUES(2,'01a2320a-7836-715a-8253-0a4e55dc2585',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":18248}','2026-12-01T14:37:56.662841Z',X'9C1ED24C3C6D5BDF7E1E32C8D2E83D3C81B1DA98AA41B1F32B7FC2E0FC302178');
INSERT INTO "events" VALUES(3,'01a2320a-7836-715a-8253-0a4e55dc2585',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"98ceed40a0342de77ea9bc8432fb4593452efab7ea21da4aacc7fcb91a821ff9","step_type":"tool_call","target":"look"}','2026-12-01T14:37:56.665618Z',X'56F2334C88AA5558B9C1F227EA13AAAAEB7180FE5A95DB5A7738AF8E268F8914');
INSERT INTO "events" VALUES(4,'01a2320a-7836-715a-8253-0a4e55dc2585',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"98ceed40a0342de77ea9bc8432fb4593452efab7ea21da4aacc7fcb91a821ff9","step_type":"tool_call","target":"look"}','2026-12-01T14:37:56.667500Z',X'22AD65C0C861A93A2F267B7C0268CB8666F26D597AF7835C9EBB0A68B0011D42');
INSERT INTO "events" VALUES(5,'01a2320a-7836-715a-8253-0a4e55dc2585',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","definition":{"digest":"a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b","name":"pay","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"f5e5f07142017454b5b991cae92d61327a3ff950f1c078b2f5836ea7e914c824","step_type":"tool_call","target":"pay"}','2026-12-01T14:37:56.667500Z',X'BC4B34363E14A617D3F4E295B83DAE5FB2B280CDD94D5D2999159305262102FB');
INSERT INTO "events" VALUES(6,'01a2320a-7836-715a-8253-0a4e55dc2585',6,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"f5e5f07142017454b5b991cae92d61327a3ff950f1c078b2f5836ea7e914c824","step_type":"tool_call","target":"pay"}','2026-12-01T14:37:56.668063Z',X'8F62509FFE7908B6C22153B9D5F394BEF6FAE90A9416DEF49EB74EE6571BAFA6');
INSERT INTO "events" VALUES(7,'01a2320a-7836-715a-8253-0a4e55dc2585',7,'execution.completed','{"attempt":1,"output_hash":"0b7e3760a72454291280c43ba895191b50a5d861eef27b1f48b5597159cff63a","replayed":0}','2026-12-01T14:37:56.668803Z',X'90AE66B4B5DEB36059233FF1AD510AC90445D881F30B28CB043DE00C89A26DBB');
INSERT INTO "events" VALUES(8,'01a2320a-7b0a-7322-b241-085080a2a680',1,'execution.created','{"agent_id":"fails","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"fails"}','2026-12-01T14:37:57.387406Z',X'530F20B0E18CD3482195590FE073AA5EC57575AC49C948251702A35AE39CE2B8');
INSERT INTO "events" VALUES(9,'01a2320a-7b0a-7322-b241-085080a2a680',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":18371}','2026-12-01T14:37:57.387406Z',X'D9F77A237DD782DD929FF8E6EBE2D8573D52DC56D7F5E7CFEAFB26CF374DB6FF');
INSERT INTO "events" VALUES(10,'01a2320a-7b0a-7322-b241-085080a2a680',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"48a7e0aea294c9657523051425c2b1673ae1e754328fc19e7ce9d884f890f326","step_type":"tool_call","target":"look"}','2026-12-01T14:37:57.391818Z',X'22DE8D267930791EFF49349BDAA9B1887E7E2595F96A47FDA96466F5F72F8A0E');
INSERT INTO "events" VALUES(11,'01a2320a-7b0a-7322-b241-085080a2a680',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"48a7e0aea294c9657523051425c2b1673ae1e754328fc19e7ce9d884f890f326","step_type":"tool_call","target":"look"}','2026-12-01T14:37:57.393435Z',X'F0647888EFF176F0481EC297EE1777E01C758C923E210B4D23447782FFDF51EE');
INSERT INTO "events" VALUES(12,'01a2320a-7b0a-7322-b241-085080a2a680',5,'execution.failed','{"attempt":1,"raised":{"file":"/tmp/old7/tests/journal/old_runs.py","function":"fails","line":69,"message":"look 1 done","traceback":[{"file":"/tmp/old7/tests/journal/old_runs.py","function":"fails","line":69,"source":"raise ValueError(await look(1))"}],"type":"ValueError"},"reason":"agent_error: ValueError: look 1 done","replayed":0}','2026-12-01T14:37:57.393435Z',X'0A964317A6781BB358A98FECB3280A0CFA875A0704796268827064AE5E795795');
INSERT INTO "events" VALUES(13,'01a2320a-7d0f-700f-b46f-575ca113d1c7',1,'execution.created','{"agent_id":"asks","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"asks"}','2026-12-01T14:37:57.903749Z',X'62C870EB7E6ECA216C8D5A9C044789CDCBD78209A02ED3B4C423103C8DD20E07');
INSERT INTO "events" VALUES(14,'01a2320a-7d0f-700f-b46f-575ca113d1c7',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":18418}','2026-12-01T14:37:57.903749Z',X'E7737459FC956E9329E426C97312703384F3F400E6E6E01311E7909FDC0FB9E1');
INSERT INTO "events" VALUES(15,'01a2320a-7d0f-700f-b46f-575ca113d1c7',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"5695f0319b083e6d8db61fbf2d1d6e2e07e0026797a3c49ee1c42cdba9d545bc","step_type":"tool_call","target":"look"}','2026-12-01T14:37:57.905727Z',X'AD32DA02C5404E52C1D2B558FE7EAE24BCB5AD0D36E2AB18CBE12D6D01115D4D');
INSERT INTO "events" VALUES(16,'01a2320a-7d0f-700f-b46f-575ca113d1c7',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"5695f0319b083e6d8db61fbf2d1d6e2e07e0026797a3c49ee1c42cdba9d545bc","step_type":"tool_call","target":"look"}','2026-12-01T14:37:57.909931Z',X'BF514621943AAB4E90A6F9599ECDD49935F14CA6B3C367C4ABFE8A95F653F343');
INSERT INTO "events" VALUES(17,'01a2320a-7d0f-700f-b46f-575ca113d1c7',5,'step.proposed','{"args_hash":"02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5","definition":{"digest":"4375aa8a41384975538f24db9c4cd3a53bfe94298252efb6dba426dd62e8ff1b","name":"send","server":""},"idempotency":"at_most_once","occurrence":0,"step_id":"280d9ef02b6e1b35bbf3a5ef3641a0c62fed07284b69a13ab84275d17e7b029b","step_type":"tool_call","target":"send"}','2026-12-01T14:37:57.910859Z',X'E75F3014CF3461CEE3CEA9A16E4DD9C3D1EEDE703F8C7917569395DADD128B4A');
INSERT INTO "events" VALUES(18,'01a2320a-7d0f-700f-b46f-575ca113d1c7',6,'step.awaiting_approval','{"approval_id":"01a2320a-7d16-707b-a049-41eb2f7915c3","bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","reason":"somebody must look","rule_id":"send","step_id":"280d9ef02b6e1b35bbf3a5ef3641a0c62fed07284b69a13ab84275d17e7b029b","step_type":"tool_call","target":"send"}','2026-12-01T14:37:57.910859Z',X'49EB01A4344A0DC584A584F82578F025E3AC6DD530C3558F8521B12C97F1748D');
INSERT INTO "events" VALUES(19,'01a2320a-7d0f-700f-b46f-575ca113d1c7',7,'approval.requested','{"approval_id":"01a2320a-7d16-707b-a049-41eb2f7915c3","cause":"policy","message":"","quorum":1,"step_id":"280d9ef02b6e1b35bbf3a5ef3641a0c62fed07284b69a13ab84275d17e7b029b"}','2026-12-01T14:37:57.910859Z',X'9233B465C314E3DF41B75773A9C5212B3172C3666A45F2270CB836833B83A489');
INSERT INTO "events" VALUES(20,'01a2320a-7d0f-700f-b46f-575ca113d1c7',8,'execution.blocked','{"attempt":1,"reason":"awaiting_steps","replayed":0}','2026-12-01T14:37:57.917960Z',X'1CC8A9DDB2BB00822875FA1BCFE56D59DEC420E19A44E2BDCB5556F8EFA0A428');
INSERT INTO "events" VALUES(21,'01a2320a-841a-7114-a285-367b7e79186c',1,'execution.created','{"agent_id":"pays","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"pays"}','2026-12-01T14:37:59.710414Z',X'4B1A7B97421E295413421395F1393CEA27E249667BF01486ACF256ED8C5E97ED');
INSERT INTO "events" VALUES(22,'01a2320a-841a-7114-a285-367b7e79186c',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":18432}','2026-12-01T14:37:59.710414Z',X'661B4F35C55A2381231F39C280D8F0FC6D7AD88E5211B5068F466E6EF09056B4');
INSERT INTO "events" VALUES(23,'01a2320a-841a-7114-a285-367b7e79186c',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"4fc9d7cfc9722b1dce254af68208ed98bd824b5ce34b1f30630e4bfd3d38bbc0","step_type":"tool_call","target":"look"}','2026-12-01T14:37:59.764256Z',X'31A7794FF0D554D2570B2EB89698C4DDC1EC98D8BFBA270A9EAC325747ECBE0E');
INSERT INTO "events" VALUES(24,'01a2320a-841a-7114-a285-367b7e79186c',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"4fc9d7cfc9722b1dce254af68208ed98bd824b5ce34b1f30630e4bfd3d38bbc0","step_type":"tool_call","target":"look"}','2026-12-01T14:37:59.775024Z',X'91510216C3375239ED1D8FE361668B0AAF2C41D6C833B8790300946A9F353A0B');
INSERT INTO "events" VALUES(25,'01a2320a-841a-7114-a285-367b7e79186c',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","definition":{"digest":"a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b","name":"pay","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"a9fd3119a9c2dde96898614e70efd18365f7eaf0938411d9b2d9ee525bcf67db","step_type":"tool_call","target":"pay"}','2026-12-01T14:37:59.775024Z',X'C19752A177E7EF3B4B3FCE1165CF7BAAB1645DA6E986826D03D8A9A8C91A5119');
INSERT INTO "events" VALUES(26,'01a2320a-8a59-75e5-868e-ce53a3d71c58',1,'execution.created','{"agent_id":"reads","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"reads"}','2026-12-01T14:38:01.310256Z',X'8559FD9AED82B6BCF7070447F3DFE558C6A506D86FFE08C555A8A7F9FC431806');
INSERT INTO "events" VALUES(27,'01a2320a-8a59-75e5-868e-ce53a3d71c58',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":18473}','2026-12-01T14:38:01.310256Z',X'AB73BB143E41B40583C394ED510D5A3579E400079C350E2119AC3DC2B6FB958C');
INSERT INTO "events" VALUES(28,'01a2320a-8a59-75e5-868e-ce53a3d71c58',3,'step.executing','{"args_hash":"9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301","attempt":1,"bundle":"upgrade","definition":{"digest":"a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b","name":"pay","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"d5bdc4d8d179bb1d7fe200fc2d808239dfc52f630f0bb1af7a2332c10d6ad25c","step_type":"tool_call","target":"pay"}','2026-12-01T14:38:01.320503Z',X'1A32E6DE3DE0CC7317C33B949F7FA97A3EC7A69944FE05C93AFB740BD64537C7');
INSERT INTO "events" VALUES(29,'01a2320a-8a59-75e5-868e-ce53a3d71c58',4,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"d5bdc4d8d179bb1d7fe200fc2d808239dfc52f630f0bb1af7a2332c10d6ad25c","step_type":"tool_call","target":"pay"}','2026-12-01T14:38:01.334399Z',X'9BD63991646992196573F2389C380343EEDAB41187A36F3169754797AE25F87E');
INSERT INTO "events" VALUES(30,'01a2320a-8a59-75e5-868e-ce53a3d71c58',5,'step.executing','{"args_hash":"363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"695093fade49f344565965b6399715173cbf0b84633163721ef33a8efd373124","step_type":"tool_call","target":"look"}','2026-12-01T14:38:01.339803Z',X'BA09C3942F942F5EB52690066DAB12D058F96079979D4CC73A03592DCB5A100B');
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
INSERT INTO "executions" VALUES(1,'01a2320a-7836-715a-8253-0a4e55dc2585','ends','ends','completed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,7,X'90AE66B4B5DEB36059233FF1AD510AC90445D881F30B28CB043DE00C89A26DBB',1.79613587666284108164e+09,1.79613587666880297659e+09,0.0,0,'',0,1.79613587666880297659e+09,0,'','','','','','',0);
INSERT INTO "executions" VALUES(2,'01a2320a-7b0a-7322-b241-085080a2a680','fails','fails','failed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','agent_error: ValueError: look 1 done',1,NULL,NULL,NULL,0.0,5,X'0A964317A6781BB358A98FECB3280A0CFA875A0704796268827064AE5E795795',1.79613587738740611071e+09,1.79613587739343500142e+09,0.0,0,'',0,1.79613587739343500142e+09,0,'','','','','','',0);
INSERT INTO "executions" VALUES(3,'01a2320a-7d0f-700f-b46f-575ca113d1c7','asks','asks','blocked','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,8,X'1CC8A9DDB2BB00822875FA1BCFE56D59DEC420E19A44E2BDCB5556F8EFA0A428',1.7961358779037489891e+09,1796135877.91796,0.0,0,'',0,0.0,0,'','','','','','',0);
INSERT INTO "executions" VALUES(4,'01a2320a-841a-7114-a285-367b7e79186c','pays','pays','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'011218203d424fe3b858c2d094ad8ce5','elsewhere/00000000',18432,1.79613590970688962941e+09,5,X'C19752A177E7EF3B4B3FCE1165CF7BAAB1645DA6E986826D03D8A9A8C91A5119',1.79613587971041393284e+09,1.79613587977502393725e+09,0.0,0,'',0,0.0,0,'','','','','','',0);
INSERT INTO "executions" VALUES(5,'01a2320a-8a59-75e5-868e-ce53a3d71c58','reads','reads','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'fb72ab59f1ab49c3928ab2f3542247ef','elsewhere/00000000',18473,1.79613591130552792546e+09,5,X'BA09C3942F942F5EB52690066DAB12D058F96079979D4CC73A03592DCB5A100B',1.79613588131025600437e+09,1.79613588133980298048e+09,0.0,0,'',0,0.0,0,'','','','','','',0);
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
INSERT INTO "log_mark" VALUES(1,X'72626E6F2D6C6F67ECC1B72173959A50F38D2A98F769EE1000000050000000000098A9B1000000000098BF2618ED28108C72CA5F0050C11B3D');
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
INSERT INTO "steps" VALUES(1,'98ceed40a0342de77ea9bc8432fb4593452efab7ea21da4aacc7fcb91a821ff9','01a2320a-7836-715a-8253-0a4e55dc2585','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79613587666561794285e+09,1.79613587666561794285e+09,1796135876.6675,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(2,'f5e5f07142017454b5b991cae92d61327a3ff950f1c078b2f5836ea7e914c824','01a2320a-7836-715a-8253-0a4e55dc2585','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',5,5,6,1796135876.6675,1796135876.6675,1.79613587666806292534e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(3,'48a7e0aea294c9657523051425c2b1673ae1e754328fc19e7ce9d884f890f326','01a2320a-7b0a-7322-b241-085080a2a680','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79613587739181804659e+09,1.79613587739181804659e+09,1.79613587739343500142e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(4,'5695f0319b083e6d8db61fbf2d1d6e2e07e0026797a3c49ee1c42cdba9d545bc','01a2320a-7d0f-700f-b46f-575ca113d1c7','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79613587790572690966e+09,1.79613587790572690966e+09,1.79613587790993094444e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(5,'280d9ef02b6e1b35bbf3a5ef3641a0c62fed07284b69a13ab84275d17e7b029b','01a2320a-7d0f-700f-b46f-575ca113d1c7','','tool_call','send','{"to":"böb"}','02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5',0,'at_most_once','awaiting_approval','require_approval','send','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','somebody must look',0,NULL,NULL,'01a2320a-7d16-707b-a049-41eb2f7915c3',5,0,0,1.79613587791085910802e+09,0.0,0.0,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(6,'4fc9d7cfc9722b1dce254af68208ed98bd824b5ce34b1f30630e4bfd3d38bbc0','01a2320a-841a-7114-a285-367b7e79186c','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79613587976425600045e+09,1.79613587976425600045e+09,1.79613587977502393725e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(7,'a9fd3119a9c2dde96898614e70efd18365f7eaf0938411d9b2d9ee525bcf67db','01a2320a-841a-7114-a285-367b7e79186c','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','executing','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1.79613587977502393725e+09,1.79613587977502393725e+09,0.0,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(8,'d5bdc4d8d179bb1d7fe200fc2d808239dfc52f630f0bb1af7a2332c10d6ad25c','01a2320a-8a59-75e5-868e-ce53a3d71c58','','tool_call','pay','{"amount":1.5}','9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',3,3,4,1.79613588132050299643e+09,1.79613588132050299643e+09,1.79613588133439898496e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(9,'695093fade49f344565965b6399715173cbf0b84633163721ef33a8efd373124','01a2320a-8a59-75e5-868e-ce53a3d71c58','','tool_call','look','{"n":2}','363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8',0,'safe_to_retry','executing','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1.79613588133980298048e+09,1.79613588133980298048e+09,0.0,NULL,NULL,0,0);
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
