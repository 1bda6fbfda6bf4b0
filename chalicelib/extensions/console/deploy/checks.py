"""The check of the console in `make verify`: the function that sends emails runs."""

from collections.abc import Iterator

from infra.verify.visit import Visit


def check_notifications(visit: Visit) -> Iterator[str]:
    """Invoke the function of the queue, without a message."""
    yield from visit.invoke("notify_people")


CHECKS = {"notifications": check_notifications}
