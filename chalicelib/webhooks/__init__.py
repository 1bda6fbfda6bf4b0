"""Webhooks: endpoints that receive the events they subscribe to, each event at most once (§6)."""
