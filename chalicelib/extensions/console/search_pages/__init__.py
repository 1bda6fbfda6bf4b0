"""The search for pages and records by name."""
