"""Tests of `chalicelib/clients`."""
