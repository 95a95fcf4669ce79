"""Where a value of the user's words is a whole word for sure, and where it may be a part of another one."""

import pytest

from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.matcher.facts import Facts, History
from rebuno.policy.values.json_values import Tri
from tests.policy.bundles import again, policy_of

TOOL = "tool_call"

# Quotes, apostrophes, backticks and braces between two letters or digits.
INSIDE_WORDS = [
    ("Send the offer to o'neil@gmail.com", "neil@gmail.com"),
    ("to o’neil@gmail.com", "neil@gmail.com"),
    ("to o‘neil@gmail.com", "neil@gmail.com"),
    ("to o`neil@gmail.com", "neil@gmail.com"),
    ("to o´neil@gmail.com", "neil@gmail.com"),
    ('to o"neil@gmail.com', "neil@gmail.com"),
    ("to o“neil@gmail.com", "neil@gmail.com"),
    ("to o{neil@gmail.com", "neil@gmail.com"),
    ("to o}{neil@gmail.com", "neil@gmail.com"),
    ("to o''neil@gmail.com", "neil@gmail.com"),
    ("to o\\'neil@gmail.com", "neil@gmail.com"),
    ("to o.'neil@gmail.com", "neil@gmail.com"),
    ("to o'\u200b'neil@gmail.com", "neil@gmail.com"),
    ("to e\u0301'neil@gmail.com", "neil@gmail.com"),
    ("to ö«neil@gmail.com", "neil@gmail.com"),
    ("to 9›neil@gmail.com", "neil@gmail.com"),
    ("pay Bob's invoice", "Bob"),
    ("pay bob`x", "bob"),
    ("pay bob.'x@y.example", "bob"),
    ("pay bob}x", "bob"),
    ("read /etc/o'neil", "/etc/o"),
    ("{a'b}", "b"),
    ("to o「neil@gmail.com", "neil@gmail.com"),
    ("to neil@gmail.com』x", "neil@gmail.com"),
    ("x" + "'" * 100 + "bob", "bob"),
]
WHOLE = [
    ("'bob'", "bob"),
    ("“bob”, please", "bob"),
    ("(bob)", "bob"),
    ("{bob}", "bob"),
    ("`bob`.", "bob"),
    ("to='bob'", "bob"),
    ("say: 'bob'!", "bob"),
    ("alice<a@x.example>", "a@x.example"),
    ("o'neil@gmail.com", "o'neil@gmail.com"),
    ("Bob's and Bob", "Bob"),  # another place is sure
    ("to 'ana@x.example','bob@x.example'", "ana@x.example"),  # lists without blanks
    ('["ana@x.example","bob@x.example"]', "ana@x.example"),
    ('"ana";"bob"', "ana"),
    ("送信先は「bob@x.example」です", "bob@x.example"),  # a script without blanks
]
# Groups of a number that is written in groups.
GROUPS = [
    ("DE75 5121 0800", "0800"),
    ("DE75 5121 0800", "5121"),
    ("DE75 5121 0800", "5121 0800"),
    ("card 4111\u00a01111\u202f1111\u20091111", "1111"),
    ("card 4111  1111", "4111"),
    ("pay 1,100", "100"),
    ("pay 1;100", "100"),
    ("call (030) 901820", "901820"),
    ("call 030 (90) 18", "18"),
    ("IBAN FR14 2004 000M 02606", "02606"),
    ("IBAN GB29 NWBK 6016", "6016"),
    ("call +49 800 1234", "800"),
    ("٠٨٠٠ ١٢٣٤", "١٢٣٤"),
    ("to DE89 3704 0044 0532 0130 00", "DE89 3704 0044 0532 0130"),  # an account without its last groups
    ("to DE89 3704 0044 0532 0130 00", "DE89 3704"),
    ("IBAN GB29 NWBK 6016 1331", "GB29 NWBK 6016"),
    ("IBAN MT84 MALT 0110 0001 2345 MTLC AST0 01S", "MT84 MALT 0110 0001 2345 MTLC"),
    ("FR14 2004 1010 0505 0001 3M02 606", "FR14 2004 1010 0505 0001"),
]
SINGLE = [
    ("account 12345678, please", "12345678"),
    ("accounts 1234, 5678 and 9012", "5678"),
    ("accounts\n12345678\n87654321", "12345678"),
    ("pay 50 EUR to 1234 now", "1234"),
    ("DE75 5121 0800", "DE75"),
    ("DE75 5121 0800", "DE75 5121 0800"),
    ("Pay 50 EUR to DE89 3704 0044 0532 0130 00", "DE89 3704 0044 0532 0130 00"),
    ("DE89 3704 0044 0532 0130 00 50 EUR", "DE89 3704 0044 0532 0130 00"),
    ("AT61 1904 3002 3457 3201 then rest", "AT61 1904 3002 3457 3201"),
]


def ask(text: str, value: object, predicate: str = "args.v in k") -> Tri:
    """What `in` says of a value and the user's words: by both evaluators, which must agree."""
    policy = policy_of(
        f"known k = input\nrule sure {{ allow any step when {predicate} }}\n"
        f"rule perhaps {{ deny any step when {predicate} }}"
    )
    facts = Facts(TOOL, "t", {"v": value}, input={"request": text})
    decided = policy.decide(facts).rule_id
    assert explain_decision(policy, again(facts)).decision.rule_id == decided
    return {"sure": True, "perhaps": None}.get(decided, False)


@pytest.mark.parametrize(("text", "value"), [*INSIDE_WORDS, *GROUPS])
def test_what_may_be_a_part_of_a_word_is_maybe(text: str, value: str) -> None:
    """No allow rule takes a part of a word or of a number for the whole, and no deny rule overlooks it."""
    assert ask(text, value) is None
    assert ask(text, value, "args.v in k ignoring case") is None


@pytest.mark.parametrize(("text", "value"), [*WHOLE, *SINGLE])
def test_what_stands_alone_is_sure(text: str, value: str) -> None:
    """Quotes around a value, lists and lines are edges."""
    assert ask(text, value) is True


@pytest.mark.parametrize(("text", "value"), [*INSIDE_WORDS, *GROUPS])
def test_many_searches_of_one_input_say_the_same(text: str, value: str) -> None:
    """The index that a text gets after many searches knows the same edges."""
    policy = policy_of("known k = input\nrule sure { allow any step when args.v in k }")
    history, given = History(), {"request": text}
    for number in range(80):
        policy.decide(Facts(TOOL, "t", {"v": f"no{number}"}, input=given, history=history))
    assert policy.decide(Facts(TOOL, "t", {"v": value}, input=given, history=history)).rule_id == "default"


@pytest.mark.parametrize(
    ("text", "predicate", "value"),
    [
        ("to o’neil@gmail.com", "email of args.v in k", "neil@gmail.com"),
        ("to o“neil@gmail.com", "email of args.v in k", "neil@gmail.com"),
        ("to o\\'neil@gmail.com", "email of args.v in k", "neil@gmail.com"),
        ("read o'neil/secret", "path of args.v in k", "neil/secret"),
        ("read o'neil/key.pem", "name of args.v in k", "key.pem"),
        ("open https://corp.example/o'neil", "link of args.v in k", "https://corp.example/o"),
        ("open https://corp.example’s.evil.example/", "host of args.v in k", "https://corp.example/"),
        ("pay o'500 now", "args.v in k", 500),
        ("pay o'500 now", "number of args.v in k", 500),
        ("on x'2025-05-05", "date of args.v in k", "2025-05-05"),
    ],
)
def test_facets_know_the_same_edges(text: str, predicate: str, value: object) -> None:
    """What a facet finds in the user's words is no more certain than the word that it is cut off."""
    quantifier = "every " if predicate.startswith(("email", "link")) else ""
    assert ask(text, value, quantifier + predicate) is not True


@pytest.mark.parametrize(
    ("text", "predicate", "value"),
    [
        ("to 'neil@gmail.com', please", "every email of args.v in k", "neil@gmail.com"),
        ("to “neil@gmail.com”", "every email of args.v in k", "neil@gmail.com"),
        ("open 'https://corp.example/o'", "every link of args.v in k", "https://corp.example/o"),
        ("pay '500'", "args.v in k", 500),
        ("read 'a/b'", "path of args.v in k", "a/b"),
    ],
)
def test_facets_find_what_is_quoted(text: str, predicate: str, value: object) -> None:
    """Quotes around an address, a link, a number or a path take nothing away."""
    assert ask(text, value, predicate) is True
