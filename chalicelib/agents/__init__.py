"""Agents: their configuration, stored as one record with a v2 and a v3 form (§2.4, §2.5)."""
