"""`secret`: where it may stand, what it seals, and what the checker says of it."""

import json

import pytest

from rebuno.errors import BundleError
from rebuno.policy import (
    SealedPlaces,
    Source,
    check_bundle,
    compile_policy,
    compile_text,
    diff_bundles,
    dump_ast,
    format_bundle,
    load_ast,
    parse_bundle,
    read_tools,
    sealed_places,
)
from rebuno.policy.check.layers import check_layers
from rebuno.policy.check.tools import check_tools
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.diagnostics import Code
from rebuno.policy.syntax.keywords import RESERVED_WORDS

HEAD = "bundle shop\ndefault deny\n"
VAULT = HEAD + (
    'secret tool "login" at args.password, result.token\n'
    'secret tool "read_vault" at result[].password\n'
    "secret input.pin\n"
)


def found(text: str) -> list[tuple[str, int, str]]:
    bundle, mistakes = parse_bundle(Source(text, "shop.rbp"))
    return [(d.code, d.span.line, d.message) for d in (*mistakes, *check_bundle(bundle)) if not d.accepted]


def codes(text: str) -> list[str]:
    return [code for code, _, _ in found(text)]


def places(text: str) -> SealedPlaces:
    made = sealed_places(compile_text(text))
    assert made is not None
    return made


# ---------------------------------------------------------------- syntax


def test_a_statement_names_a_subject_and_paths_or_the_input() -> None:
    """Both forms, as the language has them."""
    bundle, mistakes = parse_bundle(Source(VAULT))
    assert not mistakes
    login, vault, pin = [line for line in bundle.statements if isinstance(line, s.Secret)]
    assert login.subject is not None
    assert [(path.root, path.parts) for path in login.paths] == [
        ("args", (s.Key("password"),)),
        ("result", (s.Key("token"),)),
    ]
    assert [path.parts for path in vault.paths] == [(s.Each(), s.Key("password"))]
    assert (pin.subject, pin.paths[0].root) == (None, "input")


@pytest.mark.parametrize(
    "text",
    [
        'let secret = ["a"]\nrule r {\n  allow tool secret\n  when args.secret in secret\n}\n',
        'known secret = input.secret\nrule r {\n  allow tool "a"\n  when args.secret in secret\n}\n',
        'condition secret = args.secret given\nrule secret {\n  allow tool "secret"\n  when secret\n}\n',
    ],
)
def test_no_word_is_reserved(text: str) -> None:
    """Bundles that call something `secret` mean what they meant, beside a `secret` as well."""
    assert "secret" not in RESERVED_WORDS
    assert codes(HEAD + text) == []
    assert codes(HEAD + text + 'secret tool "x" at args.secret\n') == []


def test_it_is_formatted_dumped_and_compared() -> None:
    """One layout; the tree as JSON and back; a diff that names the statement."""
    wide = HEAD + 'secret   tool  "login"  at   args.password ,result.token\nsecret input . pin\n'
    text = HEAD + 'secret tool "login" at args.password, result.token\nsecret input.pin\n'
    assert format_bundle(Source(text)) == text
    assert format_bundle(Source(wide.replace(" . ", "."))) == text
    bundle, _ = parse_bundle(Source(text))
    assert load_ast(json.dumps(dump_ast(bundle))) == bundle
    other, _ = parse_bundle(Source(text.replace("secret input.pin\n", "")))
    assert diff_bundles(bundle, other).removed == ("`secret input.pin`",)
    assert not diff_bundles(bundle, bundle)


def test_a_library_holds_none(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """`use` brings definitions only."""
    (tmp_path / "lib.rbp").write_text('let a = ["x"]\nsecret tool "x" at args.a\n')
    (tmp_path / "shop.rbp").write_text(HEAD + 'use "lib.rbp"\nrule r {\n  allow tool a\n}\n')
    from rebuno.policy import read_source

    with pytest.raises(BundleError) as caught:
        compile_policy([read_source(tmp_path / "shop.rbp")])
    assert [d.code for d in caught.value.diagnostics] == [Code.BAD_LIBRARY]


# ---------------------------------------------------------------- what the checker says


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ('secret tool "a" at input.x', "write `secret input.x`"),
        ("secret args.x", 'secret tool "…" at args.x'),
        ('secret tool "a" at target', "args"),
        ('secret tool "a" at arg.x', "did you mean `args`?"),
        ('secret tool "a" at item.x', "args"),
    ],
)
def test_other_places_are_errors(line: str, hint: str) -> None:
    """Paths start at `args` or `result` of steps, or at the input."""
    bundle, mistakes = parse_bundle(Source(HEAD + line + "\n"))
    [wrong] = [d for d in (*mistakes, *check_bundle(bundle)) if d.severity == "error"]
    assert (wrong.code, wrong.span.line) == (Code.BAD_PATH, 3)
    assert hint in wrong.help


def test_its_subject_is_checked() -> None:
    """As that of a rule."""
    assert codes(HEAD + "secret tool logins at args.password\n") == ["unknown-name"]


RULE = 'rule ask {{\n  require approval for tool "log*"\n  message f"{text}"\n  because "x"\n}}\n'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{args.password}", True),
        ("all of {args}", True),
        ("{args.password.inner}", True),
        ("{args.user} and {{args.password}}", False),
        ("{input.pin}", True),
        ("{input}", True),
        ("{input.text}", False),
        ("{target}", False),
    ],
)
def test_a_text_that_shows_a_sealed_place_is_an_error(text: str, shown: bool) -> None:
    """`secret-shown`: the place itself, what is around it and what is in it."""
    rule = (
        RULE.format(text=text.replace("{{", "{{{{").replace("}}", "}}}}")) if "{{" in text else RULE.format(text=text)
    )
    assert ("secret-shown" in codes(VAULT + rule)) is shown


def test_a_text_about_other_tools_shows_nothing() -> None:
    """Only where the two subjects can mean one step."""
    rule = 'rule ask {\n  require approval for tool "pay"\n  message f"{args.password}"\n  because "x"\n}\n'
    assert "secret-shown" not in codes(VAULT + rule)


def test_a_text_shows_nothing_that_another_layer_seals() -> None:
    """The seals are the union over all layers: an error when they are compiled together, and of `check --layer`."""
    own = (
        'bundle own\ndefault allow\nrule ask {\n  require approval for tool "login"\n  because f"{args.password}"\n}\n'
    )
    outer = "bundle outer\ndefault allow\n" + 'secret tool "login" at args.password\n'
    compile_policy([Source(own, "own.rbp")])
    with pytest.raises(BundleError) as caught:
        compile_policy([Source(outer, "outer.rbp"), Source(own, "own.rbp")])
    [wrong] = caught.value.diagnostics
    assert (wrong.code, wrong.path) == (Code.SECRET_SHOWN, "own.rbp")
    mine, _ = parse_bundle(Source(own, "own.rbp"))
    theirs, _ = parse_bundle(Source(outer, "outer.rbp"))
    assert [d.code for d in check_layers(mine, [theirs])] == [Code.SECRET_SHOWN]


def test_a_limit_that_measures_a_sealed_amount_shows_it() -> None:
    """The log says how much a step takes."""
    rule = 'rule pay {\n  allow tool "pay"\n  limit 5 of args.amount per 1h\n}\n'
    assert "secret-shown" in codes(HEAD + 'secret tool "pay" at args.amount\n' + rule)
    keyed = 'rule pay {\n  allow tool "pay"\n  limit 5 per 1h for each args.account\n}\n'
    assert codes(HEAD + 'secret tool "pay" at args.account\n' + keyed) == []


TOOLS = read_tools(
    [
        {
            "name": "login",
            "inputSchema": {"type": "object", "properties": {"user": {"type": "string"}, "pass_word": {}}},
            "outputSchema": {"type": "object", "properties": {"token": {"type": "string"}}},
        },
        {
            "name": "renew",
            "inputSchema": {"type": "object", "properties": {"token": {"type": "string"}}},
            "outputSchema": {"type": "object", "properties": {"token": {"type": "string"}}},
        },
    ]
)


def of_tools(text: str) -> list[tuple[str, str]]:
    bundle, mistakes = parse_bundle(Source(HEAD + text))
    assert not mistakes
    return [(d.code, d.message) for d in check_tools(bundle, TOOLS)]


def test_with_schemas_an_argument_that_no_tool_has_is_told() -> None:
    """`unknown-argument`, of arguments and of results: what was meant would be written in the clear."""
    assert of_tools('secret tool "login" at args.password\n') == [
        ("unknown-argument", "`login` has no `args.password`")
    ]
    assert of_tools('secret tool "login" at result.tokn\n') == [("unknown-argument", "`login` has no `result.tokn`")]
    assert of_tools('secret tool "login" at args.pass_word, result.token\n') == []
    assert of_tools('secret tool "logn" at args.x\n')[0][0] == "unknown-tool"


def test_a_result_that_was_an_argument_before_is_told() -> None:
    """`late-secret`: by a schema, or by what a rule asks about; not where the argument is sealed too."""
    assert [code for code, _ in of_tools('secret tool "renew" at result.token\n')] == ["late-secret"]
    assert of_tools('secret tool "renew" at args.token, result.token\n') == []
    rule = 'rule renew {\n  allow tool "renew"\n  when args.token given\n}\n'
    assert codes(HEAD + 'secret tool "renew" at result.token\n' + rule) == ["late-secret"]
    assert codes(HEAD + 'secret tool "renew" at args, result.token\n' + rule) == []
    accepted = HEAD + '# accept late-secret: it is a name\nsecret tool "renew" at result.token\n'
    assert codes(accepted + rule) == []
    assert codes(accepted) == []


# ---------------------------------------------------------------- what it seals


def test_places_are_the_union_over_the_layers() -> None:
    """Each layer adds; a bundle beside the policy seals nothing."""
    outer, inner = compile_text(HEAD + 'secret tool "a*" at args.x\n'), compile_text("default allow\n")
    both = compile_policy(
        [
            Source(HEAD + 'secret tool "a*" at args.x\n', "o.rbp"),
            Source("bundle i\nsecret any step at args.y\n", "i.rbp"),
        ]
    )
    found = sealed_places(both)
    assert found is not None
    assert found.of_args("tool_call", "ab") == [(s.Key("x"),), (s.Key("y"),)]
    assert found.of_args("llm_call", "b") == [(s.Key("y"),)]
    assert sealed_places(inner) is None
    assert sealed_places(inner.with_shadows(outer.layers)) is None
    assert sealed_places(outer.with_shadows(inner.layers)) == sealed_places(outer)


def test_places_are_kept_as_json() -> None:
    """What an execution records of them reads as what it was."""
    paths = 'result[].a, result.*.b, result[0]["odd key"], args'
    text = HEAD + f'let vaults = ["v1", "v?"]\nsecret tool vaults at {paths}\nsecret input.x, input\n'
    made = places(text)
    assert SealedPlaces.from_json(json.loads(json.dumps(made.to_json()))) == made
    assert made.below("tool_call", "v2").read_args == ((),)
    assert made.below().root == ((s.Key("x"),), ())
