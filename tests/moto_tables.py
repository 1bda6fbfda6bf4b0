"""Direct access to moto's tables, which tests use to check and restore stored rows."""

import pickle
from typing import Any

from moto.core.model_instances import reset_model_data
from moto.dynamodb.models import dynamodb_backends

from chalicelib.agents import store as agents
from chalicelib.http import auth


def tables() -> dict[str, Any]:
    """Return moto's tables by name."""
    held: dict[str, Any] = dynamodb_backends["123456789012"]["eu-west-1"].tables
    return held


def items() -> dict[str, list[dict[str, Any]]]:
    """Return every item of every table, byte for byte."""
    return {name: [item.to_json()["Attributes"] for item in table.all_items()] for name, table in tables().items()}


def snapshot() -> bytes:
    """Return the contents of all tables, for `restore`."""
    return pickle.dumps({name: table.items for name, table in tables().items()})


def restore(taken: bytes) -> None:
    """Restore all tables and clear the caches that were filled from them."""
    for name, held in pickle.loads(taken).items():
        tables()[name].items = held
    drop_history()
    auth.clear_cache()
    agents._known_agents.clear()


def drop_history() -> None:
    """Empty the streams and moto's list of all stream records."""
    for table in tables().values():
        if table.stream_shard is not None:
            table.stream_shard.items.clear()
    reset_model_data()
