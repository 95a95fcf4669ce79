"""`rebuno policy test` tries claims, `policy prove` and `policy diff --prove` ask the solver."""

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from tests.cli.support import rebuno
from tests.house.project import ROOT

BUNDLE = (
    "bundle a\n"
    'default deny because "no"\n'
    'rule pay { allow tool "pay" when args.amount <= 500 }\n'
    'never allow tool "pay" when not args.amount <= 500 because "the ceiling"\n'
)
BROKEN = BUNDLE + 'never allow tool "pay" when args.amount > 100\n'


def write(folder: Path, text: str, name: str = "a.rbp") -> None:
    """Writes a bundle."""
    (folder / name).write_text(text, encoding="utf-8")


def test_a_broken_claim_is_a_failed_test(tmp_path: Path) -> None:
    """With the step as a case, in the view, in JSON and in JUnit XML; the case passes while the claim is broken."""
    write(tmp_path, BROKEN)
    ran = rebuno("policy", "test", ".", "--junit", "out.xml", within=tmp_path)
    assert ran.code == 1
    assert '  FAIL  never allow tool "pay" when args.amount > 100 (line 5)\n' in ran.out
    assert "0 cases, 2 claims, 1 failed" in ran.out
    suite = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    [bundle] = json.loads(rebuno("policy", "test", ".", "--json", within=tmp_path).out)["bundles"]
    assert [claim["pass"] for claim in bundle["claims"]] == [True, False]
    assert bundle["failed"] == 1
    case = next(line for line in ran.out.splitlines() if line.strip().startswith('- {"name"'))
    (tmp_path / "a.policytest.yaml").write_text(f"cases:\n  {case.strip()}\n", encoding="utf-8")
    assert "1 case, 2 claims, 1 failed" in rebuno("policy", "test", ".", within=tmp_path).out


def test_a_part_of_the_cases_tries_no_claim(tmp_path: Path) -> None:
    """`--case` asks about some cases only."""
    write(tmp_path, BROKEN)
    (tmp_path / "a.policytest.yaml").write_text("cases: [{name: x, target: pay, expect: deny}]\n", encoding="utf-8")
    assert rebuno("policy", "test", ".", "--case", "x", within=tmp_path).code == 0
    assert rebuno("policy", "test", ".", within=tmp_path).code == 1


def test_claims_are_proved_and_refuted(tmp_path: Path) -> None:
    """Exit code 0 only where all are proved."""
    write(tmp_path, BUNDLE)
    ran = rebuno("policy", "prove", "a.rbp", within=tmp_path)
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "1 claim: 1 proved, 0 refuted, 0 not shown")
    write(tmp_path, BROKEN)
    ran = rebuno("policy", "prove", "a.rbp", "--json", within=tmp_path)
    data = json.loads(ran.out)
    assert (ran.code, data["proved"], data["refuted"], data["not_shown"]) == (1, 1, 1, 0)
    assert set(data) == {"claims", "proved", "refuted", "not_shown", "seconds"}
    assert data["claims"][1]["case"]["expect_rule"] == "pay"


def test_a_layer_may_keep_a_claim(tmp_path: Path) -> None:
    """The claims are those of the bundle, and the decisions those of both."""
    write(tmp_path, BROKEN)
    write(tmp_path, 'bundle b\ndefault allow\nrule x { deny tool "pay" when args.amount > 100 }\n', "b.rbp")
    assert rebuno("policy", "prove", "a.rbp", "--layer", "b.rbp", within=tmp_path).code == 0


def test_claims_of_files_and_folders_are_proved_together(tmp_path: Path) -> None:
    """Each claim with its bundle, each bundle once, and the sums over all; a bundle without claims is no failure."""
    (tmp_path / "more").mkdir()
    write(tmp_path, BUNDLE)
    write(tmp_path / "more", BROKEN, "b.rbp")
    write(tmp_path / "more", 'let words = ["x"]\n', "words.rbp")
    ran = rebuno("policy", "prove", "a.rbp", ".", "--json", within=tmp_path)
    data = json.loads(ran.out)
    assert (ran.code, set(data)) == (1, {"claims", "proved", "refuted", "not_shown", "seconds"})
    assert [claim["bundle"] for claim in data["claims"]] == ["a.rbp", "more/b.rbp", "more/b.rbp"]
    assert (data["proved"], data["refuted"], data["not_shown"]) == (2, 1, 0)
    ran = rebuno("policy", "prove", "a.rbp", "more", within=tmp_path)
    assert ran.code == 1
    assert ran.out.startswith("a.rbp\nproved ")
    assert "\nmore/b.rbp\nproved " in ran.out
    assert ran.out.splitlines()[-1] == "3 claims in 2 bundles: 2 proved, 1 refuted, 0 not shown"
    write(tmp_path / "more", BUNDLE, "b.rbp")
    assert rebuno("policy", "prove", ".", within=tmp_path).code == 0


def test_a_layer_is_above_every_bundle(tmp_path: Path) -> None:
    """Of files and folders, too; a layer with errors is reported as such."""
    (tmp_path / "more").mkdir()
    write(tmp_path / "more", BROKEN)
    write(tmp_path / "more", BROKEN.replace("bundle a", "bundle c"), "c.rbp")
    write(tmp_path, 'bundle b\ndefault allow\nrule x { deny tool "pay" when args.amount > 100 }\n', "b.rbp")
    ran = rebuno("policy", "prove", "more", "--layer", "b.rbp", within=tmp_path)
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "4 claims in 2 bundles: 4 proved, 0 refuted, 0 not shown")
    write(tmp_path, "bundle b\ndefault alow\n", "b.rbp")
    assert rebuno("policy", "prove", "more", "--layer", "b.rbp", within=tmp_path).code == 2


def test_a_bundle_with_errors_hides_no_other_one(tmp_path: Path) -> None:
    """It is reported, in JSON below `diagnostics`, and the exit code is 2; the others are proved."""
    write(tmp_path, BUNDLE)
    write(tmp_path, "bundle b\ndefault denny\n", "b.rbp")
    ran = rebuno("policy", "prove", ".", within=tmp_path)
    assert ran.code == 2
    assert "b.rbp:2:" in ran.out
    assert ran.out.splitlines()[-1] == "1 claim in 1 bundle: 1 proved, 0 refuted, 0 not shown, 1 error"
    ran = rebuno("policy", "prove", ".", "--json", within=tmp_path)
    data = json.loads(ran.out)
    assert (ran.code, data["proved"], [found["path"] for found in data["diagnostics"]]) == (2, 1, ["b.rbp"])
    write(tmp_path, BUNDLE, "b.rbp")
    (tmp_path / "b.policytest.yaml").write_text("cases: 7\n", encoding="utf-8")
    assert rebuno("policy", "prove", ".", within=tmp_path).code == 2


def test_where_nothing_is_claimed_that_is_said(tmp_path: Path) -> None:
    """Wrong usage where there is nothing to prove at all; of one folder among others a line."""
    (tmp_path / "bare").mkdir()
    write(tmp_path / "bare", "bundle a\ndefault deny\n")
    for path in ("bare", "bare/a.rbp"):
        ran = rebuno("policy", "prove", path, within=tmp_path)
        assert (ran.code, f"`{path}` claims nothing" in ran.err) == (2, True)
    write(tmp_path, BUNDLE)
    ran = rebuno("policy", "prove", "a.rbp", "bare", within=tmp_path)
    assert (ran.code, "bare: no bundle claims anything\n" in ran.out) == (0, True)
    write(tmp_path, "bundle a\ndefault denny\n")
    assert rebuno("policy", "prove", "a.rbp", within=tmp_path).code == 2
    assert rebuno("policy", "prove", "none.rbp", within=tmp_path).code == 2


def test_two_bundles_are_compared_for_every_step(tmp_path: Path) -> None:
    """A wider one is shown with a step, an equal one is proved."""
    write(tmp_path, BUNDLE)
    write(tmp_path, BUNDLE.replace("<= 500 }", "<= 501 }"), "b.rbp")
    ran = rebuno("policy", "diff", "a.rbp", "b.rbp", "--prove", within=tmp_path)
    assert ran.code == 1
    assert "WIDER the new one allows what the old one does not" in ran.out
    assert "proved: the old one allows nothing that the new one does not" in ran.out
    data = json.loads(rebuno("policy", "diff", "a.rbp", "b.rbp", "--prove", "--json", within=tmp_path).out)
    assert (data["allowed"]["wider"]["answer"], data["allowed"]["narrower"]["answer"]) == ("some", "none")
    assert data["allowed"]["wider"]["case"]["args"] == {"amount": 501}
    assert rebuno("policy", "diff", "a.rbp", "a.rbp", "--prove", within=tmp_path).code == 0


def test_without_the_solver_the_extra_is_named(tmp_path: Path) -> None:
    """`policy test` needs none."""
    write(tmp_path, BUNDLE)
    without = "import sys; sys.modules['z3'] = None; from rebuno_cli.main import main; sys.exit(main(sys.argv[1:]))"
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "REBUNO"))}
    env = kept | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "cli")])}
    for words, code in ((("prove", "a.rbp"), 3), (("diff", "a.rbp", "a.rbp", "--prove"), 3), (("test", "."), 0)):
        line = [sys.executable, "-c", without, "policy", *words]
        ran = subprocess.run(line, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert ran.returncode == code, ran.stderr
        assert ("needs the extra `prove`: pip install" in ran.stderr) is (code != 0)
