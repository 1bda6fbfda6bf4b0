/** A client for CAMS, the conversational agent management service. */
export { Client, type Options } from "./client.js";
export * from "./errors.js";
export * from "./webhooks.js";
export type { components, paths } from "./schema.js";
