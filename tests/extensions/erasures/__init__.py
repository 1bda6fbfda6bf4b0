"""Tests of the erasures extension."""
