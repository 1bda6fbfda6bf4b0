import type { Client } from "../client.js";
import { ApiError } from "../errors.js";
import { jitter } from "../requests.js";
import type { components } from "../schema.js";

const EDGE = "/agents/{agent_id}/interact/{user_id}";
// The service accepts 50 messages and 2,000,000 bytes per request.
const [MOST_MESSAGES, MOST_BYTES] = [50, 1_900_000];

export type Stored = components["schemas"]["Message"];
export type Added = components["schemas"]["MessageInput"];

/** The core of the adapters for agent frameworks: a session is a conversation, and each item of it is a message. */
export class Transcript {
  readonly #client: Client;
  readonly #path: { agent_id: string; user_id: string };
  readonly #messages: ReturnType<Client["conversations"]>["messages"];

  /** The conversation need not exist. The client's key may be the agent's key. */
  constructor(client: Client, agentId: string, conversationId: string) {
    this.#client = client;
    this.#path = { agent_id: agentId, user_id: conversationId };
    this.#messages = client.conversations(agentId, conversationId).messages;
  }

  /** Return all messages or the newest `limit`, oldest first. */
  async read(limit?: number): Promise<Stored[]> {
    const read: Stored[] = [];
    if (limit !== undefined && limit < 1) return read;
    const query = limit === undefined ? { order: "asc" as const } : { limit: Math.min(limit, 100) };
    try {
      for await (const message of this.#messages.list(query)) if (read.push(message) === limit) break;
    } catch (error) {
      if (!hasStatus(error, 404)) throw error;
    }
    return limit === undefined ? read : read.reverse();
  }

  /** Add messages. Those that exceed a request's limits are sent in several requests, so they may interleave. */
  async append(messages: Added[]): Promise<void> {
    for (const part of parts(messages)) await this.#messages.add(part);
  }

  /** Add messages, and replace those whose `mid` is stored. */
  async put(messages: Added[]): Promise<void> {
    for (const part of parts(messages)) await this.#messages.add(part, { replace: true });
  }

  /**
   * Delete the newest message, and return it.
   *
   * The deletion changes the state, because this request has an idempotency key. If its response is lost, a repeat
   * succeeds, so no second message is deleted. The ETag prevents that two processes get the same message.
   */
  async pop(): Promise<Stored | undefined> {
    for (let attempt = 1; ; attempt++) {
      try {
        const page = await this.#client.GET(`${EDGE}/messages`, { params: { path: this.#path, query: { limit: 1 } } });
        const newest = page.data[0];
        if (newest === undefined) return undefined;
        const header = { "If-Match": page.response.headers.get("ETag") ?? "" };
        const body = { delete: { mids: [newest.mid] } };
        await this.#client.POST(`${EDGE}/state`, { params: { path: this.#path, header }, body });
        return newest;
      } catch (error) {
        if (hasStatus(error, 404)) return undefined;
        // Another process has changed the conversation.
        if (!hasStatus(error, 412)) throw error;
        await new Promise((resolve) => setTimeout(resolve, jitter(attempt)));
      }
    }
  }

  /** Delete the conversation if it exists. */
  async delete(): Promise<void> {
    try {
      await this.#client.DELETE(EDGE, { params: { path: this.#path } });
    } catch (error) {
      if (!hasStatus(error, 404)) throw error;
    }
  }
}

/** Return the message for an item. Only messages by `human` count as interactions. */
export function messageOf(role: string, kind: string, item: object, mid?: string): Added {
  const author = role === "user" ? "human" : role;
  return { ...(mid === undefined ? {} : { mid }), from: author, type: kind, channel: kind, item: { ...item } };
}

/** Return whether an adapter has stored a message. Visitors cannot forge the channel: the service removes it. */
export const isOfAdapter = (stored: Stored, kind: string) => stored.channel === kind;

/** Return the text of a message that a widget or a person has added, or its content as JSON. */
export function textOf({ item }: Stored): string {
  const texts = ["message", "text", "content", "payload"].map((name) => item?.[name]);
  return texts.find((text) => typeof text === "string") ?? JSON.stringify(item ?? {});
}

const hasStatus = (error: unknown, status: number) => error instanceof ApiError && error.status === status;

/** Return the messages in parts that fit in a request. */
function parts(messages: Added[]): Added[][] {
  const all: Added[][] = [];
  let size = 0;
  for (const message of messages) {
    const [part, length] = [all.at(-1), new TextEncoder().encode(JSON.stringify(message)).length];
    const fits = part !== undefined && part.length < MOST_MESSAGES && size + length <= MOST_BYTES;
    if (fits) part.push(message);
    else all.push([message]);
    size = fits ? size + length : length;
  }
  return all;
}
