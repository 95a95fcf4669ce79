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
INSERT INTO "approvals" VALUES(1,'01a23222-1546-76d0-b3c1-43456687e42d','01a23222-1525-7011-b835-3e47aaca6dfb','aa6288b0ae5de321fd915a647605fb4945031430d0daa019557dfa7ab63b1289','policy','pending','','send','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','once','','',1.79613742434196400638e+09,0.0,7,0,'upgrade','[]',1,'[]',0.0,'');
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
INSERT INTO "events" VALUES(1,'01a23221-f5ce-7511-83a9-699f497f48ff',1,'execution.created','{"agent_id":"ends","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"ends"}','2026-12-01T15:03:36.143919Z',X'FB84D6BBCB7B03A999645A59A5E7989BA5F8B8158F91AF927F5CEE8C25B983B5');
INSERT INTO "events" VALUES(2,'01a23221-f5ce-7511-83a9-699f497f48ff',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":30699}','2026-12-01T15:03:36.143919Z',X'F3DA7DBF6421571B41181AF488008931DF60430997F880EF3CA21953D569CBF4');
INSERT INTO "events" VALUES(3,'01a23221-f5ce-7511-83a9-699f497f48ff',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"80f00c1733f2cd1d6104739bfd0456f51c10f4020be62497ab2bf7cd6aa84456","step_type":"tool_call","target":"look"}','2026-12-01T15:03:36.154639Z',X'A473D7F4149277B44783AE3ED6D2AB31E77B604FA3B32CDD3EEDEFE19F69CC77');
INSERT INTO "events" VALUES(4,'01a23221-f5ce-7511-83a9-699f497f48ff',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"80f00c1733f2cd1d6104739bfd0456f51c10f4020be62497ab2bf7cd6aa84456","step_type":"tool_call","target":"look"}','2026-12-01T15:03:36.155859Z',X'AC00696C4DB6EDF9F3BBED674AB465B278C1F1286458620D7597CE0F4E553827');
INSERT INTO "events" VALUES(5,'01a23221-f5ce-7511-83a9-699f497f48ff',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","definition":{"digest":"a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b","name":"pay","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"f13f6a7775a1bc33158764f243c343531928323324b96d450a3253bae08093d9","step_type":"tool_call","target":"pay"}','2026-12-01T15:03:36.155859Z',X'F15E596F1F8D77F64C3760DE4299D8F883D8921B7EEC6AAE78F9C1A963296172');
INSERT INTO "events" VALUES(6,'01a23221-f5ce-7511-83a9-699f497f48ff',6,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"f13f6a7775a1bc33158764f243c343531928323324b96d450a3253bae08093d9","step_type":"tool_call","target":"pay"}','2026-12-01T15:03:36.156315Z',X'AB35E1D3C1C25539C6DC795796B1023A8813EC666308027F56C4F903E7A3635D');
INSERT INTO "events" VALUES(7,'01a23221-f5ce-7511-83a9-699f497f48ff',7,'execution.completed','{"attempt":1,"output_hash":"0b7e3760a72454291280c43ba895191b50a5d861eef27b1f48b5597159cff63a","replayed":0}','2026-12-01T15:03:36.156964Z',X'BD99BCC57E48E62DC7D127207347FA412DEC5B397405D08A84712D1D8569B3A0');
INSERT INTO "events" VALUES(8,'01a23222-083e-75f9-a52a-8227007fb58c',1,'execution.created','{"agent_id":"fails","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"fails"}','2026-12-01T15:03:40.863473Z',X'DD88BEE0A83B2CE1310EB44F9EE37E22D2BCF3B40F6A8E32729A9D8D480A9DDD');
INSERT INTO "events" VALUES(9,'01a23222-083e-75f9-a52a-8227007fb58c',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":31321}','2026-12-01T15:03:40.863473Z',X'FF9855CBB3EA09B65963F82189FFFB078E466EEBA28E532E2ADB43E00FF3A09C');
INSERT INTO "events" VALUES(10,'01a23222-083e-75f9-a52a-8227007fb58c',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"7b6bf1c229f6a1ec0e51665c0686a2526ff3e4f95c5f3ee308a9ab17b36c1009","step_type":"tool_call","target":"look"}','2026-12-01T15:03:40.895178Z',X'DB6A9B4EDAC07F31B047C8D6E43FCBC72318C439EB97AF7AA67D5C74E7FDD633');
INSERT INTO "events" VALUES(11,'01a23222-083e-75f9-a52a-8227007fb58c',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"7b6bf1c229f6a1ec0e51665c0686a2526ff3e4f95c5f3ee308a9ab17b36c1009","step_type":"tool_call","target":"look"}','2026-12-01T15:03:40.906009Z',X'647B3BF9396FBE80DA865430A0522FA0CB31DD928BD34D76EE977289151A694C');
INSERT INTO "events" VALUES(12,'01a23222-083e-75f9-a52a-8227007fb58c',5,'execution.failed','{"attempt":1,"raised":{"file":"/srv/rebuno/tests/journal/old_runs.py","function":"fails","line":69,"message":"look 1 done","traceback":[{"file":"/srv/rebuno/tests/journal/old_runs.py","function":"fails","line":69,"source":"raise ValueError(await look(1))"}],"type":"ValueError"},"reason":"agent_error: ValueError: look 1 done","replayed":0}','2026-12-01T15:03:40.906009Z',X'A3659C330C44E4FCEF682DAC92350F2C99CECB7C11911D99A0BF01D2432B3CD1');
INSERT INTO "events" VALUES(13,'01a23222-1525-7011-b835-3e47aaca6dfb',1,'execution.created','{"agent_id":"asks","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"asks"}','2026-12-01T15:03:44.169024Z',X'817B7002A4E127B49E7C13AD982DA35F0ECCDB41730007EBB0385A0698E72054');
INSERT INTO "events" VALUES(14,'01a23222-1525-7011-b835-3e47aaca6dfb',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":31658}','2026-12-01T15:03:44.169024Z',X'70357B70A73465BB130535BD4DB90C2FA9E17786E6AC032D846A6F6DE54D82D2');
INSERT INTO "events" VALUES(15,'01a23222-1525-7011-b835-3e47aaca6dfb',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"1db27fd73322ba49a3d45bce3a5d7df2bde5125a1562a96100937adb0e5bf11c","step_type":"tool_call","target":"look"}','2026-12-01T15:03:44.183441Z',X'865CD8F18BCE0068C0443700683AE649739E73A43D45BE5B1A9F88B6AB12323B');
INSERT INTO "events" VALUES(16,'01a23222-1525-7011-b835-3e47aaca6dfb',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"1db27fd73322ba49a3d45bce3a5d7df2bde5125a1562a96100937adb0e5bf11c","step_type":"tool_call","target":"look"}','2026-12-01T15:03:44.193330Z',X'452A031406BDF2FCF512551BAD7AFB8CB6F831F66555F075DEB0E3D34E7D15F6');
INSERT INTO "events" VALUES(17,'01a23222-1525-7011-b835-3e47aaca6dfb',5,'step.proposed','{"args_hash":"02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5","definition":{"digest":"4375aa8a41384975538f24db9c4cd3a53bfe94298252efb6dba426dd62e8ff1b","name":"send","server":""},"idempotency":"at_most_once","occurrence":0,"step_id":"aa6288b0ae5de321fd915a647605fb4945031430d0daa019557dfa7ab63b1289","step_type":"tool_call","target":"send"}','2026-12-01T15:03:44.341964Z',X'293800B39F2DAC62AF1F1A18A6653B82476023CABB4636D8B9CCDC21C5E83005');
INSERT INTO "events" VALUES(18,'01a23222-1525-7011-b835-3e47aaca6dfb',6,'step.awaiting_approval','{"approval_id":"01a23222-1546-76d0-b3c1-43456687e42d","bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","reason":"somebody must look","rule_id":"send","step_id":"aa6288b0ae5de321fd915a647605fb4945031430d0daa019557dfa7ab63b1289","step_type":"tool_call","target":"send"}','2026-12-01T15:03:44.341964Z',X'5AB8B8E2F59039BE4254644A2707B7BCDA21033E086087C201E7DFEB22045795');
INSERT INTO "events" VALUES(19,'01a23222-1525-7011-b835-3e47aaca6dfb',7,'approval.requested','{"approval_id":"01a23222-1546-76d0-b3c1-43456687e42d","cause":"policy","message":"","quorum":1,"step_id":"aa6288b0ae5de321fd915a647605fb4945031430d0daa019557dfa7ab63b1289"}','2026-12-01T15:03:44.341964Z',X'0E3A5918B253E3839188440A1C1A34FA930E243CBADEC2ACB41AD2FF156758A2');
INSERT INTO "events" VALUES(20,'01a23222-1525-7011-b835-3e47aaca6dfb',8,'execution.blocked','{"attempt":1,"reason":"awaiting_steps","replayed":0}','2026-12-01T15:03:44.361132Z',X'A0CBCEF9C74C925B569BAF2957F37AB44435B10DAF722D1C95D8F4F2E458142C');
INSERT INTO "events" VALUES(21,'01a23222-2472-7276-bccc-fd192cd8b312',1,'execution.created','{"agent_id":"pays","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"pays"}','2026-12-01T15:03:48.083521Z',X'CB99906FB5F0D6014F7B1F652A8B75DCA2A3A506219C2CA7F57FB9DE158E9A58');
INSERT INTO "events" VALUES(22,'01a23222-2472-7276-bccc-fd192cd8b312',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":31895}','2026-12-01T15:03:48.083521Z',X'318656278545F07797638E5AF4D37B262A66548C10B965FE101F4EDBD0E12F65');
INSERT INTO "events" VALUES(23,'01a23222-2472-7276-bccc-fd192cd8b312',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"313b2752b0d1a8fe810de001106c59eb1a990735d554ac35ab2ec97f22761dc5","step_type":"tool_call","target":"look"}','2026-12-01T15:03:48.111527Z',X'ECF47F632B789C4B3EC2FCCC7D1782B42F861327440E361B58F8307073021FE0');
INSERT INTO "events" VALUES(24,'01a23222-2472-7276-bccc-fd192cd8b312',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"313b2752b0d1a8fe810de001106c59eb1a990735d554ac35ab2ec97f22761dc5","step_type":"tool_call","target":"look"}','2026-12-01T15:03:48.118612Z',X'38024C673FAE103275C8D61C9EE7C33693D55C5354AD2F98AEBC1BCB26674C47');
INSERT INTO "events" VALUES(25,'01a23222-2472-7276-bccc-fd192cd8b312',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","definition":{"digest":"a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b","name":"pay","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"2cba11de489bd9f6ef4f306869b9f5a9da3232418d9927fb17c9d5b90df1bda9","step_type":"tool_call","target":"pay"}','2026-12-01T15:03:48.118612Z',X'D27599FE8707D349F56791CA6187E02BE867151F0FF2E777A23FEDDCF7FD026F');
INSERT INTO "events" VALUES(26,'01a23222-3280-724a-b9ac-9d416478e3b6',1,'execution.created','{"agent_id":"reads","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"reads"}','2026-12-01T15:03:51.680834Z',X'7670A6FE1F9FC67FC44D9CB4CA0679C4D4F195AB691F2054D06808723355F41D');
INSERT INTO "events" VALUES(27,'01a23222-3280-724a-b9ac-9d416478e3b6',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":32121}','2026-12-01T15:03:51.680834Z',X'491E1D43002F1EF0B964EBCC1371DE47E2D082F1D951BD57B37C222364801DA2');
INSERT INTO "events" VALUES(28,'01a23222-3280-724a-b9ac-9d416478e3b6',3,'step.executing','{"args_hash":"9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301","attempt":1,"bundle":"upgrade","definition":{"digest":"a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b","name":"pay","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"e5fd540300cb550311e303f700396cf91e688743c530fe06fa31166e98818c3b","step_type":"tool_call","target":"pay"}','2026-12-01T15:03:51.702704Z',X'A7E1D1BA99202B89A39A490FF700A185D2D64D0E5F8EA312EA378B57A0580E34');
INSERT INTO "events" VALUES(29,'01a23222-3280-724a-b9ac-9d416478e3b6',4,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"e5fd540300cb550311e303f700396cf91e688743c530fe06fa31166e98818c3b","step_type":"tool_call","target":"pay"}','2026-12-01T15:03:51.710301Z',X'85EC4204D8FF73E2F85606A4D3C56500F33A4205EB92751FA9D2AE50CF0CD853');
INSERT INTO "events" VALUES(30,'01a23222-3280-724a-b9ac-9d416478e3b6',5,'step.executing','{"args_hash":"363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"dfe59508e045bcab323b1b5b6116e6e3cd219aff69ad611b470d3eb37065483b","step_type":"tool_call","target":"look"}','2026-12-01T15:03:51.711032Z',X'C92F6F159C029E98D35B511A3A6563E5857E49562DE0E4ECE92E189DAE2ACD8D');
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
INSERT INTO "executions" VALUES(1,'01a23221-f5ce-7511-83a9-699f497f48ff','ends','ends','completed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,7,X'BD99BCC57E48E62DC7D127207347FA412DEC5B397405D08A84712D1D8569B3A0',1.79613741614391899106e+09,1.79613741615696406359e+09,0.0,0,'',0,1.79613741615696406359e+09,0,'','','','','','',0);
INSERT INTO "executions" VALUES(2,'01a23222-083e-75f9-a52a-8227007fb58c','fails','fails','failed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','agent_error: ValueError: look 1 done',1,NULL,NULL,NULL,0.0,5,X'A3659C330C44E4FCEF682DAC92350F2C99CECB7C11911D99A0BF01D2432B3CD1',1.79613742086347293849e+09,1.79613742090600895877e+09,0.0,0,'',0,1.79613742090600895877e+09,0,'','','','','','',0);
INSERT INTO "executions" VALUES(3,'01a23222-1525-7011-b835-3e47aaca6dfb','asks','asks','blocked','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,8,X'A0CBCEF9C74C925B569BAF2957F37AB44435B10DAF722D1C95D8F4F2E458142C',1.79613742416902399069e+09,1.79613742436113190651e+09,0.0,0,'',0,0.0,0,'','','','','','',0);
INSERT INTO "executions" VALUES(4,'01a23222-2472-7276-bccc-fd192cd8b312','pays','pays','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'37da06fd85d74bf381bcd50ae800994d','elsewhere/00000000',31895,1.79613745808275961871e+09,5,X'D27599FE8707D349F56791CA6187E02BE867151F0FF2E777A23FEDDCF7FD026F',1.79613742808352088928e+09,1.79613742811861205102e+09,0.0,0,'',0,0.0,0,'','','','','','',0);
INSERT INTO "executions" VALUES(5,'01a23222-3280-724a-b9ac-9d416478e3b6','reads','reads','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'bc8a4d3d1f5249649ce2e696da6b5ab3','elsewhere/00000000',32121,1.79613746168001770973e+09,5,X'C92F6F159C029E98D35B511A3A6563E5857E49562DE0E4ECE92E189DAE2ACD8D',1.79613743168083405494e+09,1.79613743171103191383e+09,0.0,0,'',0,0.0,0,'','','','','','',0);
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
INSERT INTO "log_mark" VALUES(1,X'72626E6F2D6C6F676DCEAB6DD78D59AE0B833DA6171869000000005300000000009841C400000000009841DD18ED29789CE297E000443A7E8A');
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
INSERT INTO "steps" VALUES(1,'80f00c1733f2cd1d6104739bfd0456f51c10f4020be62497ab2bf7cd6aa84456','01a23221-f5ce-7511-83a9-699f497f48ff','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79613741615463900569e+09,1.79613741615463900569e+09,1.79613741615585899356e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(2,'f13f6a7775a1bc33158764f243c343531928323324b96d450a3253bae08093d9','01a23221-f5ce-7511-83a9-699f497f48ff','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',5,5,6,1.79613741615585899356e+09,1.79613741615585899356e+09,1.79613741615631508823e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(3,'7b6bf1c229f6a1ec0e51665c0686a2526ff3e4f95c5f3ee308a9ab17b36c1009','01a23222-083e-75f9-a52a-8227007fb58c','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79613742089517807961e+09,1.79613742089517807961e+09,1.79613742090600895877e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(4,'1db27fd73322ba49a3d45bce3a5d7df2bde5125a1562a96100937adb0e5bf11c','01a23222-1525-7011-b835-3e47aaca6dfb','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.7961374241834409237e+09,1.7961374241834409237e+09,1796137424.19333,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(5,'aa6288b0ae5de321fd915a647605fb4945031430d0daa019557dfa7ab63b1289','01a23222-1525-7011-b835-3e47aaca6dfb','','tool_call','send','{"to":"böb"}','02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5',0,'at_most_once','awaiting_approval','require_approval','send','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','somebody must look',0,NULL,NULL,'01a23222-1546-76d0-b3c1-43456687e42d',5,0,0,1.79613742434196400638e+09,0.0,0.0,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(6,'313b2752b0d1a8fe810de001106c59eb1a990735d554ac35ab2ec97f22761dc5','01a23222-2472-7276-bccc-fd192cd8b312','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79613742811152696612e+09,1.79613742811152696612e+09,1.79613742811861205102e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(7,'2cba11de489bd9f6ef4f306869b9f5a9da3232418d9927fb17c9d5b90df1bda9','01a23222-2472-7276-bccc-fd192cd8b312','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','executing','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1.79613742811861205102e+09,1.79613742811861205102e+09,0.0,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(8,'e5fd540300cb550311e303f700396cf91e688743c530fe06fa31166e98818c3b','01a23222-3280-724a-b9ac-9d416478e3b6','','tool_call','pay','{"amount":1.5}','9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',3,3,4,1.79613743170270395276e+09,1.79613743170270395276e+09,1.79613743171030092234e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(9,'dfe59508e045bcab323b1b5b6116e6e3cd219aff69ad611b470d3eb37065483b','01a23222-3280-724a-b9ac-9d416478e3b6','','tool_call','look','{"n":2}','363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8',0,'safe_to_retry','executing','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1.79613743171103191383e+09,1.79613743171103191383e+09,0.0,NULL,NULL,0,0);
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
COMMIT;
PRAGMA application_id=1919053423;
PRAGMA user_version=8;
