"""Analytics: a page load record and a conversation record per conversation (§2.8)."""
