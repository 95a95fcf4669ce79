"""The signatures between an agent and its kernel: the agent signs requests, the kernel signs webhooks."""

import hashlib
import hmac
from typing import Final

_VERSION: Final = "rebuno-request-v1"


def request(
    secret: str,
    method: str,
    path: str,
    timestamp: str,
    body: bytes,
    *,
    dispatch_id: str = "",
    dispatch_attempt: str = "",
) -> str:
    """The `Rebuno-Signature` of an agent's request: `v1=` and the hex HMAC-SHA256 of its parts.

    `path` is the path as it is sent, percent-escaped and with its query; `timestamp` the seconds since 1970 of the
    header; the last two are those of the webhook, where the request has them.
    """
    fields = (_VERSION, method, path, timestamp, dispatch_id, dispatch_attempt)
    message = "".join(f"{field}\n" for field in fields).encode() + body
    return "v1=" + _hex(secret, message)


def webhook(secret: str, body: bytes) -> str:
    """The `Rebuno-Signature` of a webhook: `sha256=` and the hex HMAC-SHA256 of its body."""
    return "sha256=" + _hex(secret, body)


def is_webhook(secret: str, body: bytes, signature: bytes) -> bool:
    """Whether the kernel signed this webhook; the comparison takes constant time."""
    return hmac.compare_digest(webhook(secret, body).encode(), signature)


def _hex(secret: str, message: bytes) -> str:
    return hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()
