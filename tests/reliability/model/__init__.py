"""The service as a dictionary: what every route answers, written from the specification and docs/decisions.md."""
