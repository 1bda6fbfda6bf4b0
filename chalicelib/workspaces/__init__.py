"""Workspaces and the credentials that open them (§5)."""
