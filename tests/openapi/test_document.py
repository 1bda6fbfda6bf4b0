"""The OpenAPI document is valid and complete, and matches the service."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from app import app
from chalicelib.http import auth
from chalicelib.openapi import schemas
from tests.api import Api
from tests.openapi.document import Operation, broken_rules, document, member_of, operations, resolved
from tests.operations import ROUTES, scope_of
from tests.selection import one_of_each

MEMBERS: dict[str, Any] = json.loads((Path(__file__).parents[1] / "contract" / "members.json").read_text("utf-8"))
# The contract's names for the rows in section 5.
OPENED_BY = {
    "v3": "workspace key or access token",
    "edge": "workspace key or agent key (`SECRET_API_KEY`)",
    "visitor": "workspace key or agent key (`SECRET_API_KEY`) or visitor token for the conversation",
    "workspace": "workspace key",
}
WITH_BODY = [one for one in operations() if one.body]

# The response component for each resource in `members.json`.
COMPONENTS = {
    "agent_v3": "AgentV3",
    "agent_v2": "AgentV2",
    "tool": "Tool",
    "tool_field": "ToolField",
    "convo_meta": "ConvoMeta",
    "message": "Message",
    "turn_in": "TurnIn",
    "turn_out": "TurnOut",
    "analytics": "AnalyticsRecord",
    "client": "Client",
    "organisation": "Organisation",
    "created_conversation": "CreatedConversation",
    "conversation_in": "ConversationIn",
    "state_in": "StateIn",
    "state_out": "StateOut",
}
# Responses omit all other members that have no value.
NULL_IN_ANSWERS = {"lastUsedAt", "description", "responseStatus", "durationMs", "error"}


def null_members(node: Any) -> Iterator[str]:
    """Return the names of the members that are null."""
    if isinstance(node, dict):
        yield from (name for name, value in node.items() if value is None)
        node = list(node.values())
    for one in node if isinstance(node, list) else ():
        yield from null_members(one)


def named(operation: Operation) -> str:
    return operation.name


# ---- valid and complete ---------------------------------------------------------------------------


def test_the_document_is_valid_openapi() -> None:
    assert document()["openapi"].startswith("3.1.")
    assert list(OpenAPIV31SpecValidator(document()).iter_errors()) == []


def test_the_document_has_exactly_the_guarded_routes_of_the_app() -> None:
    served = {(method, path) for path in app.routes if not auth.is_open(path) for method in app.routes[path]}
    assert {(one.method, one.path) for one in operations()} == served


def test_every_operation_has_a_unique_name_and_a_summary() -> None:
    names = [one.name for one in operations()]
    assert len(set(names)) == len(names)
    assert [one.name for one in operations() if not one.description["summary"]] == []


def test_every_parameter_has_a_description() -> None:
    parameters = document()["components"]["parameters"]
    assert [name for name, one in parameters.items() if not one.get("description")] == []


def test_the_document_does_not_cite_sections_of_the_specification() -> None:
    assert "§" not in json.dumps(document(), ensure_ascii=False)


def test_every_reference_resolves_and_every_component_is_used() -> None:
    text = json.dumps(document())
    used = set(re.findall(r'"#/components/(\w+/[\w-]+)"', text))
    defined = {f"{kind}/{name}" for kind, named in document()["components"].items() for name in named}
    assert used == {one for one in defined if not one.startswith("securitySchemes/")}


def schemas_in(node: Any) -> Iterator[dict[str, Any]]:
    """Yield every object in the document that may be a schema."""
    if isinstance(node, dict):
        yield node
        node = [value for name, value in node.items() if name not in ("example", "examples")]
    for one in node if isinstance(node, list) else ():
        yield from schemas_in(one)


def test_every_enumeration_is_a_component_of_its_own_without_null() -> None:
    named = [one for one in document()["components"]["schemas"].values() if "enum" in one]
    values = [tuple(one["enum"]) for one in named]
    assert len(set(values)) == len(values) > 5
    outside = [document()["paths"], document()["webhooks"]]
    assert [one for one in schemas_in(outside) if "enum" in one] == []
    assert [one for one in schemas_in(document()["components"]) if "enum" in one] == named
    assert [one for one in named if None in one["enum"] or one["type"] != "string"] == []


def test_no_pattern_lists_the_values_of_an_enumeration() -> None:
    patterns = [one["pattern"] for one in schemas_in(document()) if isinstance(one.get("pattern"), str)]
    assert patterns
    assert [one for one in patterns if re.fullmatch(r"\^\(?\w+(\|\w+)+\)?\$", one)] == []


def test_every_moment_in_text_has_its_format() -> None:
    """Members such as `createdAt` contain an ISO 8601 timestamp if they are text, and Unix time otherwise."""
    moments = {
        f"{name}.{member}": schema.get("format")
        for name, one in document()["components"]["schemas"].items()
        for member, schema in one.get("properties", {}).items()
        if member.endswith("At") and "string" in schema.get("type", ())
    }
    assert len(moments) > 10
    assert {name for name, format_ in moments.items() if format_ != "date-time"} == set()


def test_every_response_and_body_is_a_component() -> None:
    schemas = [one.answer["schema"] for one in operations() if not one.is_file] + [
        one.body["schema"] for one in WITH_BODY
    ]
    assert [one for one in schemas if one.keys() != {"$ref"}] == []
    assert [one for one in schemas_in(document()) if "allOf" in one] == []


def test_the_envelopes_carry_the_name_of_their_data() -> None:
    components = document()["components"]["schemas"]
    envelopes = {
        name: one["properties"]["data"]
        for name, one in components.items()
        if name.endswith("Answer") and "data" in one["properties"]
    }
    assert {"AgentV3Answer", "AgentV3PageAnswer", "ToolAnswer", "ConvoMetaListAnswer"} <= envelopes.keys()
    for name, data in envelopes.items():
        record = data.get("items", data)["$ref"].rpartition("/")[2]
        of_list = "Page" if "hasMore" in components[name]["properties"] else "List"
        assert name == f"{record}{of_list if 'items' in data else ''}Answer"


def test_the_state_is_typed() -> None:
    assert member_of("StateOut", "chatState") == document()["components"]["schemas"]["ConvoMeta"]


def test_the_tables_of_the_document_name_only_existing_members() -> None:
    components = document()["components"]["schemas"]
    assert {f"{model}.{member}" for model in schemas.notes() for member in schemas.notes_of(model)} <= {
        f"{name}.{member}" for name, schema in components.items() for member in schema.get("properties", ())
    }


def declaration(operation: Operation) -> Any:
    """Return an operation's declaration in the code (`http.operation`)."""
    return app.routes[operation.path][operation.method].view_function.operation


def test_an_operation_names_its_credentials() -> None:
    for operation in operations():
        last = operation.description["description"].splitlines()[-1]
        opened_by = OPENED_BY[ROUTES[operation.route]["credential"]]
        scope = f" with the scope `{scope_of(operation.route)}`" if "access token" in opened_by else ""
        assert last == f"Credentials: {opened_by}{scope}.", operation.name


def test_core_comes_before_the_extensions_and_each_operation_names_its_extension() -> None:
    tags = {tag["name"]: tag.get("x-extension") for tag in document()["tags"]}
    core = [name for name, extension in tags.items() if extension is None]
    assert [*tags][: len(core)] == core
    assert document()["x-tagGroups"] == [
        {"name": "Core", "tags": core},
        {"name": "Extensions", "tags": [*tags][len(core) :]},
    ]
    for operation in operations():
        (tag,), extension = operation.description["tags"], declaration(operation).extension
        assert tags[tag] == operation.description.get("x-extension") == (extension or None)
        assert tag == (f"extension: {extension}" if extension else declaration(operation).tag)


def test_a_viewer_asks_for_one_credential() -> None:
    assert document()["components"]["securitySchemes"].keys() == {"bearer"}
    assert document()["security"] == [{"bearer": []}]
    assert [one.name for one in operations() if "security" in one.description] == []


# ---- bodies, members, parameters ------------------------------------------------------------------


def test_a_body_is_optional_only_if_the_document_declares_it(api: Api, agent_id: str) -> None:
    for operation in WITH_BODY:
        status = api.call(operation.method, operation.address()).status
        assert (status == 200) is not operation.description["requestBody"]["required"], operation.name


@one_of_each(lambda operation: operation.description["requestBody"]["description"])
@pytest.mark.parametrize("operation", WITH_BODY, ids=named)
def test_a_body_has_at_most_the_documented_size(operation: Operation, api: Api, agent_id: str) -> None:
    found = re.findall(r"[\d,]*\d", operation.description["requestBody"]["description"])
    max_bytes, max_values = (int(number.replace(",", "")) for number in found)
    for body, more, name in (
        (b"[]".ljust(max_bytes), b" ", "bytes"),
        (b"[" + b"," * (max_values - 1), b",", "members"),
    ):
        assert api.call(operation.method, operation.address(), body).status == 400
        answer = api.call(operation.method, operation.address(), body + more)
        assert (answer.status, name in answer.json["message"]) == (413, True)


def test_the_document_and_the_service_agree_on_an_unknown_member(api: Api, agent_id: str) -> None:
    accepting = set()
    for operation in WITH_BODY:
        is_refused = bool(broken_rules(operation.body["schema"], {"unheard_of": 1}))
        answer = api.call(operation.method, operation.address(), {"unheard_of": 1})
        assert answer.status == (400 if is_refused else 200), operation.name
        accepting |= set() if is_refused else {operation.name}
    assert accepting == {"save_agent"}, "only the v2 agent, which has no envelope, keeps unknown members"


def test_read_only_members_are_marked_in_requests_and_answers() -> None:
    properties = document()["components"]["schemas"]["Tool"]["properties"]
    marked = {member for member, schema in properties.items() if schema.get("readOnly")}
    assert marked == {"id", "createdAt", "updatedAt", "agentId", "userId", "backchannellingPhrases"}


def test_null_is_allowed_in_requests_but_not_in_responses() -> None:
    assert broken_rules({"$ref": "#/components/schemas/ToolUpdate"}, {"description": None}) == []
    assert "$.description: None is not of type 'string'" in broken_rules(
        {"$ref": "#/components/schemas/Tool"}, {"description": None}
    )


def test_a_request_may_omit_members_that_every_response_contains() -> None:
    components = document()["components"]["schemas"]
    assert {"mid", "item", "ts"} <= {*components["Message"]["required"]}
    assert "required" not in components["MessageInput"]
    assert components["MessageInput"]["properties"].keys() == components["Message"]["properties"].keys()


def test_only_documented_members_are_null_in_answers() -> None:
    described = [one for one in operations() if not one.is_file]
    answers = [example["value"] for one in described for example in one.answer.get("examples", {}).values()]
    assert {name for answer in answers for name in null_members(answer)} == NULL_IN_ANSWERS


def test_a_number_accepts_no_boolean_and_no_string() -> None:
    schema = {"$ref": "#/components/schemas/AgentV3Input"}
    assert broken_rules(schema, {"messagesLimit": 3}) == broken_rules(schema, {"messagesLimit": 3.5}) == []
    assert all(broken_rules(schema, {"messagesLimit": value}) for value in (True, "3"))


def test_an_enumeration_is_closed_or_lists_its_known_values() -> None:
    for resource, component in COMPONENTS.items():
        for member in (one for one in MEMBERS["resources"][resource]["members"] if "known" in one):
            schema = member_of(component, member["path"])
            if member.get("closed"):
                assert set(schema["enum"]) - {None} == set(member["known"]), member["path"]
            else:
                assert "enum" not in schema, member["path"]
                assert schema["examples"] == (member["known"] or ["<model_id>"]), member["path"]


@pytest.mark.parametrize("name", ["limit", "page"])
def test_a_query_number_has_the_bounds_that_the_service_enforces(name: str, api: Api, agent_id: str) -> None:
    schema = document()["components"]["parameters"][name]["schema"]
    path = {"limit": f"/v3/agents/{agent_id}/tools", "page": f"/v2/agents/{agent_id}/convos"}[name]
    statuses = [api.get(f"{path}?{name}={schema[bound]}").status for bound in ("minimum", "maximum", "default")]
    beyond = [schema["minimum"] - 1, schema["maximum"] + 1]
    assert statuses == [200, 200, 200]
    assert [api.get(f"{path}?{name}={value}").status for value in beyond] == [400, 400]


def test_the_status_parameter_has_the_values_of_a_delivery(api: Api) -> None:
    given = {"url": "https://example.com", "events": ["webhook_test"]}
    path = f"/v3/webhooks/{api.post('/v3/webhooks', {'webhook': given}).data['id']}/deliveries"
    schema = resolved(document()["components"]["parameters"]["status"]["schema"])
    assert schema == member_of("Delivery", "status")
    assert {api.get(f"{path}?status={value}").status for value in schema["enum"]} == {200}


@pytest.mark.parametrize("component", ["NewWebhook", "WebhookChange"])
def test_a_webhook_needs_at_least_one_event_type_in_the_document(component: str) -> None:
    schema = {"$ref": f"#/components/schemas/{component}"}
    right = {"url": "https://example.com", "events": ["lead_captured"]}
    assert broken_rules(schema, right) == []
    for events in ([], ["lead"], "lead_captured"):
        assert broken_rules(schema, {**right, "events": events})


@pytest.mark.parametrize("component", ["NewWebhook", "WebhookChange"])
def test_only_the_description_of_a_webhook_can_be_cleared(component: str) -> None:
    right = {"url": "https://example.com", "events": ["lead_captured"], "enabled": True, "description": "Ours"}
    nullable = {
        name for name in right if not broken_rules({"$ref": f"#/components/schemas/{component}"}, {**right, name: None})
    }
    assert nullable == {"description"}


@one_of_each(lambda value: len(value) > 128)
@pytest.mark.parametrize("value", ["a", "a" * 128, "~a.b_c-d@e:f+g=h,i|j", "a" * 129, "a b", "ä", "a#b"])
def test_an_identifier_has_the_pattern_that_the_service_enforces(value: str, api: Api) -> None:
    is_refused = api.get(f"/v2/clients/{quote(value, safe='')}").status == 400
    assert bool(broken_rules({"$ref": "#/components/schemas/Identifier"}, value)) is is_refused


# ---- served ---------------------------------------------------------------------------------------


def test_the_document_is_served_as_json_and_built_once() -> None:
    first, second = Api().get("/openapi.json"), Api().get("/openapi.json")
    assert first.headers["content-type"] == "application/json"
    assert first.text is second.text


def test_the_server_url_is_relative_to_the_document() -> None:
    assert [one["url"] for one in document()["servers"]] == ["."]


def test_the_document_is_built_only_on_request() -> None:
    code = "import sys, app; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    dear = {"document", "examples", "parameters", "error_responses", "events", "schemas"}
    assert {f"chalicelib.openapi.{name}" for name in dear} & set(loaded) == set()
    assert not [name for name in loaded if name.startswith("offapi")]
