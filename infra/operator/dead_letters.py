"""Stream messages on the dead-letter queue, and their records' positions in the streams.

Lambda sends a message for each batch that it has given up on. The message contains the batch's position in the stream,
not its records. A function sends a message for each record that it cannot process (`chalicelib.queues.stream_batches`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from chalicelib import settings, storage
from infra import event_filters
from infra.deploy.function import Function
from infra.deploy.functions import declared_functions
from infra.operator import stream_ranges
from infra.operator.stream_ranges import Record


class Unreadable(Exception):
    """The message is corrupt, or does not refer to a function of this stage and its stream."""


class Letter(NamedTuple):
    """A message about stream records. `read` yields the records that the function receives.

    `number` is the size of the batch that the function received. `record_id` is None for batch messages.
    """

    function: Function
    number: int
    record_id: str | None
    reason: str
    read: Callable[[], Iterator[Record]]


def from_text(text: str) -> Letter | None:
    """Return a message's content, or None if it is not about a stream. Raise Unreadable."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or not {"DDBStreamBatchInfo", "function"} & content.keys():
        return None
    try:
        return _of_batch(content) if "DDBStreamBatchInfo" in content else _of_record(content)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise Unreadable from error


def _of_batch(content: dict[str, Any]) -> Letter:
    context, batch = content["requestContext"], content["DDBStreamBatchInfo"]
    name = context["functionArn"].split(":")[6].removeprefix(settings.table_prefix())
    function = _find_function(name, batch["streamArn"])
    numbers = batch["startSequenceNumber"], batch["endSequenceNumber"]
    read = partial(stream_ranges.read_range, batch["streamArn"], batch["shardId"], *numbers)
    passes = event_filters.of_function(name)  # the range also includes records that the event filter dropped
    number, reason = max(1, int(batch["batchSize"])), str(context["condition"])
    return Letter(function, number, None, reason, lambda: filter(passes, read()))


def _of_record(content: dict[str, Any]) -> Letter:
    function = _find_function(content["function"], content.get("eventSourceARN"))
    identity = (function, 1, str(content.get("eventID")), str(content["error"]))
    if "record" in content:
        return Letter(*identity, lambda: iter([content["record"]]))
    read = partial(stream_ranges.read_one, content["eventSourceARN"], content["SequenceNumber"])
    return Letter(*identity, read)


def _find_function(name: str, stream_arn: str | None) -> Function:
    """Return the function with this name. Raise Unreadable if it is missing or reads another table."""
    table = stream_arn.split("/")[1] if stream_arn else None
    for function in declared_functions():
        if function.name == name and function.stream and table in (None, storage.table(function.stream)):
            return function
    raise Unreadable
