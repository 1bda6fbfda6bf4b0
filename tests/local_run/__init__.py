"""Tests of `infra/local`, of the setup and of `make demo`. The tests in `tests/reliability` start complete runs."""
