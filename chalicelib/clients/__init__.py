"""Clients: the people who sign in to a dashboard (§2.9)."""
