"""Agents: one stored record, two forms (§2.4, §2.5)."""
