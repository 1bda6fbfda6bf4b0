"""The settings pages: organisations, people, webhooks, keys, the audit log and erasures."""
