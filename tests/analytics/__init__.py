"""Tests of `chalicelib/analytics`."""
