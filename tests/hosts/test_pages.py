"""The page about coding agents says what the code does."""

import json
import re
import shlex
from pathlib import Path

import pytest

from rebuno.hosts import HOSTS
from rebuno.hosts.settings import HookSettings, settings_json, settings_of
from rebuno.hosts.vocabulary import TABLES, ToolRow
from tests.cli.support import Ran, rebuno

PAGE = Path(__file__).resolve().parents[2] / "docs" / "hosts" / "README.md"
# What the host gives in other forms than arguments with new names.
OWN = {
    "_watched": "`shell {command, cwd}`; of a socket `fetch {url}`",
    "_edits": "`edit_file {path, old, new}`, the texts of all edits in lines",
    "_globbed": "`list_files {path, pattern}`; `path` is what the pattern reaches",
    "_patched": "`write_file`, `edit_file`, `delete_file` for each file of the patch",
    "_shell_or_patch": "`shell {command, cwd}`; of a patch in a here-document as `apply_patch`",
    "_pages": "`fetch {url}` for each address in the prompt",
    "_many_files": "`read_file {path}` for each file, `search_files {path, include}` for each pattern",
}


def line(name: str, row: ToolRow) -> str:
    """The line of the table for one tool."""
    if row.own is not None:
        said = OWN[row.own.__name__]
    else:
        ours = dict.fromkeys(row.renames.values())
        if row.tool == "shell":
            ours["cwd"] = None
        said = f"`{row.tool} {{{', '.join(ours)}}}`" if ours else f"`{row.tool}`"
    dropped = f"without {', '.join(f'`{one}`' for one in row.drops)}" if row.drops else ""
    return f"| `{name}` | {said} | {dropped} |"


@pytest.mark.parametrize("host", HOSTS)
def test_the_vocabulary_is_the_one_of_the_code(host: str) -> None:
    """Each row, in the order of the code, and no other."""
    text = PAGE.read_text(encoding="utf-8")
    section = text.partition(f"### Tools of `{host}`\n")[2].partition("\n#")[0]
    rows = [row for row in section.splitlines() if row.startswith("| `")]
    assert rows == [line(name, row) for name, row in TABLES[host].items()]


def test_the_events_on_the_page_get_the_answers_that_it_shows(tmp_path: Path) -> None:
    """As somebody tries it by hand."""
    text = PAGE.read_text(encoding="utf-8")
    shell, shown = (re.findall(rf"^```{kind}\n(.*?)^```", text, re.M | re.S)[0] for kind in ("sh", "text"))
    answers = [
        rebuno(*shlex.split(command)[1:], stdin=event.encode(), within=tmp_path, env={"HOME": str(tmp_path)})
        for event, command in re.findall(r"^echo '(.*?)' \|\n  (.*?)$", shell, re.M | re.S)
    ]
    assert answers == [Ran(0, "", ""), Ran(2, "", shown)]


def test_the_settings_on_the_page_are_settings() -> None:
    """The example is read, and every setting has a line."""
    text = PAGE.read_text(encoding="utf-8")
    (example,) = re.findall(r"^```json\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    read = settings_of(json.loads(example))
    assert settings_of(settings_json(read)) == read
    listed = set(re.findall(r"^\| `([a-z_]+)` \| (?:`|a |the |how |whether |for )", text, re.MULTILINE))
    fields = {name for name in HookSettings.__dataclass_fields__ if name != "path"}
    assert fields <= listed
