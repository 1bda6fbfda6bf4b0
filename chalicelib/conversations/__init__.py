"""Conversations: their list, metadata and state (§2.6, §2.7, §4.3)."""
