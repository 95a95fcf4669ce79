"""`rebuno policy check`: its formats, its exit codes, and the files beside the bundles."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import rebuno

HIDDEN = """\
bundle hidden
default deny
rule all { allow tool "x" }
rule some, { deny tool "x" because "y" }
""".replace("some,", "some")
WARNED = 'bundle warned\ndefault deny\nrule r { deny tool "x" }\n'
TOOLS = {"tools": [{"name": "x", "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a bundle that has an error, one with a warning, and one that is fine."""
    (tmp_path / "hidden.rbp").write_text(HIDDEN)
    (tmp_path / "warned, 100%.rbp").write_text(WARNED)
    (tmp_path / "fine.rbp").write_text('bundle fine\ndefault deny\nrule r { allow tool "x" when args.a == "b" }\n')
    return tmp_path


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (0, ["fine.rbp"]),
        (0, ["fine.rbp", "--strict"]),
        (0, ["warned, 100%.rbp"]),
        (1, ["warned, 100%.rbp", "--strict"]),
        (2, ["hidden.rbp"]),
        (2, [".", "--strict"]),
        (1, ["warned, 100%.rbp", "--strict", "--format", "json"]),
        (2, ["fine.rbp", "--format", "xml"]),
        (2, ["fine.rbp", "--tools", "hidden.rbp"]),
        (3, ["fine.rbp", "--tools", "nothing.json"]),
    ],
)
def test_exit_codes(folder: Path, code: int, arguments: list[str]) -> None:
    """Errors end with 2, and warnings with 1 where they are to count."""
    assert rebuno("policy", "check", *arguments, within=folder).code == code


def test_a_finding_shows_both_places(folder: Path) -> None:
    """The rule that never decides, and below it the one that hides it."""
    out = rebuno("policy", "check", "hidden.rbp", within=folder).out
    assert "    4 | rule some { deny tool" in out
    assert "    3 | rule all { allow tool" in out
    assert out.index("    4 |") < out.index("    3 |")


def test_findings_as_json_name_the_other_place(folder: Path) -> None:
    """`--json` and `--format json` say the same."""
    out = rebuno("policy", "check", "hidden.rbp", "--format", "json", within=folder).out
    assert out == rebuno("policy", "check", "hidden.rbp", "--json", within=folder).out
    (finding,) = json.loads(out)["diagnostics"]
    assert (finding["code"], finding["line"]) == ("unreachable", 4)
    assert [(place["path"], place["line"]) for place in finding["related"]] == [("hidden.rbp", 3)]


def test_workflow_commands(folder: Path) -> None:
    """One line a finding, with what would end a property or a message escaped."""
    lines = rebuno("policy", "check", ".", "--format", "github", within=folder).out.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("::error file=hidden.rbp,line=4,endLine=4,col=")
    assert ",title=unreachable::the rule `some` can never decide because of `all` (line 3): it" in lines[0]
    assert lines[1].startswith(
        "::warning file=warned%2C 100%25.rbp,line=3,endLine=3,col=6,endColumn=6,title=no-because::"
    )
    assert "%0Aadd `because" in lines[1]


def test_a_sarif_log(folder: Path) -> None:
    """The parts that the format requires, with places that count characters."""
    data: dict[str, Any] = json.loads(rebuno("policy", "check", ".", "--format", "sarif", within=folder).out)
    assert data["version"] == "2.1.0"
    (run,) = data["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"]
    assert run["columnKind"] == "unicodeCodePoints"
    assert [rule["id"] for rule in driver["rules"]] == ["no-because", "unreachable"]
    assert [result["level"] for result in run["results"]] == ["error", "warning"]
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        for location in [*result["locations"], *result.get("relatedLocations", [])]:
            place = location["physicalLocation"]
            assert set(place["region"]) == {"startLine", "startColumn", "endLine", "endColumn"}
            assert min(place["region"].values()) >= 1
            assert " " not in place["artifactLocation"]["uri"]
    assert [at["id"] for at in run["results"][0]["relatedLocations"]] == [1]
    assert run["results"][1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "warned%2C%20100%25.rbp"


def test_tools_and_layers(folder: Path) -> None:
    """Both are read beside the bundles, and what they contradict is a warning."""
    (folder / "tools.json").write_text(json.dumps(TOOLS))
    (folder / "org.rbp").write_text('bundle org\ndefault deny\nrule o { allow tool "y" }\n')
    (folder / "typed.rbp").write_text('bundle typed\ndefault deny\nrule r { allow tool "x" when args.b == 1 }\n')
    ran = rebuno(
        "policy", "check", "typed.rbp", "--tools", "tools.json", "--layer", "org.rbp", "--json", within=folder
    )  # fmt: skip
    assert ran.code == 0
    assert [finding["code"] for finding in json.loads(ran.out)["diagnostics"]] == [
        "open-arguments",
        "pointless",
        "unknown-argument",
    ]


def test_a_layer_with_errors(folder: Path) -> None:
    """It is told of, and nothing is checked beside it."""
    ran = rebuno("policy", "check", "fine.rbp", "--layer", "hidden.rbp", within=folder)
    assert (ran.code, ran.out) == (2, "")
    assert "unreachable" in ran.err


def test_two_links_to_one_bundle_keep_their_cases(tmp_path: Path) -> None:
    """A link stands for a bundle with the cases beside the link; the same two files are one suite however named."""
    (tmp_path / "base.rbp").write_text('bundle base\ndefault deny\nrule r { allow tool "x" }\n')
    (tmp_path / "base.policytest.yaml").write_text("cases: [{target: x, expect: allow}]\n")
    (tmp_path / "prod.rbp").symlink_to("base.rbp")
    (tmp_path / "prod.policytest.yaml").write_text("cases: [{target: x, expect: deny}]\n")
    (tmp_path / "again").symlink_to(tmp_path)
    ran = rebuno("policy", "test", ".", "again/base.rbp", "--json", within=tmp_path)
    assert ran.code == 1
    assert [(one["bundle"], one["failed"]) for one in json.loads(ran.out)["bundles"]] == [
        ("base.rbp", 0),
        ("prod.rbp", 1),
    ]


@pytest.mark.parametrize("command", [("check",), ("test",), ("fmt", "--check")])
def test_a_broken_link_in_a_folder_is_reported(folder: Path, command: tuple[str, ...]) -> None:
    """It has a bundle's name, so somebody counts on it."""
    (folder / "hidden.rbp").unlink()
    (folder / "gone.rbp").symlink_to("nowhere.rbp")
    ran = rebuno("policy", *command, ".", within=folder)
    assert ran.code == 2
    assert "cannot read `gone.rbp`: no such file" in ran.out + ran.err


@pytest.mark.parametrize(
    ("command", "named"),
    [*((command, named) for command in ("check", "test", "fmt") for named in ("pipe.rbp", ".")), ("ast", "pipe.rbp")],
)
def test_a_pipe_is_no_bundle(tmp_path: Path, command: str, named: str) -> None:
    """Nothing waits for somebody to write to it."""
    os.mkfifo(tmp_path / "pipe.rbp")
    ran = rebuno("policy", command, named, within=tmp_path)
    assert ran.code == 2
    assert "cannot read `pipe.rbp`: it is not a regular file" in ran.out + ran.err


def test_a_pipe_or_a_device_is_no_file_of_cases(tmp_path: Path) -> None:
    """Reading `/dev/zero` would have no end."""
    for name in ("pipe", "device"):
        (tmp_path / f"{name}.rbp").write_text('bundle base\ndefault deny\nrule r { allow tool "x" }\n')
    os.mkfifo(tmp_path / "pipe.policytest.yaml")
    (tmp_path / "device.policytest.yaml").symlink_to("/dev/zero")
    ran = rebuno("policy", "check", ".", within=tmp_path)
    assert ran.code == 2
    assert ran.out.count("it is not a regular file") == 2
