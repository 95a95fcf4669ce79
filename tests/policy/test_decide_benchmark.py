"""The decision benchmark: right answers from every engine; what cannot be timed is left out with the reason."""

import json
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from benchmarks import decide
from benchmarks.peers import PEERS, Engine, Peer, Rule


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hardly any repetitions: the figures mean nothing here."""
    for name, value in (("BATCHES", 3), ("CALLS", 20), ("SINGLES", 200), ("PEER_SINGLES", 20), ("PEER_NS", 1_000_000)):
        monkeypatch.setattr(decide, name, value)


def _wrong(rules: Sequence[Rule]) -> Engine:
    return lambda target, args: rules[0].id


def _missing(rules: Sequence[Rule]) -> Engine:
    raise ImportError


def _small(rules: Sequence[Rule]) -> Engine:
    if len(rules) > 10:
        raise ValueError("too many")
    return decide.scanning_engine(rules)


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
@pytest.mark.parametrize("count", [10, 100])
def test_every_peer_is_timed_on_right_answers(peer: Peer, count: int) -> None:
    """In the form that the benchmark times."""
    rules = decide.make_rules(count)
    found = decide.peer_ns(peer, rules, decide.make_requests(rules))
    assert not isinstance(found, str), found
    median, p99 = found
    assert median > 0
    assert p99 > 0


def test_a_row_has_every_figure() -> None:
    """For this engine, the peers and the plain scan; a peer is compared only where it has a figure."""
    left_out: dict[str, str] = {}
    peers = [Peer("small", _small), Peer("wrong", _wrong), Peer("missing", _missing)]
    rows = [decide.measure(count, peers, left_out) for count in (10, 100)]
    assert list(rows[0]) == [
        "rebuno_ns",
        "p99_ns",
        "cold_ns",
        "wide_ns",
        "peers",
        "peers_p99",
        "plain_scan",
        "times_best_peer",
        "times_plain_scan",
    ]
    assert [list(row["peers"]) for row in rows] == [["small"], []]
    assert rows[0]["times_best_peer"] > 0
    assert rows[1]["times_best_peer"] is None
    assert left_out == {
        "small": "does not take 100 rules: too many",
        "wrong": "wrong answer for group41_send: r0 instead of r41",
        "missing": "not installed: `pip install --group peers`",
    }


def test_the_benchmark_as_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One object: a row for every number of rules, and the peers that it says less about."""
    partly = Peer("partly", decide.scanning_engine, partly="nothing")
    monkeypatch.setattr(decide, "SIZES", (10, 20))
    monkeypatch.setattr(decide, "PEERS", (partly, Peer("missing", _missing)))
    monkeypatch.setattr(sys, "argv", ["decide.py", "--json"])
    decide.main()
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert list(data["n"]) == ["10", "20"]
    assert list(data["n"]["10"]["peers"]) == ["partly"]
    assert (list(data["left_out"]), data["partly"]) == (["missing"], {"partly": "nothing"})


def test_the_benchmark_as_a_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A column for every number of rules; what has no figure is a dash."""
    monkeypatch.setattr(decide, "SIZES", (10, 100))
    monkeypatch.setattr(decide, "PEERS", (Peer("small", _small),))
    monkeypatch.setattr(sys, "argv", ["decide.py"])
    decide.main()
    out = capsys.readouterr().out.splitlines()
    assert out[1].split() == ["rules", "10", "100"]
    [small] = [line.split() for line in out if line.startswith("small")]
    assert small[2] == "-"
    assert out[-1] == "left out: small: does not take 100 rules: too many"
