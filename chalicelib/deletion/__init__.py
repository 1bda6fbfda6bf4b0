"""Cascading deletion of an agent and all its records."""
