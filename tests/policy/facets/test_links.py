"""Every link of a text is seen, and one that readers end at different places is in doubt."""

from time import process_time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebuno.policy.compile import compile_policy
from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.facets.reading import PathContext, UncertainText
from rebuno.policy.facets.url.facets import FACETS
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.syntax.source import Source
from rebuno.policy.values.json_values import UNREADABLE

AROUND = PathContext()
LINK = next(facet for facet in FACETS if facet.name == "link")
HOST = next(facet for facet in FACETS if facet.name == "host")


def hosts(text: str) -> list[Any]:
    return [HOST.read(link, AROUND) for link in LINK.read(text, AROUND)]


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("no link here, e.g. and/or 1.2/3", []),
        ("use https: always; see report.pdf? // a comment.", []),
        ("the network 10.0.0.0/8, the file src/main.py", []),
        ("javascript:alert(1) data:text/html,x mailto:ana@corp.example", []),  # no link to a place
        ("see https://corp.example/a.", ["https://corp.example/a"]),  # the end of a sentence
        ("(https://corp.example/x_(y))", ["https://corp.example/x_(y)"]),  # brackets of its own
        ("[a](https://a.example/x),[b](https://b.example/y)", ["https://a.example/x", "https://b.example/y"]),
        ("https://a.example/x,https://b.example/y", ["https://a.example/x,https://b.example/y", "https://b.example/y"]),
        ("https://a.example/?n=https://b.example/", ["https://a.example/?n=https://b.example/", "https://b.example/"]),
        ('<a href="https://corp.example/x">y</a>', ["https://corp.example/x"]),
        ("<b>https://corp.example/x</b>", ["https://corp.example/x"]),
        ("<https://corp.example/x|label>", ["https://corp.example/x"]),
        ("“https://corp.example/x”", ["https://corp.example/x"]),
        ("HTTPS://Corp.Example:443/A", ["https://corp.example/A"]),  # the usual form
        ("https://corp.example/a https://corp.example/a", ["https://corp.example/a"]),  # once
        ("www.corp.example and _www.b.example/x_", ["www.corp.example/", "www.b.example/x"]),
        ("ftp://a.example/x wss://b.example/y", ["ftp://a.example/x", "wss://b.example/y"]),
        ("slack://open?x=1", ["slack://open?x=1"]),  # any scheme
    ],
)
def test_links(text: str, links: list[str]) -> None:
    """Links are found where people and programs put them, without what is around them."""
    assert LINK.read(text, AROUND) == links


@pytest.mark.parametrize(
    "text",
    [
        "![x](//evil.example/?d=secret)",  # no scheme
        "<img src=\\\\evil.example\\x>",  # a share
        "evil.example/?d=secret",  # a name and a query
        "evil.example?d=secret",
        "corp.example@evil.example/secret",  # behind what looks like a user, or an address
        "a:b@evil.example/x",
        "a@evil.example:8080/x",
        "a@evil.example?q=1",
        "a@203.0.113.5/x",
        "evil\u3002example/x",  # dots that browsers read as dots
        "evil\uff0eexample/x",
        "see evil.example/secret.",
        "203.0.113.5/?d=secret",
        "https:/evil.example/",  # too few slashes
        "https:evil.example",
        "http:\\\\evil.example\\x",
        '{"u": "https:\\/\\/evil.example\\/x"}',  # escaped slashes
        "https://corp.example\\@evil.example/",
        "https://a@corp.example@evil.example/",
        "https&#58;//evil.example/x",  # as HTML writes it
        "https://evil&#46;example/x",
        "https://evil.example\u200b.corp.example/",  # nothing to see
        "https://corp.example请看",  # a word that follows without a blank
        "https://corp.example，请看",
        "https://evil.example“x”.corp.example",
    ],
)
def test_doubt(text: str) -> None:
    """A link that is no plain URL is there, and its host is in doubt."""
    assert hosts(text) == [UNREADABLE]


@pytest.mark.parametrize(
    "text",
    [
        '<a href="https:/\n/evil.example/x">y</a>',  # browsers drop line breaks and tabs
        '<a href="https:/\r\n/evil.example/x">y</a>',
        "<a href='h\nttps:/\t/evil.example/x'>y</a>",
        '<img src = "h\rttps:/\r/evil.example/x">',
        '<a href="&#104;ttps:&#47;&#47;evil.example/x">',  # and read references
        '<a href="&#x68ttps&#x3a;&#x2F;&#x2F;evil.example">',
        '<a href="https&colon;&sol;&sol;evil.example/x">',
        '<a href="https:&NewLine;/&Tab;/evil.example/x">',
        '<a href="ht&#9;tps:&sol;/evil.example/x">',
        "[x](https&colon;&sol;&sol;evil.example/x)",  # in Markdown too
        "evil&period;example/x",
        "www&#46;evil.example",
        "\\\\evil&period;example\\x",
        "background:url(\\68 ttps:/\\/evil.example/x)",  # a style sheet
        "@import 'ht\\74ps:\\2f\\2f evil.example'",
        '<a href="https://corp.example/x&sol;..&sol;y">',
    ],
)
def test_links_that_only_markup_shows(text: str) -> None:
    """A link that a mail program shows, and that does not stand in the text as it is, is in doubt."""
    assert UNREADABLE in hosts(text)


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("<p>R&amp;D &lt;b&gt; &euro; 5</p> see https://corp.example/x", ["https://corp.example/x"]),
        ('<a class="b\n c" href="https://corp.example/x">y</a>', ["https://corp.example/x"]),
        ("https://corp.example/?a=1&copy=2&amount=3", ["https://corp.example/?a=1&copy=2&amount=3"]),
        ("a = 'b\nc'; url(x) and C:\\Windows", []),
        ('x = "a"\nsee www.corp.example\ny = "b"', ["www.corp.example/"]),
    ],
)
def test_plain_markup(text: str, links: list[str]) -> None:
    """Markup that hides no link leaves the links sure."""
    assert LINK.read(text, AROUND) == links


@pytest.mark.parametrize(
    "link",
    [
        "https://corp.example/secret/../a",
        "https://corp.example/secret/%2e%2e/a",
        "https://corp.example/secret/.%2E/a",
        "https://corp.example/./a",
        "https://corp.example/%2e/a",
        "https://corp.example/a/..?x",
        "https://corp.example/100%/a",
        "https://corp.example/%zz",
        "https://corp.example/?a=%",
        "www.corp.example/x/../y",
    ],
)
def test_a_path_that_clients_send_differently(link: str) -> None:
    """The host of such a URL is sure, and whether it is a certain link is not."""
    assert HOST.read(link, AROUND) in ("corp.example", "www.corp.example")
    (found,) = LINK.read(link, AROUND)
    assert isinstance(found, UncertainText)
    assert found.json() == link
    assert LINK.find is not None
    assert list(LINK.find(link, AROUND)) == []


@pytest.mark.parametrize(
    ("test", "text", "answer"),
    [
        ('any link of args.t == "https://evil.example/x"', "https:\\\\evil.example/x", None),
        ('any link of args.t in ["https://evil.example/x"]', "see //evil.example/x", None),
        ('any link of args.t like "*evil*"', "see https:/evil.example/x", None),
        ('any link of args.t under "evil.example"', "see https&#58;//evil.example/x", None),
        ('every link of args.t == "https://corp.example/x"', "https://corp.example/y/../x", None),
        ('any link of args.t == "myapp://open"', "see myapp://open", True),
        ('any link of args.t == "myapp://open"', "see myapp://close", False),
        ('any link of args.t under "open"', "see myapp://open", None),
    ],
)
def test_what_is_asked_of_a_link_in_doubt(test: str, text: str, answer: bool | None) -> None:
    """A link that programs read differently is neither this one nor surely another: a deny rule fires, no allow rule
    does."""
    source = f'bundle b\ndefault deny\nrule yes {{\n  allow tool "x"\n  when {test}\n}}\n'
    source += f'rule no {{\n  deny tool "x"\n  when {test}\n}}\n'
    facts = Facts("tool_call", "x", {"t": text})
    policy = compile_policy([Source(source, "b.rbp")])
    decided = policy.decide(facts)
    assert decided.rule_id == {True: "yes", None: "no", False: "default"}[answer]
    assert explain_decision(policy, facts).decision.rule_id == decided.rule_id


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        ("https://corp.example", True),
        ("See https://corp.example\nBest regards", True),
        ('He said "go to https://corp.example".', True),
        ("(https://corp.example)", True),
        ("[https://corp.example](https://corp.example)", True),
        ("`https://corp.example`", True),
        ("<https://corp.example|label>", True),
        ('<a href="https://corp.example">x</a>', True),
        ("**https://corp.example**!", True),
        ("<b>https://corp.example</b>", True),
        ("see https://corp.example, please", True),
        ('<a href="https://corp.example\n.evil.example/">', False),  # browsers drop line breaks
        ('<a href=" https://corp.example\tx.evil.example/">', False),
        ('<a href=" https://corp.example\'@evil.example/">', False),  # and take this for credentials
        ("<a href='https://corp.example\"@evil.example/'>", False),
        ("<a href=https://corp.example'@evil.example/>", False),
        ("<a href=https://corp.example<@evil.example/>", False),
        ('<a href="https://corp.example @evil.example/">', False),
    ],
)
def test_where_a_host_ends(text: str, sure: bool) -> None:
    """A link without a path is in doubt where a browser might read on after its host."""
    assert set(hosts(text)) == {"corp.example"} if sure else hosts(text)[0] is UNREADABLE


def test_what_a_user_wrote() -> None:
    """Sought in a text are only the links and hosts that are sure."""
    text = "see https://corp.example/a, www.b.example, evil.example/x and //c.example/x"
    assert LINK.find is not None
    assert HOST.find is not None
    assert list(LINK.find(text, AROUND)) == ["https://corp.example/a", "www.b.example/"]
    assert list(HOST.find(text, AROUND)) == ["corp.example", "www.b.example"]


@pytest.mark.parametrize(
    "value",
    [
        1,
        ["https://corp.example"],
        {"a": "https://corp.example"},
        "https://corp.example \ud800",
        "x" * ((1 << 20) + 1),  # beyond the bound
    ],
)
def test_unreadable(value: Any) -> None:
    """What is no text, or too long a one, has no set of links."""
    assert LINK.read(value, AROUND) is UNREADABLE


@given(
    st.lists(
        st.sampled_from(
            [
                "https://",
                "corp.example",
                "/",
                "\\",
                "@",
                '"',
                "(",
                ")",
                "=",
                " ",
                "\n",
                "//",
                "www.",
                "?",
                ".",
                "é",
                "[",
                "]",
                "<",
                ">",
                ":",
                "a",
                "％",
                "\u200b",
            ]
        )
    )
)
@settings(max_examples=300, deadline=None)
def test_finds_in_anything(parts: list[str]) -> None:
    """No text makes the finder raise, and the host of a link that is sure is found again where the link stands alone.

    Its end need not be: whether a bracket belongs to a link depends on what stands before it.
    """
    for link in LINK.read("".join(parts), AROUND):
        host = HOST.read(link, AROUND)
        if host is not UNREADABLE:
            assert host in [HOST.read(again, AROUND) for again in LINK.read(link, AROUND)]


@pytest.mark.parametrize(
    "part", ["https://a.b/ ", "https://", "//a.b", "a.", "a.bc/", 'https://a"@', "[https://a", "(", "_a", "é"]
)
def test_linear(part: str) -> None:
    """The longest text takes a few seconds at most, whatever stands in it."""
    text = (part * ((1 << 20) // len(part) + 1))[: 1 << 20]
    start = process_time()
    assert LINK.read(text, AROUND) is not UNREADABLE
    assert process_time() - start < 5
