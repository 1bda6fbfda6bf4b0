"""Where a webhook may go: the rules for its URL, and one table of the networks it must never reach. Pure.

The table is written out, because `ipaddress.is_global` passes many of them (`::127.0.0.1`, `64:ff9b::a9fe:a9fe`,
`224.0.0.1`, `168.63.129.16`, …) and answers differently from one Python to the next. For IPv4, what is not listed is
public; for IPv6 only 2000::/3 is given out to the public, so the last rows refuse all that lies outside.
Sources: IANA's special-purpose registries (RFC 6890 and its updates), and what clouds put elsewhere.
"""

import re
from contextlib import suppress
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from socket import inet_aton
from typing import NamedTuple
from urllib.parse import quote, urlsplit

# The first row that holds an address says why; a narrow row stands before a wide one.
REFUSED = (
    ("0.0.0.0/8", "this host"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "shared by a carrier's customers; a metadata service of one cloud"),
    ("127.0.0.0/8", "loopback"),
    ("168.63.129.16/32", "the platform service of one cloud"),
    ("169.254.0.0/16", "link-local; the metadata service of most clouds"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "protocol assignments; the metadata service of one cloud"),
    ("192.0.2.0/24", "documentation"),
    ("192.31.196.0/24", "sink of misdirected name service"),
    ("192.52.193.0/24", "multicast relay"),
    ("192.88.99.0/24", "relay of 6to4"),
    ("192.168.0.0/16", "private"),
    ("192.175.48.0/24", "sink of misdirected name service"),
    ("198.18.0.0/15", "benchmarks"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("255.255.255.255/32", "broadcast"),
    ("240.0.0.0/4", "reserved"),
    ("::/128", "this host"),
    ("::1/128", "loopback"),
    ("::/96", "an IPv4 address in its oldest, withdrawn spelling"),
    ("::ffff:0:0:0/96", "an IPv4 address for a translator"),
    ("64:ff9b:1::/48", "an IPv4 address for a private translator"),
    ("100::/64", "discarded"),
    ("100:0:0:1::/64", "dummy"),
    ("2001::/32", "Teredo: an IPv4 address behind a relay"),
    ("2001:2::/48", "benchmarks"),
    ("2001:10::/28", "hashes, not places"),
    ("2001:20::/28", "hashes, not places"),
    ("2001:30::/28", "aircraft"),
    ("2001::/23", "protocol assignments"),
    ("2001:db8::/32", "documentation"),
    ("2002::/16", "6to4: an IPv4 address behind a relay"),
    ("2620:4f:8000::/48", "sink of misdirected name service"),
    ("3ffe::/16", "an experiment that ended"),
    ("3fff::/20", "documentation"),
    ("5f00::/16", "segment routing"),
    ("fc00::/7", "private; the metadata service of some clouds"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "site-local, withdrawn"),
    ("ff00::/8", "multicast"),
    ("::/3", "not given out to the public"),
    ("4000::/2", "not given out to the public"),
    ("8000::/1", "not given out to the public"),
)

# IPv6 that stands for the IPv4 address in its last 32 bits: mapped, and NAT64, which is how a network that has only
# IPv6 reaches a public IPv4 receiver. The address inside decides. (6to4 and Teredo reach nobody today: refused whole.)
EMBEDDING = ("::ffff:0:0/96", "64:ff9b::/96")

_refused = [(ip_network(network), why) for network, why in REFUSED]
_embedding = [ip_network(network) for network in EMBEDDING]


@lru_cache(1024)
def why_refused(address: str) -> str | None:
    """Why nothing may be sent to this address, or None for a public one. What is no address is refused too."""
    try:
        found: IPv4Address | IPv6Address = ip_address(address)
    except ValueError:
        return "not an address"
    if any(found in network for network in _embedding):
        found = IPv4Address(int(found) & 0xFFFFFFFF)
    return next((why for network, why in _refused if found in network), None)


class Broken(Exception):
    """The rule that a URL breaks, as "must be …"."""


class Target(NamedTuple):
    """A URL taken apart. `host` is ASCII and without the brackets of an IPv6 address; `authority` is for Host."""

    secure: bool
    host: str
    port: int
    authority: str
    path: str


_LONGEST_URL = 2048
_AUTHORITY = re.compile(r"(?:\[(?P<literal>[0-9A-Fa-f:.]+)\]|(?P<name>[^\[\]:@%]+))(?::(?P<port>[0-9]{1,5}))?")
_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
# What a path and a query keep as it is; the rest is percent-encoded.
_KEPT = "/?%:@!$&'()*+,;=~"


@lru_cache(1024)
def read_url(url: str, *, allow_private: bool) -> Target:
    """The parts of a URL; strict, because no two parsers read a strange one alike. Raises Broken."""
    schemes = ("https", "http") if allow_private else ("https",)
    if len(url) > _LONGEST_URL:
        raise Broken(f"must have at most {_LONGEST_URL} characters")
    if not url.isprintable() or " " in url or "\\" in url:
        raise Broken("must not have spaces, control characters or backslashes")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise Broken("must be a valid URL") from error
    if parts.scheme not in schemes:
        raise Broken(f"must begin with {' or '.join(f'{scheme}://' for scheme in schemes)}")
    if "#" in url:
        raise Broken("must not have a fragment")
    if "@" in parts.netloc:
        raise Broken("must not have a user name or password")
    found = _AUTHORITY.fullmatch(parts.netloc)
    host = found and (_ipv6(found["literal"]) if found["literal"] else _ascii(found["name"]))
    if not found or not host:
        raise Broken("must have a valid host")
    port = int(found["port"] or (443 if parts.scheme == "https" else 80))
    if not 0 < port < 65536:
        raise Broken("must have a port from 1 to 65535")
    literal = _ipv4(host) or _ipv6(host)
    if literal and why_refused(literal) and not allow_private:
        raise Broken("must have a public address")
    authority = (f"[{host}]" if ":" in host else host) + (f":{found['port']}" if found["port"] else "")
    path = quote(parts.path or "/", safe=_KEPT) + (f"?{quote(parts.query, safe=_KEPT)}" if parts.query else "")
    return Target(parts.scheme == "https", host, port, authority, path)


def _ascii(name: str) -> str | None:
    """A host name as name service and certificates spell it, or None for what is none. A last dot means nothing."""
    try:
        spelt = name.encode("idna").decode("ascii").lower().removesuffix(".")
    except UnicodeError:
        return None
    return spelt if _NAME.fullmatch(spelt) else None


def _ipv4(name: str) -> str | None:
    """The address that a name already is, in any of the spellings that C libraries take (`127.1`, `0x7f.0.0.1`)."""
    with suppress(OSError):
        return str(IPv4Address(inet_aton(name)))
    return None


def _ipv6(text: str) -> str | None:
    with suppress(ValueError):
        return str(IPv6Address(text))
    return None
