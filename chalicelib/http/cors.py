"""CORS: the routes that browsers may call from pages of another origin."""

from chalice.app import CORSConfig

from chalicelib import settings

# For the edge routes, which an agent's widget calls from third-party pages. They accept no ambient browser credentials
# such as cookies, so the setting may allow any origin.
CORS = (
    CORSConfig(
        settings.cors_origin(),
        allow_headers=["If-Match", "If-None-Match", "Idempotency-Key"],
        expose_headers=["ETag", "Idempotency-Replayed", "X-Request-Id"],
        max_age=86_400,
    )
    if settings.cors_origin()
    else None
)
PREFIXES = ("/v2/agents/", "/agents/")
