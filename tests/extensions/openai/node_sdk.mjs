// A program that uses the unmodified package `openai`. Only its address and its key differ from a client of OpenAI.
import assert from "node:assert/strict";
import OpenAI from "openai";

const { CAMS_API_KEY: apiKey, CAMS_URL: url } = process.env;
const { conversations } = new OpenAI({ apiKey, baseURL: `${url}/agents/support/openai/v1` });

const created = await conversations.create({ metadata: { order: "1001" }, items: [{ role: "user", content: "Hello" }] });
assert.equal(created.object, "conversation");
assert.deepEqual((await conversations.retrieve(created.id)).metadata, { order: "1001" });
const changed = await conversations.update(created.id, { metadata: { order: "1002" } });
assert.deepEqual([changed.id, changed.metadata], [created.id, { order: "1002" }]);

const conversation_id = created.id;
const call = { type: "function_call", id: "fc_1", call_id: "call_1", name: "rooms", arguments: '{"nights":2}' };
const output = { type: "function_call_output", call_id: "call_1", output: "12" };
const answer = { type: "message", role: "assistant", content: [{ type: "output_text", text: "12 rooms are free." }] };
const added = await conversations.items.create(conversation_id, { items: [call, output, answer] });
assert.deepEqual([added.object, added.data.length, added.data[0].id], ["list", 3, "fc_1"]);

const listed = [];
// The SDK requests each page when it is needed.
for await (const item of conversations.items.list(conversation_id, { limit: 2, order: "asc" })) listed.push(item);
assert.deepEqual(listed.map(({ type }) => type), ["message", "function_call", "function_call_output", "message"]);
assert.deepEqual([listed[0].role, listed[0].content[0].text], ["user", "Hello"]);
assert.equal(listed[3].content[0].text, "12 rooms are free.");
const newest = await conversations.items.list(conversation_id);
assert.deepEqual(newest.data.map(({ id }) => id), listed.map(({ id }) => id).reverse());

const { status, ...read } = await conversations.items.retrieve("fc_1", { conversation_id });
assert.deepEqual([read, status], [call, "completed"]);
assert.equal((await conversations.items.delete("fc_1", { conversation_id })).id, conversation_id);
await assert.rejects(conversations.items.retrieve("fc_1", { conversation_id }), OpenAI.NotFoundError);
const reference = { type: "item_reference", id: listed[0].id };
await assert.rejects(conversations.items.create(conversation_id, { items: [reference] }), (error) => {
  assert.deepEqual([error.constructor, error.param], [OpenAI.BadRequestError, "items.0.type"]);
  return true;
});

const deleted = { id: conversation_id, object: "conversation.deleted", deleted: true };
assert.deepEqual(await conversations.delete(conversation_id), deleted);
await assert.rejects(conversations.retrieve(conversation_id), OpenAI.NotFoundError);
