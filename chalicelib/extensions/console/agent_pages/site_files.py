"""The files with which a developer puts an agent's chat on a site: the page, its scripts and two example servers."""

import html
import json
from pathlib import Path
from urllib.parse import quote

from chalice.app import Response

from chalicelib import errors
from chalicelib.extensions.console.access import guard
from chalicelib.extensions.console.access.calls import query_string
from chalicelib.extensions.console.presentation import pages, template_filters
from chalicelib.http import current_request
from chalicelib.ids import IDENTIFIER
from chalicelib.storage import Document

PAGE, SCRIPT, EMBED, PYTHON, NODE = "chat.html", "chat.js", "embed.js", "server.py", "server.mjs"
WIDGET = (PAGE, SCRIPT, EMBED)
"""The files for browsers."""
SERVERS = {PYTHON: "python3", NODE: "node"}
"""The example servers, each with the command that runs it."""
ADDRESS = "http://localhost:8080"
"""The default address of both servers. Port 8000 is the default of `make run`."""
_FOLDER = Path(__file__).parent.parent / "site"
# The project's checks of its own modules do not apply to the example, so its name does not end with `.py`.
_STORED = {PAGE: PAGE, SCRIPT: SCRIPT, EMBED: EMBED, PYTHON: "server.py.txt", NODE: NODE}
_MEDIA = "text/plain; charset=utf-8"
# Strings in each server, with the paths of the URLs that replace them.
_ADDRESSES = {'"$AGENT"': "/agents/", '"$RECORD"': "/v2/agents/"}
# Strings in the page and in the script of its button, which the title replaces.
_TITLE, _FRAME_TITLE = ">Chat<", 'TITLE = "Chat"'
# The page's element, and the attribute with which a visitor's message asks for a person.
_CHAT, _PEOPLE = '<main id="chat"', " data-people"
_MAX_TITLE = 100
TRANSLATED = ("nl",)
"""The languages of the page and its script, apart from English. A JSON file for each has the texts that it replaces."""


def download(name: str) -> Response:
    """Return a file that contains no secret, so it needs no session.

    A server is for the agent in the query. The page and its button have the query's title, and all texts its language.
    With `people`, visitors' messages ask for a person.
    """
    return guard.with_error_page(lambda: _download(name), guard.language_of(None))


def read(name: str, agent_id: str) -> str:
    """Return a file's text with the agent's URL."""
    text = (_FOLDER / _STORED[name]).read_text(encoding="utf-8")
    for placeholder, path in _ADDRESSES.items():
        text = text.replace(placeholder, json.dumps(f"{pages.service_url()}{path}{quote(agent_id, safe='')}"))
    return text


def query(name: str, agent: Document, has_bot: bool) -> str:
    """Return the query string of an agent's file, or an empty string if the file is the same for all agents.

    Without a bot, visitors' messages ask for a person.
    """
    if name in SERVERS:
        return query_string({"agent": agent["ID"]})
    title = template_filters.agent_title(agent)[:_MAX_TITLE] if name != SCRIPT else None
    language = agent["lang"] if agent.get("lang") in TRANSLATED else None
    return query_string({"title": title, "lang": language, "people": None if has_bot or name != PAGE else "1"})


def _download(name: str) -> Response:
    agent_id, title, language, people = (
        current_request.query_value(one) or "" for one in ("agent", "title", "lang", "people")
    )
    if name not in _STORED or (name in SERVERS and not IDENTIFIER.fullmatch(agent_id)):
        raise errors.NotFound.of("file")
    text = _translate(read(name, agent_id), name, language)
    return pages.download(name, _MEDIA, _adapted(text, title[:_MAX_TITLE], bool(people)))


def _adapted(text: str, title: str, asks_people: bool) -> str:
    """Return the file with the title, if any. Visitors' messages ask for a person if `asks_people`."""
    if title:
        text = text.replace(_TITLE, f">{html.escape(title)}<").replace(_FRAME_TITLE, f"TITLE = {json.dumps(title)}")
    return text.replace(_CHAT, _CHAT + _PEOPLE) if asks_people else text


def _translate(text: str, name: str, language: str) -> str:
    """Return the file in one of the languages, with the original text for other languages."""
    if language in TRANSLATED:
        texts = json.loads((_FOLDER / f"{language}.json").read_text(encoding="utf-8"))
        for original, translation in texts.get(name, {}).items():
            text = text.replace(original, translation)
    return text
