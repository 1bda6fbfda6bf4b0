"""Tests of agents in the v2 and v3 forms over HTTP, and of their stored records (§2.4, §2.5, §4.1, §4.2)."""
