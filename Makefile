# Every target sets up what it needs in .venv from a bare Python 3.11+.
PYTHON ?= python3
BIN := .venv/bin
.DEFAULT_GOAL := help
.PHONY: help demo test conformance check bench diagrams clean

help: ## this list
	@grep -hE '^[a-z.]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: .venv/.ready ## an agent under a policy: stopped, asked, killed, resumed
	@$(BIN)/python examples/demo.py

test: .venv/.ready ## every test
	$(BIN)/python -m pytest -q

conformance: .venv/.ready .venv-published/.ready ## agents and clients of the published package, on our servers
	$(BIN)/python tests/conformance/run.py

check: .venv/.ready ## lint, types, import direction, and the shipped policies
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/rebuno policy fmt --check policies examples
	$(BIN)/rebuno policy check policies
	$(BIN)/rebuno policy test policies

bench: .venv/.ready ## what a decision and a step cost on this machine
	$(BIN)/python benchmarks/decide.py
	$(BIN)/python benchmarks/load.py
	$(BIN)/python benchmarks/steps.py
	$(BIN)/python benchmarks/agentdojo.py
	$(BIN)/python benchmarks/shell_day.py

diagrams: .venv/.ready ## draw docs/images from the recorded results
	$(BIN)/python -m benchmarks.diagrams

.venv: .venv/.ready ## the one environment

.venv/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=…" >&2; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "Python's venv module is missing; on Debian: apt-get install python3-venv" >&2; exit 2; }
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable . --group dev --group peers
	@touch $@

# The published package bears our import name: it and its agents have an environment of their own.
.venv-published/.ready: tests/conformance/requirements.txt | .venv/.ready
	$(BIN)/python -m venv --clear .venv-published
	.venv-published/bin/python -m pip install --quiet --requirement $<
	@touch $@

clean: ## remove the environments and the caches
	rm -rf .venv .venv-published .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
