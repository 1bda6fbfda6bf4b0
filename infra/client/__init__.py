"""Builds the Python client."""
