"""Known reasons for missed goals; the tables print them.

A missed goal without an entry fails the quick run. Remove an entry once its goal is met:
`tests/benchmarks/test_report.py` fails on an unused reason.
"""

_SEQUENCE = (
    "the agent is read with strong consistency; a replacement also reads the agent's sequence row, and a first state "
    "updates it in a transaction"
)

# (question, case, metric) -> the reason.
REASONS: dict[tuple[str, str, str], str] = {
    ("state", "read, 10 messages", "read units"): "the agent is read with strong consistency",
    ("state", "replace, 10 messages", "read units"): _SEQUENCE,
    ("state", "first state, 10 messages", "read units"): _SEQUENCE,
    ("state", "first state, 10 messages", "write units"): _SEQUENCE,
    ("state", "read, 1,000 messages", "capacity units"): (
        "the peer compresses the text as a whole and fails above 1.5 MB; CAMS keeps immutable chunks, and reads the "
        "last turns and the agent with strong consistency, at twice the price"
    ),
    ("overhead", "agent read", "CPU"): (
        "bare botocore alone takes a sixth of FastAPI + Mangum, so no code on the SDK can reach 0.12x"
    ),
    ("cold_start", "first agent read, compared with an idle client", "CPU"): (
        "the idle client reads nothing; CAMS looks up a credential, decrypts the data key and reads an agent"
    ),
}
