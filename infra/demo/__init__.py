"""Demonstration data for a local run (`make demo`). It is not part of the deployed package."""
