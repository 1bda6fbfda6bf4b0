"""Conversations: lists, metadata and transcripts, which the specification calls state (§2.6, §2.7, §4.3)."""
