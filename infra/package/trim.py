"""Trim the packages: drop unused modules, API documentation, debug symbols and data for unused AWS services.

`tests/deployment/test_package.py` compares the result with the files that the functions import and read.
"""

import gzip
import json
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from infra import extension_parts
from infra.package.wheels import File


class Service(NamedTuple):
    """An AWS service that functions call: its name in the endpoint list, and the operations that ship."""

    endpoint: str
    operations: tuple[str, ...]


# Services that core calls, keyed by their folder in the SDK's data.
_CORE = {
    "dynamodb": Service("dynamodb", (
        "BatchGetItem", "BatchWriteItem", "DeleteItem", "GetItem", "PutItem", "Query", "TransactGetItems",
        "TransactWriteItems", "UpdateItem",
    )),
    "kms": Service("kms", ("Decrypt",)),
    "sqs": Service("sqs", ("GetQueueUrl", "SendMessageBatch")),
}  # fmt: skip

# Large modules that the functions never import. `*` also matches slashes.
_EXCLUDED = (
    ".gitignore",
    "*.dist-info/*",
    "*.pyi",
    "*/py.typed",
    "pycparser/*", "cffi/*",  # build tools; cryptography needs only cffi's backend, which is a separate module
    "cryptography/x509/*", "cryptography/fernet.py", "cryptography/hazmat/asn1/*",
    "cryptography/hazmat/primitives/asymmetric/*", "cryptography/hazmat/primitives/serialization/*",
    "cryptography/hazmat/primitives/kdf/*", "cryptography/hazmat/primitives/twofactor/*",
    "botocore/data/*/paginators-1.*", "botocore/data/*/waiters-2.*",
    "jinja2/ext.py", "jinja2/meta.py", "jinja2/nativetypes.py", "jinja2/sandbox.py",
    "dateutil/rrule.py", "dateutil/zoneinfo/*",
    "tzdata/zoneinfo/*.tab", "tzdata/zoneinfo/*.zi", "tzdata/zoneinfo/leapseconds",  # `zoneinfo` reads compiled zones
    "pydantic/v1/*", "pydantic/mypy.py", "pydantic/experimental/*", "pydantic/color.py",
    "annotated_types/test_cases.py", "botocore/stub.py", "botocore/crt/auth.py", "markupsafe/_speedups.c",
    "botocore/docs/bcdoc/*", "botocore/docs/[!_du]*.py",
    "urllib3/contrib/emscripten/*", "urllib3/contrib/pyopenssl.py", "urllib3/contrib/socks.py",
)  # fmt: skip
# Modules that the SDK imports for features that the functions never use: HTTP/2 and the text of `help()`.
_REPLACED = {
    "botocore/docs/__init__.py": b"",
    "botocore/docs/docstring.py": b"ClientMethodDocstring = PaginatorDocstring = WaiterDocstring = lambda **_: None",
    "urllib3/http2/__init__.py": b"",  # imports `importlib.metadata`
}
# Packages that are data collections: only these files ship, plus the data for the services that are called.
_INCLUDED_ONLY = {
    "offapi": ("offapi/swagger_bundle.js", "offapi/swagger_style.css"),
    "botocore/data": (
        "botocore/data/_retry.json",
        "botocore/data/endpoints.json",
        "botocore/data/partitions.json",
        "botocore/data/sdk-default-configuration.json",
    ),
}
_DOCUMENTATION = {"documentation", "documentationUrl"}


def services(extensions: Collection[str] | None = None) -> dict[str, Service]:
    """Return the services that core and these extensions call, by default all extensions that are present."""
    used = dict(_CORE)
    for module in extension_parts.modules("package", extensions):
        for name, service in getattr(module, "SERVICES", {}).items():
            operations = used[name].operations if name in used else ()
            used[name] = Service(service.endpoint, (*operations, *service.operations))
    return used


def trim_files(files: Iterable[File], used: Mapping[str, Service] | None = None) -> Iterator[File]:
    """Yield the files that ship if functions call these services, with their shipped paths and content."""
    used = services() if used is None else used
    for file in files:
        if _ships(file.path, used):
            yield _shrink(file, used)


def _ships(path: str, used: Mapping[str, Service]) -> bool:
    if any(fnmatchcase(path, pattern) for pattern in _EXCLUDED) or path.endswith("/examples-1.json"):
        return False
    if any(path.startswith(f"botocore/data/{service}/") for service in used):
        return True
    only = next(
        (patterns for directory, patterns in _INCLUDED_ONLY.items() if path.startswith(f"{directory}/")), ("*",)
    )
    return any(fnmatchcase(path, pattern) for pattern in only)


def _shrink(file: File, used: Mapping[str, Service]) -> File:
    if file.path in _REPLACED:
        return File(file.path, _REPLACED[file.path])
    if file.path == "botocore/data/endpoints.json":
        return File(file.path, _json(_keep_used_services(json.loads(file.content), used)))
    if file.path.startswith("botocore/data/") and file.path.endswith(".json.gz"):
        # The data is stored uncompressed, because the zip file compresses it anyway.
        model = _keep_used_operations(file.path, json.loads(gzip.decompress(file.content)), used)
        return File(file.path.removesuffix(".gz"), _json(_drop_documentation(model)))
    if file.path.endswith(".so"):
        return File(file.path, _strip(file.content))
    return file


def _keep_used_operations(path: str, model: dict[str, Any], used: Mapping[str, Service]) -> dict[str, Any]:
    """Drop a service model's unused operations, and the shapes that only unused operations need."""
    if not path.endswith("/service-2.json.gz"):
        return model
    operations = {name: model["operations"][name] for name in used[path.split("/")[2]].operations}
    return {**model, "operations": operations, "shapes": _shapes_of([operations], model["shapes"])}


def _shapes_of(values: list[Any], shapes: dict[str, Any]) -> dict[str, Any]:
    """Return the shapes that these values reference, directly or through other shapes."""
    named: dict[str, Any] = {}
    while values:
        value = values.pop()
        if isinstance(value, dict):
            name = value.get("shape")
            if isinstance(name, str) and name not in named:
                named[name] = shapes[name]
                values.append(shapes[name])
            values += value.values()
        elif isinstance(value, list):
            values += value
    return named


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _keep_used_services(endpoints: dict[str, Any], used: Mapping[str, Service]) -> dict[str, Any]:
    """Drop the endpoints of unused services. Parsing them took a fifth of the SDK client's startup time."""
    names = {service.endpoint for service in used.values()}
    for partition in endpoints["partitions"]:
        partition["services"] = {name: one for name, one in partition["services"].items() if name in names}
    return endpoints


def _drop_documentation(value: Any) -> Any:
    """Drop a service model's documentation strings. A shape member with the same name is an object and is kept."""
    if isinstance(value, dict):
        return {
            name: _drop_documentation(inner)
            for name, inner in value.items()
            if name not in _DOCUMENTATION or not isinstance(inner, str)
        }
    return [_drop_documentation(inner) for inner in value] if isinstance(value, list) else value


def _strip(library: bytes) -> bytes:
    """Truncate an ELF library after its last loaded byte to drop debug symbols and section names.

    A build machine may lack a `strip` for Lambda's platform.
    """
    if library[:6] != b"\x7fELF\x02\x01":  # 64 bits, little-endian
        return library
    headers, size, count = *struct.unpack_from("<Q", library, 32), *struct.unpack_from("<HH", library, 54)
    segments = (struct.unpack_from("<8xQ16xQ", library, headers + number * size) for number in range(count))
    loaded = bytearray(library[: max(offset + length for offset, length in segments)])
    struct.pack_into("<Q", loaded, 40, 0)  # e_shoff: offset of the section headers
    struct.pack_into("<HHH", loaded, 58, 0, 0, 0)  # e_shentsize, e_shnum, e_shstrndx
    return bytes(loaded)
