"""Verifies that a webhook comes from CAMS (Standard Webhooks)."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

_TOLERANCE = 300


class InvalidWebhook(Exception):
    """The signing secret did not sign this request within the last five minutes. Answer with 400."""


class Event(NamedTuple):
    """A verified event. `id` is the same for all deliveries of the event; `sent_at` is in Unix seconds."""

    id: str
    sent_at: int
    type: str
    payload: dict[str, Any]


def verify_webhook(body: bytes, headers: Mapping[str, str], signing_secret: str) -> Event:
    """The event in the received bytes of a request. Names in `headers` may have any case.

    `signing_secret` is that of the webhook endpoint (`whsec_…`). Raises InvalidWebhook.
    """
    values = {name.lower(): value for name, value in headers.items()}
    try:
        event_id, sent_at = values["webhook-id"], int(values["webhook-timestamp"])
        signatures = values["webhook-signature"].split(" ")
    except (KeyError, ValueError):
        raise InvalidWebhook("A header of Standard Webhooks is missing or malformed.") from None
    if abs(time.time() - sent_at) > _TOLERANCE:
        raise InvalidWebhook("The request was signed more than five minutes from now.")
    expected = _signature(f"{event_id}.{values['webhook-timestamp']}.".encode() + body, signing_secret)
    if not any(hmac.compare_digest(expected, given.encode()) for given in signatures):
        raise InvalidWebhook("No signature matches the body.")
    event = json.loads(body)
    return Event(event_id, sent_at, event["type"], event["payload"])


def _signature(signed: bytes, signing_secret: str) -> bytes:
    key = base64.b64decode(signing_secret.removeprefix("whsec_"))
    return b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
