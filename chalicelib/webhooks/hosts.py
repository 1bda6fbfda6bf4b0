"""Tracks which hosts respond quickly. Only deliveries to these hosts use the fast queue (bulkhead).

A quick response promotes a host for `QUICK_SECONDS`. The first hang demotes a host for `PENALTY_SECONDS`, and each
further hang for twice as long, up to a maximum (`retry_policy`). A quick response in the second half of `QUICK_SECONDS`
clears the host's demotions. A row in the same partition as a workspace's endpoints contains its hosts' state, so
fan-out and delivery read it without an additional request. Deleting an endpoint does not change this row.
"""

import logging
from collections.abc import Callable, Mapping
from typing import NamedTuple

from pynamodb.attributes import UnicodeAttribute

from chalicelib import clock, storage
from chalicelib.sending.addresses import read_url
from chalicelib.storage import DocumentRow, encryption
from chalicelib.webhooks import retry_policy

_log = logging.getLogger(__name__)

SORT_KEY = "hosts#"
"""Sorts after all endpoint ids, which are ULIDs and begin with a digit. No path identifier contains `#`."""

# Maximum hosts in a workspace's row, equal to the maximum number of endpoints. A forgotten host is slow, like a new
# host, so the hosts with the fewest demotions are forgotten first.
_REMEMBERED = 50


class HostsRow(DocumentRow):
    """A workspace's hosts: `{"host:port": [quick_until, slow_until, demotions]}`, least recently changed first."""

    class Meta:
        table_name = storage.table("webhooks")

    lifecycle = storage.Lifecycle(
        "{workspace}", "hosts#", owner="workspace", export="no: learnt again", erasure="no: describes no person"
    )
    workspace = UnicodeAttribute(hash_key=True)
    webhook_id = UnicodeAttribute(range_key=True, default=SORT_KEY)


class Host(NamedTuple):
    """The state of a host. Times are Unix seconds."""

    quick_until: int = 0
    slow_until: int = 0
    demotions: int = 0

    @property
    def is_quick(self) -> bool:
        """Return whether deliveries to the host use the fast queue."""
        return clock.seconds() < self.quick_until

    @property
    def awaits_promotion(self) -> bool:
        """Return whether a quick response changes the state. A quick host waits for half of `QUICK_SECONDS`."""
        now = clock.seconds()
        return self.slow_until <= now and self.quick_until < now + retry_policy.QUICK_SECONDS // 2

    def promoted(self) -> "Host":
        """Return the state after a quick response."""
        if not self.awaits_promotion:
            return self
        # If a host is still quick, its demotions are cleared.
        return Host(clock.seconds() + retry_policy.QUICK_SECONDS, 0, 0 if self.is_quick else self.demotions)

    def demoted(self) -> "Host":
        """Return the state after a hang. A slow host keeps its state."""
        if not self.is_quick:
            return self
        penalty = min(retry_policy.PENALTY_SECONDS * 2**self.demotions, retry_policy.MAX_PENALTY_SECONDS)
        return Host(0, clock.seconds() + penalty, self.demotions + 1)


NEW = Host()
"""The state of a host that has neither responded quickly nor hung."""

Hosts = Mapping[str, Host]


def name(url: str) -> str:
    """Return the host and port of an endpoint's URL."""
    destination = read_url(url, allow_private=True)  # the sender decides which hosts may be reached
    return f"{destination.host}:{destination.port}"


def key(workspace_id: str) -> storage.Key:
    """Return the key of a workspace's hosts row, for `storage.find_many`."""
    return storage.Key(HostsRow, workspace_id, SORT_KEY)


def read(row: HostsRow | None) -> Hosts:
    """Return a row's hosts. If the row is missing or cannot be decrypted, every host is new."""
    if row is None:
        return {}
    try:
        return {host: Host(*state) for host, state in row.open().items()}
    except encryption.DecryptionError:
        _log.exception("Cannot decrypt a workspace's hosts; all hosts are slow until they respond: %s", row)
        return {}


def find(hosts: Hosts, url: str) -> Host:
    """Return the state of a URL's host."""
    return hosts.get(name(url), NEW)


def promote(workspace_id: str, host: str) -> None:
    """Record a quick response. Raise Unavailable or ConditionFailed if it cannot be stored."""
    _change(workspace_id, host, Host.promoted)


def demote(workspace_id: str, host: str) -> None:
    """Record a hang. Raise Unavailable or ConditionFailed if it cannot be stored."""
    _change(workspace_id, host, Host.demoted)


def _change(workspace_id: str, host: str, change: Callable[[Host], Host]) -> None:
    """Write a host's state if it changes."""

    def run() -> None:
        with storage.unit_of_work():
            row = storage.find(HostsRow, workspace_id, SORT_KEY)
            hosts_by_name = dict(read(row))
            before = hosts_by_name.pop(host, NEW)
            after = change(before)
            if after != before:
                row = row or HostsRow(workspace_id)
                row.seal({**_remembered(hosts_by_name), host: after})
                storage.put(row)

    storage.retry_on_conflict(run)


def _remembered(hosts_by_name: Mapping[str, Host]) -> Mapping[str, Host]:
    """Return the hosts to store when another host changes. New hosts must not displace a host with a penalty."""
    if len(hosts_by_name) < _REMEMBERED:
        return hosts_by_name
    # Among hosts with equal demotions, the least recently changed host is forgotten.
    forgotten = min(hosts_by_name, key=lambda host: hosts_by_name[host].demotions)
    return {host: state for host, state in hosts_by_name.items() if host != forgotten}
