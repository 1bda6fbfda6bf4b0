"""What of the packages ships: what is imported, without descriptions, symbols and other services' data.

`tests/deployment/test_package.py` compares it with what the functions really import and read.
"""

import gzip
import json
import struct
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any

from infra.package.wheels import File

# The services that functions call.
SERVICES = ("dynamodb", "kms", "sqs")

# Never imported by what we use, and the most of its package or heavy. `*` crosses directories.
_LEFT_OUT = (
    ".gitignore",
    "*.dist-info/*",
    "*.pyi",
    "*/py.typed",
    "pycparser/*", "cffi/*",  # what builds bindings; cryptography needs the backend only, which stands beside them
    "cryptography/x509/*", "cryptography/fernet.py", "cryptography/hazmat/asn1/*",
    "cryptography/hazmat/primitives/asymmetric/*", "cryptography/hazmat/primitives/serialization/*",
    "cryptography/hazmat/primitives/kdf/*", "cryptography/hazmat/primitives/twofactor/*",
    "dateutil/rrule.py", "dateutil/zoneinfo/*",
    "pydantic/v1/*", "pydantic/mypy.py", "pydantic/experimental/*",
    "urllib3/contrib/emscripten/*", "urllib3/contrib/pyopenssl.py", "urllib3/contrib/socks.py",
)  # fmt: skip
# All that ships of a package that is a collection of files for somebody else.
_ONLY = {
    "offapi": ("offapi/swagger_bundle.js", "offapi/swagger_style.css"),
    "botocore/data": (
        "botocore/data/_retry.json",
        "botocore/data/endpoints.json",
        "botocore/data/partitions.json",
        "botocore/data/sdk-default-configuration.json",
        *(f"botocore/data/{service}/*" for service in SERVICES),
    ),
}
_DESCRIPTIONS = {"documentation", "documentationUrl"}


def trimmed(files: Iterable[File]) -> Iterator[File]:
    """What ships of `files`."""
    for file in files:
        if _ships(file.path):
            yield _reduced(file)


def _ships(path: str) -> bool:
    if any(fnmatchcase(path, pattern) for pattern in _LEFT_OUT) or path.endswith("/examples-1.json"):
        return False
    only = next((patterns for directory, patterns in _ONLY.items() if path.startswith(f"{directory}/")), ("*",))
    return any(fnmatchcase(path, pattern) for pattern in only)


def _reduced(file: File) -> File:
    if file.path == "botocore/data/endpoints.json":
        return File(file.path, _json(_of_our_services(json.loads(file.content))))
    if file.path.startswith("botocore/data/") and file.path.endswith(".json.gz"):
        # Plain, as the zip is compressed anyway.
        described = json.loads(gzip.decompress(file.content))
        return File(file.path.removesuffix(".gz"), _json(_undescribed(described)))
    if file.path.endswith(".so"):
        return File(file.path, _stripped(file.content))
    return file


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _of_our_services(endpoints: dict[str, Any]) -> dict[str, Any]:
    """The endpoints of all regions, but of other services: reading them was a fifth of an SDK client's start."""
    for partition in endpoints["partitions"]:
        partition["services"] = {name: one for name, one in partition["services"].items() if name in SERVICES}
    return endpoints


def _undescribed(value: Any) -> Any:
    """A service's description without the prose; members of that name are objects, and stay."""
    if isinstance(value, dict):
        return {
            name: _undescribed(inner)
            for name, inner in value.items()
            if name not in _DESCRIPTIONS or not isinstance(inner, str)
        }
    return [_undescribed(inner) for inner in value] if isinstance(value, list) else value


def _stripped(library: bytes) -> bytes:
    """An ELF library up to the last byte that is loaded: behind it are symbols and section names for debuggers.

    Done here because not every machine has a `strip` for the function's platform.
    """
    if library[:6] != b"\x7fELF\x02\x01":  # 64 bits, little-endian
        return library
    headers, size, count = *struct.unpack_from("<Q", library, 32), *struct.unpack_from("<HH", library, 54)
    segments = (struct.unpack_from("<8xQ16xQ", library, headers + number * size) for number in range(count))
    loaded = bytearray(library[: max(offset + length for offset, length in segments)])
    struct.pack_into("<Q", loaded, 40, 0)  # where section headers begin
    struct.pack_into("<HHH", loaded, 58, 0, 0, 0)  # their size, number, and which has their names
    return bytes(loaded)
