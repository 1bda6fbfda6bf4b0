"""The item that a row is stored as equals the item of PynamoDB's own method."""

import pytest
from pynamodb.models import Model

from chalicelib.agents.store import AgentRow
from chalicelib.credentials.store import CredentialRow


def test_an_item_equals_that_of_pynamodb() -> None:
    row = CredentialRow("hash", workspace="w", scopes={"agents:read"})
    assert row.serialize(null_check=False) == Model.serialize(row, null_check=False)
    row.scopes = set()
    assert row.serialize(null_check=False) == Model.serialize(row, null_check=False)


def test_a_row_without_a_mandatory_attribute_is_not_stored() -> None:
    row = AgentRow("w#1", "agent#a")
    assert "agent_id" not in row.serialize(null_check=False)
    with pytest.raises(ValueError, match="agent_id"):
        row.serialize()
