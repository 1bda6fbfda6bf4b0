"""Credentials: tokens, their store, and who may issue them (§5)."""
