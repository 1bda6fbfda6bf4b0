"""Tests of the webhook endpoint routes. `tests/webhooks` tests the path from a change to the receiver."""
