"""Tests of agents over HTTP in both forms, and of their stored records (§2.4, §2.5, §4.1, §4.2)."""
