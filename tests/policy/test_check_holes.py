"""The commonest holes of a bundle get a warning each, with the better test, and a bundle without them gets none."""

import pytest

from rebuno.policy.analysis.tool_schemas import ToolSchema
from rebuno.policy.check.bundle import check_bundle
from rebuno.policy.check.tools import check_tools
from rebuno.policy.syntax.diagnostics import Diagnostic
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import Source

HEAD = "bundle b\ndefault deny\n"
OPEN = "bundle b\ndefault allow\n"


def allow(test: str, subject: str = 'tool "t"') -> str:
    return f"{HEAD}rule r {{\n  allow {subject}\n  when {test}\n}}\n"


def deny(test: str, subject: str = 'tool "t"') -> str:
    return f'{OPEN}workdir "/proj"\nrule r {{\n  deny {subject}\n  when {test}\n  because "x"\n}}\n'


def findings(text: str) -> list[Diagnostic]:
    bundle, mistakes = parse_bundle(Source(text))
    assert [str(one) for one in mistakes] == []
    return check_bundle(bundle)


def codes(text: str) -> set[str]:
    return {str(one.code) for one in findings(text)}


# A plain test of what a reader takes apart, and a word of the hint.
PLAIN = [
    ('args.path like "/proj/*"', "path of"),
    ('args.filePath like "/proj/**"', "under"),
    ('args.target like "/proj/*"', "under"),
    ('args.file starts with "/proj/"', "under"),
    ('args.output_dir contains "build"', "under"),
    ('args.where starts with "~/notes"', "under"),
    ('args.path matches "^/proj"', "under"),
    ('args.url starts with "https://api.corp.example/"', "host of"),
    ('args.url contains "corp.example"', "host of"),
    ('args.url ends with ".corp.example"', "host of"),
    ('args.callback_url matches "corp"', "host of"),
    ('args.target starts with "https://corp.example"', "host of"),
    ('args.target starts with "HTTPS://corp.example" ignoring case', "host of"),
    ('args.host ends with "corp.example"', "host of"),
    ('args.to ends with "@corp.example"', "domain of"),
    ('args.recipients contains "corp.example"', "domain of"),
    ('args.mailbox like "*@corp.example"', "domain of"),
    ('args.command like "git *"', "command of"),
    ('args.cmd starts with "ls"', "command of"),
    ('args.line like "git status*"', "command of"),
    ('args.command not contains ";"', "command of"),
    ('args.sql starts with "select"', "statement of"),
    ('args.query like "SELECT *"', "statement of"),
    ('every args.paths[] like "/proj/*"', "under"),
    ('args.options.url starts with "https://corp.example"', "host of"),
    ('host of args.url ends with "corp.example"', "under"),
    ('host of args.url contains "corp"', "under"),
    ('host of args.url like "*corp.example"', "under"),
    ('domain of args.to ends with "corp.example"', "under"),
    ('every args.files[] has (it.path like "/proj/*")', "under"),
    ('every args.items[] has (it like "/proj/*")', "under"),
    ('args.outfile starts with "out/"', "under"),
    ('args.location like "C:/data/*"', "under"),
    ('args.path != "/etc/passwd"', "under"),
    ('args.file not in ["/etc/passwd", "/etc/shadow"]', "under"),
    ('args.exec starts with "make"', "command of"),
    ('args.line like "pytest*"', "command of"),
    ('args.contact contains any ["@corp.example"]', "domain of"),
]


@pytest.mark.parametrize(("test", "hint"), PLAIN, ids=[test for test, _ in PLAIN])
def test_a_plain_test_of_what_a_facet_reads(test: str, hint: str) -> None:
    """In an allow rule, by the argument's name or by what is asked for; the hint names the facet."""
    found = [one for one in findings(allow(test)) if one.code == "read-by-facet"]
    assert len(found) == 1
    assert hint in found[0].help


@pytest.mark.parametrize(
    "test",
    [
        'args.command contains "rm -rf"',
        'args.command matches "rm +-rf"',
        'args.command == "rm -rf /"',
        'args.path starts with "/etc"',
        'args.path in ["/etc/passwd", "/etc/shadow"]',
        'args.url contains "evil.example"',
        'args.to ends with "@evil.example"',
        'args.sql contains "drop table" ignoring case',
        'args.query matches "(?i)drop"',
        'args.line like "*rm -rf*"',
        'args.command contains any ["rm", "sudo"]',
    ],
)
def test_a_plain_test_that_denies_under_an_open_default(test: str) -> None:
    """Another spelling gets past it, and everything else is allowed."""
    assert "read-by-facet" in codes(deny(test))


@pytest.mark.parametrize(
    "test",
    [
        'any program of args.command == "git"',
        'any program of args.command in ["git", "ls"]',
        'any command of args.command like "git *"',
        'any args.to[] in ["ana@corp.example"]',
        'any path of args.command under "/proj"',
        'any (args.to, args.cc) in ["ana@corp.example"]',
        'not every args.to[] in ["eve@evil.example"]',
    ],
)
def test_one_of_many_is_enough(test: str) -> None:
    """`any` in an allow rule lets the others through."""
    assert "any-in-allow" in codes(allow(test))


@pytest.mark.parametrize(
    "test",
    [
        "args.x missing or args.x given",
        "args.x given or args.y == 1 or args.x missing",
        "args.x == 1 or args.x != 1 or args.x missing",
        "not (args.x given and args.x missing)",
        'args.path under "/"',
        'args.path under "//"',
        'every path of args.command under "/"',
        'args.name like "*"',
        'args.name like "**"',
        'args.name contains ""',
        'args.name starts with ""',
        'args.name matches ".*"',
        'every command of args.command like "*"',
        'address of args.ip under "0.0.0.0/0"',
        'args.name matches ".+"',
        'args.name matches "(?i)^.*$"',
        "args.n < 100 or args.n >= 100",
        "args.n <= 1000 or args.n > 500",
        "args.x != 1 or args.x != 2",
        "not (args.x == 1 and args.x == 2)",
        'every args.items[] has (it.name like "*")',
    ],
)
@pytest.mark.parametrize("subject", ['tool "t"', 'tool "*"', "any step"])
def test_a_test_that_always_holds(test: str, subject: str) -> None:
    """The rule allows whatever its subject names."""
    assert "always-holds" in codes(allow(test, subject))


@pytest.mark.parametrize(
    "test",
    [
        'every program of args.command not in ["rm", "sudo"]',
        'no program of args.command == "rm"',
        'not any command of args.command like "rm *"',
        'host of args.url not in ["evil.example"]',
        'domain of args.to != "evil.example"',
        'args.path not under "/etc"',
        'every command of args.command has (it not like "rm *" and it != "reboot")',
        'no command of args.command has (it like "rm *")',
        'every args.paths[] has (it not under "/etc")',
    ],
)
def test_an_allow_rule_that_only_says_what_may_not_pass(test: str) -> None:
    """Whatever its list leaves out is allowed; beside a test of what may pass it is an exception."""
    assert "deny-list" in codes(allow(test))


@pytest.mark.parametrize("pattern", ["*", "**", "?*", "***"])
def test_a_rule_over_every_tool_without_a_condition(pattern: str) -> None:
    """However its pattern is spelled."""
    assert "allow-everything" in codes(f'{HEAD}rule r {{\n  allow tool "{pattern}"\n}}\n')


ABOVE = 'rule a {{\n  allow {}\n}}\nrule b {{\n  require approval for {}\n  because "x"\n}}\n'
LATE = [
    ('tool "pay"\n  when args.to in ["x"]', 'tool "pay"\n  when args.amount > 100'),
    ('tool "*"\n  when args.dry == true', 'tool "pay"'),
    ('tool "pay_*"\n  when args.amount < 1000', 'tool "pay_out"\n  when args.amount > 100'),
    ('any step\n  when args.to in ["x"]', 'tool "pay", "send"\n  when args.amount > 100'),
    ('tool "pay"\n  when args.amount <= 100', 'tool "pay"\n  when args.amount >= 100'),
]
IN_TIME = [
    ('tool "pay"\n  when args.amount <= 100', 'tool "pay"'),
    ('tool "pay"\n  when args.amount <= 100', 'tool "pay"\n  when args.amount > 100'),
    ('tool "look"\n  when args.x == 1', 'tool "pay"\n  when args.amount > 100'),
    ('tool "pay"\n  when args.to == "a" and args.amount <= 100', 'tool "pay"\n  when args.to == "a"'),
    ('tool "get_*", "list_*"', 'tool "*_event"'),
    ('tool "query"\n  when every statement of args.sql == "select"',
     'tool "query"\n  when any statement of args.sql in ["insert", "update"]'),
]  # fmt: skip


@pytest.mark.parametrize(("above", "below"), LATE)
def test_an_approval_below_a_wider_allow(above: str, below: str) -> None:
    """Those steps are never asked about."""
    assert "late-approval" in codes(HEAD + ABOVE.format(above, below))


@pytest.mark.parametrize(("above", "below"), IN_TIME)
def test_an_approval_of_what_is_left_over(above: str, below: str) -> None:
    """It asks where the rules above it do not allow."""
    assert "late-approval" not in codes(HEAD + ABOVE.format(above, below))


@pytest.mark.parametrize(
    "test",
    [
        'args.path under "/proj"',
        'path of args.path like "/proj/**"',
        'args.path == "/proj/a"',
        'args.title like "Re: *"',
        'args.body contains "thanks"',
        'args.target like "prod-*"',
        'host of args.url under "corp.example"',
        'host of args.url in ["corp.example"] and args.url not contains "/.."',
        'host of args.url ends with ".corp.example"',
        'every program of args.command in ["git"]',
        'any program of args.command == "git" and every program of args.command in ["git", "ls"]',
        'every command of args.command like ["git status", "git log *"] and args.command not contains ";"',
        'every args.to[] in ["ana@corp.example"]',
        'input.request contains "https://corp.example"',
        "args.x == 1 or args.y == 1",
        "args.x missing or args.x == false",
        'args.to matches "[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]){10,30}"',
        'args.to like "DE*"',
        'args.package like "@corp/*"',
        'args.text contains "@channel"',
        'path of args.path under "/proj" and path of args.path not under "/proj/.git"',
        'host of args.url under "corp.example" and host of args.url not in ["hr.corp.example"]',
        "args.n < 100 or args.n > 200",
        'every command of args.command has (it like "cd ?*" and every it matches "[a-z./]+")',
        'every command of args.command has (it like "git *" and it != "git push")',
    ],
)
def test_a_sound_allow_rule_gets_no_warning(test: str) -> None:
    """What is read by its facet, exact, or prose."""
    assert codes(allow(test) if "path" not in test else allow(test).replace(HEAD, f'{HEAD}workdir "/proj"\n')) == set()


SCHEMAS = [
    ToolSchema("send_mail", {
        "type": "object",
        "properties": {"to": {"type": "string"}, "body": {"type": "string"}, "bcc": {"type": "array"},
                       "headers": {"type": "object"}},
        "required": ["to", "body"],
    }),
    ToolSchema("fetch", {"type": "object", "properties": {"url": {"type": "string"}, "method": {"type": "string"}},
                   "required": ["url"]}),
    ToolSchema("any", {}),
]  # fmt: skip


def told(text: str) -> list[tuple[str, str]]:
    bundle, mistakes = parse_bundle(Source(text))
    assert mistakes == []
    return [(str(one.code), one.severity.value) for one in check_tools(bundle, SCHEMAS)]


@pytest.mark.parametrize(
    ("subject", "test", "warns"),
    [
        ('tool "send_mail"', "args.to given", True),
        ('tool "fetch"', 'host of args.url == "corp.example"', True),
        ('tool "send_mail"', "args.to given and args.bcc missing", True),
        ('tool "send_mail"', 'args.to given and every key of args in ["to", "body"]', False),
        ('tool "send_mail"', 'args.to given and any key of args == "to"', True),
        ('tool "send_mail"', 'args.to given and no args.* contains "x"', False),
        ('tool "send_mail"', "args.to given and args.bcc missing and args.headers missing", False),
        ('tool "send_mail"', 'every (args.to, args.bcc) has (it == "a@corp.example") and args.headers missing', False),
        ('tool "send_mail"', 'every text of args == "a"', False),
        ('tool "any"', "args.x == 1", False),
    ],
)
def test_optional_arguments_that_nobody_looks_at(subject: str, test: str, warns: bool) -> None:
    """With the tools' schemas: a call that brings them along is allowed."""
    assert (("open-arguments", "warning") in told(allow(test, subject))) is warns


def test_a_rule_that_looks_at_nothing_means_all_arguments() -> None:
    """It allows the tool as it is."""
    assert told(f'{HEAD}rule r {{\n  allow tool "send_mail"\n}}\n') == []


@pytest.mark.parametrize("pattern", ["sendmail", "mail_*"])
def test_a_deny_rule_that_names_no_tool_is_an_error(pattern: str) -> None:
    """It stops nothing; of a rule that allows or asks it is a warning."""
    assert told(f'{OPEN}rule r {{\n  deny tool "{pattern}"\n  because "x"\n}}\n') == [("unknown-tool", "error")]
    assert told(f'{HEAD}rule r {{\n  allow tool "{pattern}"\n}}\n') == [("unknown-tool", "warning")]
    asks = f'{HEAD}rule r {{\n  require approval for tool "{pattern}"\n  because "x"\n}}\n'
    assert told(asks) == [("unknown-tool", "warning")]


FAULTS = {
    "syntax": "  deny tool \"a\" when args.x === 1\n",
    "unknown-name": '  deny tool "b" when args.x in nams\n  because "x"\n',
    "misplaced-clause": '  deny tool "c"\n  quorum 2\n  because "x"\n',
    "unknown-facet": '  deny tool "d" when hots of args.x == 1\n  because "x"\n',
    "unreachable": '  deny tool "never"\n  because "x"\n',
    "wrong-type": '  deny tool "f" when args.x < "5"\n  because "x"\n',
    "never-holds": '  deny tool "g" when args.y == 1 and args.y == 2\n  because "x"\n',
    "read-by-facet": '  allow tool "h" when args.path like "/proj/*"\n',
    "bad-regex": '  deny tool "i" when args.x matches "("\n  because "x"\n',
    "no-because": '  deny tool "j"\n',
    "late-deny": '  deny tool "z1" when args.q == 1\n  because "x"\n',
}  # fmt: skip


@pytest.mark.parametrize("left_out", [None, *FAULTS])
def test_a_fault_hides_no_other(left_out: str | None) -> None:
    """Each rule's finding is there, whichever of the others are."""
    first = 'rule top {\n  deny tool "never"\n  because "x"\n}\nrule z {\n  allow tool "z*" when args.p == 1\n}\n'
    chosen = {code: body for code, body in FAULTS.items() if code != left_out}
    rules = "".join(f"rule r{number} {{\n{body}}}\n" for number, body in enumerate(chosen.values()))
    bundle, mistakes = parse_bundle(Source(HEAD + first + rules))
    found = {str(one.code) for one in [*mistakes, *check_bundle(bundle)]}
    assert [code for code in chosen if code not in found] == []
    assert left_out not in found
