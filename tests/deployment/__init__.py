"""Deployment tests: unit tests, and a rehearsal in an emulated cloud account."""
