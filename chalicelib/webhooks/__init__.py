"""Webhooks: endpoints that receive the events to which they subscribe, each at most once (§6)."""
