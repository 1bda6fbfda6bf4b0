"""Tests of the operator commands' output, and of their effects as visible through the API (§5)."""
