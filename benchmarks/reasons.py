"""Why a goal is missed, where we know that it cannot be met: the tables say so beside the row.

A goal that is missed without an entry here fails the quick run. The entry stays away as soon as the goal is met:
`tests/benchmarks/test_report.py` fails on a reason that nothing needs.
"""

# (question, case, metric) -> a sentence.
REASONS: dict[tuple[str, str, str], str] = {
    ("state", "read, 1,000 messages", "capacity units"): (
        "the peer has the text compressed as a whole, and gives up at 1.5 MB; ours has pieces that stay when the end "
        "is written again, and reads the last turns and the agent strongly, at twice the price"
    ),
    ("overhead", "agent read", "CPU"): (
        "bare botocore alone takes a quarter of FastAPI + Mangum, and more than half of it with our encoding, so that "
        "nothing that is built on the SDK can take 0.12x and 0.45x"
    ),
    ("cold_start", "package, zipped", "bytes"): (
        "the libraries of encryption and validation, stripped, are 4.1 and 2.1 MB of it; the small encryption package "
        "that would save 3.8 MB has AES-256-GCM on one platform only, and the service runs on others, too"
    ),
}
