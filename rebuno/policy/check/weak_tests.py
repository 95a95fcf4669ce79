"""Tests that guard less than they seem to: in an allow rule, and in a deny rule where everything else is allowed."""

import re
from collections.abc import Sequence
from typing import Final

from rebuno.policy.analysis.formulas import AllOf, AnyOf, Atom, Formula, Formulas, atoms, plain
from rebuno.policy.analysis.implication import CountedCondition
from rebuno.policy.check.rules import shown_path
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.diagnostics import Code, DiagnosticReport
from rebuno.policy.syntax.tree import Op

# Tests of a text as it stands, which no reader has taken apart.
_OF_TEXT: Final = (Op.LIKE, Op.CONTAINS, Op.CONTAINS_ANY, Op.STARTS, Op.ENDS, Op.MATCHES)
_WILD: Final = re.compile(r"[*?\[]")

# What an argument of this name holds, and what reads it.
_PATH: Final = ("a path", "`under`, or `path of … like`")
_URL: Final = ("a URL", "`host of … under` or `host of … in`, and `scheme of`")
_HOST: Final = ("a host name", "`host of … under`")
_EMAIL: Final = ("an e-mail address", "`email of … in` or `domain of … under`")
_COMMAND: Final = ("a command", "`every command of … like` or `every program of … in`")
_SQL: Final = ("SQL", "`every statement of … in`, and `table of`")
_BY_NAME: Final = (
    (
        re.compile(
            r"(?:.*_)?(?:path|paths|pathname|file|files|filename|filepath|infile|outfile|logfile"
            r"|dir|dirs|directory|directories|folder|folders|cwd|workdir)"
        ),
        _PATH,
    ),
    (re.compile(r"(?:.*_)?(?:url|urls|uri|uris|href|link|endpoint|webhook)"), _URL),
    (re.compile(r"(?:.*_)?(?:host|hostname|domain)"), _HOST),
    (re.compile(r"(?:.*_)?(?:cmd|cmds|command|commands|cmdline|commandline|exec|script|shell|bash)"), _COMMAND),
    (
        re.compile(
            r"(?:.*_)?(?:to|cc|bcc|from|sender|recipient|recipients|email|emails|attendees|guests|participants|invitees)"
        ),
        _EMAIL,
    ),
    (re.compile(r"(?:.*_)?sql"), _SQL),
)
# What a literal looks like, where the argument's name does not tell.
_BY_LOOK: Final = (
    (re.compile(r"(?i)^[\^(]*[a-z][a-z0-9+.-]*:(?:\\?/){2}|\bhttps?\b|\bwww\\?\."), _URL),
    (re.compile(r"[\w*)\]+.]@|@[\w-]+\\?\."), _EMAIL),
    (re.compile(r"(?i)\\?\.(?:com|org|net|io|dev|example|internal|local)\b"), _HOST),
    (re.compile(r"^[\^(]*(?:\\?/|~\\?/|\\?\.{1,2}\\?/|[A-Za-z]:[\\/])[\w.*-]?"), _PATH),
    (
        re.compile(
            r"^(?:\(\?\w+\)|[\^(*])*(?:(?:rm|sudo|git|curl|wget|npm|npx|pip|pytest|docker|kubectl|bash|sh|ls|chmod|dd"
            r"|ssh)\b|(?:cat|find|python3?)[ |])"
        ),
        _COMMAND,
    ),
    (re.compile(r"(?i)^(?:\(\?\w+\)|[\^(*])*(?:select|insert|update|delete|drop|alter|truncate)\b"), _SQL),
)
# Names that another spelling of the same thing ends or begins like.
_NAMES: Final = ("host", "domain", "email", "scheme")
_NETWORKS: Final = ("0.0.0.0/0", "::/0")
# A regular expression that every text holds, or every text that is not empty.
_ANY_TEXT: Final = re.compile(r"(?:\(\?\w+\))?\(?\^?(?:\.[*+]\??)?\$?\)?")
# Accounts, numbers and codes, which no mail address looks like.
_NO_ADDRESS: Final = re.compile(r"(?:\\.|[^a-z@])*", re.DOTALL)
# Of what a facet reads, a list of what is bad is never whole.
_ENDLESS: Final = ("program", "command", "host", "domain", "email", "link", "path", "table", "statement")


def check_allow(rule: s.Rule, formulas: Formulas, report: DiagnosticReport) -> None:
    """Warns of tests in an allow rule that let through more than they seem to."""
    formula = formulas.rule(rule)
    found = atoms(formula)
    read = {path for atom in found for path in _read(atom)}
    for atom in plain(found):
        # Beside a test of what a reader takes out of it, a test of the text only asks for more.
        if not read.intersection(_paths(atom)):
            _text(atom, report, (*_OF_TEXT, Op.EQ, Op.IN) if atom.negated else _OF_TEXT)
            _but(atom, report)
        _named(atom, report)
        _whole(atom, report)
    for atom in found:
        _any(atom, found, report)
    clauses = [clause for clause in rule.clauses if isinstance(clause, s.When | s.Unless)]
    if clauses and (_always(formula) or CountedCondition(formulas.rule(rule, negated=True), sure=True).never()):
        _holds(rule, clauses[0].span.to(clauses[-1].span), report)


def check_deny(atom: Atom, report: DiagnosticReport) -> None:
    """Warns of a test of a deny rule that another spelling gets past, under `default allow`."""
    _text(atom, report, (*_OF_TEXT, Op.EQ, Op.IN))


# ---------------------------------------------------------------- texts that have a reader


def _paths(atom: Atom) -> tuple[s.Path, ...]:
    return atom.test.operand.paths if isinstance(atom.test, s.Test) else ()


def _read(atom: Atom) -> tuple[s.Path, ...]:
    """The paths that a test reads through a facet, and asks something certain of."""
    reads = isinstance(atom.test, s.Test) and atom.test.operand.facets and not atom.negated and atom.op is not Op.GIVEN
    reads = reads and not _only_not(atom)
    return _paths(atom) if reads or (atom.op is Op.UNDER and not atom.negated) else ()


def _text(atom: Atom, report: DiagnosticReport, ops: Sequence[Op] = _OF_TEXT) -> None:
    test = atom.test
    if not isinstance(test, s.Test) or atom.facet is not None or test.operand.facets:
        return
    if atom.op is not None and atom.op in ops:
        warn_plain(test, atom.op, _strings(atom.raw), report)


def _but(atom: Atom, report: DiagnosticReport) -> None:
    test = atom.test
    if not isinstance(test, s.Test) or not _only_not(atom):
        return
    facets = [facet.text for facet in test.operand.facets]
    if (facets and facets[0] in _ENDLESS) or (atom.op is Op.UNDER and not facets):
        message = "the rule allows everything except the values named here, and no such list is complete"
        report.warning(Code.DENY_LIST, message, test.span, "name what may pass, or ask that of the same value as well")


def _only_not(atom: Atom) -> bool:
    """Whether a test asks that something is not so, and nothing that is so."""
    if atom.inner is not None:
        return all(map(_only_not, atoms(atom.inner)))
    return atom.negated and atom.op not in (None, Op.GIVEN, Op.IS)


def warn_plain(test: s.Test, op: Op, texts: Sequence[str], report: DiagnosticReport) -> None:
    """Warns where a test of plain text looks at something that a facet reads. `texts` is what it asks for."""
    texts = [text for text in texts if text and (op is not Op.LIKE or _WILD.search(text))]
    what = _kind(test.operand.paths, texts) if texts else None
    if what is not None:
        message = f"`{op}` looks at {what[0]} as plain text, so another spelling gets past it"
        report.warning(Code.READ_BY_FACET, message, test.span, f"use {what[1]}")


def _kind(paths: Sequence[s.Path], texts: Sequence[str]) -> tuple[str, str] | None:
    for path in paths:
        # What the user wrote and what tools gave is prose, whatever stands in it.
        if path.root not in ("args", "it", "this"):
            return None
        keys = [part.name for part in path.parts if isinstance(part, s.Key)]
        for pattern, what in _BY_NAME:
            if keys and pattern.fullmatch(_words(keys[-1])):
                return None if what is _EMAIL and all(map(_NO_ADDRESS.fullmatch, texts)) else what
    for pattern, what in _BY_LOOK:
        if any(pattern.search(text) for text in texts):
            return what
    return None


def _words(name: str) -> str:
    """A name in small letters with `_` between its words: `filePath` is `file_path`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_").lower()


def _strings(raw: object) -> list[str]:
    return [text for text in (raw if isinstance(raw, list) else [raw]) if isinstance(text, str)]


def _named(atom: Atom, report: DiagnosticReport) -> None:
    test = atom.test
    if not isinstance(test, s.Test) or not test.operand.facets or atom.op not in _OF_TEXT or atom.negated:
        return
    facet = test.operand.facets[0].text
    texts = [text for text in _strings(atom.raw) if atom.op is not Op.LIKE or _WILD.search(text)]
    # A pattern for all below a domain, dot included, says what it seems to.
    if facet in _NAMES and not all(text.startswith((".", "*.", "@", "*@")) for text in texts):
        message = f"`{atom.op}` matches a part of a name, so `evil{texts[0].lstrip('*')}` passes too"
        if atom.op in (Op.STARTS, Op.CONTAINS, Op.MATCHES):
            message = f"`{atom.op}` matches a part of a name, so every name that begins with it passes"
        report.warning(Code.READ_BY_FACET, message, test.span, f"use `{facet} of … under` or `in`")


# ---------------------------------------------------------------- one of many


def _any(atom: Atom, others: Sequence[Atom], report: DiagnosticReport) -> None:
    test = atom.test
    if not isinstance(test, s.Test) or atom.every is not False:
        return
    if any(path.root not in ("args", "it") for path in test.operand.paths):
        return
    # Where the same rule asks something of every element too, `any` only asks for more.
    if any(other.every and other.place == atom.place for other in others):
        return
    shown = ", ".join(shown_path(path) for path in test.operand.paths)
    message = f"`any` in an allow rule: one element of `{shown}` that passes lets all the others through"
    report.warning(Code.ANY_IN_ALLOW, message, test.span, "write `every`, or ask something of every element too")


# ---------------------------------------------------------------- tests that say nothing


def _whole(atom: Atom, report: DiagnosticReport) -> None:
    test = atom.test
    if not isinstance(test, s.Test) or atom.negated or atom.op not in (Op.UNDER, *_OF_TEXT):
        return
    for text in _strings(atom.raw):
        if _everything(atom.op, text):
            message = f'`{atom.op} "{text}"` holds for everything that can be read'
            report.warning(Code.ALWAYS_HOLDS, message, test.span, "name what may pass")
            return


def _everything(op: Op, text: str) -> bool:
    match op:
        case Op.UNDER:
            return text in _NETWORKS or (text.startswith("/") and not text.strip("/."))
        case Op.LIKE:
            return bool(text) and not text.strip("*")
        case Op.MATCHES:
            return _ANY_TEXT.fullmatch(text) is not None
        case _:
            return text == ""


def _always(formula: Formula) -> bool:
    """Whether a test and its own negation stand side by side in an `or`, which is yes whenever one of them can tell."""
    match formula:
        case Atom():
            return False
        case AllOf(items):
            return all(map(_always, items))
        case AnyOf(items):
            asked = {(item.place, item.text, item.negated) for item in items if isinstance(item, Atom)}
            return any(map(_always, items)) or any((*what, not negated) in asked for *what, negated in asked)


def _holds(rule: s.Rule, span: s.Span, report: DiagnosticReport) -> None:
    condition = f"the condition of the rule `{rule.id.text}`"
    message = f"{condition} always holds: the rule allows everything that its subject names"
    report.warning(Code.ALWAYS_HOLDS, message, span, "did you mean `and`?")
