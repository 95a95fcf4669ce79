# Every target sets up what it needs in .venv from a bare Python 3.11+.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# How many processes run the tests: as many as there are cores.
WORKERS ?= logical
# A file stays in one process, but for slow files; `tests/conftest.py` says which, and begins with the longest.
PYTEST := $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadgroup --no-loadscope-reorder
FAST := -m "not slow and not postgres and not process"
.DEFAULT_GOAL := help
.PHONY: help demo test test-fast test-all coverage mutate prove api lock conformance hosts upgrade failover scale check bench diagrams programs tables \
	console-test screenshots clean

help: ## this list
	@grep -hE '^[a-z.-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

demo: .venv-demo/.ready ## an agent under a policy: stopped, asked, killed, resumed
	@.venv-demo/bin/python examples/demo.py

test: $(VENV)/.ready ## every test
	$(PYTEST)

test-fast: $(VENV)/.ready ## the tests that start no program and no database, and take no time
	$(PYTEST) $(FAST)

test-all: ## every test on every Python from 3.11 to 3.14 that this machine has
	@.ci/pythons | while read -r version python; do \
		echo "Python $$version: $$python"; \
		$(MAKE) test VENV=.venv-$$version PYTHON=$$python < /dev/null || exit 1; \
	done

coverage: $(VENV)/.ready ## which branches the fast tests take; fails below the floor in pyproject.toml
	$(PYTEST) $(FAST) --cov --cov-report=term:skip-covered

mutate: $(VENV)/.ready ## small changes to the code that a test has to notice; takes hours, or MUTATE="--sample 100"
	$(BIN)/python -m tests.mutation.run $(MUTATE)

api: $(VENV)/.ready ## write down the public names and signatures anew
	$(BIN)/python -m tests.house.api

lock: $(VENV)/.ready ## write down the versions of the development environment anew
	$(BIN)/python -m pip install --quiet uv
	{ echo '# Made by `make lock`: the versions of the development environment, with their hashes.'; \
		$(BIN)/uv export --quiet --no-header --no-annotate --no-emit-project --upgrade \
		--all-extras --group dev --group peers; } > requirements-dev.txt
	@rm -f uv.lock

conformance: $(VENV)/.ready .venv-published/.ready ## agents and clients of the published package, on our servers
	$(BIN)/python tests/conformance/run.py

hosts: $(VENV)/.ready ## the real coding agents under our hook, installed from npm, against a simulated model provider
	$(BIN)/python tests/hosts/environment.py
	$(BIN)/python tests/hosts/run.py $(HOSTS)

upgrade: $(VENV)/.ready ## replicas from an earlier commit to this one, one by one under load: nothing lost or done twice
	$(BIN)/python tests/acceptance/upgrade.py

failover: $(VENV)/.ready ## kill the primary of a PostgreSQL with a standby under load, directly and through PgBouncer
	$(BIN)/python tests/acceptance/failover.py

scale: $(VENV)/.ready ## measure what one PostgreSQL carries, and write the figures of docs/scale.md
	$(BIN)/python benchmarks/scale.py --json > benchmarks/results/scale.tmp
	mv benchmarks/results/scale.tmp benchmarks/results/scale.json
	$(BIN)/python -m benchmarks.scale_page

console-test: $(VENV)/.ready ## the console in a real Chromium, with axe-core of npm; fails where one of them is missing
	REBUNO_TEST_CHROMIUM=required $(BIN)/python -m pytest -q -n0 tests/console

screenshots: $(VENV)/.ready ## the pictures of the console in docs/images, of pages that a Chromium shows
	$(BIN)/python -m tests.console.screenshots

check: $(VENV)/.ready ## lint, types, import direction, and the shipped policies
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/rebuno policy fmt --check policies examples
	$(BIN)/rebuno policy check policies
	$(BIN)/rebuno policy test policies

prove: $(VENV)/.ready ## the claims of the shipped policies, held against 60,000 steps and worse bundles; half an hour
	$(BIN)/python tests/acceptance/claims.py --steps 60000

bench: $(VENV)/.ready ## what a decision and a step cost on this machine
	$(BIN)/python benchmarks/decide.py
	$(BIN)/python benchmarks/history.py
	$(BIN)/python benchmarks/load.py
	$(BIN)/python benchmarks/steps.py
	$(BIN)/python benchmarks/hook.py
	$(BIN)/python benchmarks/agentdojo.py
	$(BIN)/python benchmarks/agentdyn.py
	$(BIN)/python benchmarks/tau2.py
	$(BIN)/python benchmarks/shell_day.py
	$(BIN)/python benchmarks/suggest.py
	$(BIN)/python benchmarks/console.py

tables: $(VENV)/.ready ## the parser's tables, after a change of the grammar
	$(BIN)/python -m rebuno.policy.syntax.tables grammar/rbp.tables.jsonl

programs: $(VENV)/.ready ## write docs/effects-programs.md, after a change of a table of a program
	$(BIN)/python -m tests.policy.effects.programs_page

diagrams: $(VENV)/.ready ## draw docs/images from the recorded results
	$(BIN)/python -m benchmarks.diagrams

.venv: .venv/.ready ## the one environment

$(VENV)/.ready: pyproject.toml requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=…" >&2; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "Python's venv module is missing; on Debian: apt-get install python3-venv" >&2; exit 2; }
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	.ci/install $(BIN)/python
	@touch $@

# What users install, and nothing else: the demo waits for no tool of ours.
.venv-demo/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=…" >&2; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "Python's venv module is missing; on Debian: apt-get install python3-venv" >&2; exit 2; }
	@echo "installing the product into .venv-demo, once; under a minute where pip has the packages already"
	@$(PYTHON) -m venv --clear .venv-demo
	.venv-demo/bin/python -m pip install --disable-pip-version-check --progress-bar on --editable .
	@touch $@

# The published package bears our import name: it and its agents have an environment of their own.
.venv-published/.ready: tests/conformance/requirements.txt | $(VENV)/.ready
	$(BIN)/python -m venv --clear .venv-published
	.venv-published/bin/python -m pip install --quiet --requirement $<
	@touch $@

clean: ## remove the environments and the caches
	rm -rf .venv .venv-* .coverage* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
