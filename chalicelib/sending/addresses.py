"""SSRF protection: rules for customer URLs, and the networks that the sender must never reach.

The networks are listed here because `ipaddress.is_global` accepts many of them (`::127.0.0.1`, `64:ff9b::a9fe:a9fe`,
`224.0.0.1`, `168.63.129.16`, …). Its results also differ between Python versions. An IPv4 address outside these
networks is public. In IPv6, only 2000::/3 is allocated for public use, so the last rows block the rest. Sources: IANA's
special-purpose registries (RFC 6890 and its updates), and the addresses of cloud platform services.
"""

import re
from contextlib import suppress
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from socket import inet_aton
from typing import NamedTuple
from urllib.parse import quote, urlsplit

# The first network that contains an address determines the reason, so narrow networks come before wide ones.
BLOCKED_NETWORKS = (
    ("0.0.0.0/8", "this network"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "carrier-grade NAT; the metadata service of one cloud"),
    ("127.0.0.0/8", "loopback"),
    ("168.63.129.16/32", "the platform service of one cloud"),
    ("169.254.0.0/16", "link-local; the metadata service of most clouds"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "protocol assignments; the metadata service of one cloud"),
    ("192.0.2.0/24", "documentation"),
    ("192.31.196.0/24", "AS112, a sink for DNS queries"),
    ("192.52.193.0/24", "AMT, a multicast relay"),
    ("192.88.99.0/24", "6to4 relay"),
    ("192.168.0.0/16", "private"),
    ("192.175.48.0/24", "AS112, a sink for DNS queries"),
    ("198.18.0.0/15", "benchmarking"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("255.255.255.255/32", "broadcast"),
    ("240.0.0.0/4", "reserved"),
    ("::/128", "unspecified"),
    ("::1/128", "loopback"),
    ("::/96", "IPv4-compatible, deprecated"),
    ("::ffff:0:0:0/96", "IPv4-translated"),
    ("64:ff9b:1::/48", "IPv4/IPv6 translation, private"),
    ("100::/64", "discard-only"),
    ("100:0:0:1::/64", "dummy prefix"),
    ("2001::/32", "Teredo: an IPv4 address behind a relay"),
    ("2001:2::/48", "benchmarking"),
    ("2001:10::/28", "ORCHID: hashes, not locations"),
    ("2001:20::/28", "ORCHID: hashes, not locations"),
    ("2001:30::/28", "DRIP: drone identifiers"),
    ("2001::/23", "protocol assignments"),
    ("2001:db8::/32", "documentation"),
    ("2002::/16", "6to4: an IPv4 address behind a relay"),
    ("2620:4f:8000::/48", "AS112, a sink for DNS queries"),
    ("3ffe::/16", "6bone, withdrawn"),
    ("3fff::/20", "documentation"),
    ("5f00::/16", "segment routing"),
    ("fc00::/7", "private; the metadata service of some clouds"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "site-local, withdrawn"),
    ("ff00::/8", "multicast"),
    ("::/3", "not allocated to the public"),
    ("4000::/2", "not allocated to the public"),
    ("8000::/1", "not allocated to the public"),
)

# IPv6 networks in which the last 32 bits are the IPv4 address to check: IPv4-mapped addresses, and NAT64, which lets
# IPv6-only networks reach IPv4 receivers. (6to4 and Teredo are obsolete and blocked.)
IPV4_EMBEDDINGS = ("::ffff:0:0/96", "64:ff9b::/96")

_blocked = [(ip_network(network), reason) for network, reason in BLOCKED_NETWORKS]
_embeddings = [ip_network(network) for network in IPV4_EMBEDDINGS]


@lru_cache(1024)
def blocked_reason(address: str) -> str | None:
    """Return why the sender may not reach an address, or None if it is public. Invalid addresses are blocked."""
    try:
        parsed: IPv4Address | IPv6Address = ip_address(address)
    except ValueError:
        return "not an IP address"
    if any(parsed in network for network in _embeddings):
        parsed = IPv4Address(int(parsed) & 0xFFFFFFFF)
    return next((reason for network, reason in _blocked if parsed in network), None)


class InvalidUrl(Exception):
    """A URL breaks a rule. The text is the rule, such as "must be …"."""


class Destination(NamedTuple):
    """A URL's parts. `host` is ASCII, without IPv6 brackets, and `authority` is the value of the Host header."""

    secure: bool
    host: str
    port: int
    authority: str
    path: str


# Maximum length of a URL in characters.
MAX_URL = 2048
_AUTHORITY = re.compile(r"(?:\[(?P<literal>[0-9A-Fa-f:.]+)\]|(?P<name>[^\[\]:@%]+))(?::(?P<port>[0-9]{1,5}))?")
_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
# Characters that are not percent-encoded in a path or query.
_SAFE = "/?%:@!$&'()*+,;=~"


@lru_cache(1024)
def read_url(url: str, *, allow_private: bool) -> Destination:
    """Parse a URL strictly, because parsers disagree about unusual URLs. Raise InvalidUrl."""
    schemes = ("https", "http") if allow_private else ("https",)
    if len(url) > MAX_URL:
        raise InvalidUrl(f"must have at most {MAX_URL} characters")
    if not url.isprintable() or " " in url or "\\" in url:
        raise InvalidUrl("must not contain spaces, control characters or backslashes")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise InvalidUrl("must be a valid URL") from error
    if parts.scheme not in schemes:
        raise InvalidUrl(f"must begin with {' or '.join(f'{scheme}://' for scheme in schemes)}")
    if "#" in url:
        raise InvalidUrl("must not contain a fragment")
    if "@" in parts.netloc:
        raise InvalidUrl("must not contain a user name or password")
    matched = _AUTHORITY.fullmatch(parts.netloc)
    host = matched and (_ipv6(matched["literal"]) if matched["literal"] else _ascii(matched["name"]))
    if not matched or not host:
        raise InvalidUrl("must have a valid host")
    port = int(matched["port"] or (443 if parts.scheme == "https" else 80))
    if not 0 < port < 65536:
        raise InvalidUrl("must have a port from 1 to 65535")
    literal = _ipv4(host) or _ipv6(host)
    if literal and blocked_reason(literal) and not allow_private:
        raise InvalidUrl("must have a public address")
    authority = (f"[{host}]" if ":" in host else host) + (f":{matched['port']}" if matched["port"] else "")
    path = quote(parts.path or "/", safe=_SAFE) + (f"?{quote(parts.query, safe=_SAFE)}" if parts.query else "")
    return Destination(parts.scheme == "https", host, port, authority, path)


def _ascii(name: str) -> str | None:
    """Return a host name in the form that DNS and certificates use, without a trailing dot, or None if invalid."""
    try:
        ascii_name = name.encode("idna").decode("ascii").lower().removesuffix(".")
    except UnicodeError:
        return None
    return ascii_name if _NAME.fullmatch(ascii_name) else None


def _ipv4(name: str) -> str | None:
    """Return the IPv4 address that a name spells, in any notation that C libraries accept (`127.1`, `0x7f.0.0.1`)."""
    with suppress(OSError):
        return str(IPv4Address(inet_aton(name)))
    return None


def _ipv6(text: str) -> str | None:
    with suppress(ValueError):
        return str(IPv6Address(text))
    return None
