"""Tests of `chalicelib/storage`."""
