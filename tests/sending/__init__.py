"""Tests of `chalicelib/sending`."""
