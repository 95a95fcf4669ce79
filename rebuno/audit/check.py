"""Holds the lines of an audit stream against its signatures and hashes."""

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from rebuno.errors import NotJSON, ValidationError
from rebuno.journal.chain import event_hash
from rebuno.model.identity import canonical, parse

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_EVENT: Final = frozenset(("kind", "execution", "seq", "type", "payload", "occurred_at", "previous", "hash"))


@dataclass(slots=True)
class Checked:
    """What a stream holds. `fault` is the first thing that is wrong, in words, or empty; `unsigned` counts events after
    the last head of their execution: the stream was cut there, and they prove nothing."""

    executions: int = 0
    events: int = 0
    heads: int = 0
    unsigned: int = 0
    fault: str = ""


@dataclass(slots=True)
class _Told:
    seq: int
    hash: bytes
    # Events since its last head.
    open: int = field(default=0)
    # How far it had come where a stream began anew in the same file, until that has come as far again.
    before: tuple[int, bytes] | None = None


def check(lines: Iterable[str], key: "Ed25519PublicKey | None") -> Checked:
    """Recomputes every hash, and checks each head against the events before it and, with a key, its signature."""
    found, logs, before = Checked(), dict[str, _Told](), ""
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            line = parse(text)
            if not isinstance(line, dict):
                raise ValidationError("it is no object")
            if line.get("kind") == "event":
                found.events += 1
                fault = _event(line, logs)
            elif line.get("kind") == "head":
                found.heads += 1
                fault = _head(line, logs, key, before)
                before = sha256(canonical(line).encode()).hexdigest()
            else:
                fault = "it is neither an event nor a head"
        except (KeyError, TypeError, ValueError, ValidationError, NotJSON) as error:
            fault = f"it is no line of an audit stream ({type(error).__name__}: {error})"
        if fault:
            found.fault = f"line {number}: {fault}"
            break
    if not found.fault and not found.heads:
        found.fault = "it holds no head, which proves nothing"
    if not found.fault:
        found.fault = next((_behind(name, log) for name, log in logs.items() if log.before), "")
    found.executions = len(logs)
    found.unsigned = sum(log.open for log in logs.values())
    return found


def _event(line: dict[str, Any], logs: dict[str, _Told]) -> str:
    if line.keys() != _EVENT or type(line["seq"]) is not int:
        return "it has other fields than an event of an audit stream"
    execution, seq, previous = str(line["execution"]), line["seq"], bytes.fromhex(line["previous"])
    log = logs.get(execution)
    if log is None or seq <= log.seq:
        if seq == 1 and any(previous):
            return f"event 1 of execution `{execution}` follows another one"
        # A stream that was begun anew, as after a restart, may say again what stands in this file.
        before = None if log is None else max(log.before or (0, b""), (log.seq, log.hash))
        log = logs[execution] = _Told(seq - 1, previous, before=before)
    if seq != log.seq + 1:
        return f"event {log.seq + 1} of execution `{execution}` is missing, event {seq} follows"
    if previous != log.hash:
        return f"event {seq} of execution `{execution}` does not follow the one before it"
    hash = event_hash(previous, execution, seq, line["type"], line["payload"], line["occurred_at"])
    if hash != bytes.fromhex(line["hash"]):
        return f"event {seq} of execution `{execution}` does not fit its hash: it was changed"
    log.seq, log.hash, log.open = seq, hash, log.open + 1
    if log.before is not None and log.before[0] == seq:
        if log.before[1] != hash:
            return f"event {seq} of execution `{execution}` is not the one that stands in this file before"
        log.before = None
    return ""


def _behind(execution: str, log: _Told) -> str:
    assert log.before is not None
    return f"execution `{execution}` ends at event {log.seq}, and had come to event {log.before[0]} before in this file"


def _head(line: dict[str, Any], logs: dict[str, _Told], key: "Ed25519PublicKey | None", before: str) -> str:
    execution, log = str(line["execution"]), logs.get(str(line["execution"]))
    if log is None or (log.seq, log.hash) != (line["seq"], bytes.fromhex(line["hash"])):
        return f"the head of execution `{execution}` is not its newest event in this file"
    # A stream that was begun anew, as after a restart, has no head before.
    if line["before"] not in ("", before):
        return "a head before this one was left out or changed"
    if line["first"] != log.seq - log.open + 1:
        return f"events of execution `{execution}` before event {log.seq - log.open + 1} were left out"
    if key is not None and (fault := _signature(line, key)):
        return fault
    log.open = 0
    return ""


def _signature(line: dict[str, Any], key: "Ed25519PublicKey") -> str:
    from cryptography.exceptions import InvalidSignature

    from rebuno.audit import keys

    if "signature" not in line:
        return "the head is not signed"
    if line.get("key") != keys.name(key):
        return f"the head is signed by the key {str(line.get('key'))[:40]!r}, and not by this one"
    said = {name: value for name, value in line.items() if name != "signature"}
    try:
        key.verify(base64.b64decode(line["signature"], validate=True), canonical(said).encode())
    except (InvalidSignature, binascii.Error, TypeError):
        return "the signature of the head is wrong: the line was changed"
    return ""
