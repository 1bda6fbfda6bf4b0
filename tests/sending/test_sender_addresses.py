"""SSRF protection in the sender: it rejects URLs that contain private addresses, and never connects to one."""

from collections.abc import Callable

import pytest

from chalicelib.sending.sender import check_url
from tests.selection import one_of_each
from tests.sending import receivers
from tests.sending.private_addresses import MIXED, RESOLVED, SPELLINGS, way_of_spelling
from tests.sending.receivers import receiver
from tests.sending.sockets import Resolve, Watch
from tests.sending.timed_post import HOST, post_and_check

pytestmark = pytest.mark.usefixtures("public_only", "empty_cache")


@one_of_each(way_of_spelling)
@pytest.mark.parametrize("spelling", SPELLINGS, ids=ascii)
def test_no_spelling_of_a_private_address_opens_a_socket(spelling: str, watch: Watch) -> None:
    outcome, _ = post_and_check(f"https://{spelling}:8443/", deadline=5)
    assert outcome.status is None
    assert outcome.error
    assert watch.sockets == 0


def test_a_spelling_of_a_private_address_cannot_be_configured() -> None:
    for spelling in (spelling for spelling in SPELLINGS if "localhost" not in spelling.lower()):
        assert check_url(f"https://{spelling}/"), spelling


def test_a_valid_url_can_be_configured() -> None:
    assert check_url("https://hooks.example.com/cams?tenant=1") is None


def test_plain_http_can_be_configured_only_with_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_url("http://127.0.0.1:8080/") == "must begin with https://"
    monkeypatch.setenv("CAMS_WEBHOOK_ALLOW_PRIVATE", "1")
    assert check_url("http://127.0.0.1:8080/") is None


@pytest.mark.parametrize("address", RESOLVED)
def test_a_name_that_resolves_to_a_private_address_opens_no_socket(
    address: str, watch: Watch, names: Callable[[Resolve], list[str]]
) -> None:
    asked = names(lambda _: [address])
    outcome, _ = post_and_check(f"https://{HOST}/")
    assert outcome[:2] == (None, "The host resolves to an address that is not public.")
    assert asked == [HOST]
    assert watch.sockets == 0


@pytest.mark.parametrize("address", RESOLVED)
def test_a_private_address_in_a_url_opens_no_socket(address: str, watch: Watch) -> None:
    outcome, _ = post_and_check(f"https://[{address}]/" if ":" in address else f"https://{address}/")
    assert outcome[:2] == (None, "The URL must have a public address.")
    assert watch.sockets == 0


@pytest.mark.parametrize("addresses", MIXED.values(), ids=MIXED)
def test_one_private_address_among_public_ones_blocks_the_host(
    addresses: list[str], watch: Watch, names: Callable[[Resolve], list[str]]
) -> None:
    names(lambda _: addresses)
    outcome, _ = post_and_check(f"https://{HOST}/")
    assert outcome[:2] == (None, "The host resolves to an address that is not public.")
    assert watch.sockets == 0


def test_a_name_is_not_resolved_again_after_the_check(watch: Watch, names: Callable[[Resolve], list[str]]) -> None:
    watch.refuse = True  # no packet leaves this machine
    with receiver(receivers.acknowledges) as inside:
        lookups = names(lambda _: ["93.184.216.34"] if len(lookups) == 1 else ["127.0.0.1"])
        outcome, _ = post_and_check(f"https://{HOST}:{inside.port}/")
    assert outcome.error is not None
    assert outcome.error.startswith("Connection failed")
    assert lookups == [HOST]
    assert watch.connects == [("93.184.216.34", inside.port)]
    assert inside.connections == 0
