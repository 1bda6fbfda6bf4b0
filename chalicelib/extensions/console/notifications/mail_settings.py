"""The settings for the console's emails. docs/console.md lists them."""

import os


def sender() -> str:
    """CAMS_MAIL_SENDER: the sender's address, which must be verified in SES. By default, no emails are sent."""
    return os.environ.get("CAMS_MAIL_SENDER", "")


def console_url() -> str:
    """CAMS_CONSOLE_URL: the console address in emails, such as `https://cams.example.com/console`."""
    return os.environ.get("CAMS_CONSOLE_URL", "").rstrip("/")


def are_complete() -> bool:
    """Return whether the stage sends emails."""
    return bool(sender() and console_url())
