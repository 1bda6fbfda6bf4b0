"""Organisations: groups of agents and admins (§2.10)."""
