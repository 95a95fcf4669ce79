"""Other policy engines on the workload of `decide.py`, each in the strongest form found for it that gives the right
answers; `pip install --group peers` brings them."""

import json
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

# A target and its arguments; every engine answers with the id of the rule that decides.
Engine = Callable[[str, dict[str, Any]], str]

# The CEL runtimes bound how deep an expression nests: so many rules fit into one.
_CEL_RULES: Final = 25


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule in the words of every engine: `argument` is empty, `==`, `in` or `<=`."""

    id: str
    verdict: str
    pattern: str
    argument: str

    @property
    def prefix(self) -> str:
        """What comes before the star; empty where the pattern is a whole name."""
        return self.pattern[:-1] if self.pattern.endswith("*") else ""

    def text(self) -> str:
        """The rule as a bundle writes it."""
        test = {
            "": "",
            "==": 'when args.to == "bob"',
            "in": 'when args.to in ["ann", "bob"]',
            "<=": "when args.n <= 10",
        }
        return f'rule {self.id} {{\n  {self.verdict} tool "{self.pattern}"\n  {test[self.argument]}\n}}'


@dataclass(frozen=True, slots=True)
class Peer:
    """An engine by its name on PyPI. `make` raises ImportError where it is not installed; `partly` says what of the
    workload it cannot express and leaves out: it is timed on the rest."""

    name: str
    make: Callable[[Sequence[Rule]], Engine]
    partly: str = ""


def cel_cpp(rules: Sequence[Rule]) -> Engine:
    """Conditional expressions of 25 rules each, tried in turn over one activation."""
    cel = import_module("cel_expr_python.cel")
    env = cel.NewEnv(variables={"t": cel.Type.STRING, "args": cel.Type.DYN})
    programs = [env.compile(text) for text in _cel_texts(rules)]

    def decide(target: str, args: dict[str, Any]) -> str:
        activation = env.Activation({"t": target, "args": args})
        for program in programs:
            if found := program.eval(activation).value():
                return str(found)
        return "default"

    return decide


def cel_rust(rules: Sequence[Rule]) -> Engine:
    """The same expressions over one context."""
    cel = import_module("cel")
    programs = [cel.compile(text) for text in _cel_texts(rules)]

    def decide(target: str, args: dict[str, Any]) -> str:
        context = cel.Context({"t": target, "args": args})
        for program in programs:
            if found := program.execute(context):
                return str(found)
        return "default"

    return decide


def _cel_texts(rules: Sequence[Rule]) -> Iterator[str]:
    tests = {"": "", "==": ' && args.to == "bob"', "in": ' && args.to in ["ann", "bob"]', "<=": " && args.n <= 10"}
    for start in range(0, len(rules), _CEL_RULES):
        text = ""
        for rule in rules[start : start + _CEL_RULES]:
            about = f't.startsWith("{rule.prefix}")' if rule.prefix else f't == "{rule.pattern}"'
            text += f'{about}{tests[rule.argument]} ? "{rule.id}" : '
        yield text + '""'


_REGO: Final = """\
package p
import rego.v1
holds("") := true
holds("==") := true if input.args.to == "bob"
holds("in") := true if input.args.to in ["ann", "bob"]
holds("<=") := true if input.args.n <= 10
hits contains rule[0] if { rule := data.exact[input.t]; holds(rule[1]) }
hits contains glob[1] if { some glob in data.globs; startswith(input.t, glob[0]) }
default first := -1
first := min(hits) if count(hits) > 0
"""


def opa(rules: Sequence[Rule]) -> Engine:
    """Rules as data: whole names looked up, prefixes gone through, the first of the hits counts."""
    module = import_module("opa_eval")
    data = {
        "exact": {rule.pattern: [number, rule.argument] for number, rule in enumerate(rules) if not rule.prefix},
        "globs": [[rule.prefix, number] for number, rule in enumerate(rules) if rule.prefix],
    }
    with tempfile.NamedTemporaryFile("w", suffix=".rego") as file:
        file.write(_REGO)
        file.flush()
        evaluate = module.OpaEval(file.name, json.dumps(data), query="data.p.first").evaluate_parsed

    def decide(target: str, args: dict[str, Any]) -> str:
        found = evaluate(json.dumps({"t": target, "args": args}))
        return "default" if found < 0 else rules[found].id

    return decide


def cedar(rules: Sequence[Rule]) -> Engine:
    """A policy a rule, whole names as actions, policies and entities parsed once. Cedar knows no order of rules; here
    no two are about the same target."""
    module = import_module("cedarpy")
    tests = {
        "": "",
        "==": 'context.args.to == "bob"',
        "in": '["ann", "bob"].contains(context.args.to)',
        "<=": "context.args.n <= 10",
    }
    texts = []
    for rule in rules:
        verdict = "permit" if rule.verdict == "allow" else "forbid"
        about = "action" if rule.prefix else f'action == Action::"{rule.pattern}"'
        test = f'context.t like "{rule.pattern}"' if rule.prefix else tests[rule.argument]
        texts.append(
            f'@id("{rule.id}") {verdict}(principal, {about}, resource){f" when {{ {test} }}" if test else ""};'
        )
    policies = module.PolicySet.from_str("\n".join(texts))
    entities = module.Entities.from_json_str("[]")
    fixed = {"principal": 'Agent::"a"', "resource": 'Thing::"t"'}

    def decide(target: str, args: dict[str, Any]) -> str:
        request = {**fixed, "action": f'Action::"{target}"', "context": {"t": target, "args": args}}
        result = module.is_authorized(request, policies, entities)
        return next(iter(result.diagnostics.id_annotations_by_reason.values()), "default")

    return decide


def zen(rules: Sequence[Rule]) -> Engine:
    """One decision table, a row a rule, whose first hit counts."""
    to = {"==": '"bob"', "in": '"ann", "bob"'}
    rows = [
        {
            "_id": rule.id,
            "t": f'startsWith($, "{rule.prefix}")' if rule.prefix else f'"{rule.pattern}"',
            "to": to.get(rule.argument, ""),
            "n": "<= 10" if rule.argument == "<=" else "",
            "out": f'"{rule.id}"',
        }
        for rule in rules
    ]
    inputs = [{"id": id, "name": id, "field": field} for id, field in (("t", "t"), ("to", "args.to"), ("n", "args.n"))]
    table = {
        "hitPolicy": "first",
        "inputs": inputs,
        "outputs": [{"id": "out", "name": "out", "field": "rule"}],
        "rules": rows,
    }
    at = {"position": {"x": 0, "y": 0}}
    graph = {
        "contentType": "application/vnd.gorules.decision",
        "nodes": [
            {"id": "in", "name": "in", "type": "inputNode", **at},
            {"id": "table", "name": "table", "type": "decisionTableNode", "content": table, **at},
            {"id": "out", "name": "out", "type": "outputNode", **at},
        ],
        "edges": [
            {"id": "1", "type": "edge", "sourceId": "in", "targetId": "table"},
            {"id": "2", "type": "edge", "sourceId": "table", "targetId": "out"},
        ],
    }
    evaluate = import_module("zen").ZenEngine().create_decision(json.dumps(graph)).evaluate
    return lambda target, args: evaluate({"t": target, "args": args})["result"].get("rule", "default")


def governance_toolkit(rules: Sequence[Rule]) -> Engine:
    """Its rules have one condition on one field each: the target's; earlier rules have the higher priority."""
    with warnings.catch_warnings():
        # The package's own modules are deprecated in favour of the package.
        warnings.simplefilter("ignore", DeprecationWarning)
        policies = import_module("agent_os.policies")
    document = policies.PolicyDocument(
        name="bundle",
        rules=[
            policies.PolicyRule(
                name=rule.id,
                condition=policies.PolicyCondition(
                    field="tool_name",
                    operator="matches" if rule.prefix else "eq",
                    value=f"^{rule.prefix}" if rule.prefix else rule.pattern,
                ),
                action=rule.verdict,
                priority=len(rules) - number,
            )
            for number, rule in enumerate(rules)
        ],
    )
    evaluate = policies.PolicyEvaluator(policies=[document]).evaluate
    return lambda target, args: evaluate({"tool_name": target, **args}).matched_rule or "default"


PEERS: Final = (
    Peer("cel-expr-python", cel_cpp),
    Peer("common-expression-language", cel_rust),
    Peer("opa-eval", opa),
    Peer("cedarpy", cedar),
    Peer("zen-engine", zen),
    Peer(
        "agent-governance-toolkit-core",
        governance_toolkit,
        partly="a rule has one condition on one field, so rules on a target and an argument test the target only",
    ),
)
