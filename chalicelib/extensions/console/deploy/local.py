"""The console's settings for a local run: the email sender, links and folder, and the page to open."""

from infra.local import mail

FOLDERS = {"Mails": mail.FOLDER}


def variables(url: str) -> dict[str, str]:
    """Return the environment variables for a local run at this address."""
    return {"CAMS_CONSOLE_URL": f"{url}/console", "CAMS_MAIL_SENDER": "CAMS <cams@localhost.localdomain>"}


def paths(workspace_id: str) -> list[str]:
    """Return the paths of the console's start pages."""
    return [f"/console/{workspace_id}"]
