"""The settings of the console's emails. docs/console.md lists them."""

import os


def sender() -> str:
    """CAMS_MAIL_SENDER: the sender's address, which SES has verified; by default, no email is sent."""
    return os.environ.get("CAMS_MAIL_SENDER", "")


def console_url() -> str:
    """CAMS_CONSOLE_URL: the address of the console in emails, such as `https://cams.example.com/console`."""
    return os.environ.get("CAMS_CONSOLE_URL", "").rstrip("/")


def are_complete() -> bool:
    """Return whether the stage sends emails."""
    return bool(sender() and console_url())
