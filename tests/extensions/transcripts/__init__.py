"""Tests of the transcripts extension."""
