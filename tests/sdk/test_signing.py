"""Signatures, against a known one."""

import pytest

from rebuno.sdk import signing

SECRET = "test-secret"
PATH = "/v0/executions/018f3a2b-4c5d-7e6f-8a9b-0c1d2e3f4a5b/steps"
BODY = b'{"kind":"tool_call","target":"send_email","args":{"to":"ops@example.com"},"idempotency":"safe_to_retry"}'
DISPATCH = {"dispatch_id": "01920000-0000-7000-8000-000000000001", "dispatch_attempt": "3"}


def test_a_request_is_signed_as_published() -> None:
    """Any kernel of this protocol takes it."""
    signed = signing.request(SECRET, "POST", PATH, "1700000000", BODY, **DISPATCH)
    assert signed == "v1=017dff4039ba40e90d3d8d566fdf51db427672f92d45ef41b738672238ea0058"


@pytest.mark.parametrize(
    ("signature", "good"),
    [
        (signing.webhook(SECRET, BODY), True),
        (signing.webhook("another", BODY), False),  # another secret
        (signing.webhook(SECRET, BODY + b" "), False),  # another body
        (signing.webhook(SECRET, BODY).removeprefix("sha256="), False),  # no algorithm
        (signing.webhook(SECRET, BODY).upper(), False),
        ("é", False),
        ("", False),
    ],
)
def test_webhooks_are_known_by_their_signature(signature: str, good: bool) -> None:
    """Of this very body, under this very secret."""
    assert signing.is_webhook(SECRET, BODY, signature.encode()) is good
