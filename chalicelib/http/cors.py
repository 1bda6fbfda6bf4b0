"""CORS: the routes that browsers may call from pages of another origin."""

from chalice.app import CORSConfig

from chalicelib import settings

# Off by default: the edge routes take an agent's key, which is a server-side secret. Anyone who finds it in a page can
# read all conversations of the agent, and the platform keys in its record. A stage may allow an origin whose visitors
# may have the key.
CORS = (
    CORSConfig(
        settings.cors_origin(),
        allow_headers=["If-Match", "If-None-Match", "Idempotency-Key", "Prefer"],
        expose_headers=["ETag", "Idempotency-Replayed", "X-Request-Id"],
        max_age=86_400,
    )
    if settings.cors_origin()
    else None
)
PREFIXES = ("/v2/agents/", "/agents/")
