"""SSRF protection: every blocked network, and every URL rule."""

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from chalicelib.sending.addresses import (
    BLOCKED_NETWORKS,
    IPV4_EMBEDDINGS,
    Destination,
    InvalidUrl,
    blocked_reason,
    read_url,
)

# The blocked networks, each with at least one address that an attacker would try.
ADDRESSES = {
    "0.0.0.0": "0.0.0.0/8",
    "0.1.2.3": "0.0.0.0/8",
    "10.0.0.1": "10.0.0.0/8",
    "10.255.255.255": "10.0.0.0/8",
    "100.64.0.1": "100.64.0.0/10",
    "100.100.100.200": "100.64.0.0/10",
    "127.0.0.1": "127.0.0.0/8",
    "127.255.255.254": "127.0.0.0/8",
    "168.63.129.16": "168.63.129.16/32",
    "169.254.169.254": "169.254.0.0/16",
    "169.254.170.2": "169.254.0.0/16",
    "172.16.0.1": "172.16.0.0/12",
    "172.31.255.255": "172.16.0.0/12",
    "192.0.0.192": "192.0.0.0/24",
    "192.0.2.1": "192.0.2.0/24",
    "192.31.196.1": "192.31.196.0/24",
    "192.52.193.1": "192.52.193.0/24",
    "192.88.99.1": "192.88.99.0/24",
    "192.168.0.1": "192.168.0.0/16",
    "192.175.48.1": "192.175.48.0/24",
    "198.18.0.1": "198.18.0.0/15",
    "198.19.255.255": "198.18.0.0/15",
    "198.51.100.1": "198.51.100.0/24",
    "203.0.113.1": "203.0.113.0/24",
    "224.0.0.1": "224.0.0.0/4",
    "239.255.255.255": "224.0.0.0/4",
    "255.255.255.255": "255.255.255.255/32",
    "240.0.0.1": "240.0.0.0/4",
    "::": "::/128",
    "::1": "::1/128",
    "::127.0.0.1": "::/96",
    "::8.8.8.8": "::/96",
    "::ffff:0:7f00:1": "::ffff:0:0:0/96",
    "64:ff9b:1::7f00:1": "64:ff9b:1::/48",
    "100::1": "100::/64",
    "100:0:0:1::1": "100:0:0:1::/64",
    "2001::1": "2001::/32",
    "2001:0:4136:e378:8000:63bf:80ff:fffe": "2001::/32",
    "2001:2::1": "2001:2::/48",
    "2001:10::1": "2001:10::/28",
    "2001:20::1": "2001:20::/28",
    "2001:30::1": "2001:30::/28",
    "2001:1::1": "2001::/23",
    "2001:db8::1": "2001:db8::/32",
    "2002:7f00:1::": "2002::/16",
    "2002:808:808::1": "2002::/16",
    "2620:4f:8000::1": "2620:4f:8000::/48",
    "3ffe::1": "3ffe::/16",
    "3fff::1": "3fff::/20",
    "5f00::1": "5f00::/16",
    "fd00:ec2::254": "fc00::/7",
    "fd20:ce::254": "fc00::/7",
    "fc00::1": "fc00::/7",
    "fe80::1": "fe80::/10",
    "fe80::1%eth0": "fe80::/10",
    "fec0::1": "fec0::/10",
    "ff02::1": "ff00::/8",
    "ff0e::1": "ff00::/8",
    "1fff::1": "::/3",
    "4000::1": "4000::/2",
    "a000::1": "8000::/1",
    # IPv6 addresses that embed an IPv4 address.
    "::ffff:127.0.0.1": "127.0.0.0/8",
    "::ffff:169.254.169.254": "169.254.0.0/16",
    "::ffff:10.0.0.1": "10.0.0.0/8",
    "64:ff9b::a9fe:a9fe": "169.254.0.0/16",
    "64:ff9b::7f00:1": "127.0.0.0/8",
    "64:ff9b::c0a8:1": "192.168.0.0/16",
}


def test_an_address_of_a_blocked_network_is_blocked() -> None:
    reasons = dict(BLOCKED_NETWORKS)
    assert {address: blocked_reason(address) for address in ADDRESSES} == {
        address: reasons[network] for address, network in ADDRESSES.items()
    }


def test_every_blocked_network_has_an_address_above() -> None:
    assert set(ADDRESSES.values()) == {network for network, _ in BLOCKED_NETWORKS}


def test_both_ends_of_a_network_are_blocked() -> None:
    for network, reason in BLOCKED_NETWORKS:
        assert reason
        assert blocked_reason(str(ip_network(network)[0])), network
        assert blocked_reason(str(ip_network(network)[-1])), network


PUBLIC = (
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "93.184.216.34", "100.63.255.255", "100.128.0.0",
    "126.255.255.255", "128.0.0.0", "168.63.129.15", "168.63.129.17", "169.253.255.255", "169.255.0.0",
    "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
    "223.255.255.255", "2000::1", "2001:200::1", "2001:4860:4860::8888", "2003::1", "2606:4700:4700::1111",
    "2a00:1450:4001:81b::200e", "3ffd:ffff::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
)  # fmt: skip


def test_a_public_address_is_allowed() -> None:
    assert [address for address in PUBLIC if blocked_reason(address) is not None] == []


def test_text_that_is_no_address_is_blocked() -> None:
    for text in ("", "example.com", "127.1", "0x7f000001", "1.2.3", "::1%", "[::1]", "/run/socket"):
        assert blocked_reason(text) == "not an IP address", text


@settings(max_examples=100, deadline=None)
@given(st.ip_addresses())
def test_every_address_that_python_calls_private_is_blocked(address: object) -> None:
    found = ip_address(str(address))
    assume(not found.is_global)
    assume(not any(found in ip_network(network) for network in IPV4_EMBEDDINGS))
    assert blocked_reason(str(found))


DESTINATIONS = {
    "https://hooks.example.com": Destination(True, "hooks.example.com", 443, "hooks.example.com", "/"),
    "https://hooks.example.com/a/b?c=d&e": Destination(
        True, "hooks.example.com", 443, "hooks.example.com", "/a/b?c=d&e"
    ),
    "HTTPS://Hooks.Example.COM:8443/A": Destination(True, "hooks.example.com", 8443, "hooks.example.com:8443", "/A"),
    "https://hooks.example.com./": Destination(True, "hooks.example.com", 443, "hooks.example.com", "/"),
    "https://bücher.example/ü?ö=é": Destination(
        True, "xn--bcher-kva.example", 443, "xn--bcher-kva.example", "/%C3%BC?%C3%B6=%C3%A9"
    ),
    "https://hooks.example.com/%7Ea%20b+c": Destination(
        True, "hooks.example.com", 443, "hooks.example.com", "/%7Ea%20b+c"
    ),
    "https://93.184.216.34/": Destination(True, "93.184.216.34", 443, "93.184.216.34", "/"),
    "https://[2606:4700:4700::1111]:444/": Destination(
        True, "2606:4700:4700::1111", 444, "[2606:4700:4700::1111]:444", "/"
    ),
    "https://under_score.example/": Destination(True, "under_score.example", 443, "under_score.example", "/"),
}


def test_a_url_is_parsed() -> None:
    assert {url: read_url(url, allow_private=False) for url in DESTINATIONS} == DESTINATIONS


_VALID = "must be a valid URL"
_SCHEME = "must begin with https://"
_LETTERS = "must not contain spaces, control characters or backslashes"
_CREDENTIALS = "must not contain a user name or password"
_FRAGMENT = "must not contain a fragment"
_HOST = "must have a valid host"
_PORT = "must have a port from 1 to 65535"
_PUBLIC = "must have a public address"
BROKEN = {
    "": _SCHEME,
    "hooks.example.com": _SCHEME,
    "//hooks.example.com/": _SCHEME,
    "http://hooks.example.com/": _SCHEME,
    "ftp://hooks.example.com/": _SCHEME,
    "file:///etc/passwd": _SCHEME,
    "javascript:alert(1)": _SCHEME,
    "unix:/run/socket": _SCHEME,
    "https://hooks.example.com/" + "a" * 2048: "must have at most 2048 characters",
    "https://hooks.example.com/a b": _LETTERS,
    " https://hooks.example.com/": _LETTERS,
    "https://hooks.example.com/\r\nX-Injected: 1": _LETTERS,
    "https://hooks.exa\tmple.com/": _LETTERS,
    "https://hooks.example.com/\x00": _LETTERS,
    "https://hooks.example.com/\u200b": _LETTERS,
    "https://hooks.example.com/\ud800": _LETTERS,
    "https://127.0.0.1\\@hooks.example.com/": _LETTERS,
    "https://user:password@hooks.example.com/": _CREDENTIALS,
    "https://@hooks.example.com/": _CREDENTIALS,
    "https://hooks.example.com@127.0.0.1/": _CREDENTIALS,
    "https://hooks.example.com/#top": _FRAGMENT,
    "https://hooks.example.com#@127.0.0.1/": _FRAGMENT,
    "https://": _HOST,
    "https:///hook": _HOST,
    "https://:443/": _HOST,
    "https://./": _HOST,
    "https://.example.com/": _HOST,
    "https://a..example.com/": _HOST,
    f"https://{'a' * 64}.example.com/": _HOST,
    "https://a\u2024\u2024b.example.com/": _HOST,  # DNS treats this character as a dot, but a browser does not
    "https://hooks!.example.com/": _HOST,
    "https://%31%32%37.0.0.1/": _HOST,
    "https://127.0.0.1%00.example.com/": _HOST,
    "https://2606:4700::1111/": _HOST,
    "https://[2606:4700::1111%25eth0]/": _HOST,
    "https://[fe80::1%eth0]/": _HOST,
    "https://[::g]/": _VALID,
    "https://[1.2.3.4]/": _VALID,
    "https://[2606:4700::1111/": _VALID,
    "https://hooks.example.com⁄@evil/": _CREDENTIALS,
    "https://hooks.example.com／evil/": _VALID,
    "https://hooks.example.com:0/": _PORT,
    "https://hooks.example.com:65536/": _PORT,
    "https://hooks.example.com:99999/": _PORT,
    "https://hooks.example.com:/": _HOST,
    "https://hooks.example.com:-1/": _HOST,
    "https://hooks.example.com:443:443/": _HOST,
    "https://hooks.example.com:４４３/": _HOST,
    "https://127.0.0.1/": _PUBLIC,
    "https://127.1/": _PUBLIC,
    "https://[::1]/": _PUBLIC,
    "https://169.254.169.254/latest/meta-data/": _PUBLIC,
}


def test_the_error_names_the_broken_rule() -> None:
    for url, rule in BROKEN.items():
        with pytest.raises(InvalidUrl) as broken:
            read_url(url, allow_private=False)
        assert str(broken.value) in {rule, _HOST if rule == _VALID else rule}, url


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080/", "http://localhost/", "https://[::1]/", "https://10.0.0.1/"])
def test_only_the_setting_allows_plain_http_and_private_addresses(url: str) -> None:
    assert read_url(url, allow_private=True)
    if "localhost" not in url:
        with pytest.raises(InvalidUrl):
            read_url(url, allow_private=False)


def test_the_setting_allows_nothing_else() -> None:
    for url in (url for url, rule in BROKEN.items() if rule != _PUBLIC and not url.startswith("http://")):
        with pytest.raises(InvalidUrl):
            read_url(url, allow_private=True)
