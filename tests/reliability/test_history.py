"""Concurrent writers and readers of one conversation observe a single consistent history on the real local engine.

Writes are stored in the conversation's own item or in chunks. Each read returns one complete write. The acknowledged
writes form one sequence, because the response to each write contains the previous write as the old state. No reader
goes backwards in this sequence.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from infra.local.children import Engine
from tests.guarantees import CaseCounter
from tests.reliability import conversation_clients
from tests.reliability.engine_fixture import client
from tests.reliability.processes import output, service
from tests.selection import whole

pytestmark = [pytest.mark.engine, pytest.mark.guarantee("history")]

WRITERS, READERS, THREADS = 2, 1, 2
BEGINNING = "beginning"


@pytest.mark.parametrize("each", [pytest.param(12, marks=whole), pytest.param(150, marks=pytest.mark.long)])
def test_reads_return_complete_writes_and_no_write_is_lost(tmp_path: Path, count_cases: CaseCounter, each: int) -> None:
    with service(tmp_path) as served:
        assert len(actions_of(served.start(conversation_clients.__name__, "write", BEGINNING, 1, 1))) == 1
        writers = [
            served.start(conversation_clients.__name__, "write", f"writer-{number}", THREADS, each)
            for number in range(WRITERS)
        ]
        readers = [served.start(conversation_clients.__name__, "read", THREADS, 3 * each) for _ in range(READERS)]
        written = [one for writer in writers for thread in actions_of(writer) for one in thread]
        read = [thread for reader in readers for thread in actions_of(reader)]
        tags = version_tags(served.engine)

    line = history({one["wrote"]: one["after"] for one in written if "wrote" in one})
    acknowledged = sum("refused" not in one for one in written)
    assert len(tags) == len(set(tags)) == acknowledged + 1, "each acknowledged write must create one version"
    for reader in read:
        seen = [line.index(one["read"]) for one in reader if "read" in one]
        assert seen == sorted(seen)
    assert any("refused" in one for one in written), "no two requests conflicted"
    count_cases(states=acknowledged + sum("read" in one for reader in read for one in reader))


def actions_of(process: Any) -> list[list[dict[str, Any]]]:
    """Return the actions of each thread of a process, in order."""
    return [json.loads(line) for line in output(process)]


def history(after: dict[str, str]) -> list[str]:
    """Return all writes in the order in which they replaced each other."""
    following = {old: new for new, old in after.items()}
    assert len(following) == len(after), "two writes replaced the same write"
    line = [f"{BEGINNING}-0-0"]
    while line[-1] in following:
        line.append(following[line[-1]])
    assert len(line) == len(after) + 1, "a write replaced an unknown state"
    return line


def version_tags(engine: Engine) -> list[str]:
    """Return all version tags of the conversation's item from the table's stream."""
    arn = client(engine, "dynamodb").describe_table(TableName="cams-conversations")["Table"]["LatestStreamArn"]
    streams = client(engine, "dynamodbstreams")
    (shard,) = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    place = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    iterator, tags = streams.get_shard_iterator(**place)["ShardIterator"], []
    while records := (answer := streams.get_records(ShardIterator=iterator))["Records"]:
        images = [record["dynamodb"]["NewImage"] for record in records if "NewImage" in record["dynamodb"]]
        tags += [image["version_tag"]["S"] for image in images if image["item"]["S"] == "conversation"]
        iterator = answer["NextShardIterator"]
    return tags
