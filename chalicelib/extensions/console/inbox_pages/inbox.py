"""The inbox: the conversations that are waiting for or with a person, and those assigned to a person."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from chalicelib import clock, storage
from chalicelib.conversations import listing, store
from chalicelib.conversations.filters import Filters
from chalicelib.conversations.rows import ConversationRow
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.inbox_pages import previews
from chalicelib.extensions.console.presentation import waiting_count
from chalicelib.extensions.console.presentation.trial_marks import is_trial
from chalicelib.http import parameters
from chalicelib.storage import Document, split_key

WAITING = "requested_chat"
_WITH_AI = "ai-chatting"
MAX_ROWS = 50  # the maximum number of conversations on a page
# The inbox entries per request, and the maximum number of requests to count them.
_PORTION, _MAX_REQUESTS = 100, 10
_MAX_COUNT = 99
_LONG_WAIT = 60 * 60
_DAY = 24  # hours
_LOWEST = "0"  # sorts before all inbox positions
VISITOR = {"userID": "userID", "email": "userEmail", "phone": "userPhone"}
"""The filters that select a visitor's conversations, with the member that each compares, the most precise first."""
MAX_FILTER = parameters.MAX_TEXT  # the maximum number of characters in a filter
ANY = Filters(None, None, {}, None, None, 0, "")


class Inbox(NamedTuple):
    """The waiting conversations and the person's own, the longest wait first, and the number of each.

    `all_waiting` contains also the waiting conversations that do not satisfy the conditions.
    A count is a text: above 99 it is `99+`. If only a part of the inbox was counted (`has_more`), `+` follows the
    number.
    """

    conversations: dict[str, list[Document]]
    counts: dict[str, str]
    has_more: bool
    all_waiting: list[Document]


def read(session: Session, conditions: Filters = ANY, agent_id: str | None = None) -> Inbox:
    """Return the visible agents' inbox. The conditions and the agent limit the lists, but not the counts.

    A conversation with a person waits, too, if the visitor has written again, and if it is the person's own or
    unassigned. No record says when that wait began, so its place follows the visitor's last message. Among the person's
    own conversations, those that wait come first, then those that are unanswered.

    This costs one request per 100 inbox entries, up to 1,000 entries.
    """
    conversations: dict[str, list[Document]] = {"waiting": [], "mine": []}
    counts, has_more, all_waiting = dict.fromkeys(conversations, 0), False, list[Document]()
    for rows, has_more in _portions(session, [_PORTION] * _MAX_REQUESTS):  # noqa: B007
        for row in rows:
            record = record_of(row)
            tabs = _tabs(session, record)
            all_waiting += [record] if "waiting" in tabs else []
            for tab in tabs:
                counts[tab] += 1
                if agent_id in (None, record["agentId"]) and conditions.match(row, record):
                    conversations[tab].append(record)
    for listed in (conversations["waiting"], all_waiting):
        listed.sort(key=previews.since)
    conversations["mine"] = _unanswered_first(conversations["mine"])
    texts = {tab: count_text(count, has_more) for tab, count in counts.items()}
    waiting_count.keep(session, texts["waiting"])
    return Inbox(conversations, texts, has_more, all_waiting)


def _unanswered_first(conversations: list[Document]) -> list[Document]:
    """Return the conversations that wait, then those that are unanswered, then the others with the newest first."""
    others = [record for record in conversations if not previews.needs_answer(record)]
    unanswered = filter(previews.needs_answer, conversations)
    first = sorted(unanswered, key=lambda record: (record.get("state") != WAITING, previews.since(record)))
    return [*first, *reversed(others)]


def next_waiting(session: Session, waiting: list[Document], here: tuple[str, str] | None = None) -> Document | None:
    """Return the conversation after `here`, which is an agent id and a conversation id, or else the longest wait.

    Colleagues' conversations are omitted. The list ends at its beginning. Return None if no other conversation waits.
    """
    own = [record for record in waiting if record.get("chatAssignedTo") in (None, "", session.client_id)]
    keys = [(record["agentId"], record["ID"]) for record in own]
    start = keys.index(here) + 1 if here in keys else 0
    return next((record for record in own[start:] + own[:start] if (record["agentId"], record["ID"]) != here), None)


class Waiting(NamedTuple):
    """The number of conversations that wait for a person, by agent, and whether only a part of them was counted."""

    by_agent: Counter[str]
    has_more: bool

    def number(self, agent_ids: Iterable[str]) -> int:
        """Return the number of these agents' conversations. Repeated ids count once."""
        return sum(self.by_agent[one] for one in {*agent_ids})

    def text(self, agent_ids: Iterable[str]) -> str:
        """Return the number of these agents' conversations as a text."""
        return count_text(self.number(agent_ids), self.has_more)


def waiting_by_agent(session: Session) -> Waiting:
    """Count the waiting conversations of all agents that the person may see, whichever organisation is selected.

    This costs as much as `read`.
    """
    listed = read(session._replace(selected=None))
    return Waiting(Counter(record["agentId"] for record in listed.conversations["waiting"]), listed.has_more)


def hours_of_long_wait(record: Document) -> int:
    """Return for how many hours a conversation has been waiting for a person, or 0 for at most an hour.

    Without `waitingSince`, the beginning of the wait is unknown, and the result is 0. From 24 hours, the result is a
    multiple of 24.
    """
    since = record.get("waitingSince")
    seconds = clock.seconds() - since if since else 0
    hours = seconds // _LONG_WAIT if seconds > _LONG_WAIT else 0
    return hours if hours < _DAY else hours - hours % _DAY


def record_of(row: ConversationRow) -> Document:
    """Return a conversation's metadata, with `ID`, `agentId` and, in the state `requested_chat`, `waitingSince`.

    Only rows of the inbox's index have `waitingSince`, in Unix seconds. A conversation without a state is with the AI,
    as pages show it, so that the filter by state finds it.
    """
    agent_id, conversation_id = split_key(row.agent)[1], split_key(row.conversation)[2]
    metadata = store.read_metadata(row)
    state = metadata.get("state") or _WITH_AI
    record = {**metadata, "state": state, "ID": conversation_id, "agentId": agent_id}
    since = waiting_since(row, record)
    return record if since is None else {**record, "waitingSince": since}


def with_waits(conversations: list[Document], waiting: list[Document]) -> list[Document]:
    """Return the conversations with `waitingSince` from those that wait, so that all lists say the same of each."""
    waits = {(one["agentId"], one["ID"]): one["waitingSince"] for one in waiting if "waitingSince" in one}
    return [
        {**one, "waitingSince": waits[key]} if (key := (one["agentId"], one["ID"])) in waits else one
        for one in conversations
    ]


def waiting_since(row: ConversationRow, metadata: Document) -> int | None:
    """Return the Unix time at which a conversation began to wait for a person, or None if it does not wait.

    The time is unknown for rows of the index by creation time.
    """
    waits = row.activity is not None and metadata.get("state") == WAITING
    return int(row.activity.partition(".")[0]) if waits else None


def _tabs(session: Session, record: Document) -> list[str]:
    """Return the tabs that list a conversation of the inbox."""
    if store.has_expired(record):
        return []
    assignee = record.get("chatAssignedTo")
    is_mine = session.client_id is not None and assignee == session.client_id
    # A visitor who writes to a colleague is in that person's list.
    waits = record.get("state") == WAITING or (previews.is_unanswered(record) and (is_mine or not assignee))
    return [*(["waiting"] if waits and not is_trial(record["ID"], record) else []), *(["mine"] if is_mine else [])]


def count_text(count: int, has_more: bool) -> str:
    """Return a count with at most two digits. If there are or may be more, `+` follows the number."""
    return f"{min(count, _MAX_COUNT)}{'+' if has_more or count > _MAX_COUNT else ''}"


def _portions(session: Session, sizes: list[int]) -> Iterator[tuple[list[ConversationRow], bool]]:
    """Yield the visible agents' inbox entries, the oldest change first, with whether more entries may follow.

    Each portion costs one request, plus one if it contains entries whose metadata is too long for the index.
    """
    after = _LOWEST
    for size in sizes:
        condition = ConversationRow.activity > after
        entries = storage.query(ConversationRow, session.workspace_id, condition, index="by_activity", limit=size)
        visible = [row for row in entries if session.agent_ids is None or split_key(row.agent)[1] in session.agent_ids]
        yield listing.with_metadata(visible), len(entries) == size
        if len(entries) < size:
            return
        after = entries[-1].activity
