"""Tests of `chalicelib/leads`."""
