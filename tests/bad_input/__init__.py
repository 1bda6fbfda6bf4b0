"""Tests of invalid input: the error names the member and the rule, and no record changes."""
