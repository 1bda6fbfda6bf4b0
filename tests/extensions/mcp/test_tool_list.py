"""The generated tools: they agree with the OpenAPI document, and the list is short enough for a model."""

import json
import re

from tests import generated_docs
from tests.extensions.mcp import tool_list
from tests.openapi.document import document

MOST_TOKENS = 8_000
CHARACTERS_PER_TOKEN = 4


def test_the_file_agrees_with_the_document() -> None:
    entries = json.loads(json.dumps(tool_list.generated(document())))
    if generated_docs.is_update():
        lines = ",\n".join(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) for entry in entries)
        tool_list.FILE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    stored = json.loads(tool_list.FILE.read_text(encoding="utf-8"))
    names = {entry["definition"]["name"] for entry in entries}
    assert [entry for entry in stored if entry["definition"]["name"] in names] == entries


def test_the_list_is_short_and_has_no_secrets() -> None:
    definitions = [entry["definition"] for entry in json.loads(tool_list.FILE.read_text(encoding="utf-8"))]
    text = json.dumps(definitions, ensure_ascii=False, separators=(",", ":"))
    assert len(definitions) == 30
    assert len(text) <= MOST_TOKENS * CHARACTERS_PER_TOKEN
    assert not re.search(r"(?i)secret|api_key|password", text)


def test_every_tool_states_all_hints_and_names_its_arguments() -> None:
    for entry in json.loads(tool_list.FILE.read_text(encoding="utf-8")):
        definition, is_read = entry["definition"], entry["method"] == "GET"
        assert re.fullmatch(r"[a-z_]{1,64}", definition["name"])
        assert len(definition["annotations"]) == 4
        assert definition["annotations"]["readOnlyHint"] is is_read
        properties = definition["inputSchema"]["properties"].keys()
        assert {*definition["inputSchema"].get("required", ()), *entry["query"], *entry["times"]} <= properties
        assert {*re.findall(r"{(\w+)}", entry["path"])} <= properties
        if entry["method"] == "DELETE":
            assert {"etag", "confirm"} <= {*definition["inputSchema"]["required"]}
