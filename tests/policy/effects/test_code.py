"""Program texts of `sed`, `awk` and `jq` in the words of commands: what the readers say, and what programs do."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from rebuno.policy.facets.shell.effects.code import READERS
from rebuno.policy.facets.shell.effects.code_effects import ENVIRONMENT, CodeEffects
from tests.policy.effects.program_texts import texts

HARMLESS = {
    "sed": (
        "1,40p", "$!N;P;D", ":a;N;$!ba;s/\\n/ /g", "/a/,/b/{//!d}", "s,/a,/b,;p", "y/abc/xyz/", "s/\\(a\\)/\\1/2gp",
        "$=",
        "\\,x,d", "/x/a foo w y", "1i\\text", "a\\\nfoo\\\nbar\np", "0,/x/s//y/", "1~2d", "/^#/!p", "s/a/b/ # e id",
        "2q",
        "/a/{n;s/x/y/;}", "s/[a-z]*$//", "s/[[:space:]]*$//", "s|[^/]*$||", "$a\\\nw x", "G;h", "s/a/b/w /dev/stdout",
    ),
    "awk": (
        "{print $1}", "NR==FNR{a[$1]=$2;next} $1 in a{print a[$1]}", "{s+=$1} END{print s/NR}", "!seen[$0]++",
        "$3 > 100",
        "{print ($1 > 5)}", "{gsub(/[^a-z]/,\"\");print}", "{gsub(/\\//,\"-\")}1", "length > 80", "NR%2==0",
        "function f(x){return x/2} {print f($1)}", "{x = $1 ? \"a\" : \"b\"; print x}", "{print \"system(1)\"} # | sh",
        "/system\\(\\)/", "BEGIN { OFS=\"\\t\" } { print $1, $2 }", "{ print $1\n  print $2 }",
        "{print > \"/dev/stderr\"}",
        "{gsub(/[[:space:]]+/,\" \"); print}", "{printf(\"%d\\n\", $1)}", "{print length}", "/a/,/b/",
    ),
    "jq": (
        ".", ".a.b[0]", ".env.x", "{env: 1}", "{a,b:.c,\"d\":1}", ".[]|select(.a==\"env\")", "def f: .+1; f",
        "@base64d",
        "to_entries|map(\"\\(.key)=\\(.value)\")|.[]", ". as [$a] | $a", "# env\n.", "..|.a?",
        "if .a then 1 else 2 end",
    ),
    "yq": (".a.b", ".a[] | select(.b == \"x\") | .c", "x.yaml", ".a = 1", "del(.a)", "explode(.)"),
}  # fmt: skip
NAMED = (
    ("sed", "w ../x", (), ("../x",)),
    ("sed", "s/a/b/gw out.txt\np", (), ("out.txt",)),
    ("sed", "/x/r f\nR g", ("f", "g"), ()),
    ("sed", "W y;p", None, None),
    ("awk", '{print > "out"}', (), ("out",)),
    ("awk", '{printf "%s", $1 >> "../log"; x = y > 1}', (), ("../log",)),
    ("awk", 'BEGIN {print ENVIRON["X"]}', (ENVIRONMENT,), ()),
    ("jq", "env", (ENVIRONMENT,), ()),
    ("jq", "$ENV.X", (ENVIRONMENT,), ()),
    ("jq", '"a \\("b \\(env.X)")"', (ENVIRONMENT,), ()),
)
UNREAD = {
    "sed": (
        "e", "1e id", "s/x/id/e", "s/x/id/ge", ":a#b;e id", "s/[/]/e;/g", "s/a\nb/c/", "v", "w", "r", "s/a", "a",
        "a\\", "y/a/b", "s/[]/]/e id/", "p p", "w -x", "w /dev/tcp/a/1", "s/[[.a.]/x/", "s a b e ", "L", "i\\\\",
    ),
    "awk": (
        "BEGIN{system(\"id\")}", "BEGIN{system (\"id\")}", "{print | \"sh\"}", "{print |& \"sh\"}",
        "BEGIN{\"id\" | getline x}",
        "BEGIN{while((getline l<\"f\")>0)print l}", "{print > $2}", "{print > \"a\" \"b\"}", "{print > (\"a\")}",
        "@load \"x\"",
        "@include \"x\"", "{@f()}", "BEGIN{ARGV[1]=\"/etc/x\";ARGC=2}", "{print foo(1)}", "{ if (x) /re/ }", "/a[/]b/",
        "{print a[1 > \"x\"]}", "/[]a]/", "{print > \"/inet/tcp/0/h/1\"}", "{print > \"-\"}", "{SYMTAB[\"x\"]}", "\"",
        "{",
        "{print \"a\nb\"}", "BEGIN{TEXTDOMAIN=\"../x\"; print _\"a\"}", "{x++ /b/}", "{close(\"x\")}",
        "{print $1,\n$2 > \"x\"}",
    ),
    "jq": (
        "import \"a\" as a; a::f", "include \"x\"; f", "\"x\" | modulemeta", "\"", "(", "a\\", "\"\\(\"", "é", "a::b",
    ),
    "yq": (
        "load(\"x\")", "env(X)", "strenv(X)", "$ENV", "system(\"id\")", "eval(.a)", "load_str(.a)", "include \"x\"; .",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("language", "text"), [(name, text) for name, many in HARMLESS.items() for text in many])
def test_usual_texts_do_nothing_but_read_their_input(language: str, text: str) -> None:
    assert READERS[language](text) == CodeEffects()


@pytest.mark.parametrize(("language", "text"), [(name, text) for name, many in UNREAD.items() for text in many])
def test_a_text_that_may_run_something_is_unread(language: str, text: str) -> None:
    assert READERS[language](text) is None


@pytest.mark.parametrize(("language", "text", "reads", "writes"), NAMED)
def test_the_files_that_a_text_names(
    language: str, text: str, reads: tuple[str, ...] | None, writes: tuple[str, ...] | None
) -> None:
    """They are told, or the text is unread."""
    found = READERS[language](text)
    assert found == (None if reads is None or writes is None else CodeEffects(reads, writes))


_OPENED = re.compile(r'(?:openat\(AT_FDCWD, |open\(|creat\()"(?P<name>(?:[^"\\]|\\.)*)"(?P<how>[^)]*)')
_OWN = ("/lib", "/usr/lib", "/usr/share", "/etc/ld.so", "/etc/localtime", "/etc/locale", "/proc/filesystems", "/dev/")
_CALLS = "execve,open,openat,creat,unlink,unlinkat,rename,renameat,renameat2,socket"
PROGRAMS = (
    ("sed", ("sed", "-e"), 300),
    ("sed", ("busybox", "sed", "-e"), 300),
    ("awk", ("mawk", "--"), 300),
    ("awk", ("gawk", "--"), 300),
    ("awk", ("original-awk", "--"), 300),
    ("awk", ("busybox", "awk", "--"), 300),
    ("jq", ("jq",), 150),
)


def _did(program: Sequence[str], text: str, folder: Path) -> tuple[set[str], set[str], list[str]]:
    """The files that the program read and wrote, and what else it did, with this text."""
    for one in folder.iterdir():
        one.unlink()
    (folder / "in1").write_text('{"a": 1, "b": [1, 2]}\n{"a": "b"}\n')
    (folder / "in2").write_text("x\n")
    log = folder.parent / "log"
    command = ["strace", "-f", "-qq", "-e", f"trace={_CALLS}", "-o", str(log), "timeout", "2", *program, text, "in1"]
    subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    reads: set[str] = set()
    writes: set[str] = set()
    other: list[str] = []
    executed = 0
    for line in log.read_text(errors="replace").splitlines():
        opened = _OPENED.search(line)
        if opened:
            names = writes if re.search("O_WRONLY|O_RDWR|O_CREAT", opened["how"]) or "creat(" in line else reads
            names.add(opened["name"])
        elif "execve(" in line:
            executed += "= 0" in line
        elif re.search(r"\b(?:unlink|rename|socket)\w*\(", line):
            other.append(line)
    if executed > 2:
        other.append(f"{executed - 2} programs")
    return reads, writes, other


@pytest.mark.parametrize(("language", "program", "number"), PROGRAMS, ids=[" ".join(one[1][:2]) for one in PROGRAMS])
def test_a_program_does_no_more_than_the_reader_says(
    language: str, program: tuple[str, ...], number: int, tmp_path: Path
) -> None:
    """No file is opened, and nothing is executed, but what is told of a text that is read."""
    if not shutil.which("strace") or not shutil.which(program[0]):
        pytest.skip(f"strace or {program[0]} is not on this machine")
    folder = tmp_path / "in"
    folder.mkdir()
    read = 0
    for text in texts(language, 1, number):
        found = READERS[language](text)
        if found is None or (len(program) == 1 and text.startswith("-")):
            continue
        read += 1
        reads, writes, other = _did(program, text, folder)
        reads = {name for name in reads if not name.startswith((*_OWN, "/proc/self/")) and not name.endswith(".jq")}
        writes = {name for name in writes if not name.startswith("/dev/")}
        assert reads <= {"in1", *found.reads}, text
        assert writes <= set(found.writes), text
        assert not other, text
    assert read > number // 8
