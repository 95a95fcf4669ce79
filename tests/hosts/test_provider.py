"""The simulated provider speaks its APIs well enough for their own clients, and lets nothing through."""

import http.client
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from anthropic import Anthropic
from openai import OpenAI

from rebuno.hosts.live import PAGE, PlannedCall, Script, command, simulated

TWO = Script(((command("ls"), PlannedCall("Read", {"file_path": "a"})), (), (command("pwd"),)))
SHELL: dict[str, Any] = {"type": "object", "properties": {"command": {"type": "string"}}}


def test_anthropic_messages_are_what_its_client_reads() -> None:
    """Streamed and whole: the calls of a turn with the arguments of the script."""
    tools: list[Any] = [{"name": name, "input_schema": SHELL} for name in ("Bash", "Read")]
    ask: Any = {"model": "m", "max_tokens": 9, "tools": tools, "messages": [{"role": "user", "content": "go"}]}
    with simulated(TWO) as provider, Anthropic(base_url=provider.url, api_key="k") as client:
        whole = client.messages.create(**ask)
        with client.messages.stream(**ask) as stream:
            streamed = stream.get_final_message()
    for message in (whole, streamed):
        body: dict[str, Any] = message.to_dict()
        calls = [block for block in body["content"] if block["type"] == "tool_use"]
        assert [(call["id"], call["name"]) for call in calls] == [("sim-main-0-0", "Bash"), ("sim-main-0-1", "Read")]
        assert calls[0]["input"] == {"command": "ls", "description": "a command of the simulated model"}
        assert message.stop_reason == "tool_use"


def test_responses_are_what_their_client_reads() -> None:
    """A JSON tool, a tool that takes a text, and one of a namespace."""
    script = Script(((command("ls"), PlannedCall("apply_patch", "*** Begin"), PlannedCall("space.do", {"a": 1})),))
    tools: Any = [
        {"type": "function", "name": "exec_command", "parameters": SHELL, "strict": False},
        {"type": "custom", "name": "apply_patch"},
        {"type": "namespace", "name": "space", "tools": [{"type": "function", "name": "do"}]},
    ]
    with simulated(script) as provider, OpenAI(base_url=f"{provider.url}/v1", api_key="k") as client:
        response = client.responses.create(model="m", input="go", tools=tools)
        with client.responses.stream(model="m", input="go", tools=tools[:2]) as stream:
            streamed = stream.get_final_response()
    output: list[dict[str, Any]] = [item.to_dict() for item in response.output]
    assert [item["type"] for item in output] == ["function_call", "custom_tool_call", "function_call"]
    shell, patch, spaced = output
    assert (shell["name"], shell["arguments"]) == ("exec_command", '{"cmd": "ls"}')
    assert patch["input"] == "*** Begin"
    assert (spaced["name"], spaced["namespace"]) == ("do", "space")
    assert [item.type for item in streamed.output[:2]] == ["function_call", "custom_tool_call"]
    assert provider.missing() == {"space.do"}


def test_chat_completions_are_what_their_client_reads() -> None:
    """Streamed and whole."""
    ask: Any = {
        "model": "m",
        "messages": [{"role": "user", "content": "go"}],
        "tools": [{"type": "function", "function": {"name": "bash", "parameters": SHELL}}],
    }
    with simulated(TWO) as provider, OpenAI(base_url=f"{provider.url}/v1", api_key="k") as client:
        whole = client.chat.completions.create(**ask).choices[0]
        chunks = list(client.chat.completions.create(**ask, stream=True))
    assert whole.finish_reason == "tool_calls"
    assert whole.message.tool_calls is not None
    assert [call.id for call in whole.message.tool_calls] == ["sim-main-0-0", "sim-main-0-1"]
    told = chunks[0].choices[0].delta.tool_calls
    assert told is not None
    assert [call.id for call in told] == ["sim-main-0-0", "sim-main-0-1"]
    assert chunks[-1].choices[0].finish_reason == "tool_calls"


def _anthropic(*messages: dict[str, Any]) -> dict[str, Any]:
    tools = [{"name": "Bash", "input_schema": SHELL}]
    return {"model": "m", "tools": tools, "messages": [{"role": "user", "content": "go"}, *messages]}


def _used(id: str, result: str) -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": id, "name": "Bash", "input": {}}
    told = {"type": "tool_result", "tool_use_id": id, "content": [{"type": "text", "text": result}]}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [told]}]


def test_the_turn_is_read_from_the_conversation() -> None:
    """The same request gets the same answer again; a turn without calls is a closing word; what the model was told is
    remembered."""
    first = _used("sim-main-0-0", "a.txt")
    closing = [{"role": "assistant", "content": "This is the end. (sim-main-1-end)"}, {"role": "user", "content": "on"}]
    with simulated(TWO) as provider:

        def ask(*messages: dict[str, Any]) -> list[str]:
            body = httpx2.post(f"{provider.url}/v1/messages", json=_anthropic(*messages)).raise_for_status().json()
            return [block.get("id", block["type"]) for block in body["content"]]

        assert ask() == ask() == ["sim-main-0-0", "sim-main-0-1"]
        assert ask(*first) == ["text"]
        assert ask(*first, *closing) == ["sim-main-2-0"]
        assert provider.turns() == {0, 1, 2}
        assert provider.told(0) == "a.txt"
        assert provider.told(2) is None


def test_a_helper_has_a_script_of_its_own() -> None:
    """Its conversation is known by its prompt, whichever script comes first."""
    helper = Script(((command("date"),),), name="helper", asked="the little")
    with simulated(Script(((command("ls"),),)), helper) as provider:
        own = {"contents": [{"role": "user", "parts": [{"text": "go"}]}]}
        other = {"contents": [{"role": "user", "parts": [{"text": "the little helper"}]}]}
        tools = {"tools": [{"functionDeclarations": [{"name": "run_shell_command"}]}]}
        url = f"{provider.url}/v1beta/models/m:generateContent"
        for body, name in ((own, "main"), (other, "helper")):
            (candidate,) = httpx2.post(url, json={**body, **tools}).raise_for_status().json()["candidates"]
            assert candidate["content"]["parts"][0]["functionCall"]["id"] == f"sim-{name}-0-0"
        # Without tools it is a question of the host's own.
        text = httpx2.post(url, json=own).json()["candidates"][0]["content"]["parts"][0]["text"]
    assert "simulated model provider" in text


@pytest.mark.parametrize("method", ["GET", "POST", "CONNECT"])
def test_what_leads_elsewhere_is_refused(method: str) -> None:
    """The provider is the proxy of the host that it serves."""
    with simulated() as provider:
        connection = http.client.HTTPConnection(urlsplit(provider.url).netloc, timeout=10)
        target = "example.test:443" if method == "CONNECT" else "http://example.test/v1/messages"
        connection.request(method, target, body=b"{}" if method == "POST" else None)
        assert connection.getresponse().status == 403
        connection.close()
    assert provider.refused == [target]
    assert provider.exchanges == []


def test_its_page_says_what_it_is() -> None:
    """And counts who fetched it."""
    with simulated() as provider:
        text = httpx2.get(provider.url + PAGE).text
    assert "there is no model behind it" in text
    assert provider.pages == 1
