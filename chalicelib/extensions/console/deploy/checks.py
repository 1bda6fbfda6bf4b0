"""The check for the console in `make verify`."""

from collections.abc import Iterator

from infra.verify.visit import Visit


def check_notifications(visit: Visit) -> Iterator[str]:
    """Check that the notification function runs, by invoking it without a message."""
    yield from visit.invoke("notify_people")


CHECKS = {"notifications": check_notifications}
