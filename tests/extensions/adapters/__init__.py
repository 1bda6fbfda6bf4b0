"""Tests of the adapters extension."""
