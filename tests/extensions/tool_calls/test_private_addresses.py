"""Tools never call a private address, however the address is spelled, resolved or assembled from arguments."""

from collections.abc import Callable

import pytest

from tests.api import Api
from tests.extensions.tool_calls.timed_calls import Create, call_and_check, field
from tests.sending.private_addresses import MIXED, RESOLVED, SPELLINGS, way_of_spelling
from tests.sending.sockets import Resolve, Watch


# The sender makes tool calls. Its own tests cover every spelling and every kind of private address.
@pytest.mark.parametrize("spelling", {way_of_spelling(each): each for each in SPELLINGS}.values(), ids=ascii)
def test_no_spelling_of_a_private_address_is_called(
    spelling: str,
    api: Api,
    create: Create,
    watch: Watch,
) -> None:
    data = call_and_check(api, create(serverUrl=f"https://{spelling}:8443/"))
    assert "response" not in data
    assert data["error"]
    assert watch.sockets == 0


@pytest.mark.parametrize("address", RESOLVED)
def test_no_private_address_is_called(
    address: str,
    api: Api,
    create: Create,
    watch: Watch,
    names: Callable[[Resolve], list[str]],
) -> None:
    names(lambda _: [address])
    literal = call_and_check(
        api, create(serverUrl=f"https://[{address}]/" if ":" in address else f"https://{address}/")
    )
    resolved = call_and_check(api, create(serverUrl="https://tools.cams.test/"))
    assert (literal["error"], resolved["error"]) == (
        "The URL must have a public address.",
        "The host resolves to an address that is not public.",
    )
    assert not {"response"} & (literal.keys() | resolved.keys())
    assert watch.sockets == 0


@pytest.mark.parametrize("addresses", MIXED.values(), ids=MIXED)
def test_no_host_with_a_private_address_is_called(
    addresses: list[str],
    api: Api,
    create: Create,
    watch: Watch,
    names: Callable[[Resolve], list[str]],
) -> None:
    names(lambda _: addresses)
    data = call_and_check(api, create(serverUrl="https://tools.cams.test/"))
    assert data["error"] == "The host resolves to an address that is not public."
    assert watch.sockets == 0


def test_an_argument_cannot_lead_to_a_private_address(api: Api, create: Create, watch: Watch) -> None:
    path = create(serverUrl="https://{host}/", fields=[field("path", "host")])
    for host in ("127.0.0.1", "example.com:443@127.0.0.1", "[::1]"):
        data = api.post(path, {"arguments": {"host": host}}).data
        assert data["error"]
        assert "response" not in data
    assert watch.sockets == 0
