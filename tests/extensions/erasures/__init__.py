"""Tests of the erasures."""
