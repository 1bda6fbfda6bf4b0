"""The functions of the history: one follows each table whose changes it keeps."""

from chalicelib.extensions.history.extension import TABLES
from infra.deploy.function import READ_KEYRING, Function, follow


def _keep(table: str) -> Function:
    # Only a change of an agent or a tool replaces a version.
    actions = "BatchWriteItem GetItem PutItem UpdateItem" if table == "agents" else "BatchWriteItem"
    # A deletion is committed with its row of the history.
    return follow(table, {**READ_KEYRING, "history": actions}, event_filter={"eventName": ["INSERT", "MODIFY"]})


FUNCTIONS = tuple(_keep(table) for table in TABLES)
GRANTS = {
    "api_handler": {"history": "BatchWriteItem PutItem Query", "history/index/by_time": "Query"},
    "maintain": {"history": "BatchWriteItem PutItem"},
    "erase": {"history": "BatchGetItem BatchWriteItem", "history/index/by_time": "Query"},
}
LATE_ALARM = ("HistoryLate", "Changes take more than five minutes to appear in the history.")
