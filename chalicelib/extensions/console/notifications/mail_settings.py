"""The settings of the console's mails, in the form of `chalicelib.settings`. docs/console.md has a row for each."""

import os


def sender() -> str:
    """CAMS_MAIL_SENDER: the sender's address, which SES has verified; empty sends no mail (default)."""
    return os.environ.get("CAMS_MAIL_SENDER", "")


def console_url() -> str:
    """CAMS_CONSOLE_URL: the address of the console in mails, such as `https://cams.example.com/console`."""
    return os.environ.get("CAMS_CONSOLE_URL", "").rstrip("/")


def are_complete() -> bool:
    """Return whether the stage sends mails."""
    return bool(sender() and console_url())
