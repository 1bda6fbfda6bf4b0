// The README tour with the types that openapi-typescript generates: node tour.js <address>. The script reads the
// workspace key from the environment variable CAMS_KEY, and throws at the first response that differs from the tour.
import createClient from "openapi-fetch";
import type { components, paths, webhooks } from "./schema.js";

declare const process: { argv: string[]; env: Record<string, string> };

const headers = { Authorization: `Bearer ${process.env.CAMS_KEY}` };
const client = createClient<paths>({ baseUrl: process.argv[2], headers });
const support = { path: { agent_id: "support" } };
const ann = { path: { agent_id: "support", user_id: "ann" } };

function expect(fact: boolean): asserts fact {
  if (!fact) throw new Error("an answer differs from the tour");
}

const agent = await client.POST("/v2/agents/{agent_id}", {
  params: support,
  body: { title: "Support", vg_systemPrompt: "You help." },
});
expect(agent.data?.data.agentPlatform === "vg");

const limits: components["schemas"]["Limits"] = { maxInteractionsPerUserId: 2 };
const changed = await client.PATCH("/v3/agents/{agent_id}", { params: support, body: { agent: { limits } } });
expect(changed.data?.data.limits?.maxInteractionsPerUserId === 2);
expect(changed.data.data.tools?.length === 0);

const state = await client.POST("/agents/{agent_id}/interact/{user_id}/state", {
  params: ann,
  body: {
    turns: [{ from: "human", messages: [{ from: "human", type: "text", item: { text: "Hello" }, ts: 1 }] }],
    metadata: { userName: "Ann", origin: "web-chat" },
  },
});
expect(state.data?.chatState.userName === "Ann" && state.data.chatState.messagesNum === 1);
expect(state.data.turns[0]?.messages?.item?.text === "Hello");

const limited = await client.POST("/agents/{agent_id}/interact/{user_id}/state", {
  params: ann,
  body: { turns: [{ from: "human", messages: [{}, {}, {}] }] },
});
expect(limited.response.status === 429 && limited.error?.limit?.left === 1);
const wrong = await client.PATCH("/v3/agents/{agent_id}", {
  params: support,
  // @ts-expect-error the title must be a string
  body: { agent: { title: 5 } },
});
expect(wrong.error?.issues?.[0]?.path === "agent.title");

const acme = { path: { org_id: "acme" } };
const made = await client.POST("/v2/orgs/{org_id}", { params: acme, body: { name: "Acme", widgetIDs: ["support"] } });
expect(made.data?.success === true);
const bo = { orgId: "acme", name: "Bo", email: "bo@example.com" };
const saved = await client.POST("/v2/clients/{client_id}", { params: { path: { client_id: "bo" } }, body: bo });
expect(saved.data?.success === true);
const taken = await client.POST("/v2/clients/{client_id}", {
  params: { path: { client_id: "eve" } },
  body: { email: "BO@example.com" },
});
expect(taken.error?.code === "EMAIL_TAKEN");

const read = await client.GET("/v2/orgs/{org_id}", { params: acme });
expect(read.data !== undefined);
const tag = read.response.headers.get("ETag") ?? "";
for (const status of [200, 412]) {
  const answer = await client.POST("/v2/orgs/{org_id}", {
    params: { ...acme, header: { "If-Match": tag } },
    body: { ...read.data.data, name: "Acme & Sons" },
  });
  expect(answer.response.status === status);
}

const tool = (name: string) =>
  client.POST("/v3/agents/{agent_id}/tools", {
    params: { ...support, header: { "Idempotency-Key": "8e03978e-40d5-43dd" } },
    body: { tool: { name } },
  });
const first = await tool("hotels");
expect(first.data !== undefined && first.data.data.id === (await tool("hotels")).data?.data.id);
expect((await tool("flights")).error?.code === "IDEMPOTENCY_KEY_REUSED");

type Received<Name extends keyof webhooks> =
  webhooks[Name]["post"]["requestBody"]["content"]["application/json"];
const greet = (event: Received<"message_received"> | Received<"lead_captured">) =>
  event.type === "lead_captured" ? event.payload.leadName : event.payload.messageContent;
expect(greet({ type: "lead_captured", payload: {
  agentId: "support", channel: "web-chat", createdAt: 1, leadName: "Ann", operation: "captured", workspaceSecret: "",
} }) === "Ann");
