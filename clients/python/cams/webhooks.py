"""Verification of webhook signatures (Standard Webhooks)."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from ._errors import Error
from .events import BY_TYPE, Event, UnknownEvent

_TOLERANCE = 300


class InvalidWebhook(Error):
    """The request was not signed with the signing secret within the last five minutes. Respond with 400."""


def verify_webhook(body: bytes | str, headers: Mapping[str, str], signing_secret: str) -> Event:
    """Verify a request and return its event. `body` is the body as received; names in `headers` may have any case.

    `signing_secret` is the webhook endpoint's signing secret (`whsec_…`). Compare `type` with a name, such as
    `lead_captured`, and type checkers know the payload. Raise InvalidWebhook if the signature or its time is invalid,
    and ValueError if the signing secret is.
    """
    values = {name.lower(): value for name, value in headers.items()}
    try:
        event_id, sent_at = values["webhook-id"], int(values["webhook-timestamp"])
        signatures = values["webhook-signature"].split(" ")
    except (KeyError, ValueError):
        raise InvalidWebhook("A Standard Webhooks header is missing or malformed.") from None
    if abs(time.time() - sent_at) > _TOLERANCE:
        raise InvalidWebhook("The signature's time differs from the clock by more than five minutes.")
    content = body.encode() if isinstance(body, str) else body
    expected = _signature(f"{event_id}.{values['webhook-timestamp']}.".encode() + content, signing_secret)
    if not any(hmac.compare_digest(expected, signature.encode()) for signature in signatures):
        raise InvalidWebhook("No signature in the request matches its body.")
    message_id = unquote(values["cams-message-id"]) if "cams-message-id" in values else None
    event = {**json.loads(body), "id": event_id, "sentAt": sent_at, "messageId": message_id}
    # A new version of the service may have further types. A type checker need not know them.
    record: Any = BY_TYPE.get(event["type"], UnknownEvent)
    verified: Event = record.from_dict(event)
    return verified


def _signature(signed: bytes, signing_secret: str) -> bytes:
    key = base64.b64decode(signing_secret.removeprefix("whsec_"), validate=True)
    if not key:  # anyone can compute the signature for an empty key
        raise ValueError("The signing secret is empty.")
    return b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
