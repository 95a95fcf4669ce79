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
INSERT INTO "approvals" VALUES(1,'01a23286-cdb4-7521-a413-ddbfaa6d48bc','01a23286-cdaf-718d-a57e-ff757293fe56','2bf86de5da140a1ecb4813613a44b8424e08583bc516fb0eb79787e121d6a942','policy','pending','','send','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','once','','',1.79614402501323795315e+09,0.0,7,0,'upgrade','[]',1,'[]',0.0,'','[]','','');
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
INSERT INTO "events" VALUES(1,'01a23286-c959-704f-8eaa-8ea05fa4d0f9',1,'execution.created','{"agent_id":"ends","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"ends"}','2026-12-01T16:53:43.897852Z',X'2CF2883790D2C359C9F3F346ECAB44BC73724D1341021C9779FEB516F6CB7769');
INSERT INTO "events" VALUES(2,'01a23286-c959-704f-8eaa-8ea05fa4d0f9',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":27124}','2026-12-01T16:53:43.897852Z',X'EFB084A77A426D682B170968DE4187E7024AB3B52B696AB2147799D16DF1CFEE');
INSERT INTO "events" VALUES(3,'01a23286-c959-704f-8eaa-8ea05fa4d0f9',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"df99fa9268854844bfa4d5bf9ab07fd9967cc9869d6bf64cfb4fd3cb91744afc","step_type":"tool_call","target":"look"}','2026-12-01T16:53:43.900358Z',X'703B2C69EBEED8F089B063403D13DAC4052F0C2955321F3E340A8D1351C2BB74');
INSERT INTO "events" VALUES(4,'01a23286-c959-704f-8eaa-8ea05fa4d0f9',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"df99fa9268854844bfa4d5bf9ab07fd9967cc9869d6bf64cfb4fd3cb91744afc","step_type":"tool_call","target":"look"}','2026-12-01T16:53:43.901521Z',X'61A70CFE1A91DE63F7833524FAA37A164A69BCA52564D6B5F9D46731BE164068');
INSERT INTO "events" VALUES(5,'01a23286-c959-704f-8eaa-8ea05fa4d0f9',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","definition":{"digest":"a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b","name":"pay","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"fea7ccb1b404c0d5c2bb4711e5a14f8726499490c146401e81318e8ca0be7678","step_type":"tool_call","target":"pay"}','2026-12-01T16:53:43.901521Z',X'1457D2FF44C2CF452E2262ABB9284E73A40F8C8C6A475A31FBA943351E4C50B2');
INSERT INTO "events" VALUES(6,'01a23286-c959-704f-8eaa-8ea05fa4d0f9',6,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"fea7ccb1b404c0d5c2bb4711e5a14f8726499490c146401e81318e8ca0be7678","step_type":"tool_call","target":"pay"}','2026-12-01T16:53:43.902006Z',X'49C86B1EDA5F72B038B616333ECEFE51332B38CC52ED60C959C9A245FADCBBB1');
INSERT INTO "events" VALUES(7,'01a23286-c959-704f-8eaa-8ea05fa4d0f9',7,'execution.completed','{"attempt":1,"output_hash":"0b7e3760a72454291280c43ba895191b50a5d861eef27b1f48b5597159cff63a","replayed":0}','2026-12-01T16:53:43.902739Z',X'215BC5E41E007159227CBEC6C46ABE1FB40D71AA10FF70A3566C38A1F76788AF');
INSERT INTO "events" VALUES(8,'01a23286-cb86-777f-9ebb-e99f51c4b9e0',1,'execution.created','{"agent_id":"fails","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"fails"}','2026-12-01T16:53:44.455200Z',X'C808A37174F6571BE0F3D4856F1A8C324EB5ACED48A5233854CF08CDFC3FE78D');
INSERT INTO "events" VALUES(9,'01a23286-cb86-777f-9ebb-e99f51c4b9e0',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":27128}','2026-12-01T16:53:44.455200Z',X'200D953A4546B930293A0A1B059F4F65CC10EB25AF197D76C86F9AE47E65BC4E');
INSERT INTO "events" VALUES(10,'01a23286-cb86-777f-9ebb-e99f51c4b9e0',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"01713e8b996e9459495cb83fe86cd7f36480a7cdc137d6e625e29a5d16e75c7a","step_type":"tool_call","target":"look"}','2026-12-01T16:53:44.457373Z',X'B2D152F1947A7EF569C146EB9DC12D7A056A3912AFE5CF0B8AD8C88CFB57F7FC');
INSERT INTO "events" VALUES(11,'01a23286-cb86-777f-9ebb-e99f51c4b9e0',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"01713e8b996e9459495cb83fe86cd7f36480a7cdc137d6e625e29a5d16e75c7a","step_type":"tool_call","target":"look"}','2026-12-01T16:53:44.459023Z',X'992DA9F2C691B8FB36C84DCA73CB63A97CE800303012B6C81CD871AFDB157926');
INSERT INTO "events" VALUES(12,'01a23286-cb86-777f-9ebb-e99f51c4b9e0',5,'execution.failed','{"attempt":1,"raised":{"file":"/tmp/rebuno/tests/journal/old_runs.py","function":"fails","line":69,"message":"look 1 done","traceback":[{"file":"/tmp/rebuno/tests/journal/old_runs.py","function":"fails","line":69,"source":"raise ValueError(await look(1))"}],"type":"ValueError"},"reason":"agent_error: ValueError: look 1 done","replayed":0}','2026-12-01T16:53:44.459023Z',X'3739A76307B4E9EAE6D7DE7B118E126B0E1BB00DA0555812DB1EE0A1ACB589C3');
INSERT INTO "events" VALUES(13,'01a23286-cdaf-718d-a57e-ff757293fe56',1,'execution.created','{"agent_id":"asks","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"asks"}','2026-12-01T16:53:45.008514Z',X'10B9ACCE1096ADF04493094C19E683FE20648F38E83ECCA7023DAC98547C8B16');
INSERT INTO "events" VALUES(14,'01a23286-cdaf-718d-a57e-ff757293fe56',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":27132}','2026-12-01T16:53:45.008514Z',X'9970CC9C118109B86F15E084DC363FA65A7198CD4E386782BC3E9147A7F09B92');
INSERT INTO "events" VALUES(15,'01a23286-cdaf-718d-a57e-ff757293fe56',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"38b08838e9b7feba2ea09793cdb994a9a0a9169c4e3893b3d127405af3d2ef98","step_type":"tool_call","target":"look"}','2026-12-01T16:53:45.011018Z',X'3928CCC96E92727997CE8672CF030224162D339A267C7A8D2351307CB7452D3B');
INSERT INTO "events" VALUES(16,'01a23286-cdaf-718d-a57e-ff757293fe56',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"38b08838e9b7feba2ea09793cdb994a9a0a9169c4e3893b3d127405af3d2ef98","step_type":"tool_call","target":"look"}','2026-12-01T16:53:45.012181Z',X'25E19EEFA3D98946055E8BDFD17BDCE50B38F355B5EBD9D98690623BD4A70EB8');
INSERT INTO "events" VALUES(17,'01a23286-cdaf-718d-a57e-ff757293fe56',5,'step.proposed','{"args_hash":"02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5","definition":{"digest":"4375aa8a41384975538f24db9c4cd3a53bfe94298252efb6dba426dd62e8ff1b","name":"send","server":""},"idempotency":"at_most_once","occurrence":0,"step_id":"2bf86de5da140a1ecb4813613a44b8424e08583bc516fb0eb79787e121d6a942","step_type":"tool_call","target":"send"}','2026-12-01T16:53:45.013238Z',X'F1A734A72A3790BA1CAB1A4318AFAA7918CC2A6ABA60DDA76589396E7846703E');
INSERT INTO "events" VALUES(18,'01a23286-cdaf-718d-a57e-ff757293fe56',6,'step.awaiting_approval','{"approval_id":"01a23286-cdb4-7521-a413-ddbfaa6d48bc","bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","reason":"somebody must look","rule_id":"send","step_id":"2bf86de5da140a1ecb4813613a44b8424e08583bc516fb0eb79787e121d6a942","step_type":"tool_call","target":"send"}','2026-12-01T16:53:45.013238Z',X'64F9D5C0169A8009F7F496A59BF24BC0C1FD90DB520D3AC1804924AFB0920938');
INSERT INTO "events" VALUES(19,'01a23286-cdaf-718d-a57e-ff757293fe56',7,'approval.requested','{"approval_id":"01a23286-cdb4-7521-a413-ddbfaa6d48bc","cause":"policy","message":"","quorum":1,"step_id":"2bf86de5da140a1ecb4813613a44b8424e08583bc516fb0eb79787e121d6a942"}','2026-12-01T16:53:45.013238Z',X'3DE8D3304941FA7D4D044F8157F2786B5A6ABFF004216B1FE30655678CCACCA3');
INSERT INTO "events" VALUES(20,'01a23286-cdaf-718d-a57e-ff757293fe56',8,'execution.blocked','{"attempt":1,"reason":"awaiting_steps","replayed":0}','2026-12-01T16:53:45.014280Z',X'A5D15A3C2D60ADBB1819AB322143C662D842785A74176079ED321C7A76276C92');
INSERT INTO "events" VALUES(21,'01a23286-cfe9-7438-b37b-e61bdf1c78b8',1,'execution.created','{"agent_id":"pays","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"pays"}','2026-12-01T16:53:45.578638Z',X'E4CC8AA4BB277078B8B273DE8B0FD71A2236AD28D5B3435F9633FE5F020F07A0');
INSERT INTO "events" VALUES(22,'01a23286-cfe9-7438-b37b-e61bdf1c78b8',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":27136}','2026-12-01T16:53:45.578638Z',X'E18BC5901B1D62DD9DF382264AD15FBB953D881290E07CF18163F7351403BB6B');
INSERT INTO "events" VALUES(23,'01a23286-cfe9-7438-b37b-e61bdf1c78b8',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"0b8fbad67cdf473c5cef6e0816266b2ddf07fe6c57aef6dde60b71d08243776b","step_type":"tool_call","target":"look"}','2026-12-01T16:53:45.580804Z',X'3AADE7E722A77DB9D62833E9F86E9217E11161789F337C7F9B234BE3A8A05BA9');
INSERT INTO "events" VALUES(24,'01a23286-cfe9-7438-b37b-e61bdf1c78b8',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"0b8fbad67cdf473c5cef6e0816266b2ddf07fe6c57aef6dde60b71d08243776b","step_type":"tool_call","target":"look"}','2026-12-01T16:53:45.581669Z',X'202EC3BC13971571C4ED14469C1D24759144835FABBDD31438F29FDC8D3598C1');
INSERT INTO "events" VALUES(25,'01a23286-cfe9-7438-b37b-e61bdf1c78b8',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","definition":{"digest":"a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b","name":"pay","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"5f4b19cbcca6d64ff9e7c8300c61469db868562c2e77a3c6036f858d8f52dc6a","step_type":"tool_call","target":"pay"}','2026-12-01T16:53:45.581669Z',X'987573C84CFEF34AA1794A313F4E7EF8C4551ACB0C0DEF2ED6E877E2A0AC75AE');
INSERT INTO "events" VALUES(26,'01a23286-d1c7-73f1-8334-31d7c0cc5d45',1,'execution.created','{"agent_id":"reads","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"reads"}','2026-12-01T16:53:46.055822Z',X'1457053761F4552CC41BD23FBE9EBA53E51F635F6B3116E058EAA9B2A71A09F3');
INSERT INTO "events" VALUES(27,'01a23286-d1c7-73f1-8334-31d7c0cc5d45',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":27139}','2026-12-01T16:53:46.055822Z',X'EEFA571F313AA61CA43D11B864F7E826F6FCC452C0C97BED69A25C6E2D259DED');
INSERT INTO "events" VALUES(28,'01a23286-d1c7-73f1-8334-31d7c0cc5d45',3,'step.executing','{"args_hash":"9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301","attempt":1,"bundle":"upgrade","definition":{"digest":"a7ec13a063051e12ed605f7dc81cb4b2d9175dbb688cf649c20ac9e99341312b","name":"pay","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"109fb0fd2f08011d6e7549a93229957eb989ba23f723011744f89f74f9e86069","step_type":"tool_call","target":"pay"}','2026-12-01T16:53:46.058066Z',X'68731C85100D4BC624C8D5D829A1326CAAECDF4ADB967C2FD236888411E629B5');
INSERT INTO "events" VALUES(29,'01a23286-d1c7-73f1-8334-31d7c0cc5d45',4,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"109fb0fd2f08011d6e7549a93229957eb989ba23f723011744f89f74f9e86069","step_type":"tool_call","target":"pay"}','2026-12-01T16:53:46.058771Z',X'34A46FC5C23F53C51F819BD26A840C8BF7805D6D0E41E3727F78E46ADBBD7166');
INSERT INTO "events" VALUES(30,'01a23286-d1c7-73f1-8334-31d7c0cc5d45',5,'step.executing','{"args_hash":"363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8","attempt":1,"bundle":"upgrade","definition":{"digest":"07a4fa867a1f083c50e1f730a145d129892f9a195f4de1227459468089e94b9e","name":"look","server":""},"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"5e07324159d5910c29097316070583077c8427c7c37b4cc347f3e31688921464","step_type":"tool_call","target":"look"}','2026-12-01T16:53:46.059449Z',X'E046E91B2306F22DD76FB9D393A6EEBFD034F5653196D1C030E6D550E43284B6');
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
INSERT INTO "executions" VALUES(1,'01a23286-c959-704f-8eaa-8ea05fa4d0f9','ends','ends','completed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,7,X'215BC5E41E007159227CBEC6C46ABE1FB40D71AA10FF70A3566C38A1F76788AF',1.79614402389785194399e+09,1.79614402390273904795e+09,0.0,0,'',0,1.79614402390273904795e+09,0,'','','','','','',0,'');
INSERT INTO "executions" VALUES(2,'01a23286-cb86-777f-9ebb-e99f51c4b9e0','fails','fails','failed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','agent_error: ValueError: look 1 done',1,NULL,NULL,NULL,0.0,5,X'3739A76307B4E9EAE6D7DE7B118E126B0E1BB00DA0555812DB1EE0A1ACB589C3',1796144024.4552,1.79614402445902299884e+09,0.0,0,'',0,1.79614402445902299884e+09,0,'','','','','','',0,'');
INSERT INTO "executions" VALUES(3,'01a23286-cdaf-718d-a57e-ff757293fe56','asks','asks','blocked','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,8,X'A5D15A3C2D60ADBB1819AB322143C662D842785A74176079ED321C7A76276C92',1.79614402500851392746e+09,1796144025.01428,0.0,0,'',0,0.0,0,'','','','','','',0,'');
INSERT INTO "executions" VALUES(4,'01a23286-cfe9-7438-b37b-e61bdf1c78b8','pays','pays','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'b4dd9e3dbf324fc580ce294011fd8d59','elsewhere/00000000',27136,1.79614405557790756222e+09,5,X'987573C84CFEF34AA1794A313F4E7EF8C4551ACB0C0DEF2ED6E877E2A0AC75AE',1.79614402557863807674e+09,1.7961440255816690922e+09,0.0,0,'',0,0.0,0,'','','','','','',0,'');
INSERT INTO "executions" VALUES(5,'01a23286-d1c7-73f1-8334-31d7c0cc5d45','reads','reads','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'74e34d4339704f65ae447e689a1c1a55','elsewhere/00000000',27139,1796144056.05514,5,X'E046E91B2306F22DD76FB9D393A6EEBFD034F5653196D1C030E6D550E43284B6',1.79614402605582189559e+09,1.79614402605944895744e+09,0.0,0,'',0,0.0,0,'','','','','','',0,'');
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
INSERT INTO "log_mark" VALUES(1,X'72626E6F2D6C6F67181A050AC1567F024BF5A35C7E98C1160000006500000000009841F6000000000098425118ED2F797085076F00D324056C');
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
INSERT INTO "steps" VALUES(1,'df99fa9268854844bfa4d5bf9ab07fd9967cc9869d6bf64cfb4fd3cb91744afc','01a23286-c959-704f-8eaa-8ea05fa4d0f9','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.7961440239003579616e+09,1.7961440239003579616e+09,1.79614402390152096749e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(2,'fea7ccb1b404c0d5c2bb4711e5a14f8726499490c146401e81318e8ca0be7678','01a23286-c959-704f-8eaa-8ea05fa4d0f9','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',5,5,6,1.79614402390152096749e+09,1.79614402390152096749e+09,1.79614402390200591087e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(3,'01713e8b996e9459495cb83fe86cd7f36480a7cdc137d6e625e29a5d16e75c7a','01a23286-cb86-777f-9ebb-e99f51c4b9e0','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79614402445737290385e+09,1.79614402445737290385e+09,1.79614402445902299884e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(4,'38b08838e9b7feba2ea09793cdb994a9a0a9169c4e3893b3d127405af3d2ef98','01a23286-cdaf-718d-a57e-ff757293fe56','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.7961440250110180378e+09,1.7961440250110180378e+09,1.79614402501218104355e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(5,'2bf86de5da140a1ecb4813613a44b8424e08583bc516fb0eb79787e121d6a942','01a23286-cdaf-718d-a57e-ff757293fe56','','tool_call','send','{"to":"böb"}','02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5',0,'at_most_once','awaiting_approval','require_approval','send','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','somebody must look',0,NULL,NULL,'01a23286-cdb4-7521-a413-ddbfaa6d48bc',5,0,0,1.79614402501323795315e+09,0.0,0.0,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(6,'0b8fbad67cdf473c5cef6e0816266b2ddf07fe6c57aef6dde60b71d08243776b','01a23286-cfe9-7438-b37b-e61bdf1c78b8','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79614402558080410955e+09,1.79614402558080410955e+09,1.7961440255816690922e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(7,'5f4b19cbcca6d64ff9e7c8300c61469db868562c2e77a3c6036f858d8f52dc6a','01a23286-cfe9-7438-b37b-e61bdf1c78b8','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','executing','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1.7961440255816690922e+09,1.7961440255816690922e+09,0.0,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(8,'109fb0fd2f08011d6e7549a93229957eb989ba23f723011744f89f74f9e86069','01a23286-d1c7-73f1-8334-31d7c0cc5d45','','tool_call','pay','{"amount":1.5}','9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',3,3,4,1.79614402605806589129e+09,1.79614402605806589129e+09,1.79614402605877089506e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(9,'5e07324159d5910c29097316070583077c8427c7c37b4cc347f3e31688921464','01a23286-d1c7-73f1-8334-31d7c0cc5d45','','tool_call','look','{"n":2}','363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8',0,'safe_to_retry','executing','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1.79614402605944895744e+09,1.79614402605944895744e+09,0.0,NULL,NULL,0,0);
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
