"""The configuration file: what does not fit is named by its key, and no value is shown."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from rebuno.errors import BundleError, ValidationError
from rebuno.mcp_proxy.config import read_config
from rebuno.mcp_proxy.redaction import Redaction

SERVER: dict[str, Any] = {"command": "server"}


def read(folder: Path, environment: dict[str, str] | None = None, **config: Any) -> Any:
    """What is read of a configuration with these keys."""
    path = folder / "proxy.yaml"
    path.write_text(yaml.safe_dump({"policy": "a.rbp", "store": "a.db", **config}))
    return read_config(path, environment or {})


def test_paths_are_relative_to_the_file_and_variables_come_from_the_environment(tmp_path: Path) -> None:
    """`${NAME}` stands for a value in `env`, `headers`, `args` and the token; durations are as in policies."""
    servers = {
        "fs": {"command": "fs", "args": ["--root", "${ROOT}"], "env": {"KEY": "k-${KEY}"}},
        "far": {"url": "https://mcp.example/mcp", "headers": {"Authorization": "Bearer ${KEY}"}},
    }
    found = read(
        tmp_path,
        {"KEY": "abcdef", "ROOT": "/work"},
        servers=servers,
        policy=["a.rbp", "b.rbp"],
        wait="2m",
        token="${KEY}",
        lock="tools.yaml",
        bounds={"seconds": "1m"},
    )
    assert found.servers["fs"].args == ("--root", "/work")
    assert found.servers["fs"].env == {"KEY": "k-abcdef"}
    assert found.servers["far"].headers == {"Authorization": "Bearer abcdef"}
    assert (found.policy, found.store) == ((tmp_path / "a.rbp", tmp_path / "b.rbp"), str(tmp_path / "a.db"))
    assert (found.wait, found.bounds.seconds, found.token, found.lock) == (120, 60, "abcdef", tmp_path / "tools.yaml")
    assert found.redaction("k-abcdef abcdef Bearer abcdef /work") == "[secret] [secret] [secret] /work"
    assert "abcdef" not in repr(found)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"servers": {}}, "`servers`: dictionary should have at least 1 item"),
        ({}, "`servers`: field required"),
        ({"servers": {"a": {}}}, "`servers.a`: needs a `command` or a `url`"),
        ({"servers": {"a": {"command": "x", "url": "http://h"}}}, "`servers.a`: needs a `command` or a `url`"),
        ({"servers": {"a": {"url": "ftp://h"}}}, "`servers.a.url`: is no http or https URL"),
        ({"servers": {"a": {"url": "http://h", "args": ["x"]}}}, "`servers.a`: `args` goes with `command`"),
        ({"servers": {"a": {**SERVER, "headers": {"A": "b"}}}}, "`servers.a`: `headers` goes with `url`"),
        ({"servers": {"a": {**SERVER, "arg": []}}}, "`servers.a.arg`: extra inputs are not permitted"),
        ({"servers": {"a": {**SERVER, "args": "x"}}}, "`servers.a.args`: input should be a valid tuple"),
        ({"servers": {"a": {**SERVER, "protocol": "2020"}}}, "`servers.a.protocol`: input should be 'auto'"),
        ({"servers": {"a": {**SERVER, "idempotency": {"t": "maybe"}}}}, "`servers.a.idempotency.t`: input should be"),
        ({"servers": {"a": SERVER}, "wait": "soon"}, "`wait`: "),
        ({"servers": {"a": SERVER}, "bounds": {"calls": 0}}, "`bounds.calls`: input should be greater than"),
        ({"servers": {"a": SERVER}, "agent": ""}, "`agent`: "),
        ({"servers": {"a": SERVER}, "polices": "x"}, "`polices`: extra inputs are not permitted"),
        ({"servers": {"ab": SERVER, "AB": SERVER}}, "differ by case alone"),
        ({"servers": {"a": {**SERVER, "env": {"K": "${NO_SUCH}"}}}}, "needs the variable `NO_SUCH`, which is not set"),
        ({"servers": {"a": {**SERVER, "env": {"K": "${a b}"}}}}, "`${a b}` names no variable"),
    ],
)
def test_what_does_not_fit_is_named_by_its_key(tmp_path: Path, config: dict[str, Any], message: str) -> None:
    """As a typed error in one sentence."""
    with pytest.raises(ValidationError) as caught:
        read(tmp_path, **config)
    assert message in str(caught.value)
    assert "proxy.yaml" in str(caught.value)


@pytest.mark.parametrize("name", ["a__b", "a.b", "a_", "_a", "-a", "a b", "", "ä", "a" * 65])
def test_a_server_has_a_name_that_hosts_keep(tmp_path: Path, name: str) -> None:
    """So that `SERVER__TOOL` can be read in one way only."""
    with pytest.raises(ValidationError, match="is no name of a server"):
        read(tmp_path, servers={name: SERVER})


@pytest.mark.parametrize("name", ["a", "a-b", "a_b", "A9", "a" * 64])
def test_other_names_are_taken(tmp_path: Path, name: str) -> None:
    """Letters, digits, `-` and single `_` inside."""
    assert [*read(tmp_path, servers={name: SERVER}).servers] == [name]


def test_a_value_is_never_shown(tmp_path: Path) -> None:
    """Not even where a secret makes a key unfit."""
    with pytest.raises(ValidationError) as caught:
        read(tmp_path, {"KEY": "hunter2-hunter2"}, servers={"a": {"command": "x", "url": "${KEY}"}})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "servers: {a: {command: x}, a: {command: y}}", "servers: [", "x"])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, text: str) -> None:
    """As is one that repeats a key."""
    path = tmp_path / "proxy.yaml"
    path.write_text(text)
    with pytest.raises((BundleError, ValidationError)):
        read_config(path, {})


def test_short_values_are_no_secrets() -> None:
    """A `1` would be found in every text."""
    assert Redaction(["1", "true", "secret"])("1 true secret") == "1 true [secret]"
