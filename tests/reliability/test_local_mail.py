"""The local engine's SES writes each email unchanged to a file, and a local run sends notifications."""

import email
import re
import signal
import stat
import time
import urllib.request
from email.policy import default
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.reliability import runs
from tests.reliability.engine_fixture import client, running_engine
from tests.selection import whole

pytestmark = pytest.mark.engine

RAW = b"Subject: =?utf-8?b?w6k=?=\r\nList-Unsubscribe: <https://example.com/>\r\n\r\nHello +%&= \xc3\xa9\r\n"
# A client who receives notifications in Dutch, and a visitor who requests a person.
RECORDS: dict[str, dict[str, Any]] = {
    "/v2/agents/support": {"title": "Support"},
    "/v2/orgs/acme": {"name": "Acme", "widgetIDs": ["support"], "preferredLanguage": "nl"},
    "/v2/clients/zoe": {
        "orgId": "acme",
        "name": "Zoë",
        "email": "zoe@acme.test",
        "notificationsSettings": {"notifyThrough": "email", "notifyIf": "all"},
    },
    "/agents/support/interact/ann/state": {"metadata": {"state": "requested_chat"}},
}


def test_a_mail_is_a_file_of_its_owner(tmp_path: Path) -> None:
    with running_engine(tmp_path) as engine:
        for _ in range(2):
            sent = client(engine, "ses").send_raw_email(
                Source="a@b.test", Destinations=["c@d.test"], RawMessage={"Data": RAW}
            )
            assert (tmp_path / "mail" / f"{sent['MessageId']}.eml").read_bytes() == RAW
    files = sorted((tmp_path / "mail").iterdir())
    assert [(one.suffix, stat.S_IMODE(one.stat().st_mode)) for one in files] == [(".eml", 0o600)] * 2


def test_another_call_is_an_error(tmp_path: Path) -> None:
    with running_engine(tmp_path) as engine, pytest.raises(ClientError, match="InvalidAction"):
        client(engine, "ses").list_identities()
    assert not (tmp_path / "mail").exists()


@whole
def test_a_request_for_a_person_becomes_a_mail_of_which_the_links_work(tmp_path: Path) -> None:
    run = runs.begin(tmp_path / "run", runs.free_port())
    try:
        key = run.credentials["workspace_key"]
        for path, body in RECORDS.items():
            assert runs.ask(run, "POST", path, key, body)[0] == 200
        raw = _wait_for_mail(run)
        mail = email.message_from_bytes(raw, policy=default)
        assert (mail["To"], mail["Subject"]) == ("Zoë <zoe@acme.test>", "Er wacht een gesprek op een medewerker")
        console = f"{run.credentials['base_url']}/console/{run.credentials['workspace_id']}"
        for kind in ("plain", "html"):
            part = mail.get_body((kind,))
            assert part is not None and f"{console}/convos/support/ann" in part.get_content()
        # Check the raw header, because mail programs do not decode it.
        (link,) = re.findall(rb"^List-Unsubscribe: <(http://[!-~]+)>\r$", raw, re.MULTILINE)
        one_click = {"Content-Type": "application/x-www-form-urlencoded"}
        request = urllib.request.Request(link.decode(), b"List-Unsubscribe=One-Click", one_click)
        with urllib.request.urlopen(request, timeout=runs.SECONDS) as answer:
            assert answer.status == 200
        _, client = runs.ask(run, "GET", "/v2/clients/zoe", key)
        assert client["data"]["notificationsSettings"] == {"notifyThrough": None, "notifyIf": None}
    finally:
        runs.end(run, signal.SIGINT)
        runs.kill(run)


def _wait_for_mail(run: runs.Run) -> bytes:
    deadline = time.monotonic() + runs.SECONDS
    while not (found := [*(run.directory / "mail").glob("*.eml")]):
        assert time.monotonic() < deadline, run.output
        time.sleep(0.1)
    (file,) = found
    return file.read_bytes()
