"""What a newcomer begins with: `init`, `policy new`, `rule`, `tools schemas`, completion and `top`."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rebuno import packaged
from rebuno.policy import find_bundles, run_suites
from tests.cli.support import rebuno

ROOT = Path(__file__).resolve().parents[2]
PATHS = os.pathsep.join(map(str, (ROOT, ROOT / "cli")))
CODES = re.findall(r"^### (\S+)$", (ROOT / "docs/diagnostics.md").read_text(encoding="utf-8"), re.MULTILINE)
STARTERS = [
    path.relative_to(ROOT / "policies").with_suffix("").as_posix()
    for path in (*(ROOT / "policies").glob("*.rbp"), *(ROOT / "policies/coding").glob("*.rbp"))
]


def python(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    """A Python program in a folder, with this project's packages."""
    env = {"PYTHONPATH": PATHS, "PATH": os.environ["PATH"], "HOME": str(folder)}
    return subprocess.run(
        [sys.executable, *argv], cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize("kind", ["agent", "policy", "server", "hook"])
def test_what_is_written_works_and_is_never_written_over(tmp_path: Path, kind: str) -> None:
    """The cases pass, and the test of the agent does; a second call changes nothing."""
    made = rebuno("init", kind, "--json", within=tmp_path)
    assert made.code == 0, made.err
    written = json.loads(made.out)["written"]
    [suite] = find_bundles([tmp_path / name for name in written if name.endswith(".rbp") and "/" not in name])
    [result] = run_suites([suite])
    assert result.failed == 0
    assert result.report is not None
    assert result.report.results
    if "test_desk.py" in written:
        ran = python(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_desk.py")
        assert "1 passed" in ran.stdout, ran.stdout + ran.stderr
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    again = rebuno("init", kind, within=tmp_path)
    assert again.code == 4
    assert "is there already" in again.err
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path in before}


@pytest.mark.parametrize("name", STARTERS)
def test_a_copied_starter_has_all_that_it_needs(tmp_path: Path, name: str) -> None:
    """Its cases are as many as before, and it compiles where nothing else is."""
    assert rebuno("policy", "new", name, "--into", str(tmp_path / "mine")).code == 0
    checked = rebuno("policy", "check", str(tmp_path / "mine" / f"{name}.rbp"))
    assert checked.code == 0, checked.out
    copied = tmp_path / "mine" / f"{name}.policytest.yaml"
    assert copied.read_bytes() == (packaged.policies() / f"{name}.policytest.yaml").read_bytes()


def test_a_starter_that_there_is_not() -> None:
    """The near one is named, and without a name all are."""
    assert "did you mean `coding`?" in rebuno("policy", "new", "codin").err
    assert rebuno("policy", "new", "../policies/coding").code == 2
    assert json.loads(rebuno("policy", "new", "--json").out)["starters"].keys() == set(STARTERS)


@pytest.mark.parametrize("code", CODES)
def test_each_code_is_explained(code: str) -> None:
    """As the page says it; the brackets of a finding may stay."""
    told = rebuno("rule", f"[{code}]")
    assert told.code == 0
    assert told.out.startswith(f"{code}\n\n")
    assert len(told.out) > 40


def test_all_codes_are_listed() -> None:
    """And one that there is not names its neighbour."""
    assert [rule["code"] for rule in json.loads(rebuno("rule", "--json").out)["rules"]] == CODES
    assert rebuno("rule", "no-defalt").err == "error: there is no code `no-defalt`; did you mean `no-default`?\n"


def test_schemas_of_a_module_are_what_check_reads(tmp_path: Path) -> None:
    """An argument that a tool does not take, or of another type, is found in a bundle."""
    (tmp_path / "shop_of_schemas.py").write_text(
        "import rebuno\n\n"
        "@rebuno.tool\ndef schemas_pay(to: str, amount: int = 3) -> str:\n    'Pays.'\n    return ''\n\n"
        "@rebuno.tool('schemas.any')\ndef anything(data, **more): ...\n"
    )
    made = python(tmp_path, "-m", "rebuno_cli.main", "tools", "schemas", "shop_of_schemas")
    assert made.returncode == 0, made.stderr
    pay, anything = json.loads(made.stdout)["tools"]
    assert (pay["name"], pay["description"]) == ("schemas_pay", "Pays.")
    assert pay["inputSchema"]["required"] == ["to"]
    assert pay["inputSchema"]["properties"]["amount"]["type"] == "integer"
    assert pay["inputSchema"]["additionalProperties"] is False
    assert anything["inputSchema"]["additionalProperties"] is True
    (tmp_path / "tools.json").write_text(made.stdout)
    (tmp_path / "a.rbp").write_text('default deny\nrule a {\n  allow tool "schemas_pay"\n  when args.amont < 5\n}\n')
    checked = rebuno("policy", "check", "a.rbp", "--tools", "tools.json", within=tmp_path)
    assert "unknown-argument" in checked.out
    assert "did you mean `amount`" in checked.out


@pytest.mark.parametrize(
    ("text", "said"), [("", "registers no tool"), ("raise SystemExit(3)", "SystemExit: 3"), ("import nix_", "nix_")]
)
def test_a_module_without_tools(tmp_path: Path, text: str, said: str) -> None:
    """It is said, and what it does is no end of the command."""
    (tmp_path / "empty_of_schemas.py").write_text(text)
    made = python(tmp_path, "-m", "rebuno_cli.main", "tools", "schemas", "empty_of_schemas")
    assert made.returncode == 2
    assert said in made.stderr
    assert "Traceback" not in made.stderr


def test_a_bundle_on_standard_input(tmp_path: Path) -> None:
    """It is checked as if it stood in this folder; `-` may stand beside files."""
    (tmp_path / "names.yaml").write_text("[a]\n")
    text = 'default deny\nlet names = file "names.yaml"\nrule a {\n  alow tool "x"\n}\n'
    ran = rebuno("policy", "check", "-", within=tmp_path, stdin=text.encode())
    assert ran.code == 2
    assert ran.out.startswith("<stdin>:")
    assert "did you mean `allow`?" in ran.out
    assert "unreadable-file" not in ran.out


def test_words_are_completed(tmp_path: Path) -> None:
    """Commands and options; the script of each shell calls the command for them."""
    env = {"_REBUNO_COMPLETE": "bash_complete", "COMP_WORDS": "rebuno policy ex", "COMP_CWORD": "2"}
    assert rebuno(env=env).out == "plain,explain\n"
    for shell in ("bash", "zsh", "fish"):
        script = rebuno("--show-completion", shell)
        assert script.code == 0
        assert f"_REBUNO_COMPLETE={shell}_complete" in script.out
    for _ in range(2):
        assert rebuno("--install-completion", "bash", env={"HOME": str(tmp_path)}).code == 0
    assert (tmp_path / ".bashrc").read_text().count("rebuno-complete.bash") == 1
    assert rebuno("--install-completion", "tcsh", env={"HOME": str(tmp_path)}).code == 2


def test_top_shows_what_waits(tmp_path: Path) -> None:
    """The question with the command that answers it; as JSON a line a look."""
    assert rebuno("init", within=tmp_path).code == 0
    assert python(tmp_path, "desk.py").returncode == 0
    shown = rebuno("top", "--db", "desk.db", within=tmp_path, columns=80)
    assert shown.code == 0
    assert shown.out.startswith("1 blocked\n")
    assert max(map(len, shown.out.splitlines())) <= 80
    looked = json.loads(rebuno("top", "--once", "--db", "desk.db", "--json", within=tmp_path).out)
    [question] = looked["questions"]
    assert f"`rebuno approval grant {question['id']}`" in shown.out
    assert (looked["statuses"], looked["events_per_second"]) == ({"blocked": 1}, None)
