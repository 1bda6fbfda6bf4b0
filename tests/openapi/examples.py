"""The placeholders for example values that differ in real responses, the examples' timestamp, and their files."""

import json
import re
from typing import Any

from chalicelib.openapi.examples import FILES

# The time at which all examples run, in Unix seconds.
NOW = 1_793_611_800
# Placeholders for generated values: ids with that timestamp, and invalid tokens and signing secrets. Each placeholder
# always means the same real value.
GENERATED = re.compile(r"[0-9a-z]*06fgz0x9w[0-9a-z]+|(?:cams_[a-z]+|whsec)_EXAMPLE[A-Z-]*")

WORKSPACE_ID = "06fgz0x9w4h2d7kq5t8n3v6c1a"
# Placeholders, by path variable.
IDS = {
    "delivery_id": "06fgz0x9w4z8d4v1k6p9n3c5xq",
    "erasure_id": "06fgz0x9w4w7d3s9k2c6q8x1vm",
    "lead_id": "k7q2m9x4v1h06fgz0x9w4w3p8b5r1n6t9y4dm",
    "token_id": "06fgz0x9w4t7x2v8b5r1j9n3qg",
    "tool_id": "k7q2m9x4v1h06fgz0x9w4n5t2w8d6g3z1cqr",
    "webhook_id": "06fgz0x9w4x5k2n7d9q4t1v8zc",
}


def record_answers(answers: dict[tuple[str, str], Any]) -> None:
    """Write the example responses by view and name, each on a separate line."""
    for file in FILES:
        views: dict[str, Any] = json.loads(file.read_text("utf-8"))
        for view, name in answers:
            if view in views:
                views[view][name]["answer"] = answers[view, name]
        file.write_text(_text(views) + "\n", "utf-8")


def _text(node: Any, depth: int = 0) -> str:
    """Return JSON with a separate line for each member, down to the members of each example."""
    if depth == 3 or not isinstance(node, dict):
        return json.dumps(node, ensure_ascii=False)
    indent = "  " * depth
    members = (f"{indent}  {json.dumps(name)}: {_text(inner, depth + 1)}" for name, inner in node.items())
    return "{\n" + ",\n".join(members) + f"\n{indent}}}"
