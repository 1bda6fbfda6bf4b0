// Eight operations, which the strictest compiler accepts without checks of the members that every response contains:
// node eight_operations.js. The program reads the environment variables CAMS_URL and CAMS_API_KEY.
import { Client } from "cams-client";

const client = new Client();

const agent = (await client.POST("/v3/agents", { body: { agent: { title: "Support" } } })).data;
const agentIds: string[] = [agent.id, agent.ID, agent.ownerID];
const agentTimes: number[] = [agent.createdAtUNIX, agent.lastModified];
const path = { agent_id: agent.id };

const convo = { path: { agent_id: agent.id, user_id: "ann" } };
const messages = [{ from: "human", item: { text: "Hello" } }, {}];
const appended = await client.POST("/agents/{agent_id}/interact/{user_id}/messages", {
  params: convo,
  body: { messages },
});
const mids: string[] = appended.data.map((message) => message.mid);
const times: number[] = appended.data.map((message) => message.ts);
const texts: unknown[] = appended.data.map((message) => message.item.text);

const state = await client.POST("/agents/{agent_id}/interact/{user_id}/state", { params: convo, body: {} });
const stateMids = state.turns.map((turn): string | undefined => turn.messages?.mid);
const convoId: string = state.chatState.ID;

const conversations = (await client.GET("/v3/agents/{agent_id}/convos", { params: { path } })).data;
const counts: number[] = conversations.flatMap((one) => [one.messagesNum, one.interactionsNum, one.ts]);

const tool = await client.POST("/v3/agents/{agent_id}/tools", { params: { path }, body: { tool: { name: "book" } } });
const toolTexts: string[] = [tool.data.id, tool.data.name, tool.data.createdAt, tool.data.agentId];
// null clears a member, and no response contains it.
const cleared = await client.PATCH("/v3/tools/{tool_id}", {
  params: { path: { tool_id: tool.data.id } },
  body: { tool: { description: null } },
});
const description: string | undefined = cleared.data.description;

const lead = (await client.POST("/v3/leads", { body: { lead: { agentId: agent.id, email: "ann@example.com" } } })).data;
const leadValues: [string, string, number] = [lead.id, lead.channel, lead.createdAt];

const made = (await client.POST("/v3/clients", { body: { client: { name: "Bo" } } })).data;
const clientIds: string[] = [made.ID, made.ownerID];

const numbers = [...agentTimes, ...times, ...counts];
const values = [...agentIds, ...mids, convoId, ...toolTexts, ...leadValues, ...clientIds, ...numbers];
if (values.some((value) => value === undefined) || stateMids.join() !== mids.join() || description !== undefined)
  throw new Error("a response lacks a member");
if (texts.join() !== "Hello,") throw new Error("a text differs");
