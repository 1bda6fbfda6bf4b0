"""Every environment variable of the service, one function each, read when it is asked for.

To add a setting: add a function here with one sentence, and a row to the table in the README.
Where the database is, and with which rights, is not a setting of ours: the SDK's own variables
(`AWS_ENDPOINT_URL`, `AWS_DEFAULT_REGION`, credentials) decide.
"""

import os


def table_prefix() -> str:
    """CAMS_TABLE_PREFIX: what every table name begins with (default `cams-`)."""
    return os.environ.get("CAMS_TABLE_PREFIX", "cams-")


def encryption_key() -> str:
    """CAMS_ENCRYPTION_KEY: id, ARN or alias of the KMS key that wraps data keys (default `alias/cams`)."""
    return os.environ.get("CAMS_ENCRYPTION_KEY", "alias/cams")


def webhook_allow_private() -> bool:
    """CAMS_WEBHOOK_ALLOW_PRIVATE: `1` lets webhooks go to http and to addresses that are not public (default off)."""
    return os.environ.get("CAMS_WEBHOOK_ALLOW_PRIVATE") == "1"


def cors_origin() -> str:
    """CAMS_CORS_ORIGIN: the origin whose pages may call an agent's routes, `*` any (the default), empty none."""
    return os.environ.get("CAMS_CORS_ORIGIN", "*")


def stream(table: str) -> str:
    """CAMS_STREAM_<TABLE>: the ARN of a watched table's stream; a deployment sets it, the local run needs none."""
    return os.environ.get(f"CAMS_STREAM_{table.upper()}", "")
