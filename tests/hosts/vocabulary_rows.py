"""A call of each tool of each host, what it is for bundles, and what the shipped bundle says of it."""

from typing import Any, Final

P: Final = "/work/app"
Calls = list[tuple[str, dict[str, Any]]]

# The host's tool, its input, what it is judged as, and the verdict of `policies/coding.rbp`.
CLAUDE_CODE: Final[list[tuple[str, Any, Calls, str]]] = [
    ("Bash", {"command": "git status", "description": "Look", "timeout": 9000},
     [("shell", {"command": "git status", "timeout": 9000, "cwd": P})], "allow"),
    ("Bash", {"command": "npm test", "run_in_background": True},
     [("shell", {"command": "npm test", "run_in_background": True, "cwd": P})], "allow"),
    ("Bash", {"command": "git status", "dangerouslyDisableSandbox": False},
     [("shell", {"command": "git status", "cwd": P})], "allow"),
    ("Bash", {"command": "git status", "dangerouslyDisableSandbox": True},
     [("shell", {"command": "git status", "dangerouslyDisableSandbox": True, "cwd": P})], "require_approval"),
    ("Bash", {"command": "git status", "cwd": "/etc"},
     [("shell", {"command": "git status", "input_cwd": "/etc", "cwd": P})], "require_approval"),
    ("Bash", {}, [("shell", {"cwd": P})], "deny"),
    ("PowerShell", {"command": "ls"}, [("claude-code.PowerShell", {"command": "ls"})], "deny"),
    ("Monitor", {"description": "d", "timeout_ms": 5, "command": "git status"},
     [("shell", {"command": "git status", "timeout_ms": 5, "cwd": P})], "allow"),
    ("Monitor", {"description": "d", "timeout_ms": 5, "ws": {"url": "wss://x.example"}},
     [("fetch", {"url": "wss://x.example"})], "deny"),
    ("Monitor", {"command": "git status", "ws": "wss://x.example"},
     [("claude-code.Monitor", {"command": "git status", "ws": "wss://x.example"})], "deny"),
    ("Read", {"file_path": f"{P}/src/a.py", "offset": 3}, [("read_file", {"path": f"{P}/src/a.py", "offset": 3})],
     "allow"),
    ("Read", {"file_path": f"{P}/.env"}, [("read_file", {"path": f"{P}/.env"})], "deny"),
    ("Read", {"file_path": f"{P}/a.py", "path": "/etc/passwd"},
     [("read_file", {"path": f"{P}/a.py", "input_path": "/etc/passwd"})], "allow"),
    ("Write", {"file_path": f"{P}/a.py", "content": "x"}, [("write_file", {"path": f"{P}/a.py", "content": "x"})],
     "allow"),
    ("Write", {"file_path": f"{P}/.claude/settings.json", "content": "{}"},
     [("write_file", {"path": f"{P}/.claude/settings.json", "content": "{}"})], "deny"),
    ("Edit", {"file_path": f"{P}/a.py", "old_string": "a", "new_string": "b", "replace_all": True},
     [("edit_file", {"path": f"{P}/a.py", "old": "a", "new": "b", "replace_all": True})], "allow"),
    ("MultiEdit", {"file_path": f"{P}/package.json", "edits": [
        {"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": '"postinstall": "x"'}]},
     [("edit_file", {"path": f"{P}/package.json", "old": "a\nc", "new": 'b\n"postinstall": "x"'})],
     "require_approval"),
    ("NotebookEdit", {"notebook_path": f"{P}/a.ipynb", "new_source": "x", "edit_mode": "replace"},
     [("edit_file", {"path": f"{P}/a.ipynb", "new": "x", "edit_mode": "replace"})], "allow"),
    ("LS", {"path": f"{P}/src"}, [("list_files", {"path": f"{P}/src"})], "allow"),
    ("Glob", {"pattern": "**/*.py"}, [("list_files", {"pattern": "**/*.py", "path": P})], "allow"),
    ("Glob", {"pattern": "../../etc/*"}, [("list_files", {"pattern": "../../etc/*", "path": f"{P}/../.."})], "deny"),
    ("Glob", {"pattern": "/etc/*.conf"}, [("list_files", {"pattern": "/etc/*.conf", "path": "/etc"})], "deny"),
    ("Glob", {"pattern": "~/.ssh/*"}, [("list_files", {"pattern": "~/.ssh/*", "path": "~/.ssh"})], "deny"),
    ("Glob", {"pattern": "{src,}/etc/*"}, [("list_files", {"pattern": "{src,}/etc/*", "path": "/"})], "deny"),
    ("Glob", {"pattern": "{.,}{.,}/x"}, [("list_files", {"pattern": "{.,}{.,}/x", "path": "/"})], "deny"),
    ("Glob", {"pattern": ".{a,}./x"}, [("list_files", {"pattern": ".{a,}./x", "path": "/"})], "deny"),
    ("Glob", {"pattern": "{{a,},b}/etc"}, [("list_files", {"pattern": "{{a,},b}/etc", "path": "/"})], "deny"),
    ("Glob", {"pattern": "src/{a,b}/*.ts{,x}"},
     [("list_files", {"pattern": "src/{a,b}/*.ts{,x}", "path": P})], "allow"),
    ("Glob", {"pattern": "{/etc,src}/*"}, [("list_files", {"pattern": "{/etc,src}/*", "path": "/"})], "deny"),
    ("Grep", {"pattern": "TODO", "glob": "*.py"}, [("search_files", {"pattern": "TODO", "glob": "*.py", "path": P})],
     "allow"),
    ("Grep", {"pattern": "x", "path": "/etc"}, [("search_files", {"pattern": "x", "path": "/etc"})], "deny"),
    ("WebFetch", {"url": "https://docs.python.org/3/", "prompt": "p"},
     [("fetch", {"url": "https://docs.python.org/3/"})], "allow"),
    ("WebFetch", {"url": "http://169.254.169.254/", "prompt": "p"}, [("fetch", {"url": "http://169.254.169.254/"})],
     "deny"),
    ("WebSearch", {"query": "zip strict"}, [("search_web", {"query": "zip strict"})], "allow"),
    ("Agent", {"description": "d", "prompt": "find it", "subagent_type": "Explore"},
     [("delegate", {"prompt": "find it", "agent": "Explore"})], "allow"),
    ("Task", {"description": "d", "prompt": "find it"}, [("delegate", {"prompt": "find it"})], "allow"),
    ("TodoWrite", {"todos": []}, [("claude-code.TodoWrite", {"todos": []})], "allow"),
    ("AskUserQuestion", {"questions": []}, [("claude-code.AskUserQuestion", {"questions": []})], "allow"),
    ("Brew", {"cups": 2}, [("claude-code.Brew", {"cups": 2})], "deny"),
    ("Brew", ["cups"], [("claude-code.Brew", {"input": ["cups"]})], "deny"),
    ("mcp__mail__send", {"to": "a"}, [("mail.send", {"to": "a"})], "deny"),
    ("mcp__claude-code__TodoWrite", {}, [("mcp.claude-code.TodoWrite", {})], "deny"),
]  # fmt: skip

_PATCH: Final = """*** Begin Patch
*** Add File: docs/a.md
+hello
*** Update File: src/b.py
@@ def f():
 kept
-old
+new
*** Delete File: src/c.py
*** End Patch
"""
_MOVE: Final = """*** Begin Patch
*** Update File: a.txt
*** Move to: .claude/settings.json
@@
-a
+b
*** End Patch"""

_PATCHED: Final[Calls] = [
    ("write_file", {"path": f"{P}/docs/a.md", "content": "hello"}),
    ("edit_file", {"path": f"{P}/src/b.py", "old": "old", "new": "new"}),
    ("delete_file", {"path": f"{P}/src/c.py"}),
]
_MOVED: Final[Calls] = [
    ("edit_file", {"path": f"{P}/a.txt", "old": "a", "new": "b"}),
    ("edit_file", {"path": f"{P}/.claude/settings.json", "old": "a", "new": "b"}),
    ("delete_file", {"path": f"{P}/a.txt"}),
]

CODEX: Final[list[tuple[str, Any, Calls, str]]] = [
    ("Bash", {"command": "git status"}, [("shell", {"command": "git status", "cwd": P})], "allow"),
    ("Bash", {"command": ["bash", "-lc", "git status"]},
     [("shell", {"command": "bash -lc 'git status'", "cwd": P})], "allow"),
    ("Bash", {"command": f"apply_patch <<'EOF'\n{_PATCH}EOF\n"}, _PATCHED, "allow"),
    ("Bash", {"command": f"apply_patch <<EOF\n{_PATCH}EOF\n"},
     [("shell", {"command": f"apply_patch <<EOF\n{_PATCH}EOF\n", "cwd": P})], "require_approval"),
    ("apply_patch", {"command": _PATCH}, _PATCHED, "allow"),
    ("apply_patch", {"command": _MOVE}, _MOVED, "deny"),
    ("apply_patch", {"command": "*** Begin Patch\n*** Add File: ../x\n+y\n*** End Patch"},
     [("write_file", {"path": f"{P}/../x", "content": "y"})], "deny"),
    ("apply_patch", {"command": "no patch"}, [("codex.apply_patch", {"command": "no patch"})], "deny"),
    ("apply_patch", {"command": _PATCH, "workdir": "/etc"},
     [("codex.apply_patch", {"command": _PATCH, "workdir": "/etc"})], "deny"),
    ("view_image", {"path": f"{P}/a.png"}, [("read_file", {"path": f"{P}/a.png"})], "allow"),
    ("spawn_agent", {"message": "look", "agent_type": "explorer"},
     [("delegate", {"prompt": "look", "agent": "explorer"})], "allow"),
    ("update_plan", {"plan": []}, [("codex.update_plan", {"plan": []})], "allow"),
    ("mcp__mail__send", {"to": "a"}, [("mail.send", {"to": "a"})], "deny"),
]  # fmt: skip

GEMINI_CLI: Final[list[tuple[str, Any, Calls, str]]] = [
    ("run_shell_command", {"command": "git status", "description": "d"},
     [("shell", {"command": "git status", "cwd": P})], "allow"),
    ("run_shell_command", {"command": "cat a", "dir_path": "../other"},
     [("shell", {"command": "cat a", "cwd": f"{P}/../other"})], "require_approval"),
    ("run_shell_command", {"command": "cat a", "dir_path": "/etc", "directory": "src"},
     [("gemini-cli.run_shell_command", {"command": "cat a", "dir_path": "/etc", "directory": "src"})], "deny"),
    ("read_file", {"file_path": "src/a.py"}, [("read_file", {"path": f"{P}/src/a.py"})], "allow"),
    ("read_many_files", {"include": ["README.md", "src/**/*.py"]},
     [("read_file", {"path": f"{P}/README.md"}), ("search_files", {"path": P, "include": "src/**/*.py"})], "allow"),
    ("read_many_files", {"include": ["README.md", ".env"]},
     [("read_file", {"path": f"{P}/README.md"}), ("read_file", {"path": f"{P}/.env"})], "deny"),
    ("read_many_files", {"include": ["README.md"], "paths": [".env"]},
     [("read_file", {"path": f"{P}/README.md"}), ("read_file", {"path": f"{P}/.env"})], "deny"),
    ("write_file", {"file_path": "a.py", "content": "x"}, [("write_file", {"path": f"{P}/a.py", "content": "x"})],
     "allow"),
    ("replace", {"file_path": "a.py", "instruction": "i", "old_string": "a", "new_string": "b"},
     [("edit_file", {"path": f"{P}/a.py", "old": "a", "new": "b"})], "allow"),
    ("list_directory", {"dir_path": "src"}, [("list_files", {"path": f"{P}/src"})], "allow"),
    ("list_directory", {"dir_path": "/etc", "path": "src"},
     [("gemini-cli.list_directory", {"dir_path": "/etc", "path": "src"})], "deny"),
    ("glob", {"pattern": "src/**/*.ts"}, [("list_files", {"pattern": "src/**/*.ts", "path": P})], "allow"),
    ("grep_search", {"pattern": "TODO", "include_pattern": "*.py"},
     [("search_files", {"pattern": "TODO", "include": "*.py", "path": P})], "allow"),
    ("search_file_content", {"pattern": "TODO", "dir_path": "/etc"},
     [("search_files", {"pattern": "TODO", "path": "/etc"})], "deny"),
    ("web_fetch", {"prompt": "sum up https://docs.python.org/3/ and https://docs.rs/x"},
     [("fetch", {"url": "https://docs.python.org/3/"}), ("fetch", {"url": "https://docs.rs/x"})], "allow"),
    ("web_fetch", {"prompt": "https://docs.python.org/3/ then (http://10.0.0.1/)"},
     [("fetch", {"url": "https://docs.python.org/3/"}), ("fetch", {"url": "(http://10.0.0.1/)"})], "deny"),
    ("web_fetch", {"prompt": "no page"}, [("gemini-cli.web_fetch", {"prompt": "no page"})], "deny"),
    ("google_web_search", {"query": "zip"}, [("search_web", {"query": "zip"})], "allow"),
    ("invoke_agent", {"agent_name": "codebase_investigator", "prompt": "look"},
     [("delegate", {"agent": "codebase_investigator", "prompt": "look"})], "allow"),
    ("write_todos", {"todos": []}, [("gemini-cli.write_todos", {"todos": []})], "allow"),
    ("ask_user", {"questions": []}, [("gemini-cli.ask_user", {"questions": []})], "allow"),
    ("exit_plan_mode", {}, [("gemini-cli.exit_plan_mode", {})], "allow"),
]  # fmt: skip

OPENCODE: Final[list[tuple[str, Any, Calls, str]]] = [
    ("bash", {"command": "git status", "description": "d", "workdir": "/etc"},
     [("shell", {"command": "git status", "cwd": "/etc"})], "require_approval"),
    ("bash", {"command": "git status", "timeout": 5}, [("shell", {"command": "git status", "timeout": 5, "cwd": P})],
     "allow"),
    ("read", {"filePath": f"{P}/a.py"}, [("read_file", {"path": f"{P}/a.py"})], "allow"),
    ("write", {"filePath": "a.py", "content": "x"}, [("write_file", {"path": f"{P}/a.py", "content": "x"})], "allow"),
    ("edit", {"filePath": f"{P}/a.py", "oldString": "a", "newString": "b", "replaceAll": True},
     [("edit_file", {"path": f"{P}/a.py", "old": "a", "new": "b", "replaceAll": True})], "allow"),
    ("apply_patch", {"patchText": _PATCH}, _PATCHED, "allow"),
    ("list", {"path": f"{P}/src"}, [("list_files", {"path": f"{P}/src"})], "allow"),
    ("glob", {"pattern": "*.ts", "path": "src"}, [("list_files", {"pattern": "*.ts", "path": f"{P}/src"})], "allow"),
    ("grep", {"pattern": "x", "include": "*.ts"}, [("search_files", {"pattern": "x", "include": "*.ts", "path": P})],
     "allow"),
    ("webfetch", {"url": "https://docs.rs/x", "format": "text"}, [("fetch", {"url": "https://docs.rs/x"})], "allow"),
    ("websearch", {"query": "zip", "numResults": 3}, [("search_web", {"query": "zip", "numResults": 3})], "allow"),
    ("task", {"description": "d", "prompt": "look", "subagent_type": "explore"},
     [("delegate", {"prompt": "look", "agent": "explore"})], "allow"),
    ("todowrite", {"todos": []}, [("opencode.todowrite", {"todos": []})], "allow"),
]  # fmt: skip

ROWS: Final = {
    "claude-code": CLAUDE_CODE,
    "codex": CODEX,
    "gemini-cli": GEMINI_CLI,
    "opencode": OPENCODE,
}
