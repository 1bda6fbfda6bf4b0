"""The SDK's clients have all event handlers of the SDK, although only those of the used services are registered."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.handlers import BUILTIN_HANDLERS
from botocore.session import Session

from chalicelib import storage
from chalicelib.storage import client
from infra.package import trim

# Only the SDK's own documentation uses these events.
STAGES = {event.partition(".")[0] for event, *_ in BUILTIN_HANDLERS} - {"docs"}


@pytest.mark.parametrize("service", trim.services())
def test_the_handlers_of_a_used_service_are_those_of_the_sdk(service: str) -> None:
    storage.sdk_client(service)
    stock = Session()
    operations = stock.get_service_model(service).operation_names
    events = [f"{stage}.{service}.{operation}" for stage in STAGES for operation in operations]
    assert {event: _handlers(client._session, event) for event in events} == {
        event: _handlers(stock, event) for event in events
    }


def test_handlers_are_registered_once() -> None:
    for attempts in (1, 2):
        storage.sdk_client("sqs", attempts)
    handlers = _handlers(client._session, "after-call.sqs.SendMessage")
    assert len(handlers) == len(set(handlers)) == 1


def test_event_names_are_not_compared_with_former_names_of_services() -> None:
    event = "before-call.logs.CreateLogGroup"
    assert _emitter(Session())._alias_event_name(event) != event
    assert _emitter(client._session)._alias_event_name(event) == event


def _emitter(session: Session) -> Any:
    return session.get_component("event_emitter")


def _handlers(session: Session, event: str) -> list[object]:
    """Return the handlers that an event calls, in order."""
    emitter = _emitter(session)
    return list(emitter._emitter._handlers.prefix_search(emitter._alias_event_name(event)))
