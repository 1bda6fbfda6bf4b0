"""Takes the screenshots in docs/console.md. They show `make demo` data in the console, as the demo's client sees it.

.venv/bin/python -m tests.extensions.console.in_browser.pictures

With a folder as an argument, it instead takes pictures of all pages into that folder.
"""

import base64
import sys
import tempfile
from pathlib import Path

from infra.local.children import ROOT
from tests.browser import chromium, png
from tests.extensions.console.in_browser import every_page
from tests.extensions.console.in_browser.person import NARROW, Person, ask
from tests.reliability import runs

_FOLDER = ROOT / "docs" / "images"
_WIDE = (1200, 800)


def main() -> None:
    """Start a run and a browser, and take the screenshots."""
    with tempfile.TemporaryDirectory() as directory:
        run = runs.begin(Path(directory), runs.free_port())
        try:
            with chromium.started() as driver:
                if folders := sys.argv[1:]:
                    every_page.take(Person(driver, run), Path(folders[0]))
                else:
                    _take_all(Person(driver, run))
        finally:
            runs.kill(run)


def _take_all(person: Person) -> None:
    _FOLDER.mkdir(exist_ok=True)
    every_page.demonstrate(person.run)
    every_page.be_client(person)
    (waiting, *_) = ask(person.run, "GET", "/v3/convos?inbox=true")["data"]
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
