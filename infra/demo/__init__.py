"""Demonstration data for a local run: `make demo`. Nothing of it ships."""
