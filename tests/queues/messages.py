"""Queue messages in the form that functions receive."""

from moto.sqs.models import sqs_backends

from chalicelib import storage


def take(queue: str) -> list[dict[str, str]]:
    """Take the messages from a queue, ignoring their delay."""
    waiting = sqs_backends["123456789012"]["eu-west-1"].queues[storage.table(queue)]
    messages = [{"body": one.body, "receiptHandle": "", "messageId": one.id} for one in waiting._messages]
    waiting._messages = []
    return messages
