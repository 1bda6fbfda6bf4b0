"""Which routes a browser may call from a page of another origin (CORS)."""

from chalice.app import CORSConfig

from chalicelib import settings

# For the routes that an agent's key opens: its widget calls them from a page of somebody else. No credential of the
# browser's takes part, so that any origin may; see the setting.
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
