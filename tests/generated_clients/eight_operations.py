"""A program of eight operations, which `mypy --strict` accepts. It reads `CAMS_URL` and `CAMS_API_KEY`."""

import cams

client = cams.Client()
agent = client.agents.create(title="Support", vg_system_prompt="You help.")
identity: str = agent.id
changed = client.agents.update(agent.id, limits=cams.models.Limits(max_interactions_per_user_id=3))
assert changed.limits is not None and changed.limits.max_interactions_per_user_id == 3

conversation = client.conversations(agent.id, "ann")
added = conversation.messages.add("Hello", cams.models.Message(from_="bot", item={"text": "Hi"}))
mids: list[str] = [message.mid for message in added]
texts: list[str] = [message.item["text"] for message in conversation.messages.list()]
times: list[float] = [message.ts for message in conversation.messages.list()]
assert (texts, len(mids), len(times)) == (["Hi", "Hello"], 2, 2)
state = conversation.state(metadata={"userName": "Ann"})
assert state.chat_state.user_name == "Ann"

tool = client.tools.create(agent.id, name="hotels")
assert [found.name for found in client.tools.list(agent.id)] == [tool.name]
conversation.messages.delete(mids[1])
try:
    conversation.messages.delete(mids[1])
except cams.errors.NotFound as error:
    assert error.status == 404
assert client.agents.delete(agent.id).success
