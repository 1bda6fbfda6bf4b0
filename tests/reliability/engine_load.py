"""Concurrent writers and a stream reader that load a local engine until it is killed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.local.children import Engine
from tests.reliability.engine_fixture import (
    all_items,
    client,
    create_table,
    kill,
    read_stream,
    running_engine,
    stream_pages,
)

TABLE = "things"
_SECONDS_OF_LOAD = 1.0

Item = dict[str, dict[str, str]]


@dataclass(frozen=True)
class Killed:
    """A killed engine's acknowledged writes, and its final items and stream records."""

    load: Load
    stored: dict[str, Item]
    records: list[Any]


class Load:
    """A load generator that runs until the engine is killed, and collects acknowledged writes and stream records."""

    def __init__(self) -> None:
        self.written: dict[str, Item] = {}
        self.deleted: set[str] = set()
        self.unanswered: set[str] = set()
        self.added = self.adds_unanswered = 0
        self.seen: list[Any] = []
        self.streams: set[str] = set()
        self.failures: list[Exception] = []
        self._ending = False
        self._lock = threading.Lock()
        self._numbers = iter(range(10**9))

    def run_until_killed(self, running: Engine) -> None:
        works = [
            self._put,
            self._put_if_absent,
            self._transact,
            self._transact,
            self._delete,
            self._add,
            self._read,
        ]
        self._ending = False
        clients = client(running, "dynamodb"), client(running, "dynamodbstreams")
        threads = [threading.Thread(target=self._repeat, args=(work, *clients)) for work in works]
        for thread in threads:
            thread.start()
        time.sleep(_SECONDS_OF_LOAD)
        self._ending = True
        kill(running)
        for thread in threads:
            thread.join()

    def _repeat(self, work: Callable[[Any, Any], None], dynamodb: Any, streams: Any) -> None:
        try:
            while True:
                work(dynamodb, streams)
        except Exception as error:
            if not self._ending:  # the kill may truncate a response
                self.failures.append(error)

    def _new_items(self, count: int) -> list[Item]:
        with self._lock:
            items: list[Item] = [
                {"id": {"S": f"k{number}"}, "v": {"S": "é" * (number % 500)}}
                for number in (next(self._numbers) for _ in range(count))
            ]
            self.unanswered |= {item["id"]["S"] for item in items}
        return items

    def _acknowledge(self, items: list[Item]) -> None:
        with self._lock:
            self.unanswered -= {item["id"]["S"] for item in items}
            self.written |= {item["id"]["S"]: item for item in items}

    def _put(self, dynamodb: Any, _: Any) -> None:
        items = self._new_items(1)
        dynamodb.put_item(TableName=TABLE, Item=items[0])
        self._acknowledge(items)

    def _put_if_absent(self, dynamodb: Any, _: Any) -> None:
        items = self._new_items(1)
        absent = "attribute_not_exists(id)"
        dynamodb.put_item(TableName=TABLE, Item=items[0], ConditionExpression=absent)
        self._acknowledge(items)
        other: Item = {**items[0], "v": {"S": "other"}}
        try:
            dynamodb.put_item(TableName=TABLE, Item=other, ConditionExpression=absent)
        except dynamodb.exceptions.ConditionalCheckFailedException:
            return
        raise AssertionError("a conditional put replaced an existing item")

    def _transact(self, dynamodb: Any, _: Any) -> None:
        items = self._new_items(3)
        dynamodb.transact_write_items(TransactItems=[{"Put": {"TableName": TABLE, "Item": item}} for item in items])
        self._acknowledge(items)

    def _delete(self, dynamodb: Any, _: Any) -> None:
        (item,) = self._new_items(1)
        dynamodb.put_item(TableName=TABLE, Item=item)
        dynamodb.delete_item(TableName=TABLE, Key={"id": item["id"]})
        with self._lock:
            self.unanswered.remove(item["id"]["S"])
            self.deleted.add(item["id"]["S"])

    def _add(self, dynamodb: Any, _: Any) -> None:
        self.adds_unanswered += 1
        dynamodb.update_item(
            TableName=TABLE,
            Key={"id": {"S": "counter"}},
            UpdateExpression="ADD n :one",
            ExpressionAttributeValues={":one": {"N": "1"}},
        )
        self.adds_unanswered -= 1
        self.added += 1

    def _read(self, _: Any, streams: Any) -> None:
        records: list[Any] = []
        for page in stream_pages(streams, TABLE):
            records += page
            if len(records) > len(self.seen):
                self.seen = list(records)
            self.streams.add(streams.list_streams(TableName=TABLE)["Streams"][0]["StreamArn"])


def kill_under_load(state: Path, kills: int) -> Killed:
    """Kill an engine several times under load; return the acknowledged writes and the final state."""
    load = Load()
    for _ in range(kills):
        with running_engine(state) as running:
            create_table(running, TABLE)
            load.run_until_killed(running)
    with running_engine(state) as running:
        return Killed(load, {item["id"]["S"]: item for item in all_items(running, TABLE)}, read_stream(running, TABLE))
