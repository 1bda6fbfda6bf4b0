"""The bots on the page for trying an agent: the webhooks for visitors' messages, and the failures of the first three.

Unlike in `webhook_health`, failed tests count, because the next message will probably fail too.
"""

from typing import TYPE_CHECKING, NamedTuple

from chalicelib import clock
from chalicelib.conversations.new_messages import HUMAN
from chalicelib.extensions.console.presentation import bots, template_filters, trial_marks, webhook_health
from chalicelib.storage import Document

if TYPE_CHECKING:
    from chalicelib.extensions.console.access.sessions import Session

# The maximum number of webhooks that the page names. Reading the deliveries of each costs about nine requests.
_MAX_CHECKED = 3
# How long after a trial's last change an open page watches the deliveries. Few servers take longer to fail.
_WATCHED_SECONDS = 2 * 60


class TrialBots(NamedTuple):
    """The webhooks for visitors' messages, and the newest outcome of each that failed, by webhook id."""

    hooks: list[Document]
    failures: dict[str, Document]

    @property
    def has_bot(self) -> bool:
        """Return whether any of the webhooks is active."""
        return bots.is_connected(self.hooks)

    @property
    def failing_bot(self) -> str | None:
        """Return the id of the first webhook that fails, or None."""
        return next(iter(self.failures), None)

    @property
    def mark(self) -> str:
        """Return the ids of the failed deliveries, by which an open page knows which failures it shows."""
        return ".".join(one["id"] for one in self.failures.values())

    @property
    def can_answer(self) -> bool:
        """Return whether any active webhook is not known to fail."""
        return any(hook["enabled"] and hook["id"] not in self.failures for hook in self.hooks)


def read() -> TrialBots:
    """Return the bots. This costs one request, and about nine per active webhook, of the first three."""
    hooks = bots.webhooks()
    checked = [hook for hook in hooks if hook["enabled"] and hook.get("url")][:_MAX_CHECKED]
    newest = {hook["id"]: webhook_health.read_newest_outcome(hook["id"]) for hook in checked}
    failures = {id_: one for id_, one in newest.items() if one and one["status"] in webhook_health.FAILED}
    return TrialBots(hooks, failures)


def has_news(session: "Session", conversation: Document, mark: str) -> bool:
    """Return whether other bots fail than on the page with this mark, in a trial whose visitor waits for an answer.

    The visitor's message must be recent: after an answer, or two minutes, an open page does not read the deliveries.
    """
    changed = template_filters.unix_seconds(conversation.get("lastModified")) or 0
    waits = conversation.get("lastMessageFrom") == HUMAN and clock.seconds() - changed <= _WATCHED_SECONDS
    return waits and _is_trial(session, conversation["ID"]) and read().mark != mark


def template_values(session: "Session", conversation_id: str) -> Document:
    """Return the template variables for the bots of a trial, and no variables for other conversations."""
    return {"bots": read()} if _is_trial(session, conversation_id) else {}


def _is_trial(session: "Session", conversation_id: str) -> bool:
    return session.client_id is None and conversation_id.startswith(trial_marks.PREFIX)
