"""The words of the demonstration: its agents, tools and people, and what is said."""

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
TOOLS: dict[str, list[dict[str, Any]]] = {
    HOTEL: [
        {
            "name": "find_rooms",
            "description": "Find free rooms.",
            "method": "GET",
            "serverUrl": "https://rooms.example.com/free",
            "fields": [
                {"key": "arrival", "in": "query", "type": "string", "required": True},
                {"key": "nights", "in": "query", "type": "number", "required": True},
            ],
        },
        {
            "name": "book_room",
            "description": "Book a room for a guest.",
            "method": "POST",
            "serverUrl": "https://rooms.example.com/bookings",
            "fields": [{"key": "email", "in": "body", "type": "string", "required": True}],
        },
    ],
    SHOP: [
        {
            "name": "track_order",
            "description": "Say where an order is.",
            "method": "GET",
            "serverUrl": "https://orders.example.com/track",
            "fields": [{"key": "number", "in": "query", "type": "string", "required": True}],
        }
    ],
}
CLIENTS: dict[str, dict[str, Any]] = {
    "demo-noor": {
        "name": "Noor Visser",
        "email": "noor@harbour.example",
        "notificationsSettings": {"notifyThrough": "email", "notifyIf": "all"},
    },
    "demo-sam": {"name": "Sam Okafor", "email": "sam@harbour.example"},
}

# The weight of each language, and the countries and names of those who speak it.
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
        "Olivia Reed",
        "Jack Turner",
        "Amelia Shaw",
        "Harry Cole",
        "Grace Lin",
        "Mia Patel",
        "Leo Grant",
        "Ava Moss",
    ],
    "nl": ["Sanne de Vries", "Daan Bakker", "Fleur Jansen", "Bram Smit", "Lotte Mulder", "Thijs Bos", "Eva Kok"],
    "de": ["Lena Wagner", "Jonas Keller", "Mara Vogel", "Felix Braun", "Nele Krause", "Emil Roth"],
    "fr": ["Chloé Martin", "Louis Petit", "Manon Girard", "Hugo Morel", "Jade Faure"],
    "es": ["Lucía Romero", "Mateo Vega", "Carla Ortiz", "Diego Cano"],
}
ORIGINS = {"web-chat": 70, "chatapp": 18, "community": 8, "gb-chat": 4}
BROWSERS = {"Chrome": 55, "Safari": 26, "Firefox": 11, "Edge": 8}
PLATFORMS = {"iOS": 30, "Android": 28, "Windows": 26, "macOS": 12, "Linux": 4}


class Dialogue(NamedTuple):
    """What is said, the visitor first and the agent in turn, and the tag of the subject."""

    tag: str
    lines: tuple[str, ...]


DIALOGUES: dict[tuple[str, str], list[Dialogue]] = {
    (HOTEL, "en"): [
        Dialogue("booking", (
            "Hi, do you have a double room for Friday?",
            "Good morning! Yes, one with a view of the harbour, for 142 euros a night.",
            "Is breakfast included?",
            "It is: from seven to half past ten, on the terrace if the sun shines.",
            "Lovely. Please hold it for me.",
            "Done. It is held until six this evening.",
        )),
        Dialogue("arrival", (
            "Can we check in at noon?",
            "Rooms are ready at three, but we keep your bags from eight in the morning.",
            "And is there parking?",
            "In the garage next door: 18 euros a day.",
        )),
        Dialogue("facilities", (
            "Are dogs allowed?",
            "Very welcome, in all rooms on the ground floor.",
        )),
    ],
    (HOTEL, "nl"): [
        Dialogue("booking", (
            "Hebben jullie nog een kamer voor twee nachten in het weekend?",
            "Jazeker: een tweepersoonskamer voor 128 euro per nacht.",
            "Kan ik gratis annuleren?",
            "Tot 24 uur voor aankomst, zonder kosten.",
        )),
        Dialogue("arrival", (
            "Hoe laat kunnen we inchecken?",
            "Vanaf drie uur. Je koffers kun je eerder kwijt.",
            "Fijn, dank je wel!",
            "Graag gedaan. Goede reis!",
        )),
    ],
    (HOTEL, "de"): [
        Dialogue("booking", (
            "Guten Tag, ist nächste Woche noch ein Einzelzimmer frei?",
            "Ja, von Montag bis Donnerstag, für 96 Euro pro Nacht.",
            "Ist das mit Frühstück?",
            "Das Frühstück ist dabei.",
            "Gut, bitte reservieren.",
            "Ist reserviert. Wir freuen uns auf Sie!",
        )),
        Dialogue("facilities", (
            "Gibt es WLAN im Zimmer?",
            "Ja, kostenlos und im ganzen Haus.",
        )),
    ],
    (HOTEL, "fr"): [
        Dialogue("booking", (
            "Bonjour, avez-vous une chambre familiale en août ?",
            "Bonjour ! Oui, à partir du 12, pour quatre personnes.",
            "À quel prix ?",
            "189 euros la nuit, petit déjeuner compris.",
        )),
    ],
    (HOTEL, "es"): [
        Dialogue("booking", (
            "Hola, ¿tienen habitación para esta noche?",
            "Sí, una doble por 135 euros.",
            "Perfecto, llegamos a las nueve.",
            "Muy bien. La recepción está abierta toda la noche.",
        )),
    ],
    (SHOP, "en"): [
        Dialogue("rental", (
            "How much is a bike for a day?",
            "A city bike is 12 euros, an electric one 28.",
            "Do you rent out helmets, too?",
            "They are free with every bike.",
        )),
        Dialogue("order", (
            "Where is my order 48213?",
            "It left our workshop this morning, and arrives tomorrow before noon.",
            "Great, thanks!",
            "Enjoy the ride!",
        )),
        Dialogue("repair", (
            "My brakes squeak. Can you fix that today?",
            "Bring it before two, and it is ready at five.",
            "What will it cost?",
            "About 25 euros with new pads.",
            "See you at one then.",
            "See you at one!",
        )),
    ],
    (SHOP, "nl"): [
        Dialogue("repair", (
            "Mijn band is lek. Kan ik zo langskomen?",
            "Ja hoor, we plakken hem terwijl je wacht.",
            "Wat kost dat?",
            "15 euro, en de koffie is gratis.",
        )),
        Dialogue("rental", (
            "Verhuren jullie ook bakfietsen?",
            "Ja, voor 45 euro per dag.",
        )),
        Dialogue("order", (
            "Wanneer wordt mijn fiets bezorgd?",
            "Donderdag tussen tien en twaalf.",
            "Kan het ook vrijdag?",
            "Ik heb het aangepast: vrijdag tussen tien en twaalf.",
        )),
    ],
    (SHOP, "de"): [
        Dialogue("rental", (
            "Kann ich ein E-Bike für das Wochenende mieten?",
            "Gern: 52 Euro für beide Tage.",
            "Brauche ich eine Kaution?",
            "100 Euro, die Sie am Sonntag zurückbekommen.",
        )),
    ],
    (SHOP, "fr"): [
        Dialogue("rental", (
            "Peut-on louer des vélos pour enfants ?",
            "Oui, à partir de quatre ans, 8 euros la journée.",
            "Merci beaucoup !",
            "Avec plaisir.",
        )),
    ],
    (SHOP, "es"): [
        Dialogue("repair", (
            "¿Reparáis bicicletas eléctricas?",
            "Sí, de todas las marcas.",
        )),
    ],
}  # fmt: skip

# The visitor asks for a person, and the agent's answer.
HANDOFF = {
    "en": ("Could I talk to a person, please?", "Of course. Somebody is with you in a moment."),
    "nl": ("Kan ik een medewerker spreken?", "Natuurlijk. Er komt zo iemand bij je."),
    "de": ("Kann ich mit einem Menschen sprechen?", "Natürlich. Gleich ist jemand für Sie da."),
    "fr": ("Puis-je parler à quelqu'un ?", "Bien sûr. Quelqu'un vous répond tout de suite."),
    "es": ("¿Puedo hablar con una persona?", "Claro. Enseguida le atiende alguien."),
}
