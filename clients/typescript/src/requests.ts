import { ApiError, InvalidResponse, NotModified } from "./errors.js";
import { KEYED } from "./operations.js";

type Params = { path?: object; query?: object; header?: object };
export type Call = { method: string; path: string; params?: Params; body?: any; signal?: AbortSignal };
type Received = { response: Response; content: any };
export type Outcome = Received | { error: unknown };

const isAppend = ({ method, path }: Call) => method === "POST" && path.endsWith("/messages");

/** Return the body. Each message of an append gets an id, so that repeats store the message only once. */
export function bodyOf(call: Call): any {
  if (!isAppend(call)) return call.body;
  const messages = call.body.messages.map((message: any) => ({ ...message, mid: message.mid ?? crypto.randomUUID() }));
  return { ...call.body, messages };
}

/** Return whether a repeat would take effect twice, or fail because the first attempt has changed the record. */
export function needsKey({ method, path, params, body }: Call): boolean {
  const hasEffect = KEYED[`${method} ${path}`];
  const hasPrecondition = Object.keys(params?.header ?? {}).some((name) => /^if-/i.test(name));
  // A repeated state could remove messages that another writer has added after the first attempt.
  const isRepeatable = path.endsWith("/state") ? !("turns" in (body ?? {})) : !hasEffect;
  return hasEffect !== undefined && (!isRepeatable || hasPrecondition);
}

/** Return the milliseconds before the next attempt: exponential backoff with full jitter. */
export const jitter = (attempt: number) => Math.random() * Math.min(8_000, 500 * 2 ** (attempt - 1));

/** Return the milliseconds before the next attempt, or undefined if the outcome is final. */
export function pauseAfter(attempt: number, call: Call, outcome: Outcome): number | undefined {
  if (!("response" in outcome)) return jitter(attempt);
  const [status, header] = [outcome.response.status, outcome.response.headers.get("Retry-After") ?? ""];
  // The outcome of a 502, 503 or 504 is unknown. A stale append has stored nothing.
  const isRepeated = [502, 503, 504].includes(status) || (isAppend(call) && outcome.content?.code === "STALE");
  // A 429 without this header means that an agent or workspace has reached a limit. Waiting does not lift it.
  if (!isRepeated && !(status === 429 && header)) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1_000 || 0;
  return seconds > 30 ? undefined : Math.max(0, seconds) * 1_000 + jitter(attempt);
}

/** Return the content of a successful response. Throw ApiError or NotModified for any other response. */
export async function resultOf({ response, content }: Received): Promise<any> {
  const [status, id] = [response.status, response.headers.get("X-Request-Id")];
  if (status === 304) throw new NotModified("The record has not changed.");
  if (!response.ok && typeof content?.code === "string") throw new ApiError(status, id, content);
  if (!response.ok) throw new InvalidResponse(status, id);
  if (/^(text.csv|application.x-ndjson)/.test(response.headers.get("Content-Type") ?? "")) return content ?? "";
  const body: unknown = await new Response(content).json().catch(() => undefined);
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw new InvalidResponse(status, id);
  return "response" in body ? body : Object.defineProperty(body, "response", { value: response });
}
