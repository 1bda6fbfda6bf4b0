"""Webhooks, from the change to the receiver."""
