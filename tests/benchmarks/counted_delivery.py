"""A process that sends deliveries under callgrind, for `test_fanout_counts`.

python -m tests.benchmarks.counted_delivery URL LENGTH
"""

import sys

from benchmarks import instructions
from chalicelib.webhooks import delivery, queue, signature

MESSAGE = queue.QueuedDelivery("workspace", "webhook", "0" * 26, "message_received", "delivery")
SECRET = signature.new_secret()
EVENT = {
    "type": "message_received",
    "payload": {
        "agentId": "support",
        "conversationId": "ann",
        "messageContent": "Where is my order? I have been waiting for it since the day before yesterday.",
        "messageType": "text",
        "from": "human",
        "createdAt": 1795228530123,
    },
}


def main(url: str, length: int) -> None:
    """Build, sign and post delivery bodies, in counted runs of `length` deliveries."""
    endpoint = {"url": url, "secrets": [{"secret": SECRET}]}

    def deliver() -> None:
        outcome = delivery._post(MESSAGE, endpoint, EVENT, "cams_events_" + "0" * 43)
        if outcome.error:
            raise RuntimeError(outcome.error)

    for _ in range(20):
        deliver()
    instructions.count([(lambda: deliver, length)])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
