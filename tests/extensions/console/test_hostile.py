"""No console page contains tags from hostile texts in its records, query or form."""

import re
from html.parser import HTMLParser
from urllib.parse import urlencode

import pytest

from chalicelib.extensions.console.access import sessions
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.extensions.console.rows import ALL, OPERATOR, ROWS, World, build, fields, send
from tests.fast_moto import restore_or_create
from tests.moto_tables import restore, snapshot
from tests.selection import whole

HOSTILE = (
    """--><script>x()</script>"'><img src=x onerror=x()></title></textarea></select><svg onload=x()>"""
    """' autofocus onfocus='x()' <iframe srcdoc=x></iframe> javascript:x() {{ 7 * 7 }}"""
)
# The attributes that precede `autofocus` in templates: those of a field with an issue, or of a group of check boxes.
BEFORE_FOCUS = ("aria-describedby", "aria-invalid", "tabindex")
_PHOTO = re.compile(r"/console/[0-9a-z]{26}/photos/kim\?v=[0-9a-f]{12}")
TAGS = frozenset(("img", "iframe", "style", "base", "object", "embed", "meta"))


class TagParser(HTMLParser):
    """Collects a page's texts, and the tags that only unescaped text can create."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        is_photo = tag == "img" and _PHOTO.fullmatch(attributes.get("src", ""))
        is_own = is_photo or (tag == "meta" and attributes.keys() <= {"charset", "name", "content"})
        is_script = tag == "script" and not attributes.get("src", "").startswith("/console/assets/")
        wrong = [name for name in attributes if name.startswith("on") or name in ("style", "srcdoc")]
        if "autofocus" in attributes and ["", *attributes][-2] not in BEFORE_FOCUS:
            wrong.append("autofocus")
        addresses = [attributes[name] for name in ("href", "src", "action", "formaction") if name in attributes]
        wrong += [one for one in addresses if not one.startswith(("/", "?", "#", "https://", "http://"))]
        if wrong or is_script or (tag in TAGS and not is_own):
            self.made.append(f"{tag} {attributes}")
        self.text += " ".join(attributes.values())

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def world(workspace: NewWorkspace, workspace_api: Api) -> World:
    """Create records with hostile texts."""
    return restore_or_create("hostile records", lambda: build(workspace, workspace_api, HOSTILE))[0]


def test_no_page_makes_tags_of_hostile_texts(world: World) -> None:
    wrong, pages = [], 0
    operator, ada = world.browser(""), world.browser("ada@acme.test")
    before = snapshot()
    for at, row in ROWS.items():
        owner = operator if row.who == OPERATOR else ada
        bodies: list[bytes | None] = [None]
        if at[0] == "POST":
            form = fields(world, at[1], row, owner)
            kept = {name: form[name] for name in ("form", "tag", "action") if name in form}
            bodies = [
                urlencode({**form, **dict.fromkeys(typed, HOSTILE), **also}).encode()
                for typed in (row.typed, form)
                for also in (kept, {**kept, "tag": "x"})
            ]
        for body in bodies:
            answer = send(world, at, body, owner.cookie)
            parser = TagParser()
            parser.feed(answer.text if "html" in answer.headers["content-type"] else "")
            pages += HOSTILE in parser.text
            if answer.status >= 500 or parser.made:
                wrong.append((at, answer.status, parser.made))
        if at[0] == "POST":
            restore(before)
            sessions.clear_cache()
    assert not wrong
    assert pages > 20


QUERY = ("q", "tag", "state", "agent", "origin", "from", "to", "by", "tz", "days", "interval", "status", "cursor",
         "newer", "tokens", "before", "saved", "created", "starred", "inbox", "tab", "page", "kind", "id",
         "userID", "email", "phone")  # fmt: skip


@pytest.mark.parametrize(
    "queries", [[QUERY], pytest.param([(name,) for name in QUERY], marks=whole)], ids=["all", "each"]
)
def test_no_page_makes_tags_of_its_query(queries: list[tuple[str, ...]], world: World) -> None:
    """A page shows an error at the first invalid value, so each value is also sent alone in a query."""
    owner, wrong = world.browser(""), []
    for names in queries:
        for (method, route), row in ROWS.items():
            if method == "POST" or row.who == ALL:
                continue
            path = f"{world.path(route)}?{urlencode(dict.fromkeys(names, HOSTILE))}"
            answer, parser = Api().call("GET", path, None, {"Cookie": owner.cookie}), TagParser()
            parser.feed(answer.text if "html" in answer.headers["content-type"] else "")
            if answer.status >= 500 or parser.made:
                wrong.append((names, route, answer.status, parser.made))
    assert not wrong
