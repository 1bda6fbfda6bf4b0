"""The `repr` and `str` of rows, models and errors contain no values."""

from typing import Any

import pytest
from pydantic import ValidationError

from chalicelib.credentials import store as credentials
from chalicelib.http.wire import WireModel
from chalicelib.leads.models import LeadIn
from chalicelib.storage import keyring
from chalicelib.webhooks.models import WebhookChangeIn, WebhookIn
from chalicelib.workspaces import store as workspaces
from tests.builders import lead_body, webhook_body
from tests.contract.member_table import alone
from tests.contract.wire_models import MODELS
from tests.secret_canaries import CANARY, SECRET_MEMBERS, filled, renderings
from tests.storage.row_classes import row_classes

pytestmark = pytest.mark.guarantee("secret")


@pytest.mark.parametrize(
    ("model", "record"),
    [
        pytest.param(LeadIn, lead_body("a", name=CANARY, email=CANARY), id="a lead"),
        pytest.param(WebhookIn, webhook_body(CANARY), id="a new webhook"),
        pytest.param(WebhookChangeIn, {"webhook": {"description": CANARY}}, id="a change of a webhook"),
    ],
)
def test_the_repr_of_a_request_body_shows_no_values(model: type[WireModel], record: dict[str, Any]) -> None:
    body = model.model_validate(record)
    assert CANARY in str(body.model_dump())
    assert CANARY not in renderings(body)


WIRE = {name: model for name, model in MODELS.items() if isinstance(model, type) and issubclass(model, WireModel)}


def test_the_repr_of_a_model_shows_only_member_names() -> None:
    for resource, model in WIRE.items():
        record = filled(resource)
        parsed = model.model_validate(record)
        assert CANARY in str(parsed.model_dump()), resource
        assert CANARY not in renderings(parsed), resource
        assert all(name in renderings(parsed) for name in record), resource


def test_a_validation_error_does_not_show_the_value() -> None:
    for member in (member for secret in SECRET_MEMBERS.values() for member in secret):
        with pytest.raises(ValidationError) as caught:
            WIRE[member.resource].model_validate(alone(member, [CANARY]))
        assert CANARY not in renderings(caught.value), member.path


def test_the_repr_of_a_row_shows_only_its_key() -> None:
    for kind in row_classes():
        row = kind("workspace", "item") if kind._range_keyname else kind("workspace")
        for name in row.get_attributes():
            if name not in (kind._hash_keyname, kind._range_keyname):
                row.attribute_values[name] = CANARY
        assert "workspace" in renderings(row), kind
        assert CANARY not in renderings(row), kind


@pytest.mark.parametrize(
    ("thing", "names"),
    [
        pytest.param(workspaces.NewWorkspace("01abc", CANARY, CANARY, CANARY), "01abc", id="a new workspace"),
        pytest.param(
            credentials.NewCredential(credentials.CredentialRow("hash", credential_id="01abc"), CANARY),
            "01abc",
            id="issued",
        ),
        pytest.param(keyring.DataKey(b"\x00\xab\xcd\xef", CANARY.encode()), "00abcdef", id="a data key"),
    ],
)
def test_the_repr_of_an_object_with_a_secret_shows_only_its_id(thing: Any, names: str) -> None:
    assert names in renderings(thing)
    assert CANARY not in renderings(thing)
