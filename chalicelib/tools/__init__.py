"""Tools that an agent can call (§2.2, §2.3)."""
