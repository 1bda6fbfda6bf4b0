"""ImportRestApi and PutRestApi, in which Chalice sends the whole API as one document. The emulator ignores it.

This module runs inside the emulator (`tests.deployment.emulator`) on the interpreter of `.venv-engine`.
"""

import importlib
import json
from typing import Any

Document = dict[str, Any]

gateway = importlib.import_module("ministack.services.apigateway_v1")
_handle_request = gateway.handle_request
_METHODS = {"get", "post", "put", "patch", "delete", "head", "options", "x-amazon-apigateway-any-method"}
_INTEGRATION_MEMBERS = {"httpMethod", "uri", "passthroughBehavior", "contentHandling", "requestTemplates"}


async def handle_request(method: str, path: str, headers: Any, body: bytes, query: Any) -> Any:
    """Import or overwrite an API from its document. Pass all other calls on to the emulator."""
    try:
        if method == "POST" and path == "/restapis" and gateway._qp(query, "mode") == "import":
            return _create(json.loads(body), gateway._qp(query, "endpointConfigurationTypes", "EDGE"))
        if method == "PUT" and path.startswith("/restapis/") and path.count("/") == 2:
            return _overwrite(path.rpartition("/")[2], json.loads(body))
    except _InvalidDocumentError as error:
        return gateway._v1_error("BadRequestException", str(error), 400)
    return await _handle_request(method, path, headers, body, query)


class _InvalidDocumentError(Exception):
    """Raised for a document that API Gateway would reject."""


def _create(document: Document, endpoint_type: str) -> Any:
    answer = gateway._create_rest_api({"endpointConfiguration": {"types": [endpoint_type]}})
    return _overwrite(json.loads(answer[2])["id"], document)


def _overwrite(api_id: str, document: Document) -> Any:
    """Replace an API's settings, resources and gateway responses, as mode=overwrite does."""
    api = gateway._rest_apis.get(api_id)
    if api is None:
        return gateway._get_rest_api(api_id)  # responds with 404
    api["name"] = document["info"]["title"]
    api["binaryMediaTypes"] = document.get("x-amazon-apigateway-binary-media-types", [])
    resources = gateway._resources[api_id]
    root = next(one for one in resources.values() if one["path"] == "/")
    resources.clear()
    resources[root["id"]] = {**root, "resourceMethods": {}}
    gateway._gateway_responses[api_id] = {}
    ids = {"/": root["id"]}
    for path, item in document["paths"].items():
        resource_id = _resource(api_id, ids, path)
        for method, operation in item.items():
            if method in _METHODS:
                verb = "ANY" if method.startswith("x-") else method.upper()
                _put_method((api_id, resource_id, verb), operation["x-amazon-apigateway-integration"])
    return gateway._v1_response(gateway._rest_api_view(api), 201)


def _resource(api_id: str, ids: dict[str, str], path: str) -> str:
    """Return the id of a path's resource. Create missing resources and ancestors."""
    path = path.rstrip("/") or "/"
    if path not in ids:
        above, _, part = path.rpartition("/")
        siblings = [one for one in ids if one != "/" and one.rpartition("/")[0] == above]
        if part.startswith("{") and any(one.startswith(f"{above}/{{") for one in siblings):
            raise _InvalidDocumentError(f"A sibling of {path} already has a path variable.")
        created = gateway._create_resource(api_id, _resource(api_id, ids, above or "/"), {"pathPart": part})
        ids[path] = json.loads(created[2])["id"]
    return ids[path]


def _put_method(place: tuple[str, str, str], integration: Document) -> None:
    gateway._put_method(*place, {"authorizationType": "NONE"})
    members = {name: value for name, value in integration.items() if name in _INTEGRATION_MEMBERS}
    gateway._put_integration(*place, {**members, "type": integration["type"].upper()})
    for status, response in integration.get("responses", {}).items():
        code = response.get("statusCode", status)
        headers = response.get("responseParameters", {})
        gateway._put_method_response(*place, code, {"responseParameters": dict.fromkeys(headers, False)})
        gateway._put_integration_response(*place, code, {"responseParameters": headers})
