"""Warns about tests that guard less than they seem to: in allow rules, and in deny rules under `default allow`."""

import re
from collections.abc import Callable, Sequence
from typing import Final

from rebuno.policy.analysis.formulas import AllOf, AnyOf, Atom, Formula, Formulas, atoms, plain
from rebuno.policy.analysis.implication import CountedCondition
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.diagnostics import Code, DiagnosticReport
from rebuno.policy.syntax.shown import shown_path
from rebuno.policy.syntax.tree import Op

# Predicates on a plain text, which no facet has read.
_OF_TEXT: Final = (Op.LIKE, Op.CONTAINS, Op.CONTAINS_ANY, Op.STARTS, Op.ENDS, Op.MATCHES)
_WILD: Final = re.compile(r"[*?\[]")

# The content of an argument with such a name, and the tests that fit it.
_PATH: Final = ("a path", "`under`, or `path of … like`")
_URL: Final = ("a URL", "`host of … under` or `host of … in`, and `scheme of`")
_HOST: Final = ("a host name", "`host of … under`")
_EMAIL: Final = ("an e-mail address", "`email of … in` or `domain of … under`")
_COMMAND: Final = ("a command", "`every command of … like`, `every program of … in` or the facets of its effects")
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
# The formats of JSON Schema.
_BY_FORMAT: Final = {
    **dict.fromkeys(("uri", "url", "iri", "uri-reference", "iri-reference"), _URL),
    **dict.fromkeys(("hostname", "idn-hostname"), _HOST),
    **dict.fromkeys(("email", "idn-email"), _EMAIL),
    **dict.fromkeys(("path", "file-path", "directory-path"), _PATH),
}
# The shapes of literals, for arguments whose name does not tell their content.
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
# Facets whose values may begin or end like the name of another thing.
_NAMES: Final = ("host", "domain", "email", "scheme", "contacted_host")
_NETWORKS: Final = ("0.0.0.0/0", "::/0")
# A regular expression that matches in every text, or in every text that is not empty.
_ANY_TEXT: Final = re.compile(r"(?:\(\?\w+\))?\(?\^?(?:\.[*+]\??)?\$?\)?")
# Accounts, numbers and codes, which have not the form of a mail address.
_NO_ADDRESS: Final = re.compile(r"(?:\\.|[^a-z@])*", re.DOTALL)
# Facets with unlimited values: a list of the bad ones is never complete.
_ENDLESS: Final = (
    *("program", "command", "host", "domain", "email", "link", "path", "table", "statement"),
    *("read_path", "written_path", "removed_path", "contacted_host", "executed"),
)


def check_allow(rule: s.Rule, formulas: Formulas, report: DiagnosticReport) -> None:
    """Warns about tests in an allow rule that let more pass than they seem to."""
    formula = formulas.rule(rule)
    found = atoms(formula)
    read = {path for atom in found for path in _read(atom)}
    for atom in plain(found):
        # Beside a test through a facet, a test of the plain text only narrows the rule.
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
    """Warns about a test of a deny rule that another spelling avoids, under `default allow`."""
    _text(atom, report, (*_OF_TEXT, Op.EQ, Op.IN))


def check_formats(
    rule: s.Rule, formulas: Formulas, formats: Callable[[s.Path], set[str]], report: DiagnosticReport
) -> None:
    """Warns about tests of plain text in an allow rule whose value a facet reads by its schema. `formats` gives the
    formats of a path. What the name or the literal tells is left to `check_allow`."""
    found = atoms(formulas.rule(rule))
    read = {path for atom in found for path in _read(atom)}
    for atom in plain(found):
        test = atom.test
        if not isinstance(test, s.Test) or atom.facet is not None or test.operand.facets or atom.op not in _OF_TEXT:
            continue
        texts = [text for text in _strings(atom.raw) if text and (atom.op is not Op.LIKE or _WILD.search(text))]
        if not texts or read.intersection(_paths(atom)) or _kind(test.operand.paths, texts) is not None:
            continue
        told = sorted(one for path in test.operand.paths for one in formats(path) if one in _BY_FORMAT)
        if told:
            what, better = _BY_FORMAT[told[0]]
            message = f"`{atom.op}` looks at {what} as plain text, so another spelling gets past it"
            report.warning(Code.READ_BY_FACET, message, test.span, f"use {better}")


# ---------------------------------------------------------------- texts that have a reader


def _paths(atom: Atom) -> tuple[s.Path, ...]:
    return atom.test.operand.paths if isinstance(atom.test, s.Test) else ()


def _read(atom: Atom) -> tuple[s.Path, ...]:
    """The paths that a test reads through a facet, and about which it is certain."""
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
    """Whether a test only excludes values and requires none."""
    if atom.inner is not None:
        return all(map(_only_not, atoms(atom.inner)))
    return atom.negated and atom.op not in (None, Op.GIVEN, Op.IS)


def warn_plain(test: s.Test, op: Op, texts: Sequence[str], report: DiagnosticReport) -> None:
    """Warns about a test of plain text on a value that a facet can read. `texts` are the literals of the test."""
    texts = [text for text in texts if text and (op is not Op.LIKE or _WILD.search(text))]
    what = _kind(test.operand.paths, texts) if texts else None
    if what is not None:
        message = f"`{op}` looks at {what[0]} as plain text, so another spelling gets past it"
        report.warning(Code.READ_BY_FACET, message, test.span, f"use {what[1]}")


def _kind(paths: Sequence[s.Path], texts: Sequence[str]) -> tuple[str, str] | None:
    for path in paths:
        # The input and the results of tools are prose, whatever they contain.
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
    # A pattern with the dot (`*.example.com`) matches subdomains only, as it seems to.
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
    # If the same rule tests every element too, `any` only narrows the rule.
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
    """Whether a test and its own negation are alternatives of an `or`: it is yes whenever one of them has an answer."""
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
