"""The transcripts extension: searches of messages, and exports of whole conversations."""
