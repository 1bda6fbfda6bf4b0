"""Finds, installs and starts Chromium."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_DRIVER = "chromedriver"
_OPTIONS = (
    "--headless",
    "--no-sandbox",  # Chromium's sandbox does not work as root
    "--disable-gpu",
    # Disable Chromium's own requests to other sites, which fail on a machine without network access.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def install() -> None:
    """Install Chromium with apt-get if it is missing and the user is permitted to install packages."""
    if not is_installed() and os.geteuid() == 0 and shutil.which("apt-get"):
        unattended = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        packages = ("chromium", "chromium-driver", "fonts-liberation")
        for command in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
            subprocess.run(["apt-get", "-qq", *command], env=unattended, stdout=subprocess.DEVNULL, check=False)


def is_installed() -> bool:
    """Return whether Chromium and its driver are installed."""
    return bool(_browser() and shutil.which(_DRIVER))


@contextmanager
def started() -> Iterator[Chrome]:
    """Run a browser with a new profile inside the block."""
    options = ChromeOptions()
    options.binary_location = _browser() or ""
    for option in _OPTIONS:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options=options, service=Service(shutil.which(_DRIVER)))
    try:
        yield driver
    finally:
        driver.quit()


def resize(driver: Chrome, width: int, height: int) -> None:
    """Give the page exactly this size, regardless of the window's minimum width and frame."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def _browser() -> str | None:
    return next(filter(None, map(shutil.which, _BROWSERS)), None)
