"""Tests of `chalicelib/organisations`."""
