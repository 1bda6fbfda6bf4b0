"""Webhook fixtures, because usage includes deliveries."""

from tests.webhooks.conftest import inbox as inbox
from tests.webhooks.conftest import stream as stream
