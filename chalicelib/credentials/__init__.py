"""Credentials: the token format, and the store that issues, finds, rotates and revokes credentials (§5)."""
