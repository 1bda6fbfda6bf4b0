/** Chats of the AI SDK (`ai`), stored as conversations. */
import type { Client } from "../client.js";
import { CamsError } from "../errors.js";
import { isOfAdapter, messageOf, textOf, Transcript, type Stored } from "./transcript.js";

const KIND = "ai-sdk";

/** The members of the SDK's `UIMessage` that this module reads. */
export interface ChatMessage {
  id: string;
  role: "system" | "user" | "assistant";
  metadata?: unknown;
  parts: any[];
}

/**
 * Return functions that load and save the chats of an agent, as the SDK's documentation names them. A chat's id is the
 * id of its conversation. The agent's key suffices.
 */
export function chatStore<Message extends ChatMessage = ChatMessage>(client: Client, agentId: string) {
  const transcript = (chatId: string) => new Transcript(client, agentId, chatId);

  /** Return a chat's messages, oldest first, with the messages of widgets and people. */
  const loadChat = async (chatId: string): Promise<Message[]> =>
    (await transcript(chatId).read()).map(uiMessage<Message>);

  /**
   * Add new messages, and replace those that have changed since they were stored. Other messages stay, because other
   * processes may have added them. The browser must not choose the messages, because it could forge them.
   */
  const saveChat = async ({ chatId, messages }: { chatId: string; messages: Message[] }): Promise<void> => {
    if (messages.some(({ id }) => !id)) throw new CamsError("A message has no id; pass generateMessageId to the SDK.");
    const stored = new Map((await loadChat(chatId)).map((message) => [message.id, JSON.stringify(message)]));
    const changed = messages.filter((message) => stored.get(message.id) !== JSON.stringify(message));
    await transcript(chatId).put(changed.map((message) => messageOf(message.role, KIND, message, message.id)));
  };

  return { loadChat, saveChat };
}

function uiMessage<Message extends ChatMessage>(stored: Stored): Message {
  const role = stored.from === "human" ? "user" : "assistant";
  const text = { id: stored.mid, role, parts: [{ type: "text", text: textOf(stored) }] };
  return (isOfAdapter(stored, KIND) ? stored.item : text) as Message;
}
