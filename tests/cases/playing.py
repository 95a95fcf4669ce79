"""Reads cases, and plays their calls as a kernel does: strict JSON first, then the bundles of the case."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from rebuno.errors import NotJSON, ValidationError
from rebuno.model import identity
from rebuno.policy import Facts, Policy, compile_policy, explain_decision, read_source

HERE: Final = Path(__file__).parent
INVALID: Final = "invalid"
_KINDS: Final = {"tool": "tool_call", "llm": "llm_call", "local": "local"}

# The bundles that a case's calls are put to, by the case and by the policy that a call names.
BUNDLES: Final = {
    "P01": ("git-reading",),
    "P03": ("no-rm",),
    "P04": ("git-show",),
    "P05 p1": ("no-push",),
    "P05 p2": ("git-log",),
    "P07": ("no-sudo",),
    "P08": ("families",),
    "P10 p1": ("anchored",),
    "P10 p2": ("unanchored",),
    "P12": ("threshold",),
    "P13 p1": ("regions-denied",),
    "P13 p2": ("regions-allowed",),
    "P15": ("exact-argument",),
    "P17": ("below-out",),
    "P18": ("topsecret",),
    "P19 p1": ("below-out",),
    "P19 p2": ("keep",),
    "P20 p1": ("secrets-folded",),
    "P20 p2": ("secrets-exact",),
    "P22": ("example-only",),
    "P25 p1": ("one-tool",),
    "P25 p2": ("one-server",),
    "P27 f1": ("rm-first",),
    "P27 f2": ("rm-last",),
    "P27 f3": ("git-asked-first",),
    "P27 f4": ("git-asked-last",),
    "P27 f5": ("layer-no-rm", "layer-shell"),
    "P30": ("good",),
    "P31": ("pay-denied",),
    "P33": ("trusted-server",),
    "networks": ("no-private",),
    "recipients": ("colleagues",),
    "globs": ("reports",),
    "path-patterns": ("sources",),
    "extensions": ("no-scripts",),
    "lists": ("labels",),
    "flags": ("not-forced",),
    "queries": ("orders-read",),
    "numbers": ("small-numbers",),
}


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a case with the verdicts that will do: `allow`, `deny`, `require_approval`, `invalid`.

    `args` makes the arguments, a JSON value, and raises what refuses them.
    """

    case: str
    name: str
    policy: str
    kind: str
    target: str
    args: Callable[[], Any]
    accepted: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.case}-{self.name}"


def published() -> Iterator[Call]:
    """The calls of the policy cases; a case whose given names no policies apart is asked under its only one."""
    for case in _read("cases.yaml"):
        key = case["id"]
        for name, step in case["input"].get("steps", {}).items():
            if any(bundle.split()[0] == key for bundle in BUNDLES):
                yield _call(key, name, step, case["expect"]["verdicts"][name])


def more() -> Iterator[Call]:
    """Further calls of the same kinds."""
    for case in _read("more.yaml"):
        for name, step in case["steps"].items():
            yield _call(case["case"], name, step["call"], step["expect"])


def policy(key: str) -> Policy:
    """The policy of a case, compiled once. Raises BundleError where `check` refuses it."""
    return layered(*BUNDLES[key])


@cache
def layered(*names: str) -> Policy:
    """The policy of several bundles of this folder, outermost first."""
    return compile_policy([read_source(HERE / "bundles" / f"{name}.rbp") for name in names])


def verdict(under: Policy, call: Call) -> str:
    """What a call gets, from both evaluators; `invalid` where it is refused before any rule."""
    try:
        args = call.args()
        identity.canonical(args)
    except (ValidationError, NotJSON):
        return INVALID
    if not call.target:
        return INVALID
    facts = Facts(call.kind, call.target, args)
    decision = under.decide(facts)
    assert explain_decision(under, facts).decision.rule_id == decision.rule_id
    return decision.verdict.value


def _read(name: str) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = yaml.safe_load((HERE / name).read_text(encoding="utf-8"))["cases"]
    return cases


def _call(case: str, name: str, step: dict[str, Any], accepted: list[str]) -> Call:
    under = f"{case} {step['policy']}" if "policy" in step else case
    kind, target = _KINDS[step["kind"]], step["target"]
    return Call(case, name, under, kind, target, _args(step), tuple(accepted))


def _args(step: dict[str, Any]) -> Callable[[], Any]:
    if "gen" in step:
        return GENERATED[step["gen"]]
    if "args_json" in step:
        return lambda: identity.parse(step["args_json"])
    return lambda: step["args"]


def _deep(leaf: str) -> dict[str, Any]:
    args: dict[str, Any] = {"a": leaf}
    for _ in range(5000):
        args = {"a": args}
    return args


def _cyclic() -> dict[str, Any]:
    args: dict[str, Any] = {}
    args["a"] = args
    return args


GENERATED: Final[dict[str, Callable[[], Any]]] = {
    "args = a dict nested 5000 levels, leaf 'hello'": lambda: _deep("hello"),
    "args = a dict nested 5000 levels, leaf 'topsecret'": lambda: _deep("topsecret"),
    "args = {x: a list nested 200000 levels}, handed over as JSON text": lambda: identity.parse(
        '{"x":' + "[" * 200_000 + "]" * 200_000 + "}"
    ),
    "args = {blob: 'x' * 20_000_000}": lambda: {"blob": "x" * 20_000_000},
    "args = {k0: 0, ..., k199999: 0}": lambda: {f"k{i}": 0 for i in range(200_000)},
    "args = a dict that holds itself, handed over as a Python object": _cyclic,
    "args = {command: echo, 40000 words a, then ; rm data}": lambda: {"command": "echo " + "a " * 40_000 + "; rm data"},
    "args = {id: 100000 letters a, then -1}": lambda: {"id": "a" * 100_000 + "-1"},
    "args = {id: 100000 letters a, then !}": lambda: {"id": "a" * 100_000 + "!"},
    "args = {amount: 1 and 400 zeros}, handed over as JSON text": lambda: identity.parse(f'{{"amount": 1{"0" * 400}}}'),
    "args = {amount: 1 and 5000 zeros}, handed over as JSON text": lambda: identity.parse(
        f'{{"amount": 1{"0" * 5000}}}'
    ),
    "args = {path: /proj/out, 2000 times /x/.., then /a}": lambda: {"path": "/proj/out" + "/x/.." * 2000 + "/a"},
    "args = {path: /proj/out, 2000 times /.., then /proj/out/../a}": lambda: {
        "path": "/proj/out" + "/.." * 2000 + "/proj/out/../a"
    },
    "args = {path: /proj/out/, then 50000 times a/}": lambda: {"path": "/proj/out/" + "a/" * 50_000},
    "args = {path: /, 500 times a/, then .ENV}": lambda: {"path": "/" + "a/" * 500 + ".ENV"},
    "args = {url: a host of 500 labels a below example.com}": lambda: {"url": "https://" + "a." * 500 + "example.com/"},
    "args = {url: https://example.com/, then 100000 letters a}": lambda: {
        "url": "https://example.com/" + "a" * 100_000
    },
}
