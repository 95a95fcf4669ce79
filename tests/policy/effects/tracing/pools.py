"""Words for the places of generated command lines, as a shell reads them, by the kinds of the tables."""

from typing import Final

_FILES: Final = (
    "a.txt", "b.txt", "c.txt", "a.py", "b.py", "src/a.py", "src/x.txt", "README.md", "data.json", "data.csv", "app.log",
    "./a.txt", "src/../b.txt", "'with space.txt'", "link", "out/secret.txt", ".env", "src/.secret", "missing.txt",
    "../outside/secret.txt", "~/x", "$HOME/notes.txt", '"$HOME/.ssh/id_rsa"', "/mnt/outside/dir/y.txt", "a", "x", "y",
    "*.py", "src/*.txt", "{a,b}.txt", "$PWD/a.txt", "list.txt", "new.txt", "/mnt/proj/src/a.py", "keys/server.pem",
    "a.tar", "a.zip", "x.gz", "patch.diff", "app.js", "index.ts", "main.go", "src/main.rs", "config.yaml",
)  # fmt: skip
_FOLDERS: Final = (
    "src", ".", "docs", "src/sub", "tests", "../outside", "~/work", "build", "linkdir", "./src/", "empty", "$HOME",
    "..", "lib",
)  # fmt: skip
_NEW: Final = (
    "out.txt", "build/o.bin", "../outside/n.txt", "~/n.txt", "newdir", "b.txt", "src/new.py", "/tmp/o.txt", "docs",
    "n1", "a.txt", "src",
)  # fmt: skip
_TEXT: Final = (
    "foo", "1", "3", "auto", "never", "always", "x", "'a b'", "10", "text", "name", "0", "2", "all", "none",
    "json", "TODO", "main", "utf-8", "short",
)  # fmt: skip
_PATHSPEC: Final = (
    "src", "a.txt", ".", "b.py", "'*.py'", "src/sub", "docs", "new.txt", "new", "x.txt", "missing.txt",
    "out/secret.txt", ".env",
)  # fmt: skip
_COMMAND: Final = (
    "cat a.txt", "ls", "true", "echo x", "python3 script.py", "tool x", "rm b.txt", "grep foo a.txt",
    "touch n.txt", "./scripts/run.sh",
)  # fmt: skip

POOLS: Final[dict[str, tuple[str, ...]]] = {
    "path": (*_FILES, *_FILES, *_FOLDERS),
    "deep": (*_FOLDERS, *_FOLDERS, "a.txt", "b.py", "src/a.py", "missing", "src/*"),
    "visible": (*_FOLDERS, "a.txt", "src/a.py"),
    "new": _NEW,
    "new-deep": (*_NEW, *_FOLDERS),
    "gone": _FILES,
    "gone-deep": (*_FOLDERS, *_FILES),
    "run": ("script.py", "script.sh", "./scripts/run.sh", "../outside/a.py"),
    "run-deep": (*_FOLDERS, "tests/test_a.py", "../outside/test_evil.py", "script.py"),
    "script": (
        "script.py", "script.sh", "scripts/run.sh", "script.js", "src/main.py", "../outside/a.py", "missing.py",
    ),
    "program": ("tool", "cat", "true"),
    "command": _COMMAND,
    "tool": _COMMAND,
    "into": (*_NEW, *_FOLDERS),
    "into-deep": (*_NEW, *_FOLDERS),
    "linked": ("a.txt", "src", "../outside", "~/x", "missing.txt", "/mnt/outside/dir"),
    "prefix": ("pre", "build/pre", "../outside/p", "src/"),
    "all": (*_FOLDERS, "a.txt"),
    "suffix": (".bak", "~", ".orig", "bak"),
    "local": ("main", "feature", "."),
    "packed": ("x.gz", "a.tar.gz", "a.txt"),
    "unpacked": ("a.txt", "b.py", "src/x.txt", "missing"),
    "path-zip": ("a.zip", "a", "missing.zip", "../outside/z"),
    "new-zip": ("new.zip", "n", "a.zip", "../outside/z.zip"),
    "printed": ("foo", "'%s\\n'", "$HOME", '"$PWD"', "*.py", "$x"),
    "shell-script": ("script.sh", "scripts/run.sh", "./script.sh", "../outside/x.sh"),
    "awk-input": ("a.txt", "src/x.txt", "-", "x=1", "missing.txt"),
    "yq": (".", ".a", "'.a.b[]'"),
    "module": ("pytest", "json.tool a.json", "http.server", "venv v", "tool"),
    "dir": ("src", "../outside", ".", "docs", "/mnt/outside"),
    "only": ("'*.py'", "'*.txt'", "'a*'"),
    "host": ("x.example", "dev@y.example", "127.0.0.1", "10.0.0.7"),
    "url": (
        "http://x.example/f.txt", "https://y.example/a/b", "x.example", "http://127.0.0.1:8000/z", "http://10.0.0.7/q",
    ),
    "host-path": ("x.example:a.txt", "a.txt", "dev@y.example:/tmp/x", "src", "../outside"),
    "host-new": ("x.example:a.txt", "out.txt", "dev@y.example:x", "src", "../outside/n.txt"),
    "remote": ("origin", "upstream", "http://g.example/x.git", "git@h.example:x.git", "../outside", "."),
    "revision": (
        "HEAD", "HEAD~1", "main", "feature", "v1", "main..feature", "HEAD:a.txt", "HEAD:src", "main...feature",
        "HEAD^", "origin/main", "stash@{0}", "nope",
    ),
    "sed": ("s/a/b/", "'s/foo/bar/g'", "-n", "2,3p", "'/foo/d'", "'1q'", "'s/a/b/;s/c/d/'", "'$d'"),
    "awk": ("'{print $1}'", "'/foo/'", "'NR==1'", "'{s+=$1} END {print s}'", "'{ print NR, $0 }'"),
    "jq": (".", ".a", "'.a.b[]'", "keys", "'.a | length'"),
    "text": _TEXT,
}  # fmt: skip
for _kind in ("path", "run", "new", "gone", "deep"):
    POOLS[f"pattern-{_kind}"] = ("'src/**/*.py'", "'*.js'", "'!a.js'", *POOLS[_kind])
POOLS["pattern"] = POOLS["pattern-path"]
for _kind in ("path", "deep", "visible", "new", "new-deep", "gone", "gone-deep", "run", "run-deep"):
    POOLS[f"pathspec-{_kind}"] = _PATHSPEC
POOLS["pathspec"] = _PATHSPEC

# What follows a pipe.
FILTERS: Final = ("head -3", "tail -2", "wc -l", "sort", "grep foo", "cat", "sort -u", "uniq", "cut -c1-3")
