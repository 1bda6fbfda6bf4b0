"""The console's additions to a local run: the sender, links and folder of emails, and the page to open."""

from infra.local import mail

FOLDERS = {"Mails": mail.FOLDER}


def variables(url: str) -> dict[str, str]:
    """Return the environment variables of a run at this address."""
    return {"CAMS_CONSOLE_URL": f"{url}/console", "CAMS_MAIL_SENDER": "CAMS <cams@localhost.localdomain>"}


def paths(workspace_id: str) -> list[str]:
    """Return the paths of the pages that a person opens first."""
    return [f"/console/{workspace_id}"]
