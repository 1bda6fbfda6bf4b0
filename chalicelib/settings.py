"""The service's settings. Each environment variable has one function, which reads the variable on each call.

To add a setting, add a function with a one-sentence docstring here. docs/operate.md lists the operator settings.
The SDK's own variables (`AWS_ENDPOINT_URL`, `AWS_DEFAULT_REGION`, credentials) select the database and permissions.
"""

import os


def table_prefix() -> str:
    """CAMS_TABLE_PREFIX: the prefix of every table name (default `cams-`)."""
    return os.environ.get("CAMS_TABLE_PREFIX", "cams-")


def encryption_key() -> str:
    """CAMS_ENCRYPTION_KEY: id, ARN or alias of the KMS key that wraps data keys (default `alias/cams`)."""
    return os.environ.get("CAMS_ENCRYPTION_KEY", "alias/cams")


def stored_layout() -> str:
    """CAMS_STORED_LAYOUT: the layout in which records are written (default: the current layout)."""
    return os.environ.get("CAMS_STORED_LAYOUT", "")


def webhook_allow_private() -> bool:
    """CAMS_WEBHOOK_ALLOW_PRIVATE: `1` allows webhooks and tool tests over http and to non-public addresses."""
    return os.environ.get("CAMS_WEBHOOK_ALLOW_PRIVATE") == "1"


def extensions() -> frozenset[str] | None:
    """CAMS_EXTENSIONS: the enabled extensions, separated by commas. Empty means none; unset (None) means all."""
    names = os.environ.get("CAMS_EXTENSIONS")
    return None if names is None else frozenset(name for name in names.split(",") if name)


def cors_origin() -> str:
    """CAMS_CORS_ORIGIN: the origin that may call an agent's routes. `*` means all; empty (default) means none."""
    return os.environ.get("CAMS_CORS_ORIGIN", "")


def stream(table: str) -> str:
    """CAMS_STREAM_<TABLE>: the ARN of the table's stream. The deployment sets it; the local run does not need it."""
    return os.environ.get(f"CAMS_STREAM_{table.upper()}", "")
