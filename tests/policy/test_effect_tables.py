"""`effects "ours.yaml"` and `effects bsd`: read, checked, counted in the digest, kept, and written again."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from rebuno.embedded import compiled
from rebuno.errors import BundleError
from rebuno.policy import (
    check_bundle,
    compile_bundle,
    compile_text,
    convert_yaml_bundle,
    diff_bundles,
    dump_ast,
    explain_decision,
    format_bundle,
    inline_bundle,
    link_bundle,
    load_ast,
    parse_bundle,
    read_source,
    restore_policy,
    texts_make_policy,
    tree,
)
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.syntax.source import Source

RULE = """\
rule r {
  allow tool "shell"
  when unread of args.command missing and every contacted_host of args.command in ["a.example"]
}
"""
HEAD = 'bundle ours\ndefault deny because "no"\nworkdir "/proj"\n'
DEPLOY = "deploy: {options: {--env: text}, effects: [contact a.example]}\n"
OTHER = "deploy: {effects: [contact b.example]}\n"


def made(folder: Path, lines: str, **files: str) -> Path:
    """A bundle with these `effects` lines, and the files that they name."""
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    (folder / "ours.rbp").write_text(f"{HEAD}{lines}\n{RULE}", encoding="utf-8")
    return folder / "ours.rbp"


def verdict(path: Path, command: str) -> str:
    """What the bundle decides; its explanation says the same."""
    policy = compile_bundle(read_source(path))
    facts = Facts("tool_call", "shell", {"command": command})
    found = policy.decide(facts).verdict.value
    assert explain_decision(policy, facts).decision.verdict.value == found
    return found


def mistakes(path: Path) -> list[tuple[str, str, str]]:
    """Code, severity and message of each finding but those about the rule."""
    bundle, found = link_bundle(read_source(path))
    return [(str(d.code), d.severity.value, d.message) for d in (*found, *check_bundle(bundle))]


# ---------------------------------------------------------------- what it means


def test_a_program_of_ones_own_is_read(tmp_path: Path) -> None:
    """Without the line its command is unread; what its table does not name still is."""
    path = made(tmp_path, 'effects "a.yaml"', a=DEPLOY)
    assert verdict(path, "deploy --env live") == "allow"
    assert verdict(path, "deploy --now") == "deny"
    assert verdict(made(tmp_path, "", a=DEPLOY), "deploy --env live") == "deny"


@pytest.mark.parametrize(("lines", "allowed"), [("ab", False), ("ba", True), ("a", True), ("b", False)])
def test_a_later_file_wins(tmp_path: Path, lines: str, allowed: bool) -> None:
    """Two files may tell of one program."""
    path = made(tmp_path, "\n".join(f'effects "{name}.yaml"' for name in lines), a=DEPLOY, b=OTHER)
    assert verdict(path, "deploy") == ("allow" if allowed else "deny")


def test_a_file_wins_over_what_comes_along(tmp_path: Path) -> None:
    """Also where the flavour is named."""
    table = "cat,tac: {operands: ['text*'], effects: [contact b.example]}"
    assert verdict(made(tmp_path, ""), "cat x") == "allow"
    for lines in ('effects "a.yaml"', 'effects bsd\neffects "a.yaml"', 'effects "a.yaml"\neffects gnu'):
        path = made(tmp_path, lines, a=table)
        assert verdict(path, "cat x") == "deny"
        assert verdict(path, "tac x") == "deny"
        assert verdict(path, "head x") == "allow"


@pytest.mark.parametrize(("line", "written"), [("", {"f"}), ("effects gnu", {"f"}), ("effects bsd", {"f", "f.bak"})])
def test_flavours(line: str, written: set[str]) -> None:
    """`sed -i .bak` writes another file on BSD."""
    for name in ("f", "f.bak", "g"):
        text = f"""{HEAD}{line}
rule r {{
  allow tool "shell"
  when unread of args.command missing and any written_path of args.command == "{name}"
}}"""
        found = compile_text(text).decide(Facts("tool_call", "shell", {"command": "sed -i .bak s/a/b/ f"}))
        # GNU's takes `.bak` for the program text, which is not of a known form.
        assert (found.verdict.value == "allow") == (line == "effects bsd" and name in written)


def test_the_word_is_not_reserved(tmp_path: Path) -> None:
    """A bundle of the first edition may have a list of this name."""
    text = (
        'bundle b\ndefault deny\nlet effects = ["a"]\nrule r { allow tool "t" when args.x in effects }\neffects gnu\n'
    )
    assert compile_text(text).decide(Facts("tool_call", "t", {"x": "a"})).verdict.value == "allow"


def test_a_library_cannot_name_tables(tmp_path: Path) -> None:
    """`use` brings definitions only."""
    path = made(tmp_path, 'use "lib.rbp"')
    (tmp_path / "lib.rbp").write_text("effects bsd\n", encoding="utf-8")
    assert ("bad-library", "error") in [found[:2] for found in mistakes(path)]
    assert "`effects` line" in next(message for code, _, message in mistakes(path) if code == "bad-library")


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("line", "text", "code", "said"),
    [
        ('effects "none.yaml"', "", "unreadable-file", "none.yaml"),
        ('effects "../out.yaml"', "", "outside-folder", "out.yaml"),
        ('effects "/etc/x.yaml"', "", "unreadable-file", "no relative path"),
        ('effects "a.json"', "", "unreadable-file", "`a.json` does not end in `.yaml` or `.yml`"),
        ("effects plan9", "", "bad-table", "`plan9` is no flavour"),
        ('effects "a.yaml"', "a: [", "bad-table", "`a.yaml`: line 2: this is not YAML"),
        ('effects "a.yaml"', "", "bad-table", "`a.yaml`: line 1: the file is empty"),
        ('effects "a.yaml"', "[deploy]", "bad-table", "`a.yaml`: line 1: write a mapping of programs"),
        ('effects "a.yaml"', "deploy: 5", "bad-table", "`a.yaml`: deploy: a table is a mapping"),
        ('effects "a.yaml"', "deploy: {}\ndeploy: {}", "bad-table", "line 2: the key `deploy` appears twice"),
        ('effects "a.yaml"', "'a,b': {}\nb: {}", "bad-table", "`a.yaml`: b: write the name of a program"),
        ('effects "a.yaml"', "bin/deploy: {}", "bad-table", "write the name of a program"),
        ('effects "a.yaml"', "deploy: {operands: [wrong*]}", "bad-table", "`wrong` is unknown"),
        ('effects "a.yaml"', "deploy: {effect: [contact a]}", "bad-table", "`effect` is no key of a table"),
        ('effects "a.yaml"', "deploy: {effects: [frob a]}", "bad-table", "`frob a` is no effect"),
        ('effects "a.yaml"', "deploy: {forms: [{effect: [contact a]}]}", "bad-table", "a form has"),
        ('effects "a.yaml"', "deploy: {style: [x]}", "bad-table", "is no style"),
        ('effects "a.yaml"', "deploy: {abbreviations: 'no'}", "bad-table", "`no` is not true or false"),
        ('effects "a.yaml"', "deploy: {subcommands: [x]}", "bad-table", "write a mapping"),
        ('effects "a.yaml"', "deploy: !!python/object:x {}", "bad-table", "the tag"),
        ("effects bsd\neffects gnu", "", "duplicate-line", "a second `effects` line"),
    ],
)
def test_errors(tmp_path: Path, line: str, text: str, code: str, said: str) -> None:
    """Each is an error of `policy check`, and stops the bundle from being compiled."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "out.yaml").write_text(DEPLOY, encoding="utf-8")
    path = made(tmp_path / "sub", line, a=text)
    errors = [(found, message) for found, severity, message in mistakes(path) if severity == "error"]
    assert [found for found, _ in errors] == [code]
    assert said in errors[0][1]
    with pytest.raises(BundleError, match=code):
        compile_bundle(read_source(path))


def test_a_link_that_leads_outside(tmp_path: Path) -> None:
    """As for data files."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "out.yaml").write_text(DEPLOY, encoding="utf-8")
    os.symlink(tmp_path / "out.yaml", tmp_path / "sub" / "a.yaml")
    assert [found[0] for found in mistakes(made(tmp_path / "sub", 'effects "a.yaml"'))] == ["outside-folder"]


def test_a_bundle_that_is_given_as_a_text_names_no_file() -> None:
    """It has no folder."""
    with pytest.raises(BundleError, match="open-bundle"):
        compile_text(f'{HEAD}effects "a.yaml"\n{RULE}')
    compile_text(f"{HEAD}effects bsd\n{RULE}")


def test_many_aliases_are_not_followed_for_ever(tmp_path: Path) -> None:
    """A file of a few lines that stands for millions of values is refused."""
    lines = ["a0: &a0 {x: y}", *(f"a{n}: &a{n} {{b: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 12))]
    (found,) = [message for code, _, message in mistakes(made(tmp_path, 'effects "a.yaml"', a="\n".join(lines)))]
    assert "more than" in found


# ---------------------------------------------------------------- cases


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("{contacted: a.example}", ""),
        ("{}", "contacted is `a.example`, not nothing"),
        ("{contacted: a.example, read: x}", "read is nothing, not `x`"),
        ("{contacted: [b.example], unread: --env}", "contacted is `a.example`, not `b.example`; unread is nothing"),
        ("{contact: a.example}", "the keys are read, written, removed, contacted, executed, unread"),
        ("{contacted: 5}", "write a text, or a list of texts, as `contacted`"),
        ("5", "write a mapping of effects"),
    ],
)
def test_the_cases_of_a_table_are_run(tmp_path: Path, case: str, said: str) -> None:
    """One that does not hold is an error of `policy check`; a bundle is compiled without running them."""
    text = (
        f"deploy:\n  options: {{--env: text}}\n  effects: [contact a.example]\n  cases:\n    deploy --env x: {case}\n"
    )
    path = made(tmp_path, 'effects "a.yaml"', a=text)
    found = mistakes(path)
    assert [(code, severity) for code, severity, _ in found] == ([("bad-table", "error")] if said else [])
    assert all(said in message for _, _, message in found)
    assert verdict(path, "deploy --env x") == "allow"


def test_cases_are_read_by_the_files_before_and_the_flavour(tmp_path: Path) -> None:
    """A case may be a whole line with other programs in it."""
    first = "deploy: {effects: [contact a.example], cases: {deploy: {contacted: a.example}}}"
    second = """\
release:
  cases:
    "deploy && sed -i .bak s/a/b/ f": {contacted: a.example, read: f, written: f f.bak}
"""
    path = made(tmp_path, 'effects "a.yaml"\neffects "b.yaml"\neffects bsd', a=first, b=second)
    assert mistakes(path) == []
    assert mistakes(made(tmp_path, 'effects "b.yaml"\neffects "a.yaml"\neffects bsd')) != []
    assert mistakes(made(tmp_path, 'effects "a.yaml"\neffects "b.yaml"')) != []


def test_tables_share_by_anchors(tmp_path: Path) -> None:
    """`<<` takes in the keys of another mapping, and one's own win."""
    text = """\
deploy:
  options: &common
    -q --quiet: ~
    --env: text
  subcommands:
    run:
      options: {<<: *common, --env: path}
  cases:
    deploy -q run -q --env x: {read: x}
    deploy run --frob: {unread: --frob}
"""
    assert mistakes(made(tmp_path, 'effects "a.yaml"', a=text)) == []


# ---------------------------------------------------------------- digests and kept texts


def test_the_digest_changes_with_a_table(tmp_path: Path) -> None:
    """Also where the bundle's own text is the same; and with the flavour."""
    digests = {
        compile_bundle(read_source(made(tmp_path, lines, a=text))).digest
        for lines, text in [
            ('effects "a.yaml"', DEPLOY),
            ('effects "a.yaml"', f"{DEPLOY}# more\n"),
            ('effects "a.yaml"', OTHER),
            ("effects bsd", OTHER),
            ("effects gnu", OTHER),
            ("", OTHER),
        ]
    }
    assert len(digests) == 6


def test_the_tables_that_come_along_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a rule looks at effects, and only there."""
    from rebuno.policy.facets.shell.effects import table_set

    def digests() -> tuple[str, str]:
        effects = compile_text(f"{HEAD}{RULE}")
        none = compile_text(f'{HEAD}rule r {{ allow tool "shell" when every program of args.command in ["ls"] }}')
        return effects.digest, none.digest

    before = digests()
    monkeypatch.setattr(table_set, "builtin_digest", lambda: "other")
    after = digests()
    assert before[0] != after[0]
    assert before[1] == after[1]


def test_kept_texts_make_the_policy_again(tmp_path: Path) -> None:
    """The texts of the tables are kept with those of the bundle; no file is read."""
    path = made(tmp_path, 'effects "a.yaml"\neffects "b.yaml"\neffects bsd', a=OTHER, b=DEPLOY)
    policy = compiled(path)
    kept = [(source.path, source.text) for source in policy.sources]
    assert [Path(where).name for where, _ in kept] == ["ours.rbp", "a.yaml", "b.yaml"]
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").unlink()
    again = restore_policy(policy.digest, kept)
    for command in ("deploy", "deploy --now", "sed -i .bak s/a/b/ f"):
        facts = Facts("tool_call", "shell", {"command": command})
        assert again.decide(facts).verdict == policy.decide(facts).verdict
    assert texts_make_policy(policy.digest, kept) is True
    changed = [*kept[:2], (kept[2][0], kept[2][1].replace("a.example", "b.example"))]
    assert texts_make_policy(policy.digest, changed) is not True
    with pytest.raises(BundleError):
        restore_policy(policy.digest, changed)


# ---------------------------------------------------------------- other forms of a bundle


def test_it_cannot_be_one_text(tmp_path: Path) -> None:
    """A bundle names tables and cannot hold them; a flavour stays."""
    with pytest.raises(BundleError, match="which a bundle names and cannot hold"):
        inline_bundle(made(tmp_path, 'effects "a.yaml"', a=DEPLOY))
    assert "effects bsd" in inline_bundle(made(tmp_path, "effects bsd"))


@pytest.mark.parametrize("line", ['effects "a.yaml"', "effects bsd", 'effects "a.yaml"\neffects "lib/b.yaml"'])
def test_it_is_formatted_and_read_again(line: str) -> None:
    """The text keeps its lines, and the tree is the same after `fmt` and through JSON."""
    text = f"{HEAD}{line}\n\n{RULE}"
    bundle, found = parse_bundle(Source(text))
    assert found == []
    assert format_bundle(Source(text)) == text
    assert format_bundle(Source(text.replace("effects ", "effects   "))) == text
    data = json.dumps(dump_ast(bundle))
    again = load_ast(data)
    assert again.statements == bundle.statements
    nodes = [one for one in json.loads(data)["bundle"]["statements"] if one["node"] == "EffectTables"]
    assert len(nodes) == line.count("effects")
    assert all(one.keys() == {"node", "source", "span"} for one in nodes)


def test_a_linked_tree_keeps_the_texts_in_json(tmp_path: Path) -> None:
    """What was read of the files is in it."""
    bundle, _ = link_bundle(read_source(made(tmp_path, 'effects "a.yaml"', a=DEPLOY)))
    again = load_ast(json.dumps(dump_ast(bundle)))
    (node,) = [one for one in again.statements if isinstance(one, tree.EffectTables)]
    assert node.text == DEPLOY


def test_yaml_bundles_have_no_such_line() -> None:
    """They stay as they were."""

    def converted(more: str) -> Any:
        text = f"{more}rules:\n  - {{id: r, priority: 1, when: {{target: shell}}, then: {{decision: deny}}}}\n"
        return convert_yaml_bundle(Source(text, "a.yaml"))

    assert "effects" not in converted("").text
    with pytest.raises(BundleError):
        converted("effects: bsd\n")


def test_what_is_different_is_named(tmp_path: Path) -> None:
    """A file by its name, also where its content or its place is another one; the flavour by its word."""

    def bundle(lines: str, **files: str) -> tree.Bundle:
        return link_bundle(read_source(made(tmp_path, lines, **files)))[0]

    both = 'effects "a.yaml"\neffects "b.yaml"'
    old = bundle(both, a=DEPLOY, b=OTHER)
    assert not diff_bundles(old, bundle(both))
    assert diff_bundles(old, bundle('effects "b.yaml"\neffects "a.yaml"')).moved == ("effects `b.yaml`",)
    assert diff_bundles(old, bundle(f"{both}\neffects bsd")).added == ("effects",)
    assert diff_bundles(old, bundle('effects "a.yaml"')).removed == ("effects `b.yaml`",)
    assert diff_bundles(old, bundle(both, b=f"{OTHER}# new\n")).changed == ("effects `b.yaml`",)
    assert diff_bundles(bundle("effects gnu"), bundle("effects bsd")).changed == ("effects",)
