import { CamsError } from "./errors.js";
import type { webhooks } from "./schema.js";

type Received<Type extends keyof webhooks> = webhooks[Type]["post"]["requestBody"]["content"]["application/json"];
/** An event with its id, the Unix time when it was sent, and the `mid` of its message. `type` selects the payload. */
export type WebhookEvent = { [Type in keyof webhooks]: Received<Type> }[keyof webhooks] & Delivery;
type Delivery = { id: string; sentAt: number; messageId?: string };

/** The request was not signed with the signing secret within the last five minutes. Respond with 400. */
export class InvalidWebhook extends CamsError {}

/** Verify a request, and return its event. `signingSecret` belongs to the webhook endpoint. Throw InvalidWebhook. */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: Headers | Record<string, string | string[] | undefined>,
  signingSecret: string,
): Promise<WebhookEvent> {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const values = new Map(entries.map(([name, value]) => [name.toLowerCase(), value?.toString()]));
  const names = ["webhook-id", "webhook-timestamp", "cams-message-id"];
  const [id, time = "", messageId] = names.map((name) => values.get(name));
  if (!id || !/^\d+$/.test(time)) throw new InvalidWebhook("A Standard Webhooks header is missing or malformed.");
  if (Math.abs(Date.now() / 1000 - Number(time)) > 300)
    throw new InvalidWebhook("The signature's time differs from the clock by more than five minutes.");
  const content = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const signed = Uint8Array.from([...new TextEncoder().encode(`${id}.${time}.`), ...content]);
  const [secret, algorithm] = [bytes(signingSecret.replace(/^whsec_/, "")), { name: "HMAC", hash: "SHA-256" }];
  const key = await crypto.subtle.importKey("raw", secret, algorithm, false, ["verify"]);
  const signatures = values.get("webhook-signature")?.match(/(?<=(^| )v1,)[A-Za-z0-9+/]{43}=(?= |$)/g) ?? [];
  const checks = await Promise.all(signatures.map((text) => crypto.subtle.verify("HMAC", key, bytes(text), signed)));
  if (!checks.includes(true)) throw new InvalidWebhook("No signature in the request matches its body.");
  const message = messageId === undefined ? {} : { messageId: decodeURIComponent(messageId) };
  return { ...JSON.parse(new TextDecoder().decode(content)), ...message, id, sentAt: Number(time) };
}

const bytes = (base64: string) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
