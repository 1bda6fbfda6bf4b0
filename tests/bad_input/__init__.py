"""Tests of invalid input: an error names the member and the rule, and nothing changes."""
