"""A mail address has one domain, or it is in doubt; in a text every address is seen."""

from time import process_time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebuno.policy.facets.mail import FACETS
from rebuno.policy.facets.reading import PathContext, UncertainText
from rebuno.policy.values.json_values import UNREADABLE

AROUND = PathContext()
DOMAIN = next(facet for facet in FACETS if facet.name == "domain")
EMAIL = next(facet for facet in FACETS if facet.name == "email")


@pytest.mark.parametrize(
    ("address", "domain"),
    [
        ("ana@corp.example", "corp.example"),
        ("Ana.B+x@Corp.EXAMPLE", "corp.example"),
        ("ana@corp.example.", "corp.example"),  # a dot at the end
        ("ana@mail.corp.example", "mail.corp.example"),
        ("ana@corp.example.evil.example", "corp.example.evil.example"),
        ("ana@bücher.example", "xn--bcher-kva.example"),
        ("ana@xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("änne@corp.example", "corp.example"),
        ("o'brien@corp.example", "corp.example"),
        ("root@localhost", "localhost"),
        ("Ana <ana@corp.example>", UNREADABLE),  # a display name
        ('"ana@corp.example" <x@evil.example>', UNREADABLE),
        ("<ana@corp.example>", UNREADABLE),
        ("ana@corp.example,x@evil.example", UNREADABLE),  # a list in one string
        ("ana@corp.example; x@evil.example", UNREADABLE),
        ("ana@corp.example x@evil.example", UNREADABLE),
        ('"a b"@corp.example', UNREADABLE),  # quotes
        ("x@evil.example@corp.example", UNREADABLE),  # two `@`
        ("x%evil.example@corp.example", UNREADABLE),  # passed on by old servers
        ("evil.example!x@corp.example", UNREADABLE),
        ("ana(x)@corp.example", UNREADABLE),  # a comment
        (" ana@corp.example", UNREADABLE),
        ("ana@corp.example\n", UNREADABLE),
        ("ana@corp.example\r\nBcc: x@evil.example", UNREADABLE),
        ("ana@corp.example\x00", UNREADABLE),
        ("mailto:ana@corp.example", UNREADABLE),
        ("=?utf-8?q?x=40evil.example=3e?=@corp.example", UNREADABLE),  # decoded by some servers
        ("ana＠corp.example", UNREADABLE),  # a wide `@`
        ("ana@corp。example", UNREADABLE),  # another dot
        ("ana@сorp.example", UNREADABLE),  # a Cyrillic letter among Latin ones
        ("ana@corp.example\u200b", UNREADABLE),
        ("ana@[10.0.0.1]", UNREADABLE),  # an address of another kind
        ("ana@10.0.0.1", UNREADABLE),
        ("ana@::1", UNREADABLE),
        ("ana@corp..example", UNREADABLE),
        ("ana..b@corp.example", UNREADABLE),
        ("@corp.example", UNREADABLE),
        ("ana@", UNREADABLE),
        ("ana", UNREADABLE),
        ("", UNREADABLE),
        ("x" * 400 + "@corp.example", UNREADABLE),  # longer than mail allows
        ("\ud800@corp.example", UNREADABLE),
        (["ana@corp.example"], UNREADABLE),
        (5, UNREADABLE),
    ],
)
def test_domain(address: Any, domain: Any) -> None:
    """Exactly one bare address has a domain."""
    assert DOMAIN.read(address, AROUND) == domain


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("nobody: @ana, me@home, react@18.2.0, a @ b", []),
        ("Write to Ana@Corp.Example, ben@b.example.", ["Ana@corp.example", "ben@b.example"]),
        ("ana@corp.example ana@corp.example", ["ana@corp.example"]),  # once
        ("Ana <ana@corp.example>", ["ana@corp.example"]),
        ("'ana@corp.example' “ben@b.example”", ["ana@corp.example", "ben@b.example"]),
        ("**ana@corp.example** ana@corp.example's", ["ana@corp.example"]),
        ("o'brien@corp.example", ["o'brien@corp.example"]),
        ("https://corp.example@evil.example/", ["corp.example@evil.example"]),
        ("mailto:a@corp.example?bcc=x@evil.example",
         ["a@corp.example", "bcc=x@evil.example", "x@evil.example"]),  # either may be meant
        ("a@b.example/c@d.example", ["a@b.example", "c@d.example"]),
        ("ana@bücher.example", ["ana@xn--bcher-kva.example"]),
    ],
)  # fmt: skip
def test_addresses(text: str, addresses: list[str]) -> None:
    """Addresses are found without what is around them."""
    assert EMAIL.read(text, AROUND) == addresses


@pytest.mark.parametrize(
    "text",
    [
        '"a b"@evil.example',  # quotes
        "ana(corp)@evil.example",  # a comment
        "ana@corp.example@evil.example",  # two `@`
        "ana＠evil.example",  # a wide `@`
        "ana%evil.example@corp.example",
        "ana@corp.example%2eevil.example",
        "ana@corp.example\u200b.evil.example",  # nothing to see
        "ana@[203.0.113.5]",
        "请写ana@evil.example。谢谢",  # no blanks
    ],
)
def test_doubt(text: str) -> None:
    """An address that is no plain one is there, and its domain is in doubt."""
    assert [DOMAIN.read(found, AROUND) for found in EMAIL.read(text, AROUND)] == [UNREADABLE]


@pytest.mark.parametrize(
    "text",
    [
        "write to eve&#64;evil.example",
        "write to eve&commat;evil.example",
        "eve@evil&period;example",
        '<a href="mailto:eve@ev\nil.example">',
    ],
)
def test_addresses_that_only_markup_shows(text: str) -> None:
    """An address that a mail program shows, and that does not stand in the text as it is, is in doubt."""
    assert UNREADABLE in [DOMAIN.read(found, AROUND) for found in EMAIL.read(text, AROUND)]


@pytest.mark.parametrize(
    ("text", "unsure"),
    [
        ("x@evil.example@corp.example", "x@evil.example@corp.example"),
        ("ana%evil.example@corp.example", "ana%evil.example@corp.example"),
    ],
)
def test_an_address_in_doubt_is_none_for_sure(text: str, unsure: str) -> None:
    """Nothing that is asked of such an address is a yes or a no, and a trace shows it."""
    (found,) = EMAIL.read(text, AROUND)
    assert found == UncertainText(unsure)
    assert found.json() == unsure
    assert EMAIL.under is not None
    assert found.under("corp.example") is None


@pytest.mark.parametrize("line", ["\r\n", "\n", "\r", "\t", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"])
@pytest.mark.parametrize(
    "address", ["{}ana@corp.example", "ana{}@corp.example", "ana@corp.example{}", "ana@{}corp.example"]
)
def test_line_breaks(address: str, line: str) -> None:
    """A value with a line break anywhere, also at its end, may begin another header."""
    assert DOMAIN.read(address.format(line), AROUND) is UNREADABLE


@pytest.mark.parametrize(
    ("email", "domain", "answer"),
    [
        ("ana@corp.example", "Corp.Example", True),
        ("ana@mail.corp.example", "corp.example", True),
        ("ana@notcorp.example", "corp.example", False),
        ("ana@corp.example.evil.example", "corp.example", False),
        ("ana@x@corp.example", "corp.example", None),
    ],
)
def test_under(email: str, domain: str, answer: bool | None) -> None:
    """An address lies under a domain with whole labels."""
    assert EMAIL.network is not None
    assert EMAIL.under is not None
    assert EMAIL.under(email, EMAIL.network(domain, AROUND)) is answer


@pytest.mark.parametrize(
    ("literal", "said"),
    [
        ("@corp.example", "write `corp.example`"),
        ("ana@corp.example", "after the `@`"),
        ("*.corp.example", 'write `under "corp.example"`'),
        ("corp example", "no host"),
        ("10.0.0.1", "no domain of mail"),
        (5, "a number is no domain"),
    ],
)
def test_bad_domain(literal: Any, said: str) -> None:
    """A right side that is no domain is refused, with what to write."""
    with pytest.raises(ValueError, match=r"^[^A-Z]") as error:
        DOMAIN.literal(literal, AROUND)
    assert said in str(error.value)


@pytest.mark.parametrize("literal", ["Ana <ana@corp.example>", "ana", 5, ""])
def test_bad_address(literal: Any) -> None:
    """A right side that is not one address is refused."""
    with pytest.raises(ValueError, match="write it alone"):
        EMAIL.literal(literal, AROUND)


def test_literals() -> None:
    """Domains and addresses may be written in any case and alphabet."""
    assert DOMAIN.literal("Bücher.Example.", AROUND) == "xn--bcher-kva.example"
    assert EMAIL.literal("Ana@Bücher.Example", AROUND) == "Ana@xn--bcher-kva.example"


def test_what_a_user_wrote() -> None:
    """Sought in a text are only the addresses that are sure."""
    text = "ask ana@Corp.Example or x@y@evil.example"
    assert EMAIL.find is not None
    assert DOMAIN.find is not None
    assert list(EMAIL.find(text, AROUND)) == ["ana@corp.example"]
    assert list(DOMAIN.find(text, AROUND)) == ["corp.example"]


@pytest.mark.parametrize("value", [1, ["ana@corp.example"], {}, "ana@corp.example \ud800", "x" * ((1 << 20) + 1)])
def test_unreadable(value: Any) -> None:
    """What is no text, or too long a one, has no set of addresses."""
    assert EMAIL.read(value, AROUND) is UNREADABLE


@given(st.text(alphabet="ab@.,\"'()<>[]%=/?* \n\u200b＠é。\\-_1"))
@settings(max_examples=300, deadline=None)
def test_anything(text: str) -> None:
    """No text makes a facet raise, and a domain that is read is read again as it is given."""
    domains = [DOMAIN.read(text, AROUND), *(DOMAIN.read(email, AROUND) for email in EMAIL.read(text, AROUND))]
    for domain in domains:
        if domain is not UNREADABLE:
            assert DOMAIN.literal(domain, AROUND) == domain


@pytest.mark.parametrize("part", ["a", "@", "a@b.example ", "a@b.c@", "a=", "=@", '"@b.example', "a.", "＠", "é@é.é "])
def test_linear(part: str) -> None:
    """The longest text takes a few seconds at most, whatever stands in it."""
    text = (part * ((1 << 20) // len(part) + 1))[: 1 << 20]
    start = process_time()
    assert EMAIL.read(text, AROUND) is not UNREADABLE
    assert process_time() - start < 5
