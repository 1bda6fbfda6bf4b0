"""The files with which a developer puts an agent's chat on a site: the page, its script and two example servers."""

import json
from pathlib import Path
from urllib.parse import quote

from chalice.app import Response

from chalicelib import errors
from chalicelib.extensions.console import guard, pages
from chalicelib.http import current_request
from chalicelib.ids import IDENTIFIER

PAGE, SCRIPT, PYTHON, NODE = "chat.html", "chat.js", "server.py", "server.mjs"
SERVERS = {PYTHON: "python3", NODE: "node"}
"""The example servers, each with the command that runs it."""
ADDRESS = "http://localhost:8080"
"""The default address of both servers. Port 8000 is the default of `make run`."""
_FOLDER = Path(__file__).parent / "site"
# The project's checks of its own modules do not apply to the example, so its name does not end with `.py`.
_STORED = {PAGE: PAGE, SCRIPT: SCRIPT, PYTHON: "server.py.txt", NODE: NODE}
_MEDIA = "text/plain; charset=utf-8"
# A string in each server, which the agent's URL replaces.
_PLACEHOLDER = '"$AGENT"'


def download(name: str) -> Response:
    """Return a file that contains no secret, so it needs no session. A server is for the agent in the query."""
    return guard.with_error_page(lambda: _download(name), guard.language_of(None))


def read(name: str, agent_id: str) -> str:
    """Return a file's text with the agent's URL."""
    text = (_FOLDER / _STORED[name]).read_text(encoding="utf-8")
    return text.replace(_PLACEHOLDER, json.dumps(f"{pages.service_url()}/agents/{quote(agent_id, safe='')}"))


def _download(name: str) -> Response:
    agent_id = current_request.query_value("agent") or ""
    if name not in _STORED or (name in SERVERS and not IDENTIFIER.fullmatch(agent_id)):
        raise errors.NotFound.of("file")
    return pages.download(name, _MEDIA, read(name, agent_id))
