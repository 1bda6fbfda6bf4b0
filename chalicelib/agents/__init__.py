"""Agents: their configuration, as one stored record with a v2 and a v3 form (§2.4, §2.5)."""
