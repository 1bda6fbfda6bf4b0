"""Takes the screenshots in docs/console.md. They show `make demo` data in the console, as the demo's client sees it.

.venv/bin/python -m tests.extensions.console.in_browser.pictures
"""

import base64
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from infra.local.children import ROOT
from tests.browser import chromium, png
from tests.extensions.console.in_browser.person import NARROW, Person, ask
from tests.reliability import runs
from tests.reliability.runs import Run

_FOLDER = ROOT / "docs" / "images"
_WIDE = (1200, 800)


def main() -> None:
    """Start a run, fill it with demo data, and take a screenshot of each page."""
    _FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        run = runs.begin(Path(directory), runs.free_port())
        try:
            demonstration = [sys.executable, "-m", "infra.demo", "--state", directory]
            subprocess.run(demonstration, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
            _take_all(run)
        finally:
            runs.kill(run)


def _take_all(run: Run) -> None:
    with chromium.started() as driver:
        person = Person(driver, run)
        client: dict[str, str] = json.loads((run.directory / "credentials.json").read_text())["client"]
        person.sign_in(client["password"], client["email"])
        (waiting, *_) = ask(run, "GET", "/v3/convos?inbox=true")["data"]
        _take(person, "/overview", _WIDE, "light", "console-overview")
        _take(person, "/analytics?days=30&by=country", _WIDE, "dark", "console-analytics")
        _take(person, f"/convos/{waiting['agentId']}/{waiting['ID']}", NARROW, "light", "console-conversation")


def _take(person: Person, path: str, size: tuple[int, int], scheme: str, name: str) -> None:
    chromium.resize(person.driver, *size)
    person.prefer(scheme)
    person.open(path)
    taken = person.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    data = png.reduce(base64.b64decode(taken["data"]))
    (_FOLDER / f"{name}.png").write_bytes(data)
    sys.stdout.write(f"{name}.png  {len(data):,} bytes\n")


if __name__ == "__main__":
    main()
