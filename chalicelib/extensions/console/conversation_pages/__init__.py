"""The page of a conversation: its transcript, replies, notes, tags and assignments."""
