"""Tests of `chalicelib/tools`."""
