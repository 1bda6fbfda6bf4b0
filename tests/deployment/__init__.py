"""Deployment tests, which are unit tests and a rehearsal in an emulated cloud account."""
