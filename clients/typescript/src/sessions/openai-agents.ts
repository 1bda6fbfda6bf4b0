/** Sessions of the OpenAI Agents SDK (`@openai/agents`), stored as conversations. */
import type { Client } from "../client.js";
import { isOfAdapter, messageOf, textOf, Transcript, type Stored } from "./transcript.js";

const KIND = "openai-agents-js";

/** A `Session` of the SDK. Any number of processes may add items concurrently. `Item` is the SDK's `AgentInputItem`. */
export class CamsSession<Item extends object = any> {
  readonly #id: string;
  readonly #transcript: Transcript;

  /** `sessionId` is the id of the conversation, which the first item creates. The agent's key suffices. */
  constructor(sessionId: string, client: Client, agentId: string) {
    this.#id = sessionId;
    this.#transcript = new Transcript(client, agentId, sessionId);
  }

  /** Return the session's id. */
  async getSessionId(): Promise<string> {
    return this.#id;
  }

  /** Return all items or the newest `limit`, oldest first. */
  async getItems(limit?: number): Promise<Item[]> {
    return (await this.#transcript.read(limit)).map(itemOf<Item>);
  }

  /** Add items. Up to 50 are stored together. */
  async addItems(items: Item[]): Promise<void> {
    await this.#transcript.append(
      items.map((item) => messageOf("role" in item ? `${item.role}` : "assistant", KIND, item)),
    );
  }

  /** Delete the newest item, and return it. */
  async popItem(): Promise<Item | undefined> {
    const newest = await this.#transcript.pop();
    return newest && itemOf<Item>(newest);
  }

  /** Delete the conversation. */
  async clearSession(): Promise<void> {
    await this.#transcript.delete();
  }
}

/** Return an item. A message that a widget or a person has added becomes a message of the user or the assistant. */
function itemOf<Item>(stored: Stored): Item {
  if (isOfAdapter(stored, KIND)) return stored.item as Item;
  const text = textOf(stored);
  const content = [{ type: "output_text", text }];
  const assistant = { type: "message", role: "assistant", status: "completed", content };
  return (stored.from === "human" ? { type: "message", role: "user", content: text } : assistant) as Item;
}
