"""The page of the console documents its settings."""

import re
from pathlib import Path

from chalicelib.extensions.console.notifications import mail_settings

PAGE = Path(__file__).parents[3] / "docs" / "console.md"


def test_the_page_has_every_setting() -> None:
    declared = re.findall(
        r'^    """(CAMS_[A-Z_]+)', Path(mail_settings.__file__).read_text(encoding="utf-8"), re.MULTILINE
    )
    assert re.findall(r"^\| `(CAMS_[A-Z_]+)`", PAGE.read_text(encoding="utf-8"), re.MULTILINE) == declared
