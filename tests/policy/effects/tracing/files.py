"""The files of the sandbox: a project with a git repository, a home, and a folder outside."""

import os
import stat
import subprocess
import tarfile
import zipfile
from pathlib import Path

# Long before the index of the repository, which need not look at them again.
_OLD = 1_600_000_000
_TEXT = "alpha beta\ngamma TODO foo\nx = 1\n"
_PYTHON = "import os\n\n\ndef foo(x: int) -> int:\n    return x + 1\n"
_TEST = "def test_one():\n    assert True\n"
PROJECT = {
    "README.md": "# Project\n\nfoo bar\n",
    "Makefile": "all:\n\t@true\n\ntest build clean lint:\n\t@true\n",
    "package.json": '{"name": "p", "version": "1.0.0", "scripts": {"test": "true", "build": "true", "lint": "true"}}\n',
    "package-lock.json": '{"name": "p", "version": "1.0.0", "lockfileVersion": 3, "packages": {}}\n',
    "tsconfig.json": '{"compilerOptions": {"strict": true}}\n',
    "Cargo.toml": '[package]\nname = "p"\nversion = "0.1.0"\nedition = "2021"\n',
    "Cargo.lock": 'version = 3\n\n[[package]]\nname = "p"\nversion = "0.1.0"\n',
    "go.mod": "module example.test/p\n\ngo 1.20\n",
    "main.go": "package main\n\nfunc main() {}\n",
    "main_test.go": 'package main\n\nimport "testing"\n\nfunc TestOne(t *testing.T) {}\n',
    "src/main.rs": "fn main() {}\n",
    "pyproject.toml": '[project]\nname = "p"\nversion = "0.1.0"\n',
    "requirements.txt": "",
    "conftest.py": "",
    "Dockerfile": "FROM scratch\n",
    "docker-compose.yml": "services: {}\n",
    ".env": "SECRET=1\n",
    ".env.local": "SECRET=2\n",
    ".gitignore": "build/\ndist/\nnode_modules/\n*.log\n",
    ".github/workflows/ci.yml": "on: push\n",
    ".hidden": "hidden\n",
    ".vscode/settings.json": "{}\n",
    "keys/server.pem": "KEY\n",
    "id_rsa": "KEY\n",
    "a.py": _PYTHON,
    "b.py": _PYTHON,
    "script.py": "",
    "script.sh": "#!/bin/sh\ntrue\n",
    "script.js": "",
    "app.js": "",
    "index.ts": "",
    "a.json": '{"a": {"b": [1, 2]}}\n',
    "data.json": '{"a": {"b": [1, 2]}}\n',
    "data.csv": "a,b\n1,2\n",
    "config.yaml": "a: 1\n",
    "app.log": "ERROR x\nok\n",
    "notes.md": "notes\n",
    "list.txt": "a.txt\nsrc/a.py\n",
    "args.txt": "-n\nfoo\n",
    "patch.diff": "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n-alpha beta\n+alpha BETA\n gamma TODO foo\n x = 1\n",
    "prog.awk": "{ print $1 }\n",
    "prog.sed": "s/a/b/\n",
    "filter.jq": ".a\n",
    "with space.txt": _TEXT,
    "src/a.py": _PYTHON,
    "src/b.py": _PYTHON,
    "src/main.py": _PYTHON,
    "src/app.ts": "export const a = 1;\n",
    "src/app.js": "",
    "src/x.txt": _TEXT,
    "src/.secret": "hidden\n",
    "src/sub/deep.py": _PYTHON,
    "src/sub/deep.txt": _TEXT,
    "lib/x.py": _PYTHON,
    "tests/test_a.py": _TEST,
    "tests/test_b.py": _TEST,
    "docs/index.md": "# Docs\n",
    "scripts/run.sh": "#!/bin/sh\ntrue\n",
    "build/out.o": "o\n",
    "build/sub/x.o": "o\n",
    "dist/app.js": "",
    "node_modules/pkg/index.js": "",
    "node_modules/pkg/package.json": '{"name": "pkg", "version": "1.0.0"}\n',
    "empty/.keep": "",
    **dict.fromkeys(("a", "b", "c", "x", "y", "z", "a.txt", "b.txt", "c.txt", "x.txt", "file.txt", "old.txt"), _TEXT),
}
HOME = {
    ".bashrc": "true\n",
    ".profile": "true\n",
    ".gitconfig": "[user]\n\tname = Dev\n\temail = dev@corp.example\n[init]\n\tdefaultBranch = main\n",
    ".ssh/id_rsa": "KEY\n",
    ".ssh/config": "Host corp\n",
    ".netrc": "machine x.example login a password b\n",
    ".npmrc": "",
    ".aws/credentials": "KEY\n",
    ".config/tool/conf.toml": "a = 1\n",
    "x": _TEXT,
    "notes.txt": _TEXT,
    "work/y.py": _PYTHON,
}
OUTSIDE = {
    "secret.txt": "secret\n",
    "a.py": _PYTHON,
    "Makefile": "all:\n\t@true\n",
    "dir/y.txt": _TEXT,
    "dir/.z": "z\n",
    "test_evil.py": _TEST,
}
# Names that the sandbox's repository has for other ones.
REMOTES = {"origin": "https://git.example/p.git", "upstream": "git@up.example:p.git"}


def write_files(root: Path, files: dict[str, str]) -> None:
    """Writes files below a folder."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (_OLD, _OLD))
        if name.endswith(".sh"):
            path.chmod(0o755)


def _archives(project: Path) -> None:
    for name, mode in (("a.tar", "w"), ("a.tar.gz", "w:gz"), ("a.tgz", "w:gz"), ("a.tar.bz2", "w:bz2")):
        with tarfile.open(project / name, mode) as made:  # type: ignore[call-overload]
            made.add(project / "a.txt", "inner/a.txt")
            made.add(project / "b.txt", "b.txt")
    with zipfile.ZipFile(project / "a.zip", "w") as packed:
        packed.write(project / "a.txt", "inner/a.txt")
    import gzip

    (project / "x.gz").write_bytes(gzip.compress(b"text\n"))


def _repository(project: Path, environment: dict[str, str]) -> None:
    def git(*words: str) -> None:
        subprocess.run(
            ["git", *words],
            cwd=project,
            env=environment,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    git("init", "-q", "-b", "main")
    # A copy of the files has other numbers.
    git("config", "core.trustctime", "false")
    git("config", "core.checkStat", "minimal")
    git("add", "-A")
    git("commit", "-q", "-m", "first")
    git("tag", "v1")
    git("checkout", "-q", "-b", "feature")
    (project / "c.txt").write_text("changed\n")
    git("commit", "-qam", "second")
    git("checkout", "-q", "main")
    (project / "b.txt").write_text("stashed\n")
    git("stash", "-q")
    (project / "b.py").write_text(_PYTHON + "# more\n")
    git("commit", "-qam", "third")
    for name, url in REMOTES.items():
        git("remote", "add", name, url)
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    (project / "a.txt").write_text("alpha changed\n")
    (project / "x.txt").write_text("staged\n")
    git("add", "x.txt")
    (project / "new.txt").write_text("not tracked\n")
    (project / "new").mkdir()
    (project / "new" / "inner.txt").write_text("not tracked\n")


def build(root: Path, environment: dict[str, str], git: bool) -> None:
    """Makes the three folders below `root`."""
    project = root / "proj"
    write_files(project, PROJECT)
    write_files(root / "home" / "dev", HOME)
    write_files(root / "outside", OUTSIDE)
    (project / "link").symlink_to("a.py")
    (project / "linkdir").symlink_to("src")
    (project / "out").symlink_to("../outside")
    (project / "script.py").chmod(stat.S_IRWXU)
    _archives(project)
    if git:
        _repository(project, environment)


def inventory(root: Path) -> dict[str, str]:
    """All that lies below a folder, each path with `d` for a folder, `f` for a file, or where a link leads."""
    found = {str(root): "d"}
    for folder, folders, names in os.walk(root):
        for name in (*folders, *names):
            path = os.path.join(folder, name)
            if os.path.islink(path):
                found[path] = os.path.normpath(os.path.join(folder, os.readlink(path)))
            else:
                found[path] = "d" if name in folders else "f"
    return found
