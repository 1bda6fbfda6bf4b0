"""Loads templates and texts in the person's language, for pages and emails.

Jinja2 and the templates are loaded on first use, so that they do not slow down API requests.
"""

import hashlib
import json
import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chalicelib import clock, errors, extensions
from chalicelib.extensions.console.presentation import (
    json_parts,
    marked_lines,
    member_names,
    template_filters,
    time_zones,
    visitor_names,
)
from chalicelib.extensions.console.search_pages import search_matches

if TYPE_CHECKING:
    from datetime import tzinfo

    from jinja2 import Environment

_FOLDER = Path(__file__).parent.parent
SOURCES, COMPILED = "templates", "compiled"
LANGUAGES = ("en", "nl")
_UTC = "UTC"
_HASH_LENGTH = 12
_RULE = "rule."
# The maximum length of a rule that is translated. Longer rules contain a person's text, and some texts make pattern
# matching very slow.
_MAX_RULE = 2_000


def texts(language: str, zone: "tzinfo | None" = None) -> "Texts":
    """Return the texts in a language, with which templates show times in a time zone, by default UTC."""
    return Texts(_read_texts(language), zone or clock.time_zone(_UTC))


@cache
def _read_texts(language: str) -> dict[str, str]:
    by_key: dict[str, str] = json.loads((_FOLDER / "texts" / f"{language}.json").read_text(encoding="utf-8"))
    return by_key


class Texts:
    """The texts in one language by key. `t("shown", count=5)` returns a key's text with its placeholders filled in.

    `zone` is the time zone of the times in these texts.
    """

    def __init__(self, by_key: dict[str, str], zone: "tzinfo") -> None:
        self._by_key = by_key
        self.zone = zone

    def __call__(self, key: str, **values: Any) -> str:
        """Return a key's text with its placeholders filled in."""
        return self._by_key[key].format(**values)

    def find(self, key: str) -> str | None:
        """Return a key's text, or None if there is no such key."""
        return self._by_key.get(key)

    def of_status(self, status: int) -> str:
        """Return the sentence for a response status."""
        return self._by_key.get(f"error.{status}", self._by_key["error.other"])

    def of_error(self, error: errors.ApiError) -> str:
        """Return the sentence for an error's code, or for its status if the code has none."""
        return self._by_key.get(f"error.{error.code}") or self.of_status(error.STATUS_CODE)

    def named(self, group: str, key: str) -> str:
        """Return the text for a key in a record, such as a state, or the key itself if it has no text."""
        return self._by_key.get(f"{group}.{key}", key)

    def all_named(self, group: str) -> list[tuple[str, str]]:
        """Return the keys in a group with their texts, in the order of the texts, such as languages by name."""
        named = [
            (key.removeprefix(f"{group}."), text) for key, text in self._by_key.items() if key.startswith(f"{group}.")
        ]
        return sorted(named, key=lambda entry: entry[1])

    def of_rule(self, rule: str) -> str:
        """Return the translation of an API rule, or the English rule if there is no translation."""
        for key, pattern in _rules() if len(rule) <= _MAX_RULE else ():
            if match := pattern.fullmatch(rule):
                return self(key, **match.groupdict())
        return rule


@cache
def _rules() -> list[tuple[str, re.Pattern[str]]]:
    """Return the API rules' text keys, each with a pattern that matches the English rule."""
    english = _read_texts(LANGUAGES[0])
    return [(key, _pattern(text)) for key, text in english.items() if key.startswith(_RULE)]


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", re.escape(text)))


def language_of(*records: dict[str, Any]) -> str:
    """Return the first supported language of these records: a client and its organisation. The default is English."""
    languages = (record.get("preferredLanguage") for record in records)
    return next((language for language in languages if language in LANGUAGES), LANGUAGES[0])


def zone_of(*records: dict[str, Any]) -> "tzinfo":
    """Return the first valid time zone of these records: a client and its organisation. The default is UTC."""
    for record in records:
        with suppress(ValueError):
            return clock.time_zone(record.get("timezone") or "")
    return clock.time_zone(_UTC)


def preferred_language(header: str) -> str:
    """Return the first supported language in an `Accept-Language` header. The default is English."""
    languages = (entry.strip().partition(";")[0].partition("-")[0].lower() for entry in header.split(","))
    return next((language for language in languages if language in LANGUAGES), LANGUAGES[0])


@cache
def environment() -> "Environment":
    """Return the template environment, with compiled templates in a deployment package and their sources otherwise."""
    from jinja2 import ChoiceLoader, Environment, FileSystemLoader, ModuleLoader, StrictUndefined

    templates = Environment(
        loader=ChoiceLoader([ModuleLoader(_FOLDER / COMPILED), FileSystemLoader(_FOLDER / SOURCES)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    templates.filters.update(template_filters.FILTERS)
    templates.filters.update(nearest_zones=time_zones.nearest, visitor_name=visitor_names.visitor_name)
    templates.filters.update(snippet=search_matches.snippet, marked=search_matches.marked)
    templates.filters.update({**member_names.FILTERS, **marked_lines.FILTERS, **json_parts.FILTERS})
    templates.globals["has"] = extensions.has
    templates.globals["assets"] = {file.name: hashed_name(file, text) for file, text in assets().items()}
    return templates


@cache
def assets() -> dict[Path, str]:
    """Return the static files and their contents."""
    return {file: file.read_text(encoding="utf-8") for file in sorted((_FOLDER / "assets").iterdir())}


def hashed_name(file: Path, text: str) -> str:
    """Return a file name that changes with the file's content."""
    return f"{file.stem}.{hashlib.sha256(text.encode()).hexdigest()[:_HASH_LENGTH]}{file.suffix}"
