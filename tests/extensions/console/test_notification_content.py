"""An email about a waiting conversation: its content, its link's target, and the stored rows."""

import html as html_parser
import re

import pytest

from chalicelib.extensions.console.notifications import mail
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD
from tests.extensions.console.mailing import BO, Mailing, notice_rows, request_person, text_of

HOSTILE = 'Ann\r\nBcc: eve@evil.test\r\n\r\n<img src=x onerror=alert(1)> "é" \u2028\u202e'


def test_hostile_names_stay_text_on_one_line(mailing: Mailing, workspace_api: Api) -> None:
    hostile = HOSTILE + "x" * 300
    workspace_api.post("/v2/clients/bo", {"name": hostile})
    workspace_api.post("/v2/agents/support", {"title": hostile})
    made = workspace_api.post("/v3/agents/support/convos", {"conversation": {"title": hostile}})
    request_person(workspace_api, made.data["id"], userName=hostile, userEmail=hostile)
    mailing.happen()
    (received,) = mailing.mails
    assert mailing.recipients == [BO]
    assert received["Bcc"] is None
    assert sorted(received.keys()) == sorted(
        (
            *("Subject", "From", "To", "List-Unsubscribe", "List-Unsubscribe-Post", "Auto-Submitted"),
            *("MIME-Version", "Content-Type"),
        )
    )
    assert received["To"].addresses[0].addr_spec == BO
    html = text_of(received, "html")
    assert "<img" not in html and "&lt;img" in html
    plain = text_of(received)
    assert "\u202e" not in plain + html
    shown = [line for line in plain.splitlines() if line.startswith("Ann")]
    assert len(shown) == 3 and max(map(len, shown)) < 130


def test_a_mail_contains_the_beginning_of_the_newest_message_and_a_button(mailing: Mailing, workspace_api: Api) -> None:
    request_person(workspace_api, "ann", userName="Ann")
    message = {"from": "human", "item": {"text": "<b>Pay</b> at evil.example " + "x" * 200}}
    workspace_api.post("/v3/agents/support/convos/ann/messages", {"messages": [message]})
    mailing.happen()
    (received,) = mailing.mails
    (preview,) = [line for line in text_of(received).splitlines() if line.startswith("<b>Pay")]
    assert preview == "<b>Pay< b> at evil example " + "x" * 72 + "…"
    html = text_of(received, "html")
    assert "&lt;b&gt;Pay" in html and "<b>Pay" not in html
    assert re.search(r'<a class="button" href="https://cams\.test/[^"]*/convos\?inbox=true">Show all', html)


# Names that email programs would turn into links, directly or after normalisation.
LINKS = (
    "https://evil.example", "evil.example", "www.evil.example/pay?x=1", "ann@evil.example", "mailto:ann@evil.example",
    "HTTP://2130706433/", "javascript:alert(1)", "//evil.example", "\\\\evil\\share", "tel:0900123", "evil.example.",
    "\uff45\uff56\uff49\uff4c\uff0e\uff45\uff58\uff41\uff4d\uff50\uff4c\uff45", "evil\u3002example",
    "evil\uff61example", "evil\u2024example", "evil\u200b.\u200bexample", "evil.\u2060example", "evil\u00ad.example",
    "https\uff1a\uff0f\uff0fevil",
    "evil.\u0301example", "elpmaxe.live\u202e", "evil..example", "evil.\nexample", "192.0.2.1", "evil\u2488example",
    "Pay at evil.example/x or ann@evil.example now", "x" * 97 + ".evil.example",
)  # fmt: skip
# A pattern for addresses in the widest sense: words joined by a dot, a colon or an `@`, or a word with a slash.
LINK = re.compile(r"\S+[.:@\u3002]\S|[/\\\\@]")


def test_no_text_keeps_what_mail_programs_make_links_of() -> None:
    assert [text for text in LINKS if LINK.search(mail.plain(text))] == []


def test_no_name_of_a_visitor_becomes_a_link(mailing: Mailing, workspace_api: Api) -> None:
    link = "Pay at https://evil.example/x or ann@evil.example now"
    workspace_api.post("/v2/clients/bo", {"name": link})
    workspace_api.post("/v2/agents/support", {"title": link})
    made = workspace_api.post("/v3/agents/support/convos", {"conversation": {"title": link}})
    request_person(workspace_api, made.data["id"], userName=link)
    mailing.happen()
    (received,) = mailing.mails
    own = re.compile(r"https://cams\.test/\S+")
    plain = own.sub("", text_of(received)).replace(" · ", " ")
    html = html_parser.unescape(re.sub(r"<style>.*</style>|<[^>]*>", " ", text_of(received, "html"), flags=re.DOTALL))
    shown = (plain, html, received["To"].addresses[0].display_name, received["Subject"])
    assert not [found[0] for text in shown for found in LINK.finditer(re.sub(r"\d\d:\d\d", "", text))]


@pytest.mark.parametrize(("email", "name"), [("ann@evil.example", "ann evil example"), ("", "evil example")])
def test_what_replaces_a_name_becomes_no_link(email: str, name: str, mailing: Mailing, workspace_api: Api) -> None:
    request_person(workspace_api, "evil.example", userEmail=email)
    mailing.happen()
    assert name in text_of(mailing.mails[0]).splitlines()


def test_ordinary_names_stay() -> None:
    for name in ("Ann O'Neil-Smith", "Dr. No", "李 小龍", "Zoë (sales), 2nd", "Order: late?", "Müller & Co.", "अनीता"):
        assert mail.plain(name) == name


def test_the_mail_is_in_the_language_of_the_organisation(mailing: Mailing, workspace_api: Api) -> None:
    workspace_api.post("/v2/orgs/acme", {"name": "Acme", "preferredLanguage": "nl"})
    request_person(workspace_api, "ann")
    mailing.happen()
    (received,) = mailing.mails
    assert received["Subject"] == "Er wacht een gesprek op een medewerker"
    assert "Afmelden" in text_of(received) and '<html lang="nl">' in text_of(received, "html")


def test_the_mail_has_no_secret(mailing: Mailing, workspace: NewWorkspace, workspace_api: Api) -> None:
    agent_key = workspace_api.get("/v2/agents/support").json["SECRET_API_KEY"]
    request_person(workspace_api, "ann")
    mailing.happen()
    raw = str(mailing.mails[0])
    for secret in (agent_key, PASSWORD, workspace.workspace_key, workspace.access_token, workspace.workspace_secret):
        assert secret not in raw


def test_the_row_of_a_person_has_nothing_personal_and_expires(mailing: Mailing, workspace_api: Api) -> None:
    request_person(workspace_api, "ann", userName="Ann")
    mailing.happen()
    (row,) = notice_rows()
    assert row.keys() == {"workspace", "item", "listed_at", "is_sent", "expires_at", "version_tag"}
    assert 0 < int(row["expires_at"]["N"]) - int(row["listed_at"]["N"]) // 1000 <= 24 * 60 * 60


def test_the_link_of_a_mail_arrives_signed_in(mailing: Mailing, workspace_api: Api, browser: Browser) -> None:
    request_person(workspace_api, "ann", userName="Ann")
    mailing.happen()
    (path,) = re.findall(r"/convos/support/ann", text_of(mailing.mails[0]))
    browser.start_session(email=BO, password=PASSWORD)
    cookie, browser.cookie = browser.cookie, ""  # browsers send no strict cookie with a cross-site link
    assert "refresh" in browser.open(path, **{"Sec-Fetch-Site": "cross-site"}).text
    browser.cookie = cookie
    assert "Ann" in browser.open(path, **{"Sec-Fetch-Site": "same-origin"}).text
