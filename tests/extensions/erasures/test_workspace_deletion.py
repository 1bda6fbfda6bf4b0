"""When an operator deletes a workspace, its erasures are deleted as well."""

import json

from chalicelib.extensions.erasures import store
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.workspaces.commands import succeed
from tests.workspaces.conftest import full as full
from tests.workspaces.conftest import neighbour as neighbour
from tests.workspaces.conftest import no_waiting as no_waiting
from tests.workspaces.workspace_rows import of, rows_of


def test_a_deletion_includes_erasures(full: NewWorkspace, neighbour: NewWorkspace) -> None:
    for made in (full, neighbour):
        created = Api(made.workspace_key).post("/v3/erasures", {"erasure": {"userID": "ann"}}).data
        erasure = store.read(made.workspace_id, created["id"])
        store.remember(erasure, [store.Match("support", "ann", "01m7zd9ja0p900000000000000")])
    succeed("suspend", full.workspace_id, "--yes")
    untouched, own = rows_of(neighbour), rows_of(full)["cams-workspaces"]
    kinds = [kind for row in own if (kind := row["item"]["S"].partition("#")[0]).startswith("eras")]
    assert {*kinds} == {"erasure", "erased", "erasing"}
    receipt = json.loads(succeed("delete", full.workspace_id, "--yes", "--json").stdout)
    assert (of(full.workspace_id), receipt["erasure"]) == ({}, len(kinds))
    assert rows_of(neighbour) == untouched
