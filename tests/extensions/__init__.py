"""Tests of the extensions, a folder each."""
