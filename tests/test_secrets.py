"""No log line, error, `repr` or stored byte contains a secret. Only the intended responses contain secrets.

`secret_canaries` fills all records with canaries and collects all output. Identifiers and credential names do not count
as secrets, because keys and lists contain them.

Callers' secrets never appear in the log at any log level, because documents are encrypted and tokens are hashed before
they are sent to the database. KMS returns the data key in plaintext, and botocore logs responses at DEBUG. Therefore
the service sets a separate level for botocore's logger (`connection`), which a root logger at DEBUG does not change.
"""

import zlib
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.http import auth
from tests.guarantees import CaseCounter
from tests.secret_canaries import CANARY, SECRET_MEMBERS, Observed
from tests.secret_canaries import observed as observed

pytestmark = pytest.mark.guarantee("secret")


# Canaries reach their legitimate readers


def test_a_read_returns_the_secret_members_of_an_agent(observed: Observed) -> None:
    for member in SECRET_MEMBERS["agent_v3"]:
        value = observed.right["agent"]
        for step in member.path.split("."):
            value = value[step]
        assert value.startswith(CANARY), member.path


def test_a_read_returns_the_secret_members_of_other_records(observed: Observed) -> None:
    for name in ("second", "tool", "tools", "convos", "analytics", "client", "clients", "organisation", "state"):
        assert CANARY in str(observed.right[name]), name
    assert observed.right["client"]["dashboardPassword"].startswith(CANARY)
    assert observed.right["tool"]["serverUrlSecret"].startswith(CANARY)
    assert observed.right["agent"]["tools"][0]["serverUrlSecret"].startswith(CANARY)


def test_every_error_status_is_among_the_checked_errors(observed: Observed) -> None:
    assert {error.status for error in observed.errors} == {400, 401, 403, 404, 405, 409, 413, 415, 429, 500, 503}


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        (
            "agent_v3",
            {
                "VF_DIALOGUE_API_KEY",
                "VF_PROJECT_API_KEY",
                "VF_KB_API_KEY",
                "SECRET_API_KEY",
                "chatappToken",
                "cloudPrivateKey",
                "igAccessToken",
                "photoappOptions.accessToken",
                "flowtool.webhookSecret",
                "voiceplatformConfig.PUBLIC_API_KEY",
                "voiceplatformConfig.PRIVATE_API_KEY",
                "advanced.serverUrlSecret",
                "voiceConfig.transcriber.apiKey",
                "voiceConfig.speechGen.apiKey",
            },
        ),
        (
            "agent_v2",
            {"VF_DIALOGUE_API_KEY", "VF_PROJECT_API_KEY", "SECRET_API_KEY", "chatappToken", "cloudPrivateKey"},
        ),
        ("tool", {"serverUrlSecret"}),
        ("client", {"dashboardPassword"}),
    ],
)
def test_the_secret_members_of_a_resource_are_complete(resource: str, expected: set[str]) -> None:
    assert {member.path for member in SECRET_MEMBERS[resource]} == expected


def test_webhook_payloads_reach_the_endpoint_and_the_delivery_reads(observed: Observed) -> None:
    for name in ("webhook", "webhooks", "changed", "lead", "leads"):
        assert CANARY in str(observed.webhook_data[name]), name
    types = {post.body["type"] for post in observed.posts if CANARY in post.text.decode()}
    assert types >= {"message_received", "lead_captured", "agent_created", "client_created", "organisation_created"}
    assert {post.body["payload"]["workspaceSecret"] for post in observed.posts} == {
        observed.secrets["workspace secret"]
    }
    payloads = [one["payload"] for one in observed.webhook_data["delivery"] if CANARY in str(one["payload"])]
    assert [one for one in payloads if "messageContent" in one]
    assert {one["status"] for one in observed.webhook_data["deliveries"]} == {"delivered", "failed", "pending"}
    assert observed.webhook_data["dead_letters"]


# Canaries appear nowhere else


def test_only_the_creating_answer_contains_a_webhook_s_secret(observed: Observed) -> None:
    for secret in ("workspace secret", "signing secret", "rotated signing secret"):
        assert [name for name, value in observed.webhook_data.items() if observed.secrets[secret] in str(value)] == []


def test_lists_of_deliveries_and_queues_contain_no_event_content(observed: Observed) -> None:
    for name in ("deliveries", "redeliveries", "queued", "dead_letters"):
        assert observed.webhook_data[name]
        assert CANARY not in str(observed.webhook_data[name])


def test_no_log_line_contains_a_secret(observed: Observed) -> None:
    for source in ("cams Caught exception", "botocore.parsers", "pynamodb"):
        assert source in observed.log
    assert [name for name, secret in observed.secrets.items() if secret in observed.log] == []


def test_no_log_line_contains_a_data_key_with_the_root_logger_at_debug(observed: Observed) -> None:
    secret = observed.data_key.secret
    assert "chalicelib.http.envelope A middleware failed" in observed.root_log
    for form in (secret.hex(), b64encode(secret).decode(), str(secret)):
        assert form not in observed.root_log


def test_no_error_contains_a_secret(observed: Observed, count_cases: CaseCounter) -> None:
    for name, secret in observed.secrets.items():
        assert not [error for error in observed.errors if secret in error.text + str(error.headers)], name
    count_cases(states=len(observed.secrets) * len(observed.errors))


def test_no_stored_byte_contains_a_secret(observed: Observed, count_cases: CaseCounter) -> None:
    forms = {form: name for name, secret in observed.secrets.items() for form in forms_of(secret.encode())}
    leaks = [
        (table, name, forms[form])
        for table, items in observed.items.items()
        for item in items
        for name, attribute in item.items()
        for content in decompressed(attribute)
        for form in forms
        if form in content
    ]
    assert leaks == []
    count_cases(states=len(observed.secrets) * sum(map(len, observed.items.values())))


def forms_of(value: bytes) -> tuple[bytes, ...]:
    """Return all forms in which a secret could be stored without encryption."""
    return value, value.lower(), value[::-1], b64encode(value).rstrip(b"=")[:-1], value.hex().encode()


def test_no_stored_byte_contains_a_data_key(observed: Observed) -> None:
    contents = [content for items in observed.items.values() for item in items for one in item.values() for content in
                decompressed(one)]  # fmt: skip
    assert len(contents) > 50
    assert not [content for content in contents if observed.data_key.secret in content]


def decompressed(attribute: dict[str, Any]) -> Iterator[bytes]:
    """Yield an attribute's bytes, and all data that can be decompressed starting at any of the first 64 bytes."""
    ((kind, value),) = attribute.items()
    content = value if isinstance(value, bytes) else str(value).encode()
    yield content
    if kind == "B":
        for start in range(64):
            for window in (zlib.MAX_WBITS, -zlib.MAX_WBITS, zlib.MAX_WBITS | 16):
                try:
                    yield zlib.decompressobj(window).decompress(content[start:])
                except zlib.error:
                    continue


def test_the_search_decompresses_from_any_position() -> None:
    compressed = b"\x01head" + zlib.compress(CANARY.encode())
    assert [content for content in decompressed({"B": compressed}) if CANARY.encode() in content]


def test_the_repr_of_a_caller_shows_no_token(observed: Observed) -> None:
    assert auth._cache
    for secret in observed.secrets.values():
        assert secret not in str(auth._cache)
