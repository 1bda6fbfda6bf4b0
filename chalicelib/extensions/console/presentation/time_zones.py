"""The time zones that the pages suggest, and the zones that a typed text may mean. The module performs no I/O."""

from difflib import get_close_matches
from typing import Any

# The suggested time zones. The field also accepts any other time zone name.
ZONES = (
    "UTC", "Africa/Cairo", "Africa/Casablanca", "Africa/Johannesburg", "Africa/Lagos", "Africa/Nairobi",
    "America/Anchorage", "America/Argentina/Buenos_Aires", "America/Bogota", "America/Caracas", "America/Chicago",
    "America/Denver", "America/Halifax", "America/Lima", "America/Los_Angeles", "America/Mexico_City",
    "America/New_York", "America/Paramaribo", "America/Phoenix", "America/Santiago", "America/Sao_Paulo",
    "America/St_Johns", "America/Toronto", "America/Vancouver", "Asia/Baghdad", "Asia/Bangkok", "Asia/Colombo",
    "Asia/Dhaka", "Asia/Dubai", "Asia/Ho_Chi_Minh", "Asia/Hong_Kong", "Asia/Jakarta", "Asia/Jerusalem",
    "Asia/Kabul", "Asia/Karachi", "Asia/Kathmandu", "Asia/Kolkata", "Asia/Kuala_Lumpur", "Asia/Manila",
    "Asia/Riyadh", "Asia/Seoul", "Asia/Shanghai", "Asia/Singapore", "Asia/Taipei", "Asia/Tashkent", "Asia/Tehran",
    "Asia/Tokyo", "Asia/Yangon", "Atlantic/Azores", "Atlantic/Reykjavik", "Australia/Adelaide",
    "Australia/Brisbane", "Australia/Darwin", "Australia/Melbourne", "Australia/Perth", "Australia/Sydney",
    "Europe/Amsterdam", "Europe/Athens", "Europe/Belgrade", "Europe/Berlin", "Europe/Brussels", "Europe/Bucharest",
    "Europe/Budapest", "Europe/Copenhagen", "Europe/Dublin", "Europe/Helsinki", "Europe/Istanbul", "Europe/Kyiv",
    "Europe/Lisbon", "Europe/London", "Europe/Luxembourg", "Europe/Madrid", "Europe/Moscow", "Europe/Oslo",
    "Europe/Paris", "Europe/Prague", "Europe/Riga", "Europe/Rome", "Europe/Sofia", "Europe/Stockholm",
    "Europe/Tallinn", "Europe/Vienna", "Europe/Vilnius", "Europe/Warsaw", "Europe/Zurich", "Pacific/Auckland",
    "Pacific/Fiji", "Pacific/Honolulu",
)  # fmt: skip
_ZONE_OF_CITY = {zone.rpartition("/")[2].casefold(): zone for zone in ZONES}
_MAX_NEAREST, _LIKENESS = 3, 0.7
_MAX_NAME = 64  # characters of a zone's name, as in the form


def named(text: str) -> str:
    """Return the suggested time zone with this city, such as Europe/Amsterdam for Amsterdam, or the text itself."""
    return _ZONE_OF_CITY.get(_city(text), text)


def with_named(values: dict[str, Any]) -> dict[str, Any]:
    """Return form values in which a city is the name of its time zone."""
    return {**values, "timezone": named(values["timezone"])} if "timezone" in values else values


def nearest(text: str) -> list[str]:
    """Return up to three suggested time zones whose cities begin with the text, or are spelled much like it."""
    city = _city(text)[:_MAX_NAME].rpartition("/")[2]
    alike = get_close_matches(city, _ZONE_OF_CITY, _MAX_NEAREST, _LIKENESS)
    zones = [*(_beginning(city) if city else []), *(_ZONE_OF_CITY[one] for one in alike)]
    return [*dict.fromkeys(zones)][:_MAX_NEAREST]


def _beginning(city: str) -> list[str]:
    """Return the zone of this city, or the zones of all cities that begin with the text."""
    begun = [one for one in _ZONE_OF_CITY if one.startswith(city)]
    return [_ZONE_OF_CITY[one] for one in ([city] if city in _ZONE_OF_CITY else begun)]


def _city(text: str) -> str:
    return text.strip().replace(" ", "_").casefold()
