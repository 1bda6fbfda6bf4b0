"""The cascading deletion of an agent with everything that belongs to it."""
