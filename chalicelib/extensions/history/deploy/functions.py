"""The history functions. One function follows each table whose changes the history keeps."""

from chalicelib.extensions.history.extension import TABLES
from infra.deploy.function import READ_KEYRING, Function, follow


def _keep(table: str) -> Function:
    # Only changes to agents and tools replace versions.
    actions = "BatchWriteItem GetItem PutItem UpdateItem" if table == "agents" else "BatchWriteItem"
    # Deletions and their history rows are committed together.
    return follow(table, {**READ_KEYRING, "history": actions}, event_filter={"eventName": ["INSERT", "MODIFY"]})


FUNCTIONS = tuple(_keep(table) for table in TABLES)
GRANTS = {
    "api_handler": {"history": "BatchWriteItem PutItem Query", "history/index/by_time": "Query"},
    "maintain": {"history": "BatchWriteItem PutItem"},
    "erase": {"history": "BatchGetItem BatchWriteItem", "history/index/by_time": "Query"},
}
LATE_ALARM = ("HistoryLate", "Changes take more than five minutes to appear in the history.")
