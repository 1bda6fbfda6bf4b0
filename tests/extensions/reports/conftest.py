"""The fixtures of the tests of webhooks: deliveries count in the usage."""

from tests.webhooks.conftest import inbox as inbox
from tests.webhooks.conftest import stream as stream
