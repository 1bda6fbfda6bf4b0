"""Tests of `chalicelib/credentials`."""
