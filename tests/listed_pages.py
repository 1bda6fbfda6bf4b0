"""Read all pages of a bounded list."""

from typing import Any

from tests.api import Api


def read_pages(api: Api, path: str, limit: int) -> list[list[Any]]:
    """Return all pages of a bounded list. Follow `nextCursor` until `hasMore` is false."""
    pages, cursor = [], ""
    while True:
        answer = api.get(f"{path}{'&' if '?' in path else '?'}limit={limit}{cursor}")
        pages.append(answer.data)
        assert answer.json["hasMore"] is ("nextCursor" in answer.json)
        if not answer.json["hasMore"]:
            return pages
        cursor = f"&cursor={answer.json['nextCursor']}"


def flatten(pages: list[list[Any]]) -> list[Any]:
    """Return the records of all pages."""
    return [record for page in pages for record in page]
