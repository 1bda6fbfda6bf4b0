"""Helpers that read all pages of a list or an export."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode, urljoin

from chalicelib.http import files
from tests.api import Answer, Api


def follow_cursors(api: Api, path: str) -> Iterator[Answer]:
    """Yield the responses for all pages of a list. The last response contains no `nextCursor`."""
    cursor = ""
    for _ in range(1_000):
        answer = api.get(path + cursor)
        assert answer.status == 200, answer.text
        yield answer
        if "nextCursor" not in answer.json:
            return
        cursor = f"{'&' if '?' in path else '?'}cursor={quote(answer.json['nextCursor'], safe='')}"
    raise AssertionError("the list does not end")


def read_pages(api: Api, path: str, limit: int, name: str = "limit") -> list[list[Any]]:
    """Return all pages of a bounded list, whose responses contain `hasMore`. `name` is the parameter of the limit."""
    answers = [*follow_cursors(api, f"{path}{'&' if '?' in path else '?'}{name}={limit}")]
    assert [one.json["hasMore"] for one in answers] == [True] * (len(answers) - 1) + [False]
    return [one.data for one in answers]


def flatten(pages: list[list[Any]]) -> list[Any]:
    """Return the records on all pages."""
    return [record for page in pages for record in page]


def read_export(api: Api, path: str, form: str, **query: Any) -> list[str]:
    """Return the texts of all pages of an export. Each response links to the next page."""
    address, texts = f"{path}?{urlencode({'format': form, **query}, doseq=True)}", []
    while True:
        answer = api.get(address)
        assert answer.status == 200, answer.text
        assert answer.headers["content-type"] == files.MEDIA[form]
        texts.append(answer.text)
        if "link" not in answer.headers:
            return texts
        target, _, parameters = answer.headers["link"].partition(">;")
        assert parameters.strip() == 'rel="next"'
        address = urljoin(address, target[1:])
