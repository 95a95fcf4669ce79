"""What is wrong with a bundle: a code, a sentence, a place and a hint; collected and sorted, not raised one by one."""

from dataclasses import dataclass
from enum import StrEnum

from rebuno.policy.syntax import Span


class Severity(StrEnum):
    """An error gives no policy; a warning does."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. `code` names its page in `docs/diagnostics.md`, `path` is the file as the user named it."""

    code: str
    message: str
    span: Span
    path: str = ""
    help: str = ""
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        where = f"{self.path}:" if self.path else ""
        hint = f" ({self.help})" if self.help else ""
        return f"{where}{self.span.line}:{self.span.column}: {self.severity.value}[{self.code}]: {self.message}{hint}"


def ordered(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """The findings in the order of the file, each once."""
    return sorted(set(diagnostics), key=lambda d: (d.path, d.span.start, d.span.end, d.code, d.message))
