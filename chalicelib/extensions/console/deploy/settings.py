"""The settings for a stage that sends emails: the sender, and the console's address for links."""

from __future__ import annotations

from collections.abc import Iterator
from email.utils import parseaddr
from urllib.parse import urlsplit

from infra.deploy.stage import Settings

_SENDER, _CONSOLE = "CAMS_MAIL_SENDER", "CAMS_CONSOLE_URL"


def problems(settings: Settings, stage_name: str) -> Iterator[str]:
    """Yield a sentence for each invalid email setting."""
    variables = settings.get("environment_variables", {})
    if not variables.get(_SENDER):
        return
    if "@" not in parseaddr(variables[_SENDER])[1]:
        yield f"{_SENDER} of stage {stage_name} is not an address: use one such as CAMS <notifications@example.com>."
    url = urlsplit(variables.get(_CONSOLE, ""))
    if url.scheme != "https" or not url.netloc:
        yield f"{_CONSOLE} of stage {stage_name} is not an https address: set the console's address for links."
