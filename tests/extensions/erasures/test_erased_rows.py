"""An erasure deletes the rows of every row class whose `storage.Lifecycle` declares an erasure kind."""

from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.builders import message
from tests.conftest import PassTime
from tests.engine_requests import refuse_operation
from tests.extensions.erasures.person_erasure import delete_entries_of_erasures, erase
from tests.operation_cases import large
from tests.person_records import ZARA, fill
from tests.storage.row_classes import row_classes
from tests.webhooks import pipeline
from tests.workspaces.workspace_rows import stored_classes


def store_person(api: Api, workspace_id: str) -> None:
    """Store a row of every class that may contain a person's data. The workspace contains no other person."""
    stream = pipeline.Stream()
    assert api.post("/v2/agents/support", {"description": ZARA["email"]}).status == 200
    pipeline.follow(stream.read("agents"))
    fill(api, workspace_id, ZARA["userID"])
    added = {"messages": [{**message("Hello"), "from": "human"}]}
    assert api.post("/agents/support/interact/zara/messages", added).status == 200
    headers = {**api._headers, "Content-Type": "application/json", "Idempotency-Key": "never-committed"}
    with refuse_operation("TransactWriteItems", "ThrottlingException"):  # leaves a stored response behind
        assert api.call("POST", "/agents/support/interact/zara/state", large(5), headers).status == 503


def test_the_rows_of_every_class_of_a_kind_are_erased(api: Api, workspace: NewWorkspace, pass_time: PassTime) -> None:
    """If a new row class fails here, `store_person` does not store such a row, or no search finds it."""
    of_kinds = {row for row in row_classes() if not row.lifecycle.erasure.startswith("no: ")}
    store_person(api, workspace.workspace_id)
    assert of_kinds - stored_classes(workspace.workspace_id) == set()
    erase(api, pass_time, **ZARA)
    delete_entries_of_erasures(workspace.workspace_id)
    assert of_kinds & stored_classes(workspace.workspace_id) == set()
