"""Messages to functions that run later: one text each, on a queue of the template."""

from collections.abc import Sequence
from functools import lru_cache

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib import errors, storage
from chalicelib.storage import client

_BATCH = 10


def name(queue: str) -> str:
    """The physical name of a queue of the template."""
    return storage.table(queue)


def send(queue: str, texts: Sequence[str], delay_seconds: int = 0) -> None:
    """Put texts on a queue, ten with a request. Raises Unavailable when it did not take all of them.

    Some may have been taken then, and what is on a queue may come twice: readers must be able to bear it.
    """
    for start in range(0, len(texts), _BATCH):
        entries = [
            {"Id": str(number), "MessageBody": text, "DelaySeconds": delay_seconds}
            for number, text in enumerate(texts[start : start + _BATCH])
        ]
        try:
            answer = client.sdk_client("sqs").send_message_batch(QueueUrl=_url(queue), Entries=entries)
        except (BotoCoreError, ClientError) as error:
            raise errors.Unavailable("The queue does not answer; try again.") from error
        if answer.get("Failed"):
            raise errors.Unavailable("The queue does not take all messages; try again.")


@lru_cache
def _url(queue: str) -> str:
    url: str = client.sdk_client("sqs").get_queue_url(QueueName=name(queue))["QueueUrl"]
    return url
