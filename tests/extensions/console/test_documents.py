"""docs/console.md lists the console's settings."""

import re
from pathlib import Path

from chalicelib.extensions.console.notifications import mail_settings
from tests import generated_docs


def test_the_page_has_every_setting() -> None:
    source = Path(mail_settings.__file__).read_text(encoding="utf-8")
    settings = re.findall(r'^    """(CAMS_[A-Z_]+): (.+)\."""', source, re.MULTILINE)
    table = generated_docs.table(["Setting", "Meaning"], ([f"`{name}`", text] for name, text in settings))
    generated_docs.check("docs/console.md", "settings", table)
