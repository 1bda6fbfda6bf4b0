"""Tests of the extension for pull endpoints."""
