// The README tour with the TypeScript client: node tour.js. It reads the environment variables CAMS_URL and
// CAMS_API_KEY, and throws at the first response that differs from the tour.
import { ApiError, Client, type WebhookEvent, type components } from "cams-client";

const client = new Client();
const support = { path: { agent_id: "support" } };
const ann = { path: { agent_id: "support", user_id: "ann" } };

function expect(fact: boolean): asserts fact {
  if (!fact) throw new Error("an answer differs from the tour");
}

async function rejected(request: Promise<unknown>): Promise<ApiError> {
  const error = await request.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error instanceof ApiError);
  return error;
}

const agent = await client.POST("/v2/agents/{agent_id}", {
  params: support,
  body: { title: "Support", vg_systemPrompt: "You help." },
});
expect(agent.data.agentPlatform === "vg");

const limits: components["schemas"]["Limits"] = { maxInteractionsPerUserId: 2 };
const changed = await client.PATCH("/v3/agents/{agent_id}", { params: support, body: { agent: { limits } } });
expect(changed.data.limits?.maxInteractionsPerUserId === 2);
expect(changed.data.tools?.length === 0);

const state = await client.POST("/agents/{agent_id}/interact/{user_id}/state", {
  params: ann,
  body: {
    turns: [{ from: "human", messages: [{ from: "human", type: "text", item: { text: "Hello" }, ts: 1 }] }],
    metadata: { userName: "Ann", origin: "web-chat" },
  },
});
expect(state.chatState.userName === "Ann" && state.chatState.messagesNum === 1);
expect(state.turns[0]?.messages?.item?.text === "Hello");

const limited = await rejected(
  client.POST("/agents/{agent_id}/interact/{user_id}/state", {
    params: ann,
    body: { turns: [{ from: "human", messages: [{}, {}, {}] }] },
  }),
);
expect(limited.status === 429 && limited.body.limit?.left === 1);
const wrong = await rejected(
  client.PATCH("/v3/agents/{agent_id}", {
    params: support,
    // @ts-expect-error the title must be a string
    body: { agent: { title: 5 } },
  }),
);
expect(wrong.issues[0]?.path === "agent.title");

const acme = { path: { org_id: "acme" } };
const made = await client.POST("/v2/orgs/{org_id}", { params: acme, body: { name: "Acme", widgetIDs: ["support"] } });
expect(made.success);
const bo = { orgId: "acme", name: "Bo", email: "bo@example.com" };
const saved = await client.POST("/v2/clients/{client_id}", { params: { path: { client_id: "bo" } }, body: bo });
expect(saved.success);
const taken = await rejected(
  client.POST("/v2/clients/{client_id}", {
    params: { path: { client_id: "eve" } },
    body: { email: "BO@example.com" },
  }),
);
expect(taken.code === "EMAIL_TAKEN");

const read = await client.GET("/v2/orgs/{org_id}", { params: acme });
const header = { "If-Match": read.response.headers.get("ETag") ?? "" };
const change = () =>
  client.POST("/v2/orgs/{org_id}", {
    params: { ...acme, header },
    body: { ...read.data, name: "Acme & Sons" },
  });
expect((await change()).response.status === 200);
expect((await rejected(change())).status === 412);

const tool = (name: string) =>
  client.POST("/v3/agents/{agent_id}/tools", {
    params: { ...support, header: { "Idempotency-Key": "8e03978e-40d5-43dd" } },
    body: { tool: { name } },
  });
expect((await tool("hotels")).data.id === (await tool("hotels")).data.id);
expect((await rejected(tool("flights"))).code === "IDEMPOTENCY_KEY_REUSED");

const greet = (event: WebhookEvent) =>
  event.type === "lead_captured"
    ? event.payload.leadName
    : event.type === "message_received"
      ? event.payload.messageContent
      : "";
expect(
  greet({
    id: "e-1",
    sentAt: 1,
    type: "lead_captured",
    payload: {
      agentId: "support",
      channel: "web-chat",
      createdAt: 1,
      leadName: "Ann",
      operation: "captured",
      workspaceSecret: "",
    },
  }) === "Ann",
);
