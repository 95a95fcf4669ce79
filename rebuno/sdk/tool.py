"""Turns a function or another callable into a tool: every call goes through the kernel first."""

import collections
import functools
import inspect
import json
import keyword
import types
from collections.abc import Callable, Sequence
from typing import Any, Final, overload

from rebuno.errors import DuplicateTool, NotJSON, PolicyError
from rebuno.model.definition import Definition, define
from rebuno.model.step import Idempotency, Kind
from rebuno.sdk import context
from rebuno.sdk.arguments import all_detached, detached, keys_of
from rebuno.sdk.context import ExecutionContext
from rebuno.sdk.origins import Origin, brief, function_origin

# One name, one promise, one tool: the policy and the journal know a tool by its name alone.
_registered: dict[str, tuple[Idempotency, Origin, Definition | None]] = {}
# Of each tool that is a Python function, the function.
_functions: dict[str, Callable[..., Any]] = {}
# What frameworks and callers read of a tool that `wrap_tool` made, beside its name, docstring and signature.
_SCHEMA: Final = "__input_schema__"
_PROMISE: Final = "__idempotency__"
_HELP: Final = "name one of them otherwise, or the MCP server that it comes from: `server=`"
# An attribute of an enum's class is looked up in Python, and this one for every call.
_TOOL: Final = Kind.TOOL


@overload
def tool(tool_id: Callable[..., Any], /) -> Callable[..., Any]: ...
@overload
def tool(
    tool_id: str | None = None, *, idempotency: str = "safe_to_retry", resources: Sequence[str] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
def tool(
    tool_id: Callable[..., Any] | str | None = None,
    *,
    idempotency: str = "safe_to_retry",
    resources: Sequence[str] | None = None,
) -> Any:
    """Registers a function, plain or `async`, as a tool: `@tool`, `@tool()`, `@tool("id")`, `@tool("id",
    idempotency="at_most_once")`.

    The tool is called like the function, keeps its signature, and is always awaited. Its arguments are recorded by
    name with defaults filled in; `**extra` arguments stand beside the named ones. A call that policy denies returns
    `"<id> not allowed. reason: <reason>"`, for the model to read. Otherwise it raises what `step` raises. `resources`
    are the keys of the resources that it may change.

    Raises:
        DuplicateTool: another tool has the id. The same function again, as after a reload, is no other tool.
        ValueError: the idempotency is unknown, or the id is registered with another one.
    """
    if callable(tool_id):
        return _decorate(tool_id, None, idempotency, ())
    keys = () if resources is None else keys_of(resources)
    return lambda function: _decorate(function, tool_id, idempotency, keys)


def wrap_tool(
    name: str,
    invoke: Callable[[dict[str, Any]], Any],
    *,
    description: str = "",
    args_schema: dict[str, Any] | None = None,
    idempotency: str = "safe_to_retry",
    to_result: Callable[[Any], Any] | None = None,
    transform_args: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    resources: Sequence[str] | None = None,
) -> Callable[..., Any]:
    """Makes a tool of a callable without named arguments: a framework's tool object, a client's method, anything with a
    JSON schema.

    `name` is the tool's id. `invoke(args)`, plain or `async`, does the work with the arguments that were recorded, and
    `to_result` makes JSON of what it gives. The tool takes keyword arguments only, `transform_args` changes them before
    policy sees them. `description` becomes its docstring, the properties of `args_schema` its signature (optional ones
    with the default None); frameworks that read schemas find it in `__input_schema__`, and the promise in
    `__idempotency__`. `resources` are the keys of the resources that it may change. Otherwise the tool behaves as one
    of `tool`.

    Raises:
        DuplicateTool: another tool has the name.
        ValueError: the name is empty, the idempotency unknown, or the name registered with another one.
    """
    return wrapped(
        name,
        invoke,
        function_origin(invoke),
        definition=_defined("", name, description, args_schema),
        description=description,
        schema=args_schema or {},
        idempotency=idempotency,
        to_result=to_result,
        transform_args=transform_args,
        resources=() if resources is None else keys_of(resources),
    )


def wrapped(
    name: str,
    invoke: Callable[[dict[str, Any]], Any],
    origin: Origin,
    *,
    definition: Definition | None,
    description: str,
    schema: dict[str, Any],
    idempotency: str,
    to_result: Callable[[Any], Any] | None,
    transform_args: Callable[[dict[str, Any]], dict[str, Any]] | None,
    resources: tuple[str, ...] = (),
) -> Callable[..., Any]:
    """`wrap_tool` of a tool that comes from `origin`, which describes it so; raises as it does."""
    promise = _register(name, idempotency, origin, definition)

    async def call(**args: Any) -> Any:
        execution = context.required(f"the tool `{name}`")
        named = all_detached(args if transform_args is None else dict(transform_args(args)))

        async def body(args: dict[str, Any]) -> Any:
            value = await execution.call(functools.partial(invoke, args))
            return value if to_result is None else to_result(value)

        run = functools.partial(functools.partial, body)
        return await _submit(execution, name, named, run(named), promise, definition, run, resources)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = description or None
    for attribute, value in (("__signature__", _signature(schema)), (_SCHEMA, schema), (_PROMISE, promise.value)):
        setattr(call, attribute, value)
    return call


def _decorate(
    function: Callable[..., Any], tool_id: str | None, idempotency: str, resources: tuple[str, ...]
) -> Callable[..., Any]:
    tool_id = getattr(function, "__name__", "") if tool_id is None else tool_id
    signature = inspect.signature(function)
    definition = _defined("", tool_id, inspect.getdoc(function), _parameters(signature))
    promise = _register(tool_id, idempotency, function_origin(function), definition)
    _functions[tool_id] = function
    extra = [p.name for p in signature.parameters.values() if p.kind is inspect.Parameter.VAR_KEYWORD]
    bind = _binder(signature)

    @functools.wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        execution = context.current() or context.required(f"the tool `{tool_id}`")
        if bind is not None:
            try:
                given = bind(*args, **kwargs)
            except TypeError:
                # What does not fit is told below.
                given = None
            if given is not None:
                try:
                    return await execution.invoke(
                        _TOOL,
                        tool_id,
                        given,
                        function,
                        idempotency=promise,
                        named=True,
                        definition=definition,
                        resources=resources,
                    )
                except PolicyError as refusal:
                    return _refused(tool_id, refusal)
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            bound.arguments[name] = detached(value)
        named = dict(bound.arguments)
        for name in extra:
            more = named.pop(name)
            if twice := named.keys() & more.keys():
                # Policy must see every value that the body gets.
                raise TypeError(f"the tool `{tool_id}` got two values for the argument `{min(twice)}`")
            named |= more
        body = functools.partial(function, *bound.args, **bound.kwargs)
        rerun = functools.partial(_rebound, signature, extra, function)
        return await _submit(execution, tool_id, named, body, promise, definition, rerun, resources)

    return call


def _binder(signature: inspect.Signature) -> Callable[..., dict[str, Any]] | None:
    """A function with the same parameters that gives its arguments by name, defaults filled in: Python binds them
    several times as fast as `inspect.Signature` does. None where a parameter has no name to be given by."""
    parameters = signature.parameters.values()
    anywhere = [p for p in parameters if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    by_name = [p for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
    if len(anywhere) + len(by_name) < len(parameters):
        return None
    star = ["*"] if by_name else []
    taken = ", ".join([p.name for p in anywhere] + star + [p.name for p in by_name])
    given = ", ".join(f'"{p.name}": {p.name}' for p in parameters)
    # INVARIANT: nothing but identifiers stands in the text, for a parameter has no other name.
    bind: types.FunctionType = eval(f"lambda {taken}: {{{given}}}", {})
    empty = inspect.Parameter.empty
    bind.__defaults__ = tuple(p.default for p in anywhere if p.default is not empty)
    bind.__kwdefaults__ = {p.name: p.default for p in by_name if p.default is not empty}
    return bind


def registered_definitions() -> list[Definition]:
    """The definitions of all tools of this process, in the order in which they were registered."""
    return [definition for _, _, definition in _registered.values() if definition is not None]


def registered_schemas() -> list[dict[str, Any]]:
    """The tools of this process as MCP's `tools/list` gives them, in the order in which they were registered: `name`,
    `description` and `inputSchema` of each. A tool without a schema takes any object."""
    from rebuno.sdk.inputs import tool_schema

    found = []
    for name, (_, _, definition) in _registered.items():
        said = json.loads(definition.text) if definition is not None and definition.text else {}
        function = _functions.get(name)
        schema = said.get("input_schema") if function is None else tool_schema(function)
        found.append(
            {"name": name, "description": said.get("description", ""), "inputSchema": schema or {"type": "object"}}
        )
    return found


def _defined(server: str, name: str, description: str | None, schema: dict[str, Any] | None) -> Definition | None:
    try:
        return define(server, name, description=description, input_schema=schema or None)
    except NotJSON:
        # What cannot be written cannot be reviewed: the tool has no definition.
        return None


def _parameters(signature: inspect.Signature) -> dict[str, Any]:
    """What the model gives to a function, as a JSON schema: the types are those of the annotations, as written."""
    named = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_POSITIONAL]
    return {
        "type": "object",
        "properties": {p.name: _annotated(p.annotation) for p in named},
        "required": [p.name for p in named if p.default is p.empty and p.kind is not p.VAR_KEYWORD],
    }


def _annotated(annotation: Any) -> dict[str, Any]:
    if annotation is inspect.Parameter.empty:
        return {}
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    # An address would be another one in the next process.
    return {} if " at 0x" in text else {"python_type": text}


def _register(tool_id: str, idempotency: str, origin: Origin, definition: Definition | None) -> Idempotency:
    if not tool_id:
        raise ValueError('the id of a tool is empty; name it: `@tool("id")`')
    try:
        promise = Idempotency(idempotency)
    except ValueError:
        raise ValueError(f"unknown idempotency `{idempotency}`; use one of {', '.join(Idempotency)}") from None
    earlier = _registered.get(tool_id)
    if earlier is not None and not earlier[1].same(origin):
        raise DuplicateTool(brief(tool_id), earlier[1].label, origin.label, _HELP)
    if earlier is not None and earlier[0] is not promise:
        raise ValueError(f"the tool `{tool_id}` is registered as `{earlier[0]}` already; use another id")
    _registered[tool_id] = promise, origin, definition
    return promise


async def _submit(
    execution: ExecutionContext,
    tool_id: str,
    args: dict[str, Any],
    body: Callable[[], Any],
    promise: Idempotency,
    definition: Definition | None,
    rerun: Callable[[dict[str, Any]], Callable[[], Any]],
    resources: tuple[str, ...],
) -> Any:
    more: dict[str, Any] = {"definition": definition, "rerun": rerun, "resources": resources}
    try:
        return await execution.invoke(_TOOL, tool_id, args, body, idempotency=promise, **more)
    except PolicyError as refusal:
        return _refused(tool_id, refusal)


def _rebound(
    signature: inspect.Signature, extra: list[str], function: Callable[..., Any], args: dict[str, Any]
) -> Callable[[], Any]:
    """The function with other arguments by name, however it takes them."""
    own = {name: args[name] for name in signature.parameters if name in args and name not in extra}
    if extra:
        own[extra[0]] = {name: value for name, value in args.items() if name not in own}
    elif unknown := args.keys() - own.keys():
        raise TypeError(f"the tool takes no argument `{min(unknown)}`")
    bound = inspect.BoundArguments(signature, collections.OrderedDict(own))
    return functools.partial(function, *bound.args, **bound.kwargs)


def _refused(tool_id: str, refusal: PolicyError) -> str:
    return f"{tool_id} not allowed. reason: {refusal.reason}"


def _signature(schema: dict[str, Any]) -> inspect.Signature:
    """Keyword-only parameters for the properties that Python can name; the call takes the others all the same."""
    properties, required = schema.get("properties") or {}, schema.get("required") or ()
    named = [name for name in properties if name.isidentifier() and not keyword.iskeyword(name)]
    empty, kind = inspect.Parameter.empty, inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature(
        [inspect.Parameter(name, kind, default=empty if name in required else None) for name in named]
    )
