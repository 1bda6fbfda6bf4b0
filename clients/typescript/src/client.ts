import createClient, { type ParamsOption } from "openapi-fetch";
import { CamsError, InvalidResponse, NoResponse } from "./errors.js";
import { bodyOf, needsKey, pauseAfter, resultOf, type Call, type Outcome } from "./requests.js";
import type { components, paths } from "./schema.js";

type Verb = "get" | "post" | "put" | "patch" | "delete";
type Path<V extends Verb> = { [P in keyof paths]: paths[P] extends Record<V, object> ? P : never }[keyof paths];
type Json<T> = { content: { "application/json": T } };
type Body<O> = O extends { requestBody: Json<infer T> } ? { body: T } : Maybe<O>;
type Maybe<O> = O extends { requestBody?: never } ? {} : O extends { requestBody?: Json<infer T> } ? { body?: T } : {};
type Init<V extends Verb, P extends Path<V>> = ParamsOption<paths[P][V]> & Body<paths[P][V]> & { signal?: AbortSignal };
type Inputs<T> = {} extends T ? [init?: T] : [init: T];
/** The JSON object of a response, together with the response itself, or the text of an export. */
type Result<O> = O extends { responses: { 200: Json<infer T> } } ? T & { readonly response: Response } : string;
type Method<V extends Verb> = <P extends Path<V>>(path: P, ...init: Inputs<Init<V, P>>) => Promise<Result<paths[P][V]>>;
type Page<P extends Path<"get">> = Result<paths[P]["get"]>;
type Item<P extends Path<"get">> = Page<P> extends { data: (infer T)[] } ? T : never;
type List = { [P in Path<"get">]: Item<P> extends never ? never : P }[Path<"get">];

const EDGE = "/agents/{agent_id}/interact/{user_id}/messages";
const V3 = "/v3/agents/{agent_id}/convos/{convo_id}/messages";
type Message = components["schemas"]["MessageInput"];
type Append = Omit<Init<"post", typeof V3>["body"], "messages"> & { from?: string };

/** `apiKey` and `url` default to the environment variables `CAMS_API_KEY` and `CAMS_URL`. */
export interface Options {
  apiKey?: string;
  url?: string;
  /** The limit for one attempt, in milliseconds. The default is 30,000. */
  timeout?: number;
  /** The number of repeats after a lost connection, a 502, 503 or 504, a 429 with `Retry-After`, or a stale append. */
  retries?: number;
  /** The function that sends requests, for proxies and tests. */
  fetch?: (request: Request) => Promise<Response>;
}

/** Remove options that are undefined. Without this, they would replace the defaults and the client's own options. */
const defined = (all: Options) => Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));

/** The operations of the service, by method and path as in openapi-fetch. They return the body, or throw an error. */
export class Client {
  readonly #options: Required<Options>;
  readonly GET: Method<"get"> = async (path, ...[init]) => (await this.#send("GET", path, init))[0];
  readonly POST: Method<"post"> = async (path, ...[init]) => (await this.#send("POST", path, init))[0];
  readonly PUT: Method<"put"> = async (path, ...[init]) => (await this.#send("PUT", path, init))[0];
  readonly PATCH: Method<"patch"> = async (path, ...[init]) => (await this.#send("PATCH", path, init))[0];
  readonly DELETE: Method<"delete"> = async (path, ...[init]) => (await this.#send("DELETE", path, init))[0];

  constructor(options: Options = {}) {
    const variables = (globalThis as { process?: { env: Record<string, string | undefined> } }).process?.env;
    const apiKey = options.apiKey ?? variables?.CAMS_API_KEY ?? "";
    const url = options.url ?? variables?.CAMS_URL ?? "";
    // The runtime's own error for an invalid header contains the key.
    if (!/^[!-~]+$/.test(apiKey)) throw new CamsError("Pass a valid apiKey, or set CAMS_API_KEY.");
    if (!/^https?:/.test(url) || !URL.canParse(url)) throw new CamsError("Pass a valid url, or set CAMS_URL.");
    this.#options = { timeout: 30_000, retries: 6, fetch: (input) => fetch(input), ...defined(options), apiKey, url };
  }

  /** Return a client with other settings: `client.withOptions({ timeout: 5_000 })`. */
  withOptions(options: Options): Client {
    return new Client({ ...this.#options, ...defined(options) });
  }

  /** Return the conversation with these ids. This sends no request. */
  conversations(agent_id: string, convo_id: string) {
    const params = { path: { agent_id, convo_id, user_id: convo_id } };
    // Access tokens cannot use the edge, and agent keys can use only the edge.
    const path = this.#options.apiKey.startsWith("cams_access_") ? V3 : EDGE;
    const messages = {
      /** Add a text by `from`, or up to 50 messages, and return them as they are stored. */
      add: async (added: string | Message[], { from = "human", ...rest }: Append = {}): Promise<Item<typeof V3>[]> => {
        const messages = typeof added === "string" ? [{ from, type: "text", item: { text: added } }] : added;
        return (await this.#send("POST", path, { params, body: { ...rest, messages } }))[0].data;
      },
      /** Yield the messages, newest first. With `{ order: "asc" }`, one page contains as many as fit, up to 6 MB. */
      list: (query: Init<"get", typeof V3>["params"]["query"] = { limit: 100 }) =>
        this.list(path as typeof V3, { params: { ...params, query } }),
    };
    return { messages };
  }

  /** Yield the records of a list. Each page is requested when it is needed. */
  async *list<P extends List>(path: P, ...init: Inputs<Init<"get", P>>): AsyncGenerator<Item<P>> {
    for await (const { data, response } of this.pages(path, ...init) as AsyncGenerator<any>) {
      if (!Array.isArray(data)) throw new InvalidResponse(response.status, response.headers.get("X-Request-Id"));
      yield* data;
    }
  }

  /** Yield the pages of a list, or the texts that form an exported file. */
  async *pages<P extends Path<"get">>(path: P, ...[init]: Inputs<Init<"get", P>>): AsyncGenerator<Page<P>> {
    for (let query = { ...init?.params?.query }; ; ) {
      const [content, response] = await this.#send("GET", path, { ...init, params: { ...init?.params, query } });
      yield content;
      const link = /[?&]cursor=([^&>]+)[^>]*>; *rel="next"/.exec(response.headers.get("Link") ?? "")?.[1];
      const cursor = content.nextCursor ?? (link && decodeURIComponent(link));
      if (!cursor) return;
      query = { ...query, cursor };
    }
  }

  /** Send a request until its outcome is final, and return the content and the response. */
  async #send(method: string, path: string, init: object = {}): Promise<[content: any, response: Response]> {
    const [call, { apiKey, retries }]: [Call, Required<Options>] = [{ method, path, ...init }, this.#options];
    // URLs cannot contain these segments. With `..`, deleting a conversation would delete its agent.
    if (Object.values(call.params?.path ?? {}).some((id) => ["", ".", ".."].includes(id)))
      throw new CamsError("An id in a path cannot be empty, '.' or '..'.");
    const key = needsKey(call) && !apiKey.startsWith("cams_visitor_") ? { "Idempotency-Key": crypto.randomUUID() } : {};
    for (let attempt = 1, body = bodyOf(call); ; attempt++) {
      const outcome = await this.#attempt({ ...call, body }, { Authorization: `Bearer ${apiKey}`, ...key });
      const pause = attempt <= retries ? pauseAfter(attempt, call, outcome) : undefined;
      if (pause === undefined && "response" in outcome) return [await resultOf(outcome), outcome.response];
      const text = `${method} ${path}: no response after ${attempt} attempts.`;
      if (pause === undefined && "error" in outcome) throw new NoResponse(text, { cause: outcome.error });
      const cancelled = new Promise((resolve) => call.signal?.addEventListener("abort", resolve, { once: true }));
      await Promise.race([cancelled, new Promise((resolve) => setTimeout(resolve, pause))]);
    }
  }

  /** Send a request once. Throw the errors of an invalid or cancelled request. */
  async #attempt(call: Call, headers: object): Promise<Outcome> {
    const { url, timeout, fetch } = this.#options;
    let isSent = false;
    const signals = [AbortSignal.timeout(timeout), ...(call.signal ? [call.signal] : [])];
    const options = { ...call, headers, signal: AbortSignal.any(signals), parseAs: "text", redirect: "manual" };
    const service = createClient<any>({ baseUrl: url, fetch: (request) => ((isSent = true), fetch(request)) });
    try {
      const { data, error, response } = await service.request(call.method as any, call.path, options as any);
      return { response, content: response.ok ? data : error };
    } catch (error) {
      if (!isSent || call.signal?.aborted) throw error;
      return { error };
    }
  }
}
