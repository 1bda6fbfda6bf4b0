# What people type. Each target does its own set-up on a fresh machine that has Python 3.10 or newer; set-up is not
# repeated while the lock files stay as they are.

# uv compiles nothing. With this set, every process would compile all packages again.
unexport PYTHONDONTWRITEBYTECODE

PORT ?= 8000
STATE ?= .local
# Passed to pytest: make test ARGS="tests/tools -k create"
ARGS ?=

# The first interpreter that is new enough: on some systems python3 is an old one beside a newer python3.12.
ifndef PYTHON
PYTHON := $(shell for python in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do \
  if $$python -c "import sys; sys.exit(sys.version_info < (3, 10))" 2>/dev/null; then echo $$python; break; fi; done)
endif

.PHONY: help run test test-all test-rest test-long check format bench bench-quick rehearse deploy destroy install install-run install-engine install-bench lock clean

help:  # the first target, so that a bare `make` starts nothing
	@echo "make run [PORT=8000] [STATE=.local]   the service on this machine"
	@echo "make test [ARGS=...]                  the tests: each behaviour once; two and a half minutes"
	@echo "make test-all                         every case of them; seven minutes"
	@echo "make test-long                        the long ones, and all that show a promise; half an hour"
	@echo "make check                            formatter, linter, types, known vulnerabilities"
	@echo "make format                           let the formatter write"
	@echo "make bench                            the benchmarks, beside what people would use instead; 10 minutes"
	@echo "make bench-quick                      the same for a glance; a minute and a half"
	@echo "make rehearse                         a deployment from nothing to the end, in an emulated cloud"
	@echo "make deploy STAGE=prod                to the account that AWS_PROFILE and the like point at"
	@echo "make destroy STAGE=prod               takes it away again; asks, and keeps the data"
	@echo "make lock                             after a change of a requirements file"
	@echo "make clean                            remove what set-up and tools have made; STATE stays"

run: install-run
	@exec .venv/bin/python -m infra.local.run --port "$(PORT)" --state "$(STATE)"

# Two workers: more than a small machine has cores make the tests that start and kill processes slower, not faster.
# A module stays with one worker, so that what its tests share is started once.
PYTEST := .venv/bin/python -m pytest -n 2 --dist loadscope

# Each behaviour once (tests/selection.py).
test: install
	$(PYTEST) -m "not whole and not long" $(ARGS)

# Every case of every matrix, sweep and count. At the end a table of what is shown for each promise.
test-all: install
	$(PYTEST) -m "not long" $(ARGS)

# What test-all has more than test: for a machine that has run the one and shall run the other.
test-rest: install
	$(PYTEST) -m "whole and not long" $(ARGS)

# All that shows a promise, so that the table at the end has a figure for each.
test-long: install
	$(PYTEST) -m "long or promise" $(ARGS)

check: install
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy --strict
	@.venv/bin/python -m infra.audit requirements-uv.lock requirements-engine.lock requirements-bench.lock

format: install
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

# Needs valgrind, which counts instructions. ARGS="state listing" for single questions.
bench: install install-bench
	@.venv-bench/bin/python -m benchmarks $(ARGS)

bench-quick: install install-bench
	@.venv-bench/bin/python -m benchmarks --quick $(ARGS)

rehearse: install
	@.venv/bin/python -m tests.deployment.rehearse

deploy: install
	@.venv/bin/python -m infra.deploy deploy --stage "$(STAGE)"

# ARGS=--delete-data for the data, too.
destroy: install
	@.venv/bin/python -m infra.deploy destroy --stage "$(STAGE)" $(ARGS)

install: install-engine
	@$(INSTALL) .venv requirements-dev.lock

# Only what running needs. Where the environment has all that the tests need, it keeps that.
install-run: install-engine
	@$(INSTALL) .venv requirements-run.lock requirements-dev.lock

# The engine has an environment of its own because it pins another botocore than the application.
install-engine:
	@test -n "$(PYTHON)" || { echo "CAMS needs Python 3.10 or newer; no python3 on the path is." >&2; exit 1; }
	@$(INSTALL) .venv-engine requirements-engine.lock

install-bench: install
	@$(INSTALL) .venv-bench requirements-bench.lock

INSTALL := $(PYTHON) -m infra.local.install

# Every package that a requirements file needs, for every Python and platform, with the hashes of its files.
LOCK := $(PYTHON) -m infra.uv pip compile --quiet --universal --generate-hashes --no-annotate \
  --custom-compile-command "make lock"

lock:
	$(LOCK) --python-version 3.10 requirements-uv.txt -o requirements-uv.lock
	$(LOCK) --python-version 3.10 requirements-dev.txt -o requirements-dev.lock
	$(LOCK) --python-version 3.10 requirements-run.txt -c requirements-dev.lock -o requirements-run.lock
	$(LOCK) --python-version 3.10 requirements-engine.txt -o requirements-engine.lock
	$(LOCK) --python-version 3.11 requirements-bench.txt -o requirements-bench.lock

clean:
	rm -rf .uv .venv .venv-engine .venv-bench .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
