"""Measures the time from a clone to the first response, and to the first write in /docs.

    .venv/bin/python -m tests.browser.first_contact

The command clones the committed state into an empty directory and runs `make run` there. Packages come from uv's cache
or from the index. A browser script operates the page; a person would take longer.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from infra.local.children import ROOT
from tests.browser import chromium
from tests.browser.page import Page
from tests.reliability.runs import free_port

_SECONDS = 600


def main() -> None:
    """Print the elapsed seconds after each step."""
    started, port = time.monotonic(), free_port()

    def report(step: str) -> None:
        sys.stdout.write(f"{time.monotonic() - started:6.1f} s  {step}\n")

    with tempfile.TemporaryDirectory() as directory:
        clone = Path(directory) / "cams"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        report("cloned")
        command = ["make", "run", f"PORT={port}"]
        run = subprocess.Popen(
            command, cwd=clone, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            key = _wait_for_key(clone / ".local" / "credentials.json", run)
            request = urllib.request.Request(f"http://127.0.0.1:{port}/v3/agents")
            request.add_header("Authorization", f"Bearer {key}")
            with urllib.request.urlopen(request) as answer:
                report(f"first API response: {answer.status}")
            with chromium.started() as driver:
                page = Page(driver, f"http://127.0.0.1:{port}").open()
                report("the documentation page shows its operations")
                page.authorize(key)
                status, _ = page.execute(0, {})
                report(f"first write on the page, {page.operations()[0]}: {status}")
        finally:
            os.killpg(run.pid, signal.SIGINT)
            run.wait()


def _wait_for_key(credentials: Path, run: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + _SECONDS
    while not credentials.exists():
        if run.poll() is not None or time.monotonic() > deadline:
            sys.exit("`make run` did not start the service.")
        time.sleep(0.05)
    key: str = json.loads(credentials.read_text())["workspace_key"]
    return key


if __name__ == "__main__":
    main()
