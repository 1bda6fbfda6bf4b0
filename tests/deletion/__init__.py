"""Tests of `chalicelib/deletion`."""
