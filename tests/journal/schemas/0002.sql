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
, bundle      TEXT    NOT NULL DEFAULT '', approvers   TEXT    NOT NULL DEFAULT '[]', quorum      INTEGER NOT NULL DEFAULT 1, votes       TEXT    NOT NULL DEFAULT '[]', timeout_at  REAL    NOT NULL DEFAULT 0.0, asserted_by TEXT    NOT NULL DEFAULT '') STRICT;
INSERT INTO "approvals" VALUES(1,'01a2295e-a351-7379-9b0b-83fd1a46a9b4','01a2295e-a341-743a-8b20-ba4f76b1f9ee','72515cf9486c702fefc194d5c41da65ca986571a608003158554176cbb96f2f9','policy','pending','','send','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','once','','',1.79599039777720594405e+09,0.0,7,0,'upgrade','[]',1,'[]',0.0,'');
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
INSERT INTO "events" VALUES(1,'01a2295e-9cd3-7552-90eb-2fdf237525ed',1,'execution.created','{"agent_id":"ends","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"ends"}','2026-11-29T22:13:16.115328Z',X'95F8B343E4DB0F7D8DB4AB6EACB9D68EBD7F264A7AA93BF593938017AD1FF34C');
INSERT INTO "events" VALUES(2,'01a2295e-9cd3-7552-90eb-2fdf237525ed',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":20393}','2026-11-29T22:13:16.115328Z',X'DA8A51B64810209277A2FFF6E6CA38B2B84FED2EC8F7FDAEF703A00572EBFF1A');
INSERT INTO "events" VALUES(3,'01a2295e-9cd3-7552-90eb-2fdf237525ed',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"c2a4e5ecb23356eee2bf992a6af4d4a3e7eb16682681e6c1c09318f7d9cf2146","step_type":"tool_call","target":"look"}','2026-11-29T22:13:16.117476Z',X'9F6923DDA42787B972B86B4C0E09F6E1C1CE48AAAA9A843DBC649167AF3AFE64');
INSERT INTO "events" VALUES(4,'01a2295e-9cd3-7552-90eb-2fdf237525ed',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"c2a4e5ecb23356eee2bf992a6af4d4a3e7eb16682681e6c1c09318f7d9cf2146","step_type":"tool_call","target":"look"}','2026-11-29T22:13:16.122720Z',X'195F352D51554384A0DD46137116064CCF0F1E90909999ECD52495AA4D7576A6');
INSERT INTO "events" VALUES(5,'01a2295e-9cd3-7552-90eb-2fdf237525ed',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"d74dd8a4a19917dcb5e6ef5c013f07f1b97708c94e9a7247efb925ab45aa72e2","step_type":"tool_call","target":"pay"}','2026-11-29T22:13:16.122720Z',X'42B09122A7DA0CDAD10213953286EE39F43588666DF71FE185979ADCD54F327D');
INSERT INTO "events" VALUES(6,'01a2295e-9cd3-7552-90eb-2fdf237525ed',6,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"d74dd8a4a19917dcb5e6ef5c013f07f1b97708c94e9a7247efb925ab45aa72e2","step_type":"tool_call","target":"pay"}','2026-11-29T22:13:16.126406Z',X'F859D85B4F9FEE90CAC597162AC9AD4A30DAF01186D18E0DAC2BC3D542343F8B');
INSERT INTO "events" VALUES(7,'01a2295e-9cd3-7552-90eb-2fdf237525ed',7,'execution.completed','{"attempt":1,"output_hash":"0b7e3760a72454291280c43ba895191b50a5d861eef27b1f48b5597159cff63a","replayed":0}','2026-11-29T22:13:16.130971Z',X'19CFC60897A78390B5C085BA71AF23ABDBBCB574F3CA55824B4313CF03D838A0');
INSERT INTO "events" VALUES(8,'01a2295e-a0a1-7045-9487-855e2f754022',1,'execution.created','{"agent_id":"fails","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"fails"}','2026-11-29T22:13:17.089591Z',X'40225A02D86C77EBD268A7A9215AA659CBE6192CD9ED68BFEC413D3416928BFA');
INSERT INTO "events" VALUES(9,'01a2295e-a0a1-7045-9487-855e2f754022',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":20397}','2026-11-29T22:13:17.089591Z',X'4FAFC016278124A1978D293DF9B169CB8CF2251E2A7D23C7E68AC46B2A96FF80');
INSERT INTO "events" VALUES(10,'01a2295e-a0a1-7045-9487-855e2f754022',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"e856ec70f885b7448cc5a9cc88fe7de1b7eba24c5f090fd004dc589ee90bb3fd","step_type":"tool_call","target":"look"}','2026-11-29T22:13:17.092501Z',X'57D563B56C5FE595613876E5DB33690C44A31532679C51EFB2A50CA485CDA52B');
INSERT INTO "events" VALUES(11,'01a2295e-a0a1-7045-9487-855e2f754022',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"e856ec70f885b7448cc5a9cc88fe7de1b7eba24c5f090fd004dc589ee90bb3fd","step_type":"tool_call","target":"look"}','2026-11-29T22:13:17.094208Z',X'2CF192618E98FA2D617787A5EDED75799894DE2EB927D88A4C35F1C19F4AE22F');
INSERT INTO "events" VALUES(12,'01a2295e-a0a1-7045-9487-855e2f754022',5,'execution.failed','{"attempt":1,"reason":"agent_error: ValueError: look 1 done","replayed":0}','2026-11-29T22:13:17.094208Z',X'4AEACEC0461697FC0DA654CE3A911A6065F613F8784D1E7808C44958E348B102');
INSERT INTO "events" VALUES(13,'01a2295e-a341-743a-8b20-ba4f76b1f9ee',1,'execution.created','{"agent_id":"asks","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"asks"}','2026-11-29T22:13:17.761962Z',X'BBC5FFCBFB5F8EC1415C0DFD7FDC83157285E6EC52AAAF56DF8A0AA517FA2CF6');
INSERT INTO "events" VALUES(14,'01a2295e-a341-743a-8b20-ba4f76b1f9ee',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":20410}','2026-11-29T22:13:17.761962Z',X'7E5C3DCD689F65B62E98A7971609EBEBC10143FA65AFA514BA58F112189E27AD');
INSERT INTO "events" VALUES(15,'01a2295e-a341-743a-8b20-ba4f76b1f9ee',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"cf91dea9bf1a4f5b922372d6495778917e6576bff208e6a3e91c9516263ebb29","step_type":"tool_call","target":"look"}','2026-11-29T22:13:17.776134Z',X'9A6396D9FF47A8DB6830A9A1C42CF8B6B5E6A6636D61ED710CC3659F31987D0F');
INSERT INTO "events" VALUES(16,'01a2295e-a341-743a-8b20-ba4f76b1f9ee',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"cf91dea9bf1a4f5b922372d6495778917e6576bff208e6a3e91c9516263ebb29","step_type":"tool_call","target":"look"}','2026-11-29T22:13:17.777206Z',X'7E756778A4927C4FEBEA4C58BFF7D05F547594DFBDAC89E8CC780C0098E275C7');
INSERT INTO "events" VALUES(17,'01a2295e-a341-743a-8b20-ba4f76b1f9ee',5,'step.proposed','{"args_hash":"02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5","occurrence":0,"step_id":"72515cf9486c702fefc194d5c41da65ca986571a608003158554176cbb96f2f9","step_type":"tool_call","target":"send"}','2026-11-29T22:13:17.777206Z',X'0D4ECDC25E17B8BAF22E2E5AA32E6B2D9823E592423E0F704574268B2A927B50');
INSERT INTO "events" VALUES(18,'01a2295e-a341-743a-8b20-ba4f76b1f9ee',6,'step.awaiting_approval','{"approval_id":"01a2295e-a351-7379-9b0b-83fd1a46a9b4","bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","reason":"somebody must look","rule_id":"send","step_id":"72515cf9486c702fefc194d5c41da65ca986571a608003158554176cbb96f2f9","step_type":"tool_call","target":"send"}','2026-11-29T22:13:17.777206Z',X'F47CDF477E1A3786DB0959990842B0266E90BCE7C8ADFA1238CD09FDFE99F069');
INSERT INTO "events" VALUES(19,'01a2295e-a341-743a-8b20-ba4f76b1f9ee',7,'approval.requested','{"approval_id":"01a2295e-a351-7379-9b0b-83fd1a46a9b4","cause":"policy","quorum":1,"step_id":"72515cf9486c702fefc194d5c41da65ca986571a608003158554176cbb96f2f9"}','2026-11-29T22:13:17.777206Z',X'74EAB3EB8227B776169A2F5B44D3F62BBD35E92605EB6E2A201753A16DA56683');
INSERT INTO "events" VALUES(20,'01a2295e-a341-743a-8b20-ba4f76b1f9ee',8,'execution.blocked','{"attempt":1,"reason":"awaiting_steps","replayed":0}','2026-11-29T22:13:17.778046Z',X'4B5DA79A7791B1C8291D7BE32CE190F2D7C74228B0BA62EA171DC4A4012B0FEC');
INSERT INTO "events" VALUES(21,'01a2295e-a5e5-756f-a861-e0a9572cdb29',1,'execution.created','{"agent_id":"pays","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"pays"}','2026-11-29T22:13:18.437976Z',X'1CE94C0C4015773150DAE211F2AF8F2E880A87BB838F7302773AE9C82B02ED21');
INSERT INTO "events" VALUES(22,'01a2295e-a5e5-756f-a861-e0a9572cdb29',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":20419}','2026-11-29T22:13:18.437976Z',X'3271E89A5375064C0B40069F8F4702D1581C568F208BE47A928F143992A95E5A');
INSERT INTO "events" VALUES(23,'01a2295e-a5e5-756f-a861-e0a9572cdb29',3,'step.executing','{"args_hash":"2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"54fa15cd0ea375495124fbfe23ba9ccc5445c6b9d4c9df727359d80fe15d6726","step_type":"tool_call","target":"look"}','2026-11-29T22:13:18.446532Z',X'E052BB37ED5D9F2C8E5251A749C6C72E32708065EEE60CB0586862CCF1196844');
INSERT INTO "events" VALUES(24,'01a2295e-a5e5-756f-a861-e0a9572cdb29',4,'step.succeeded','{"outcome_hash":"b6501879b0116ac71504c79c54e1cfa2503123f963a45c6b5df0401b9bbb4f9c","step_id":"54fa15cd0ea375495124fbfe23ba9ccc5445c6b9d4c9df727359d80fe15d6726","step_type":"tool_call","target":"look"}','2026-11-29T22:13:18.450398Z',X'0A786D9C7C5A10DA1F4FAC3CDEA09B0BA3A286040F9F027A63DA0DE4FBE626D9');
INSERT INTO "events" VALUES(25,'01a2295e-a5e5-756f-a861-e0a9572cdb29',5,'step.executing','{"args_hash":"4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"289a052da0c3eaf072ffade4c1c13cb762e3930a62325d7d2807bf83d1f51773","step_type":"tool_call","target":"pay"}','2026-11-29T22:13:18.450398Z',X'8E91119D7E7A5928372CAE2E8E912ECEFB449DB21A78C0AD6AB991748B8710E6');
INSERT INTO "events" VALUES(26,'01a2295e-a79b-766b-8554-175a8bde3cac',1,'execution.created','{"agent_id":"reads","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","input_hash":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","key":"reads"}','2026-11-29T22:13:18.875951Z',X'3D6E504D4ABF1A0CD73F68B9C0BB2FCEA557387D883DEBF6092C3C07A1AEF468');
INSERT INTO "events" VALUES(27,'01a2295e-a79b-766b-8554-175a8bde3cac',2,'execution.started','{"attempt":1,"digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","host":"elsewhere/00000000","pid":20427}','2026-11-29T22:13:18.875951Z',X'C8BF83F7D12EFBC8745587118052DAF1CE0EB15AEF5FDED9DEB07F3EC50AC02F');
INSERT INTO "events" VALUES(28,'01a2295e-a79b-766b-8554-175a8bde3cac',3,'step.executing','{"args_hash":"9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"at_most_once","occurrence":0,"reason":"","rule_id":"pay","step_id":"743bd53c9233025754bcf083ed6c601e77400eef2930ef2f2b321814b61fa508","step_type":"tool_call","target":"pay"}','2026-11-29T22:13:18.878072Z',X'86FAEA77C370DC859EA3AFE3AC7677C79E52FAC175447DA8D4B4970600A39609');
INSERT INTO "events" VALUES(29,'01a2295e-a79b-766b-8554-175a8bde3cac',4,'step.succeeded','{"outcome_hash":"f3228f9484775493e257083ced2d9af3e34ffa446a65f1f8fe4a54cb6eb7207c","step_id":"743bd53c9233025754bcf083ed6c601e77400eef2930ef2f2b321814b61fa508","step_type":"tool_call","target":"pay"}','2026-11-29T22:13:18.878939Z',X'1743E8D9487B665EE4FE5F50EAB1CAD836C0EAC305A2A2944D88A3360B52E6F7');
INSERT INTO "events" VALUES(30,'01a2295e-a79b-766b-8554-175a8bde3cac',5,'step.executing','{"args_hash":"363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8","attempt":1,"bundle":"upgrade","digest":"270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca","idempotency":"safe_to_retry","occurrence":0,"reason":"","rule_id":"look","step_id":"687366dd1936dc780fbd0e56f3b62b066f3421663857ebebffb1128777d61b05","step_type":"tool_call","target":"look"}','2026-11-29T22:13:18.879604Z',X'29E6DA6AFEEF2DFB6AAC8D307B0A9AE314D01A178CB792C61311DA741BA60B60');
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
, deadline_at REAL    NOT NULL DEFAULT 0.0, pinned      INTEGER NOT NULL DEFAULT 0, forked_from TEXT    NOT NULL DEFAULT '', fork_seq    INTEGER NOT NULL DEFAULT 0, ended_at    REAL    NOT NULL DEFAULT 0.0) STRICT;
INSERT INTO "executions" VALUES(1,'01a2295e-9cd3-7552-90eb-2fdf237525ed','ends','ends','completed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,7,X'19CFC60897A78390B5C085BA71AF23ABDBBCB574F3CA55824B4313CF03D838A0',1.79599039611532807349e+09,1.79599039613097095488e+09,0.0,0,'',0,1.79599039613097095488e+09);
INSERT INTO "executions" VALUES(2,'01a2295e-a0a1-7045-9487-855e2f754022','fails','fails','failed','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','agent_error: ValueError: look 1 done',1,NULL,NULL,NULL,0.0,5,X'4AEACEC0461697FC0DA654CE3A911A6065F613F8784D1E7808C44958E348B102',1.79599039708959102635e+09,1.79599039709420800212e+09,0.0,0,'',0,1.79599039709420800212e+09);
INSERT INTO "executions" VALUES(3,'01a2295e-a341-743a-8b20-ba4f76b1f9ee','asks','asks','blocked','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,NULL,0.0,8,X'4B5DA79A7791B1C8291D7BE32CE190F2D7C74228B0BA62EA171DC4A4012B0FEC',1.79599039776196193691e+09,1.79599039777804589269e+09,0.0,0,'',0,0.0);
INSERT INTO "executions" VALUES(4,'01a2295e-a5e5-756f-a861-e0a9572cdb29','pays','pays','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'405fc12defd74d10913c34070dd65f28','elsewhere/00000000',20419,1.79599042843779587745e+09,5,X'8E91119D7E7A5928372CAE2E8E912ECEFB449DB21A78C0AD6AB991748B8710E6',1.79599039843797588346e+09,1.79599039845039796831e+09,0.0,0,'',0,0.0);
INSERT INTO "executions" VALUES(5,'01a2295e-a79b-766b-8554-175a8bde3cac','reads','reads','running','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'b729809b3b4c4ce5a2c830081c45d1fe','elsewhere/00000000',20427,1.79599042887575054174e+09,5,X'29E6DA6AFEEF2DFB6AAC8D307B0A9AE314D01A178CB792C61311DA741BA60B60',1.79599039887595105175e+09,1.79599039887960410118e+09,0.0,0,'',0,0.0);
CREATE TABLE leaders (
    role  TEXT    NOT NULL PRIMARY KEY,
    owner TEXT    NOT NULL,
    host  TEXT    NOT NULL,
    pid   INTEGER NOT NULL,
    until REAL    NOT NULL
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
, input_tokens  INTEGER, output_tokens INTEGER) STRICT;
INSERT INTO "steps" VALUES(1,'c2a4e5ecb23356eee2bf992a6af4d4a3e7eb16682681e6c1c09318f7d9cf2146','01a2295e-9cd3-7552-90eb-2fdf237525ed','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79599039611747598654e+09,1.79599039611747598654e+09,1795990396.12272,NULL,NULL);
INSERT INTO "steps" VALUES(2,'d74dd8a4a19917dcb5e6ef5c013f07f1b97708c94e9a7247efb925ab45aa72e2','01a2295e-9cd3-7552-90eb-2fdf237525ed','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',5,5,6,1795990396.12272,1795990396.12272,1.79599039612640595442e+09,NULL,NULL);
INSERT INTO "steps" VALUES(3,'e856ec70f885b7448cc5a9cc88fe7de1b7eba24c5f090fd004dc589ee90bb3fd','01a2295e-a0a1-7045-9487-855e2f754022','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79599039709250092502e+09,1.79599039709250092502e+09,1.79599039709420800212e+09,NULL,NULL);
INSERT INTO "steps" VALUES(4,'cf91dea9bf1a4f5b922372d6495778917e6576bff208e6a3e91c9516263ebb29','01a2295e-a341-743a-8b20-ba4f76b1f9ee','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79599039777613401418e+09,1.79599039777613401418e+09,1.79599039777720594405e+09,NULL,NULL);
INSERT INTO "steps" VALUES(5,'72515cf9486c702fefc194d5c41da65ca986571a608003158554176cbb96f2f9','01a2295e-a341-743a-8b20-ba4f76b1f9ee','','tool_call','send','{"to":"böb"}','02e0d7f5967fbb5cb96ebbe7a894c721f7016a23e31e2b6411d94931e8a569f5',0,'at_most_once','awaiting_approval','require_approval','send','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','somebody must look',0,NULL,NULL,'01a2295e-a351-7379-9b0b-83fd1a46a9b4',5,0,0,1.79599039777720594405e+09,0.0,0.0,NULL,NULL);
INSERT INTO "steps" VALUES(6,'54fa15cd0ea375495124fbfe23ba9ccc5445c6b9d4c9df727359d80fe15d6726','01a2295e-a5e5-756f-a861-e0a9572cdb29','','tool_call','look','{"n":1}','2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',0,'safe_to_retry','succeeded','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"look 1 done"',NULL,'',3,3,4,1.79599039844653201106e+09,1.79599039844653201106e+09,1.79599039845039796831e+09,NULL,NULL);
INSERT INTO "steps" VALUES(7,'289a052da0c3eaf072ffade4c1c13cb762e3930a62325d7d2807bf83d1f51773','01a2295e-a5e5-756f-a861-e0a9572cdb29','','tool_call','pay','{"amount":9.5}','4d244c0e0bc261308463a0dae3b3e96cee22d849d00568df50573ec4c34e324d',0,'at_most_once','executing','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1.79599039845039796831e+09,1.79599039845039796831e+09,0.0,NULL,NULL);
INSERT INTO "steps" VALUES(8,'743bd53c9233025754bcf083ed6c601e77400eef2930ef2f2b321814b61fa508','01a2295e-a79b-766b-8554-175a8bde3cac','','tool_call','pay','{"amount":1.5}','9c7cd1a8a02864a9eb4a34c2e2afafbdf972ffd9ee0e3ce15ba5a5b41add0301',0,'at_most_once','succeeded','allow','pay','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,'"pay done"',NULL,'',3,3,4,1.79599039887807202346e+09,1.79599039887807202346e+09,1.79599039887893891336e+09,NULL,NULL);
INSERT INTO "steps" VALUES(9,'687366dd1936dc780fbd0e56f3b62b066f3421663857ebebffb1128777d61b05','01a2295e-a79b-766b-8554-175a8bde3cac','','tool_call','look','{"n":2}','363379742f80b51bdb9206579af7754911543079b9399cb3fc315fb199f476e8',0,'safe_to_retry','executing','allow','look','upgrade','270a13d323dbf0fcac5cc67888618f5f0c576b249d1ce50f309266d1940aa1ca','',1,NULL,NULL,'',5,5,0,1.79599039887960410118e+09,1.79599039887960410118e+09,0.0,NULL,NULL);
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
CREATE VIEW execution_rows AS
SELECT n, id, agent_id, key, status, input, digest, output, failure_reason, attempt, owner, host, pid, lease_until,
       head_seq, head_hash, created_at, updated_at, deadline_at, pinned, forked_from, fork_seq, ended_at
FROM executions JOIN contents USING (n);
CREATE INDEX approvals_by_timeout ON approvals (timeout_at) WHERE status = 'pending' AND timeout_at > 0;
CREATE INDEX approvals_by_step ON approvals (step_id);
CREATE INDEX spends_in_order ON spends (key, at);
CREATE UNIQUE INDEX tombstones_by_key ON tombstones (agent_id, key) WHERE key IS NOT NULL;
COMMIT;
PRAGMA application_id=1919053423;
PRAGMA user_version=2;
