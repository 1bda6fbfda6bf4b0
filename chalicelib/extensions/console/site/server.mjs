// Serves the chat page, and opens each visitor's conversation with the agent key.
//
//     AGENT_KEY=… SITES="https://www.example.com" node server.mjs
//
// It listens on http://localhost:8080, or on the port in PORT. SITES contains the origins of the pages with embed.js,
// separated by spaces. It needs Node.js 18 or later, no packages, and the files chat.html, chat.js and embed.js in its
// folder. To add the chat to a server of your own, copy `answer` with what it calls, and the headers below it. The
// button of embed.js shows the page `/` of the server that sent it. If that is your home page, change `src` in embed.js
// to the chat's page.
import {createHash, randomBytes} from "node:crypto";
import {readFile} from "node:fs/promises";
import {createServer} from "node:http";

const AGENT = "$AGENT"; // the agent's URL, with its conversations
const RECORD = "$RECORD"; // the URL of the agent's settings
const KEY = process.env.AGENT_KEY; // gives access to all conversations of the agent, so it stays on this server
const PORT = Number(process.env.PORT ?? 8080);
const SITES = (process.env.SITES ?? "").replace(/(?<![:/])\/\S*/g, ""); // without paths, because an origin has none
const SCRIPTS = ["chat.js", "embed.js"].map((name) => [`/${name}`, [name, "text/javascript"]]);
const FILES = {"/": ["chat.html", "text/html"], ...Object.fromEntries(SCRIPTS)};
// Without Partitioned, browsers send no cookie to a frame on another site. Partitioned requires SameSite=None.
const SAME_SITE = SITES ? "SameSite=None; Partitioned" : "SameSite=Strict";
const REMEMBERED_SECONDS = 30 * 24 * 60 * 60;
if (!KEY) {
  console.error("Set AGENT_KEY to the agent key from the console.");
  process.exit(1);
}

// Return the visitor, its conversation with a token that is valid only there, and the welcome messages.
async function startSession(visitor) {
  const url = conversationOf(visitor);
  const {data} = await send(`${url}/visitor-tokens`, {token: {expiresInSeconds: 3600}});
  return {visitor, conversation: url, token: data.token, welcome: (await send(RECORD)).vg_initMessages ?? []};
}

// Let a visitor's conversation wait for a person. A visitor's own token may not do this.
async function askForPerson(visitor) {
  await send(`${conversationOf(visitor)}/state`, {metadata: {state: "requested_chat"}});
  return {};
}

// The id is a hash of the cookie. Therefore, a visitor who sees another conversation's id cannot open it.
function conversationOf(visitor) {
  return `${AGENT}/interact/${createHash("sha256").update(visitor).digest("hex").slice(0, 32)}`;
}

// Send a request with the agent key, and return the response. It is a GET request without a body.
async function send(url, body) {
  const response = await fetch(url, {
    method: body ? "POST" : "GET",
    headers: {"Authorization": `Bearer ${KEY}`, "Content-Type": "application/json"},
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(20000),
  });
  if (!response.ok) throw new Error(`HTTP ${response.status}`); // 401 means that AGENT_KEY is wrong
  return response.json();
}

const ACTIONS = new Map([["/chat-session", startSession], ["/chat-person", askForPerson]]);

// Return the status, the text, its type and a cookie. A random text in the cookie identifies the visitor.
async function answer({method, url, headers}) {
  const file = method === "GET" && FILES[url.split("?")[0]];
  if (file) return [200, await readFile(new URL(file[0], import.meta.url), "utf8"), file[1]];
  const action = method === "POST" && ACTIONS.get(url);
  if (!action) return [404, "Not found"];
  // Browsers say whether a page on another site sent the request.
  if ((headers["sec-fetch-site"] ?? "same-origin") !== "same-origin") {
    return [403, "Only pages on this site can start a chat."];
  }
  // In a frame on another site, some browsers keep no cookie. Then the page repeats the text that it received.
  const sent = `${headers.cookie ?? ""}; chat=${headers["chat-visitor"] ?? ""}`;
  const known = /(?:^|;) *chat=([\w-]+)/.exec(sent)?.[1];
  if (!known && action === askForPerson) return [400, "Start a chat first."];
  const visitor = known ?? randomBytes(32).toString("base64url");
  return [200, JSON.stringify(await action(visitor)), "application/json", visitor];
}

function fail(problem) {
  console.error(`The chat is not available: ${problem.message}`);
  return [502, "The chat is not available."];
}

// Send responses that no cache keeps. Browsers send the cookie over HTTPS, and on localhost.
createServer(async (request, response) => {
  const [status, text, media = "text/plain", visitor = ""] = await answer(request).catch(fail);
  const rules = `Path=/; Max-Age=${REMEMBERED_SECONDS}; HttpOnly; Secure; ${SAME_SITE}`;
  response.writeHead(status, {
    "Content-Type": `${media}; charset=utf-8`,
    "Cache-Control": "no-store",
    "Content-Security-Policy": `frame-ancestors 'self' ${SITES}`.trim(),
    ...(visitor && {"Set-Cookie": `chat=${visitor}; ${rules}`}),
  });
  response.end(text);
}).listen(PORT, "127.0.0.1", () => console.log(`The chat is at http://localhost:${PORT}`));
