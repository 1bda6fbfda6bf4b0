"""Credentials: the format of tokens, and the store that issues, finds, rotates and revokes them (§5)."""
