"""Tests of the history extension."""
