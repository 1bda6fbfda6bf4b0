"""Takes a picture of every console page, as an operator and as a client, at three widths in light and dark.

The pages show `make demo` data, and before that an empty workspace. `pictures.py` is the command.
"""

import base64
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from infra.demo import texts
from infra.local.children import ROOT
from tests.browser import chromium
from tests.extensions.console import rows
from tests.extensions.console.in_browser.person import Person, ask
from tests.generated_clients.servers import Receiver, serving
from tests.reliability.runs import Run, read_credentials

_SIZES = ((1400, 900), (900, 900), (390, 844))
_TALLEST = 2_600  # pixels of a long page
_SCHEMES = ("light", "dark")
# Routes of files and of parts of pages.
_PARTS = re.compile(
    r"/(text|live|inbox|export|receipt|template|(assets|site)/{name}|photos/{client_id}|[a-z]+\.(csv|json))$"
)
_QUERIES = {"/convos": ("", "?tab=mine", "?tab=all", "?tab=all&q=room"), "/analytics": ("?days=30&by=country",)}
_EMPTY = ("/overview", "/convos", "/convos?tab=all", "/analytics", "/leads", "/agents", "/settings")
_SECONDS_TO_DELIVER = 5
_HOTEL = texts.HOTEL
_CONVERSATION = "demo-photo"
_IMAGE = "https://harbour.example.com/rooms/12.jpg"
_ERASURE = {"userID": "demo-unknown", "reference": "Request 2026-114"}
_MESSAGES: list[Any] = [
    {"from": "human", "item": {"text": "Hello! Is room 12 free from Friday?\nWe are two adults and a dog."}},
    {"from": "bot", "item": {"text": "It is. See https://harbour.example.com/rooms/12 for photos.", "image": _IMAGE}},
    {"from": "bot", "item": {"text": "Would you like to book?", "choices": [{"name": "Book"}, {"name": "Later"}]}},
    {"from": "human", "item": {"text": "Can I talk to a person about the dog?"}},
]

# Organisations beside the demonstration's, with an agent's title and description, and people.
_NEIGHBOURS = (
    ("Canal Museum", "Museum guide", "Opening hours, tickets and tours.", ("Amir Benali", "Julia Stern")),
    ("Northern Ferries", "Ferry desk", "Timetables, delays and refunds.", ("Elin Dahl", "Tom Archer", "Rosa Lind")),
    ("Market Hall", "Stall finder", "Shops, opening hours and parking.", ("Pim de Groot",)),
)


class Page(NamedTuple):
    """A page's address within the workspace, and the name of its pictures."""

    path: str
    name: str


def take(person: Person, folder: Path) -> None:
    """Take the pictures of an empty workspace, fill the workspace, and take the pictures of all pages."""
    folder.mkdir(parents=True, exist_ok=True)
    take_all(person, folder, "signed-out", pages(person.run, {rows.ALL}))
    person.sign_in_as_operator()
    take_all(person, folder, "empty", (Page(path, _name(path)) for path in _EMPTY))
    receiver = Receiver()
    with serving(receiver):
        fill(person.run, f"http://127.0.0.1:{receiver.server_port}/cams")
    take_people(person, folder)


def take_people(person: Person, folder: Path) -> None:
    """Take the pictures of all pages that an operator and a client see."""
    person.sign_in_as_operator()
    take_all(person, folder, "operator", pages(person.run, rows.MAY[rows.OPERATOR] | {rows.OWN}))
    be_client(person)
    take_all(person, folder, "client", pages(person.run, rows.MAY[rows.ADMIN]))


def be_client(person: Person) -> None:
    """Sign in as the demonstration's client."""
    client: Any = read_credentials(person.run.directory)["client"]
    person.sign_in(client["password"], client["email"])


def take_all(person: Person, folder: Path, role: str, pages: Iterable[Page]) -> None:
    """Take six pictures of each page. Long pages are cut."""
    for page in pages:
        person.open(page.path)
        for width, height in _SIZES:
            chromium.resize(person.driver, width, height)
            whole = person.driver.execute_script("return document.documentElement.scrollHeight")
            chromium.resize(person.driver, width, max(height, min(whole, _TALLEST)))
            for scheme in _SCHEMES:
                person.prefer(scheme)
                taken = person.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
                (folder / f"{role}-{page.name}-{width}-{scheme}.png").write_bytes(base64.b64decode(taken["data"]))
        sys.stdout.write(f"{role}-{page.name}\n")


def pages(run: Run, may: set[str]) -> Iterator[Page]:
    """Yield each page that these people may open. Signed-out people have no ids."""
    ids = {} if may == {rows.ALL} else record_ids(run)
    for (method, route), row in rows.ROWS.items():
        below = route.removeprefix("/console/{workspace}")
        if method == "GET" and row.who in may and below != route and not _PARTS.search(route):
            named = below.replace("{tool_id}/versions/{number}", "{tool_id}/versions/{tool_number}")
            named = named.replace("/messages/{message_id}", "?change={message_id}")  # where the transcript links to
            path = re.sub(r"{(\w+)}", lambda match: ids.get(match[1], "unknown"), named)
            for query in _QUERIES.get(below, ("",)):
                yield Page(path + query, _name(re.sub("[{}]", "", below) + query))
    if rows.OPERATOR in may:
        failing = f"/settings/webhooks/{ids['failing_webhook_id']}"
        yield Page(failing, "settings-webhooks-failing")
        yield Page(f"{failing}/deliveries/{ids['failed_delivery_id']}", "settings-webhooks-failed-delivery")
    yield Page("/agents/unknown" if ids else "/password/unknown", "error")


def record_ids(run: Run) -> dict[str, str]:
    """Return the ids of one record of each kind."""
    tool = ask(run, "GET", f"/v3/agents/{_HOTEL}/tools")["data"][0]["id"]
    # `make demo` adds a webhook whose deliveries fail.
    hook, failing = sorted((one["id"] for one in ask(run, "GET", "/v3/webhooks")["data"]), reverse=True)
    failures = ask(run, "GET", f"/v3/webhooks/{failing}/deliveries?status=failed")["data"]
    versions = {
        record: ask(run, "GET", f"/v3/{record}/versions")["data"] for record in (f"agents/{_HOTEL}", f"tools/{tool}")
    }
    number, tool_number = (one[-1]["number"] for one in versions.values())
    return {
        "agent_id": _HOTEL,
        "convo_id": _CONVERSATION,
        "lead_id": ask(run, "GET", f"/v3/leads?agentId={_HOTEL}")["data"][0]["id"],
        "org_id": texts.ORGANISATION,
        "client_id": next(iter(texts.CLIENTS)),
        "webhook_id": hook,
        "delivery_id": ask(run, "GET", f"/v3/webhooks/{hook}/deliveries")["data"][0]["id"],
        "failing_webhook_id": failing,
        "failed_delivery_id": next(one["id"] for one in failures if one["type"] != "webhook_test"),
        "message_id": ask(run, "GET", f"/v3/agents/{_HOTEL}/convos/{_CONVERSATION}/messages")["data"][0]["mid"],
        "tool_id": tool,
        "number": str(number),
        "tool_number": str(tool_number),
        "erasure_id": ask(run, "POST", "/v3/erasures", {"erasure": _ERASURE})["data"]["id"],
    }


def demonstrate(run: Run) -> None:
    """Add the data of `make demo`."""
    demonstration = [sys.executable, "-m", "infra.demo", "--state", str(run.directory)]
    subprocess.run(demonstration, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)


def fill(run: Run, receiver: str) -> None:
    """Add `make demo` data, neighbours, a conversation with an image, versions, tokens, and webhook deliveries."""
    demonstrate(run)
    for neighbour in _NEIGHBOURS:
        _add_organisation(run, *neighbour)
    metadata = {"userName": "Iris de Boer", "userEmail": "iris@acme.example", "userBrowser": "Safari"}
    earlier = [
        {"from": "human", "messages": [{"item": {"text": "Is breakfast included in the price of a double room?"}}]}
    ]
    body = {"metadata": {**metadata, "state": "ended_chat"}, "turns": earlier}
    ask(run, "POST", f"/agents/{_HOTEL}/interact/demo-earlier/state", body)
    lead = {"agentId": _HOTEL, "name": metadata["userName"], "email": metadata["userEmail"], "convoId": _CONVERSATION}
    ask(run, "POST", "/v3/leads", {"lead": lead})
    captured = {"country": "NL", "page": "https://harbour.example.com/rooms"}
    state = {"state": "requested_chat", "tags": ["dog", "booking"]}
    converse_with = {"userPlatform": "iOS", "origin": "web-chat", **metadata, **state}
    body = {"metadata": converse_with, "turns": [{"from": one["from"], "messages": [one]} for one in _MESSAGES]}
    ask(run, "POST", f"/agents/{_HOTEL}/interact/{_CONVERSATION}/state", body)
    noted = (
        f"Noor Visser, {time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime())} UTC:\nDogs are welcome in rooms 10 to 19."
    )
    changes = {"capturedVariables": captured, "notes": noted}
    ask(run, "PATCH", f"/v3/agents/{_HOTEL}/convos/{_CONVERSATION}", {"conversation": changes})
    prompt = "You are the concierge of the Harbour Hotel.\nBe brief and warm.\nDogs are welcome in rooms 10 to 19."
    ask(run, "PATCH", f"/v3/agents/{_HOTEL}", {"agent": {"vg_systemPrompt": prompt, "vg_temperature": 0.4}})
    tool = ask(run, "GET", f"/v3/agents/{_HOTEL}/tools")["data"][0]["id"]
    ask(run, "PATCH", f"/v3/tools/{tool}", {"tool": {"description": "Find free rooms, and their prices."}})
    for name, days in (("Nightly export", 30), ("Bot on the site", 365)):
        ask(run, "POST", "/v3/tokens", {"token": {"name": name, "expiresInSeconds": days * 86_400}})
    events = ["lead_captured", "conversation_state_changed"]
    hook = {"url": receiver, "events": events, "description": "Customer database"}
    made = ask(run, "POST", "/v3/webhooks", {"webhook": hook})["data"]
    for _ in range(3):
        ask(run, "POST", f"/v3/webhooks/{made['id']}/test")
    time.sleep(_SECONDS_TO_DELIVER)


def _add_organisation(run: Run, name: str, title: str, description: str, people: Iterable[str]) -> None:
    """Add an organisation with an agent and people, without conversations."""
    word = name.split()[0].lower()
    ask(run, "POST", f"/v2/agents/{word}-agent", {"agentPlatform": "vg", "title": title, "description": description})
    ask(run, "POST", f"/v2/orgs/{word}", {"name": name, "widgetIDs": [f"{word}-agent"]})
    for person in people:
        first = person.split()[0].lower()
        body = {"name": person, "email": f"{first}@{word}.example", "orgId": word}
        ask(run, "POST", f"/v2/clients/{word}-{first}", body)


def _name(path: str) -> str:
    return re.sub(r"\W+", "-", path).strip("-") or "start"
