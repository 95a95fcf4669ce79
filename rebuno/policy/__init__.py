"""From the text of a bundle to a decision: the names of the rule language that the rest of the project uses.

Everything here is pure: no clock, no network, no store; only `read_source`, and what follows the files that a bundle
uses, opens files. Names are loaded on first use, so that a program pays only for the parts that it asks for. No
function bears the name of a subpackage: an import of the subpackage would overwrite it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rebuno.policy.analysis.tool_schemas import read_tools
    from rebuno.policy.check.allowed import may_allow
    from rebuno.policy.check.bundle import check_bundle
    from rebuno.policy.check.secrets import without_key_ring
    from rebuno.policy.compile import compile_bundle, compile_policy, compile_text, permissive_policy, shadow_policies
    from rebuno.policy.explain.doubt import doubt_of
    from rebuno.policy.explain.explain import explain_decision
    from rebuno.policy.explain.shadow import shadow_verdicts
    from rebuno.policy.explain.trace import RuleOutcome, RuleTrace, Trace, TraceAnswer, TraceNode
    from rebuno.policy.facets.path.facets import MAX_PATH_LENGTH
    from rebuno.policy.facets.reading import NO_CONTEXT, Facet, PathContext, Reading
    from rebuno.policy.facets.registry import BUILT_IN_FACETS, facet_packages, find_facet
    from rebuno.policy.facets.shell.effects.told import (
        KnownProgram,
        LineEffects,
        ToldCommand,
        ToldEffect,
        UnreadPart,
        effects_of_command,
        known_programs,
    )
    from rebuno.policy.facets.shell.tree import MAX_SHELL_BYTES
    from rebuno.policy.facets.sql.tree import MAX_SQL_BYTES
    from rebuno.policy.format.format import format_bundle
    from rebuno.policy.format.tokens import source_tokens
    from rebuno.policy.inline import inline_bundle
    from rebuno.policy.interop.diff import BundleDiff, diff_bundles
    from rebuno.policy.interop.json_ast import dump_ast, load_ast
    from rebuno.policy.interop.yaml_bundle import read_yaml_bundle
    from rebuno.policy.interop.yaml_convert import convert_yaml_bundle, rules_source
    from rebuno.policy.matcher.dependencies import (
        ALL_STEP_FACTS,
        HistoryDependencies,
        StepFactsNeeded,
        step_facts_needed,
    )
    from rebuno.policy.matcher.facts import Evidence, Facts, History
    from rebuno.policy.matcher.measures import MAX_DIGITS, Measured, measured
    from rebuno.policy.matcher.policy import Layer, Policy
    from rebuno.policy.matcher.read_ahead import LONG_TEXT, MAX_TEXTS_AHEAD, read_long_texts, reads_texts, text_readers
    from rebuno.policy.matcher.rule_text import (
        known_digest,
        known_sets,
        rule_digest,
        rule_expires,
        rules_in,
        surely_known,
    )
    from rebuno.policy.matcher.schedule import EXAMPLE_SCHEDULE, WEEKDAYS, parse_schedule
    from rebuno.policy.matcher.seals import Parts, SealedPlaces, SealedValues, in_text, leaves, sealed_at, sealed_places
    from rebuno.policy.matcher.sources import MAX_KNOWN_VALUES
    from rebuno.policy.matcher.tests import MAX_ELEMENT_TESTS
    from rebuno.policy.proving.compare import AllowedMore, Difference, compare_allowed
    from rebuno.policy.proving.prove import ProofReport, ProofResult, prove_claims
    from rebuno.policy.proving.solving import Proof
    from rebuno.policy.proving.suites import ProofsReport, SuiteProof, claims_in, prove_suites
    from rebuno.policy.restore import restore_policy, texts_make_policy
    from rebuno.policy.suggest.allowing import allowing_rule, rule_places
    from rebuno.policy.suggest.hints import Hints, read_hints
    from rebuno.policy.suggest.suggest import Suggestion, suggest_bundle
    from rebuno.policy.syntax import tree
    from rebuno.policy.syntax.diagnostics import Diagnostic, Severity
    from rebuno.policy.syntax.keywords import (
        CLAUSE_WORDS,
        FACET_MODULES,
        HEAD_WORDS,
        KIND_WORDS,
        RESERVED_WORDS,
        ROOT_WORDS,
        STATEMENT_WORDS,
        TYPE_WORDS,
    )
    from rebuno.policy.syntax.link import link_bundle
    from rebuno.policy.syntax.literals import LiteralError, parse_duration
    from rebuno.policy.syntax.nodes import DEEPEST_TREE
    from rebuno.policy.syntax.parse import parse_bundle
    from rebuno.policy.syntax.soft_roots import read_soft_roots
    from rebuno.policy.syntax.source import Source, read_source
    from rebuno.policy.syntax.tree import Op, Rule
    from rebuno.policy.syntax.yaml import read_yaml
    from rebuno.policy.testing.backtest import (
        Backtest,
        BacktestExample,
        BacktestGroup,
        BacktestTally,
        RecordedStep,
        backtest_against_policy,
        backtest_against_record,
    )
    from rebuno.policy.testing.cases import Case, CaseReport, CaseResult, CaseSubmission, run_cases
    from rebuno.policy.testing.claims import (
        Claim,
        ClaimResult,
        CompiledClaim,
        Violation,
        compile_claims,
        try_claims,
        violation,
    )
    from rebuno.policy.testing.coverage import Coverage, CoveredTest
    from rebuno.policy.testing.discovery import CASES_SUFFIX, find_bundles
    from rebuno.policy.testing.reader import CASE_VERDICTS, parse_cases, read_cases, read_submission
    from rebuno.policy.testing.runner import SuiteCheck, SuiteResult, check_source, check_suite, run_suites
    from rebuno.policy.testing.shadowed import ShadowedStep, ShadowReport, ShadowTally
    from rebuno.policy.testing.tries import random_steps, steps_to_try
    from rebuno.policy.values.json_values import MAX_JSON_DEPTH, MISSING, UNREADABLE
    from rebuno.policy.values.spans import Span
    from rebuno.policy.values.tokens import MAX_SEARCHED_TEXT

# Each module, from here on, with the names that it gives.
_MODULES: Final = {
    "analysis.tool_schemas": ("read_tools",),
    "check.allowed": ("may_allow",),
    "check.bundle": ("check_bundle",),
    "check.secrets": ("without_key_ring",),
    "compile": ("compile_bundle", "compile_policy", "compile_text", "permissive_policy", "shadow_policies"),
    "explain.doubt": ("doubt_of",),
    "explain.explain": ("explain_decision",),
    "explain.shadow": ("shadow_verdicts",),
    "explain.trace": ("RuleOutcome", "RuleTrace", "Trace", "TraceAnswer", "TraceNode"),
    "facets.path.facets": ("MAX_PATH_LENGTH",),
    "facets.reading": ("NO_CONTEXT", "Facet", "PathContext", "Reading"),
    "facets.registry": ("BUILT_IN_FACETS", "facet_packages", "find_facet"),
    "facets.shell.effects.told": (
        "KnownProgram",
        "LineEffects",
        "ToldCommand",
        "ToldEffect",
        "UnreadPart",
        "effects_of_command",
        "known_programs",
    ),
    "facets.shell.tree": ("MAX_SHELL_BYTES",),
    "facets.sql.tree": ("MAX_SQL_BYTES",),
    "format.format": ("format_bundle",),
    "format.tokens": ("source_tokens",),
    "inline": ("inline_bundle",),
    "interop.diff": ("BundleDiff", "diff_bundles"),
    "interop.json_ast": ("dump_ast", "load_ast"),
    "interop.yaml_bundle": ("read_yaml_bundle",),
    "interop.yaml_convert": ("convert_yaml_bundle", "rules_source"),
    "matcher.measures": ("MAX_DIGITS", "Measured", "measured"),
    "matcher.dependencies": ("ALL_STEP_FACTS", "HistoryDependencies", "StepFactsNeeded", "step_facts_needed"),
    "matcher.facts": ("Evidence", "Facts", "History"),
    "matcher.policy": ("Layer", "Policy"),
    "matcher.sources": ("MAX_KNOWN_VALUES",),
    "matcher.read_ahead": ("LONG_TEXT", "MAX_TEXTS_AHEAD", "read_long_texts", "reads_texts", "text_readers"),
    "matcher.seals": ("Parts", "SealedPlaces", "SealedValues", "in_text", "leaves", "sealed_at", "sealed_places"),
    "matcher.schedule": ("EXAMPLE_SCHEDULE", "WEEKDAYS", "parse_schedule"),
    "matcher.tests": ("MAX_ELEMENT_TESTS",),
    "proving.compare": ("AllowedMore", "Difference", "compare_allowed"),
    "proving.prove": ("ProofReport", "ProofResult", "prove_claims"),
    "proving.solving": ("Proof",),
    "proving.suites": ("ProofsReport", "SuiteProof", "claims_in", "prove_suites"),
    "restore": ("restore_policy", "texts_make_policy"),
    "suggest.hints": ("Hints", "read_hints"),
    "matcher.rule_text": ("known_digest", "known_sets", "rule_digest", "rule_expires", "rules_in", "surely_known"),
    "suggest.allowing": ("allowing_rule", "rule_places"),
    "suggest.suggest": ("Suggestion", "suggest_bundle"),
    "syntax.diagnostics": ("Diagnostic", "Severity"),
    "syntax.keywords": (
        "CLAUSE_WORDS",
        "FACET_MODULES",
        "HEAD_WORDS",
        "KIND_WORDS",
        "RESERVED_WORDS",
        "ROOT_WORDS",
        "STATEMENT_WORDS",
        "TYPE_WORDS",
    ),
    "syntax.link": ("link_bundle",),
    "syntax.soft_roots": ("read_soft_roots",),
    "syntax.literals": ("LiteralError", "parse_duration"),
    "syntax.nodes": ("DEEPEST_TREE",),
    "syntax.parse": ("parse_bundle",),
    "syntax.source": ("Source", "read_source"),
    "syntax.tree": ("Op", "Rule"),
    "syntax.yaml": ("read_yaml",),
    "testing.backtest": (
        "Backtest",
        "BacktestExample",
        "BacktestGroup",
        "BacktestTally",
        "RecordedStep",
        "backtest_against_policy",
        "backtest_against_record",
    ),
    "testing.cases": ("Case", "CaseReport", "CaseResult", "CaseSubmission", "run_cases"),
    "testing.claims": (
        "Claim",
        "ClaimResult",
        "CompiledClaim",
        "Violation",
        "compile_claims",
        "try_claims",
        "violation",
    ),
    "testing.coverage": ("Coverage", "CoveredTest"),
    "testing.discovery": ("CASES_SUFFIX", "find_bundles"),
    "testing.reader": ("CASE_VERDICTS", "parse_cases", "read_cases", "read_submission"),
    "testing.runner": ("SuiteCheck", "SuiteResult", "check_source", "check_suite", "run_suites"),
    "testing.shadowed": ("ShadowReport", "ShadowTally", "ShadowedStep"),
    "testing.tries": ("random_steps", "steps_to_try"),
    "values.json_values": ("MAX_JSON_DEPTH", "MISSING", "UNREADABLE"),
    "values.spans": ("Span",),
    "values.tokens": ("MAX_SEARCHED_TEXT",),
}
_HOMES: Final = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "ALL_STEP_FACTS",
    "BUILT_IN_FACETS",
    "CASES_SUFFIX",
    "CASE_VERDICTS",
    "CLAUSE_WORDS",
    "DEEPEST_TREE",
    "EXAMPLE_SCHEDULE",
    "FACET_MODULES",
    "HEAD_WORDS",
    "KIND_WORDS",
    "LONG_TEXT",
    "MAX_DIGITS",
    "MAX_ELEMENT_TESTS",
    "MAX_JSON_DEPTH",
    "MAX_KNOWN_VALUES",
    "MAX_PATH_LENGTH",
    "MAX_SEARCHED_TEXT",
    "MAX_SHELL_BYTES",
    "MAX_SQL_BYTES",
    "MAX_TEXTS_AHEAD",
    "MISSING",
    "NO_CONTEXT",
    "RESERVED_WORDS",
    "ROOT_WORDS",
    "STATEMENT_WORDS",
    "TYPE_WORDS",
    "UNREADABLE",
    "WEEKDAYS",
    "AllowedMore",
    "Backtest",
    "BacktestExample",
    "BacktestGroup",
    "BacktestTally",
    "BundleDiff",
    "Case",
    "CaseReport",
    "CaseResult",
    "CaseSubmission",
    "Claim",
    "ClaimResult",
    "CompiledClaim",
    "Coverage",
    "CoveredTest",
    "Diagnostic",
    "Difference",
    "Evidence",
    "Facet",
    "Facts",
    "Hints",
    "History",
    "HistoryDependencies",
    "KnownProgram",
    "Layer",
    "LineEffects",
    "LiteralError",
    "Measured",
    "Op",
    "Parts",
    "PathContext",
    "Policy",
    "Proof",
    "ProofReport",
    "ProofResult",
    "ProofsReport",
    "Reading",
    "RecordedStep",
    "Rule",
    "RuleOutcome",
    "RuleTrace",
    "SealedPlaces",
    "SealedValues",
    "Severity",
    "ShadowReport",
    "ShadowTally",
    "ShadowedStep",
    "Source",
    "Span",
    "StepFactsNeeded",
    "Suggestion",
    "SuiteCheck",
    "SuiteProof",
    "SuiteResult",
    "ToldCommand",
    "ToldEffect",
    "Trace",
    "TraceAnswer",
    "TraceNode",
    "UnreadPart",
    "Violation",
    "allowing_rule",
    "backtest_against_policy",
    "backtest_against_record",
    "check_bundle",
    "check_source",
    "check_suite",
    "claims_in",
    "compare_allowed",
    "compile_bundle",
    "compile_claims",
    "compile_policy",
    "compile_text",
    "convert_yaml_bundle",
    "diff_bundles",
    "doubt_of",
    "dump_ast",
    "effects_of_command",
    "explain_decision",
    "facet_packages",
    "find_bundles",
    "find_facet",
    "format_bundle",
    "in_text",
    "inline_bundle",
    "known_digest",
    "known_programs",
    "known_sets",
    "leaves",
    "link_bundle",
    "load_ast",
    "may_allow",
    "measured",
    "parse_bundle",
    "parse_cases",
    "parse_duration",
    "parse_schedule",
    "permissive_policy",
    "prove_claims",
    "prove_suites",
    "random_steps",
    "read_cases",
    "read_hints",
    "read_long_texts",
    "read_soft_roots",
    "read_source",
    "read_submission",
    "read_tools",
    "read_yaml",
    "read_yaml_bundle",
    "reads_texts",
    "restore_policy",
    "rule_digest",
    "rule_expires",
    "rule_places",
    "rules_in",
    "rules_source",
    "run_cases",
    "run_suites",
    "sealed_at",
    "sealed_places",
    "shadow_policies",
    "shadow_verdicts",
    "source_tokens",
    "step_facts_needed",
    "steps_to_try",
    "suggest_bundle",
    "surely_known",
    "text_readers",
    "texts_make_policy",
    "tree",
    "try_claims",
    "violation",
    "without_key_ring",
]


if not TYPE_CHECKING:  # so that the type checker refuses a misspelt name

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module `rebuno.policy` has no attribute `{name}`")
        if name == "tree":
            value = import_module("rebuno.policy.syntax.tree")
        else:
            value = getattr(import_module(f"rebuno.policy.{_HOMES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
