# The project's commands. Each target sets up what it needs, on any machine with Python 3.10 or newer. Set-up runs again
# only when a lock file changes.

# uv compiles nothing. With this set, every process would compile all packages again.
unexport PYTHONDONTWRITEBYTECODE

PORT ?= 8000
STATE ?= .local
# Passed to pytest: make test ARGS="tests/tools/test_tools.py -k create"
ARGS ?=

# The first interpreter that is new enough. On some systems python3 is older than python3.12.
ifndef PYTHON
PYTHON := $(shell for python in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do \
  if $$python -c "import sys; sys.exit(sys.version_info < (3, 10))" 2>/dev/null; then echo $$python; break; fi; done)
endif

.PHONY: help run demo test test-all test-rest test-long test-extensions test-browser check format bench bench-quick rehearse deploy verify adopt restore destroy client install install-app install-run install-engine install-bench require-python lock clean

help:  # the first target, so that a bare `make` starts nothing
	@echo "make run [PORT=8000] [STATE=.local]   the service on this machine"
	@echo "make demo [STATE=.local]              fills the running service with 90 days of data"
	@echo "make test [ARGS=...]                  the quick tests: each behaviour once; four minutes"
	@echo "make test-all                         the whole suite; ten minutes"
	@echo "make test-long                        every test, without the fast path of moto; two hours"
	@echo "make test-extensions                  the parts of the tree without extensions, and with each alone; two minutes"
	@echo "make test-browser                     the pages (docs, console) and the chat widget in headless Chromium; four minutes"
	@echo "make check                            formatter, linter, types, known vulnerabilities"
	@echo "make format                           apply the formatter"
	@echo "make bench                            benchmarks against common alternatives; a quarter of an hour"
	@echo "make bench-quick                      the same with fewer cases; two minutes"
	@echo "make rehearse                         deploy and destroy in an emulated account"
	@echo "make deploy STAGE=prod                create or update a stage in your account"
	@echo "make verify STAGE=prod                check a deployed stage in a temporary workspace, which it removes"
	@echo "make adopt STAGE=prod                 the stack again, after it was deleted by hand"
	@echo "make restore STAGE=prod AT=... TO=b    a stage as it was at one moment, as the new stage b"
	@echo "make destroy STAGE=prod               remove a stage; asks first, and keeps the data"
	@echo "make client                           the Python client as a wheel, in build/client/dist"
	@echo "make lock                             update the lock files after a change of a requirements file"
	@echo "make clean                            remove environments and caches; STATE stays"

run: install-run
	@exec .venv/bin/python -m infra.local.run --port "$(PORT)" --state "$(STATE)" $(ARGS)

# Fills the run that uses STATE.
demo: install-run
	@exec .venv/bin/python -m infra.demo --state "$(STATE)" $(ARGS)

# Two workers: on a small machine, more would slow down the tests that start and kill processes. All tests of a module
# run in one worker, so that module fixtures are set up once.
PYTEST := .venv/bin/python -m pytest -n 2 --dist loadscope

# Each behaviour once (tests/selection.py).
test: install
	$(PYTEST) -m "not whole and not long" $(ARGS)

# Every case of every matrix, sweep and count. Ends with a table of the guarantees.
test-all: install
	$(PYTEST) -m "not long" $(ARGS)

# The tests of test-all that test omits, for .ci/run.
test-rest: install
	$(PYTEST) -m "whole and not long" $(ARGS)

# Every test, on unmodified moto (tests/fast_moto.py).
test-long: install
	$(PYTEST) --plain-moto $(ARGS)

# In copies of the tree: ARGS="--only none" runs one, "--without each --rehearse" all tests and a deployment without each.
test-extensions: install
	@.venv/bin/python -m tests.extension_trees $(ARGS)

# Installs Chromium if it is missing and apt-get may. Otherwise it prints what is missing and passes.
test-browser: install
	@.venv/bin/python -m tests.browser $(ARGS)

check: install
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy --strict
	@.venv/bin/python -m infra.audit requirements/uv.lock requirements/engine.lock requirements/bench.lock

format: install
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

# Needs valgrind, which counts instructions. ARGS="state listing" runs single benchmarks.
bench: install install-bench
	@.venv-bench/bin/python -m benchmarks $(ARGS)

bench-quick: install install-bench
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
	@.venv/bin/python -m infra.client

install: install-engine
	@$(INSTALL) .venv requirements/dev.lock

install-run: install-engine install-app

# Installs only what running and deploying need, or keeps an environment that has everything.
install-app: require-python
	@$(INSTALL) .venv requirements/run.lock requirements/dev.lock

# The engine has its own environment, because it pins another version of botocore than the application.
install-engine: require-python
	@$(INSTALL) .venv-engine requirements/engine.lock

require-python:
	@test -n "$(PYTHON)" || { echo "CAMS needs Python 3.10 or newer; install it, or set PYTHON." >&2; exit 1; }

install-bench: install
	@$(INSTALL) .venv-bench requirements/bench.lock

INSTALL := $(PYTHON) -m infra.local.install

# Locks every package of a requirements file, for every Python and platform, with the hashes of its files.
LOCK := $(PYTHON) -m infra.uv pip compile --quiet --universal --generate-hashes --no-annotate \
  --custom-compile-command "make lock"
EXTENSIONS := $(wildcard chalicelib/extensions/*/deploy/requirements.txt)

lock:
	$(LOCK) --python-version 3.10 requirements/uv.txt -o requirements/uv.lock
	$(LOCK) --python-version 3.10 requirements/dev.txt $(EXTENSIONS) -o requirements/dev.lock
	$(LOCK) --python-version 3.10 requirements/run.txt $(EXTENSIONS) -c requirements/dev.lock -o requirements/run.lock
	$(LOCK) --python-version 3.10 requirements/engine.txt -o requirements/engine.lock
	$(LOCK) --python-version 3.11 requirements/bench.txt $(EXTENSIONS) -o requirements/bench.lock

clean:
	rm -rf .uv .venv .venv-engine .venv-bench tests/generated_clients/node_modules tests/browser/node_modules .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
