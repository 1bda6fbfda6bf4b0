"""Tests of `chalicelib/http`."""
