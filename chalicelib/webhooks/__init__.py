"""Webhooks: every change reaches the endpoints that subscribed to it, once (§6)."""
