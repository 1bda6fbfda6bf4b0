"""Tests of `chalicelib/openapi`."""
