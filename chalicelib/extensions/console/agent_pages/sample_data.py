"""Sample data for a new workspace: an agent with conversations and a lead. Deleting the agent removes all of it."""

from typing import Any

from chalice.app import Response

from chalicelib import ids
from chalicelib.extensions.console.access import calls, guard, rights
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.presentation import pages

TITLE = "Sample agent"
PREFIX = "sample-"
"""The beginning of the ids of these conversations."""
_STATE = "/agents/{agent_id}/interact/{user_id}/state"
_DESCRIPTION = "Answers guests of a hotel. This agent is sample data: delete it when you no longer need it."
_MINUTE = 60
# Each conversation: the visitor, the state, the age in minutes, and the messages of the visitor and the bot in turn.
_CONVERSATIONS: tuple[tuple[str, str, int, tuple[str, ...]], ...] = (
    ("Noor Jansen", "requested_chat", 12, (
        "Hello, can we check in at 22:30?",
        "The reception is open until 22:00. A colleague can arrange a late arrival.",
        "Please ask one. Our flight lands at 21:40.",
    )),
    ("Sam Okafor", "requested_chat", 75, (
        "I was charged twice for my booking.",
        "I am sorry about that. A person will look into the payment.",
    )),
    ("Mia Rossi", "human-chatting", 140, (
        "Can I bring my dog?",
        "Dogs are welcome in rooms on the ground floor.",
        "Great. Is there a fee?",
    )),
    ("Lena Vogel", "ai-chatting", 25, (
        "Do you have a room with a view of the sea?",
        "Yes, rooms 12 to 18 have one. For which dates?",
        "From 3 to 6 June, for two people.",
        "Room 14 is free. Shall I send you an offer?",
    )),
    ("Tom Baker", "ended_chat", 1_500, (
        "What time is breakfast?",
        "From 7:00 to 10:30, at weekends until 11:00.",
        "Thanks!",
    )),
)  # fmt: skip
_LEAD, _ORIGIN = "Lena Vogel", "web-chat"


@signed_in("/agents")
def add_sample_data(session: Session) -> Response:
    """Create the agent once per form, with its conversations and its lead, and show the inbox.

    A form that is sent again completes what is missing, and changes no conversation that people may have answered.
    """
    rights.require_operator(session)
    form_id = guard.form().get("form_id")
    body = {"agent": {"title": TITLE, "description": _DESCRIPTION}}
    agent_id = calls.send_once(form_id, "/v3/agents", body)["data"]["ID"]
    # The agent's id contains the time of its creation, so that a form that is sent twice repeats the same messages.
    created = ids.timestamp_of(agent_id) // 1000
    for number, (name, state, age, texts) in enumerate(_CONVERSATIONS, 1):
        _add_conversation(agent_id, f"{PREFIX}{number}", name, state, _turns(texts, created - age * _MINUTE))
    lead = {"name": _LEAD, "email": _email(_LEAD), "channel": _ORIGIN, "agentId": agent_id}
    calls.send_once(form_id, "/v3/leads", {"lead": lead})
    return pages.saved(session.workspace_id, "/convos", "sample")


def _add_conversation(agent_id: str, convo_id: str, name: str, state: str, turns: list[Any]) -> None:
    metadata = {"userName": name, "userEmail": _email(name), "state": state, "origin": _ORIGIN}
    calls.create(_STATE, {"turns": turns, "metadata": metadata}, agent_id=agent_id, user_id=convo_id)


def _email(name: str) -> str:
    return f"{name.lower().replace(' ', '.')}@example.com"


def _turns(texts: tuple[str, ...], start: int) -> list[Any]:
    """Return the turns of a conversation, one message per minute. The visitor begins."""
    return [
        {
            "from": ("human", "bot")[number % 2],
            "messages": [{"type": "text", "item": {"text": text}, "ts": start + number * _MINUTE}],
        }
        for number, text in enumerate(texts)
    ]
