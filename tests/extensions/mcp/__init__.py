"""Tests of the extension mcp."""
