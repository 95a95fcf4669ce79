"""Manifests: what they may hold, and where their secrets come from."""

from pathlib import Path

import pytest

from rebuno.errors import RebunoError
from rebuno.server.manifest import Manifest, read_manifest

ENVIRONMENT = {"SECRET": "s3cret", "HOST": "agents.example"}


def _read(folder: Path, text: str) -> Manifest:
    path = folder / "manifest.yaml"
    path.write_text(text, encoding="utf-8")
    return read_manifest(path, ENVIRONMENT)


def test_a_manifest_names_agents_and_takes_secrets_from_the_environment(tmp_path: Path) -> None:
    """`${NAME}` stands for a variable anywhere in a text; paths begin where the manifest is."""
    text = """
agents:
  - id: a
    webhook_url: https://${HOST}/a
    secret: ${SECRET}
    lease_timeout_seconds: 60
    policy: a.rbp
  - {id: b, webhook_url: "http://127.0.0.1:5000/", secret: "x${SECRET}y"}
"""
    manifest = _read(tmp_path, text)
    first, second = manifest.agents
    assert (first.webhook_url, first.secret) == ("https://agents.example/a", "s3cret")
    assert (first.lease_timeout_seconds, first.policy) == (60, "a.rbp")
    assert (second.secret, second.policy) == ("xs3crety", "")
    assert manifest.folder == tmp_path
    assert "s3cret" not in repr(manifest)


WRONG: list[tuple[str, str, str]] = [
    ("a variable that is not set", "agents: [{id: a, webhook_url: 'http://h/', secret: '${OTHER}'}]", "`OTHER`"),
    ("no name of a variable", "agents: [{id: a, webhook_url: 'http://h/', secret: '${A-B}'}]", "names no variable"),
    (
        "an empty secret signs for everybody",
        "agents: [{id: a, webhook_url: 'http://h/', secret: ''}]",
        "agents.0.secret",
    ),
    ("no secret", "agents: [{id: a, webhook_url: 'http://h/'}]", "agents.0.secret"),
    ("an unknown field", "agents: [{id: a, webhook_url: 'http://h/', secret: s, url: x}]", "agents.0.url"),
    ("an unknown part", "agents: []\npolices: {}", "polices"),
    ("no agents", "agents: []", "agents"),
    ("a list", "- a", "does not fit"),
    ("nothing", "", "agents"),
    ("no YAML", "agents: [", "not YAML"),
]


@pytest.mark.parametrize(("reason", "text", "said"), WRONG, ids=[row[0] for row in WRONG])
def test_a_manifest_with_a_mistake_starts_nothing(reason: str, text: str, said: str, tmp_path: Path) -> None:
    """The error says what is wrong, and nothing of a secret."""
    with pytest.raises(RebunoError) as caught:
        _read(tmp_path, text)
    assert said in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_a_missing_manifest_is_named(tmp_path: Path) -> None:
    """The error says which file."""
    with pytest.raises(RebunoError, match=r"none\.yaml"):
        read_manifest(tmp_path / "none.yaml")
