"""Workspaces: their access tokens and workspace key (§5)."""
