"""A proxy in front of the emulator's API Gateway, for the rehearsal only.

The emulator ignores the body of ImportRestApi and PutRestApi, in which Chalice sends the whole API as one document.
The proxy translates these two into single calls (CreateResource, PutMethod, …) and forwards all other requests.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Document = dict[str, Any]

_HOP_BY_HOP = {"connection", "transfer-encoding", "content-length"}
_METHODS = {"get", "post", "put", "patch", "delete", "head", "options", "x-amazon-apigateway-any-method"}


@contextmanager
def proxied(emulator_port: int, sdk: Callable[[str], Any]) -> Iterator[str]:
    """Start the proxy; yields its URL. `sdk` creates SDK clients of the emulator itself."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _handle(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            try:
                answer = _translate(self.command, self.path, body, sdk)
            except Exception as error:
                self._answer(400, {"x-amzn-ErrorType": "BadRequestException"}, _encode({"message": str(error)}))
                return
            if answer is None:
                self._forward(body)
            else:
                self._answer(201, {}, _encode(answer))

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle

        def _forward(self, body: bytes) -> None:
            connection = HTTPConnection("127.0.0.1", emulator_port, timeout=60)
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP_BY_HOP}
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            self._answer(answer.status, dict(answer.getheaders()), answer.read())
            connection.close()

        def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                if name.lower() not in _HOP_BY_HOP:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def _translate(method: str, path: str, body: bytes, sdk: Callable[[str], Any]) -> Document | None:
    """The answer to one of the two calls, None for any other request."""
    url = urlsplit(path)
    query = parse_qs(url.query)
    if method == "POST" and url.path == "/restapis" and query.get("mode") == ["import"]:
        return _import(sdk("apigateway"), json.loads(body), query)
    if method == "PUT" and url.path.startswith("/restapis/") and url.path.count("/") == 2:
        return _overwrite(sdk("apigateway"), url.path.rsplit("/", 1)[1], json.loads(body))
    return None


def _import(gateway: Any, document: Document, query: dict[str, list[str]]) -> Document:
    created = gateway.create_rest_api(
        name=document["info"]["title"],
        binaryMediaTypes=document.get("x-amazon-apigateway-binary-media-types", []),
        endpointConfiguration={"types": query.get("endpointConfigurationTypes", ["EDGE"])},
    )
    _fill(gateway, created["id"], document)
    return {"id": created["id"], "name": created["name"]}


def _overwrite(gateway: Any, api_id: str, document: Document) -> Document:
    """Replace the whole API. Clients see the previous deployment until the next one."""
    resources = _resources(gateway, api_id)
    # Leaves first: the emulator does not delete the children of a resource.
    for path in sorted(resources, key=len, reverse=True):
        if path != "/":
            gateway.delete_resource(restApiId=api_id, resourceId=resources[path]["id"])
    for method in resources["/"].get("resourceMethods", {}):
        gateway.delete_method(restApiId=api_id, resourceId=resources["/"]["id"], httpMethod=method)
    for kind in gateway.get_gateway_responses(restApiId=api_id)["items"]:
        if not kind.get("defaultResponse"):
            gateway.delete_gateway_response(restApiId=api_id, responseType=kind["responseType"])
    _fill(gateway, api_id, document)
    return {"id": api_id}


def _fill(gateway: Any, api_id: str, document: Document) -> None:
    ids = {path: one["id"] for path, one in _resources(gateway, api_id).items()}
    for path, item in document["paths"].items():
        resource_id = _resource(gateway, api_id, ids, path)
        for method, operation in item.items():
            if method in _METHODS:
                _method(gateway, {"restApiId": api_id, "resourceId": resource_id}, method, operation)


def _resources(gateway: Any, api_id: str) -> dict[str, Document]:
    pages = gateway.get_paginator("get_resources").paginate(restApiId=api_id)
    return {one["path"]: one for page in pages for one in page["items"]}


def _resource(gateway: Any, api_id: str, ids: dict[str, str], path: str) -> str:
    """The id of a path's resource. Creates the resource and its ancestors if they are missing."""
    path = path.rstrip("/") or "/"
    if path not in ids:
        above, _, part = path.rpartition("/")
        parent = _resource(gateway, api_id, ids, above or "/")
        # As in AWS: a resource has at most one child with a path variable.
        assert part[0] != "{" or not any(
            one.startswith(f"{above}/{{") and "/" not in one[len(above) + 1 :] for one in ids
        )
        ids[path] = gateway.create_resource(restApiId=api_id, parentId=parent, pathPart=part)["id"]
    return ids[path]


def _method(gateway: Any, place: Document, method: str, operation: Document) -> None:
    place = {**place, "httpMethod": "ANY" if method.startswith("x-") else method.upper()}
    integration = operation["x-amazon-apigateway-integration"]
    gateway.put_method(**place, authorizationType="NONE")
    gateway.put_integration(
        **place,
        type=integration["type"].upper(),
        **{
            name: integration[name] for name in ("uri", "passthroughBehavior", "contentHandling") if name in integration
        },
        **({"integrationHttpMethod": integration["httpMethod"]} if "httpMethod" in integration else {}),
        requestTemplates=integration.get("requestTemplates", {}),
    )
    for status, response in integration.get("responses", {}).items():
        code = response.get("statusCode", status)
        headers = response.get("responseParameters", {})
        gateway.put_method_response(**place, statusCode=code, responseParameters=dict.fromkeys(headers, False))
        gateway.put_integration_response(**place, statusCode=code, responseParameters=headers)


def _encode(answer: Document) -> bytes:
    return json.dumps(answer).encode()
