"""The stage lock, which lets only one command at a time change the stage, from any machine.

The lock is an item in the stage's table `idempotency`, written with conditional writes. No index contains it, so
exports, erasures and reports never read it. Its holder renews the lock every second. A killed holder cannot delete its
lock, so the next command watches the lock for a few seconds and takes it over if it is not renewed. The protocol does
not compare clocks.
"""

from __future__ import annotations

import getpass
import os
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Any

import click
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from infra.deploy import sdk_errors

Sdk = Callable[..., Any]

_RENEWAL_SECONDS = 1.0
_WATCH_SECONDS = 5.0
# A lock that is neither renewed nor taken over expires through the table's TTL.
_SECONDS_TO_LIVE = 24 * 3600
_NOT_HELD = {
    "ConditionExpression": "attribute_not_exists(#request)",
    "ExpressionAttributeNames": {"#request": "request"},
}
_OWNED = {"ConditionExpression": "#owner = :owner", "ExpressionAttributeNames": {"#owner": "owner"}}
_AS_SEEN = {
    "ConditionExpression": "#owner = :owner AND renewals = :renewals",
    "ExpressionAttributeNames": {"#owner": "owner"},
}
_RENEWED = {"UpdateExpression": "ADD renewals :one SET expires_at = :expiry"}


@contextmanager
def hold(sdk: Sdk, name: str, command: str) -> Iterator[None]:
    """Hold the stage lock during the block. `name` is the stack name; waiting users see `command`.

    Raise ClickException if another command holds the lock. A stage without tables is not locked.
    """
    # A slow request must not delay the next renewal.
    quick = Config(connect_timeout=2, read_timeout=2, retries={"max_attempts": 1})
    lock = {"TableName": f"{name}-idempotency", "Key": {"request": {"S": f"deployment#{name}"}, "part": {"S": "lock"}}}
    owner, ended = str(uuid.uuid4()), threading.Event()
    try:
        _acquire(sdk("dynamodb"), lock, owner, command, name)
    except ClientError as error:
        if sdk_errors.code(error) not in sdk_errors.MISSING:
            raise
        yield
        return
    renewing = threading.Thread(
        target=_renew, args=(sdk("dynamodb", config=quick), lock, owner, ended), name="stage lock", daemon=True
    )
    renewing.start()
    try:
        yield
    finally:
        ended.set()
        renewing.join()
        _release(sdk("dynamodb"), lock, owner)


def _acquire(dynamodb: Any, lock: dict[str, Any], owner: str, command: str, name: str) -> None:
    own = {
        **lock["Key"],
        "owner": {"S": owner},
        "holder": {"S": _holder(command)},
        "renewals": {"N": "0"},
        "expires_at": _expiry(),
    }
    put = {"TableName": lock["TableName"], "Item": own}
    while not _write(dynamodb.put_item, **put, **_NOT_HELD):
        seen = dynamodb.get_item(**lock, ConsistentRead=True).get("Item")
        if not seen:
            continue  # the holder has released the lock
        click.echo(f"  {seen['holder']['S']} still runs or was interrupted; watching it for {_WATCH_SECONDS:.0f} s.")
        current = _watch(dynamodb, lock, seen)
        values = {":owner": seen["owner"], ":renewals": seen["renewals"]}
        if current == seen and _write(dynamodb.put_item, **put, **_AS_SEEN, ExpressionAttributeValues=values):
            return
        if current and current["owner"]["S"] == owner:
            return  # the response to this process's write was lost
        if current and current != seen:
            raise click.ClickException(
                f"Another command is changing {name}: {current['holder']['S']}. "
                "Wait until it has finished, then repeat."
            )


def _watch(dynamodb: Any, lock: dict[str, Any], seen: Any) -> Any:
    """Poll the lock until it changes, for at most a few seconds. Return the lock."""
    deadline = time.monotonic() + _WATCH_SECONDS
    while (current := dynamodb.get_item(**lock, ConsistentRead=True).get("Item")) == seen:
        if time.monotonic() > deadline:
            break
        time.sleep(_RENEWAL_SECONDS / 2)
    return current


def _holder(command: str) -> str:
    """Describe this process to users who are waiting for it."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # container users may have no name
        user = "unknown"
    started = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    return f"`{command}` of {user} on {socket.gethostname()} (process {os.getpid()}, since {started})"


def _renew(dynamodb: Any, lock: dict[str, Any], owner: str, ended: threading.Event) -> None:
    """Renew the lock until the event is set. Exit the process if another command has taken over the lock."""
    while not ended.wait(_RENEWAL_SECONDS):
        values = {":owner": {"S": owner}, ":one": {"N": "1"}, ":expiry": _expiry()}
        try:
            renewed = _write(dynamodb.update_item, **lock, **_OWNED, **_RENEWED, ExpressionAttributeValues=values)
        except (BotoCoreError, ClientError):
            continue  # an outage, or the table is being deleted
        if not renewed and not ended.is_set():
            # Chalice runs in a child process, which exits together with this process.
            sys.stderr.write("Error: Another command has taken over, because this command did not renew its lock.\n")
            os._exit(1)


def _expiry() -> dict[str, str]:
    return {"N": str(int(time.time()) + _SECONDS_TO_LIVE)}


def _release(dynamodb: Any, lock: dict[str, Any], owner: str) -> None:
    try:
        _write(dynamodb.delete_item, **lock, **_OWNED, ExpressionAttributeValues={":owner": {"S": owner}})
    except (BotoCoreError, ClientError):
        return  # the next command takes it over


def _write(operation: Callable[..., Any], **request: Any) -> bool:
    """Send a conditional write. Return whether its condition was met."""
    with sdk_errors.ignore("ConditionalCheckFailedException"):
        operation(**request)
        return True
    return False
