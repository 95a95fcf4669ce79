"""What a request must show before a page looks at it: a host that is ours, and for a form that it is one of ours."""

import hmac
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import ClientDisconnect, Request

from rebuno.console.sessions import ConsoleSession, Sessions
from rebuno.console.settings import ConsoleSettings
from rebuno.errors import ForbiddenError, ValidationError
from rebuno.server.auth import by_address, check_single
from rebuno.server.failures import BodyTooLargeError

# In bytes: a bundle is the longest that is sent.
MOST_FORM_BYTES = 2 * 1024 * 1024
FORM_TOKEN = "form_token"

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    # The own pages send where a form comes from; nobody else is told.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class MisdirectedError(ForbiddenError):
    """A request under a name that is not one of the console's."""

    status_code = 421


def check_host(request: Request, settings: ConsoleSettings) -> str:
    """The host that a browser has asked for. Anyone can give a name that leads here; only those that the operator has
    named are answered, and addresses.

    Raises:
        MisdirectedError, ValidationError
    """
    check_single(request.scope["headers"])
    host = request.headers.get("host", "").lower()
    if by_address(host) or host in settings.hosts or host.partition(":")[0] in settings.hosts:
        return host
    raise MisdirectedError("the console is not served under this name; start the server with `--console-host NAME`")


def check_origin(request: Request, host: str) -> None:
    """Refuses what another site's page has sent.

    Raises:
        ForbiddenError
    """
    origin = request.headers.get("origin")
    site = request.headers.get("sec-fetch-site")
    if origin is not None:
        came = urlsplit(origin)
        if came.scheme not in ("http", "https") or came.netloc.lower() != host:
            raise ForbiddenError("this form was sent by a page of another site")
    if site not in (None, "same-origin") or (origin is None and site is None):
        raise ForbiddenError("this form was not sent by a page of the console")


async def read_form(request: Request) -> dict[str, list[str]]:
    """The fields of a form.

    Raises:
        BodyTooLargeError, ValidationError
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise ValidationError("a form is sent as application/x-www-form-urlencoded")
    pieces: list[bytes] = []
    size = 0
    try:
        async for piece in request.stream():
            size += len(piece)
            if size > MOST_FORM_BYTES:
                raise BodyTooLargeError(f"a form has at most {MOST_FORM_BYTES:,} bytes")
            pieces.append(piece)
    except ClientDisconnect:
        raise ValidationError("the form ended early") from None
    try:
        pairs = parse_qsl(b"".join(pieces).decode("ascii"), True, errors="strict", max_num_fields=1000)
    except ValueError:
        raise ValidationError("the form is not percent-encoded UTF-8, or has more than 1,000 fields") from None
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        if "\0" in value:
            raise ValidationError(f"the field `{name[:40]}` holds NUL")
        fields.setdefault(name, []).append(value.replace("\r\n", "\n"))
    return fields


def check_form(sessions: Sessions, session: ConsoleSession, fields: dict[str, list[str]]) -> None:
    """Refuses a form without the token of this session.

    Raises:
        ForbiddenError
    """
    given = fields.get(FORM_TOKEN, [""])[0].encode("utf-8", "surrogatepass")
    if not hmac.compare_digest(given, sessions.form_token(session).encode()):
        raise ForbiddenError("the form is not of this session; load the page again")
