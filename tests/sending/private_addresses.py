"""Private addresses, which must never be reached: in every spelling, as DNS results, and among public addresses."""

SPELLINGS = (
    "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0x7F.0.0.1", "0x7f.0x0.0x0.0x1",
    "0177.0.0.1", "017700000001", "0177.0.0.01", "127.0.0.1.", "１２７.０.０.１", "127。0。0。1", "①②⑦.⓪.⓪.①",
    "0", "0x0", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.43518", "localhost", "LOCALHOST.",
    "[::]", "[::1]", "[0:0:0:0:0:0:0:1]", "[::127.0.0.1]", "[::ffff:127.0.0.1]", "[::FFFF:7f00:1]",
    "[0:0:0:0:0:ffff:a9fe:a9fe]", "[64:ff9b::a9fe:a9fe]", "[2002:7f00:1::]", "[fe80::1%25lo]",
    "%31%32%37.0.0.1", "hooks.cams.test@127.0.0.1", "127.0.0.1\\@hooks.cams.test", "127.0.0.1%00.cams.test",
)  # fmt: skip


def way_of_spelling(spelling: str) -> tuple[bool, ...]:
    """Return the unusual features of a spelling."""
    signs = (spelling.startswith(sign) for sign in ("[", "0x", "0", "%", "hooks", "local"))
    return (*signs, spelling.isascii(), spelling.count(".") == 3, spelling.endswith("."))


# IPv4 and IPv6 addresses, and IPv4 addresses embedded in IPv6. `test_addresses.py` tests each blocked network.
RESOLVED = [
    "127.0.0.1",
    "169.254.169.254",
    "10.0.0.1",
    "::1",
    "fd00:ec2::254",
    "::ffff:127.0.0.1",
    "64:ff9b::a9fe:a9fe",
]

MIXED = {
    "first": ["127.0.0.1", "93.184.216.34"],
    "last": ["93.184.216.34", "2606:4700:4700::1111", "10.0.0.1"],
    "of the other family": ["93.184.216.34", "::1"],
    "after those that are tried": [*(f"93.184.216.{last}" for last in range(34, 44)), "169.254.169.254"],
}
