"""Conversations: list, metadata, and state, which is the transcript (§2.6, §2.7, §4.3)."""
