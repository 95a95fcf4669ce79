"""Checks the tables of programs that a bundle names, and the flavour of programs."""

from collections.abc import Iterator, Sequence

from rebuno.policy.syntax.diagnostics import Code, DiagnosticReport
from rebuno.policy.syntax.tree import EffectTables, Literal, Name, Statement

_HELP = "docs/effects.md describes the format"


def check_effects(statement: EffectTables, report: DiagnosticReport) -> None:
    """Reports a flavour that does not exist, and a file of tables that cannot be read."""
    # Few bundles name tables.
    from rebuno.policy.facets.shell.effects.table import TableError
    from rebuno.policy.facets.shell.effects.table_set import FLAVOURS, read_tables

    source = statement.source
    if isinstance(source, Name):
        if source.text not in FLAVOURS:
            message = f"`{source.text}` is no flavour of programs"
            help = 'write `effects gnu` or `effects bsd`; a file of tables stands in quotes: `effects "tools.yaml"`'
            report.error(Code.BAD_TABLE, message, source.span, help)
        return
    if statement.text is None:
        return  # only in a bundle that was not linked
    try:
        read_tables(statement.text)
    except TableError as error:
        report.error(Code.BAD_TABLE, f"`{source.value}`: {error}", source.span, _HELP)


def check_table_cases(statements: Sequence[Statement], report: DiagnosticReport) -> None:
    """Reports the cases of tables that do not hold. The statements must have no error."""
    files = list(_files(statements))
    if not files:
        return
    from rebuno.policy.facets.shell.effects.cases import broken_cases
    from rebuno.policy.facets.shell.effects.table import TableError
    from rebuno.policy.facets.shell.effects.table_set import GNU

    flavours = [one.source.text for one in statements if isinstance(one, EffectTables) and isinstance(one.source, Name)]
    flavour = flavours[0] if flavours else GNU
    earlier: list[str] = []
    for path, text in files:
        try:
            for command, wrong in broken_cases(text, flavour, tuple(earlier)):
                message = f"`{path.value}`: the case `{command}` does not hold: {wrong}"
                report.error(Code.BAD_TABLE, message, path.span, "`rebuno effects` shows what a line is read as")
        except TableError as error:
            report.error(Code.BAD_TABLE, f"`{path.value}`: {error}", path.span, _HELP)
        earlier.append(text)


def _files(statements: Sequence[Statement]) -> Iterator[tuple[Literal, str]]:
    for one in statements:
        if isinstance(one, EffectTables) and isinstance(one.source, Literal) and one.text is not None:
            yield one.source, one.text
