# What people type. Each target does its own set-up on a fresh machine that has Python 3.10 or newer; set-up is not
# repeated while the requirements files stay as they are.

PORT ?= 8000
STATE ?= .local
# Passed to pytest: make test ARGS="tests/tools -k create"
ARGS ?=

# The first interpreter that is new enough: on some systems python3 is an old one beside a newer python3.12.
ifndef PYTHON
PYTHON := $(shell for python in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do \
  if $$python -c "import sys; sys.exit(sys.version_info < (3, 10))" 2>/dev/null; then echo $$python; break; fi; done)
endif

.PHONY: help run test test-long check format rehearse deploy destroy install clean

help:  # the first target, so that a bare `make` starts nothing
	@echo "make run [PORT=8000] [STATE=.local]   the service on this machine"
	@echo "make test [ARGS=...]                  all tests but the long ones"
	@echo "make test-long                        the long ones"
	@echo "make check                            formatter, linter, types"
	@echo "make format                           let the formatter write"
	@echo "make rehearse                         a deployment from nothing to the end, in an emulated cloud"
	@echo "make deploy STAGE=prod                to the account that AWS_PROFILE and the like point at"
	@echo "make destroy STAGE=prod               takes it away again; asks, and keeps the data"
	@echo "make clean                            remove what set-up and tools have made; STATE stays"

run: install
	@exec .venv/bin/python -m infra.local.run --port "$(PORT)" --state "$(STATE)"

# Two workers: more than a small machine has cores make the tests that start and kill processes slower, not faster.
# A module stays with one worker, so that what its tests share is started once.
test: install
	.venv/bin/python -m pytest -n 2 --dist loadscope -m "not long" $(ARGS)

test-long: install
	.venv/bin/python -m pytest -m long $(ARGS)

check: install
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy --strict app.py chalicelib infra

format: install
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

rehearse: install
	@.venv/bin/python -m tests.deployment.rehearse

deploy: install
	@.venv/bin/python -m infra.deploy deploy --stage "$(STAGE)"

# ARGS=--delete-data for the data, too.
destroy: install
	@.venv/bin/python -m infra.deploy destroy --stage "$(STAGE)" $(ARGS)

# The engine has an environment of its own because it pins another botocore than the application.
install:
	@test -n "$(PYTHON)" || { echo "CAMS needs Python 3.10 or newer; no python3 on the path is." >&2; exit 1; }
	@$(PYTHON) infra/local/install.py .venv requirements-dev.txt
	@$(PYTHON) infra/local/install.py .venv-engine requirements-engine.txt

clean:
	rm -rf .venv .venv-engine .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
