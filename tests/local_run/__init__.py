"""Tests of `infra/local`, the setup and `make demo`. Tests that start complete runs are in `tests/reliability`."""
