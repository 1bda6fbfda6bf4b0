"""Analytics records, one page load and one conversation record each (§2.8)."""
