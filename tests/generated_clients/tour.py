"""The README tour, taken with the client that openapi-python-client generates.

    PYTHONPATH=<the generated package> python tour.py <address>

The script reads the workspace key from the environment variable `CAMS_KEY`, and fails at the first response that
differs from the tour.
"""

import os
import sys

from cams_client import AuthenticatedClient
from cams_client.api.agents import change_agent, save_agent
from cams_client.api.clients import save_client
from cams_client.api.conversations import exchange_state, list_conversations
from cams_client.api.organisations import read_organisation, save_organisation
from cams_client.api.tools import create_tool
from cams_client.models import (
    AgentIn,
    AgentV2Answer,
    AgentV2Input,
    AgentV3Answer,
    AgentV3Input,
    ClientInput,
    ConvoMetaInput,
    ConvoMetaListAnswer,
    EmptyAnswer,
    Error,
    InteractionError,
    Limits,
    MessageInput,
    NewTool,
    OpenObject,
    OrganisationInput,
    Origin,
    Platform,
    StateIn,
    StateOut,
    ToolAnswer,
    ToolIn,
    TurnIn,
)

client = AuthenticatedClient(sys.argv[1], os.environ["CAMS_KEY"], raise_on_unexpected_status=True)

agent = save_agent.sync("support", client=client, body=AgentV2Input(title="Support", vg_system_prompt="You help."))
assert isinstance(agent, AgentV2Answer)
assert agent.data.agent_platform is Platform.VG

change = AgentIn(agent=AgentV3Input(limits=Limits(max_interactions_per_user_id=2)))
changed = change_agent.sync("support", client=client, body=change)
assert isinstance(changed, AgentV3Answer)
assert isinstance(changed.data.limits, Limits)
assert (changed.data.limits.max_interactions_per_user_id, changed.data.tools) == (2, [])

hello = MessageInput(from_="human", type_="text", item=OpenObject.from_dict({"text": "Hello"}), ts=1)
talk = StateIn(
    turns=[TurnIn(from_="human", messages=[hello])], metadata=ConvoMetaInput(user_name="Ann", origin=Origin.WEB_CHAT)
)
state = exchange_state.sync("support", "ann", client=client, body=talk)
assert isinstance(state, StateOut)
assert (state.chat_state.user_name, state.chat_state.messages_num) == ("Ann", 1)
assert state.turns[0].messages.item["text"] == "Hello"

much = StateIn(turns=[TurnIn(from_="human", messages=[MessageInput(), MessageInput(), MessageInput()])])
limited = exchange_state.sync_detailed("support", "ann", client=client, body=much)
assert isinstance(limited.parsed, InteractionError)
assert (limited.status_code, limited.parsed.code, limited.parsed.limit.left) == (429, "LIMIT_REACHED", 1)
wrong = change_agent.sync("support", client=client, body=AgentIn(agent=AgentV3Input(title=5)))
assert isinstance(wrong, Error)
assert [issue.path for issue in wrong.issues] == ["agent.title"]

organisation = save_organisation.sync(
    "acme", client=client, body=OrganisationInput(name="Acme", widget_i_ds=["support"])
)
assert isinstance(organisation, EmptyAnswer)
saved = save_client.sync("bo", client=client, body=ClientInput(org_id="acme", name="Bo", email="bo@example.com"))
assert isinstance(saved, EmptyAnswer)
taken = save_client.sync("eve", client=client, body=ClientInput(email="BO@example.com"))
assert isinstance(taken, Error)
assert taken.code == "EMAIL_TAKEN"

read = read_organisation.sync_detailed("acme", client=client)
# The record as the API returned it, including its read-only members.
change = OrganisationInput.from_dict({**read.parsed.data.to_dict(), "name": "Acme & Sons"})
for status in (200, 412):
    answer = save_organisation.sync_detailed("acme", client=client, body=change, if_match=read.headers["ETag"])
    assert answer.status_code == status

hotels, flights = (ToolIn(tool=NewTool(name=name)) for name in ("hotels", "flights"))
first, again, other = (
    create_tool.sync("support", client=client, body=body, idempotency_key="8e03978e-40d5-43dd")
    for body in (hotels, hotels, flights)
)
assert isinstance(first, ToolAnswer)
assert first == again
assert isinstance(other, Error)
assert other.code == "IDEMPOTENCY_KEY_REUSED"

listed = list_conversations.sync("support", client=client)
assert isinstance(listed, ConvoMetaListAnswer)
assert [one.id for one in listed.data] == ["ann"]
