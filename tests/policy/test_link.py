"""A bundle takes in the files that it names, each mistake is found in its file, and nothing else is read."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from rebuno.errors import BundleError
from rebuno.policy.check.bundle import check_bundle
from rebuno.policy.compile import compile_bundle, compile_text
from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.inline import inline_bundle
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.syntax.link import link_bundle
from rebuno.policy.syntax.source import Source, read_source

RULE = 'default deny\nrule r { allow tool "t" when args.x in names }'


def made(folder: Path, files: dict[str, str]) -> Path:
    """Writes files; returns the path of the bundle, which is the first."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder / next(iter(files))


def allowed(path: Path, *values: Any) -> list[bool]:
    policy = compile_bundle(read_source(path))
    return [policy.decide(Facts("tool_call", "t", {"x": value})).rule_id == "r" for value in values]


def mistakes(path: Path) -> list[tuple[str, str, int]]:
    """Code, file and line of every error and warning."""
    bundle, found = link_bundle(read_source(path))
    return [(d.code, os.path.relpath(d.path, path.parent), d.span.line) for d in (*found, *check_bundle(bundle))]


# ---------------------------------------------------------------- use

LIBRARIES: list[tuple[str, dict[str, str]]] = [
    ("one library", {"a.rbp": f'use "b.rbp"\n{RULE}', "b.rbp": 'let names = ["v"]'}),
    ("below, and from there on", {
        "a.rbp": f'use "lib/b.rbp"\n{RULE}', "lib/b.rbp": 'use "c.rbp"', "lib/c.rbp": 'let names = ["v"]',
    }),
    ("beside and back", {
        "x/a.rbp": f'use "../lib/b.rbp"\n{RULE}', "lib/b.rbp": 'use "../x/c.rbp"', "x/c.rbp": 'let names = ["v"]',
    }),
    ("one file by two ways", {
        "a.rbp": f'use "b.rbp"\nuse "c.rbp"\n{RULE}', "b.rbp": 'use "d.rbp"', "c.rbp": 'use "./d.rbp"',
        "d.rbp": 'let names = ["v"]',
    }),
    ("one file twice", {"a.rbp": f'use "b.rbp"\nuse "b.rbp"\n{RULE}', "b.rbp": 'let names = ["v"]'}),
    ("known", {"a.rbp": f'use "b.rbp"\n{RULE}', "b.rbp": 'known names = some\nlet some = ["v"]'}),
    ("a list of the bundle in a known of the library", {
        "a.rbp": f'use "b.rbp"\nlet some = ["v"]\n{RULE}', "b.rbp": "known names = some",
    }),
    ("condition", {
        "a.rbp": 'default deny\nuse "b.rbp"\nrule r { allow tool "t" when good }',
        "b.rbp": 'condition good = args.x == "v"',
    }),
    ("a fact whose name may be defined", {
        "a.rbp": f'use "b.rbp"\n{RULE}', "b.rbp": 'known names = ["v"] or turns',
    }),
    ("a name of its own, a BOM and CRLF", {
        "a.rbp": f'bundle a\nuse "b.rbp"\n{RULE}', "b.rbp": '\ufeffbundle b version 1\r\n# c\r\nlet names = ["v"]\r\n',
    }),
]  # fmt: skip


@pytest.mark.parametrize("files", [files for _, files in LIBRARIES], ids=[name for name, _ in LIBRARIES])
def test_use_brings_definitions(files: dict[str, str], tmp_path: Path) -> None:
    """What a used file defines means the same as if it stood in the bundle, and as one text too."""
    path = made(tmp_path, files)
    assert mistakes(path) == []
    assert allowed(path, "v", "w") == [True, False]
    policy = compile_text(inline_bundle(path))
    assert [policy.decide(Facts("tool_call", "t", {"x": x})).rule_id for x in "vw"] == ["r", "default"]


WRONG_USES: list[tuple[str, list[tuple[str, str, int]], dict[str, str]]] = [
    ("no such file", [("unreadable-file", "a.rbp", 2)], {"a.rbp": f'\nuse "b.rbp"\n{RULE}'}),
    ("a folder", [("unreadable-file", "a.rbp", 1)], {"a.rbp": 'use "d.rbp"\ndefault deny', "d.rbp/x": ""}),
    ("another suffix", [("unreadable-file", "a.rbp", 1)], {"a.rbp": 'use "b.txt"\ndefault deny', "b.txt": ""}),
    ("an absolute path", [("unreadable-file", "a.rbp", 1)], {"a.rbp": 'use "/b.rbp"\ndefault deny'}),
    ("a backslash", [("unreadable-file", "a.rbp", 1)], {"a.rbp": 'use "lib\\\\b.rbp"\ndefault deny'}),
    ("NUL", [("unreadable-file", "a.rbp", 1)], {"a.rbp": 'use "b\\u0000.rbp"\ndefault deny'}),
    ("nothing", [("unreadable-file", "a.rbp", 1)], {"a.rbp": 'use ""\ndefault deny'}),
    ("a name of 10,000 characters", [("unreadable-file", "a.rbp", 1)], {
        "a.rbp": f'use "{"b" * 10_000}.rbp"\ndefault deny',
    }),
    ("itself", [("cycle", "a.rbp", 1)], {"a.rbp": 'use "a.rbp"\ndefault deny'}),
    ("a circle", [("cycle", "c.rbp", 1)], {
        "a.rbp": f'use "b.rbp"\n{RULE}', "b.rbp": 'use "c.rbp"\nlet names = ["v"]', "c.rbp": 'use "b.rbp"',
    }),
    ("rules", [("bad-library", "a.rbp", 1)], {
        "a.rbp": f'use "b.rbp"\n{RULE}', "b.rbp": 'let names = ["v"]\nrule x { allow any step }',
    }),
    ("a default", [("bad-library", "a.rbp", 1)], {
        "a.rbp": f'use "b.rbp"\n{RULE}', "b.rbp": 'let names = ["v"]\ndefault allow',
    }),
    ("a name that the bundle has", [("duplicate-name", "a.rbp", 2)], {
        "a.rbp": f'use "b.rbp"\nlet names = ["v"]\n{RULE}', "b.rbp": 'let names = ["v"]',
    }),
    ("a name in two libraries", [("duplicate-name", "c.rbp", 1)], {
        "a.rbp": f'use "b.rbp"\nuse "c.rbp"\n{RULE}', "b.rbp": 'let names = ["v"]', "c.rbp": "known names = input",
    }),
    ("a mistake in the library", [("wrong-type", "lib/b.rbp", 2)], {
        "a.rbp": f'use "lib/b.rbp"\n{RULE}', "lib/b.rbp": 'let names = ["v"]\ncondition c = args.x < "5"',
    }),
    ("a library that does not parse", [("syntax", "b.rbp", 1)], {
        "a.rbp": f'use "b.rbp"\n{RULE}', "b.rbp": 'let names ["v"]',
    }),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "files"), [row[1:] for row in WRONG_USES], ids=[name for name, *_ in WRONG_USES])
def test_wrong_uses(expected: list[tuple[str, str, int]], files: dict[str, str], tmp_path: Path) -> None:
    """Each mistake is found once, in the file where it can be fixed, and leaves no policy."""
    path = made(tmp_path, files)
    assert mistakes(path) == expected
    with pytest.raises(BundleError):
        compile_bundle(read_source(path))
    with pytest.raises(BundleError):
        inline_bundle(path)


def test_paths_are_relative_and_have_one_spelling(tmp_path: Path) -> None:
    """An absolute path and one with backslashes are refused though such a file is there."""
    made(tmp_path, {"b.rbp": 'let names = ["v"]', "x\\b.rbp": 'let names = ["v"]'})
    for name in (str(tmp_path / "b.rbp"), "x\\\\b.rbp"):
        path = made(tmp_path, {"a.rbp": f'use "{name}"\n{RULE}'})
        assert mistakes(path) == [("unreadable-file", "a.rbp", 1)]


def test_the_words_of_clashes_and_circles(tmp_path: Path) -> None:
    """A clash names both places, a circle the whole way round."""
    path = made(
        tmp_path, {"a.rbp": 'use "b.rbp"\nlet n = 1', "b.rbp": 'let n = 2\nuse "c.rbp"', "c.rbp": 'use "b.rbp"'}
    )
    bundle, found = link_bundle(read_source(path))
    said = [d.message for d in (*found, *check_bundle(bundle))]
    assert said[0] == "the files use each other in a cycle: `b.rbp` → `c.rbp` → `b.rbp`"
    assert f"the name `n` is defined twice; first at line 1 of `{tmp_path / 'b.rbp'}`" in said


def test_chains_and_crowds_of_files_are_bounded(tmp_path: Path) -> None:
    """A long way through files neither recurses nor ends in silence, and too many files are refused."""
    files = {"a.rbp": f'use "f0.rbp"\n{RULE}'}
    files |= {f"f{n}.rbp": f'use "f{n + 1}.rbp"' for n in range(250)} | {"f250.rbp": 'let names = ["v"]'}
    assert [code for code, *_ in mistakes(made(tmp_path, files))] == ["file-too-big"]
    (tmp_path / "f150.rbp").write_text('let names = ["v"]', encoding="utf-8")
    assert allowed(tmp_path / "a.rbp", "v") == [True]


def test_a_library_by_itself_is_no_odd_bundle(tmp_path: Path) -> None:
    """A file of definitions only is there for others: no default and no use of its names is missed."""
    assert mistakes(made(tmp_path, {"b.rbp": 'let names = ["v"]\nknown k = input'})) == []


# ---------------------------------------------------------------- file

DATA: list[tuple[str, str, list[Any], list[Any]]] = [
    ("h.yaml", "- a\n- no\n- 012\n- 2\n- 1.5\n- true\n- 'x: y'", ["a", "no", "012", 2, 1.5, True, "x: y"], [False, 12]),
    ("h.yml", "[a, b]", ["a", "b"], ["c"]),
    ("h.json", '["a", 2, "\\u007f"]', ["a", 2, "\x7f"], ["2"]),
    ("h.txt", "\ufeffa\r\n\n # comment\n  b c \n#d\n#\n012", ["a", "b c", "#d", "012"], ["", "# comment", 12, "#"]),
    ("sub/h.txt", "a", ["a"], ["b"]),
    ("sub/../h.txt", "a", ["a"], ["b"]),
]


@pytest.mark.parametrize(("name", "text", "inside", "outside"), DATA, ids=[row[0] for row in DATA])
def test_data_files(name: str, text: str, inside: list[Any], outside: list[Any], tmp_path: Path) -> None:
    """Values are what the file's suffix says, in place and as one text."""
    path = made(tmp_path, {"a.rbp": f'let names = file "{name}"\n{RULE}', name: text})
    assert mistakes(path) == []
    assert allowed(path, *inside) == [True] * len(inside)
    assert allowed(path, *outside) == [False] * len(outside)
    made(tmp_path, {"closed.rbp": inline_bundle(path)})
    assert allowed(tmp_path / "closed.rbp", *inside, *outside) == [True] * len(inside) + [False] * len(outside)


def test_a_single_scalar(tmp_path: Path) -> None:
    """One value is a value, no list."""
    files = {
        "a.rbp": 'let top = file "n.yaml"\ndefault deny\nrule r { allow tool "t" when args.x <= top }',
        "n.yaml": "5",
    }
    assert allowed(made(tmp_path, files), 5, 6) == [True, False]


WRONG_DATA: list[tuple[str, str, str, int]] = [
    ("bad-data", "h.yaml", "- a\n- [b]", 2),
    ("bad-data", "h.yaml", "- a\n- b: c", 2),
    ("bad-data", "h.yaml", "a: b", 1),
    ("bad-data", "h.yaml", "- a\n- ]", 2),
    ("bad-data", "h.yaml", "", 1),
    ("bad-data", "h.yaml", "null", 1),
    ("bad-data", "h.yaml", "- a\n- !tag b", 2),
    ("bad-data", "h.yaml", f"- a\n- {'9' * 1001}", 2),
    ("bad-data", "h.yaml", "&a [x]\n--- b", 2),
    ("bad-data", "h.json", '["a",\n "b"', 2),
    ("bad-data", "h.json", '{"a": 1}', 1),
    ("bad-data", "h.json", '[NaN]', 1),
    ("bad-data", "h.txt", "a\n" * 100_001, 1),
    ("bad-list", "h.yaml", "- a\n- null", 2),
    ("bad-list", "h.yaml", "[]", 1),
    ("bad-list", "h.txt", "\n# nothing\n", 1),
    ("wrong-type", "h.yaml", "true", 1),
    ("bad-character", "h.txt", "a\nb\u200b", 2),
    ("bad-character", "h.yaml", "- a\n- b\u00a0", 2),
    ("file-too-big", "h.txt", "a" * (1 << 20) + "b", 1),
]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "name", "text", "line"), WRONG_DATA, ids=[f"{name}: {text[:15]!r}" for _, name, text, _ in WRONG_DATA]
)
def test_wrong_data(code: str, name: str, text: str, line: int, tmp_path: Path) -> None:
    """What cannot be a list of plain values is found in the data file, on its line."""
    rule = "default deny\nrule r { allow tool names }"
    path = made(tmp_path, {"a.rbp": f'let names = file "{name}"\n{rule}', name: text})
    found = mistakes(path)
    where = "a.rbp" if code == "file-too-big" else name
    assert (code, where, line) in found
    assert {code for code, *_ in found} <= {code, "wrong-sort", "wrong-type"}


def test_values_of_a_data_file_are_checked_where_they_are_used(tmp_path: Path) -> None:
    """A value that a subject cannot take is found like one that stands in the bundle."""
    path = made(
        tmp_path, {"a.rbp": 'let t = file "t.txt"\ndefault deny\nrule r { allow tool t }', "t.txt": "get_*\n[z-a]"}
    )
    assert mistakes(path) == [("bad-glob", "a.rbp", 3)]


def test_data_stays_in_the_bundles_folder(tmp_path: Path) -> None:
    """No way up, no symbolic link and no library leads to a file outside."""
    (tmp_path / "secret.txt").write_text("hush", encoding="utf-8")
    folder = tmp_path / "bundle"
    for text in (
        'let names = file "../secret.txt"',
        'let names = file "link.txt"',
        'let names = file "dir/secret.txt"',
    ):
        path = made(folder, {"a.rbp": f"{text}\n{RULE}"})
        if not (folder / "link.txt").is_symlink():
            (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
            (folder / "dir").symlink_to(tmp_path)
        assert mistakes(path) == [("outside-folder", "a.rbp", 1)]
    path = made(folder, {"a.rbp": f'use "../b.rbp"\n{RULE}', "../b.rbp": 'let names = file "secret.txt"'})
    assert mistakes(path) == [("outside-folder", "../b.rbp", 1)]


def test_links_inside_the_folder_are_followed(tmp_path: Path) -> None:
    """A configuration that is mounted as links to a folder beside them is read."""
    path = made(tmp_path, {"a.rbp": f'let names = file "h.txt"\n{RULE}', "data/h.txt": "v"})
    (tmp_path / "h.txt").symlink_to("data/h.txt")
    assert allowed(path, "v") == [True]


@pytest.mark.parametrize("name", ["loop.txt", "pipe.txt", "folder.txt"])
def test_only_plain_files_are_read(name: str, tmp_path: Path) -> None:
    """A link to itself, a pipe and a folder are refused, and nobody waits for a pipe."""
    (tmp_path / "loop.txt").symlink_to("loop.txt")
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "folder.txt").mkdir()
    assert mistakes(made(tmp_path, {"a.rbp": f'let names = file "{name}"\n{RULE}'})) == [
        ("unreadable-file", "a.rbp", 1)
    ]


def test_a_file_that_is_no_utf8_is_named(tmp_path: Path) -> None:
    """The place is that of the byte, in the file that holds it."""
    path = made(tmp_path, {"a.rbp": f'let names = file "h.txt"\n{RULE}'})
    (tmp_path / "h.txt").write_bytes(b"a\n\xff")
    assert mistakes(path) == [("not-utf8", "h.txt", 2)]


# ---------------------------------------------------------------- texts, digests, traces


@pytest.mark.parametrize("text", ['use "lib/net.rbp"', 'let a = file "a.yaml"'])
def test_a_text_must_be_closed(text: str) -> None:
    """A bundle that came from no file reads none, whatever stands in the working directory."""
    with pytest.raises(BundleError, match="a bundle that is given as a text must be closed"):
        compile_text(f"{text}\ndefault deny")


def test_the_digest_covers_used_files(tmp_path: Path) -> None:
    """Another byte in a used file, or its text under another name, is another policy; another folder is not."""
    files = {"a.rbp": f'use "b.rbp"\nlet n = file "h.txt"\n{RULE} # n', "b.rbp": 'let names = ["v"]', "h.txt": "a"}
    first = compile_bundle(read_source(made(tmp_path / "one", files)))
    assert compile_bundle(read_source(made(tmp_path / "two", files))).digest == first.digest
    assert [source.text for source in first.sources] == [files["a.rbp"], files["h.txt"], files["b.rbp"]]
    changed = [
        files | {"h.txt": "b"},
        files | {"b.rbp": 'let names = ["v"] '},
        files | {"a.rbp": files["a.rbp"] + "\n"},
    ]
    moved = {name.replace("h.txt", "i.txt"): text.replace("h.txt", "i.txt") for name, text in files.items()}
    fields = ["rbp 1", "2", files["a.rbp"], "h.txt", files["h.txt"], "b.rbp", files["b.rbp"]]
    hashed = "".join(f"{len(field.encode())}:{field}" for field in fields)
    assert first.digest == hashlib.sha256(hashed.encode()).hexdigest()
    digests = {compile_bundle(read_source(made(tmp_path / str(n), f))).digest for n, f in enumerate([*changed, moved])}
    assert len(digests) == 4
    assert first.digest not in digests


def test_a_trace_shows_the_text_of_a_library(tmp_path: Path) -> None:
    """The test of a used condition is told in the words of its own file."""
    files = {
        "a.rbp": 'use "b.rbp"\ndefault deny\nrule r { allow tool "t" when good }',
        "b.rbp": '# about x\ncondition good = args.x == "v" # only v\n  and args.y missing',
    }
    trace = explain_decision(compile_bundle(read_source(made(tmp_path, files))), Facts("tool_call", "t", {"x": "v"}))
    told = json.dumps(trace.to_json(), ensure_ascii=False)
    assert json.dumps('args.x == "v" and args.y missing') in told
    assert trace.decision.rule_id == "r"


def test_one_text_is_no_way_in(tmp_path: Path) -> None:
    """The name of a used file stays in its comment, and values stay values."""
    name = "b\n default allow #.rbp"
    path = made(
        tmp_path, {"a.rbp": f'use "b\\n default allow #.rbp"\nlet n = file "h.yaml"\n{RULE}', name: 'let names = ["v"]'}
    )
    (tmp_path / "h.yaml").write_text('- "a\\"]\\ndefault allow\\n\\x7f\\u202e"', encoding="utf-8")
    policy = compile_text(inline_bundle(path))
    assert policy.decide(Facts("tool_call", "t", {"x": "w"})).verdict == "deny"
    assert "\u202e" not in inline_bundle(path)


def test_a_text_without_files_is_linked_as_it_stands() -> None:
    """Nothing is changed where nothing is used."""
    bundle, found = link_bundle(Source("default deny"))
    assert (found, bundle.files, len(bundle.statements)) == ([], (), 1)
