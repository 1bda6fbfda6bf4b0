"""The cascading deletion of an agent and all its records."""
