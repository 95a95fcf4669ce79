"""What a key that is bound to agents may reach: their executions and the questions in them, and nothing else."""

from typing import TYPE_CHECKING, Final

from rebuno.errors import ForbiddenError

if TYPE_CHECKING:
    from rebuno.server.routes import ApiCall

_EXECUTION: Final = "/v0/executions/{id}"
_APPROVAL: Final = "/v0/approvals/{id}"
# Their handlers look at what the request itself names.
_LISTS: Final = ("/v0/executions", "/v0/approvals")


async def check_bound(call: "ApiCall", path: str) -> None:
    """Refuses a request of a bound key at the route `path`.

    Raises:
        ForbiddenError: it is about another agent, or about none.
        NotFoundError: there is no such execution or question.
    """
    if not call.caller.agents or path in _LISTS:
        return
    if path.startswith(_EXECUTION):
        check_agent(call, (await call.serving.execution(call.id)).agent_id)
    elif path.startswith(_APPROVAL):
        question = await call.serving.approval(call.id)
        check_agent(call, (await call.serving.execution(question.execution_id)).agent_id)
    else:
        raise ForbiddenError("this key is bound to agents; it reaches executions and questions only")


def check_agent(call: "ApiCall", agent_id: str) -> None:
    """Raises `ForbiddenError` where the caller's key is bound, and not to this agent."""
    if call.caller.agents and agent_id not in call.caller.agents:
        raise ForbiddenError("this key is bound to another agent")


def only_agent(call: "ApiCall", agent_id: str) -> str:
    """The agent whose executions are listed: the one that is named (empty: none is), or else the one that the key is
    bound to. Raises `ForbiddenError` where that is another, or several."""
    agents = call.caller.agents
    if not agent_id and len(agents) == 1:
        return next(iter(agents))
    check_agent(call, agent_id)
    return agent_id
