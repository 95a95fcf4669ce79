"""The body of a webhook."""

from rebuno.kernel import Webhook
from rebuno.server.wire.writing import Json, number, obj


def webhook(to: Webhook) -> Json:
    return obj(
        execution_id=to.execution_id,
        dispatch_id=to.dispatch_id,
        dispatch_attempt=to.dispatch_attempt,
        lease_timeout_seconds=number(to.lease),
    )
