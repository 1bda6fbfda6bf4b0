"""Lists and deletes an agent's analytics records."""
