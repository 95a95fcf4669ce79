"""Words that hold a path, a URL or a switch within them, and what the engine does with assignments and `--`."""

from typing import Any

import pytest

from rebuno.policy.facets.reading import PathContext
from rebuno.policy.facets.shell.effects.effects import command_effects
from rebuno.policy.facets.shell.effects.parts import READERS
from rebuno.policy.facets.shell.effects.readings import placed
from rebuno.policy.facets.shell.effects.table import ProgramTable, TableError, read_table
from rebuno.policy.facets.shell.script import read_shell

SAID: list[tuple[str, str, Any]] = [
    ("url", "localhost:3000/x?a=1", (("url", "http://localhost:3000/x?a=1"),)),
    ("url", "https://a.example/x", (("url", "https://a.example/x"),)),
    ("url", "http://[::1]:3/", (("url", "http://[::1]:3/"),)),
    ("url", "http://a.example/[1-3]", None),
    ("url", "http://{a,b}.example/", None),
    ("url", "http:/evil.example", None),
    ("url", "file:/etc/passwd", None),
    ("url", "FILE:///etc/passwd", (("read", "/etc/passwd"),)),
    ("url", "file://localhost/etc/passwd", (("read", "/etc/passwd"),)),
    ("url", "file://evil/etc/passwd", None),
    ("url", "file:///etc/p%61sswd", None),
    ("url", "http://good.example\\@evil.example/", None),
    ("url-new", "file:///home/x", (("read", "/home/x"), ("write", "/home/x"))),
    ("url-name", "https://a.example/b/c.tgz", (("url", "https://a.example/b/c.tgz"), ("write", "./c.tgz"))),
    ("url-name", "https://a.example/b/", None),
    ("url-name", "https://a.example/b?x=/y", None),
    ("url-name", "https://a.example/%2e%2e", None),
    ("name", "x86_64-unknown-linux-gnu", ()),
    ("name", "./x.json", None),
    ("name", "-x", None),
    ("name", "@x", None),
    ("name", "CC=x", None),
    ("no-archive", "a.src.rpm", None),
    ("no-archive", "src", ()),
    ("no-archive", "a';id;'", None),
    ("file", "a/b.pem", (("read", "a/b.pem"),)),
    ("file", "file:/x", None),
    ("file", "@x", None),
    ("at-file", "@.env", (("read", ".env"),)),
    ("at-file", "a@b", ()),
    ("at-file", "@-", ()),
    ("named-at-file", "a@.env", (("read", ".env"),)),
    ("named-at-file", "a=b@c", ()),
    ("write-out", "%{http_code}\n", ()),
    ("write-out", "%output{x}", None),
    ("write-out", "@x", None),
    ("cookie", "a=b", ()),
    ("cookie", "jar", (("read", "jar"),)),
    ("cookie", "@a=b", (("read", "a=b"),)),
    ("form", "f=@.env;type=text/plain", (("read", ".env"),)),
    ("form", "f=<.env", (("read", ".env"),)),
    ("form", "f=@a,b", None),
    ("form", "f=x;headers=@y", None),
    ("form", "f=x", ()),
    ("form", "=@x", None),
    ("upload", "a.tgz", (("read", "a.tgz"),)),
    ("upload", "{a,b}", None),
    ("upload", ".", ()),
    ("switch", "on", ()),
    ("switch", "3.12", ()),
    ("switch", "/tmp/x", None),
    ("switch", "$(shell id)", None),
    ("define", "CMAKE_BUILD_TYPE:STRING=Release", ()),
    ("define", "skipTests", ()),
    ("define", "test=Foo#bar*", ()),
    ("define", "CMAKE_C_COMPILER=/tmp/x", None),
    ("go-flags", "all=-N -l", ()),
    ("go-flags", "-s -w -X main.v=1.2", ()),
    ("go-flags", "-extld=/tmp/x", None),
    ("go-flags", "-s -extld x", None),
    ("go-run", "./cmd/...", (("run-deep", "./cmd/"),)),
    ("go-run", "a/../../b", (("run-deep", "a/../../b"),)),
    ("go-run", "x.go", (("run", "x.go"),)),
    ("go-run", "net/http", ()),
    ("go-run", "x@latest", None),
    ("go-out", "./cmd/x/", (("write", "./x"),)),
    ("go-out", "a/b.go", (("write", "./b"),)),
    ("go-out", "./...", (("write-in", "."),)),
    ("go-out", "x@v1", None),
    ("go-new", "../x", (("write-visible", "../x"),)),
]


@pytest.mark.parametrize(("kind", "text", "said"), SAID)
def test_a_word_is_taken_apart(kind: str, text: str, said: Any) -> None:
    """What is read, written, run or contacted; None where that is not known."""
    assert READERS[kind](text) == said


def _told(command: str, table: ProgramTable, workdir: str = "/proj") -> tuple[set[str], set[str]]:
    shell = read_shell(command)
    assert shell is not None
    found = placed(command_effects(shell.commands[0], {"x": table}.get), PathContext(workdir, "/home/dev"))
    return {f"{effect.kind.value} {value}" for value, effect in found.values}, set(found.unread)


ASSIGNED = read_table("x", {"options": {"-C": "dir"}, "assignments": {"*": "switch"}, "operands": ["text*"]})


@pytest.mark.parametrize("word", ["SHELL=sh", '"$a"', "a$a", "SH*", "V:=1", "V!=1", "{a,SHELL=sh}"])
def test_a_word_that_may_be_an_assignment_is_unread(word: str) -> None:
    """Where a table tells of assignments, no word that is not known is taken for an operand."""
    assert _told(f"x {word}", ASSIGNED)[1]
    assert not _told("x V=1 all", ASSIGNED)[1]


def test_words_behind_the_dashes_are_read_by_their_own_table() -> None:
    """Its options and operands are those of the program that gets them."""
    table = read_table("x", {"operands": ["text*"], "after": {"options": {"-o": "new"}, "operands": ["path?"]}})
    assert _told("x a -- -o b c", table) == ({"written_path /proj/b", "read_path /proj/c"}, set())
    assert _told("x a -o b", table)[1] == {"-o"}
    assert _told("x -- a b", table)[1] == {"b"}
    assert _told("x -- -q", table)[1] == {"-q"}


def test_a_slot_names_the_only_words_that_it_takes() -> None:
    """Any other word is unread, an unknown one too."""
    table = read_table("x", {"operands": ["text* in test,verify"]})
    assert not _told("x test verify", table)[1]
    assert _told("x test evil:goal", table)[1] == {"evil:goal"}
    assert _told('x "$a"', table)[1]


def test_names_below_a_folder_can_be_told() -> None:
    """Of a written folder only names that fit are meant; a file is meant itself."""
    table = read_table("x", {"operands": ["new-deep* only *.go"], "effects": ["write-deep . only *.rs,*.toml"]})
    assert _told("x src", table)[0] == {"written_path /proj/src/**/*.go", "written_path /proj/**/{*.rs,*.toml}"}


def test_a_folder_of_the_project() -> None:
    """In a folder of the project it may lie further up, so that all of the project is meant."""
    table = read_table("x", {"options": {"-C": "dir"}, "effects": ["remove-deep project/target", "run man"]})
    assert _told("x", table)[0] == {"removed_path /proj/target/**", "executed man"}
    assert _told("x -C a", table)[0] == {"removed_path /proj/**", "executed man"}
    assert _told("x -C /b", table)[0] == {"removed_path /b/target/**", "executed man"}


def test_a_host_by_an_unusual_name_is_no_path() -> None:
    """`scp` takes what stands before a colon for a host, whatever its letters."""
    table = read_table("x", {"operands": ["host-path*", "host-new"]})
    assert _told("x a evil_host:b", table)[1] == {"evil_host:b"}
    assert _told("x a ./b:c", table) == ({"read_path /proj/a/**", "written_path /proj/b:c/**"}, set())


@pytest.mark.parametrize("path", ["./x", ".venv/bin/x", "/opt/bin/x", "../x"])
def test_a_program_by_its_path_takes_the_words_of_its_name(path: str) -> None:
    """It is executed, and what a program of its name would do counts too; scripts with a usual name are their own."""
    table = read_table("x", {"options": {"-o": "new"}, "operands": ["run*"]})
    told, unread = _told(f"{path} -o a /tmp/b --evil", table)
    assert {"written_path /proj/a", "executed /tmp/b"} < told
    assert unread == {"--evil"}
    assert _told("./test -o a", table) == ({"executed /proj/test"}, set())


def test_an_unknown_kind_is_refused() -> None:
    """With its place."""
    with pytest.raises(TableError, match="operands"):
        read_table("x", {"operands": ["frob"]})
