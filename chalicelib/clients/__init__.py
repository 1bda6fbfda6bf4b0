"""Clients: the users of the dashboard (§2.9)."""
