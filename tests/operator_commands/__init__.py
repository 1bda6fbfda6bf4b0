"""Tests of the operator's commands: their output, and their effects as seen through the API (§5)."""
