"""Outbound HTTP requests to URLs that customers choose: webhooks and tool tests."""
