// A customer's program that uses the packed TypeScript client against a run of the service:
// node typescript_client.js <function> [argument]. It reads the environment variables CAMS_URL and CAMS_API_KEY, and
// throws at the first wrong result.
import { ApiError, CamsError, Client, InvalidWebhook, verifyWebhook } from "cams-client";

declare const process: { argv: string[] };

const WRITERS = 4;
const client = new Client();

function expect(fact: boolean, text: string): asserts fact {
  if (!fact) throw new Error(text);
}

/** Each append is stored once and in its writer's order, although every fifth response is lost. */
async function appends(number: string): Promise<void> {
  const { data: agent } = await client.POST("/v3/agents", { body: { agent: { title: "Appends" } } });
  const { messages } = client.withOptions({ apiKey: agent.SECRET_API_KEY! }).conversations(agent.id, "ann");
  const share = Number(number) / WRITERS;
  let raised = 0;
  const write = async (writer: number) => {
    for (let message = 0; message < share; message++)
      await messages.add(`${writer} ${message}`).catch((error) => {
        if (!(error instanceof CamsError)) throw error;
        raised++;
      });
  };
  const writers = [...Array(WRITERS).keys()];
  await Promise.all(writers.map(write));
  const sent = writers.flatMap((writer) => [...Array(share).keys()].map((message) => `${writer} ${message}`));
  const stored: string[] = [];
  for await (const message of messages.list()) stored.unshift(String(message.item?.text));
  const lost = sent.filter((text) => !stored.includes(text)).length;
  const doubled = stored.length - new Set(stored).size;
  console.log(`${sent.length} appends: ${lost} lost, ${doubled} doubled, ${raised} raised`);
  expect(lost + doubled + raised === 0, "an append failed");
  const byWriter = writers.flatMap((writer) => stored.filter((text) => text.startsWith(`${writer} `)));
  expect(byWriter.join() === sent.join(), "a writer's messages changed their order");
}

/** Each creation creates one record, and lists return each record once, although every fifth response is lost. */
async function creations(): Promise<void> {
  const path = { agent_id: "creations" };
  await client.POST("/v2/agents/{agent_id}", { params: { path }, body: { title: "Creations" } });
  for (let number = 0; number < 20; number++) {
    await client.POST("/v3/agents/{agent_id}/tools", { params: { path }, body: { tool: { name: `tool ${number}` } } });
    const { response } = await client.GET("/v3/agents/{agent_id}", { params: { path } });
    const header = { "If-Match": response.headers.get("ETag") ?? "" };
    const agent = { title: `Title ${number}` };
    await client.PATCH("/v3/agents/{agent_id}", { params: { path, header }, body: { agent } });
    await client.POST("/v3/leads", { body: { lead: { agentId: "creations", name: `Lead ${number}` } } });
  }
  const names: unknown[] = [];
  for await (const tool of client.list("/v3/agents/{agent_id}/tools", { params: { path, query: { limit: 7 } } }))
    names.push(tool.name);
  expect(new Set(names).size === 20 && names.length === 20, "a tool was lost or doubled");
  const texts: string[] = [];
  for await (const text of client.pages("/v3/leads/export", { params: { query: { format: "csv", limit: 7 } } }))
    texts.push(text);
  expect(texts.length === 3 && texts.join("").trim().split("\n").length === 21, "a lead was lost or doubled");
}

/** The client verifies the service's webhook, which is the argument, and rejects all other requests. */
async function webhooks(argument: string): Promise<void> {
  const { body, headers, secret } = JSON.parse(argument);
  const event = await verifyWebhook(body, headers, secret);
  expect(event.type === "webhook_test" && event.payload.workspaceSecret.startsWith("cams_events_"), "a wrong event");
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]));
  const { "webhook-signature": signature = "", "webhook-id": id = "", "webhook-timestamp": time = "" } = lower;
  const own = { "webhook-signature": signature, "webhook-id": id, "webhook-timestamp": time };
  for (const accepted of [lower, { ...own, "webhook-signature": `v1,AAAA v1a,x ${signature}` }, new Headers(lower)])
    expect((await verifyWebhook(new TextEncoder().encode(body), accepted, secret)).id === id, "a rejected webhook");
  const at = (seconds: number) => ({ ...own, "webhook-timestamp": String(Math.floor(Date.now() / 1000) + seconds) });
  const forged: [string, Record<string, string>, string][] = [
    [`${body} `, own, secret],
    [body, own, `whsec_${btoa("another secret")}`],
    [body, { ...own, "webhook-id": "another" }, secret],
    [body, { ...own, "webhook-timestamp": "soon" }, secret],
    [body, { ...own, "webhook-signature": "" }, secret],
    [body, { ...own, "webhook-signature": "v1,ü" }, secret],
    [body, { ...own, "webhook-signature": `v1,${"A".repeat(43)}=` }, secret],
    [body, { ...own, "webhook-signature": `v2,${signature.slice(3)}` }, secret],
    [body, { "webhook-id": id, "webhook-timestamp": time }, secret],
    [body, {}, secret],
    [body, await signed(body, at(-301), secret), secret],
    [body, await signed(body, at(302), secret), secret],
  ];
  for (const [changed, received, key] of forged) {
    const error = await verifyWebhook(changed, received, key).catch((thrown: unknown) => thrown);
    expect(error instanceof InvalidWebhook, `the client accepted ${JSON.stringify(received)}`);
  }
  const lead = JSON.stringify({ type: "lead_captured", payload: { leadName: "Ann", agentId: "support" } });
  const partial = { ...(await signed(lead, at(0), secret)), "cams-message-id": undefined };
  expect((await verifyWebhook(lead, partial, secret)).messageId === undefined, "an undefined header has a value");
  const sent = await signed(lead, { ...at(0), "cams-message-id": "m%C3%BC-1" }, secret);
  expect((await verifyWebhook(lead, sent, secret)).messageId === "mü-1", "a wrong message id");
  const { receive } = await import("./page.js");
  const request = (content: string) =>
    new Request("https://example.com/", { method: "POST", body: content, headers: sent });
  expect((await receive(request(lead), secret)).status === 200, "the page's function rejected the webhook");
  const error = await receive(request(`${lead} `), secret).catch((thrown: unknown) => thrown);
  expect(error instanceof InvalidWebhook, "the page's function accepted a forged webhook");
}

/** Return the headers with the body's signature. The function uses only the published standard. */
async function signed(body: string, headers: Record<string, string>, secret: string): Promise<Record<string, string>> {
  const key = Uint8Array.from(atob(secret.slice("whsec_".length)), (character) => character.charCodeAt(0));
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", key, algorithm, false, ["sign"]);
  const text = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  const signature = await crypto.subtle.sign("HMAC", imported, new TextEncoder().encode(text));
  return { ...headers, "webhook-signature": `v1,${btoa(String.fromCharCode(...new Uint8Array(signature)))}` };
}

const [name, argument = ""] = process.argv.slice(2);
if (name === "appends") await appends(argument);
if (name === "creations") await creations();
if (name === "webhooks") await webhooks(argument);
