"""Tests of the deployment: unit tests, and a rehearsal on an emulated cloud."""
