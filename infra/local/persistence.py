"""Save each call's changes to the emulator's memory in the data file, and load the data file on startup.

MiniStack keeps its state in dictionaries. After each write call and before its response, the changed entries are saved
in one transaction. Items, stream records and messages are saved individually. Everything else (table and queue
descriptions, keys, tags) is saved unless the call is one of `_DATA_CALLS`.

Message receipts are not saved: after a restart, received messages are visible immediately, because their receivers have
stopped, too. Transaction tokens are not saved either, because their senders have stopped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from infra.local.data_file import MESSAGE, RECORD, DataFile, DataFileError, Range, Row

_ITEM, _ENTRY, _VERSION = "item", "entry", "version"
# Calls that change only items or messages.
_DATA_CALLS = {
    *("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"),
    *("SendMessage", "SendMessageBatch", "DeleteMessage", "DeleteMessageBatch"),
}
# Table and queue members that are derived, or whose entries have separate rows.
_CONTENT = {"items", "messages", "_index_members", "ItemCount", "TableSizeBytes"}
_STORES_WITHOUT_ENTRIES = {"_stream_records", "_stream_trimmed", "_txn_idempotency"}

Record = dict[str, Any]
Scoped = tuple[str, str, str]
"""A key in the emulator's dictionaries: account, region and name."""


class Persistence:
    """The emulator's state in memory and its copy in the data file. `modules` maps services to MiniStack modules."""

    def __init__(self, data: DataFile, modules: dict[str, ModuleType], version: str) -> None:
        self._data, self._modules = data, modules
        self._dynamodb, self._sqs = modules["dynamodb"], modules["sqs"]
        self._changed_items: set[tuple[Scoped, str, str]] = set()
        self._saved_entries: dict[tuple[str, str, Scoped], str] = {}
        self._saved_messages: dict[Scoped, set[str]] = {}
        self._last_records: dict[Scoped, Record] = {}
        values = data.values()
        if values and values[_VERSION] != [version]:
            raise DataFileError(
                "The data file is from another version of MiniStack: move it away to start with empty tables."
            )
        data.save([Row(_VERSION, "", "", version)])
        self._load(values)
        for name in ("_set_item", "_remove_item"):
            setattr(self._dynamodb, name, self._track_item(getattr(self._dynamodb, name)))
        vars(self._dynamodb)["_items_replaced"] = self._track_all_items(self._dynamodb._items_replaced)

    def save(self, call: str = "") -> None:
        """Save the changes made by the call with this name, or by any call if there is no name."""
        rows = [*self._item_rows(), *self._record_rows(), *self._message_rows()]
        gone: list[Range] = []
        if call not in _DATA_CALLS:
            rows += self._entry_rows(gone)
        self._data.save(rows, gone)

    def forget(self, positions: dict[str, str]) -> None:
        """Drop processed stream records from memory and from the data file.

        `positions` maps `<table>/<function>` to the sequence number of the last record that the function has processed.
        """
        gone = []
        for scoped, records in self._dynamodb._stream_records.all_items():
            numbers = [int(number or 0) for place, number in positions.items() if place.startswith(f"{scoped[2]}/")]
            last = min(numbers, default=0)
            count = next((n for n, record in enumerate(records) if int(_key(record)) > last), len(records))
            del records[:count]
            trimmed = self._dynamodb._stream_trimmed.get_scoped(*scoped, 0)
            self._dynamodb._stream_trimmed.set_scoped(*scoped, trimmed + count)
            gone.append(Range(RECORD, scoped[2], _key(records[0]) if records else ""))
        self._data.save([], gone)
        self._data.checkpoint()

    def _load(self, values: dict[str, list[Any]]) -> None:
        tables, queues = self._dynamodb._tables._data, self._sqs._queues._data
        for service, store, scoped, value in values[_ENTRY]:
            self._saved_entries[service, store, scoped] = repr(value)
            if (service, store) == ("kms", "_keys"):
                key = type(self._modules["kms"]._keys)()
                key._data[scoped] = value
                self._modules["kms"].load_persisted_state({"keys": key})
            else:
                getattr(self._modules[service], store)._data[scoped] = value
        for table in tables.values():
            table["items"] = defaultdict(dict)
        for queue in queues.values():
            queue["messages"] = []
        for scoped, hash_value, range_value, item in values[_ITEM]:
            tables[scoped]["items"][hash_value][range_value] = item
        for table in tables.values():
            self._dynamodb._update_counts(table)
        for scoped, record in values[RECORD]:
            self._dynamodb._stream_records._data.setdefault(scoped, []).append(record)
            self._last_records[scoped] = record
        for scoped, message in values[MESSAGE]:
            queues[scoped]["messages"].append(message)
            self._saved_messages.setdefault(scoped, set()).add(message["id"])

    def _track_item(self, change: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function that sets or removes a table item."""

        def tracked(table: dict[str, Any], hash_value: str, range_value: str, *item: Any) -> Any:
            self._changed_items.add((self._scoped(table["TableName"]), hash_value, range_value))
            return change(table, hash_value, range_value, *item)

        return tracked

    def _track_all_items(self, replaced: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
        """Wrap the function that is called after all of a table's items have been replaced."""

        def tracked(table: dict[str, Any]) -> None:
            scoped = self._scoped(table["TableName"])
            self._changed_items |= {(scoped, key, other) for key, bucket in table["items"].items() for other in bucket}
            replaced(table)

        return tracked

    def _scoped(self, name: str) -> Scoped:
        return (self._dynamodb.get_account_id(), self._dynamodb.get_region(), name)

    def _item_rows(self) -> Iterator[Row]:
        changed, self._changed_items = self._changed_items, set()
        for scoped, hash_value, range_value in changed:
            table = self._dynamodb._tables._data.get(scoped, {"items": {}})
            item = table["items"].get(hash_value, {}).get(range_value)
            value = None if item is None else (scoped, hash_value, range_value, item)
            yield Row(_ITEM, scoped[2], repr((scoped, hash_value, range_value)), value)

    def _record_rows(self) -> Iterator[Row]:
        for scoped, records in self._dynamodb._stream_records.all_items():
            last, count = self._last_records.get(scoped), len(records)
            # Records are compared by identity, because sequence numbers decrease when the clock steps back.
            saved = next((n for n in range(count, 0, -1) if records[n - 1] is last), 0)
            for record in records[saved:]:
                self._last_records[scoped] = record
                yield Row(RECORD, scoped[2], _key(record), (scoped, record))

    def _message_rows(self) -> Iterator[Row]:
        for scoped, queue in self._sqs._queues.all_items():
            messages = {message["id"]: message for message in queue["messages"]}
            saved = self._saved_messages.get(scoped, set())
            for gone in saved - messages.keys():
                yield Row(MESSAGE, queue["name"], gone, None)
            for message_id, message in messages.items():
                if message_id not in saved:
                    yield Row(MESSAGE, queue["name"], message_id, (scoped, message))
            self._saved_messages[scoped] = {*messages}

    def _entry_rows(self, gone: list[Range]) -> Iterator[Row]:
        """Yield rows for changed entries; append the contents of deleted tables and queues to `gone`."""
        entries = {place: value for service in self._modules for place, value in self._entries(service)}
        for place in self._saved_entries.keys() - entries.keys():
            del self._saved_entries[place]
            service, store, scoped = place
            yield Row(_ENTRY, f"{service}.{store}", repr(scoped), None)
            kinds = {"_tables": (_ITEM, RECORD), "_queues": (MESSAGE,)}.get(store, ())
            gone += [Range(kind, scoped[2].rpartition("/")[2]) for kind in kinds]
        for place, value in entries.items():
            if self._saved_entries.get(place) != repr(value):
                self._saved_entries[place] = repr(value)
                service, store, scoped = place
                yield Row(_ENTRY, f"{service}.{store}", repr(scoped), (*place, value))

    def _entries(self, service: str) -> Iterator[tuple[tuple[str, str, Scoped], Any]]:
        """Yield the place and value of each entry in a service's stores, except content stored in separate rows."""
        module = self._modules[service]
        for store, value in vars(module).items():
            if not isinstance(value, module.AccountRegionScopedDict) or store in _STORES_WITHOUT_ENTRIES:
                continue
            # Signing key objects are not plain data.
            entries = module.get_state()["keys"] if (service, store) == ("kms", "_keys") else value
            for scoped, entry in entries.all_items():
                has_content = store in ("_tables", "_queues")
                plain = {name: entry[name] for name in entry if name not in _CONTENT} if has_content else entry
                yield (service, store, scoped), plain


def _key(record: Record) -> str:
    sequence_number: str = record["dynamodb"]["SequenceNumber"]
    return sequence_number
