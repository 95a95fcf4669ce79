"""Whether a tool can be shown never to be allowed: a no is certain."""

import pytest

from rebuno.policy import Facts, Source, compile_policy, may_allow, permissive_policy

DEFAULT = 'default deny because "x"\n'
OPEN = "default allow\n"


def allowed(*rules: str) -> bool:
    """Whether layers with these texts may let `mail.send` be called."""
    sources = [Source(f"bundle b{at}\n{text}", stem=f"b{at}") for at, text in enumerate(rules)]
    return may_allow(compile_policy(sources), "mail.send")


@pytest.mark.parametrize(
    ("text", "may"),
    [
        (DEFAULT, False),
        (OPEN, True),
        (DEFAULT + 'rule a { allow tool "mail.send" }', True),
        (DEFAULT + 'rule a { allow tool "mail.*" }', True),
        (DEFAULT + "rule a { allow any step }", True),
        (DEFAULT + 'let t = ["mail.send"]\nrule a { allow tool t }', True),
        (DEFAULT + 'rule a { require approval for tool "mail.send" }', True),
        (DEFAULT + 'rule a { allow tool "mail.count" }', False),
        (DEFAULT + 'rule a { allow llm "mail.send" }', False),
        (DEFAULT + 'rule a { allow tool "mail.send" when args.n > 3 and args.n < 2 }', False),
        (DEFAULT + 'rule a { allow tool "mail.send" when args.n > 3 or args.n < 2 }', True),
        (DEFAULT + 'rule d { deny tool "mail.*" }\nrule a { allow tool "*.send" }', False),
        (DEFAULT + 'rule d { deny tool "mail.*" when args.n > 2 }\nrule a { allow tool "mail.send" }', True),
        (DEFAULT + 'rule a { allow tool "mail.send" }\nrule d { deny tool "mail.*" }', True),
        (OPEN + 'rule d { deny tool "mail.*" }', False),
        (OPEN + 'rule d { deny tool "mail.*" unless args.n == 1 }', True),
    ],
)
def test_one_bundle(text: str, may: bool) -> None:
    """The first rule that always decides ends the search, and so does one that may allow."""
    assert allowed(text) is may


def test_every_layer_must_let_it_pass() -> None:
    """The strictest wins."""
    send = DEFAULT + 'rule a { allow tool "mail.send" }'
    assert allowed(send, OPEN)
    assert not allowed(send, DEFAULT)
    assert not allowed(OPEN + 'rule d { deny tool "mail.*" }', send)


def test_the_permissive_policy_allows_everything() -> None:
    """It has no bundle."""
    assert may_allow(permissive_policy(), "mail.send")


@pytest.mark.parametrize("value", [0, 1, 2, 3, 4, None, "2"])
def test_a_no_is_certain(value: object) -> None:
    """What is shown never to be allowed is denied for every argument that is tried."""
    text = f'bundle b\n{DEFAULT}rule a {{ allow tool "mail.send" when args.n > 3 and args.n < 2 }}'
    policy = compile_policy([Source(text, stem="b")])
    assert not may_allow(policy, "mail.send")
    assert policy.decide(Facts("tool_call", "mail.send", {"n": value})).verdict.value == "deny"
