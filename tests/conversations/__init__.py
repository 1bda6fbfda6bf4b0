"""Tests of conversations: creation, the state route, long turns, sizes and limits (§4.1, §4.3)."""
