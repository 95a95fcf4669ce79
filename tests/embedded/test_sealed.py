"""`secret`, embedded, on both stores: what is opened, logged, exported as spans, and left in the files."""

import asyncio
import json
import logging
import time
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import rebuno
from rebuno.errors import KeyRingError
from rebuno.gate import open_gate
from rebuno.hosts.run import run_hook
from rebuno.policy import compile_text
from rebuno.sealing import KeyRing, files
from tests.embedded.support import in_loop

SEALED: Final = 'bundle b\ndefault allow\nsecret tool "vault" at args.key, result.token\nsecret input.pin\n'
SECRET, TOKEN, PIN = "s3cret-key-77", "token-of-vault", "1234-5678-90"


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store of each kind."""
    url: str = str(tmp_path / "store.db") if request.param == "sqlite" else request.getfixturevalue("postgres")
    return url


@pytest.fixture
def ring(tmp_path: Path) -> KeyRing:
    """A key ring."""
    return files.create(tmp_path / "ring", now=time.time())


@rebuno.tool("vault")
async def vault(key: str) -> dict[str, str]:
    """Gives a token."""
    return {"token": TOKEN}


@in_loop
async def test_a_bundle_with_secret_needs_a_key_ring(where: str) -> None:
    """Nothing is opened, and the error says what to give."""
    with pytest.raises(KeyRingError, match=r"bundle `b` has a `secret`.*--key-ring"):
        async with rebuno.open(where, policy=compile_text(SEALED)):
            pass
    with pytest.raises(KeyRingError, match="`secret`"):
        async with open_gate(where, policy=compile_text(SEALED)):
            pass


def test_a_hook_stops_every_call_where_it_has_no_key_ring(tmp_path: Path) -> None:
    """It never opens, and the host is told why."""
    (tmp_path / "b.rbp").write_text(SEALED, encoding="utf-8")
    written = {"policy": [str(tmp_path / "b.rbp")], "db": str(tmp_path / "store.db"), "version": 1}
    (tmp_path / "hook.json").write_text(json.dumps(written), encoding="utf-8")
    event = {
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "tool_name": "Read",
        "tool_input": {"file_path": "/a"},
        "tool_use_id": "t",
        "cwd": str(tmp_path),
    }
    environ = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    settings = tmp_path / ".config" / "rebuno" / "hooks" / "claude-code.json"
    settings.parent.mkdir(parents=True)
    (tmp_path / "hook.json").rename(settings)
    answer = run_hook("claude-code", BytesIO(json.dumps(event).encode()), environ)
    assert answer.code == 2
    assert "secret" in answer.stderr


@in_loop
async def test_logs_and_spans_have_marks(
    where: str, ring: KeyRing, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with the content of messages captured, and where the handler's error tells everything."""
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))

    async def handler(pin: str) -> None:
        found = await vault(SECRET)
        assert found == {"token": TOKEN}
        raise ValueError(f"all of it: {pin} {SECRET} {found['token']}")

    with caplog.at_level(logging.DEBUG):
        async with rebuno.open(where, policy=compile_text(SEALED), key_ring=ring, tracer_provider=provider) as kernel:
            ended = await kernel.run(handler, {"pin": PIN}, id="run")
    spans = [span.to_json() for span in exporter.get_finished_spans()]
    assert (ended.status, len(spans)) == ("failed", 2)
    for told in (caplog.text, *spans, repr(ended)):
        assert not [one for one in (SECRET, TOKEN, PIN) if one in told]
    assert 'all of it: {"secret": "#' in caplog.text


# ---------------------------------------------------------------- any values, any texts

VALUE = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=8, max_size=20).filter(
    lambda text: len(set(text)) > 5
)
AROUND = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=12)
RULES: Final = (
    'known handed = result of tool "vault" at token\n'
    'rule far { deny tool "send" when args.to contains any handed }\n'
    'rule same { deny tool "same" unless args.to == input.pin }\n'
    'rule begins { require approval for tool "begins" when args.to starts with "a" }\n'
)


@settings(max_examples=25, deadline=None)
@given(VALUE, VALUE, VALUE, AROUND, AROUND)
def test_no_sealed_value_is_in_the_files(pin: str, key: str, token: str, before: str, after: str) -> None:
    """Whatever the values and the texts about them are; and each call is decided as without `secret`."""

    async def played(where: Path, text: str, ring: KeyRing) -> tuple[list[Any], str]:
        @rebuno.tool("vault")
        async def opened(key: str) -> dict[str, str]:
            return {"token": token}

        async def handler(pin: str) -> dict[str, str]:
            got = (await opened(key))["token"]
            tried = [pin, got, key, f"{before}{pin}{after}{got}", f"{before}{key}{after}", got[::-1]]
            for target in ("send", "same", "begins"):
                for one in tried:
                    try:
                        await rebuno.tool(target)(lambda to: to)(to=one)
                    except rebuno.PolicyError:
                        continue
            return {"said": f"{before}{got}{after}", "kept": key}

        async with rebuno.open(where, policy=compile_text(text), key_ring=ring) as kernel:
            ended = await kernel.run(handler, {"pin": pin}, id="run")
            steps = await kernel.operator.judged(ended.id)
            return [(one.verdict, one.rule_id) for one in steps], repr(ended)

    with TemporaryDirectory() as folder:
        ring = files.create(Path(folder) / "ring", now=0.0)
        sealed, told = asyncio.run(played(Path(folder) / "sealed.db", SEALED + RULES, ring))
        clear, _ = asyncio.run(played(Path(folder) / "clear.db", SEALED.partition("secret")[0] + RULES, ring))
        stored = [path.read_bytes() for path in Path(folder).glob("sealed.db*") if path.is_file()]
    assert sealed == clear
    for value in (pin, key, token):
        spelled = (
            value.encode(),
            json.dumps(value)[1:-1].encode(),
            json.dumps(value, ensure_ascii=False)[1:-1].encode(),
        )
        assert not [one for one in spelled if any(one in data for data in stored)]
        assert value not in told
