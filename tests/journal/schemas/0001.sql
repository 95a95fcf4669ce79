BEGIN TRANSACTION;
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
) STRICT;
INSERT INTO "approvals" VALUES(1,'01a2293a-2d79-72f5-9db6-d0f213d818a5','01a2293a-2d76-7178-ac41-688a93e78b8a','e7e2f80c82b2de00b81e7c13e8bd14e2335cc9c356101298444d3a88937c9a33','policy','pending','','send','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','once','','',1.79598800831393909461e+09,0.0,7,0);
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
) STRICT;
INSERT INTO "contents" VALUES(1,'null','["look 1 done","pay done"]');
INSERT INTO "contents" VALUES(2,'null',NULL);
INSERT INTO "contents" VALUES(3,'null',NULL);
INSERT INTO "contents" VALUES(4,'null',NULL);
INSERT INTO "contents" VALUES(5,'null',NULL);
CREATE TABLE events (
    n            INTEGER PRIMARY KEY,
    execution_id TEXT    NOT NULL REFERENCES executions (id),
    event_seq    INTEGER NOT NULL,
    type         TEXT    NOT NULL,
    payload      TEXT    NOT NULL,
    occurred_at  TEXT    NOT NULL,
    hash         BLOB    NOT NULL
) STRICT;
INSERT INTO "events" VALUES(1,'01a2293a-29d9-7063-a8fa-10d66e59735d',1,'execution.created','{"agent_id":"ends","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"ends"}','2026-11-29T21:33:27.385888Z',X'5689836DA14DF769054750B02B4A219067C632DA96BC7AAA720279F14E547091');
INSERT INTO "events" VALUES(2,'01a2293a-29d9-7063-a8fa-10d66e59735d',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":17638}','2026-11-29T21:33:27.385888Z',X'012C276A3722343EAAE7C3AE1EBECAC7BF20FDB3A2138948A78FF2B18C224293');
INSERT INTO "events" VALUES(3,'01a2293a-29d9-7063-a8fa-10d66e59735d',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"ac56f9f2b00a5024ae772c7576bb570d83c44499e75d0d0db88c317d7c4238df","step_type":"tool_call","target":"look"}','2026-11-29T21:33:27.387062Z',X'88826056FE8C2033C1EA0F248596499C62EFC7D5EA1F9DE71C97F71155685A55');
INSERT INTO "events" VALUES(4,'01a2293a-29d9-7063-a8fa-10d66e59735d',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"ac56f9f2b00a5024ae772c7576bb570d83c44499e75d0d0db88c317d7c4238df","step_type":"tool_call","target":"look"}','2026-11-29T21:33:27.387995Z',X'105374373542DC6D8880FCAE925ED4E5BE6FE687F1297C685B065395C4CBCD8F');
INSERT INTO "events" VALUES(5,'01a2293a-29d9-7063-a8fa-10d66e59735d',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"7d14f87a4b901deabcbe8913562ab016da34636e2c50c652676ad191a253d3ba","step_type":"tool_call","target":"pay"}','2026-11-29T21:33:27.388112Z',X'E34DC404CF93C13FFD21E0322FF79B6802099B8C302DF6D03AD9527EB8B0FD3B');
INSERT INTO "events" VALUES(6,'01a2293a-29d9-7063-a8fa-10d66e59735d',6,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"7d14f87a4b901deabcbe8913562ab016da34636e2c50c652676ad191a253d3ba","step_type":"tool_call","target":"pay"}','2026-11-29T21:33:27.388601Z',X'1CE17FDB7622B94F55655EB4CB3AC1D52BFB7EDF271B898C5E8D13D6D84621E4');
INSERT INTO "events" VALUES(7,'01a2293a-29d9-7063-a8fa-10d66e59735d',7,'execution.completed','{"attempt":1,"output_hash":"0b7e3760a72454291280c43ba895191b50a5d861eef27b1f48b5597159cff63a","replayed":0}','2026-11-29T21:33:27.389127Z',X'34452948EF1730A196E9BA8B0E375E4D4A881B50184AF4D90AD9FA724448A447');
INSERT INTO "events" VALUES(8,'01a2293a-2b9d-7759-a52e-860245b5edbc',1,'execution.created','{"agent_id":"fails","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"fails"}','2026-11-29T21:33:27.837615Z',X'A509BBDE8C093BE8465507D28655319696F86C8CE25AA823855C13A074E948E4');
INSERT INTO "events" VALUES(9,'01a2293a-2b9d-7759-a52e-860245b5edbc',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":17642}','2026-11-29T21:33:27.837615Z',X'F26DC6870841192A57D226FD6EA2984D975F55F4D8FD3EB97BD7A44D78F4902B');
INSERT INTO "events" VALUES(10,'01a2293a-2b9d-7759-a52e-860245b5edbc',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"bc9dc386609eb40d4ca55b3e5e81d6790999b34419660da4d8c710b277c4f0a4","step_type":"tool_call","target":"look"}','2026-11-29T21:33:27.839333Z',X'75FFAA4F861F10D1E5C43DE95DAB2E31B2353C73B914D100635590A8C6DB9982');
INSERT INTO "events" VALUES(11,'01a2293a-2b9d-7759-a52e-860245b5edbc',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"bc9dc386609eb40d4ca55b3e5e81d6790999b34419660da4d8c710b277c4f0a4","step_type":"tool_call","target":"look"}','2026-11-29T21:33:27.840179Z',X'3CE93B6E2C3042F699D812BE013E485D5C416C1E2859C8EDCF43AEBC04254D7D');
INSERT INTO "events" VALUES(12,'01a2293a-2b9d-7759-a52e-860245b5edbc',5,'execution.failed','{"attempt":1,"reason":"agent_error: ValueError: look 1 done","replayed":0}','2026-11-29T21:33:27.840298Z',X'62E5DB8A4E02262C5A16069363959FB7FFA81C407AC96D4DEA4D1EA002786999');
INSERT INTO "events" VALUES(13,'01a2293a-2d76-7178-ac41-688a93e78b8a',1,'execution.created','{"agent_id":"asks","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"asks"}','2026-11-29T21:33:28.311110Z',X'6A95F49D97C2B0722D12975B4B31B51CCE222170A0A3211BB5ED9136BB418B91');
INSERT INTO "events" VALUES(14,'01a2293a-2d76-7178-ac41-688a93e78b8a',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":17646}','2026-11-29T21:33:28.311110Z',X'877F1E77CF64A60EAC6A4B221EDA91524386129F2A7A54070269C8F66656E064');
INSERT INTO "events" VALUES(15,'01a2293a-2d76-7178-ac41-688a93e78b8a',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"ff88b54734d8747b7129163da8e702038cc6846dae89adb47a5ae22bca17d28e","step_type":"tool_call","target":"look"}','2026-11-29T21:33:28.312867Z',X'A1E8B2B6EA2FC5A32F08E5ED5107A85D6666F223FD32CAFA119D72D2756039AA');
INSERT INTO "events" VALUES(16,'01a2293a-2d76-7178-ac41-688a93e78b8a',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"ff88b54734d8747b7129163da8e702038cc6846dae89adb47a5ae22bca17d28e","step_type":"tool_call","target":"look"}','2026-11-29T21:33:28.313829Z',X'287254FE3526D249BBE745B158F9E898AD6F734B8A15DCC307B7547E2A834E42');
INSERT INTO "events" VALUES(17,'01a2293a-2d76-7178-ac41-688a93e78b8a',5,'step.proposed','{"args_hash":"02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5","occurrence":0,"step_id":"e7e2f80c82b2de00b81e7c13e8bd14e2335cc9c356101298444d3a88937c9a33","step_type":"tool_call","target":"send"}','2026-11-29T21:33:28.313939Z',X'BEDC6784242E1ACEC40530A3DFD05F9A702FE9BAE32EC825C5FCE891630B7B31');
INSERT INTO "events" VALUES(18,'01a2293a-2d76-7178-ac41-688a93e78b8a',6,'step.awaiting_approval','{"approval_id":"01a2293a-2d79-72f5-9db6-d0f213d818a5","bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","reason":"somebody must look","rule_id":"send","step_id":"e7e2f80c82b2de00b81e7c13e8bd14e2335cc9c356101298444d3a88937c9a33","step_type":"tool_call","target":"send"}','2026-11-29T21:33:28.313939Z',X'ECEB078754D9644FF3B3B4E397993ECFD486F55902EA09F21DDA21E88244CE92');
INSERT INTO "events" VALUES(19,'01a2293a-2d76-7178-ac41-688a93e78b8a',7,'approval.requested','{"approval_id":"01a2293a-2d79-72f5-9db6-d0f213d818a5","cause":"policy","step_id":"e7e2f80c82b2de00b81e7c13e8bd14e2335cc9c356101298444d3a88937c9a33"}','2026-11-29T21:33:28.313939Z',X'7588E00C2BBF8CE5FBFD58758F92C5761B3EB4E085719DB1A9A941388A7A6584');
INSERT INTO "events" VALUES(20,'01a2293a-2d76-7178-ac41-688a93e78b8a',8,'execution.blocked','{"attempt":1,"reason":"awaiting_steps","replayed":0}','2026-11-29T21:33:28.314670Z',X'74C4DF6894C68ACB2A02580DB014C126C2DF9B18F89F56DB5D4AD9075479850F');
INSERT INTO "events" VALUES(21,'01a2293a-2f4d-735b-a23c-6afc41784215',1,'execution.created','{"agent_id":"pays","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"pays"}','2026-11-29T21:33:28.781395Z',X'8E88C5732EC07B1A82F4DAF0EC8ECB8FC8F4CE3B0565275C8733013904769890');
INSERT INTO "events" VALUES(22,'01a2293a-2f4d-735b-a23c-6afc41784215',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":17741}','2026-11-29T21:33:28.781395Z',X'E32888CE6A8CC17243D0CE56F8598BDCBD270DEC2541F00713D558BE751B22FA');
INSERT INTO "events" VALUES(23,'01a2293a-2f4d-735b-a23c-6afc41784215',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"c0e4f7cc80971ace438c3712e89032aeec3ccd39c5442a427e51a544e45d735f","step_type":"tool_call","target":"look"}','2026-11-29T21:33:28.783091Z',X'011D09857CFB7C43F24AD9F580CB75B16741A7B0357A501A50FF350266E93A8F');
INSERT INTO "events" VALUES(24,'01a2293a-2f4d-735b-a23c-6afc41784215',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"c0e4f7cc80971ace438c3712e89032aeec3ccd39c5442a427e51a544e45d735f","step_type":"tool_call","target":"look"}','2026-11-29T21:33:28.783983Z',X'F69872A09DC5A703EE0086576A3AB30F8A1CE79139D525F2526BCADF2D1812A5');
INSERT INTO "events" VALUES(25,'01a2293a-2f4d-735b-a23c-6afc41784215',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"6d91857ef4a005925a1f2558386387f553ebe76bf2edecfcbc6245513b89146f","step_type":"tool_call","target":"pay"}','2026-11-29T21:33:28.784102Z',X'E4DF3A44A574FBCC3EE56508043B5F852070653BEA5A5F23AF15CD48DE2BED72');
INSERT INTO "events" VALUES(26,'01a2293a-30e8-739c-a721-3b42922d388a',1,'execution.created','{"agent_id":"reads","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"reads"}','2026-11-29T21:33:29.193033Z',X'1C72DE210D4D25A508A2213A5D1480AABEE345E1F625B94C9FFF65CEB4BE93A1');
INSERT INTO "events" VALUES(27,'01a2293a-30e8-739c-a721-3b42922d388a',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":17819}','2026-11-29T21:33:29.193033Z',X'E2A274507F49B12004F8816B95927C9BDCAD7B1605AD1112DA016CE331FCDDBF');
INSERT INTO "events" VALUES(28,'01a2293a-30e8-739c-a721-3b42922d388a',3,'step.executing','{"args_hash":"9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"e896d296d01f4199b453ab81cb9dc0b1f34ab0d8ca61a10915a7187fe7bc12d6","step_type":"tool_call","target":"pay"}','2026-11-29T21:33:29.194565Z',X'6A9850E4A97558A9D49EA077C48FC61F7109E7E8F9C934E7167A6AF3C431949D');
INSERT INTO "events" VALUES(29,'01a2293a-30e8-739c-a721-3b42922d388a',4,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"e896d296d01f4199b453ab81cb9dc0b1f34ab0d8ca61a10915a7187fe7bc12d6","step_type":"tool_call","target":"pay"}','2026-11-29T21:33:29.195332Z',X'F689649FB2D2D25F942E16EE1283C440E6CD1054A7E5E7E2BDCC5BA5240E94A0');
INSERT INTO "events" VALUES(30,'01a2293a-30e8-739c-a721-3b42922d388a',5,'step.executing','{"args_hash":"363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"9b46f5fcc7745ee0b8072c9d60763af57bbae22cfebbc209600a1c2828d2f51f","step_type":"tool_call","target":"look"}','2026-11-29T21:33:29.195919Z',X'65C3468DB2665C1A5A58FF2E8AB2EBFA106A7724B56FC9D53BC08212A8738898');
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
) STRICT;
INSERT INTO "executions" VALUES(1,'01a2293a-29d9-7063-a8fa-10d66e59735d','ends','ends','completed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,7,X'34452948EF1730A196E9BA8B0E375E4D4A881B50184AF4D90AD9FA724448A447',1.7959880073858880997e+09,1.79598800738912701613e+09);
INSERT INTO "executions" VALUES(2,'01a2293a-2b9d-7759-a52e-860245b5edbc','fails','fails','failed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','agent_error: ValueError: look 1 done',1,NULL,NULL,NULL,0.0,5,X'62E5DB8A4E02262C5A16069363959FB7FFA81C407AC96D4DEA4D1EA002786999',1.79598800783761501317e+09,1.79598800784029793736e+09);
INSERT INTO "executions" VALUES(3,'01a2293a-2d76-7178-ac41-688a93e78b8a','asks','asks','blocked','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,8,X'74C4DF6894C68ACB2A02580DB014C126C2DF9B18F89F56DB5D4AD9075479850F',1795988008.31111,1795988008.31467);
INSERT INTO "executions" VALUES(4,'01a2293a-2f4d-735b-a23c-6afc41784215','pays','pays','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'17514072a7c746a78174083fed655d30','elsewhere/00000000',17741,1.79598803878128957748e+09,5,X'E4DF3A44A574FBCC3EE56508043B5F852070653BEA5A5F23AF15CD48DE2BED72',1.79598800878139495855e+09,1.79598800878410196305e+09);
INSERT INTO "executions" VALUES(5,'01a2293a-30e8-739c-a721-3b42922d388a','reads','reads','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'bf133427ac4f45c5b06c8d6d00e505d9','elsewhere/00000000',17819,1.79598803919289803508e+09,5,X'65C3468DB2665C1A5A58FF2E8AB2EBFA106A7724B56FC9D53BC08212A8738898',1.79598800919303297997e+09,1.7959880091959190369e+09);
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
) STRICT;
INSERT INTO "steps" VALUES(1,'ac56f9f2b00a5024ae772c7576bb570d83c44499e75d0d0db88c317d7c4238df','01a2293a-29d9-7063-a8fa-10d66e59735d','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79598800738706207273e+09,1.79598800738706207273e+09,1.79598800738799500463e+09);
INSERT INTO "steps" VALUES(2,'7d14f87a4b901deabcbe8913562ab016da34636e2c50c652676ad191a253d3ba','01a2293a-29d9-7063-a8fa-10d66e59735d','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',5,5,6,1.79598800738811206819e+09,1.79598800738811206819e+09,1.79598800738860106462e+09);
INSERT INTO "steps" VALUES(3,'bc9dc386609eb40d4ca55b3e5e81d6790999b34419660da4d8c710b277c4f0a4','01a2293a-2b9d-7759-a52e-860245b5edbc','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79598800783933305741e+09,1.79598800783933305741e+09,1.79598800784017896656e+09);
INSERT INTO "steps" VALUES(4,'ff88b54734d8747b7129163da8e702038cc6846dae89adb47a5ae22bca17d28e','01a2293a-2d76-7178-ac41-688a93e78b8a','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79598800831286692621e+09,1.79598800831286692621e+09,1.79598800831382894517e+09);
INSERT INTO "steps" VALUES(5,'e7e2f80c82b2de00b81e7c13e8bd14e2335cc9c356101298444d3a88937c9a33','01a2293a-2d76-7178-ac41-688a93e78b8a','','tool_call','send','{"to":"böb"}','02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5',0,'at_most_once','awaiting_approval','require_approval','send','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','somebody must look',0,NULL,NULL,'01a2293a-2d79-72f5-9db6-d0f213d818a5',5,0,0,1.79598800831393909461e+09,0.0,0.0);
INSERT INTO "steps" VALUES(6,'c0e4f7cc80971ace438c3712e89032aeec3ccd39c5442a427e51a544e45d735f','01a2293a-2f4d-735b-a23c-6afc41784215','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79598800878309106826e+09,1.79598800878309106826e+09,1.79598800878398299216e+09);
INSERT INTO "steps" VALUES(7,'6d91857ef4a005925a1f2558386387f553ebe76bf2edecfcbc6245513b89146f','01a2293a-2f4d-735b-a23c-6afc41784215','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','executing','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1.79598800878410196305e+09,1.79598800878410196305e+09,0.0);
INSERT INTO "steps" VALUES(8,'e896d296d01f4199b453ab81cb9dc0b1f34ab0d8ca61a10915a7187fe7bc12d6','01a2293a-30e8-739c-a721-3b42922d388a','','tool_call','pay','{"amount":1.5}','9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',3,3,4,1.79598800919456505782e+09,1.79598800919456505782e+09,1.79598800919533205027e+09);
INSERT INTO "steps" VALUES(9,'9b46f5fcc7745ee0b8072c9d60763af57bbae22cfebbc209600a1c2828d2f51f','01a2293a-30e8-739c-a721-3b42922d388a','','tool_call','look','{"n":2}','363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8',0,'safe_to_retry','executing','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1.7959880091959190369e+09,1.7959880091959190369e+09,0.0);
CREATE UNIQUE INDEX executions_by_key ON executions (agent_id, key) WHERE key IS NOT NULL;
CREATE INDEX executions_by_name ON executions (key) WHERE key IS NOT NULL;
CREATE VIEW execution_rows AS
SELECT n, id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at
FROM executions JOIN contents USING (n);
CREATE UNIQUE INDEX events_in_order ON events (execution_id, event_seq);
CREATE INDEX steps_in_order ON steps (execution_id, decided_seq);
CREATE INDEX approvals_by_status ON approvals (status);
CREATE INDEX approvals_by_execution ON approvals (execution_id);
COMMIT;
PRAGMA application_id=1919053423;
PRAGMA user_version=1;
