// The functions that the programs share.
import { Client, type components } from "cams-client";

export type Message = components["schemas"]["Message"];
const path = (convo_id: string) => ({ agent_id: "support", user_id: convo_id });

export function equal(actual: unknown, expected: unknown, text: string): void {
  const [left, right] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (left !== right) throw new Error(`${text}: ${left} is not ${right}`);
}

/** Return the stored messages of a conversation, oldest first. */
export async function stored(convo_id: string): Promise<Message[]> {
  const messages: Message[] = [];
  for await (const message of new Client().conversations("support", convo_id).messages.list({ order: "asc" }))
    messages.push(message);
  return messages;
}

/** Add items to a conversation with a visitor token, as if they were items of this framework. */
export async function postAsVisitor(convo_id: string, kind: string, items: Record<string, unknown>[]): Promise<void> {
  const [client, params] = [new Client(), { path: path(convo_id) }];
  const issued = await client.POST("/agents/{agent_id}/interact/{user_id}/visitor-tokens", {
    params,
    body: { token: {} },
  });
  const visitor = client.withOptions({ apiKey: issued.data.token }).conversations("support", convo_id);
  await visitor.messages.add(items.map((item) => ({ from: "human", type: kind, channel: kind, item })));
}

/** Return the texts that each of four writers sends, one list per writer. */
export const textsOfWriters = (count: number): string[][] =>
  [...Array(4).keys()].map((writer) => [...Array(count).keys()].map((number) => `${writer} ${number}`));

/** Check that each text is stored once and in its writer's order. */
export function checkOrder(texts: string[], sent: string[][]): void {
  const byWriter = sent.map((own) => texts.filter((text) => text[0] === own[0]![0]));
  equal(byWriter, sent, "texts are lost, doubled or out of order");
}
