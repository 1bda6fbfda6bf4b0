"""Demonstration content: agents, tools, people and their dialogues (`dialogues.txt`)."""

from pathlib import Path
from typing import Any, NamedTuple

ORGANISATION = "demo-harbour"
HOTEL, SHOP = "demo-hotel", "demo-bikes"
AGENTS: dict[str, dict[str, Any]] = {
    HOTEL: {
        "title": "Harbour Hotel",
        "description": "Answers guests, and finds them a room.",
        "vg_systemPrompt": "You are the concierge of the Harbour Hotel. Be brief and warm.",
        "lang": "en",
        "starred": True,
    },
    SHOP: {
        "title": "Harbour Bikes",
        "description": "Helps with rentals, repairs and orders.",
        "vg_systemPrompt": "You help the customers of Harbour Bikes, in their language.",
        "lang": "nl",
    },
}


def _tool(name: str, description: str, method: str, path: str, field: str) -> dict[str, Any]:
    place = "query" if method == "GET" else "body"
    return {
        "name": name,
        "description": description,
        "method": method,
        "serverUrl": f"https://harbour.example.com/{path}",
        "fields": [{"key": field, "in": place, "type": "string", "required": True}],
    }


TOOLS: dict[str, list[dict[str, Any]]] = {
    HOTEL: [
        _tool("find_rooms", "Find free rooms.", "GET", "rooms", "arrival"),
        _tool("book_room", "Book a room for a guest.", "POST", "bookings", "email"),
    ],
    SHOP: [_tool("track_order", "Say where an order is.", "GET", "orders", "number")],
}
CLIENTS: dict[str, dict[str, Any]] = {
    "demo-noor": {
        "name": "Noor Visser",
        "email": "noor@harbour.example",
        "notificationsSettings": {"notifyThrough": "email", "notifyIf": "all"},
    },
    "demo-sam": {"name": "Sam Okafor", "email": "sam@harbour.example"},
}

# Each language's weight, and the countries and names of its speakers.
LANGUAGES = {"en": 40, "nl": 26, "de": 16, "fr": 11, "es": 7}
COUNTRIES = {
    "en": ["GB", "GB", "GB", "US", "US", "IE", "AU"],
    "nl": ["NL", "NL", "NL", "NL", "BE"],
    "de": ["DE", "DE", "DE", "AT", "CH"],
    "fr": ["FR", "FR", "BE"],
    "es": ["ES", "ES", "MX"],
}
NAMES = {
    "en": [
        *(
            "Olivia Reed",
            "Jack Turner",
            "Amelia Shaw",
            "Harry Cole",
            "Grace Lin",
            "Mia Patel",
            "Leo Grant",
            "Ruby Walsh",
        ),
        *(
            "Theo Marsh",
            "Nadia Khan",
            "Owen Price",
            "Zoe Adler",
            "Isaac Boyd",
            "Priya Nair",
            "Ella Frost",
            "Dean Hughes",
        ),
    ],
    "nl": [
        *("Sanne de Vries", "Daan Bakker", "Fleur Jansen", "Bram Smit", "Lotte Mulder", "Thijs Bos", "Eva Kok"),
        *("Ruben Dijkstra", "Yara Peters", "Joris Kuiper", "Noa Willems", "Karim Haddad"),
    ],
    "de": [
        "Lena Wagner",
        "Jonas Keller",
        "Mara Vogel",
        "Felix Braun",
        "Nele Krause",
        "Emil Roth",
        "Ida Lorenz",
        "Can Yilmaz",
    ],
    "fr": ["Chloé Martin", "Louis Petit", "Manon Girard", "Hugo Morel", "Jade Faure", "Inès Roy", "Paul Lefèvre"],
    "es": ["Lucía Romero", "Mateo Vega", "Carla Ortiz", "Diego Cano", "Alba Serra", "Iván Prieto"],
}
ORIGINS = {"web-chat": 70, "chatapp": 18, "community": 8, "gb-chat": 4}
BROWSERS = {"Chrome": 55, "Safari": 26, "Firefox": 11, "Edge": 8}
PLATFORMS = {"iOS": 30, "Android": 28, "Windows": 26, "macOS": 12, "Linux": 4}


WEBHOOK = {"url": "https://harbour.example.com/hooks", "description": "Old system", "events": ["organisation_created"]}


class Dialogue(NamedTuple):
    """Alternating lines of the visitor and the agent, and the subject's tag."""

    tag: str
    lines: tuple[str, ...]


# Both are keyed by agent and language. A question is a visitor's to a person, who answers it.
DIALOGUES: dict[tuple[str, str], list[Dialogue]] = {}
QUESTIONS: dict[tuple[str, str], list[Dialogue]] = {}
# The visitor's request for a person and the agent's reply, keyed by language.
HANDOFF: dict[str, tuple[str, ...]] = {}
for _text in Path(__file__).with_name("dialogues.txt").read_text("utf-8").strip().split("\n\n"):
    _head, *_lines = _text.split("\n")
    if _head.startswith("handoff "):
        HANDOFF[_head.split()[1]] = tuple(_lines)
    else:
        *_kind, _agent, _language, _tag = _head.split()
        _dialogues = QUESTIONS if _kind else DIALOGUES
        _dialogues.setdefault((_agent, _language), []).append(Dialogue(_tag, tuple(_lines)))
