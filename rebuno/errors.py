"""Every exception that Rebuno raises, in one tree; each carries fields, not only text.

RebunoError
├── APIError (code, status_code)      the kernel refuses a call; the same over HTTP and in process
│   ├── ValidationError               400  the call itself is malformed
│   ├── UnauthorizedError             401
│   ├── ForbiddenError                403
│   ├── NotFoundError                 404
│   ├── ConflictError (holder)        409  same id with another input, decided already, or held by a live process
│   │   └── ExecutionExpired (status)      retention took the execution of this id
│   ├── LeaseSuperseded               409  another attempt owns the execution now
│   └── PolicyError (reason, rule_id) 403  a step was denied
├── ToolError (error, step_id)        a step's body failed, on this run or on the recorded one
├── NothingDone                       raised by a tool: it failed, and nothing was done
├── RateLimited (reason, rule_id)     a limit is used up; nothing was recorded
├── Blocked (step_id, approval_id)    a person must decide first; the attempt ends
├── Terminated                        the execution has ended
├── CheckpointUnavailable             raised by a driver of a resource: the checkpoint is gone
├── BundleError (diagnostics)         a bundle with errors gives no policy
├── DuplicateTool (name, first, second)  two tools come to one name; a `ValueError` too
├── NetworkError                      the kernel cannot be reached
├── NotJSON (path)                    a value that JSON cannot hold; a `TypeError` too
├── Stale                             the log has grown past what a write rests on; the kernel reads again
└── StoreError (path)                 the store cannot be used, for the reason that the subclass names
    ├── StoreBusy, StoreFull, StoreReadOnly, StoreCorrupt, StoreUnreachable
    ├── KeyRingError              the key ring cannot be read, or others may read it
    ├── SealKeyMissing (key_id)   the execution is sealed under a key that is not in the ring, or there is no ring
    ├── SealErased                the execution was erased, and cannot be read or run any more
    ├── SealBroken (place)        what is sealed does not open: it was changed, or moved from elsewhere
    └── SchemaTooNew (found, known)
"""

import re
from collections.abc import Sequence
from typing import Any


class RebunoError(Exception):
    """The base of every exception of this package."""


class APIError(RebunoError):
    """A call that the kernel refused.

    `code` is one of the protocol's error codes, `status_code` the HTTP status that carries it.
    """

    code = "internal_error"
    status_code = 500

    def __init__(self, message: str, *, code: str | None = None, status_code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.status_code = status_code or type(self).status_code


class ValidationError(APIError):
    """The call is malformed: bad JSON, an empty target, an unknown kind."""

    code = "validation_error"
    status_code = 400


class UnauthorizedError(APIError):
    """The caller's credentials are missing or wrong."""

    code = "unauthorized"
    status_code = 401


class ForbiddenError(APIError):
    """The caller is authenticated and lacks the permission."""

    code = "forbidden"
    status_code = 403


class NotFoundError(APIError):
    """There is no such execution, step or approval."""

    code = "not_found"
    status_code = 404


class ConflictError(APIError):
    """The call contradicts what is recorded: another input under the same id, a live holder, a resolved approval.

    `holder` is the process that runs the execution, if that is the cause.
    """

    code = "conflict"
    status_code = 409

    def __init__(self, message: str, *, holder: str | None = None) -> None:
        super().__init__(message)
        self.holder = holder


class ExecutionExpired(ConflictError):
    """The id belongs to an execution that retention has removed; it never runs a second time.

    `execution_id`, `status` and `output_hash` (hex SHA-256, or empty) are kept of it.
    """

    def __init__(self, key: str, *, execution_id: str, status: str, output_hash: str) -> None:
        super().__init__(
            f"the id `{key}` belongs to an execution that has {status if status != 'cancelled' else 'been cancelled'}"
            " and was removed since; use another id"
        )
        self.execution_id = execution_id
        self.status = status
        self.output_hash = output_hash


class LeaseSuperseded(APIError):
    """Another attempt owns the execution now; this one must stop."""

    code = "lease_superseded"
    status_code = 409

    def __init__(self, message: str = "another attempt owns this execution now") -> None:
        super().__init__(message)


class PolicyError(APIError):
    """A rule or a person denied a step; `reason` is the text for the agent."""

    code = "policy_denied"
    status_code = 403

    def __init__(self, reason: str, *, rule_id: str = "", step_id: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.rule_id = rule_id
        self.step_id = step_id


class ToolError(RebunoError):
    """A step's body failed; `error` is the recorded object, the same on the first run and on every replay."""

    def __init__(self, error: dict[str, Any], *, target: str = "", step_id: str = "") -> None:
        text = error.get("message") or error.get("reason") or "failed"
        super().__init__(f"{target}: {text}" if target else str(text))
        self.error = error
        self.target = target
        self.step_id = step_id

    @property
    def reason(self) -> str:
        """The kernel's own reason (`indeterminate`, `cancelled`), else an empty string."""
        reason = self.error.get("reason", "")
        return reason if isinstance(reason, str) else ""


class ResultError(ToolError, TypeError):
    """A step's body returned a value that is not JSON; the message names the path to the value."""


class NothingDone(RebunoError):
    """Raised by the body of a tool or a step that failed before it did anything: `raise NothingDone("no such charge")`.

    The journal records it beside the error, so that a rule may ask for it (`error.nothing_done`), and what the step
    took from a limit is given back. Every other exception may come after the effect: a time-out does.
    """


class RateLimited(RebunoError):
    """A limit is used up. Nothing was recorded, so a later attempt may be answered differently: retry or give up."""

    def __init__(self, reason: str = "rate_limit_exceeded", *, rule_id: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.rule_id = rule_id


class Blocked(RebunoError):
    """The step waits for a person. Let it pass: the run ends as `blocked` and resumes after the answer."""

    def __init__(self, step_id: str = "", approval_id: str = "") -> None:
        super().__init__("the execution waits for an approval")
        self.step_id = step_id
        self.approval_id = approval_id


class Terminated(RebunoError):
    """The execution has ended; nothing can be submitted to it any more."""

    def __init__(self, message: str = "the execution has ended") -> None:
        super().__init__(message)


class CheckpointUnavailable(RebunoError):
    """Raised by a resource driver's `create` where the checkpoint is gone."""


class BundleError(RebunoError):
    """A bundle has errors, so there is no policy.

    `diagnostics` holds every finding (`rebuno.policy.Diagnostic`), in the order of the file.
    """

    def __init__(self, diagnostics: Sequence[Any]) -> None:
        self.diagnostics = tuple(diagnostics)
        count = len(self.diagnostics)
        lines = "\n".join(f"  {d}" for d in self.diagnostics)
        super().__init__(f"{count} error{'s' if count != 1 else ''}:\n{lines}")


class DuplicateTool(RebunoError, ValueError):
    """Two tools have the same name, and policies and the journal identify a tool by its name. `first` and `second`
    describe their origins."""

    def __init__(self, name: str, first: str, second: str, help: str) -> None:
        super().__init__(f"two tools come to the name `{name}`: {first}, and {second}; {help}")
        self.name = name
        self.first = first
        self.second = second


class NetworkError(RebunoError):
    """The kernel could not be reached."""


class NotJSON(RebunoError, TypeError):
    """A Python value that is not JSON. `path` is its place, `args.items[3].when`; `why` is the cause."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"`{path}` {why}")
        self.path = path
        self.why = why


class Stale(RebunoError):
    """The execution's log has grown since the write was prepared: read again, decide again, repeat."""


class StoreError(RebunoError):
    """The store cannot be used. `path` names it."""

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class StoreBusy(StoreError):
    """Another process kept the store locked for longer than the wait limit."""


class StoreFull(StoreError):
    """The disk is full; nothing of the failed write is kept."""


class StoreReadOnly(StoreError):
    """The store is read-only."""


class StoreCorrupt(StoreError):
    """The file is not a Rebuno store, or damaged."""


class StoreUnreachable(StoreError):
    """The store cannot be reached: it is a directory, its folder is missing, the server is away, or it was moved or
    deleted while it was open."""


class StoreForeign(StoreError):
    """A file beside the store is not its own: a link, a pipe, another user's, or the log of writes of another file; or
    the store's file was replaced or written over. Nothing of it was changed."""


class KeyRingError(StoreError):
    """The key ring cannot be used: its file is missing, others may read it, its command fails, or it is no ring."""


class SealKeyMissing(StoreError):
    """The execution is sealed under the key `key_id`, which is not in the ring, or no ring was given. It is not run,
    resumed, retried or forked."""

    def __init__(self, key_id: str, *, execution_id: str = "") -> None:
        super().__init__(
            f"the execution `{execution_id}` is sealed under the key `{key_id}`, which is not in the key ring; give the"
            " ring that has it"
        )
        self.key_id = key_id
        self.execution_id = execution_id


class SealErased(StoreError):
    """The execution was erased: its data key was destroyed, and nothing that was sealed in it can be read any more. It
    is not run, resumed, retried or forked."""

    def __init__(self, execution_id: str) -> None:
        super().__init__(f"the execution `{execution_id}` was erased; what was sealed in it cannot be read any more")
        self.execution_id = execution_id


class SealBroken(StoreError):
    """What is sealed does not open with its key: it was changed, or moved from elsewhere. `place` says what it is."""

    def __init__(self, message: str, *, execution_id: str, place: str) -> None:
        super().__init__(message)
        self.execution_id = execution_id
        self.place = place


class SchemaTooNew(StoreError):
    """The store was written by a newer version."""

    def __init__(self, *, found: int, known: int, path: str = "") -> None:
        super().__init__(
            f"the store `{path}` has schema version {found}, this rebuno knows up to {known}; upgrade rebuno",
            path=path,
        )
        self.found = found
        self.known = known


_TOKEN = re.compile(r"[a-z0-9_]+\Z")


def failure_reason(error: BaseException) -> str:
    """The `failure_reason` of an execution whose handler raised `error`: a token, or a token, a colon and text.

    A one-word reason of a policy denial stands for itself, as in the published SDK.
    """
    if isinstance(error, PolicyError):
        return error.reason if _TOKEN.match(error.reason) else f"policy_denied: {error.reason}"
    if isinstance(error, RateLimited):
        return error.reason
    if isinstance(error, ToolError):
        return f"tool_error: {error}"
    text = text_of(error)
    return f"agent_error: {type(error).__name__}: {text}" if text else f"agent_error: {type(error).__name__}"


def text_of(error: BaseException) -> str:
    """The text of an exception; empty if its own `__str__` raises."""
    try:
        return str(error)
    except Exception:  # it is somebody else's code, and what it did must be recorded all the same
        return ""
