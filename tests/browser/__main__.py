"""Runs the browser tests (`make test-browser`), or prints which browser parts are missing and succeeds."""

import sys
from pathlib import Path

import pytest

from tests.browser import chromium


def main() -> int:
    """Install the browser if possible, then run the tests with this command's arguments."""
    chromium.install()
    if not chromium.is_installed():
        sys.stdout.write(
            "NOT TESTED in a browser: Chromium or chromedriver is missing; on Debian, run as root "
            "`apt-get install chromium chromium-driver`.\n"
        )
        return 0
    # The pytest configuration excludes these folders from all other runs, so that only this run needs a browser.
    folders = ["tests/browser", *map(str, Path("tests/extensions").glob("*/in_browser"))]
    return pytest.main(["-n", "2", "--dist", "loadscope", "-o", "norecursedirs=.*", *folders, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
