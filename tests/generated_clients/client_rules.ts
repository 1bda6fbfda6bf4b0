// The TypeScript client's own rules: retries, keys, errors and secrets. The service is a list of responses.
import * as cams from "cams-client";
import { chatStore } from "cams-client/ai";
import { CamsSession } from "cams-client/openai-agents";

declare const process: { env: Record<string, string | undefined> };

type Fault = "lost" | "cut" | "hangs" | Response;
const KEY = "cams_workspace_a-secret-key";
const pauses: number[] = [];
const setTimer = globalThis.setTimeout;
// Pauses take no time.
const withoutPauses = ((run: () => void, pause: number) => (pauses.push(pause), setTimer(run, 0))) as typeof setTimeout;
globalThis.setTimeout = withoutPauses;
Math.random = () => 0;

function expect(fact: unknown, text: string): asserts fact {
  if (!fact) throw new Error(text);
}

function equal(actual: unknown, expected: unknown, text: string): void {
  const [left, right] = [JSON.stringify(actual), JSON.stringify(expected)];
  expect(left === right, `${text}: ${left} is not ${right}`);
}

const json = (body: unknown, status = 200, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(body), { status, headers: { "Content-Type": "application/json", ...headers } });
const failure = (code: string, status: number) => json({ success: false, code, message: "It failed." }, status);

/** Return a client whose responses are `faults`, then successes, and the list of its requests. */
function connect(faults: Fault[], options: cams.Options = {}): [cams.Client, Request[], string[]] {
  const [requests, bodies]: [Request[], string[]] = [[], []];
  const fetch = async (request: Request): Promise<Response> => {
    requests.push(request);
    bodies.push(await request.clone().text());
    request.signal.throwIfAborted();
    const fault = faults.shift();
    if (fault === "lost") throw new TypeError("fetch failed");
    if (fault === "hangs")
      return new Promise((_, reject) => request.signal.addEventListener("abort", () => reject(request.signal.reason)));
    if (fault === "cut")
      return new Response(new ReadableStream({ start: (stream) => stream.error(new TypeError("terminated")) }));
    return fault ?? json({ success: true, data: [] });
  };
  return [new cams.Client({ apiKey: KEY, url: "https://cams.test/", fetch, ...options }), requests, bodies];
}

async function thrown(request: Promise<unknown>): Promise<any> {
  return request.then(
    () => {
      throw new Error("the client threw no error");
    },
    (error: unknown) => error,
  );
}

const path = { agent_id: "support" };
const ann = { agent_id: "support", user_id: "ann" };
const create = { "If-None-Match": "*" };
const etag = { "If-Match": '"1"' };
const STATE = "/agents/{agent_id}/interact/{user_id}/state";
const EDGE = "/agents/{agent_id}/interact/{user_id}/messages";
const read = (client: cams.Client) => client.GET("/v3/agents/{agent_id}", { params: { path } });

// A write has an idempotency key only if a repeat would take effect, and each of its attempts has the same.
const writes: [boolean, (client: cams.Client) => Promise<unknown>][] = [
  [true, (client) => client.POST("/v3/agents", { body: { agent: { title: "Sales" } } })],
  [true, (client) => client.POST("/v3/agents/{agent_id}/tools", { params: { path }, body: { tool: { name: "a" } } })],
  [true, (client) => client.PATCH("/v3/agents/{agent_id}", { params: { path, header: etag }, body: { agent: {} } })],
  [true, (client) => client.POST(STATE, { params: { path: ann }, body: { turns: [] } })],
  [true, (client) => client.POST(STATE, { params: { path: ann, header: etag }, body: { metadata: {} } })],
  [false, (client) => client.POST(STATE, { params: { path: ann }, body: { metadata: {} } })],
  [false, (client) => client.PATCH("/v3/agents/{agent_id}", { params: { path }, body: { agent: {} } })],
  [false, (client) => client.POST("/v2/orgs/{org_id}", { params: { path: { org_id: "a" } }, body: { name: "A" } })],
  [true, (client) => client.POST(EDGE, { params: { path: ann, header: etag }, body: { messages: [{}] } })],
  [true, (client) => client.POST(EDGE, { params: { path: ann, header: create }, body: { messages: [{}] } })],
  [false, (client) => client.conversations("support", "ann").messages.add("Hello")],
  [false, (client) => client.DELETE("/v3/agents/{agent_id}", { params: { path } })],
];
for (const [isKeyed, write] of writes) {
  const [client, requests, bodies] = connect(["lost", "cut"]);
  await write(client);
  const keys = requests.map((request) => request.headers.get("Idempotency-Key"));
  equal([keys.length, new Set(keys).size, keys[0] !== null, new Set(bodies).size], [3, 1, isKeyed, 1], String(write));
}
const [own, sentWithOwn] = connect([]);
const header = { "Idempotency-Key": "mine" };
await own.POST("/v3/agents", { params: { header }, body: { agent: {} } });
equal(sentWithOwn[0]?.headers.get("Idempotency-Key"), "mine", "the caller's key");
const [visitor, sentByVisitor] = connect([], { apiKey: "cams_visitor_x" });
await visitor.POST(STATE, { params: { path: ann }, body: { turns: [] } });
equal(sentByVisitor[0]?.headers.has("Idempotency-Key"), false, "a visitor's key");

// Appends have ids, and are repeated if they are stale. Other stale writes are not.
const [appender, appended, sent] = connect([failure("STALE", 409), failure("STALE", 409)]);
await appender.conversations("support", "ann").messages.add([{ from: "bot", mid: "m-1" }, { from: "bot" }]);
const added = JSON.parse(sent[0] ?? "").messages;
equal([new Set(sent).size, added[0].mid, added[1].mid.length], [1, "m-1", 36], "the ids of messages");
const takeover = { inReplyTo: "m-1", assignToUserId: "cas", state: "human-chatting" };
await appender.conversations("support", "ann").messages.add("Hi", { from: "bot", ...takeover });
const { messages: [{ mid, ...reply }], ...options } = JSON.parse(sent[3] ?? "");
equal([options, reply], [takeover, { from: "bot", type: "text", item: { text: "Hi" } }], "a reply");
for await (const message of appender.conversations("support", "ann").messages.list()) expect(!message, "a message");
const edge = new Set(appended.map((request) => new URL(request.url).pathname));
equal([...edge], ["/agents/support/interact/ann/messages"], "paths at the edge");
for (const query of [{}, { order: "asc" }, { after: "" }] as const)
  for await (const message of appender.conversations("support", "ann").messages.list(query)) expect(!message, "a message");
const queries = appended.map((request) => new URL(request.url).search).slice(-4);
equal(queries, ["?limit=100", "", "?order=asc", "?after="], "the query of a list, in which after excludes limit");
const [scoped, sentWithScopes] = connect([], { apiKey: "cams_access_x" });
await scoped.conversations("support", "ann").messages.add("Hello");
for await (const message of scoped.conversations("support", "ann").messages.list()) expect(!message, "a message");
const pathnames = sentWithScopes.map((request) => new URL(request.url).pathname);
equal(pathnames, Array(2).fill("/v3/agents/support/convos/ann/messages"), "an access token's paths");
const [staler, staleRequests] = connect([failure("STALE", 409)]);
equal((await thrown(staler.POST(STATE, { params: { path: ann }, body: {} }))).code, "STALE", "a stale state");
equal(staleRequests.length, 1, "requests for a stale state");

// Only busy and unavailable services are asked again, after the time that they request.
const statuses: [number, string, number | null][] = [
  [503, "7", 7_000],
  [429, "30", 30_000],
  [429, "31", null],
  [429, "", null],
  [502, "", 0],
  [504, "soon", 0],
  [503, "Wed, 21 Oct 2015 07:28:00 GMT", 0],
  [503, "Wed, 21 Oct 2115 07:28:00 GMT", null],
  [500, "", null],
];
for (const [status, seconds, pause] of statuses) {
  pauses.length = 0;
  const [client, requests] = connect([json({}, status, seconds ? { "Retry-After": seconds } : {})]);
  await read(client).catch(() => undefined);
  equal([pauses, requests.length], pause === null ? [[], 1] : [[pause], 2], `status ${status}`);
}
pauses.length = 0;
Math.random = () => 1;
const [unlucky, sevenRequests] = connect(Array<Fault>(9).fill("lost"));
const lost = await thrown(read(unlucky));
Math.random = () => 0;
equal(pauses, [500, 1_000, 2_000, 4_000, 8_000, 8_000], "the longest pauses");
equal(
  [lost.name, lost.message, lost.cause.message, sevenRequests.length],
  ["NoResponse", "GET /v3/agents/{agent_id}: no response after 7 attempts.", "fetch failed", 7],
  "a lost request",
);
const [once, oneRequest] = connect(["lost"]);
expect((await thrown(read(once.withOptions({ retries: 0 })))) instanceof cams.NoResponse, "an option");
equal(oneRequest.length, 1, "requests without retries");

// A slow attempt is repeated. A cancelled request is not.
const begin = Date.now();
const alive = setTimer(() => undefined, 60_000); // the timer of a timeout does not keep the process running
const [slow, slowRequests] = connect(["hangs"]);
await read(slow.withOptions({ timeout: 20 }));
equal(slowRequests.length, 2, "attempts after a timeout");
equal(slowRequests[0]?.redirect, "manual", "a redirection, which could send the request to another server");
const cancelling = new AbortController();
const [cancelled, cancelledRequests] = connect(["hangs"]);
setTimer(() => cancelling.abort(), 20);
equal(
  (await thrown(cancelled.GET("/v3/agents", { signal: cancelling.signal }))).name,
  "AbortError",
  "a cancelled request",
);
equal(cancelledRequests.length, 1, "attempts of a cancelled request");
const waiting = new AbortController();
globalThis.setTimeout = ((run: () => void) => setTimer(run, 5_000)) as typeof setTimeout;
setTimer(() => waiting.abort(), 20);
const interrupted = connect(["lost"])[0].GET("/v3/agents", { signal: waiting.signal });
equal((await thrown(interrupted)).name, "AbortError", "a request that is cancelled in a pause");
globalThis.setTimeout = withoutPauses;
expect(Date.now() - begin < 4_000, "a timeout or a cancellation took too long");
clearTimeout(alive);

// Errors have a code, a request id and issues. Any response that is not from CAMS is an InvalidResponse.
const issues = [{ path: "limit", message: "must be at least 1." }];
const envelope = { success: false, code: "INVALID", message: "The request is invalid.", issues };
const error = await thrown(read(connect([json(envelope, 400, { "X-Request-Id": "r-1" })])[0]));
expect(error instanceof cams.ApiError && error instanceof cams.CamsError && error instanceof Error, "a class");
equal(
  [error.name, error.status, error.code, error.requestId, error.issues, error.message],
  [
    "ApiError",
    400,
    "INVALID",
    "r-1",
    issues,
    "The request is invalid. limit: must be at least 1. (status 400, code INVALID, request r-1)",
  ],
  "an error",
);
const strange = [
  new Response("<html>"),
  json([1]),
  json(null),
  new Response(null, { status: 302 }),
  new Response(),
  new Response("<h1>Bad</h1>", { status: 500 }),
  json({}, 400),
  json({ code: 403, message: "Forbidden" }, 403),
  new Response("a,b", { status: 500, headers: { "Content-Type": "text/csv" } }),
  new Response("null", { status: 404 }),
];
for (const response of strange) {
  const invalid = await thrown(read(connect([response])[0]));
  equal(
    [invalid.name, invalid.code, invalid.status],
    ["InvalidResponse", "INVALID_RESPONSE", response.status],
    "another server",
  );
}
const withoutList = await thrown(connect([json({ status: "ok" })])[0].list("/v3/agents").next());
equal([withoutList.name, withoutList.status], ["InvalidResponse", 200], "a response without a list");
expect((await thrown(read(connect([new Response(null, { status: 304 })])[0]))) instanceof cams.NotModified, "a 304");

// Lists and exports are read page by page.
const [lister, listed] = connect([json({ data: [1, 2], nextCursor: "a b" }), json({ data: [3] })]);
const records: unknown[] = [];
for await (const record of lister.list("/v3/agents", { params: { query: { limit: 2 } } })) records.push(record);
equal(
  [records, listed.map((request) => new URL(request.url).search)],
  [
    [1, 2, 3],
    ["?limit=2", "?limit=2&cursor=a%20b"],
  ],
  "a list",
);
const link = {
  "Content-Type": "text/csv; charset=utf-8",
  Link: '</v3/leads/export?cursor=a%2Bb&format=csv>; rel="next"',
};
const [exporter, exported] = connect([
  new Response("a\n", { headers: link }),
  new Response("b\n", { headers: { "Content-Type": "text/csv" } }),
]);
const texts: string[] = [];
for await (const text of exporter.pages("/v3/leads/export", { params: { query: { format: "csv" } } })) texts.push(text);
equal([texts, new URL(exported[1]?.url ?? "").searchParams.get("cursor")], [["a\n", "b\n"], "a+b"], "an export");

// A member named `response` stays in the JSON object.
const record = await connect([json({ response: "mine" })])[0].GET("/v2/agents/{agent_id}", { params: { path } });
equal(record, { response: "mine" }, "a member");

// No representation and no error contains the key. Ids that URLs cannot contain are rejected.
const [client] = connect([]);
const shown = [
  JSON.stringify(client),
  ...Object.values(client).map(String),
  String(client),
  JSON.stringify(error),
  error.stack,
].join();
expect(!shown.includes("secret-key"), "a representation contains the key");
for (const apiKey of ["a-secret-key\n", "a-secret-kéy", " a-secret-key"]) {
  const invalid = await thrown((async () => new cams.Client({ apiKey, url: "https://cams.test" }))());
  expect(invalid.name === "CamsError" && !String(invalid.stack).includes("secret"), "an error contains the key");
}
for (const agent_id of ["", ".", ".."]) {
  const invalid = await thrown(client.DELETE("/v3/agents/{agent_id}", { params: { path: { agent_id } } }));
  equal(invalid.message, "An id in a path cannot be empty, '.' or '..'.", "an id");
}

// Key and address come from the environment, which browsers do not have.
expect(
  (await thrown((async () => new cams.Client({ apiKey: KEY }))())).message.includes("CAMS_URL"),
  "a missing address",
);
for (const url of ["cams.test", "localhost:8000", "ftp://cams.test", "https://"]) {
  const invalid = await thrown((async () => new cams.Client({ apiKey: KEY, url }))());
  expect(invalid.name === "CamsError" && invalid.message.includes("CAMS_URL"), `the address ${url}`);
}
process.env.CAMS_URL = "https://cams.test";
expect((await thrown((async () => new cams.Client())())).message.includes("CAMS_API_KEY"), "a missing key");
process.env.CAMS_API_KEY = KEY;
new cams.Client();

// An option that is undefined has no effect. In particular, it does not select the key in the environment.
const absent = { apiKey: undefined, url: undefined, timeout: undefined, retries: undefined, fetch: undefined } as object;
process.env.CAMS_API_KEY = "cams_workspace_another";
const [absentee, sentByAbsentee] = connect(["lost"]);
await read(absentee.withOptions(absent));
equal(sentByAbsentee.length, 2, "requests with the default number of retries");
equal(sentByAbsentee[0]?.headers.get("Authorization"), `Bearer ${KEY}`, "the client's own key");
const [defaulting, sentByDefaulting] = connect(["lost"], { timeout: undefined, retries: undefined } as object);
await read(defaulting);
equal(sentByDefaulting.length, 2, "requests with default options");
const node = globalThis as { process?: unknown };
const { process: hidden } = node;
delete node.process;
expect((await thrown((async () => new cams.Client())())).message.includes("CAMS_API_KEY"), "a browser");
await read(connect(["lost"])[0]);
node.process = hidden;

// The adapters for agent frameworks need no framework. If the response to a deletion is lost, its repeat has the same
// key. If another process has changed the session, its newest item is read again.
const newest = (mid: string) =>
  json({ success: true, data: [{ mid, from: "human", item: { text: mid } }] }, 200, { ETag: `"${mid}"` });
const [popping, popped, deletions] = connect([newest("1"), failure("PRECONDITION_FAILED", 412), newest("2"), "lost"]);
const earlier = pauses.length;
const item: unknown = await new CamsSession("ann", popping, "support").popItem();
equal(pauses.length - earlier, 2, "pauses after a conflict and a lost response");
equal(item, { type: "message", role: "user", content: "2" }, "the popped item");
equal(popped.map(({ method }) => method).join(), "GET,POST,GET,POST,POST", "the requests");
equal(popped.slice(3).map(({ headers }) => headers.get("If-Match")), ['"2"', '"2"'], "the preconditions");
const keys = new Set(popped.map(({ headers }) => headers.get("Idempotency-Key")));
equal(keys.size, 3, "no key, and a key for each deletion");
equal(JSON.parse(deletions[4]!), { delete: { mids: ["2"] } }, "the deletion");
const [saving, saved] = connect([]);
await chatStore(saving, "support").saveChat({ chatId: "ann", messages: [] });
equal(saved.length, 1, "requests that save nothing");
console.log("All rules hold.");
