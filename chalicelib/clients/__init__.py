"""Clients: the people with a sign-in to the dashboard (§2.9)."""
