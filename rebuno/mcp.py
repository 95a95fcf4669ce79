"""Tools of MCP servers as tools of an agent: every call goes through the kernel before it goes to the server.

Nothing of an MCP client is imported here: whatever lists tools and calls them by name will do, the official
`mcp.Client` first of all.
"""

import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from rebuno.errors import DuplicateTool, NothingDone, NotJSON, RebunoError, text_of
from rebuno.model.definition import Definition, define
from rebuno.model.step import Idempotency
from rebuno.sdk.body_errors import OutcomeUnknownError
from rebuno.sdk.origins import brief, server_origin
from rebuno.sdk.tool import wrapped

# What clients say where the server gave no answer: the connection closed, the time was up.
UNANSWERED: Final = frozenset({-32000, -32001})

# INVARIANT: without a dot, so that the name of a tool tells its server; without `__`, which stands for the dot where
# a host takes none.
_SERVER: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]|_(?!_)){0,63}", re.ASCII)

# The key in a result's `_meta` by which a server says that a call that failed did nothing.
_NOTHING_DONE: Final = "rebuno/nothingDone"

Call = Callable[[str, dict[str, Any]], Awaitable[Any]]


class MCPToolError(Exception):
    """A tool's own report that it failed; the text is what the server says."""


class MCPNothingDoneError(MCPToolError, NothingDone):
    """The same, of a tool that did nothing before it failed, as its server says."""


def wrap_mcp_tools(
    descriptors: Iterable[Any],
    *,
    call: Call,
    server: str = "",
    prefix: str = "",
    idempotency: str | None = None,
    to_result: Callable[[Any], Any] | None = None,
    trust_annotations: bool = False,
    trust_nothing_done: bool = False,
) -> list[Callable[..., Any]]:
    """`wrap_mcp_tool` for each of a list: `wrap_mcp_tools((await client.list_tools()).tools, call=client.call_tool,
    server="mail")`.

    Raises:
        DuplicateTool: as `wrap_mcp_tool`, and where two of the list have one name.
        ValueError: as `wrap_mcp_tool`.
    """
    descriptors = list(descriptors)
    names = [_field(descriptor, "name") for descriptor in descriptors]
    for at, name in enumerate(names):
        if name and name in names[:at]:
            first, second = (f"number {number + 1} of the list" for number in (names.index(name), at))
            raise DuplicateTool(brief(str(name)), first, second, "ask the server's author")
    return [
        wrap_mcp_tool(
            descriptor,
            call=call,
            server=server,
            prefix=prefix,
            idempotency=idempotency,
            to_result=to_result,
            trust_annotations=trust_annotations,
            trust_nothing_done=trust_nothing_done,
        )
        for descriptor in descriptors
    ]


def wrap_mcp_tool(
    descriptor: Any,
    *,
    call: Call,
    server: str = "",
    prefix: str = "",
    idempotency: str | None = None,
    to_result: Callable[[Any], Any] | None = None,
    trust_annotations: bool = False,
    trust_nothing_done: bool = False,
) -> Callable[..., Any]:
    """Makes a tool of one that an MCP server lists.

    `descriptor` is what the server says of it, an object or a dict with `name`, `description`, `inputSchema` (or
    `input_schema`). `call(name, args)` calls it on the server by its bare name. Policies, the journal and the model
    know it as `<server>.<name>`; with `prefix` instead of `server` as `<prefix>_<name>`, and without both by the bare
    name. Arguments that are None and not required are left out before policy sees them.

    `idempotency` is `at_most_once` unless given: what the server says of its tools is no more than a hint. With
    `trust_annotations` its `readOnlyHint` or `idempotentHint` makes a tool `safe_to_retry`.

    The result is the structured content, or the text (several blocks in lines), or, where there are images and other
    blocks, `{"content": […]}` with the blocks as MCP writes them, and `structuredContent` if there is any; `to_result`
    replaces this. A result that the server marks as an error, and an error that it answers with, fail the step: the
    handler gets a `ToolError` with the server's text. Where there is no answer its `reason` is `indeterminate`.

    With `trust_nothing_done` a result that is an error and has `"rebuno/nothingDone": true` in its `_meta` says that
    the tool did nothing before it failed, as `rebuno.NothingDone` does; otherwise what the server says of that counts
    for nothing. What policies see of the tool itself (`definition`) is the server's name, the tool's, and the digest of
    what the server says of it, annotations aside.

    Raises:
        DuplicateTool: another tool has this name: of another server, of another prefix, or of the agent's own. The same
            tool of the same server again, as after a reconnect, is no other tool.
        ValueError: the tool has no name, the server's name is none, both `server` and `prefix` are given, the
            idempotency is unknown, or the name is registered with another one.
    """
    name = _field(descriptor, "name") or ""
    if server and prefix:
        raise ValueError("give `server` or `prefix`, not both")
    if server and not _SERVER.fullmatch(server):
        wanted = "write at most 64 letters, digits, `-` and single `_`"
        raise ValueError(f"`{brief(server)}` is no name of a server; {wanted}")
    schema = _field(descriptor, "input_schema", "inputSchema") or {}
    required = frozenset(schema.get("required") or ())
    if idempotency is None:
        idempotency = _hinted(descriptor) if trust_annotations else Idempotency.ONCE

    async def invoke(args: dict[str, Any]) -> Any:
        try:
            result = await call(name, args)
        except RebunoError:
            raise
        except Exception as error:  # every client has its own: only an error that the server answered with is known
            if is_answered(error):
                raise
            raise OutcomeUnknownError(
                f"no answer from the MCP server, and the tool may have acted: {type(error).__name__}: {text_of(error)}"
            ) from error
        if _field(result, "is_error", "isError"):
            meta = _field(result, "meta", "_meta")
            clean = trust_nothing_done and isinstance(meta, dict) and meta.get(_NOTHING_DONE) is True
            failure = MCPNothingDoneError if clean else MCPToolError
            raise failure(result_text(result) or f"the tool `{name}` reports an error without a text")
        return result

    whole = name and (f"{server}.{name}" if server else f"{prefix}_{name}" if prefix else name)
    return wrapped(
        whole,
        invoke,
        server_origin(name, call, server=server, prefix=prefix),
        definition=_defined(server or prefix, descriptor) if name else None,
        description=_field(descriptor, "description") or "",
        schema=schema,
        idempotency=idempotency,
        to_result=to_result or plain_result,
        transform_args=lambda args: {key: value for key, value in args.items() if value is not None or key in required},
    )


def _defined(server: str, descriptor: Any) -> Definition | None:
    try:
        return define(
            server,
            str(_field(descriptor, "name")),
            description=_field(descriptor, "description"),
            input_schema=_field(descriptor, "input_schema", "inputSchema"),
            output_schema=_field(descriptor, "output_schema", "outputSchema"),
        )
    except NotJSON:
        # What cannot be written cannot be reviewed: the tool has no definition.
        return None


def _hinted(descriptor: Any) -> Idempotency:
    hints = _field(descriptor, "annotations")
    repeatable = (
        _field(hints, "read_only_hint", "readOnlyHint") is True
        or _field(hints, "idempotent_hint", "idempotentHint") is True
    )
    return Idempotency.SAFE if repeatable else Idempotency.ONCE


def is_answered(error: Exception) -> bool:
    """Whether an MCP client's error is one that the server answered with."""
    code = getattr(error, "code", None)
    return isinstance(code, int) and code < 0 and code not in UNANSWERED


def plain_result(result: Any) -> Any:
    """The result of a call as a JSON value."""
    structured = _field(result, "structured_content", "structuredContent")
    blocks = _field(result, "content")
    if blocks is None:
        return result if structured is None else structured
    if all(_field(block, "type") == "text" for block in blocks):
        return result_text(result) if structured is None else structured
    whole: dict[str, Any] = {"content": [_block(block) for block in blocks]}
    return whole if structured is None else {**whole, "structuredContent": structured}


def result_text(result: Any) -> str:
    """The text blocks of a result, in lines."""
    blocks = _field(result, "content") or ()
    return "\n".join(str(_field(block, "text")) for block in blocks if _field(block, "type") == "text")


def _block(block: Any) -> Any:
    if not hasattr(block, "model_dump"):
        return block
    return block.model_dump(mode="json", by_alias=True, exclude_none=True)


def _field(thing: Any, *names: str) -> Any:
    """The first of the fields that is there: clients spell them in snake case, the wire in camel case."""
    for name in names:
        value = thing.get(name) if isinstance(thing, dict) else getattr(thing, name, None)
        if value is not None:
            return value
    return None
