"""Tests of webhooks, from the change to the receiver."""
