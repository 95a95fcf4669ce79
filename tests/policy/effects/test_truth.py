"""What command lines do under `strace` is read from them: no file, folder, host or program that is in no set."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rebuno.policy.facets.shell.effects.table import Form, Option, ProgramTable, Slot
from rebuno.policy.facets.shell.effects.table_set import builtin_table
from tests.policy.effects.tracing.generate import LineMaker, programs_with_tables
from tests.policy.effects.tracing.reading import Tables
from tests.policy.effects.tracing.strace import Event, TraceReader
from tests.policy.effects.tracing.tracer import CannotTraceError, Tracer
from tests.policy.effects.truth import examine, examine_program

PROGRAMS = tuple(programs_with_tables())
# Enough for every kind of effect; `truth.py` runs as many as one likes.
LINES = 2
SEED = 1


@pytest.fixture(scope="module")
def tracer() -> Iterator[Tracer]:
    """A sandbox, where the system lets one be made."""
    try:
        made = Tracer(PROGRAMS)
    except CannotTraceError as error:
        pytest.skip(f"the truth test is not run: {error}")
    with made:
        yield made


def test_lines_of_all_tables_do_what_is_read_from_them(tracer: Tracer) -> None:
    """Lines are made from the tables; those that hold something unread are not run."""
    tallies = [examine_program(tracer, one, LINES, SEED) for one in PROGRAMS if tracer.installed[one] is not None]
    faults = [str(fault) for tally in tallies for fault in tally.faults]
    assert not faults, "\n".join(faults)
    assert sum(tally.run for tally in tallies) > len(tallies)


# ---------------------------------------------------------------- the test itself


def forgetful(table: ProgramTable, forgotten: str) -> ProgramTable:
    """The table, without what its words of a kind do, or without its effects of a verb."""

    def slot(one: Slot) -> Slot:
        kinds = tuple("text" if kind == forgotten else kind for kind in one.kinds)
        return replace(one, kinds=kinds, choices=tuple(slot(each) for each in one.choices))

    def option(one: Option) -> Option:
        effects = tuple(rule for rule in one.effects if rule.verb != forgotten)
        return replace(one, values=tuple(slot(each) for each in one.values), effects=effects)

    def form(one: Form) -> Form:
        after = None if one.after is None else tuple(slot(each) for each in one.after)
        effects = tuple(rule for rule in one.effects if rule.verb != forgotten)
        return replace(one, operands=tuple(slot(each) for each in one.operands), after=after, effects=effects)

    return replace(
        table,
        options={name: option(one) for name, one in table.options.items()},
        forms=tuple(form(one) for one in table.forms),
        subcommands={name: forgetful(one, forgotten) for name, one in table.subcommands.items()},
    )


def forgetting(program: str, forgotten: str) -> Tables:
    """All tables, of which that of `program` has forgotten something."""

    def table(name: str) -> ProgramTable | None:
        found = builtin_table(name)
        return forgetful(found, forgotten) if found is not None and name == program else found

    return table


@pytest.mark.parametrize(
    ("line", "forgotten", "kind"),
    [
        ("cat a.txt", "path", "read"),
        ("cd src && cat ../b.txt", "path", "read"),
        ("grep -rn foo src", "deep", "read"),
        ("grep -f list.txt a.txt", "path", "read"),
        ("cp a.txt n.txt", "into", "write"),
        ("mv b.txt n.txt", "gone-deep", "remove"),
        ("rm a.txt", "gone", "remove"),
        ("rm -r src", "gone-deep", "remove"),
        ("touch n.txt", "new", "write"),
        ("touch /etc/n.txt", "new", "write"),
        ("mkdir -p n/m", "new", "write"),
        ("sort -o n.txt a.txt", "new", "write"),
        ("ls docs", "path", "list"),
        ("curl -s http://x.example/f", "url", "contact"),
        ("git fetch origin", "remote", "contact"),
        ("git rm -q b.txt", "pathspec-gone", "remove"),
        ("find src -name '*.py' -delete", "gone-deep", "remove"),
    ],
)
def test_an_effect_that_a_table_leaves_out_is_found(tracer: Tracer, line: str, forgotten: str, kind: str) -> None:
    """The table of the program is changed in memory; the same line has no fault by the right one."""
    program = next(word for word in line.split() if tracer.installed.get(word) and word not in ("cd", "src"))
    assert not examine(tracer, line)[1]
    comparison, faults = examine(tracer, line, forgetting(program, forgotten))
    assert comparison.read.sure
    assert kind in {fault.kind for fault in faults}
    assert {fault.program for fault in faults} == {program}


def test_a_program_that_no_set_names_is_found(tracer: Tracer) -> None:
    """`split` hands its output to a shell."""
    line = "split --filter='./scripts/run.sh' a.txt"
    comparison, faults = examine(tracer, line, forgetting("split", "code"))
    assert "exec" in {fault.kind for fault in faults} or not comparison.read.sure


def test_nothing_outside_the_sandbox_can_be_changed(tracer: Tracer, tmp_path: Path) -> None:
    """All else is read only, and no process is seen. What a line tries is recorded all the same."""
    victim = tmp_path / "victim"
    victim.write_text("here")
    comparison, _ = examine(tracer, f"rm {victim}; touch {tmp_path}/new; kill {os.getpid()}")
    assert victim.read_text() == "here"
    assert not (tmp_path / "new").exists()
    assert comparison.trace.status != 0


def test_a_line_finds_the_files_as_the_one_before_did(tracer: Tracer) -> None:
    """What a line changed is put back."""
    tracer.run("rm -rf src .git; echo x > a.txt; touch n.txt")
    trace = tracer.run("cat src/a.py && git status && grep -q alpha a.txt && test ! -e n.txt")
    assert trace.status == 0


def test_lines_are_the_same_for_a_seed() -> None:
    """And others for another one."""

    def made(seed: int) -> list[str]:
        maker = LineMaker("cp", seed)
        return [maker.line() for _ in range(20)]

    assert made(1) == made(1) != made(2)


def test_the_reason_is_told_where_nothing_can_be_traced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It counts as not run, and not as passed."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotTraceError, match="`strace` is not installed"):
        Tracer()


# ---------------------------------------------------------------- records


@pytest.mark.parametrize(
    ("call", "event"),
    [
        ('openat(AT_FDCWD</p>, "a", O_RDONLY) = 3</p/a>', ("read", "/p/a", "")),
        ('openat(5</q>, "../a\\"b", O_RDONLY|O_CLOEXEC) = 3</a>', ("read", '/a"b', "")),
        ('open("/x/\\303\\244", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3</x>', ("write", "/x/ä", "")),
        ('openat(AT_FDCWD</p>, "n", O_RDWR|O_CREAT|O_TRUNC, 0666) = 3</p/n>', ("write", "/p/n", "")),
        ('open("/etc/n", O_WRONLY|O_CREAT, 0666) = -1 EROFS (Read-only file system)', ("write", "/etc/n", "")),
        ('openat(AT_FDCWD</p>, "a", O_RDONLY) = -1 ENOENT (No such file or directory)', None),
        ('openat(AT_FDCWD</p>, "d", O_RDONLY|O_DIRECTORY) = 3</p/d>', None),
        ("getdents64(3</p/d>, 0x1 /* 5 entries */, 32768) = 120", ("list", "/p/d", "")),
        ('rename("a", "/q/b") = 0', ("rename", "/p/a", "/q/b")),
        ('renameat2(AT_FDCWD</p>, "a", 4</q>, "b", RENAME_NOREPLACE) = 0', ("rename", "/p/a", "/q/b")),
        ('linkat(AT_FDCWD</p>, "a", AT_FDCWD</p>, "b", 0) = 0', ("write", "/p/b", "")),
        ('symlink("../a", "b") = 0', ("write", "/p/b", "")),
        ('unlinkat(3</p/d>, "x", 0) = 0', ("remove", "/p/d/x", "")),
        ('rmdir("d") = 0', ("remove", "/p/d", "")),
        ('mkdir("d", 0777) = -1 EEXIST (File exists)', None),
        ("utimensat(0</p/f>, NULL, NULL, 0) = 0", ("write", "/p/f", "")),
        ('utimensat(AT_FDCWD</p>, "f", NULL, 0) = 0', ("write", "/p/f", "")),
        ("fchmod(3</p/f>, 0644) = 0", ("write", "/p/f", "")),
        ('fsetxattr(3</p/f>, "user.x", "y", 1, 0) = 0', ("write", "/p/f", "")),
        ('execve("/bin/ls", ["ls"], 0x1 /* 9 vars */) = 0', ("exec", "/bin/ls", "")),
        ('execve("/usr/bin/x", ["x"], 0x1 /* 9 vars */) = -1 ENOENT (No such file or directory)', None),
        (
            'connect(3<socket:[7]>, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("10.0.0.1")}, 16) = 0',
            ("contact", "10.0.0.1 80", ""),
        ),
        (
            'connect(3<socket:[7]>, {sa_family=AF_UNIX, sun_path="/run/x"}, 110) = 0',
            ("contact", "unix:/run/x", ""),
        ),
        ("clone(child_stack=NULL, flags=SIGCHLD) = 12", ("fork", "", "12")),
    ],
)  # fmt: skip
def test_a_record_of_strace_is_read(call: str, event: tuple[str, str, str] | None) -> None:
    """A path is absolute, from where the process or the folder before it stands."""
    found = TraceReader("/p").read([(1, f"1.0 {call}\n")])
    assert [(one.kind, one.path, one.other) for one in found] == ([] if event is None else [event])


def test_a_child_begins_where_its_parent_stands() -> None:
    """And a thread goes where the others go."""
    records = [
        (1, '1.0 chdir("a") = 0\n1.1 fork() = 2\n1.2 clone(flags=CLONE_VM|CLONE_FS) = 3\n1.5 chdir("/b") = 0\n'),
        (2, '1.3 unlink("x") = 0\n1.6 unlink("y") = 0\n'),
        (3, '1.4 unlink("x") = 0\n1.7 unlink("y") = 0\n'),
    ]
    removed = [one for one in TraceReader("/p").read(records) if one.kind == "remove"]
    assert removed == [
        Event(2, "remove", "/p/a/x", "unlink"),
        Event(3, "remove", "/p/a/x", "unlink"),
        Event(2, "remove", "/p/a/y", "unlink"),
        Event(3, "remove", "/b/y", "unlink"),
    ]


def test_a_datagram_counts_when_it_is_sent() -> None:
    """To connect its socket asks for an address only."""
    text = (
        "1.0 socket(AF_INET, SOCK_DGRAM|SOCK_CLOEXEC, IPPROTO_IP) = 3<socket:[9]>\n"
        '1.1 connect(3<socket:[9]>, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("10.0.0.9")}, 16) = 0\n'
    )
    assert not TraceReader("/p").read([(1, text)])
    sent = text + '1.2 sendto(3<socket:[9]>, "x", 1, 0, NULL, 0) = 1\n'
    assert [one.path for one in TraceReader("/p").read([(1, sent)])] == ["10.0.0.9 53"]
