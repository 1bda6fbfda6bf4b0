"""HTTP: middleware, request bodies, preconditions, idempotency keys, pages and responses."""
