"""Messages to asynchronous functions, on the SQS queues that the template defines.

The queues are standard queues with message groups, which makes them *fair queues*: while one group has a backlog, SQS
delivers the other groups' messages first. A message's group is its workspace.
"""

from collections.abc import Sequence
from functools import lru_cache

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib import errors, storage
from chalicelib.storage import client

# Core's background tasks (`queues.tasks`).
MAINTENANCE = "maintenance"
_BATCH = 10
# SQS error codes for messages that a queue never accepts, such as messages that are too large.
_REJECTIONS = (
    "AWS.SimpleQueueService.BatchRequestTooLong",
    "InvalidMessageContents",
    "InvalidParameterValue",
    "MissingParameter",
)


class MessageRejected(Exception):
    """The queue will never accept a message: it is too large, or its text or group is invalid."""


def name(queue: str) -> str:
    """Return the physical name of a queue in the template."""
    return storage.table(queue)


def send(queue: str, texts: Sequence[str], group: str, delay_seconds: int = 0) -> None:
    """Send texts in one message group, ten per request. Receivers see them after `delay_seconds` (0 to 900).

    Raise Unavailable if the queue does not accept all texts, and MessageRejected if it can never accept one of them. In
    both cases, the queue may have accepted some texts. Delivery is at-least-once, so receivers must tolerate
    duplicates.
    """
    for start in range(0, len(texts), _BATCH):
        entries = [
            {"Id": str(number), "MessageBody": text, "MessageGroupId": group, "DelaySeconds": delay_seconds}
            for number, text in enumerate(texts[start : start + _BATCH])
        ]
        try:
            answer = client.sdk_client("sqs").send_message_batch(QueueUrl=_url(queue), Entries=entries)
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") in _REJECTIONS:
                raise MessageRejected from error
            raise errors.Unavailable("The queue did not respond; try again.") from error
        except BotoCoreError as error:
            raise errors.Unavailable("The queue did not respond; try again.") from error
        if failed := answer.get("Failed"):
            if any(entry.get("SenderFault") for entry in failed):
                raise MessageRejected
            raise errors.Unavailable("The queue did not accept all messages; try again.")


@lru_cache
def _url(queue: str) -> str:
    url: str = client.sdk_client("sqs").get_queue_url(QueueName=name(queue))["QueueUrl"]
    return url
