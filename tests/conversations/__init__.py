"""Tests of conversations (§4.1, §4.3)."""
