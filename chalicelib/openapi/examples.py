"""Reads the operation examples from `examples.json` in this folder and the extension folders.

Each file maps a view's name to its examples, or to the name of an entry with the same examples. An example has a
summary, the response and, if there is a body, the request. Tests run the examples in file order, but deletions last,
and the deletion of the agent at the end. They skip entries that begin with `_`, because their real responses are too
long. `CAMS_UPDATE_DOCS=1 make test ARGS=tests/openapi/test_examples.py` writes the responses.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from chalicelib import extensions


class Example(NamedTuple):
    """An example request and its response. `request` is None if there is no body."""

    summary: str
    request: dict[str, Any] | None = None
    answer: dict[str, Any] | None = None


FILES = [Path(__file__).with_suffix(".json"), *extensions.files("examples.json")]
_READ: dict[str, Any] = {view: read for file in FILES for view, read in json.loads(file.read_text("utf-8")).items()}


def _parse(examples: dict[str, Any]) -> dict[str, Example]:
    return {name: Example(**example) for name, example in examples.items()}


# Examples by view, in the order in which the tests run them.
EXAMPLES: dict[str, dict[str, Example]] = {
    view: _parse(_READ[view])
    for view in sorted(_READ, key=lambda view: (view.startswith("delete_"), view == "delete_agent"))
    if isinstance(_READ[view], dict) and not view.startswith("_")
}


def of(view: str) -> dict[str, Example]:
    """Return a view's examples, by name."""
    read = _READ.get(view, {})
    return _parse(_READ[read] if isinstance(read, str) else read)
