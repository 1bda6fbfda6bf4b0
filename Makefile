# The project's commands. Each target sets up its environment on any machine with Python 3.10 or newer. The setup is
# repeated only if a lock file has changed.

# uv does not compile packages to bytecode. If this variable were set, every process would recompile all packages.
unexport PYTHONDONTWRITEBYTECODE

PORT ?= 8000
STATE ?= .local
# Passed to pytest: make test ARGS="tests/tools/test_tools.py -k create"
ARGS ?=

# The first interpreter that is new enough. On some systems, python3 is an older version than python3.12.
ifndef PYTHON
PYTHON := $(shell for python in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do \
  if $$python -c "import sys; sys.exit(sys.version_info < (3, 10))" 2>/dev/null; then echo $$python; break; fi; done)
endif

# The Python client and the agent frameworks need Python 3.11 or newer. Without them, their tests are skipped.
FRAMEWORKS := $(shell $(PYTHON) -c "import sys; sys.version_info >= (3, 11) and print('install-frameworks')")

.PHONY: help run demo test test-all test-rest test-others test-long test-extensions test-browser check format bench bench-quick rehearse deploy verify adopt restore destroy client client-typescript install install-app install-run install-engine install-bench install-frameworks require-python lock clean

help:  # the first target, so that a bare `make` prints this list
	@echo "make run [PORT=8000] [STATE=.local]   run the service on this machine"
	@echo "make demo [STATE=.local]              fill the running service with 90 days of data, and run a bot"
	@echo "make test [ARGS=...]                  run the quick tests, each behaviour once; four minutes"
	@echo "make test-all                         run the whole suite; ten minutes"
	@echo "make test-long                        run every test on unmodified moto; two hours"
	@echo "make test-extensions                  test the code without extensions, and with each extension alone; two minutes"
	@echo "make test-browser                     test /docs, the console and the chat widget in headless Chromium; four minutes"
	@echo "make check                            check formatting, lint, types and known vulnerabilities"
	@echo "make format                           apply the formatter"
	@echo "make bench                            compare the service with common alternatives; 30 minutes"
	@echo "make bench-quick                      run the benchmarks with fewer cases; four minutes"
	@echo "make rehearse                         deploy and destroy in an emulated account"
	@echo "make deploy STAGE=prod                create or update a stage in your account"
	@echo "make verify STAGE=prod                check a deployed stage in a temporary workspace"
	@echo "make adopt STAGE=prod                 recreate the stack after it was deleted manually"
	@echo "make restore STAGE=prod AT=... TO=b    restore a stage's data at one point in time as the new stage b"
	@echo "make destroy STAGE=prod               remove a stage but keep its data; asks for confirmation"
	@echo "make client                           build the Python client as a wheel in build/client/dist"
	@echo "make client-typescript                build the TypeScript client for npm in build/typescript-client"
	@echo "make lock                             update the lock files after changing a requirements file"
	@echo "make clean                            remove environments and caches, but not STATE"

run: install-run
	@exec .venv/bin/python -m infra.local.run --port "$(PORT)" --state "$(STATE)" $(ARGS)

# Fill the local run that uses STATE. Then run the example bot for it until Ctrl-C.
demo: install-run
	@.venv/bin/python -m infra.demo --state "$(STATE)" $(ARGS)
	@exec .venv/bin/python -m infra.demo.bot --state "$(STATE)"

# Run two workers, because more workers slow down tests that start and kill processes on small machines. All tests in a
# module run in the same worker, so that module fixtures are set up only once. The last option keeps
# the order of tests/selection.py.
PYTEST := .venv/bin/python -m pytest -n 2 --dist loadscope --no-loadscope-reorder

# Test each behaviour once (tests/selection.py).
test: install
	$(PYTEST) -m "not whole and not long" $(ARGS)

# Run every case of every matrix, sweep and count, and print a table of the guarantees.
test-all: install $(FRAMEWORKS)
	$(PYTEST) -m "not long" $(ARGS)

# Run the tests that test-all includes and test omits. .ci/run uses this target.
test-rest: install $(FRAMEWORKS)
	$(PYTEST) -m "whole and not long" $(ARGS)

# Run every test on unmodified moto (tests/fast_moto.py).
test-long: install $(FRAMEWORKS)
	$(PYTEST) --plain-moto $(ARGS)

# Everything else that .ci/run checks, apart from the rehearsal. To save time, this omits the slowest modules, the tests
# on the local engine that `make test` omits, and the copies with each extension alone.
OMITTED := benchmarks deployment extensions/erasures/test_erased_person.py extensions/feeds/test_paused_consumer.py \
  generated_clients http/test_idempotency_crashes.py local_run openapi/test_fuzzed_contract.py
test-others:
	@$(MAKE) test-rest ARGS='-m "whole and not long and not engine" $(OMITTED:%=--ignore=tests/%)'
	@$(MAKE) test-browser check ARGS='-m "not whole and not long"'
	@$(MAKE) test-extensions ARGS='--only none -m "not whole and not long"'

# Test copies of the source tree. ARGS="--only none" tests one copy. ARGS="--without each --rehearse" runs all tests
# and a rehearsed deployment without each extension.
test-extensions: install
	@.venv/bin/python -m tests.extension_trees $(ARGS)

# Install Chromium if it is missing and apt-get is permitted. If Chromium cannot be installed, print what is missing and
# pass.
test-browser: install
	@.venv/bin/python -m tests.browser $(ARGS)

check: install
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy --strict
	@.venv/bin/python -m infra.audit requirements/uv.lock requirements/engine.lock requirements/bench.lock requirements/frameworks.lock

format: install
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

# This target requires valgrind, which counts instructions. ARGS="state fanout" runs only these questions.
bench: install install-bench install-frameworks
	@.venv-bench/bin/python -m benchmarks $(ARGS)

bench-quick: install install-bench install-frameworks
	@.venv-bench/bin/python -m benchmarks --quick $(ARGS)

rehearse: install
	@.venv/bin/python -m tests.deployment.rehearse

deploy: install-app
	@.venv/bin/python -m infra.deploy deploy --stage "$(STAGE)" $(ARGS)

verify: install-app
	@.venv/bin/python -m infra.deploy verify --stage "$(STAGE)" $(ARGS)

adopt: install-app
	@.venv/bin/python -m infra.deploy adopt --stage "$(STAGE)"

restore: install-app
	@.venv/bin/python -m infra.deploy restore --stage "$(STAGE)" --at "$(AT)" --to "$(TO)"

# ARGS=--delete-data also deletes the data.
destroy: install-app
	@.venv/bin/python -m infra.deploy destroy --stage "$(STAGE)" $(ARGS)

client: install
	@.venv/bin/python -m infra.client.build

client-typescript: install
	@.venv/bin/python -m infra.client.typescript

install: install-engine
	@$(INSTALL) .venv requirements/dev.lock

install-run: install-engine install-app

# Install only the packages that are needed to run and deploy. An environment with all packages stays unchanged.
install-app: require-python
	@$(INSTALL) .venv requirements/run.lock requirements/dev.lock

# The engine has its own environment because it pins a different version of botocore.
install-engine: require-python
	@$(INSTALL) .venv-engine requirements/engine.lock

require-python:
	@test -n "$(PYTHON)" || { echo "CAMS needs Python 3.10 or newer. Install it, or set PYTHON to its path." >&2; exit 1; }

install-bench: install
	@$(INSTALL) .venv-bench requirements/bench.lock

# The agent frameworks whose sessions the Python client stores (docs/sessions.md).
install-frameworks: require-python
	@$(INSTALL) .venv-frameworks requirements/frameworks.lock

INSTALL := $(PYTHON) -m infra.local.install

# Lock every package in a requirements file for all Python versions and platforms, with the hashes of its files.
LOCK := $(PYTHON) -m infra.uv pip compile --quiet --universal --generate-hashes --no-annotate \
  --custom-compile-command "make lock"
EXTENSIONS := $(wildcard chalicelib/extensions/*/deploy/requirements.txt)

lock:
	$(LOCK) --python-version 3.10 requirements/uv.txt -o requirements/uv.lock
	$(LOCK) --python-version 3.10 requirements/dev.txt $(EXTENSIONS) -o requirements/dev.lock
	$(LOCK) --python-version 3.10 requirements/run.txt $(EXTENSIONS) -c requirements/dev.lock -o requirements/run.lock
	$(LOCK) --python-version 3.10 requirements/engine.txt -o requirements/engine.lock
	$(LOCK) --python-version 3.11 requirements/frameworks.txt -o requirements/frameworks.lock
	$(LOCK) --python-version 3.11 requirements/bench.txt $(EXTENSIONS) -o requirements/bench.lock

clean:
	rm -rf .uv .venv .venv-engine .venv-bench .venv-frameworks tests/generated_clients/node_modules tests/generated_clients/sessions/node_modules tests/browser/node_modules .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
