"""SES of the local engine: a mail is a file, byte for byte, and anything else is an error."""

import stat
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from tests.reliability.engine_fixture import client, running_engine

pytestmark = pytest.mark.engine

RAW = b"Subject: =?utf-8?b?w6k=?=\r\nList-Unsubscribe: <https://example.com/>\r\n\r\nHello +%&= \xc3\xa9\r\n"


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
