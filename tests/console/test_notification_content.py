"""What is in a mail about a conversation that waits, where its link leads, and what is stored about it."""

import re

import pytest

from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.console.browser import Browser
from tests.console.conftest import PASSWORD
from tests.console.notified import BO, Notified, notice_rows, request_person, text_of

HOSTILE = 'Ann\r\nBcc: eve@evil.test\r\n\r\n<img src=x onerror=alert(1)> "é" \u2028\u202e'


@pytest.mark.parametrize("hostile", [HOSTILE, HOSTILE + "x" * 300], ids=["short", "long"])
def test_hostile_names_stay_text_on_one_line(hostile: str, notified: Notified, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/bo", {"name": hostile})
    workspace_api.post("/v2/agents/support", {"title": hostile})
    made = workspace_api.post("/v3/agents/support/convos", {"conversation": {"title": hostile}})
    request_person(workspace_api, made.data["id"], userName=hostile, userEmail=hostile)
    notified.happen()
    (mail,) = notified.mails
    assert notified.recipients == [BO]
    assert mail["Bcc"] is None
    assert sorted(mail.keys()) == sorted(
        (
            *("Subject", "From", "To", "List-Unsubscribe", "List-Unsubscribe-Post", "Auto-Submitted"),
            *("MIME-Version", "Content-Type"),
        )
    )
    assert mail["To"].addresses[0].addr_spec == BO
    html = text_of(mail, "html")
    assert "<img" not in html and "&lt;img" in html
    plain = text_of(mail)
    assert "\u202e" not in plain + html
    shown = [line for line in plain.splitlines() if line.startswith("Ann")]
    assert len(shown) == 3 and max(map(len, shown)) < 130


def test_the_mail_is_in_the_language_of_the_organisation(notified: Notified, workspace_api: Api) -> None:
    workspace_api.post("/v2/orgs/acme", {"name": "Acme", "preferredLanguage": "nl"})
    request_person(workspace_api, "ann")
    notified.happen()
    (mail,) = notified.mails
    assert mail["Subject"] == "Een gesprek wacht op een medewerker"
    assert "Afmelden" in text_of(mail) and '<html lang="nl">' in text_of(mail, "html")


def test_the_mail_has_no_secret(notified: Notified, workspace: NewWorkspace, workspace_api: Api) -> None:
    agent_key = workspace_api.get("/v2/agents/support").json["SECRET_API_KEY"]
    request_person(workspace_api, "ann")
    notified.happen()
    raw = str(notified.mails[0])
    for secret in (agent_key, PASSWORD, workspace.workspace_key, workspace.access_token, workspace.workspace_secret):
        assert secret not in raw


def test_the_row_of_a_person_has_nothing_personal_and_expires(notified: Notified, workspace_api: Api) -> None:
    request_person(workspace_api, "ann", userName="Ann")
    notified.happen()
    (row,) = notice_rows()
    assert row.keys() == {"workspace", "item", "listed_at", "is_sent", "expires_at", "version_tag"}
    assert 0 < int(row["expires_at"]["N"]) - int(row["listed_at"]["N"]) // 1000 <= 24 * 60 * 60


def test_the_link_of_a_mail_arrives_signed_in(notified: Notified, workspace_api: Api, browser: Browser) -> None:
    request_person(workspace_api, "ann", userName="Ann")
    notified.happen()
    (path,) = re.findall(r"/convos/support/ann", text_of(notified.mails[0]))
    browser.sign_in(BO, PASSWORD)
    cookie, browser.cookie = browser.cookie, ""  # a strict cookie does not come with a link from elsewhere
    assert "refresh" in browser.open(path, **{"Sec-Fetch-Site": "cross-site"}).text
    browser.cookie = cookie
    assert "Ann" in browser.open(path, **{"Sec-Fetch-Site": "same-origin"}).text
