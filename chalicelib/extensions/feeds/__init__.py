"""Pull endpoints: webhook endpoints whose events a consumer reads from a feed, each once and in a fixed order."""
