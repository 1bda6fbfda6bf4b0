"""Tests of `infra/local`, of the set-up and of `make demo`. `tests/reliability` starts whole runs."""
