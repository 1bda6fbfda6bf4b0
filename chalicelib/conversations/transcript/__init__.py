"""Transcripts: how the turns of a conversation are stored, parsed, indexed, extended and edited."""
