import type { components } from "./schema.js";

type Envelope = components["schemas"]["Error"];

/** The base class of all errors of this package. */
export class CamsError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** No attempt received a response, so it is unknown whether the request took effect. `cause` is the reason. */
export class NoResponse extends CamsError {}

/** The record has not changed: its `ETag` still matches `If-None-Match` (304). */
export class NotModified extends CamsError {}

/** The service rejected or failed to process a request. `body` is the response's JSON object. */
export class ApiError extends CamsError {
  /** The error code, for programs. */
  readonly code: string;
  /** The rules that an invalid request violates. */
  readonly issues: NonNullable<Envelope["issues"]>;

  /** `requestId` is the request's id in the service's logs. */
  constructor(readonly status: number, readonly requestId: string | null, readonly body: Envelope) {
    const issues = (body.issues ?? []).map((issue) => ` ${issue.path}: ${issue.message}`).join("");
    super(`${body.message}${issues} (status ${status}, code ${body.code}, request ${requestId})`);
    [this.code, this.issues] = [body.code, body.issues ?? []];
  }
}

/** The response is no JSON object, or an error without the service's envelope. Usually, a proxy sent it. */
export class InvalidResponse extends ApiError {
  constructor(status: number, requestId: string | null) {
    const message = "The response is not a JSON object of CAMS; check the URL.";
    super(status, requestId, { success: false, code: "INVALID_RESPONSE", message });
  }
}
