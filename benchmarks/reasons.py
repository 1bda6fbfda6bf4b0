"""Known reasons for missed goals; the tables print them.

A missed goal without an entry fails the quick run. Remove an entry once its goal is met:
`tests/benchmarks/test_report.py` fails on an unused reason.
"""

# (question, case, metric) -> the reason.
REASONS: dict[tuple[str, str, str], str] = {
    ("state", "first state, 10 messages", "write units"): (
        "the item has the user's new messages twice, in the turns and for the events: 2.3 KB"
    ),
    ("state", "read, 1,000 messages", "capacity units"): (
        "the peer compresses the text as a whole and fails above 1.5 MB; CAMS keeps immutable chunks, and reads the "
        "last turns with strong consistency, at twice the price"
    ),
    ("overhead", "one more message of a state", "instructions"): (
        "the bytes of a body are searched for NaN and infinities before it is parsed: 0.004 M instructions per message"
    ),
    ("overhead", "agent read", "CPU"): (
        "bare botocore alone takes a sixth of FastAPI + Mangum, so no code on the SDK can reach 0.12x"
    ),
    ("cold_start", "first agent read", "CPU"): (
        "every process registers the routes of all resources: 1.14 x the floor's instructions. The CPU time of one "
        "start varies by a tenth from run to run, on an idle machine too"
    ),
    ("cold_start", "first agent read, compared with an idle client", "CPU"): (
        "the idle client reads nothing; CAMS looks up a credential, decrypts the data key and reads an agent"
    ),
}
