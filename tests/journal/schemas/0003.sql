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
INSERT INTO "approvals" VALUES(1,'01a22de8-24ba-73b8-bafc-c95dc8a3e59c','01a22de8-2475-71f6-ad88-093d0b635113','a38138a88928bab389be02126e496de0ab0e1238d98a52d01f1be9353b124316','policy','pending','','send','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','once','','',1.79606651821608805661e+09,0.0,7,0,'upgrade','[]',1,'[]',0.0,'');
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
INSERT INTO "events" VALUES(1,'01a22de7-d67e-73d2-af5e-c5e17ade36df',1,'execution.created','{"agent_id":"ends","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"ends"}','2026-11-30T19:21:38.174993Z',X'06DB451C173C0A21E96AC3B33D8C2373FCCE464DF673F4D3286F8FF163B9DBC6');
INSERT INTO "events" VALUES(2,'01a22de7-d67e-73d2-af5e-c5e17ade36df',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":13480}','2026-11-30T19:21:38.174993Z',X'BC13CCFA6F03AA33105970EB175B5B34F54823DF8159B64937426DBBF70C03E0');
INSERT INTO "events" VALUES(3,'01a22de7-d67e-73d2-af5e-c5e17ade36df',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"e9708e0620a8c90d57cef897dd7478154458ef2e62351f5cfd05f60eed5886e7","step_type":"tool_call","target":"look"}','2026-11-30T19:21:38.207273Z',X'0546ABBB6AA6BEC3E5527DC038E4032E2863084F33A569F93C6BE074622FE611');
INSERT INTO "events" VALUES(4,'01a22de7-d67e-73d2-af5e-c5e17ade36df',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"e9708e0620a8c90d57cef897dd7478154458ef2e62351f5cfd05f60eed5886e7","step_type":"tool_call","target":"look"}','2026-11-30T19:21:38.237114Z',X'A1F0991D01C683EF328C222B762C4A4099479F340E829B58264201669151D0E7');
INSERT INTO "events" VALUES(5,'01a22de7-d67e-73d2-af5e-c5e17ade36df',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"739a3508325c45d741d5e390d0e184b1b78ed1a2f3ba804b3dffb14cf284f7ed","step_type":"tool_call","target":"pay"}','2026-11-30T19:21:38.237114Z',X'464B19DBE6C20E9404294DCAC6A1595806B3A08254FACC6108110E58B38CC809');
INSERT INTO "events" VALUES(6,'01a22de7-d67e-73d2-af5e-c5e17ade36df',6,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"739a3508325c45d741d5e390d0e184b1b78ed1a2f3ba804b3dffb14cf284f7ed","step_type":"tool_call","target":"pay"}','2026-11-30T19:21:38.249752Z',X'D98EBBA8E4AF8A50431E62258CC90C7DBDF60AB29656F6B4666DB6BD01288895');
INSERT INTO "events" VALUES(7,'01a22de7-d67e-73d2-af5e-c5e17ade36df',7,'execution.completed','{"attempt":1,"output_hash":"0b7e3760a72454291280c43ba895191b50a5d861eef27b1f48b5597159cff63a","replayed":0}','2026-11-30T19:21:38.260471Z',X'DEA88755FDE707BF77DB1F9B7077C71C73A17B4139D0691B17A6C3ADF3F8ACCB');
INSERT INTO "events" VALUES(8,'01a22de8-0085-75b4-ad5b-467a3f01f009',1,'execution.created','{"agent_id":"fails","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"fails"}','2026-11-30T19:21:48.933504Z',X'9B128468CB0EF8DEDF1A88F685D574253C364030DE9A0886E982A06DCB30AD4B');
INSERT INTO "events" VALUES(9,'01a22de8-0085-75b4-ad5b-467a3f01f009',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":13500}','2026-11-30T19:21:48.933504Z',X'577DC07E7EFAC0AE1A6FE5C6F3E704F7564753C3C5F485631FE0E1AAD054C9A6');
INSERT INTO "events" VALUES(10,'01a22de8-0085-75b4-ad5b-467a3f01f009',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"f1a655096030d2c3cc5880fad15cabf207368bcacd2cf68fd486079ee00fe5b6","step_type":"tool_call","target":"look"}','2026-11-30T19:21:48.964417Z',X'3E110CBE259ACCE7BB3EF8F868F8D0F84EF686FD2B1B8C9D2F08F522181D9FC9');
INSERT INTO "events" VALUES(11,'01a22de8-0085-75b4-ad5b-467a3f01f009',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"f1a655096030d2c3cc5880fad15cabf207368bcacd2cf68fd486079ee00fe5b6","step_type":"tool_call","target":"look"}','2026-11-30T19:21:48.967038Z',X'52533E0B0DA8D572869A3E6918323306135E439C2CD4E4B03EE2AB1A6F58CFA9');
INSERT INTO "events" VALUES(12,'01a22de8-0085-75b4-ad5b-467a3f01f009',5,'execution.failed','{"attempt":1,"reason":"agent_error: ValueError: look 1 done","replayed":0}','2026-11-30T19:21:48.967038Z',X'C32BD4C9A7A2DA66476DB393000B1B9A8C58A4877311F3C56DD6004CB8589C23');
INSERT INTO "events" VALUES(13,'01a22de8-2475-71f6-ad88-093d0b635113',1,'execution.created','{"agent_id":"asks","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"asks"}','2026-11-30T19:21:58.137947Z',X'26EED492FD41866EBB8CAFF14CE3A5CACA6CF5D69FC916162E2B1132FF2C2964');
INSERT INTO "events" VALUES(14,'01a22de8-2475-71f6-ad88-093d0b635113',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":14075}','2026-11-30T19:21:58.137947Z',X'C96793EB44861C27C58DC182C98CC5A95A82D1EFB4126C2A68F7E9FC8471CE11');
INSERT INTO "events" VALUES(15,'01a22de8-2475-71f6-ad88-093d0b635113',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"dc591fb2e85ae5e237902d745f83601e9dab5f19759ab94a95147f3802c073da","step_type":"tool_call","target":"look"}','2026-11-30T19:21:58.172460Z',X'A0D4CD50D25B9D6D92D85B30D7CB061A39ADB10D13920B8ADF124373BFB886DA');
INSERT INTO "events" VALUES(16,'01a22de8-2475-71f6-ad88-093d0b635113',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"dc591fb2e85ae5e237902d745f83601e9dab5f19759ab94a95147f3802c073da","step_type":"tool_call","target":"look"}','2026-11-30T19:21:58.196723Z',X'D50DB5771B799AF58A2227D6AE045E09C6F915E9A05F24609CAE60A8E154A5EE');
INSERT INTO "events" VALUES(17,'01a22de8-2475-71f6-ad88-093d0b635113',5,'step.proposed','{"args_hash":"02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5","occurrence":0,"step_id":"a38138a88928bab389be02126e496de0ab0e1238d98a52d01f1be9353b124316","step_type":"tool_call","target":"send"}','2026-11-30T19:21:58.216088Z',X'0FDB57DCD02030BD21C0D7441B2D365A80F452425B9C35B1BC55DEDE2B927717');
INSERT INTO "events" VALUES(18,'01a22de8-2475-71f6-ad88-093d0b635113',6,'step.awaiting_approval','{"approval_id":"01a22de8-24ba-73b8-bafc-c95dc8a3e59c","bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","reason":"somebody must look","rule_id":"send","step_id":"a38138a88928bab389be02126e496de0ab0e1238d98a52d01f1be9353b124316","step_type":"tool_call","target":"send"}','2026-11-30T19:21:58.216088Z',X'2B14746160F64B31F2EE89475C03964943F422ACB59F98D3AA650D481702B659');
INSERT INTO "events" VALUES(19,'01a22de8-2475-71f6-ad88-093d0b635113',7,'approval.requested','{"approval_id":"01a22de8-24ba-73b8-bafc-c95dc8a3e59c","cause":"policy","message":"","quorum":1,"step_id":"a38138a88928bab389be02126e496de0ab0e1238d98a52d01f1be9353b124316"}','2026-11-30T19:21:58.216088Z',X'1DFD7BD2B9182AF457DD9818BA59413F97342A3202DB038D903F7E4A279E5FB9');
INSERT INTO "events" VALUES(20,'01a22de8-2475-71f6-ad88-093d0b635113',8,'execution.blocked','{"attempt":1,"reason":"awaiting_steps","replayed":0}','2026-11-30T19:21:58.231334Z',X'62306CA1D7D537CC7551E4CA773362ED354A6C57CC4E400DC5BCF9C0DD2B4ED8');
INSERT INTO "events" VALUES(21,'01a22de8-4af7-778a-81eb-bc1b339e081d',1,'execution.created','{"agent_id":"pays","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"pays"}','2026-11-30T19:22:07.992370Z',X'E8D00D61A83FF983DA00832EB6EF4408E17D8D9693635C6F2A9116E6E6D9CD83');
INSERT INTO "events" VALUES(22,'01a22de8-4af7-778a-81eb-bc1b339e081d',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":14404}','2026-11-30T19:22:07.992370Z',X'FCE5645A809C5BDD09431859479C2ADC3AD6D1001F8CAADB02B3A8EF4F638F7E');
INSERT INTO "events" VALUES(23,'01a22de8-4af7-778a-81eb-bc1b339e081d',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"190c1a67f31980823d59f4bfff53f847d59c2930f1e455a11568abbab7efaac3","step_type":"tool_call","target":"look"}','2026-11-30T19:22:08.012236Z',X'060E84AC6C945559541524335D23BBF49213781C3FF26984271030C7B1B5D255');
INSERT INTO "events" VALUES(24,'01a22de8-4af7-778a-81eb-bc1b339e081d',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"190c1a67f31980823d59f4bfff53f847d59c2930f1e455a11568abbab7efaac3","step_type":"tool_call","target":"look"}','2026-11-30T19:22:08.035276Z',X'B39B946DEEF696F60F37B7516486B863C5AA996D2379FD65DE1962922DA57541');
INSERT INTO "events" VALUES(25,'01a22de8-4af7-778a-81eb-bc1b339e081d',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"2035035e7f33606b0ba852ea8bf4526d38d9090c2968d44829e30037c9e6c06c","step_type":"tool_call","target":"pay"}','2026-11-30T19:22:08.035276Z',X'ACC1A960D25783DEE4C62536B8E471BF986DFA7CAD9066D1F0A3FD15576DB587');
INSERT INTO "events" VALUES(26,'01a22de8-570d-72f3-a5d2-d142c790c11c',1,'execution.created','{"agent_id":"reads","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"reads"}','2026-11-30T19:22:11.086126Z',X'623011C52909F562A8736ACE0C219C11EB093D341E0D164EC47B06B026B49FB8');
INSERT INTO "events" VALUES(27,'01a22de8-570d-72f3-a5d2-d142c790c11c',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":14754}','2026-11-30T19:22:11.086126Z',X'D5BF5C15291E6E91D1DAFC74A83D36E317D4B6A4D6DAA19C2F85301493C25F2C');
INSERT INTO "events" VALUES(28,'01a22de8-570d-72f3-a5d2-d142c790c11c',3,'step.executing','{"args_hash":"9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"4b9f503e85ce5344d5b29b784daecbdb6c13b2915c2ff5497bbe9a0505c1ea90","step_type":"tool_call","target":"pay"}','2026-11-30T19:22:11.102862Z',X'30713F31BC0826141E96E6E8D467A6F1DF6917F7A2364B766E3BA189ED795A04');
INSERT INTO "events" VALUES(29,'01a22de8-570d-72f3-a5d2-d142c790c11c',4,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"4b9f503e85ce5344d5b29b784daecbdb6c13b2915c2ff5497bbe9a0505c1ea90","step_type":"tool_call","target":"pay"}','2026-11-30T19:22:11.108890Z',X'53E1AF02427AAF8DCA12B67319912A8967D6B0C3827AE31914F68B31942FEC3F');
INSERT INTO "events" VALUES(30,'01a22de8-570d-72f3-a5d2-d142c790c11c',5,'step.executing','{"args_hash":"363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"d18ae11e18f86ef7ec8893f1bc50e6de43161a7c5b844aff2d9789ec21a2af25","step_type":"tool_call","target":"look"}','2026-11-30T19:22:11.113112Z',X'699BA551CE4623A7BBABB570385DFD5865E2670B18DAF8F584635398DE133A83');
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
INSERT INTO "executions" VALUES(1,'01a22de7-d67e-73d2-af5e-c5e17ade36df','ends','ends','completed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,7,X'DEA88755FDE707BF77DB1F9B7077C71C73A17B4139D0691B17A6C3ADF3F8ACCB',1.79606649817499303819e+09,1.79606649826047110561e+09,0.0,0,'',0,1.79606649826047110561e+09,0,'','','','','','',0);
INSERT INTO "executions" VALUES(2,'01a22de8-0085-75b4-ad5b-467a3f01f009','fails','fails','failed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','agent_error: ValueError: look 1 done',1,NULL,NULL,NULL,0.0,5,X'C32BD4C9A7A2DA66476DB393000B1B9A8C58A4877311F3C56DD6004CB8589C23',1.79606650893350410459e+09,1.79606650896703791617e+09,0.0,0,'',0,1.79606650896703791617e+09,0,'','','','','','',0);
INSERT INTO "executions" VALUES(3,'01a22de8-2475-71f6-ad88-093d0b635113','asks','asks','blocked','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,8,X'62306CA1D7D537CC7551E4CA773362ED354A6C57CC4E400DC5BCF9C0DD2B4ED8',1.79606651813794708253e+09,1.79606651823133397103e+09,0.0,0,'',0,0.0,0,'','','','','','',0);
INSERT INTO "executions" VALUES(4,'01a22de8-4af7-778a-81eb-bc1b339e081d','pays','pays','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'e139d15f001842ad9313c9c5f0560ae8','elsewhere/00000000',14404,1.79606655799192762375e+09,5,X'ACC1A960D25783DEE4C62536B8E471BF986DFA7CAD9066D1F0A3FD15576DB587',1796066527.99237,1.79606652803527593615e+09,0.0,0,'',0,0.0,0,'','','','','','',0);
INSERT INTO "executions" VALUES(5,'01a22de8-570d-72f3-a5d2-d142c790c11c','reads','reads','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'f04eb08b85e84a7986b201d9539b6898','elsewhere/00000000',14754,1.7960665610859031677e+09,5,X'699BA551CE4623A7BBABB570385DFD5865E2670B18DAF8F584635398DE133A83',1.79606653108612608908e+09,1.79606653111311197279e+09,0.0,0,'',0,0.0,0,'','','','','','',0);
CREATE TABLE leaders (
    role  TEXT    NOT NULL PRIMARY KEY,
    owner TEXT    NOT NULL,
    host  TEXT    NOT NULL,
    pid   INTEGER NOT NULL,
    until REAL    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE policies (
    agent_id TEXT    NOT NULL PRIMARY KEY,
    version  INTEGER NOT NULL,
    text     TEXT    NOT NULL
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
INSERT INTO "steps" VALUES(1,'e9708e0620a8c90d57cef897dd7478154458ef2e62351f5cfd05f60eed5886e7','01a22de7-d67e-73d2-af5e-c5e17ade36df','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79606649820727300647e+09,1.79606649820727300647e+09,1.79606649823711395259e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(2,'739a3508325c45d741d5e390d0e184b1b78ed1a2f3ba804b3dffb14cf284f7ed','01a22de7-d67e-73d2-af5e-c5e17ade36df','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',5,5,6,1.79606649823711395259e+09,1.79606649823711395259e+09,1.79606649824975204464e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(3,'f1a655096030d2c3cc5880fad15cabf207368bcacd2cf68fd486079ee00fe5b6','01a22de8-0085-75b4-ad5b-467a3f01f009','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79606650896441698075e+09,1.79606650896441698075e+09,1.79606650896703791617e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(4,'dc591fb2e85ae5e237902d745f83601e9dab5f19759ab94a95147f3802c073da','01a22de8-2475-71f6-ad88-093d0b635113','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1796066518.17246,1796066518.17246,1.79606651819672298434e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(5,'a38138a88928bab389be02126e496de0ab0e1238d98a52d01f1be9353b124316','01a22de8-2475-71f6-ad88-093d0b635113','','tool_call','send','{"to":"böb"}','02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5',0,'at_most_once','awaiting_approval','require_approval','send','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','somebody must look',0,NULL,NULL,'01a22de8-24ba-73b8-bafc-c95dc8a3e59c',5,0,0,1.79606651821608805661e+09,0.0,0.0,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(6,'190c1a67f31980823d59f4bfff53f847d59c2930f1e455a11568abbab7efaac3','01a22de8-4af7-778a-81eb-bc1b339e081d','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79606652801223611827e+09,1.79606652801223611827e+09,1.79606652803527593615e+09,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(7,'2035035e7f33606b0ba852ea8bf4526d38d9090c2968d44829e30037c9e6c06c','01a22de8-4af7-778a-81eb-bc1b339e081d','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','executing','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1.79606652803527593615e+09,1.79606652803527593615e+09,0.0,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(8,'4b9f503e85ce5344d5b29b784daecbdb6c13b2915c2ff5497bbe9a0505c1ea90','01a22de8-570d-72f3-a5d2-d142c790c11c','','tool_call','pay','{"amount":1.5}','9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',3,3,4,1.79606653110286188122e+09,1.79606653110286188122e+09,1796066531.10889,NULL,NULL,0,0);
INSERT INTO "steps" VALUES(9,'d18ae11e18f86ef7ec8893f1bc50e6de43161a7c5b844aff2d9789ec21a2af25','01a22de8-570d-72f3-a5d2-d142c790c11c','','tool_call','look','{"n":2}','363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8',0,'safe_to_retry','executing','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1.79606653111311197279e+09,1.79606653111311197279e+09,0.0,NULL,NULL,0,0);
CREATE TABLE tombstones (
    id          TEXT NOT NULL PRIMARY KEY,
    agent_id    TEXT NOT NULL,
    key         TEXT,
    status      TEXT NOT NULL,
    output_hash TEXT NOT NULL,
    head_hash   BLOB NOT NULL,
    ended_at    REAL NOT NULL
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
COMMIT;
PRAGMA application_id=1919053423;
PRAGMA user_version=3;
