"""The routes of webhook endpoints. `tests/webhooks` tests what happens from a change to its receiver."""
