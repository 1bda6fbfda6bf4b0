"""Outbound HTTP to URLs that customers choose: webhooks, and tests of tools."""
