import {
  ConflictError,
  ForbiddenError,
  InvalidInputError,
  NotFoundError,
  QuotaExceededError,
  UnauthorizedError,
  UnavailableError,
  UnsupportedError,
  type VirtualKubeletError,
} from "@virtual-kubelet/errdefs";
import type { HttpAnswer } from "./http-client.ts";

/** Error in a service's answer. */
export interface Fault {
  /** Code such as `container.over-quota`, or Neutron's `OverQuota`; empty if the answer has none. */
  readonly code: string;
  readonly message: string;
}

const maxMessageLength = 400;

/**
 * Creates the error for an answer with status 400 or more, with the service's own message and a remedy.
 *
 * @param what - attempted operation, such as `create a container`
 */
export function toApiError(what: string, answer: HttpAnswer): VirtualKubeletError {
  const { status, headers } = answer;
  const { code, message } = faultOf(answer);
  const requestId = headers["x-openstack-request-id"];
  const text = `${what}: ${message === "" ? `the answer is ${status}` : message}${requestId === undefined ? "" : ` (${requestId})`}`;
  const isQuota = /over-?quota|quota-?exceeded|IpAddressGenerationFailure/i.test(code) || /quota exceeded/i.test(message);
  switch (true) {
    case isQuota && (status === 403 || status === 409 || status === 413):
      return new QuotaExceededError(`${text}; free some of the project's quota, or have it raised`);
    case status === 401:
      return new UnauthorizedError(text);
    case status === 403:
      return new ForbiddenError(`${text}; the project's role does not allow it`);
    // A 404 can come from a proxy in front of the service, and then says nothing about the requested object.
    case status === 404 && code === "":
      return new UnavailableError(`${text}; the answer is not the service's own`);
    case status === 404:
      return new NotFoundError(text);
    case status === 406:
      return new UnsupportedError(`${text}; this release of Zun does not support the requested API version`);
    case status === 409:
      return new ConflictError(text);
    case status === 429 || status >= 500:
      return new UnavailableError(text, { retryAfterMs: retryAfterMs(headers["retry-after"]) });
    default:
      return new InvalidInputError(text);
  }
}

/** Code and message of an error, in the formats of Zun, Neutron and Keystone. Any other text is truncated. */
export function faultOf({ body }: Pick<HttpAnswer, "body">): Fault {
  if (typeof body === "string") return { code: "", message: shorten(body.replaceAll(/<[^>]*>/g, " ")) };
  const list = field(body, "errors");
  const zun: unknown = Array.isArray(list) ? list[0] : undefined;
  if (zun !== undefined) return { code: textOf(zun, "code"), message: shorten(textOf(zun, "detail") || textOf(zun, "title")) };
  const neutron = field(body, "NeutronError");
  if (neutron !== undefined)
    return { code: textOf(neutron, "type"), message: shorten(typeof neutron === "string" ? neutron : textOf(neutron, "message")) };
  const keystone = field(body, "error");
  return { code: textOf(keystone, "title"), message: shorten(textOf(keystone, "message")) };
}

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim().replace(/\.$/, "");
  return line.length > maxMessageLength ? `${line.slice(0, maxMessageLength - 1)}…` : line;
}

function textOf(value: unknown, name: string): string {
  const found = field(value, name);
  return typeof found === "string" ? found : "";
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function retryAfterMs(header: string | undefined): number | undefined {
  return header !== undefined && /^\d+$/.test(header) ? Number(header) * 1000 : undefined;
}
