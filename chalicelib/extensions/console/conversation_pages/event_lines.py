"""The lines between the messages of a transcript: takeovers, assignments, ends, and private notes."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from chalicelib import ids
from chalicelib.conversations import store
from chalicelib.conversations.rows import ConversationRow
from chalicelib.credentials import tokens
from chalicelib.extensions.console.conversation_pages import private_notes
from chalicelib.extensions.console.conversation_pages.bubbles import Bubble
from chalicelib.extensions.console.presentation.template_filters import truncate

if TYPE_CHECKING:
    from chalicelib.extensions.console.presentation.rendering import Texts

_AI, _ENDED = "ai-chatting", "ended_chat"
_SAVING_SECONDS = 2  # the maximum time between the time of a reply and its takeover
_UNDO_MILLISECONDS = 120_000  # the maximum time after which an undone change leaves no line
_MAX_NAME = 100  # the maximum length of a state that has no text


class Transfer(NamedTuple):
    """A change of a conversation's state or assignee: its Unix milliseconds, the new state, and the assignee.

    The author's credential has a `kind` and a name (`storage.split_author`). These are empty without an author. `old`
    is the state before, or None for the first stored transfer, and `old_to` the assignee before.
    """

    at: int
    new: str | None
    to: str | None
    kind: str
    name: str
    old: str | None
    old_to: str | None


class EventLine(NamedTuple):
    """An event: an identifier in the page, its time in Unix milliseconds, and its text.

    The text of a private note is in `note`, and `text` is its author. `comes_first` means that the line precedes the
    messages of its second, because one of them may have caused the event.
    """

    mark: str
    at: int
    text: str
    note: str = ""
    comes_first: bool = False

    @property
    def time(self) -> int:
        """The time in Unix seconds."""
        return self.at // 1000


def transfers_of(row: ConversationRow) -> list[Transfer]:
    """Return a conversation's last 20 transfers, oldest first."""
    stored = store.read_transfers(row)
    olds = [(None, None), *((state, to) for _, state, to, *_ in stored)]
    return [Transfer._make([*values, *old]) for values, old in zip(stored, olds, strict=False)]


def undo_of(row: ConversationRow) -> str | None:
    """Return the newest transfer's time, and the state and the assignee before it, separated by slashes, or None.

    The state may contain slashes. Without a transfer before the newest, the state before it is unknown.
    """
    transfers = transfers_of(row)
    if len(transfers) < 2:
        return None
    newest = transfers[-1]
    return f"{newest.at}/{newest.old or _AI}/{newest.old_to or ''}"


def undo_by(row: ConversationRow, name: str) -> str | None:
    """Return `undo_of` if the person or key with this name caused the newest transfer in the console, or else None."""
    newest = transfers_of(row)[-1:]
    return undo_of(row) if [(one.kind, one.name) for one in newest] == [(tokens.SESSION, name)] else None


def has_ended(row: ConversationRow) -> bool:
    """Return whether the newest transfer ended the conversation."""
    return [one.new for one in transfers_of(row)[-1:]] == [_ENDED]


def is_reopened_by(row: ConversationRow, name: str) -> bool:
    """Return whether the newest transfer is the one with which the person or key undid the end of the conversation.

    It restored the state and the assignee before the end.
    """
    *_, end, newest = (None, None, *transfers_of(row))
    if end is None or newest is None or end.new != _ENDED:
        return False
    before = (end.old or _AI, end.old_to or "", tokens.SESSION, name)
    return (newest.new, newest.to or "", newest.kind, newest.name) == before


def has_new_wait(row: ConversationRow) -> bool:
    """Return whether the newest transfer reopened the conversation and so began a new wait for a person."""
    return [(one.old, one.new) for one in transfers_of(row)[-1:]] == [(_ENDED, store.HANDOFF)]


def of_conversation(row: ConversationRow, notes: str, t: "Texts", names: Mapping[str, str]) -> list[EventLine]:
    """Return the lines for the last 20 transfers and the notes, in their order. `names` has people's names by id."""
    _, entries = private_notes.split(notes)
    lines = [*_transfer_lines(row, t, names)]
    lines += [EventLine(entry.mark, entry.time * 1000, entry.author, entry.text) for entry in entries]
    return sorted(lines, key=lambda line: line.time)


def end_of(row: ConversationRow, t: "Texts", names: Mapping[str, str]) -> EventLine | None:
    """Return the end of a conversation, with its author as text. Return None without an end among the transfers."""
    transfers = transfers_of(row)
    end = next((transfer for transfer in reversed(transfers) if transfer.new == _ENDED != transfer.old), None)
    if store.read_metadata(row).get("state") != _ENDED:
        return None
    if not transfers and row.ended_after is not None:
        return EventLine("", _old_end(row), "")
    return EventLine("", end.at, _by("", _end_author(end, names, t), t)) if end else None


def after(events: Sequence[EventLine], since: int) -> list[EventLine]:
    """Return the events after a time in Unix milliseconds, and all notes of its second, because notes have seconds."""
    return [event for event in events if event.at > since or (event.note and event.time == since // 1000)]


def by_position(
    events: Sequence[EventLine], messages: Sequence[Bubble], *, is_first: bool, is_last: bool
) -> dict[int, list[EventLine]]:
    """Return the events by the index of the message that they precede, in the page's order.

    The index of the events after all messages is the number of messages. A page that does not contain a transcript's
    first or last message omits the events before or after its messages.
    """
    lines = defaultdict(list)
    for event in events:
        index = _position(event, messages)
        if (index or is_first) and (index < len(messages) or is_last):
            lines[index].append(event)
    return dict(lines)


def _position(event: EventLine, messages: Sequence[Bubble]) -> int:
    """Return the index of the message that an event precedes.

    A reply that takes over is older than the takeover by the time that saving it takes, so it may have an earlier
    second.
    """
    last_second = event.time - event.comes_first
    later = (index for index, message in enumerate(messages) if message.time and message.time > last_second)
    index = next(later, len(messages))
    while event.comes_first and index and _may_cause(messages[index - 1], event):
        index -= 1
    return index


def _may_cause(message: Bubble, takeover: EventLine) -> bool:
    return bool(not message.is_human and message.person and (message.time or 0) >= takeover.time - _SAVING_SECONDS)


def _transfer_lines(row: ConversationRow, t: "Texts", names: Mapping[str, str]) -> Iterator[EventLine]:
    transfers = transfers_of(row)
    for transfer in _without_undone(transfers):
        if text := _text(transfer, t, names):
            is_takeover = transfer.new == store.WITH_PERSON
            yield EventLine(f"at{transfer.at}", transfer.at, text, comes_first=is_takeover)
    if transfers:
        return
    # Rows of version 1.1.0 and earlier contain only these times.
    if row.requested_at:
        yield _old_line(store.HANDOFF, int(row.requested_at), t)
    if row.ended_after is not None:
        yield _old_line(_ENDED, _old_end(row), t)


def _without_undone(transfers: Sequence[Transfer]) -> list[Transfer]:
    """Return the transfers without an assignment or an end that the same person undid shortly afterwards."""
    kept: list[Transfer] = []
    for transfer in transfers:
        undone = kept[-1] if kept else None
        if undone is not None and _undoes(transfer, undone):
            kept.pop()
        else:
            kept.append(transfer)
    return kept


def _undoes(transfer: Transfer, earlier: Transfer) -> bool:
    """Return whether a transfer restores what an assignment to another person or an end of its author changed."""
    is_own = (transfer.kind, transfer.name) == (earlier.kind, earlier.name) and earlier.kind == tokens.SESSION
    is_change = earlier.new in (_ENDED, earlier.old) or earlier.to not in (None, earlier.name)
    is_restored = (transfer.new, transfer.to) == (earlier.old, earlier.old_to)
    return is_own and is_change and is_restored and transfer.at - earlier.at <= _UNDO_MILLISECONDS


def _old_end(row: ConversationRow) -> int:
    """Return the time at which a row of an earlier version ended, in Unix milliseconds."""
    return ids.timestamp_of(row.created) + int(row.ended_after or 0)


def _old_line(state: str, at: int, t: "Texts") -> EventLine:
    return EventLine(f"at{at}", at, t.named("state", state))


def _text(transfer: Transfer, t: "Texts", names: Mapping[str, str]) -> str:
    """Return a transfer's text in the person's language, or an empty string for the state of a new conversation."""
    old, new, to, by = transfer.old, transfer.new, transfer.to, _author(transfer, names)
    assignee = names.get(to or "", "")
    if new == store.WITH_PERSON != old and to == transfer.old_to and by:  # a reopening, or an answer for the assignee
        return _by(t("event.reopened"), by, t) if old == _ENDED else t("event.took", name=by)
    if new == old or (new == store.WITH_PERSON and assignee and by and by != assignee):
        if to and by != assignee:
            return _by(t("event.assigned", name=assignee or t("event.person")), by, t)
        return t("event.took", name=assignee) if to else _by(t("event.unassigned"), by, t)
    if new == store.WITH_PERSON:
        return t("event.took", name=assignee or by) if assignee or by else t("event.person_took")
    if old == _ENDED and (new == _AI or (new == store.HANDOFF and by)):
        return _by(t("event.reopened"), by, t)
    if new == _AI:
        return "" if old is None else _by(t("event.back"), by, t)
    text = truncate(t.named("state", new or ""), _MAX_NAME)
    return _by(text, _end_author(transfer, names, t), t) if new == _ENDED else text


def _by(text: str, name: str, t: "Texts") -> str:
    return t("event.by", event=text, name=name) if name else text


def _author(transfer: Transfer, names: Mapping[str, str]) -> str:
    """Return the name of the person who caused a transfer in the console, or an empty string."""
    return names.get(transfer.name, "") if transfer.kind == tokens.SESSION else ""


def _end_author(transfer: Transfer, names: Mapping[str, str], t: "Texts") -> str:
    """Return who ended a conversation: a person or the API. Return an empty string for an unknown person."""
    return t("event.api") if transfer.kind not in ("", tokens.SESSION) else _author(transfer, names)
