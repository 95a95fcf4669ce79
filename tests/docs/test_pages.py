"""What the pages show is true: their bundles are sound, their programs run, their commands say what is printed."""

import re
from pathlib import Path

import pytest

from rebuno.policy import Source, format_bundle
from tests.docs.pages import ROOT, Block, blocks, commands, end, findings, matches, run

PAGES = [
    "README.md",
    "grammar/README.md",
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")),
]
BLOCKS = [block for page in PAGES for block in blocks(page)]
# One shows what the formatter does, the other sets its comments below each other.
UNFORMATTED = {"docs/tutorial.md", "grammar/README.md"}
SORTS = {"rbp", "rbp fragment", "python", "python run", "console", "yaml", "json", "toml", "text", "sh", "mermaid"}


def _name(block: Block) -> str:
    return f"{block.page}:{block.line}"


@pytest.mark.parametrize("block", BLOCKS, ids=_name)
def test_a_block_says_what_it_is(block: Block) -> None:
    """A misspelt word after a fence would leave its block untried."""
    assert block.sort in SORTS


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.words[:1] == ("rbp",)], ids=_name)
def test_bundles_are_sound(block: Block) -> None:
    """A bundle that is shown can be copied and used."""
    assert [str(found) for found in findings(block)] == []


@pytest.mark.parametrize(
    "block", [block for block in BLOCKS if block.words[:1] == ("rbp",) and block.page not in UNFORMATTED], ids=_name
)
def test_bundles_are_laid_out_as_the_formatter_does(block: Block) -> None:
    """A reader who copies a bundle and formats it finds nothing to change."""
    assert format_bundle(Source(block.body, _name(block))) == block.body


@pytest.mark.parametrize("page", PAGES)
def test_programs_and_commands_do_what_the_page_shows(page: str, tmp_path: Path) -> None:
    """A page is followed from top to bottom in an empty folder."""
    try:
        for block in blocks(page):
            run(block, tmp_path)
    finally:
        end(tmp_path)


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.file], ids=_name)
def test_examples_are_what_the_page_shows(block: Block) -> None:
    """A file that a page shows and `examples/` holds is one text."""
    example = ROOT / "examples" / block.file
    if example.is_file():
        assert example.read_text(encoding="utf-8") == block.body


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    """Every relative link names a file of the project, and every anchor a heading there."""
    text = (ROOT / page).read_text(encoding="utf-8")
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        file = (ROOT / page).parent / name if name else ROOT / page
        if not file.exists() or (anchor and anchor not in _anchors(file)):
            broken.append(target)
    assert broken == []


def test_every_page_is_reached_from_the_first() -> None:
    """A page that nothing leads to is read by nobody."""
    reached, waiting = set(), [ROOT / "docs" / "README.md"]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        names = re.findall(r"\]\(([^)#\s]+\.md)", page.read_text(encoding="utf-8"))
        waiting += {(page.parent / name).resolve() for name in names if "://" not in name} - reached
    assert set((ROOT / "docs").rglob("*.md")) <= reached


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("docs/") and page != "docs/README.md"])
def test_a_page_begins_with_what_its_reader_can_do(page: str) -> None:
    """A reader decides by the first sentence whether this is the page."""
    title, first = (ROOT / page).read_text(encoding="utf-8").split("\n\n", 2)[:2]
    assert title.startswith("# ")
    assert first.startswith("After this page you ")


def test_the_index_lists_every_page() -> None:
    """A page is found under its reader, except the parts that their own first page lists."""
    index = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert sorted(name for name in pages if f"]({name})" not in index) == []


def _anchors(file: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_console_blocks_are_read_as_written() -> None:
    """Commands, exit codes and outputs come apart as the convention says."""
    body = "$ rebuno version\nrebuno-kernel 1\n$ rebuno policy check a.rbp  # exit 2\n"
    assert list(commands(body)) == [("rebuno version", 0, "rebuno-kernel 1"), ("rebuno policy check a.rbp", 2, "")]


@pytest.mark.parametrize(
    ("shown", "said", "same"),
    [
        ("approval … waits", "approval 0193-a waits\n", True),  # ids differ from run to run
        ("a\n…\nc", "a\nb\nc", True),  # a whole line may be left open
        ("a …", "a b\nc", False),  # but not what comes below it
        ("a", "ab", False),  # all of the output is compared
    ],
)
def test_output_is_compared(shown: str, said: str, same: bool) -> None:
    """A page that shows another output than the command gives is found out."""
    assert matches(shown, said) is same


@pytest.mark.parametrize(
    ("sort", "body", "sound"),
    [
        ("rbp", 'bundle a\ndefault deny because "x"\n', True),
        ("rbp", "bundle a\n", False),  # a warning: no default
        ("rbp fragment", 'rule a {\n  allow tool "x"\n}\n', True),
        ("rbp fragment", 'rule a {\n  alow tool "x"\n}\n', False),
    ],
)
def test_bundles_are_judged(sort: str, body: str, sound: bool) -> None:
    """The test of the pages' bundles can fail."""
    assert (findings(Block("page", 1, tuple(sort.split()), body)) == []) is sound
