"""Checks whether the clauses of a rule fit together and fit its verdict."""

from collections.abc import Sequence
from typing import Final, assert_never

from rebuno.policy.check.limits import check_limit
from rebuno.policy.check.names import DefinedNames, sort_of
from rebuno.policy.check.tests import IN_RULE, ExpressionChecker, check_subject
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.diagnostics import Code, DiagnosticReport
from rebuno.policy.syntax.keywords import ROOT_WORDS
from rebuno.policy.syntax.shown import shown_path
from rebuno.policy.syntax.tree import Op

_ASKING: Final = (s.Approvers, s.Quorum, s.Expires, s.Message, s.Edits)


def check_rule(rule: s.Rule, names: DefinedNames, tests: ExpressionChecker, report: DiagnosticReport) -> None:
    """Checks one rule: its subject, its clauses and its tests."""
    check_subject(rule.subject, names, report)
    _duplicates(rule, report)
    asks = rule.verdict == "require_approval" or any(
        isinstance(clause, s.LimitClause | s.BudgetClause) and clause.otherwise == "require approval"
        for clause in rule.clauses
    )
    for clause in rule.clauses:
        _misplaced(rule, clause, asks, report)
        _body(clause, names, tests, report)
    _quorum(rule, names, report)
    _warnings(rule, report)


def check_claim(claim: s.Never, names: DefinedNames, tests: ExpressionChecker, report: DiagnosticReport) -> None:
    """Checks one claim: its subject and its tests, which are those that a rule may have."""
    check_subject(claim.subject, names, report)
    if claim.when is not None:
        tests.expr(claim.when, IN_RULE)


def clause_word(clause: s.Clause) -> str:
    """The keyword of a clause."""
    return type(clause).__name__.removesuffix("Clause").lower()


def _duplicates(rule: s.Rule, report: DiagnosticReport) -> None:
    first: dict[str, s.Clause] = {}
    for clause in rule.clauses:
        word = clause_word(clause)
        earlier = first.setdefault(word, clause)
        if earlier is not clause:
            message = f"`{word}` appears twice in the rule `{rule.id.text}`; first at line {earlier.span.line}"
            help = "join the tests with `and`" if word in ("when", "unless") else "keep one of the two"
            report.error(Code.DUPLICATE_CLAUSE, message, clause.span, help)


def _misplaced(rule: s.Rule, clause: s.Clause, asks: bool, report: DiagnosticReport) -> None:
    word = clause_word(clause)
    if isinstance(clause, _ASKING) and not asks:
        message = f"`{word}` has no effect where no person is asked"
        help = "write `require approval for`, or `else require approval` after a limit"
    elif isinstance(clause, s.LimitClause | s.BudgetClause) and rule.verdict == "deny":
        message, help = f"`{word}` has no effect on a deny rule", "put it on the rule that allows"
    elif isinstance(clause, s.BudgetClause) and rule.verdict != "allow":
        message, help = "`budget` has no effect on a rule that asks", "put it on the rule that allows"
    elif isinstance(clause, s.LimitClause) and rule.verdict != "allow" and clause.otherwise == "require approval":
        message = "`else require approval` has no effect on a rule that asks anyway"
        help = "write `else deny`, or leave it out"
    elif isinstance(clause, s.BudgetClause) and clause.otherwise == "wait":
        message = "a budget never refills, so waiting does not help"
        help = "write `else deny` or `else require approval`"
    else:
        return
    report.error(Code.MISPLACED_CLAUSE, message, clause.span, help)


def _body(clause: s.Clause, names: DefinedNames, tests: ExpressionChecker, report: DiagnosticReport) -> None:
    match clause:
        case s.When(expr) | s.Unless(expr):
            tests.expr(expr, IN_RULE)
        case s.LimitClause():
            check_limit(clause, names, report)
        case s.BudgetClause(number):
            if number < 1:
                report.error(Code.BAD_LIMIT, "`budget 0` never lets anything pass", clause.span, "write a `deny` rule")
        case s.Quorum(number):
            if number < 1:
                report.error(Code.BAD_QUORUM, "the quorum is zero", clause.span, "write at least 1")
        case s.Approvers():
            pass  # see `_quorum`
        case s.Because(text) | s.Message(text):
            if isinstance(text, s.Filled):
                tests.filled(text)
        case s.Expires():
            pass
        case s.Edits(paths):
            _edits(paths, report)
        case _:
            assert_never(clause)


def _edits(paths: Sequence[s.Path], report: DiagnosticReport) -> None:
    for path in paths:
        shown = shown_path(path)
        if path.root != "args":
            help = f"did you mean `args.{shown}`?" if path.root not in ROOT_WORDS else "name one, such as `args.amount`"
            report.error(Code.BAD_PATH, f"an approver changes arguments, and `{shown}` is none", path.span, help)
        elif not path.parts:
            message = "`edits args` would let the approver write another call"
            report.error(Code.BAD_PATH, message, path.span, "name the arguments that may change, such as `args.amount`")


def _quorum(rule: s.Rule, names: DefinedNames, report: DiagnosticReport) -> None:
    lists = [clause.names for clause in rule.clauses if isinstance(clause, s.Approvers)]
    found = [_approvers(name, names, report) for approvers in lists for name in approvers]
    if not found or any(ids is None for ids in found):
        return
    ids = {one for some in found for one in some or ()}
    for clause in rule.clauses:
        if isinstance(clause, s.Quorum) and clause.number > len(ids):
            message = f"a quorum of {clause.number} over {len(ids)} approver{'s' if len(ids) != 1 else ''}"
            report.error(Code.BAD_QUORUM, message, clause.span, "name more approvers, or lower the quorum")


def _approvers(name: s.Literal | s.Name, names: DefinedNames, report: DiagnosticReport) -> set[str] | None:
    """The ids that one entry after `approvers` stands for; None, with a diagnostic, if it is no list of ids."""
    values: Sequence[s.Literal | s.NullLiteral]
    if isinstance(name, s.Literal):
        values = (name,)
    else:
        found = names.find(name)
        if found is None:
            return None
        if not isinstance(found, s.Let):
            message = f"`{name.text}` is {sort_of(found)}; `approvers` takes strings and lists of strings"
            report.error(Code.WRONG_SORT, message, name.span, "name a `let` list")
            return None
        if isinstance(found.value, s.FileValue):
            return None  # a file that was not linked
        values = found.value.items if isinstance(found.value, s.ListLiteral) else (found.value,)
    ids = set()
    for value in values:
        if not isinstance(value, s.Literal) or not isinstance(value.value, str):
            message = f"`{name.text}` holds a value that is no id" if isinstance(name, s.Name) else "this is no id"
            report.error(Code.BAD_QUORUM, message, name.span, "an approver is a string")
            return None
        if not value.value.strip():
            report.error(Code.BAD_QUORUM, "an approver without a name", name.span, "write who may decide")
            return None
        ids.add(value.value)
    return ids


def _warnings(rule: s.Rule, report: DiagnosticReport) -> None:
    bodies = {clause_word(clause): clause for clause in rule.clauses}
    if rule.verdict != "allow" and "because" not in bodies:
        message = f"the rule `{rule.id.text}` gives no reason"
        report.warning(Code.NO_BECAUSE, message, rule.id.span, 'add `because "…"`: the agent and the approver read it')
    if rule.verdict == "allow" and not ({"when", "unless"} & bodies.keys()) and _everything(rule.subject):
        message = f"the rule `{rule.id.text}` allows everything that reaches it"
        report.warning(Code.ALLOW_EVERYTHING, message, rule.head_span, "name the tools, or add a `when`")
    if rule.verdict == "allow":
        _optional(rule, report)


def _everything(subject: s.Subject) -> bool:
    patterns = [pattern for group in subject.groups if group.kind == "tool" for pattern in group.patterns]
    return not subject.groups or any(
        isinstance(p, s.Literal) and not str(p.value).replace("?", "", 1).strip("*") for p in patterns
    )


def _optional(rule: s.Rule, report: DiagnosticReport) -> None:
    tests = [test for clause in rule.clauses if isinstance(clause, s.When | s.Unless) for test in _tests(clause.expr)]
    asked = {path for test in tests if test.op in (Op.GIVEN, Op.MISSING) for path in test.operand.paths}
    # A rule whose `when` tests the value needs it anyway.
    whens = [test for clause in rule.clauses if isinstance(clause, s.When) for test in _tests(clause.expr)]
    asked |= {path for test in whens for path in test.operand.paths}
    for clause in rule.clauses:
        if not isinstance(clause, s.Unless):
            continue
        for test in _tests(clause.expr):
            path = test.operand.paths[0]
            plain = test.op not in (Op.GIVEN, Op.MISSING, Op.IS)
            if plain and path.root in ("args", "input") and path.parts and path not in asked:
                shown = shown_path(path)
                message = f"the rule never allows where `{shown}` is left out"
                help = f"if it may be: `when {shown} missing or {shown} == false`"
                report.warning(Code.OPTIONAL_UNLESS, message, test.span, help)


def _tests(expr: s.Expr) -> list[s.Test]:
    match expr:
        case s.Test():
            return [expr]
        case s.And(items) | s.Or(items):
            return [test for item in items for test in _tests(item)]
        case s.Not(item):
            return _tests(item)
        case _:
            return []
