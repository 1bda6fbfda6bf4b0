"""The stacks by name. Each is a function from gateway event to gateway answer, imported on demand."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]

OURS, FLOOR = "CAMS", "bare botocore"
FASTAPI = "FastAPI + Mangum"
_ENCODED = " (our encoding)"
_APIS = {FASTAPI: "fastapi_api", "Powertools": "powertools_api"}
_STORES = {"": "native_store", _ENCODED: "sealed_store"}
FASTAPI_ENCODED = FASTAPI + _ENCODED
PEERS = [api + store for api in _APIS for store in _STORES]
STACKS = [OURS, FLOOR, *PEERS]

# Store -> the stack whose requests are recorded for all stacks with that store.
NATIVE = "native"
RECORDED = {"ours": OURS, "sealed": FLOOR, NATIVE: "Powertools"}


class Context:
    """The second argument that a runtime passes to a function."""

    function_name = "api"
    function_version = "1"
    invoked_function_arn = "arn:aws:lambda:eu-west-1:123456789012:function:api"
    memory_limit_in_mb = 512
    aws_request_id = "0b0a6a3c-59a5-4a0e-9a43-2f1f6f7c8d9e"


def handler(name: str) -> Handler:
    """Return the function of a stack."""
    if name == OURS:
        found: Handler = import_module("app").app
        return found
    if name == FLOOR:
        bare: Handler = import_module("benchmarks.peers.bare_api").handler
        return bare
    api = name.removesuffix(_ENCODED)
    store = import_module(f"benchmarks.peers.{_STORES[name.removeprefix(api)]}")
    made: Handler = import_module(f"benchmarks.peers.{_APIS[api]}").api(store)
    return made


def recording(name: str) -> str:
    """Return the name of a stack's recording."""
    if name in (OURS, FLOOR):
        return "ours" if name == OURS else "sealed"
    return "sealed" if name.endswith(_ENCODED) else NATIVE
